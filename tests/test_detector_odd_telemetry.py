"""What was measured of devices explains who is slow or suspected; alone it accuses nobody."""

from typing import Any

import pytest

from forensics.detectors.slow import straggler, throughput_drop
from tests.hang_tables import SECOND_NS, START_NS, Rows, waiting
from tests.log_cases import case, judged
from tests.slow_tables import Timed

KNOWN = [{"name": "pipeline_model_parallel_size", "value": "1"}]
RANKS: list[dict[str, Any]] = [
    {"rank": rank, "how": "init", "host": "node-0", "local_rank": rank, "device_index": rank, "world_size": 8}
    for rank in range(8)
]  # fmt: skip


def slow_rows() -> list[dict[str, Any]]:
    job = Timed(8)
    job.slower(5, "backward", 1.3)
    return job.rows(False)


def gpus(metric: str, usual: float, odd: float | None = None, who: int = 5) -> list[dict[str, Any]]:
    return [
        {"host": "node-0", "device_index": index, "metric": metric, "value": odd if index == who and odd is not None else usual,
         "time_ns": START_NS + moment * 15 * SECOND_NS}
        for moment in range(4) for index in range(8)
    ]  # fmt: skip


def test_a_throttled_device_is_a_second_observer_of_a_slow_rank() -> None:
    rows = slow_rows()
    found = judged(
        case(timings=rows, ranks=RANKS, settings=KNOWN, devices=gpus("clocks.sm", 1980, 1185)), straggler.DETECTOR
    )
    assert (found.ranks, found.status, found.observers) == ((5,), "established", ("a monitor", "its own records"))
    assert "SM clock 1185 MHz" in found.finding.summary
    clean = judged(case(timings=rows, ranks=RANKS, settings=KNOWN, devices=gpus("clocks.sm", 1980)), straggler.DETECTOR)
    assert (clean.ranks, clean.status) == ((5,), "supported")


def test_the_heat_of_the_slow_rank_stands_in_the_sentence_and_proves_nothing() -> None:
    rows = slow_rows()
    hot = judged(
        case(timings=rows, ranks=RANKS, settings=KNOWN, devices=gpus("temperature.gpu", 69, 104)), straggler.DETECTOR
    )
    assert (hot.ranks, hot.status) == ((5,), "supported")
    assert "temperature 104 °C, at the median of 7 peers 69 °C" in hot.finding.summary
    cold = judged(
        case(timings=rows, ranks=RANKS, settings=KNOWN, devices=gpus("temperature.gpu", 69, 104, who=2)),
        straggler.DETECTOR,
    )
    assert "104" not in cold.finding.summary


def test_another_device_that_is_throttled_speaks_neither_for_nor_against() -> None:
    rows = slow_rows()
    hot = case(timings=rows, ranks=RANKS, settings=KNOWN, devices=gpus("clocks.sm", 1980, 1185, who=2))
    assert (judged(hot, straggler.DETECTOR).ranks, judged(hot, straggler.DETECTOR).status) == ((5,), "supported")


def test_a_log_that_slows_down_has_the_throttled_device_as_suspect() -> None:
    steps = [
        {"rank": 7, "step": step, "elapsed_ms": 1000.0 if step < 30 else 1400.0, "tflops": 140.0 if step < 30 else 100.0}
        for step in range(60)
    ]  # fmt: skip
    slow = case(steps=steps, ranks=RANKS, devices=gpus("clocks_throttle_reasons.hw_thermal_slowdown", 0, 1))
    found = judged(slow, throughput_drop.DETECTOR)
    assert (found.cause, found.ranks, found.suspects, found.status) == ("throughput_drop", (), (5,), "hypothesis")
    assert "thermal throttling" in found.finding.summary
    hot = judged(case(steps=steps, ranks=RANKS, devices=gpus("temperature.gpu", 60, 97)), throughput_drop.DETECTOR)
    assert hot.suspects == ()


@pytest.mark.parametrize(("metric", "usual", "odd"), [("temperature.gpu", 60, 97), ("clocks.sm", 1980, 1185)])
def test_a_hot_or_throttled_device_of_a_job_that_is_not_slow_accuses_nobody(
    metric: str, usual: float, odd: float
) -> None:
    job = Rows(8, per_host=8).placed()
    for row in gpus(metric, usual, odd):
        job.add("devices", **{**row, "host": "node0"})
    for rank in range(8):
        job.add("steps", rank=rank, step=9, loss=2.0).event("job_end", rank=rank, severity="info")
    incident = job.incident(hung=False)
    assert (incident.verdict.kind, incident.verdict.ranks, incident.verdict.suspects.ranks) == ("healthy", [], [])
    alone = Rows(8, per_host=8)
    for row in gpus(metric, usual, odd):
        alone.add("devices", **row)
    verdict = alone.verdict(hung=False)
    assert (verdict.kind, verdict.ranks, verdict.hosts, verdict.suspects.ranks) == ("unknown", [], [], [])
    assert "accuses nobody by itself" in verdict.summary


def test_a_suspects_telemetry_stands_beside_the_proof_and_raises_no_status() -> None:
    plain = waiting(Rows(4, per_host=4, dp=(0, 1, 2, 3)).placed(), (0, 1, 2), "dp", 5)
    before = plain.verdict()
    for row in [*gpus("temperature.gpu", 60, 97, who=3)]:
        plain.add("devices", **{**row, "host": "node0"})
    incident = plain.incident()
    assert (incident.verdict.ranks, incident.verdict.suspects, incident.verdict.status) == (
        before.ranks, before.suspects, before.status,
    )  # fmt: skip
    assert any("temperature 97" in one.claim for one in incident.evidence)


@pytest.mark.parametrize("odd", [95.0, 690.0])
def test_the_device_with_another_power_is_a_suspect_of_a_hang(odd: float) -> None:
    job = Rows(8, per_host=8).placed()
    for row in gpus("power.draw", 310, odd):
        job.add("devices", **{**row, "host": "node0"})
    verdict = job.verdict()
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks, verdict.status) == ("hang", [], [5], "hypothesis")
    untold = job.verdict(hung=False)
    assert (untold.ranks, untold.suspects.ranks, untold.status) == ([], [5], "hypothesis")
    assert "single_snapshot" in untold.undecided or "no_time_witness" in untold.undecided


def test_the_host_whose_traffic_ended_first_is_a_suspect_of_a_hang() -> None:
    job = Rows(64).placed()
    for moment in range(12):
        for host in range(8):
            rate = 0.0 if moment >= (5 if host == 3 else 9) else 2e10
            job.add("devices", host=f"node{host}", part="mlx5_0", metric="port_bytes_sent_per_s", value=rate,
                    time_ns=START_NS + moment * 15 * SECOND_NS)  # fmt: skip
    verdict = job.verdict()
    assert (verdict.kind, verdict.ranks, verdict.hosts, verdict.suspects.hosts) == ("hang", [], [], ["node3"])
    assert verdict.status == "hypothesis"
