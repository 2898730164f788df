"""What a finding rests on, and which of two that weigh the same is taken: beside each rule stands the innocent it must not name."""

from typing import Any

import pytest

from forensics.model.finding import Claim, Finding
from forensics.model.ref import Ref
from forensics.verdict.judged.arbitrate import Candidate, _of_two, kind_of
from forensics.verdict.judged.observers import Observers
from forensics.verdict.judged.symptoms import Symptom
from tests.log_cases import case

WAIT = {"kind": "collective_timeout", "rank": 1, "op": "all_reduce", "seq": 7}
CLOSED = {"kind": "peer_closed", "rank": 1}
RAISED = {"kind": "exception", "rank": 1, "code": "KeyError", "text": "KeyError: 'eos'"}
EXIT = {"kind": "exit", "rank": 1, "code": "-6"}


def cited(**subjects: Any) -> Finding:
    """A finding that points to the first line of the log."""
    return Finding(
        detector="any",
        claims=(Claim("so it says", "for", (Ref(file="a.log", line=1, text=""),)),),
        summary="",
        **subjects,
    )


@pytest.mark.parametrize(
    ("row", "finding", "basis"),
    [
        (WAIT, cited(suspect_ranks=(3,)), "others_record"),
        (CLOSED, cited(suspect_ranks=(3,)), "others_record"),
        (WAIT, cited(suspect_ranks=(1, 3)), "others_record"),
        (WAIT, cited(), "others_record"),
        (WAIT, cited(ranks=(3,), cause="rank_absent"), "hint"),
        (WAIT, cited(ranks=(1,), cause="rank_absent"), "hint"),
        (RAISED, cited(suspect_ranks=(3,)), "hint"),
        (RAISED, cited(ranks=(1,), cause="exception"), "own_record"),
        (EXIT, cited(suspect_ranks=(3,)), "others_record"),
        (EXIT, cited(ranks=(3,), cause="rank_died"), "hint"),
    ],
    ids=[
        "that others wait shows a wait, of which suspects are what is left", "so does a lost connection",
        "a victim may be a suspect itself", "nobody is suspected", "who waits names nobody", "not even itself",
        "what a rank raised itself tells nothing of another", "it tells of itself", "a launcher's word on others leaves suspects",
        "and names nobody of whom it does not speak",
    ],
)  # fmt: skip
def test_what_a_line_is_worth(row: dict[str, Any], finding: Finding, basis: str) -> None:
    assert Observers(case([row]), [finding]).basis(finding) == basis


def candidate(**subjects: Any) -> Candidate:
    return Candidate(cited(**subjects), "hang", frozenset(), (), "others_record", None, ("any",))


NAMED = {"cause": "rank_absent"}


@pytest.mark.parametrize(
    ("one", "other", "ranks", "suspects"),
    [
        ({"ranks": (3,), **NAMED}, {"suspect_ranks": (2, 3)}, (3,), ()),
        ({"ranks": (3,), **NAMED}, {}, (3,), ()),
        ({"suspect_ranks": (2,)}, {}, (), (2,)),
        ({"ranks": (3,), **NAMED}, {"ranks": (3,), "cause": "rank_died"}, (3,), ()),
        ({"ranks": (3,), **NAMED}, {"ranks": (3, 4), "cause": "rank_died"}, (3,), ()),
        ({"ranks": (3, 5), **NAMED}, {"ranks": (3, 4), "cause": "rank_died"}, (), (3, 4, 5)),
        ({"ranks": (3,), **NAMED}, {"ranks": (5,), **NAMED}, (), (3, 5)),
        ({"ranks": (3,), **NAMED}, {"ranks": (5,), "cause": "rank_died"}, (), (3, 5)),
        ({"ranks": (3,), **NAMED}, {"hosts": ("n1",), "cause": "network_fault"}, (), (3,)),
    ],
    ids=[
        "one names whom the other suspects", "the other knows nobody", "suspects are more than nothing",
        "both name one rank: either will do", "the narrower: rank 4 is named by one alone", "neither is the narrower", "each names another: both are suspects", "of another cause, too",
        "a rank and a host",
    ],
)  # fmt: skip
def test_of_two_that_weigh_the_same(
    one: dict[str, Any], other: dict[str, Any], ranks: tuple[int, ...], suspects: tuple[int, ...]
) -> None:
    for first, second in ((one, other), (other, one)):
        found = _of_two(candidate(**first), candidate(**second)).finding
        assert (found.ranks, found.suspect_ranks) == (ranks, suspects)


def test_a_tie_of_two_causes_has_none_and_says_both() -> None:
    found = _of_two(candidate(ranks=(3,), **NAMED), candidate(ranks=(5,), cause="rank_died")).finding
    assert (found.cause, found.undecided) == (None, ("tied_explanations",))
    assert found.summary.startswith("Two explanations fit.")


def _sources(*lines: int, second: int = 1) -> list[str]:
    """Who stands behind a slow rank: a tool's word in line 1, and times of rank 3 in another line, or in the same."""
    said = [{"kind": "straggler", "names_ranks": [3], "names_rank_space": "global", "severity": "warning"}]
    times = [{"rank": 3, "phase": "all", "value_ms": 9.0, "step": 4, "file": "a.log", "line": second}]
    claims = tuple(Claim("so it says", "for", (Ref(file="a.log", line=line, text=""),)) for line in lines)
    found = Finding(detector="any", cause="straggler_compute", ranks=(3,), claims=claims, summary="")
    return Observers(case(said, timings=times), [found]).categories(found)


def test_one_line_that_was_read_into_two_tables_is_one_observer() -> None:
    assert len(_sources(1)) == 1
    assert len(_sources(1, 2, second=2)) == 2


@pytest.mark.parametrize(
    ("cause", "events", "kind"),
    [
        ("network_fault", [], "launch"),
        ("network_fault", [EXIT], "launch"),
        ("network_fault", [RAISED], "crash"),
        ("network_fault", [RAISED | {"rank": 2}], "launch"),
        ("network_fault", [RAISED, {"kind": "checkpoint_save", "step": 3}], "crash"),
        ("config_drift", [RAISED], "launch"),
    ],
    ids=["nobody ended", "it ended, for whatever reason", "it died", "another died", "it had begun", "a cause of launches alone"],
)  # fmt: skip
def test_whoever_died_by_itself_before_anything_began_crashed(
    cause: Any, events: list[dict[str, Any]], kind: str
) -> None:
    ended = frozenset({Symptom("ended", "rank 1", frozenset({1}))})
    assert kind_of(case(events), cited(ranks=(1,), cause=cause), ended, "never_started") == kind
