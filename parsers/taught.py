"""Rows of knowledge that a user brings (`--knowledge FILE`): read, checked, and asked before those that are shipped.

A file is as those of parsers/knowledge; its name is the printer's. It may come from somebody else: it is data, nothing in it is
run, it is at most BYTES long, and a pattern that may need exponential time is refused.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parsers import knowledge
from parsers.ambiguity import is_exponential
from parsers.knowledge import FrameRow, MessageRow
from parsers.schema.parser import Parser

BYTES = 1 << 20
Texts = tuple[tuple[str, str], ...]  # printer, text of its file


class Checked(NamedTuple):
    """A row, what it makes of its example, and what is wrong with it; `before`: shipped rows whose examples it now answers."""

    name: str
    says: str
    faults: tuple[str, ...]
    before: tuple[str, ...]


def texts_of(files: Sequence[str]) -> Texts:
    """The files as texts. ValueError, with the file, where one cannot be read or a row is not as it must be."""
    texts = tuple((Path(file).stem, _text(file)) for file in files)
    if twice := next((printer for printer, _ in texts if [name for name, _ in texts].count(printer) > 1), None):
        raise ValueError(f"two files are called {twice}: the name is the printer's")
    frames, messages = knowledge.read(dict(texts))
    every: list[FrameRow | MessageRow] = [*frames, *messages]
    for row in every:
        if fault := _of_patterns(row):
            raise ValueError(f"{row.printer}.toml: {row.name}: {fault}")
    return texts


def _text(file: str) -> str:
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(BYTES + 1)
        if len(data) > BYTES:
            raise ValueError(f"{file}: longer than {BYTES} bytes")
        return data.decode("utf-8")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8") from error


def _of_patterns(row: FrameRow | MessageRow) -> str | None:
    patterns = [row.pattern] if isinstance(row, MessageRow) else [row.function, row.file]
    try:
        knowledge.compiled(row)
        return "a pattern may need exponential time" if any(map(is_exponential, patterns)) else None
    except ValueError as error:
        return str(error).rpartition(": ")[2]
    except NotImplementedError as error:
        return f"a pattern has what is not allowed here: {error}"


def parsers_with(texts: Texts) -> tuple[Parser, ...]:
    """All parsers; the one that asks rows of knowledge asks these first, wherever it runs."""
    from parsers.logs import failures
    from parsers.registry import PARSERS

    own = failures.taught(texts)
    return tuple(own if parser is failures.PARSER else parser for parser in PARSERS)


def check(texts: Texts) -> list[Checked]:
    """Every row, in order: what it says of its example, beside the rows that are shipped."""
    knowledge.learn(())
    shipped = knowledge.rows()[1]
    knowledge.learn(texts)
    frames, messages = knowledge.read(dict(texts))
    taken = {f"{row.printer}.{row.name}": _answer(row.example) for row in shipped}
    found = [_frame(row) for row in frames]
    for row in messages:
        name = f"{row.printer}.{row.name}"
        said = knowledge.meaning(row.example)
        unanswered = (
            None if said and said.row == name else f"its example is answered by {said.row if said else 'no row'}"
        )
        faults = tuple(filter(None, (unanswered, knowledge.contradiction(row))))
        told = "" if said is None else " ".join(f"{field}={value}" for field, value in said.fields.items())
        line = {"": "no line", knowledge.NOTHING: "understood, nothing happened"}.get(row.event, f"event {row.event}")
        before = tuple(other for other, answer in taken.items() if answer == name and other != name)
        found.append(Checked(name, f"{row.claim}, about {row.about}; {line}; {told}".rstrip("; "), faults, before))
    return found


def _answer(example: str) -> str | None:
    said = knowledge.meaning(example)
    return said.row if said else None


def _frame(row: FrameRow) -> Checked:
    name = f"{row.printer}.{row.name}"
    place = knowledge.frame_of(row.example)
    waits = knowledge.waits(*place) if place else None
    wanted = "wrapper" if row.waits == "none" else row.waits
    faults = () if waits == wanted else (f"its example waits for {waits or 'nothing that a row knows'}",)
    return Checked(name, f"waits for {row.waits}", faults, ())
