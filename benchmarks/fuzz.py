"""Spoils what parsers read, and watches how they take it: fuzz.py [--family F …] [--inputs N] [--seconds S] [--seed N]

An input is one spoiled line of a text format, or one spoiled document (JSON, XML, a pickle, Parquet). They come in files
of some 100 lines, and the files in batches of BATCH bytes, as in a bundle. Wrong is: an error that leaves a parser, more
than SLOW seconds of processor time a megabyte, more than MEMORY bytes of the process, which are those of polars, too. What
broke a parser is printed with its seed, the exit status is 1 then; the same seed makes the same inputs. Without
`--family`, each family (folder of parsers/) has a process of its own, one after another.

--figures FILE adds a line of JSON per family; `fuzz.py --table FILE` prints the sums of what runs left there.
"""

import argparse
import io
import json
import multiprocessing
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import fuzz_inputs
import polars as pl

import parsers
from parsers.engine.candidates import Candidates, checked
from parsers.engine.scan import scan
from parsers.schema.parser import LineParser, Parser, Source
from parsers.text import stamps
from parsers.who.lines import prefixes

SLOW = 1.0  # seconds of processor time a megabyte, over a batch
MEMORY = 1 << 30  # bytes
STUCK = 120  # seconds after which a batch is ended
BATCH = 512 << 10  # bytes
FAMILIES = tuple(sorted({fuzz_inputs.family(parser) for parser in parsers.PARSERS}))


@dataclass(slots=True)
class Figures:
    """What a run over one family counted. `reached`: lines that were delivered to a line parser, spoiled or not."""

    family: str
    lines: int = 0
    documents: int = 0
    files: int = 0
    bytes: int = 0
    reached: int = 0
    seconds: float = 0.0
    worst: float = 0.0  # seconds a megabyte, of a batch
    slowest: str = ""  # the parser of it
    peak: int = 0  # bytes of memory
    failures: int = 0

    @property
    def inputs(self) -> int:
        return self.lines + self.documents

    def add(self, other: "Figures") -> None:
        if other.worst > self.worst:
            self.slowest = other.slowest
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if one.name in ("worst", "peak"):
                setattr(self, one.name, max(mine, theirs))
            elif not isinstance(mine, str):
                setattr(self, one.name, mine + theirs)


def failure(parser: Parser, batch: Sequence[bytes]) -> tuple[str | None, int]:
    """(what is wrong with how the parser takes the files, lines that reached it)."""
    sources = [Source(f"{number}.log", len(data), opener(data)) for number, data in enumerate(batch)]
    try:
        if isinstance(parser, LineParser):
            return read_lines(parser, sources)
        for source, data in zip(sources, batch, strict=True):
            parser.accepts(source.path, data[:65536])
            checked(parser.parse(source))
        if parser.together is not None:
            checked(parser.together(sources))
    except (Exception, Stuck, pl.exceptions.PanicException) as error:
        return f"{type(error).__name__}: {error}", 0
    return None, 0


def opener(data: bytes) -> Any:
    return lambda: io.BytesIO(data)


def read_lines(parser: LineParser, sources: Sequence[Source]) -> tuple[str | None, int]:
    candidates, reached = Candidates([parser]), 0
    for source in sources:
        scanned = scan(source.open(), [parser])
        reached += len(scanned.found)
        candidates.add(source, scanned, prefixes.Habits(stamps.all_of(2026)))
    for _, tables in candidates.parse():
        for reason in tables["unread"]["reason"] if "unread" in tables else ():
            if " failed: " in reason:
                return str(reason), reached
    return None, reached


class Stuck(BaseException):
    """A batch came to no end. No error that a reader takes for a record's."""


def stuck(*_: object) -> None:
    raise Stuck(f"no end after {STUCK} seconds")


def timed(parser: Parser, batch: Sequence[bytes]) -> tuple[str | None, int, float]:
    """(what is wrong, lines that reached the parser, seconds of processor time a megabyte; few bytes count as a batch)."""
    began = time.process_time()
    signal.alarm(STUCK)
    wrong, reached = failure(parser, batch)
    signal.alarm(0)
    spent = (time.process_time() - began) * (1 << 20) / max(BATCH, sum(map(len, batch)))
    return wrong or (f"{spent:.1f} seconds a megabyte" if spent > SLOW else None), reached, spent


def told(parser: Parser, seed: str, wrong: str, batch: Sequence[bytes]) -> None:
    """Print the first file of a batch that breaks the parser by itself, without most lines that do not matter."""
    lines = next((data for data in batch if failure(parser, [data])[0]), b"").split(b"\n")
    step = len(lines) // 2
    while step:
        for at in range(0, len(lines), step):
            fewer = lines[:at] + lines[at + step :]
            if failure(parser, [b"\n".join(fewer)])[0]:
                lines = fewer
                break
        else:
            step //= 2
    shown = b"\n".join(lines)[:4000].decode("latin-1")
    print(json.dumps({"parser": parser.name, "seed": seed, "wrong": wrong[:300], "input": shown}), flush=True)


def run(family: str, inputs: int, seconds: float, seed: int) -> Figures:
    """So many inputs through the parsers of a family, or what so many seconds allow."""
    signal.signal(signal.SIGALRM, stuck)
    figures, broken, turn = Figures(family), set[str](), 0
    members = [
        (parser, fuzz_inputs.seeds(parser)) for parser in parsers.PARSERS if fuzz_inputs.family(parser) == family
    ]
    for parser, given in members:  # what is compiled on first use is no parser's time
        failure(parser, given.lines[:5])
    began = time.monotonic()
    while figures.inputs < inputs and time.monotonic() - began < seconds:
        parser, given = members[turn % len(members)]
        name = f"{seed}-{parser.name}-{turn // len(members)}"
        made = list(fuzz_inputs.files(random.Random(name), given, BATCH))
        batch = [one.data for one in made]
        wrong, reached, spent = timed(parser, batch)
        if wrong and parser.name not in broken:
            broken.add(parser.name)
            told(parser, name, wrong, batch)
        figures.add(
            Figures(
                family,
                lines=sum(one.lines for one in made),
                documents=sum(one.documents for one in made),
                files=len(made),
                bytes=sum(map(len, batch)),
                reached=reached,
                worst=round(spent, 3),
                slowest=parser.name,
                failures=bool(wrong),
            )
        )
        turn += 1
    figures.seconds = round(time.monotonic() - began, 1)
    figures.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return figures


def table(rows: Sequence[Figures]) -> str:
    """Markdown; what several runs over one family counted is one row."""
    sums: dict[str, Figures] = defaultdict(lambda: Figures(""))
    for row in rows:
        sums[row.family].add(row)
    out = [
        "| family | inputs | of these documents | files | MB | lines that reached a parser | worst s/MB | peak MB | failures |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(sums.items()):
        figures = (row.inputs, row.documents, row.files, row.bytes >> 20, row.reached)
        cells = [name, *(f"{figure:,}" for figure in figures), f"{row.worst:.2f} ({row.slowest})"]
        out.append(f"| {' | '.join([*cells, str(row.peak >> 20), str(row.failures)])} |")
    return "\n".join(out)


def options() -> argparse.Namespace:
    found = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    found.add_argument("--family", action="append", choices=FAMILIES)
    found.add_argument("--inputs", type=int, default=10_000, help="of each family")
    found.add_argument("--seconds", type=float, default=600, help="of each family, at most")
    found.add_argument("--seed", type=int, default=1)
    found.add_argument("--figures", type=Path)
    found.add_argument("--table", type=Path)
    return found.parse_args()


def main() -> int:
    given = options()
    if given.table is not None:
        print(table([Figures(**json.loads(line)) for line in given.table.read_text().splitlines()]))
        return 0
    rows: list[Figures] = []
    for name in given.family or FAMILIES:
        with multiprocessing.get_context("spawn").Pool(1) as alone:  # the peak of memory is of a process
            rows.append(alone.apply(run, (name, given.inputs, given.seconds, given.seed)))
        if given.figures is not None:
            with given.figures.open("a") as stream:
                stream.write(json.dumps(asdict(rows[-1])) + "\n")
    print(table(rows))
    wrong = [row.family for row in rows if row.failures or row.peak > MEMORY]
    inputs, count = sum(row.inputs for row in rows), sum(row.files for row in rows)
    print(f"{inputs:,} inputs in {count:,} files, {sum(row.failures for row in rows)} batches failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
