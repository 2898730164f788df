"""What the benchmarks of accuracy share: counts that slices of a run add up, their command line and their closing rows."""

import sys
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

_SHOWN = 40  # rows of each list
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass
class Tally:
    """What is counted over all incidents. `listed`: those whose culprit the evidence cannot tell; `inside`: of these,
    those whose culprit is named or among the suspects. `decided`: incidents with a decision; `stopped`, `evicted`: wrongly so. `list_share`: suspects over lost ranks. `by_kind`: right, all."""

    total: int = 0
    decidable: int = 0
    right: int = 0
    listed: int = 0
    inside: int = 0
    named_anyway: int = 0
    quiet: int = 0
    quiet_right: int = 0
    quiet_accused: int = 0
    list_share: list[float] = field(default_factory=list)
    decided: int = 0
    stopped: list[str] = field(default_factory=list)
    evicted: list[str] = field(default_factory=list)
    innocent: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    by_kind: dict[str, tuple[int, int]] = field(default_factory=lambda: defaultdict(lambda: (0, 0)))

    def count(self, kind: str, right: bool) -> None:
        """One more incident of this kind."""
        done, of = self.by_kind[kind]
        self.by_kind[kind] = (done + right, of + 1)

    def add(self, other: "Tally") -> None:
        """The counts of another slice."""
        for name, value in vars(other).items():
            if name != "by_kind":
                setattr(self, name, getattr(self, name) + value)
        for kind, (done, of) in other.by_kind.items():
            before = self.by_kind[kind]
            self.by_kind[kind] = (before[0] + done, before[1] + of)

    def close(self, *rows: tuple[str, str]) -> None:
        """Print (title, text) rows, the share of each kind and the misses; exit 1 where an innocent rank was named."""
        print(f"{'incidents':<31}{self.total}\n{'innocent rank named':<31}{len(self.innocent)}")
        for title, text in rows:
            print(f"{title:<31}{text}")
        for kind, (done, of) in sorted(self.by_kind.items()):
            print(f"  {kind:<22} {share(done, of)}")
        for title, misses in (
            ("INNOCENT", self.innocent),
            ("STOPPED", self.stopped),
            ("EVICTED", self.evicted),
            ("WRONG", self.wrong),
            ("NOT IN LIST", self.outside),
        ):
            for miss in misses[:_SHOWN]:
                print(title, miss)
        sys.exit(bool(self.innocent))


def share(part: int, whole: int) -> str:
    """As in 99.2 % (124 of 125)."""
    return f"{100 * part / whole:.1f} % ({part} of {whole})" if whole else "none"


def together(tally: Tally, kept: Path | None) -> Tally:
    """The slice, added to those that the file holds already; the file then holds the sum."""
    if kept is None:
        return tally
    if kept.exists():
        tally.add(msgspec.json.decode(kept.read_bytes(), type=Tally))
    kept.write_bytes(msgspec.json.encode(tally))
    return tally


def slices(incidents: int, kinds: Collection[str]) -> Callable[[_Command], _Command]:
    """Options of a benchmark of accuracy: incidents, first, seed, only, kept, verbose."""
    options = (
        click.option("--incidents", default=incidents, show_default=True),
        click.option("--first", default=0, show_default=True, help="Number of the first incident: to run in slices."),
        click.option("--seed", default=0, show_default=True),
        click.option("--only", type=click.Choice([*kinds]), help="One kind of fault."),
        click.option("--add-to", "kept", type=click.Path(path_type=Path), help="Add this slice to the counts in a file."),
        click.option("-v", "verbose", is_flag=True),
    )  # fmt: skip

    def apply(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply
