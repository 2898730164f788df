"""How much of what the field's programs can print is read: knowledge.py [--sources FOLDER] [--only NAME …] [--unread N] [--draw N]

    make knowledge SOURCES=/data/sources           the table of docs/knowledge.md
    make knowledge SOURCES=/data/sources ONLY=ucx UNREAD=50    and what of it nobody reads, the weightiest first
    make knowledge SOURCES=/data/sources DRAW=300 SEED=1       diagnostic ones drawn at random, each with what is made of it

FOLDER holds a bare git directory, a work tree or an unpacked package for each name of knowledge_sources.toml. Each format at
error or warning level (harvest.py) is filled in with plausible values, put behind what its program prints before it, and read
alone, as a file of a bundle. *Diagnostic* are those that tell of a process, a peer, a device, storage or a wait that went
wrong, not of an argument. *Read*: some row or claim comes of the line. *A meaning*: an event of a kind of its own, or a row of
knowledge that says what is claimed of whom; the level alone is none.
"""

import argparse
import random
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import harvest
import polars as pl

import parsers
from parsers import knowledge
from parsers.schema.tables import TABLE_NAMES

_HEADS = {
    "error": "2026-01-31 10:11:12,689 - app.run - ERROR - {text}",
    "warning": "2026-01-31 10:11:12,689 - app.run - WARNING - {text}",
    "print": "{text}",
    "raise": 'Traceback (most recent call last):\n  File "/app/train.py", line 12, in main\n    fit()\n  File "/opt/env/lib/python3.11/site-packages/lib/x.py", line 7, in fit\n    return self._run()\n{cls}: {text}',
}
_JUDGED = (
    "kind",
    "code",
    "rank",
    "peer",
    "peer_rank",
    "device_index",
    "pci",
    "host",
    "op",
    "seq",
    "severity",
    "detail",
)
_SILENT = ("files", "unread")
_NO_MEANING = ("exception", "other", "comm_warning")
_SOURCES = Path(__file__).with_name("knowledge_sources.toml")


class Heard(NamedTuple):
    """A format and what the parsers made of it."""

    format: harvest.Format
    is_read: bool
    has_meaning: bool
    made: str


def line(one: harvest.Format, head: str | None) -> str:
    """The format as its program prints it."""
    if head is None or one.level in ("raise", "print"):
        head = _HEADS[one.level]
        if one.level == "raise" and not one.cls[:1].isupper():
            head = "terminate called after throwing an instance of 'std::{cls}'\n  what():  {text}"
    level = "ERROR" if one.level == "error" else "WARN "
    return head.replace("{LEVEL}", level).replace("{cls}", one.cls).replace("{text}", one.text)


def heard(found: list[harvest.Format], head: str | None) -> list[Heard]:
    """What comes of each, alone in a file of a bundle."""
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(found):
            (Path(folder) / f"{number:06}.log").write_text(line(one, head) + "\n", encoding="utf-8")
        tables = parsers.read(folder).tables
    read: dict[str, set[str]] = {}
    for name in TABLE_NAMES:
        if name not in _SILENT and "file" in tables[name].columns:
            for file in tables[name]["file"].drop_nulls().unique():
                read.setdefault(file, set()).add(name)
    meant = _meant(tables["events"])
    made = []
    for number, one in enumerate(found):
        file = f"{number:06}.log"
        rows, meaning = read.get(file, set()), meant.get(file)
        understood = bool(rows - {"events"}) and not meant.get(file, "").startswith("?")
        made.append(Heard(one, bool(rows), (meaning or "?")[0] != "?" or understood, meaning or ",".join(sorted(rows))))
    return made


def _meant(events: pl.DataFrame) -> dict[str, str]:
    """File → kind and code of its event, after a ? where that means nothing of its own."""
    found: dict[str, str] = {}
    for file, kind, code, text in events.select("file", "kind", "code", "text").iter_rows():
        row = knowledge.meaning(text or "")
        own = kind not in _NO_MEANING or (kind != "exception" and code is not None) or row is not None
        said = f"{'' if own else '?'}{kind}:{row.row if row else code}"
        if file not in found or found[file].startswith("?"):
            found[file] = said
    return found


def drawn(sources: dict[str, tuple[list[harvest.Format], str | None]], number: int, seed: int) -> list[str]:
    """Diagnostic formats at random over all sources: source, level, what was made of it, the text; to be judged by a person."""
    every = [(name, one) for name, (found, _) in sorted(sources.items()) for one in found if one.is_diagnostic]
    taken = random.Random(seed).sample(every, min(number, len(every)))
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for at, (name, one) in enumerate(taken):
            (Path(folder) / f"{at:06}.log").write_text(line(one, sources[name][1]) + "\n", encoding="utf-8")
        tables = parsers.read(folder).tables
    for at, (name, one) in enumerate(taken):
        file = f"{at:06}.log"
        made = [
            " ".join(f"{key}={value}" for key, value in row.items() if value is not None and key in _JUDGED)
            for row in tables["events"].filter(file=file).iter_rows(named=True)
        ]
        made += [f"table {table}" for table in ("claimed",) if file in tables[table]["file"].to_list()]
        row = knowledge.heard(one.text) or knowledge.meaning(one.text)
        meant = f"{row.row} claim={row.claim} about={row.about} own={row.own} {row.fields or ''}" if row else "no row"
        told.append(f"{at}\t{name}\t{one.level} {one.cls}\t{one.text[:300]!r}\t{' | '.join(made) or 'silent'}\t{meant}")
    return told


def table(counted: dict[str, list[Heard]]) -> str:
    """Markdown, a row for each source and one for all."""
    head = "| source | formats | read | diagnostic | read | with a meaning |\n|---|---|---|---|---|---|"
    rows = [_row(name, every) for name, every in counted.items()]
    return "\n".join([head, *rows, _row("**all**", [one for every in counted.values() for one in every])])


def _row(name: str, every: list[Heard]) -> str:
    told = [one for one in every if one.format.is_diagnostic]
    cells = (len(every), _share(every, "is_read"), len(told), _share(told, "is_read"), _share(told, "has_meaning"))
    return f"| {name} | " + " | ".join(map(str, cells)) + " |"


def _share(every: list[Heard], name: str) -> str:
    return f"{sum(getattr(one, name) for one in every) / len(every):.0%}" if every else "–"


def weight(one: harvest.Format) -> tuple[int, int]:
    """What a bundle of a failure is likely to hold comes first: it says what went wrong and is logged, not raised for an argument."""
    by_level = {"error": 0, "warning": 1, "print": 1, "raise": 2}
    return (not one.is_diagnostic, by_level[one.level])


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sources", type=Path, default=Path(".bench/sources"))
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--unread", type=int, default=0, help="how many of each source that mean nothing yet")
    options.add_argument("--draw", type=int, default=0, help="how many diagnostic ones to draw over all sources")
    options.add_argument("--seed", type=int, default=1)
    asked = options.parse_args()
    sources: dict[str, dict[str, Any]] = tomllib.loads(_SOURCES.read_text(encoding="utf-8"))
    if asked.draw:
        there = {name: told for name, told in sources.items() if (asked.sources / name).exists()}
        cut = {
            name: (harvest.formats(asked.sources / name, told["folders"]), told.get("head"))
            for name, told in there.items()
        }
        print("\n".join(drawn(cut, asked.draw, asked.seed)))
        return 0
    counted: dict[str, list[Heard]] = {}
    absent = []
    for name, told in sources.items():
        if asked.only and name not in asked.only:
            continue
        if not (asked.sources / name).exists():
            absent.append(f"{name} ({told['from']})")
            continue
        counted[name] = heard(harvest.formats(asked.sources / name, told["folders"]), told.get("head"))
        left = [one for one in counted[name] if not one.has_meaning]
        for one in sorted(left, key=lambda one: weight(one.format))[: asked.unread]:
            print(
                f"{name}\t{one.format.level}\t{'read' if one.is_read else '-'}\t{one.made}\t{one.format.text[:200]!r}\t{one.format.path}"
            )
    print(table(counted))
    if absent:
        print("\nNot there: " + "; ".join(absent))
    made = Counter(one.made.split(":")[0] for every in counted.values() for one in every if one.format.is_diagnostic)
    print(
        "\nKinds of diagnostic ones: "
        + ", ".join(f"{kind or 'nothing'} {count}" for kind, count in made.most_common(30))
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
