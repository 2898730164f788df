"""A setting that those at fault hold alone and that brings about what they failed with: a reason, never an accusation."""

from typing import Any

import pytest

from forensics.facts.settings.odd_settings import CATALOGUE
from tests.hang_tables import Rows, waiting

ORDINAL = "invalid device ordinal"


def failed(rank: int = 9, error: str | None = ORDINAL, world: int = 32) -> Rows:
    """Four hosts of eight; one rank raises, with the error of its GPU where there is one."""
    job = Rows(world).placed()
    job.event("exception", rank=rank, code="RuntimeError", text="RuntimeError")
    return job if error is None else job.event("cuda_error", rank=rank, code=error, text=f"CUDA error: {error}")


def of_hosts(job: Rows, name: str, *values: str, scope: str = "driver") -> Rows:
    for at, value in enumerate(values):
        job.add("settings", name=name, value=value, host=f"node{at}", scope=scope)
    return job


def of_ranks(job: Rows, name: str, odd: dict[int, str], most: str) -> Rows:
    for rank in range(job.world):
        job.add("settings", name=name, value=odd.get(rank, most), rank=rank, scope="environment")
    return job


def said(job: Rows) -> list[str]:
    return [
        one.claim for one in job.incident(hung=False).evidence if "explain it" in one.claim or "explains" in one.claim
    ]


def test_the_setting_that_brings_about_the_error_is_a_reason_and_the_first_thing_to_check() -> None:
    job = of_hosts(failed(), "mig_mode", "Disabled", "Enabled", "Disabled", "Disabled")
    incident, before = job.incident(hung=False), failed().incident(hung=False).verdict
    assert said(job) == [
        "mig_mode is Enabled on node1 and Disabled on 3 others, which explains it: with MIG on, a process sees one instance of "
        "one GPU, so that no further device number exists (NVIDIA MIG User Guide, CUDA device enumeration; mlcommons/training#442)"
    ]
    first = incident.actions[0]
    assert (first.kind, first.target, first.reason) == (
        "check_config", "mig_mode of node1", "it is Enabled, elsewhere Disabled",
    )  # fmt: skip
    assert "mig_mode is Enabled on node1" in incident.verdict.summary
    verdict = incident.verdict
    assert (verdict.ranks, verdict.cause, verdict.status) == (before.ranks, before.cause, before.status)


MIG = ("Disabled", "Enabled", "Disabled", "Disabled")


@pytest.mark.parametrize(
    "job",
    [
        of_hosts(failed(), "mig_mode", "Disabled", "Enabled", "Enabled", "Disabled"),
        of_hosts(failed(), "mig_mode", "Disabled", "Disabled", "Enabled", "Disabled"),
        of_hosts(failed(error=None), "mig_mode", *MIG),
        of_hosts(failed(error="an illegal memory access was encountered"), "mig_mode", *MIG),
        of_hosts(failed(), "mig_mode", "Disabled", "Enabled"),
        of_hosts(failed(), "persistence_mode", "On", "Off", "On", "On"),
    ],
    ids=["a host that ran well, too", "another host", "no such error", "another error", "one other", "not in the catalogue"],
)  # fmt: skip
def test_what_explains_nothing(job: Rows) -> None:
    assert said(job) == []


def out_of_memory(scope: str) -> Rows:
    job = Rows(32).placed().event("gpu_oom", rank=9, text="CUDA out of memory")
    for at in range(4):
        for gpu in range(8):
            value = "Enabled" if (at == 1 and f"0000:{gpu:02x}:00" == scope) else "Disabled"
            job.add("settings", name="mig_mode", value=value, host=f"node{at}", scope=f"gpu 0000:{gpu:02x}:00.0")
    return job


def test_what_is_of_another_gpu_than_the_ranks_own_explains_nothing() -> None:
    assert said(out_of_memory("0000:02:00")) == []
    (text,) = said(out_of_memory("0000:01:00"))
    assert "which can explain it" in text  # memory may run out otherwise, too


def test_a_retry_that_ends_sooner_explains_the_status_of_retries_exceeded() -> None:
    def broken(code: str, *values: str) -> Rows:
        job = of_hosts(Rows(32).placed(), "NCCL_IB_TIMEOUT", *values)
        for rank in range(32):
            job.timeout(rank, "world", 7)
        return job.event(
            "completion_error", host="node1", rank=9, code=code, names_hosts=["node2"], text=f"status {code}"
        )

    (text,) = said(broken("12", "22", "14", "22", "22"))
    assert text.startswith("NCCL_IB_TIMEOUT is 14 on node1 and 22 on ")
    assert said(broken("12", "22", "22", "22", "22")) == []
    assert said(broken("12", "14", "22", "14", "14")) == []  # it waits longer than the others: that ends nothing
    assert said(broken("4", "22", "14", "22", "22")) == []


def everybody_waits(odd: dict[int, str]) -> Rows:
    job = of_ranks(Rows(4).placed(), "NCCL_ALGO", odd, "Ring")
    for rank in range(4):
        job.timeout(rank, "world", 7)
    return waiting(job, range(4), "world", 7)


def test_of_a_call_that_all_entered_who_chose_otherwise_is_told_and_not_named() -> None:
    job = everybody_waits({2: "Tree"})
    (text,) = said(job)
    assert text.startswith("NCCL_ALGO is Tree on rank 2 and Ring on 3 others, which can explain it")
    assert job.verdict(hung=False).ranks == []
    assert said(everybody_waits({2: "Tree", 3: "Tree"})) == []  # two halves: none is odd
    assert said(everybody_waits({})) == []


def _lowered(value: str, others: str = "1980 MHz") -> list[str]:
    from forensics.facts.settings.odd_settings import At, explaining
    from parsers.schema.tables import empty, table

    rows: list[dict[str, Any]] = [
        {
            "name": "application_clock",
            "value": value if at == 1 else others,
            "host": f"node{at}",
            "file": "a",
            "line": at,
        }
        for at in range(4)
    ]
    at = At(frozenset(), frozenset({"node1"}), frozenset(), True)
    return [one.value for one in explaining(table("settings", rows), empty("events"), {}, "straggler_compute", at)]


def test_a_figure_must_be_lower_by_more_than_figures_differ() -> None:
    assert _lowered("1410 MHz") == ["1410 MHz"]
    assert _lowered("1935 MHz") == []
    assert _lowered("2100 MHz") == []
    assert _lowered("N/A") == []


@pytest.mark.parametrize(("value", "others", "said"), [("550.54", "550.90", True), ("12.10", "12.4", False)])
def test_versions_count_by_their_parts(value: str, others: str, said: bool) -> None:
    assert bool(_lowered(value, others)) == said


def test_every_row_of_the_catalogue_says_who_says_so() -> None:
    assert all(entry.names and entry.causes and entry.why and entry.source for entry in CATALOGUE)
    assert all(code == code.lower() for entry in CATALOGUE for code in entry.errors)
