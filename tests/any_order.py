"""What detectors found comes to the same in whatever order they are asked: for analyses under way."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from unittest.mock import patch

from forensics.analyze import about, conclude_evidence
from forensics.analyze import detect as detected
from forensics.case import Case, Detector
from forensics.detectors import DETECTORS
from forensics.model.drawn import Views
from forensics.model.finding import Finding
from forensics.model.said import Said
from forensics.report import Report
from forensics.verdict.conclude import choose, conclude
from parsers import Evidence

ANALYSIS = import_module("forensics.analyze")  # the function of the same name hides it
DETECTED = [detector.name for detector in DETECTORS]
ORDERS = (tuple(DETECTED[::-1]), tuple(random.Random(7).sample(DETECTED, len(DETECTED))))


def verdicts(case: Case, findings: Sequence[Finding]) -> list[tuple[object, ...]]:
    said = (one.verdict for one in conclude(case, choose(case, findings, about(DETECTORS)), lambda _: Views()))
    return [
        (one.kind, one.cause, one.ranks, one.hosts, one.suspects, one.status, one.undecided, one.site, str(one.summary))
        for one in said
    ]


@contextmanager
def in_any_order() -> Iterator[list[bool]]:
    """Of each attempt, and of each program of it, that is analysed meanwhile: do its findings come to the same in other orders?"""
    same: list[bool] = []

    def detect(case: Case, detectors: Sequence[Detector], *_: object) -> tuple[list[Finding], dict[str, Said]]:
        found = {one.name: detected(case, [one]) for one in detectors}
        in_order = {order: [one for name in order for one in found[name][0]] for order in (tuple(found), *ORDERS)}
        first, *others = (verdicts(case, findings) for findings in in_order.values())
        same.append(all(other == first for other in others))
        return in_order[tuple(found)], {name: why for _, missing in found.values() for name, why in missing.items()}

    with patch.object(ANALYSIS, "detect", detect):
        yield same


def concluded_in_any_order(evidence: Evidence) -> Report:
    """The report; in other orders it comes to the same."""
    with in_any_order() as same:
        report = conclude_evidence(evidence)
    assert same and all(same)
    return report
