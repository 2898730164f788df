"""The table of settings, as it stands in settings.toml: kinds of evidence, questions, launchers, vendors, rows."""

import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files

import msgspec

from forensics.model.names import Cause, EvidenceKind


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of evidence, in words. `read_by`: modules or folders of parsers/ that read it in a bundle."""

    name: EvidenceKind
    what: str
    read_by: tuple[str, ...]


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is asked after an incident. `needs`: sets of kinds, any one of which decides it."""

    asks: str
    causes: tuple[Cause, ...]
    needs: tuple[frozenset[EvidenceKind], ...]

    def is_open(self, kept: Collection[EvidenceKind]) -> bool:
        """Is no set of what it needs among the evidence?"""
        return not any(need <= set(kept) for need in self.needs)


class Side(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A launcher or a vendor. `seen`: pattern of a text that shows it."""

    name: str
    what: str
    seen: str


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A setting or a hook; the fields are told at the head of settings.toml."""

    name: str
    what: str
    why: str
    cost: str
    since: str
    source: str
    evidence: tuple[EvidenceKind, ...]
    launchers: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    env: dict[str, str] = {}
    options: dict[str, str] = {}
    header: dict[str, str] = {}
    before: str = ""
    host_begin: str = ""
    host_end: str = ""
    job_end: str = ""
    code: str = ""
    host: str = ""
    pod: dict[str, str] = {}
    proof: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    lasting: bool = False
    only_shown: bool = False

    def is_for(self, launcher: str | None, vendor: str | None) -> bool:
        """Null: whichever."""
        asked = ((launcher, self.launchers), (vendor, self.vendors))
        return all(name is None or not names or name in names for name, names in asked)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    evidence: tuple[Kind, ...]
    question: tuple[Question, ...]
    launcher: tuple[Side, ...]
    vendor: tuple[Side, ...]
    row: tuple[Row, ...]

    @property
    def kinds(self) -> Mapping[EvidenceKind, str]:
        """Kind → in words."""
        return {kind.name: kind.what for kind in self.evidence}


@cache
def settings() -> Settings:
    """The table of the package."""
    text = files("forensics.setup").joinpath("settings.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Settings)


def rows_for(launcher: str | None, vendor: str | None) -> list[Row]:
    """Rows for a launcher and a vendor, null for whichever, in the order of the table."""
    return [row for row in settings().row if row.is_for(launcher, vendor)]


def rows_of(wanted: Iterable[str]) -> list[Row]:
    """Rows by name or by a kind of evidence that they leave."""
    names = set(wanted)
    return [row for row in settings().row if row.name in names or names & set(row.evidence)]


def open_questions(kept: Collection[EvidenceKind]) -> list[Question]:
    """What this evidence leaves undecided."""
    return [question for question in settings().question if question.is_open(kept)]


def gather_script() -> str:
    """gather.sh, as it is shipped."""
    return files("forensics.setup").joinpath("gather.sh").read_text(encoding="utf-8")
