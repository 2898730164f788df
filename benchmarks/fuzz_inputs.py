"""What the fuzzers start from, and how they spoil it.

Seeds: the sample lines in the docstrings of the parsers, the texts in the tests, the recorded samples. A text format is
spoiled line by line, where a line is a JSON object in its values, too; a document (JSON, XML, a pickle, Parquet) as a
whole, in its values or in its bytes.
"""

import ast
import inspect
import io
import json
import pickle
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import parsers
from parsers.schema.parser import HEAD_BYTES, FileParser, Parser
from parsers.text.encodings import is_text

ROOT = Path(__file__).resolve().parent.parent
LINE_AT_MOST = 2000  # bytes of a seed
LINES, FILES = 300, 30  # seeds of a parser, at most
PER_FILE = 100  # lines of a spoiled text, about
PIECES = (
    b"9" * 30, b"-1", b"0x", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\x00", b"\r", b"\x1b[31m", b"nan", b"1e999", b"[" * 50,
    b'"', b"'", b"{", b"}", b",", b":", b" " * 300, b"\n", b"[rank999999999]: ", b"9999-99-99 99:99:99 ", "é\u202e".encode(),
)  # fmt: skip
NUMBERS = (
    b"0", b"-1", b"1e999", b"nan", b"inf", b"2147483648", b"18446744073709551616", b"9" * 40, b"1e-320", b"0.0", b"00", "٣".encode(),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**64, 10**40, 1e308, float("nan"), float("inf"), "", "\x00", "9" * 40, "é\u202e", "x" * 5000,
    [], {}, [[]], [None], {"": None}, ["a", 1, None], "[" * 200, "nan", "NaN", "0x10", "-",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


@dataclass(slots=True)
class Seeds:
    """What the inputs of one parser are made of."""

    lines: list[bytes] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)  # files of lines
    documents: list[bytes] = field(default_factory=list)  # files that are one value


@dataclass(slots=True)
class Made:
    """A spoiled file, and how many inputs it holds: its spoiled lines, or 1 for a document."""

    data: bytes
    lines: int = 0
    documents: int = 0


def family(parser: Parser) -> str:
    """The folder of parsers/ that it lives in."""
    return parser.parse.__module__.split(".")[1]


def own_samples(parser: Parser) -> list[bytes]:
    """The indented lines of the docstring of the parser's module, which is its documentation."""
    doc = inspect.getdoc(sys.modules[parser.parse.__module__]) or ""
    return [line[4:].encode() for line in doc.splitlines() if line.startswith("    ")] or [b"x"]


@cache
def texts() -> tuple[tuple[str, bytes], ...]:
    """(path, content): every text in the tests that could be a line or a file, and every file of the samples."""
    found = [
        ("a.log", node.value.encode("utf-8", "replace") if isinstance(node.value, str) else node.value)
        for path in sorted((ROOT / "tests").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes) and len(node.value) > 20
    ]
    for path in sorted((ROOT / "samples").glob("*/bundle/**/*")):
        if path.is_file():
            with path.open("rb") as stream:
                found.append((str(path.relative_to(ROOT)), stream.read(HEAD_BYTES)))
    return tuple(found)


def seeds(parser: Parser) -> Seeds:
    own = own_samples(parser)
    found = Seeds(lines=list(own))
    if isinstance(parser, FileParser):
        files = [b"\n".join(own), *_owned(parser)]
        found.documents = [data for data in files if is_document(data)] + _columns(parser, files)
        found.texts = [data for data in files if not is_document(data)]
        found.lines += [line for data in found.texts for line in data.splitlines()[:20]]
    else:
        anchored = (
            line
            for _, data in texts()
            if any(anchor in data for anchor in parser.anchors)
            for line in data.splitlines()
            if any(anchor in line for anchor in parser.anchors)
        )
        found.lines += _some(anchored, LINES)
    found.lines = [line[:LINE_AT_MOST] for line in dict.fromkeys(found.lines) if line][: 2 * LINES]
    return found


def _some(values: Iterable[bytes], most: int) -> list[bytes]:
    """So many of them, from everywhere."""
    every = list(dict.fromkeys(values))
    return every[:: max(1, len(every) // most)][:most]


def _owned(parser: FileParser) -> list[bytes]:
    """The texts that come to this parser, were they files."""
    owners = [one for one in parsers.PARSERS if isinstance(one, FileParser)]
    return _some(
        (data for path, data in texts() if next((one for one in owners if one.accepts(path, data)), None) is parser),
        FILES,
    )


def _columns(parser: FileParser, files: Sequence[bytes]) -> list[bytes]:
    """The rows of JSON Lines as Parquet, for a parser that reads both."""
    if parser.together is None:
        return []
    found = []
    for data in files[1:4]:
        rows = [row for line in data.splitlines()[:200] if isinstance(row := value(line), dict)]
        if rows:
            pl.DataFrame(rows, infer_schema_length=None).write_parquet(stream := io.BytesIO())
            found.append(stream.getvalue())
    return found


def is_document(data: bytes) -> bool:
    return not is_text(data[:HEAD_BYTES]) or data.lstrip()[:1] == b"<" or value(data) is not None


def value(data: bytes) -> Any:
    """The list or object that a text or a pickle of ours is; else None."""
    try:
        found = pickle.loads(data) if data[:1] == b"\x80" else json.loads(data)
    except (ValueError, RecursionError, pickle.UnpicklingError, EOFError):
        return None
    return found if isinstance(found, dict | list) else None


def spoiled(chance: random.Random, given: Seeds) -> Made:
    """One file."""
    if given.documents and (not given.texts or chance.random() < 0.5):
        data = chance.choice(given.documents)
        return Made(_document(chance, data, given.documents), documents=1)
    seed = chance.choice(given.texts).splitlines()[:PER_FILE] if given.texts and chance.random() < 0.7 else []
    made = Made(b"")
    lines = seed or [chance.choice(given.lines) for _ in range(chance.randrange(PER_FILE // 2, PER_FILE * 3 // 2))]
    kept = 0 if not seed else chance.choice((0, 1, 2, 5))  # often the head stays, by which a file is known
    out: list[bytes] = []
    for number, line in enumerate(lines):
        if number < kept or chance.random() < 0.1:
            out.append(line)
        else:
            out.append(_line(chance, line, given.lines))
            made.lines += 1
    made.data = b"\n".join(out)
    return made


def _document(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    found = value(data)
    if found is None or chance.random() < 0.2:
        return _line(chance, data, others)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        _touch(chance, found)
    return pickle.dumps(found, 2) if data[:1] == b"\x80" else json.dumps(found).encode("utf-8", "surrogatepass")


def _touch(chance: random.Random, tree: Any) -> None:
    """Change one place somewhere in a tree of lists and dicts."""
    node = tree
    while True:
        keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or chance.random() < 0.1:
            break
        node = inner
    match chance.randrange(4):
        case 0 | 1:
            node[key] = deepcopy(chance.choice(VALUES))
        case 2:
            del node[key]
        case 3 if isinstance(node, dict):
            node[str(key) + "x"] = node.pop(key)
        case _:
            node.extend([inner] * chance.choice((1, 50))) if isinstance(node, list) else None


def _line(chance: random.Random, raw: bytes, lines: Sequence[bytes]) -> bytes:
    """Cut, glued, with a piece put in, with numbers, bytes or values changed."""
    if raw[:1] == b"{" and chance.random() < 0.5 and isinstance(tree := value(raw), dict):
        _touch(chance, tree)
        return json.dumps(tree).encode("utf-8", "surrogatepass")
    line = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(line) + 1)
        match chance.randrange(7):
            case 0:
                line[at:at] = chance.choice(PIECES)
            case 1:
                del line[at : at + chance.randrange(1, 20)]
            case 2:
                line[at:at] = chance.choice(lines)[: 4 * LINE_AT_MOST]
            case 3:
                line[at : at + 1] = bytes([chance.randrange(256)])
            case 4:
                line[at:at] = bytes(line[at : at + chance.randrange(1, 9)]) * chance.choice((2, 5, 20, 20, 500))
            case _:
                number = _NUMBER.search(line, at) or _NUMBER.search(line)
                if number:
                    line[number.start() : number.end()] = chance.choice(NUMBERS)
    return bytes(line)


def files(chance: random.Random, given: Seeds, most: int) -> Iterator[Made]:
    """Spoiled files of so many bytes together."""
    size = 0
    while size < most:
        made = spoiled(chance, given)
        size += len(made.data) + 1
        yield made
