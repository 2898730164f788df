"""What only arrived on a stage of a pipeline is no origin there, on however many ranks it stands."""

from typing import Any

import pytest

from tests.first_anomaly_answers import answer
from tests.tensor_rows import Job, Value


def sized(value: float) -> dict[str, Any]:
    return {"nan_count": 0, "inf_count": 0, "absmax": value, "min": -value, "max": value}


def pipeline(
    born: int | None, replicas: int = 8, sent_back: tuple[int, ...] = (0,), grouped: bool = True, last: bool = False,
    weights: bool = False,
) -> Job:  # fmt: skip
    """TP4 PP3: rank = 4 * replicas * stage + 4 * replica + peer. In step 1 rank `born` of the middle stage makes NaN of
    clean inputs; the gradients that come back to the first stage are bad in the replicas `sent_back`, with `last` also
    those that the last stage begins with. With `weights` each peer's are recorded. No message between stages is recorded."""
    job, block = Job(), 4 * replicas
    for step in range(2):
        for rank in range(3 * block):
            stage, replica = rank // block, rank % block // 4
            module, peers = f"layers.{stage}.fc", [rank - rank % 4 + peer for peer in range(4)]
            spoiled = born is not None and step and replica == born % block // 4
            given = "nan" if spoiled and stage > 1 else "ok"
            made = "nan" if spoiled and (rank == born or stage > 1) else "ok"
            got = "nan" if spoiled and stage > 0 else "ok"
            if weights:
                job.row(
                    rank, "param.weight", sized(1.0 + stage + rank % 4 / 8), module=module, step=step, phase="forward"
                )
            job.op(rank, module, given, made, step=step)
            tp = {"group": "tp", "group_ranks": str(peers), "call": step, "module": f"{module}.sum"}
            job.row(rank, "input", made, op="all_reduce", step=step, **tp)
            job.row(rank, "output", got, op="all_reduce", step=step, **tp)
            back = "nan" if step and replica in sent_back and (stage == 0 or last or made == "nan") else "ok"
            job.op(rank, module, back, back, phase="backward", step=step)
            if grouped:
                alike = [stage * block + 4 * number + rank % 4 for number in range(replicas)]
                job.reduce({rank: (back, "nan" if step else "ok")}, alike, module=f"{module}.weight", step=step)
    return job


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize(("replicas", "grouped"), [(8, True), (2, True), (2, False), (1, False)])
def test_a_forward_birth_explains_the_gradients_that_come_back(replicas: int, grouped: bool, weights: bool) -> None:
    born = 4 * replicas + 3
    found = answer(pipeline(born, replicas, grouped=grouped, weights=weights))
    assert (found.ranks, found.cause, found.domain) == ((born,), "nan_birth", "unknown")
    assert found.first_anomaly.phase == "forward"
    assert [row.rank for row in found.tensors if row.role == "root"] == [born]


def test_the_peers_of_one_replica_are_not_the_whole_job() -> None:
    found = answer(pipeline(None))
    later = tuple(range(32, 96))  # any of them may have sent it
    assert (found.ranks, found.suspect_ranks, found.domain) == ((), (0, 1, 2, 3, *later), "unknown")


@pytest.mark.parametrize("grouped", [True, False])
def test_a_birth_in_one_replica_does_not_explain_all_replicas(grouped: bool) -> None:
    found = answer(pipeline(35, sent_back=tuple(range(8)), grouped=grouped, last=True))
    assert (found.ranks, found.domain) == ((), "workload")


@pytest.mark.parametrize("grouped", [True, False])
def test_nor_does_it_where_equal_weights_alone_tell_the_replicas(grouped: bool) -> None:
    """What rank 35 made cannot have come to the first stage of another replica before gradients are summed."""
    found = answer(pipeline(35, sent_back=(0, 1, 2, 3), grouped=grouped, weights=True))
    assert (found.ranks, found.domain) == ((), "workload")


def restarted(shard: tuple[int, ...], batch: tuple[int, ...] = ()) -> Job:
    """The first step after a restart, TP2 PP2 DP4: rank = 8 * stage + 2 * replica + peer. The weights of `shard` are NaN;
    in the replicas `batch` the first input of all is. Neither messages nor gradients are recorded."""
    job = Job()
    for rank in range(16):
        stage, replica = rank // 8, rank % 8 // 2
        bad = replica in batch
        for number in (0, 1):
            module = f"layers.{2 * stage + number}.fc"
            weight: Value = "nan" if rank in shard and number else sized(1.0 + rank / 7)
            hit = any(one // 8 < stage and one % 8 // 2 == replica for one in shard)
            job.row(rank, "input", "nan" if bad or hit else "ok", module=module, op="Linear")
            job.row(rank, "param.weight", weight, module=module, op="Linear")
            job.row(rank, "output", "nan" if bad or hit or weight == "nan" else "ok", module=module, op="Linear")
    return job


def test_nan_weights_explain_the_inputs_of_the_next_stage() -> None:
    found = answer(restarted((1, 3, 5, 7)))
    assert (found.ranks or found.suspect_ranks, found.cause) == ((1, 3, 5, 7), "bad_state")


def test_bad_data_is_no_doing_of_weights_behind_it() -> None:
    """Weights of a later stage are NaN in one replica; the data of all others came bad."""
    found = answer(restarted((15,), batch=(0, 1, 2)))
    assert (found.cause, set(found.ranks) <= {15}) == ("bad_input", True)


def test_where_only_inputs_are_recorded_a_later_stage_is_not_named_for_what_it_got() -> None:
    """Stage 1 was bad before it sent: no row shows who got it from whom."""
    job = Job()
    for step in range(2):
        bad = "nan" if step else "ok"
        for stage in range(3):
            job.row(stage, "input", bad if stage == 2 else "ok", module=f"{stage}.first", op="Linear", step=step)
            job.row(stage, "input", bad if stage else "ok", module=f"{stage}.second", op="Linear", step=step)
            if stage < 2:
                job.row(
                    stage,
                    "input",
                    bad if stage else "ok",
                    module="p2p",
                    op="send",
                    phase="comm",
                    peer=stage + 1,
                    step=step,
                )
    found = answer(job, expected=range(3))
    assert (found.ranks, {1, 2} <= set(found.suspect_ranks)) == ((), True)


def staged(sent: Value, back: str, phase: str | None = "comm") -> Job:
    """Four stages whose messages ahead are recorded. In step 1, micro-batch 1, stage 2 gets NaN where stage 1 had `sent`. Of the backward pass
    there is what came and was made (`both`) or what was made alone (`made`); nothing shows who got whose gradient."""
    job = Job()
    for step in range(2):
        for number in range(2):
            here: dict[str, Any] = {"step": step, "microbatch": number}
            hit = bool(step and number)
            for stage in range(4):
                came = "nan" if hit and stage > 1 else "ok"
                gone = sent if hit and stage == 1 else came
                job.op(stage, f"stage{stage}", came, gone, **here)
                if stage < 3:
                    got = "nan" if hit and stage else "ok"
                    job.message(stage, stage + 1, gone, got, **here, phase=phase)
        for number in range(2):
            for stage in range(4):
                bad = "nan" if step and number else "ok"
                fed: Value | None = bad if back == "both" else None
                job.op(stage, f"stage{stage}", fed, bad, phase="backward", step=step, microbatch=number)
        job.params(range(4), "nan" if step else "ok", step=step)
    return job


@pytest.mark.parametrize("phase", ["comm", "forward", None])
@pytest.mark.parametrize("back", ["both", "made"])
def test_a_message_that_was_spoiled_on_its_way_explains_the_gradients_that_come_back(
    back: str, phase: str | None
) -> None:
    found = answer(staged("ok", back, phase), expected=range(4))
    assert (found.ranks, found.suspect_ranks, found.cause) == ((), (1, 2), "comm_corruption")


@pytest.mark.parametrize("back", ["both", "made"])
def test_a_message_that_left_bad_is_of_the_stage_that_made_it(back: str) -> None:
    found = answer(staged("nan", back), expected=range(4))
    assert (found.ranks, found.cause) == ((1,), "nan_birth")


def test_a_stage_that_made_nan_of_a_clean_gradient_is_named_where_both_are_recorded() -> None:
    job = Job()
    for step in range(2):
        for stage in range(3):
            job.op(stage, f"stage{stage}", "ok", "ok", step=step)
        for stage in (2, 1, 0):
            made = "nan" if step and stage < 2 else "ok"
            job.op(stage, f"stage{stage}", "nan" if step and not stage else "ok", made, phase="backward", step=step)
    assert answer(job, expected=range(3)).ranks == (1,)


def test_of_gradients_alone_nobody_is_named_for_one_that_may_have_come() -> None:
    """All stages' are bad in one micro-batch, and no row shows what came into any of them."""
    job = Job()
    for step in range(2):
        for stage in range(3):
            job.op(stage, f"stage{stage}", "ok", "ok", step=step)
        for stage in (2, 1, 0):
            job.op(stage, f"stage{stage}", None, "nan" if step and stage < 2 else "ok", phase="backward", step=step)
    found = answer(job, expected=range(3))
    assert (found.ranks, {0, 1} <= set(found.suspect_ranks)) == ((), True)
