"""What was before stands in the headline where it is the most that is known: a host that comes back, an attempt that failed."""

import pytest

from forensics.model.incident import Incident, Place, Suspects, Verdict
from forensics.model.names import Cause, Kind
from forensics.model.said import Said, zh
from forensics.verdict.past.recurrence import mark_repeats
from reports.answer import actions, answer
from tests.hang_tables import Rows


def _incident(kind: Kind, attempt: int, cause: Cause | None = None, host: str | None = None, rank: int = 3) -> Incident:
    """One that suspects the host of a rank, where there is one; else one of a rank that is named."""
    base = Rows(8).placed().event("exception", rank=3, code="KeyError", text="KeyError").incident(hung=False)
    suspects = Suspects(ranks=[rank], hosts=[], devices=[]) if host else Suspects(ranks=[], hosts=[], devices=[])
    verdict = Verdict(
        kind=kind, cause=cause, status="hypothesis" if host else "supported", ranks=[] if host or kind == "healthy" else [rank],
        suspects=suspects, undecided=["culprit_among_missing"] if host else [],
        places=[Place(rank=rank, host=host)] if host else [],
        summary=Said("Undecided: ranks 0-2 timed out.", "无法判定：rank 0-2 超时。") if host else Said("No fault found: it ended.", "未发现故障：已结束。"),
    )  # fmt: skip
    return Incident(
        attempt=attempt, verdict=verdict, evidence=[], alternatives=[], blast_radius=base.blast_radius, severity=None,
        lost=base.lost, counterfactual=None, actions=[], symptoms=[], choice=[], has_ended=True, checked=[], views=base.views,
    )  # fmt: skip


@pytest.mark.parametrize("host", ["n1", "gpu-045", "10.0.0.7"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_host_that_is_suspected_again_is_the_answer_and_the_first_step(host: str, before: int) -> None:
    found = [_incident("hang", at, host=host, rank=at) for at in range(before + 1)]
    last = mark_repeats(found, before, 8)[before]
    assert answer(last).sentence.startswith(f"Host {host} was suspected in attempt") or before > 9
    assert zh(last.verdict.summary).startswith(f"无法判定：节点 {host}")
    first = actions(last)[0]
    assert (first.kind, first.target) == ("inspect_hardware", host)
    assert last.verdict.hosts == [] and last.verdict.status == "hypothesis"


def test_another_host_each_time_is_no_news() -> None:
    found = [_incident("hang", at, host=f"n{at}", rank=at) for at in range(3)]
    last = mark_repeats(found, 2, 8)[2]
    assert last.verdict.summary == found[2].verdict.summary and last.actions == []


@pytest.mark.parametrize(("kind", "cause"), [("hang", "rank_absent"), ("crash", "exception"), ("crash", None)])
def test_a_good_end_does_not_hide_the_attempt_that_failed(kind: Kind, cause: Cause | None) -> None:
    found = [_incident(kind, 0, cause), _incident("healthy", 1)]
    last = mark_repeats(found, 1, 8)[1]
    assert answer(last).sentence.startswith("Attempt 0 failed (") and "rank 3" in answer(last).sentence
    assert "no fault found" in answer(last).sentence and "第 0 次启动失败" in zh(last.verdict.summary)


@pytest.mark.parametrize("before", ["healthy", "unknown"])
def test_a_good_end_after_good_ones_is_just_that(before: Kind) -> None:
    found = [_incident(before, 0), _incident("healthy", 1)]
    assert mark_repeats(found, 1, 8)[1].verdict.summary == found[1].verdict.summary
