"""Builds a case from a few rows of evidence, along the road that analyze takes, and has the verdict judge findings in it."""

from dataclasses import dataclass
from typing import Any

from forensics.analyze import about, case_of, detect
from forensics.case import Case, Detector
from forensics.model.finding import Claim, Finding
from forensics.model.names import Cause, Kind, Reason, Status
from forensics.verdict.conclude import choose
from forensics.verdict.judged.arbitrate import Candidate
from forensics.verdict.judged.observers import Basis
from forensics.verdict.judged.status import status_of
from parsers.schema.tables import TABLE_NAMES, table
from parsers.text.quantities import with_quantities


def case(events: list[dict[str, Any]] = (), expected: int | None = None, **tables: list[dict[str, Any]]) -> Case:  # type: ignore[assignment]
    """Rows get a file and a line where they state none, and errors a severity; a rank without space is global."""
    rows = []
    for number, given in enumerate(events, 1):
        row = {"file": "a.log", "line": number, "severity": "error", "text": f"line {number}"} | given
        if row.get("rank") is not None:
            row.setdefault("rank_space", "global")
        rows.append(row)
    others = {
        name: [
            ({} if name == "files" else {"file": f"{name}.log", "line": number}) | row
            for number, row in enumerate(given, 1)
        ]
        for name, given in tables.items()
    }
    others["events"] = rows
    whole = {name: table(name, others.get(name, [])) for name in TABLE_NAMES}
    return case_of({**whole, "devices": with_quantities(whole["devices"])}, 0, expected)


@dataclass(frozen=True, slots=True)
class Judged:
    """The explanation that the verdict chooses. `observers`: who stands behind it, told from its subject."""

    candidate: Candidate
    status: Status
    observers: tuple[str, ...]

    @property
    def finding(self) -> Finding:
        return self.candidate.finding

    @property
    def kind(self) -> Kind:
        return self.candidate.kind

    @property
    def basis(self) -> Basis:
        return self.candidate.basis

    @property
    def is_proven(self) -> bool:
        """Is it more than a hypothesis?"""
        return self.status in ("supported", "established")

    @property
    def cause(self) -> Cause | None:
        return self.finding.cause

    @property
    def ranks(self) -> tuple[int, ...]:
        return self.finding.ranks

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.finding.hosts

    @property
    def suspects(self) -> tuple[int, ...]:
        return self.finding.suspect_ranks

    @property
    def suspect_hosts(self) -> tuple[str, ...]:
        return self.finding.suspect_hosts

    @property
    def undecided(self) -> tuple[Reason, ...]:
        return self.finding.undecided

    @property
    def claims(self) -> tuple[Claim, ...]:
        return self.finding.claims


def judged(whole: Case, *detectors: Detector) -> Judged:
    """What the verdict makes of all that these detectors find. A single one must have found exactly one thing."""
    findings, missing = detect(whole, detectors)
    assert not missing or len(detectors) > 1
    assert len(detectors) > 1 or len(findings) == 1
    conclusion = choose(whole, findings, about(detectors))
    best, observers = conclusion.chosen[0], conclusion.choice.observers
    return Judged(best, status_of(best, observers).status, tuple(observers.categories(best.finding)))
