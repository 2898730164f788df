"""What shows who may hold a job up, but not that it stands still, is said with an if, whatever kind of evidence it is."""

import json
from collections.abc import Callable

import pytest

from tests.hang_tables import SECOND_NS, START_NS, Rows, call, waiting
from tests.test_detector_no_heartbeat import beats


def sampled(metric: str, odd: float, usual: float, moments: int) -> Rows:
    """Eight devices, each a rank's, that of rank 3 apart from the others."""
    job = Rows(8).placed()
    for rank in range(8):
        for moment in range(moments):
            job.add("devices", host=job.host(rank), pci=f"0000:{rank:02x}:00.0", device_index=rank, metric=metric, file="smi.csv",
                    value=odd if rank == 3 else usual, time_ns=START_NS + 60 * moment * SECOND_NS)  # fmt: skip
    return job


def ras_text() -> Rows:
    said = {
        "counts": [{"ranks": 3, "operation": 9}, {"ranks": 1, "operation": 8}],
        "listed": [{"rank": 2, "operation": 8}],
        "op": "AllReduce",
    }
    row = {"code": "MISMATCH", "severity": "warning", "group": "ab12", "detail": json.dumps(said)}
    return Rows(4).placed().event("ras_status", **row)


def ras_counts() -> Rows:
    job = Rows(4).placed().add("groups", group="ab12", size=4, how="ras")
    for rank in range(4):
        job.add("progress", rank=rank, group="ab12", desc="all_reduce", last_enqueued=9 - (rank == 2), how="ras", file="ras.json",
                record=0, line=None, time_ns=START_NS)  # fmt: skip
    return job


def no_answer() -> Rows:
    row = {"names_ranks": [2], "names_rank_space": "global", "group": "ab12", "severity": "warning"}
    return Rows(4).placed().event("missing_members", code="INCOMPLETE", **row)


KINDS: dict[str, Callable[[], Rows]] = {
    "heartbeats": lambda: beats({5: 300}),
    "power": lambda: sampled("power.draw [W]", 150.0, 600.0, 5),
    "power at one moment": lambda: sampled("power.draw [W]", 150.0, 600.0, 1),
    "utilisation": lambda: sampled("utilization.gpu [%]", 0.0, 100.0, 5),
    "RAS as text": ras_text,
    "RAS as JSON": ras_counts,
    "RAS, no answer": no_answer,
    "stacks": lambda: (
        Rows(4).stack(0, "communication").stack(1, "communication").stack(2, "data_loading").stack(3, "communication")
    ),
    "flight records": lambda: waiting(Rows(4), (0, 1, 3), "world", 5).dump(2, call("world", 4, "broadcast", done=True)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_is_named_and_the_sentence_has_an_if(kind: str) -> None:
    known, verdict = KINDS[kind]().verdict(hung=True), KINDS[kind]().verdict(hung=False)
    assert (verdict.kind, verdict.ranks, verdict.hosts, verdict.status) == ("hang", [], [], "hypothesis")
    assert verdict.summary.startswith("If the job stands still, ") and "--hung" in verdict.summary
    assert {*verdict.suspects.ranks} == {*known.ranks, *known.suspects.ranks} != set()


def test_errors_that_nobody_explains_are_said_first() -> None:
    """A gauge that is odd explains no error."""
    job = KINDS["power"]().event("other", text="ZorbError: frobnicated")
    verdict = job.verdict(hung=False)
    assert verdict.kind != "hang" and "ZorbError" in verdict.summary
    assert verdict.suspects.ranks == []


def test_a_run_that_ended_well_is_healthy_whoever_idles_at_its_end() -> None:
    job = KINDS["utilisation"]()
    for rank in range(8):
        job.event("job_end", rank=rank, severity="info", code="0")
        job.event("exit", rank=rank, severity="info", code="0")
    assert job.verdict(hung=False).kind == "healthy"
