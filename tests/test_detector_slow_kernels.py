"""Means of kernels without steps: whose products take longer while the others wait for it, and what only looks like it."""

from typing import Any

import pytest

from forensics.case import Case
from forensics.detectors.slow.slow_kernels import DETECTOR
from parsers.device.prometheus import PARSER
from tests.log_cases import case, judged
from tests.sources import source

SAMPLE = '{name}{{dtype="bf16",ip="10.0.0.{host}",local_rank="{local}",operation="{kind}",rank="{rank}"}} {value}'
MATMUL, COMM = "XPU_TIMER_MM_KERNEL_AVG_LATENCY", "XPU_TIMER_COLL_KERNEL_AVG_LATENCY"


def looked(
    looks: int = 2, slow: int | None = 5, product: float = 1.4, wait: float = 0.3, by_all: float = 1.0, **more: Any
) -> Case:
    """Gauges of 16 ranks on two hosts, as xpu_timer exports them, seen `looks` times."""
    rows: list[dict[str, Any]] = []
    for look in range(looks):
        for name, kind, level, factor in ((MATMUL, "Matmul", 800, product), (COMM, "AllReduce", 16000, wait)):
            samples = [
                SAMPLE.format(
                    name=name, host=rank // 8, local=rank % 8, kind=kind, rank=rank,
                    value=round(by_all * level * (1 + 0.01 * ((rank * 7 + look * 3) % 5)) * (factor if rank == slow else 1)),
                )
                for rank in range(16)
            ]  # fmt: skip
            text = "\n".join([f"# TYPE {name} gauge", *samples])
            assert PARSER.accepts("metrics.txt", text.encode())
            found = PARSER.parse(source(text))["timings"].rows(named=True)
            rows += [row | {"file": f"scrape_{look}/{kind}.txt"} for row in found]
    return case(timings=rows, **more)


def test_longer_products_and_shorter_waits_name_the_rank() -> None:
    found = judged(looked(), DETECTOR)
    assert (found.kind, found.cause, found.ranks) == ("slow", "straggler_compute", (5,))
    assert found.status == "supported"


@pytest.mark.parametrize(
    ("whole", "reason"),
    [
        (looked(looks=1), "single_snapshot"),
        (looked(wait=1.0), "no_baseline"),
        (looked(settings=[{"name": "pipeline_model_parallel_size", "value": "3"}]), "membership_unknown"),
    ],
    ids=["one look", "products that may be larger by design", "stages that are not known"],
)
def test_who_may_differ_by_design_is_a_suspect(whole: Case, reason: str) -> None:
    (found,) = DETECTOR.detect(whole)
    assert (found.ranks, found.suspect_ranks, found.undecided) == ((), (5,), (reason,))


@pytest.mark.parametrize(
    "whole",
    [looked(slow=None), looked(slow=None, by_all=1.6), looked(product=1.03), looked(product=1.0)],
    ids=["alike", "slow alike", "a little longer", "late, but not by its products"],
)
def test_nobody_is_slow(whole: Case) -> None:
    assert DETECTOR.detect(whole) == ()


RATE = "XPU_TIMER_MM_KERNEL_FLOPS"
CLASSES = ((7, 330.0), (9, 412.0))


def rated(slow: int | None = 5, share: float = 0.7, wait: float = 0.3, lacks: int | None = None) -> Case:
    """The rates of products in classes, TFLOP/s, and the waits; one rank reaches a share of the rate, or lacks a class."""
    rows: list[dict[str, Any]] = []
    for look in range(2):
        samples = [
            f'{RATE}{{dtype="bf16",level="{level}",operation="Matmul",rank="{rank}"}} {rate * (share if rank == slow else 1) + look + rank % 3}'
            for rank in range(16) for level, rate in CLASSES if (rank, level) != (lacks, 7)
        ] + [
            f'{COMM}{{operation="AllReduce",rank="{rank}"}} {16000 * (wait if rank == slow else 1) + 10 * ((rank * 7 + look) % 5)}'
            for rank in range(16)
        ]  # fmt: skip
        found = PARSER.parse(source("\n".join([f"# TYPE {RATE} gauge", *samples])))
        assert found["devices"].is_empty()
        rows += [row | {"file": f"scrape_{look}.txt"} for row in found["timings"].rows(named=True)]
    return case(timings=rows)


def test_a_lower_rate_of_products_and_shorter_waits_name_the_rank() -> None:
    found = judged(rated(), DETECTOR)
    assert (found.cause, found.ranks) == ("straggler_compute", (5,))
    assert "Matmul bf16, a teraflop takes 3.438 ms" in found.finding.claims[0].text


@pytest.mark.parametrize(
    "whole",
    [rated(slow=None), rated(slow=None, lacks=3), rated(share=0.98)],
    ids=["alike", "a class less", "a little less"],
)
def test_rates_that_tell_nobody_apart(whole: Case) -> None:
    assert DETECTOR.detect(whole) == ()
