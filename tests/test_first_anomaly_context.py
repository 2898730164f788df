"""What a first anomaly is told with: growth, repetition, hardware, checkpoints; and how calls and steps bear on it."""

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from forensics.assemble.who.identity import SCHEMA
from forensics.case import Case
from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.graph.numerics.growth import chance
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.verdict.judged.arbitrate import arbitrate
from forensics.verdict.told.price import named
from parsers.schema.tables import table
from tests.log_cases import judged
from tests.tensor_rows import OK, Job

SECOND = 1_000_000_000


def sized(value: float) -> dict[str, Any]:
    return {**OK, "absmax": value, "min": -value, "max": value}


def only(job: Job, **tables: pl.DataFrame) -> Finding:
    (found,) = DETECTOR.detect(with_tables(job, **tables))
    return found


def with_tables(job: Job, **tables: pl.DataFrame) -> Case:
    case = job.case()
    return replace(case, tables={**case.tables, **tables})


def test_t26_growth_and_headroom_are_shown() -> None:
    job = Job(dtype="float16")
    for step, size in enumerate((500.0, 4000.0, 30_000.0)):
        job.op(0, "layers.2.mlp.down", sized(10.0), sized(size), step=step)
    job.op(0, "layers.2.mlp.down", sized(10.0), "inf", step=3)
    found = only(job)
    (claim,) = [claim for claim in found.claims if claim.text.startswith("absmax of")]
    assert "step 0: 500, step 1: 4000, step 2: 3e+04; 1.1 bits below the largest float16" in claim.text
    assert found.cause == "overflow"


def test_outlier_growth_elsewhere_on_the_rank_is_told() -> None:
    job = Job(dtype="bfloat16")
    for step, size in enumerate((1.0, 2.0, 900.0)):
        job.op(0, "layers.2.mlp.act", sized(1.0), sized(size), op="SwiGLU", step=step)
        job.op(0, "head", sized(1.0), "nan" if step == 2 else sized(1.0), step=step)
    found = only(job)
    assert found.first_anomaly.module == "head"
    assert any("layers.2.mlp.act (SwiGLU, output)" in claim.text for claim in found.claims)


def test_nan_from_inputs_at_the_end_of_the_format_is_an_overflow() -> None:
    job = Job(dtype="float16")
    job.op(0, "norm", sized(40_000.0), "nan")
    assert only(job).cause == "overflow"
    job = Job(dtype="bfloat16")
    job.op(0, "norm", sized(40_000.0), "nan")
    assert only(job).cause == "nan_birth"


def xid(host: str, pci: str | None, at: float, code: str = "xid:94") -> dict[str, Any]:
    row = {
        "kind": "gpu_error",
        "code": code,
        "host": host,
        "pci": pci,
        "time_ns": int(at * SECOND),
        "time_basis": "utc",
    }
    return {**row, "text": f"NVRM: {code}", "file": "dmesg.txt", "line": 1}


def two_bad_ranks() -> Job:
    job = Job()
    for rank in range(4):
        job.op(rank, "fc", "ok", "nan" if rank in (0, 1) else "ok", timestamp=1.7e9, host=f"n{rank // 2}")
    job.reduce({rank: ("nan" if rank in (0, 1) else "ok", "nan") for rank in range(4)}, range(4))
    return job


def test_t39_hardware_shortly_before_on_the_node() -> None:
    found = judged(with_tables(two_bad_ranks(), events=table("events", [xid("n0", None, 1.7e9 - 3)])), DETECTOR)
    assert (found.ranks, found.finding.domain) == ((0, 1), "infrastructure")
    assert "the kernel" in found.observers and any("xid:94" in claim.text for claim in found.claims)
    assert next(action.kind for action in found.finding.actions) == "drain_node"


@pytest.mark.parametrize(
    "event",
    [
        xid("n1", None, 1.7e9 - 3),
        xid("n0", None, 1.7e9 + 60),
        xid("n0", None, 1.7e9 - 3, "xid:31"),
        xid("n0", None, 1.7e9 - 9000),
    ],
    ids=["other host", "afterwards", "program's doing", "long before"],
)
def test_t39_hardware_that_does_not_count(event: dict[str, Any]) -> None:
    assert only(two_bad_ranks(), events=table("events", [event])).domain == "unknown"


def placed(**columns: list[Any]) -> pl.DataFrame:
    """An identity table; what is not given is not known."""
    rows = len(columns["rank"])
    return pl.DataFrame({name: columns.get(name, [None] * rows) for name in SCHEMA}, schema=SCHEMA)


def test_hardware_counts_on_the_same_device_only() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", timestamp=1.7e9, host="n0")
    case = job.case()
    identity = placed(rank=[0], host=["n0"], pci=["0000:41:00.0"])
    for pci, domain in (("0000:41:00", "infrastructure"), ("0000:81:00", "unknown")):
        events = table("events", [xid("n0", pci, 1.7e9 - 3)])
        (found,) = DETECTOR.detect(replace(case, identity=identity, tables={**case.tables, "events": events}))
        assert found.domain == domain


def test_births_that_repeat_on_one_rank() -> None:
    job = Job()
    for step in range(6):
        for rank in range(16):
            job.op(rank, f"layers.{step}", "ok", "inf" if rank == 7 else "ok", step=step, phase="backward")
        job.params(range(16), "ok", step=step)
    texts = [claim.text for claim in only(job).claims]
    assert any(text.startswith("rank 7 holds 6 of 6 first bad values") for text in texts)
    assert not any(text.startswith(("module", "host", "pipeline stage")) for text in texts)
    assert "bad values first appeared in 6 of 6 observed steps; in 6 of them they were gone after the step" in texts


def test_births_that_repeat_on_one_host_and_stage() -> None:
    """Eight ranks on four hosts in four stages: births move within the pair of ranks that shares host and stage."""
    job = Job()
    for step in range(8):
        for rank in range(8):
            job.op(rank, f"layers.{step}", "ok", "inf" if rank == 4 + step % 2 else "ok", step=step, phase="backward")
        job.params(range(8), "ok", step=step)
    pairs = [rank // 2 for rank in range(8)]
    identity = placed(rank=list(range(8)), host=[f"n{pair}" for pair in pairs], pp=pairs)
    (found,) = DETECTOR.detect(replace(job.case(), identity=identity))
    texts = [claim.text for claim in found.claims]
    assert any(text.startswith("host n2 holds 8 of 8 first bad values") for text in texts)
    assert any(text.startswith("pipeline stage 2 holds 8 of 8 first bad values") for text in texts)
    assert not any(text.startswith("module") for text in texts)


def test_chance() -> None:
    assert chance(0, 5, 0.1) == pytest.approx(1.0)
    assert chance(2, 2, 0.5) == pytest.approx(0.25)


def test_rollback_names_the_newest_good_checkpoint() -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", step=120)
    saves = [{"kind": "checkpoint_persist", "step": step, "file": "log", "line": step} for step in (50, 100, 150)]
    case = with_tables(job, events=table("events", saves))
    (found,) = DETECTOR.detect(case)
    assert "the checkpoint of step 100" in [named(case, found, "numerics", action).target for action in found.actions]
    assert any("step 150 on may hold" in claim.text for claim in found.claims)


def test_a_bad_batch_is_skipped() -> None:
    job = Job()
    job.op(0, "embed", "nan", "nan", step=7, microbatch=2)
    kinds = {action.kind: action.target for action in only(job).actions}
    assert kinds["skip_data"] == "the data of step 7, micro-batch 2"


def test_a_send_never_waits_for_its_receiver() -> None:
    """1F1B: stage 0 sends forward before it receives the gradient that stage 1 sends before it receives forward."""
    job = Job()
    job.op(0, "embed", "ok", "ok", microbatch=1)
    job.row(0, "input", "ok", op="send", peer=1, tag=1, phase="comm", module="down")
    job.op(1, "head", "ok", "nan", phase="backward", microbatch=0)
    job.row(1, "input", "nan", op="send", peer=0, tag=9, phase="comm", module="up")
    job.row(1, "output", "ok", op="recv", peer=0, tag=1, phase="comm", module="down")
    job.row(0, "output", "nan", op="recv", peer=1, tag=9, phase="comm", module="up")
    found = only(job)
    assert found.ranks == (1,)
    assert not any("line up" in claim.text for claim in found.claims)


def test_two_groups_with_the_same_members_have_calls_of_their_own() -> None:
    job = Job()
    for rank in range(2):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
        job.reduce({rank: ("nan" if rank == 1 else "ok", "nan")}, [0, 1], group="dp", call=0, module="w")
        job.reduce({rank: ("nan", "nan")}, [0, 1], group="world", call=0, module="norm")
    found = only(job)
    assert (found.ranks, found.first_anomaly.module) == ((1,), "fc")


def test_the_same_weight_on_all_replicas_of_a_shard_is_the_workload() -> None:
    job = Job()
    for rank in range(6):  # tensor-parallel pairs, three replicas: the even ranks hold one shard
        bad = rank % 2 == 0
        job.row(rank, "param.weight", "nan" if bad else "ok", module="fc", op="Linear")
        job.row(rank, "output", "nan" if bad else "ok", module="fc", op="Linear")
    for members in ([0, 2, 4], [1, 3, 5]):
        value = "nan" if members[0] == 0 else "ok"
        job.reduce(dict.fromkeys(members, (value, value)), members, group=f"dp{members[0]}", module="fc.weight")
    found = only(job)
    assert (found.ranks, found.domain, found.cause) == ((), "workload", "bad_state")


def test_a_skipped_step_ends_where_the_next_one_computes_well() -> None:
    """No parameter has a row; that step 1 computes cleanly up to rank 1's optimizer proves step 0 to be gone."""
    job = Job()
    for step in range(2):
        for rank in range(2):
            job.op(rank, "fc", "ok", "ok", step=step)
            bad = "inf" if step == 0 and rank == 0 else "ok"
            job.op(rank, "fc", "ok", bad, step=step, phase="backward")
        flag = {**OK, "absmax": 1.0 if step == 0 else 0.0}
        job.reduce(dict.fromkeys(range(2), (flag, flag)), [0, 1], step=step, module="found_inf")
    job.row(1, "grad_in", "ok", step=1, phase="optimizer", op="Adam", module="fc")
    job.row(1, "param", "nan", step=1, phase="optimizer", op="Adam", module="fc")
    found = only(job)
    assert (found.ranks, found.first_anomaly.step) == ((1,), 1)


@pytest.mark.parametrize(
    ("early", "late"),
    [({}, {}), ({}, {"suspect_ranks": (1,)}), ({"undecided": ("sampled_statistics",)}, {})],
    ids=["alike", "the later one has suspects", "the earlier one has doubts"],
)
def test_the_earlier_step_explains_the_later(early: dict[str, Any], late: dict[str, Any]) -> None:
    """Contract, rule 12: of several anomalies in a chain the first wins."""
    job = Job()
    for step in (4, 9):
        job.row(0, "output", "nan", step=step)

    def finding(detector: str, step: int, line: int, **said: Any) -> Finding:
        shown = Claim(f"a NaN at step {step}", "for", (Ref(file="rank_0.jsonl", line=line, text=""),))
        return Finding(detector=detector, cause="nan_birth", severity="fatal", claims=(shown,),
                       first_anomaly=FirstAnomaly(step=step), **said)  # fmt: skip

    listed = (finding("a", 9, 2, **late), finding("b", 4, 1, **early))
    for findings in (listed, listed[::-1]):
        best = arbitrate(job.case(), findings, lambda _: "bad_value").best
        assert best is not None and best.finding.first_anomaly.step == 4


def test_a_mask_that_went_in_is_no_lack_of_headroom() -> None:
    job = Job(dtype="float16")
    job.op(
        0, "mask", "ok", {**sized(1.0), "min": float("-inf"), "absmax": float("inf"), "inf_count": 2}, op="masked_fill"
    )
    job.op(
        0, "softmax", {**sized(1.0), "min": float("-inf"), "absmax": float("inf"), "inf_count": 2}, "nan", op="softmax"
    )
    assert only(job).cause == "nan_birth"


def test_a_process_without_a_rank_is_read_and_never_named() -> None:
    job = Job()
    job.op(0, "fc", "ok", "inf")
    case = job.case()
    tensors = case.tables["tensors"].with_columns(pl.lit(None, pl.Int64).alias("rank"))
    (found,) = DETECTOR.detect(replace(case, tables={**case.tables, "tensors": tensors}))
    assert (found.ranks, found.suspect_ranks, found.first_anomaly.rank) == ((), (), None)
    assert (found.cause, found.first_anomaly.module) == ("overflow", "fc")
    assert "-1" not in found.summary


def test_a_gradient_received_before_says_nothing_of_the_next_batch() -> None:
    """1F1B: the first stage receives the gradient of micro-batch 0 and then begins micro-batch 1 with its own data."""
    job = Job()
    for rank in range(2):
        job.op(rank, "embed", "ok", "ok", microbatch=0)
        job.row(rank, "output", "ok", op="recv", peer=rank + 2, tag=9, phase="comm", module="up", microbatch=0)
        job.op(rank, "embed", "nan" if rank == 1 else "ok", "nan" if rank == 1 else "ok", microbatch=1)
    for rank in (2, 3):
        job.op(rank, "head", "ok", "ok", microbatch=0)
        job.row(rank, "input", "ok", op="send", peer=rank - 2, tag=9, phase="comm", module="up", microbatch=0)
    found = only(job)
    assert (found.ranks, found.cause, found.first_anomaly.microbatch) == ((1,), "bad_input", 1)
