"""Checkpoints that are complete, and the one to go back to, by the name that the log gives it.

A line that only announces a checkpoint, or says that it failed, is none; nor is one of which a rank began its part and
never ended it. Where a job saves in two stages, to memory and then to storage, only what reached storage outlives a host.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.words import facts as words

SAVED, STORED = "checkpoint_save", "checkpoint_persist"
BACK = 100  # steps before a spike from which PaLM's training was resumed (Chowdhery and others 2022, section 5.1)
_BEGIN, _END = "begin", "end"


class Checkpoint(NamedTuple):
    """One complete checkpoint. `path`: where it lies, as printed."""

    step: int
    stored: bool
    path: str | None = None
    ref: Ref | None = None

    @property
    def name(self) -> Said:
        """ "the checkpoint of step 500 (/ckpt)"."""
        return (words.CHECKPOINT_AT if self.path else words.CHECKPOINT)(step=self.step, path=self.path)


class Lines(NamedTuple):
    """What lines of one kind say: step → who began it, who ended it, and the first line that says that it is done."""

    begun: Mapping[int, set[int | None]]
    ended: Mapping[int, set[int | None]]
    first: Mapping[int, Ref]

    @property
    def complete(self) -> dict[int, Ref]:
        """Steps of which nobody owes a part."""
        tells = self._who_tells()
        return {step: ref for step, ref in self.first.items() if not self._owed(step, tells)}

    @property
    def unfinished(self) -> dict[int, list[int]]:
        """Step → ranks that began their part and did not say that it was done, though they say so of other steps."""
        tells = self._who_tells()
        owed = {
            step: sorted(rank for rank in self._owed(step, tells) if rank is not None) for step in sorted(self.begun)
        }
        return {step: ranks for step, ranks in owed.items() if ranks}

    def _who_tells(self) -> set[int | None]:
        return set().union(*self.ended.values())

    def _owed(self, step: int, tells: set[int | None]) -> set[int | None]:
        return self.begun.get(step, set()) & tells - self.ended.get(step, set())


class Checkpoints(NamedTuple):
    """All that one attempt says of its checkpoints: by kind of line, and the complete ones by step."""

    saved: Lines
    stored: Lines
    complete: tuple[Checkpoint, ...]


NOTHING = Checkpoints(Lines({}, {}, {}), Lines({}, {}, {}), ())


def checkpoints(events: pl.DataFrame) -> Checkpoints:
    """Events of one attempt → what they say of checkpoints."""
    rows = events.filter(pl.col("kind").is_in([SAVED, STORED]) & pl.col("step").is_not_null())
    if not rows.height:
        return NOTHING
    rows = rows.filter(~pl.col("severity").is_in(["error", "fatal"]).fill_null(False)).with_columns(
        _phase=pl.col("detail").str.json_path_match("$.phase").fill_null(_END),
        _path=pl.col("detail").str.json_path_match("$.path"),
    )
    paths = dict(rows.drop_nulls("_path").select("step", "_path").unique("step", keep="first").iter_rows())
    saved, stored = _lines(rows.filter(pl.col("kind") == SAVED)), _lines(rows.filter(pl.col("kind") == STORED))
    in_storage, anywhere = stored.complete, saved.complete | stored.complete
    known = tuple(Checkpoint(step, step in in_storage, paths.get(step), anywhere[step]) for step in sorted(anywhere))
    return Checkpoints(saved, stored, known)


def _lines(rows: pl.DataFrame) -> Lines:
    who: dict[str, dict[int, set[int | None]]] = {_BEGIN: defaultdict(set), _END: defaultdict(set)}
    for phase, step, rank in rows.select("_phase", "step", "rank").unique().iter_rows():
        who[_BEGIN if phase == _BEGIN else _END][step].add(rank)
    done = rows.filter(pl.col("_phase") != _BEGIN).unique("step", keep="first", maintain_order=True)
    first = {
        step: Ref(file=file or "", line=line, text=text or "")
        for step, file, line, text in done.select("step", "file", "line", "text").iter_rows()
    }
    return Lines(who[_BEGIN], who[_END], first)


def safe(known: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Those that outlive a host: what reached storage, where the job tells it apart."""
    return [one for one in known if one.stored] or list(known)


def checkpoint_before(known: Sequence[Checkpoint], step: int, margin: int) -> Checkpoint | None:
    """The newest safe one at least `margin` steps before a step, else the newest before it."""
    before = safe([one for one in known if one.step < step])
    early = [one for one in before if one.step <= step - margin]
    return max(early or before, key=lambda one: one.step, default=None)


def before_step(step: int | None) -> Said:
    """Words for the state before a step; nothing lies before the first one but what the run began from."""
    return words.CHECKPOINT_BEFORE(step=step) if step is not None and step > 0 else words.BEGINNING
