"""Situations made against the rules of whose failure it is and of who speaks: what must come out, and whom nobody may name.

`samples/situations`, a01 to a56: the sentence of truth there is the reason of a test. What must come out stands beside it:
kinds, causes; ranks or ranks_any, the exact sets to name; suspects or suspects_any, the exact sets to suspect (with nobody named);
told, who must be named or suspected and nobody else; hold, who must be among them; clear, who must not be; never, statuses that
are too sure; domain; program; seen, whose records there are; code, the file and line that are shown; cites, what the evidence must show; by_claim, a status where
something is claimed and none elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from forensics import Report
from forensics.model.incident import Verdict
from samples.situations import HEARD
from tests.analysed import REORDERED, is_same_in_any_order, situation

OPEN: dict[str, str] = {}  # situation → what is not judged yet
UNSEEN: dict[str, str] = {}


def said_hung(name: str) -> bool:
    return "--hung" in HEARD[name].expect.get("args", ())


def answer(name: str) -> tuple[Report, Verdict]:
    report = situation(name, hung=said_hung(name))
    return report, report.incidents[report.primary].verdict


def sets(expect: Mapping[str, Any], what: str) -> list[set[int]] | None:
    """The sets of ranks of which one must come out; None where nothing is said of it."""
    found = expect.get(f"{what}_any") or ([expect[what]] if what in expect else None)
    return None if found is None else [set(ranks) for ranks in found]


def innocent(name: str, report: Report) -> set[int | str]:
    """Ranks and hosts that some incident of the newest attempt names and the truth does not."""
    job, guilty = HEARD[name].make(name), set().union(*sets(HEARD[name].expect, "ranks") or [])
    primary = report.incidents[report.primary]
    said = [one.verdict for one in report.incidents if one.attempt == primary.attempt]
    hosts = {job.host(rank) for rank in guilty if rank < job.world}
    ranks = {rank for verdict in said for rank in (*verdict.ranks, *verdict.cycle)}
    devices = {device.host for verdict in said for device in verdict.devices if device.host}
    return (ranks - guilty) | ({host for verdict in said for host in verdict.hosts} | devices) - hosts


def wrong(name: str) -> list[str]:
    """What of the verdict is not as it must be."""
    expect, (report, found) = HEARD[name].expect, answer(name)
    ranks, suspects = set(found.ranks), set(found.suspects.ranks)
    must = {
        "kind": found.kind in expect["kinds"],
        "cause": "causes" not in expect or found.cause in expect["causes"],
        "named": ranks in (sets(expect, "ranks") or []),
        "innocent": not innocent(name, report),
        "suspects": not (one_of := sets(expect, "suspects")) or bool(ranks) or suspects in one_of,
        "told": "told" not in expect or (ranks or suspects) == set(expect["told"]),
        "hold": set(expect.get("hold", ())) <= ranks | suspects,
        "clear": not set(expect.get("clear", ())) & (ranks | suspects),
        "status": found.status not in expect.get("never", ()),
        "domain": found.domain == expect.get("domain", found.domain),
        "program": getattr(found, "program", None) == expect.get("program", getattr(found, "program", None)),
        "claims": not expect.get("by_claim") or claims_and_words_agree(found),
        "cites": all(any(part in ref.text for one in report.incident.evidence for ref in one.refs) for part in expect.get("cites", ())),
    }  # fmt: skip
    return [what for what, holds in must.items() if not holds]


def claims_and_words_agree(found: Verdict) -> bool:
    """Whether who and why have a word of their own exactly where something is claimed."""
    who, why = getattr(found, "status_who", None), getattr(found, "status_why", None)
    claimed = bool(found.ranks or found.hosts or found.suspects.ranks)
    return has_word(who) == claimed and has_word(why) == (found.cause is not None)


def has_word(word: str | None) -> bool:
    return word not in (None, "unknown")


def marked(names: Iterable[str], reasons: Mapping[str, str]) -> list[Any]:
    """Each name as a parameter; what does not come out yet fails strictly, with the reason."""
    fails = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in reasons.items()}
    return [pytest.param(name, marks=fails.get(name, [])) for name in names]


@pytest.mark.parametrize("name", marked(HEARD, OPEN))
def test_what_the_files_can_tell_comes_out_and_no_more(name: str) -> None:
    assert wrong(name) == [], HEARD[name].truth


@pytest.mark.parametrize("name", marked([name for name in HEARD if "seen" in HEARD[name].expect], UNSEEN))
def test_a_file_of_a_rank_is_its_record_whatever_its_words(name: str) -> None:
    assert answer(name)[0].coverage.ranks_seen == HEARD[name].expect["seen"], HEARD[name].truth


@pytest.mark.parametrize("name", marked([name for name in HEARD if "code" in HEARD[name].expect], {}))
def test_the_innermost_frame_of_own_code_is_shown(name: str) -> None:
    code = answer(name)[1].code
    assert code and (code.file, code.line) == HEARD[name].expect["code"], HEARD[name].truth


@pytest.mark.parametrize("name", [name for name in HEARD if name in REORDERED])
def test_no_order_of_detectors_changes_a_verdict(name: str) -> None:
    assert is_same_in_any_order(name, hung=said_hung(name))
