"""Which incidents could not be decided with a launch script, an environment, a pod's or a Slurm job's specification.

A text is asked for what each row's `proof` says: a variable that is given a value, whatever way (shell, YAML, JSON, Python, an
image's file, `-x NAME`), or a pattern. What a comment says counts for nothing. Only text is read; nothing of it is run.
"""

import re
from collections.abc import Iterable

import msgspec

from forensics.model.names import EvidenceKind
from forensics.setup.rows import Question, Row, Side, open_questions, rows_for, settings
from parsers.text.patterns import regex

_LONG = 4096  # characters of a line that are looked at
_COMMENT = regex(r"(?m)(?:^|(?<=\s))#(?!SBATCH\b|!).*$")
_VARIABLE = regex(r"[A-Z][A-Z0-9_]*(?:\|[A-Z][A-Z0-9_]*)*(?:=.+)?")
_OFF = regex(r"(?i)0|false|off|no|none|disabled?")
# What stands between a variable and its value: NAME=value, "NAME": "value", ["NAME"] = "value", name: NAME and value: below it
_TO_VALUE = r"""["']?\]?[ \t]*(?:[=:,]|\n[ \t-]*["']?value["']?[ \t]*[:=])[ \t]*["']?"""
_ITEM = r"""["'][ \t]*,[ \t]*\n?[ \t]*["']?value["']?[ \t]*:[ \t]*["']?"""  # {"name": "NAME", "value": "1"}


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """`launcher`, `vendor`: what the text shows or was told, null for unknown. `followed`, `missing`: rows. `kept`: the
    evidence that will be there. `undecided`: what could not be decided."""

    launcher: str | None
    vendor: str | None
    followed: tuple[Row, ...]
    missing: tuple[Row, ...]
    kept: frozenset[EvidenceKind]
    undecided: tuple[Question, ...]


def check(text: str, launcher: str | None = None, vendor: str | None = None) -> Checked:
    """Text of one or more files → what it leaves undecided. Launcher and vendor as told, else as the text shows them."""
    plain = _COMMENT.sub("", "\n".join(line[:_LONG] for line in text.split("\n")))
    launcher = launcher or _seen(settings().launcher, plain)
    vendor = vendor or _seen(settings().vendor, plain)
    rows = [row for row in rows_for(launcher, vendor) if row.proof or row.lasting]
    followed = tuple(row for row in rows if (launcher and row.lasting) or (row.proof and is_followed(row, plain)))
    kept = frozenset(kind for row in followed for kind in row.evidence)
    missing = tuple(row for row in rows if row not in followed)
    return Checked(
        launcher=launcher, vendor=vendor, followed=followed, missing=missing, kept=kept, undecided=tuple(open_questions(kept))
    )  # fmt: skip


def is_followed(row: Row, plain: str) -> bool:
    """Does a text without comments show all of the row's proof, and nothing that undoes it?"""
    undone = any(_values(name, plain) and all(map(_OFF.fullmatch, _values(name, plain))) for name in row.against)
    return not undone and all(_is_shown(proof, plain) for proof in row.proof)


def _is_shown(proof: str, plain: str) -> bool:
    if not _VARIABLE.fullmatch(proof):
        return regex(proof, re.M).search(plain) is not None
    names, _, wanted = proof.partition("=")
    fits = regex(f"(?i:{wanted})") if wanted else None
    for name in names.split("|"):
        if any(fits.fullmatch(value) if fits else not _OFF.fullmatch(value) for value in _values(name, plain)):
            return True
        if regex(rf"(?:^|\s)(?:-x|--env|-e)[ =]{name}(?:\s|$)", re.M).search(plain):  # as it is where the text is run
            return True
    return False


def _values(name: str, plain: str) -> list[str]:
    """Every value that a text gives a variable, none that is empty."""
    found = re.findall(rf"(?<![A-Za-z0-9_]){name}(?:{_ITEM}|{_TO_VALUE})([^\s\"',;}}]+)", plain)
    return [value for value in found if value]


def _seen(sides: Iterable[Side], plain: str) -> str | None:
    return next((side.name for side in sides if regex(side.seen, re.M).search(plain)), None)
