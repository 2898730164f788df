"""Mutates the sample lines of every parser and reads what comes out, for so many seconds: fuzz.py [--seconds N] [--seed N]

A parser must not raise on any of it, nor take longer than SLOW for one file of some 100 lines. What broke one is
printed with its seed, the exit status is 1 then; the same seed makes the same inputs.
"""

import argparse
import inspect
import io
import json
import random
import sys
import time
from collections.abc import Iterator

import parsers
from parsers import prefixes
from parsers.candidates import Candidates, checked
from parsers.parser import FileParser, LineParser, Parser, Source
from parsers.scan import scan

SLOW = 2.0  # seconds of processor time
PIECES = (
    b"9" * 30, b"-1", b"0x", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\x00", b"\r", b"\x1b[31m", b"nan", b"1e999", b"[" * 50,
    b'"', b"'", b"{", b"}", b",", b":", b" " * 300, b"\n", b"[rank999999999]: ", b"9999-99-99 99:99:99 ", "é\u202e".encode(),
)  # fmt: skip


def samples(parser: Parser) -> list[bytes]:
    """The indented lines of the docstring of the parser's module, which is its documentation."""
    doc = inspect.getdoc(sys.modules[parser.parse.__module__]) or ""
    return [line[4:].encode() for line in doc.splitlines() if line.startswith("    ")] or [b"x"]


def mutated(chance: random.Random, lines: list[bytes]) -> Iterator[bytes]:
    """Some 100 lines: as they are, cut, glued, with a piece put in, with bytes changed."""
    for _ in range(chance.randrange(1, 100)):
        line = bytearray(chance.choice(lines))
        for _ in range(chance.choice((0, 1, 1, 2, 5))):
            at = chance.randrange(len(line) + 1)
            match chance.randrange(5):
                case 0:
                    line[at:at] = chance.choice(PIECES)
                case 1:
                    del line[at : at + chance.randrange(1, 20)]
                case 2:
                    line[at:at] = chance.choice(lines)
                case 3:
                    line[at : at + 1] = bytes([chance.randrange(256)])
                case 4:
                    line[at:at] = bytes(line[at : at + chance.randrange(1, 9)]) * chance.choice((2, 50, 500))
        yield bytes(line)


def failure(parser: Parser, data: bytes) -> str | None:
    """What is wrong with how the parser takes the file; None if nothing is."""
    source = Source("a.log", len(data), lambda: io.BytesIO(data))
    began = time.process_time()
    try:
        if isinstance(parser, FileParser):
            parser.accepts(source.path, data[:65536])
            checked(parser.parse(source))
        else:
            found = read_lines(parser, source)
            if found:
                return found
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    spent = time.process_time() - began
    return f"{spent:.1f} seconds" if spent > SLOW else None


def read_lines(parser: LineParser, source: Source) -> str | None:
    candidates = Candidates([parser])
    candidates.add(source, scan(source.open(), [parser]), prefixes.Habits(2026))
    for _, tables in candidates.parse():
        for reason in tables["unread"]["reason"] if "unread" in tables else ():
            if " failed: " in reason:
                return str(reason)
    return None


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    until, tried, broken = time.monotonic() + given.seconds, 0, set[str]()
    while time.monotonic() < until:
        for parser in parsers.PARSERS:
            seed = f"{given.seed}-{tried}"
            data = b"\n".join(mutated(random.Random(seed), samples(parser)))
            tried += 1
            if parser.name not in broken and (wrong := failure(parser, data)):
                broken.add(parser.name)
                print(
                    json.dumps(
                        {"parser": parser.name, "seed": seed, "wrong": wrong[:300], "input": data.decode("latin-1")}
                    )
                )
            if time.monotonic() > until:
                break
    print(f"{tried} files read, {len(broken)} parsers broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
