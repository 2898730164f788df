"""When a bad value is its rank's own: the layout is plain data parallel, by what ranks print or by arguments."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.facts.figures.own_values import is_data_parallel, mates, own_loss
from parsers.schema.tables import TableName, Tables, empty, table

JOB = frozenset(range(8))
Loss = Callable[[int, int], float | None]


def _tables(loss: Loss, *, ranks: frozenset[int] = JOB, settings: tuple[tuple[str, str], ...] = ()) -> Tables:
    rows = [
        {"rank": rank, "step": step, "loss": value, "file": f"{rank}.log", "line": step}
        for rank in sorted(ranks)
        for step in range(1, 9)
        if (value := loss(rank, step)) is not None
    ]
    names: dict[TableName, Any] = {"steps": table("steps", rows), "events": empty("events")}
    names["settings"] = table(
        "settings", [{"name": name, "value": value, "file": "a", "line": 1} for name, value in settings]
    )
    return names


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda rank, step: 2 + 0.01 * rank + 0.1 * step, True),
        (lambda rank, step: 2 + 0.01 * (rank // 2) + 0.1 * step, False),
        (lambda rank, step: 2 + 0.1 * step, False),
        (lambda rank, step: 2 + 0.01 * rank + 0.1 * step if rank >= 4 else None, False),
        (lambda rank, step: 2 + 0.01 * rank if step < 2 else None, False),
        (lambda rank, step: 2 + 0.01 * rank if step < 3 else None, True),
        (lambda rank, step: 2 + 0.01 * (0 if (rank, step) == (1, 2) else rank) if step < 3 else None, False),
        (lambda rank, step: 2 + 0.01 * rank if step < 3 and rank < 5 else None, False),
        (lambda rank, step: 2 + 0.01 * rank if step < 5 else None, True),
        (lambda rank, step: 2 + 0.01 * (0 if (rank, step) == (1, 3) else rank) + 0.1 * step, True),
    ],
    ids=["all differ", "tensor-parallel pairs", "averaged", "only the last stage prints", "too few steps", "few steps of many ranks", "once alike in few", "few ranks in few steps", "just enough", "once alike"],
)  # fmt: skip
def test_losses_tell_the_layout(loss: Loss, expected: bool) -> None:
    assert is_data_parallel(_tables(loss), JOB) is expected


def test_a_lost_log_leaves_the_proof_and_half_of_the_logs_do_not() -> None:
    def own(rank: int, step: int) -> float:
        return 2 + 0.01 * rank + 0.1 * step

    assert is_data_parallel(_tables(own, ranks=JOB - {6}), JOB)
    assert not is_data_parallel(_tables(own, ranks=frozenset({0, 2, 4, 6})), JOB)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ((("tensor_model_parallel_size", "1"), ("pipeline_model_parallel_size", "1")), True),
        ((("world_size", "8"), ("data_parallel_size", "8")), True),
        ((("world_size", "8"), ("data_parallel_size", "4")), False),
        ((("tensor_model_parallel_size", "2"), ("pipeline_model_parallel_size", "1")), False),
        ((("tensor_model_parallel_size", "1"),), False),
    ],
)
def test_arguments_tell_the_layout(settings: tuple[tuple[str, str], ...], expected: bool) -> None:
    assert is_data_parallel(_tables(lambda *_: None, settings=settings), JOB) is expected


@pytest.mark.parametrize(
    "told",
    [
        {"settings": table("settings", [{"name": "expert_model_parallel_size", "value": "8", "file": "a", "line": 1}])},
        {
            "events": table(
                "events", [{"kind": "nan_assert", "detail": '{"module": "moe.experts.6"}', "file": "a", "line": 1}]
            )
        },
    ],
    ids=["arguments", "a module that was checked"],
)
def test_experts_take_what_others_send_though_losses_differ(told: Tables) -> None:
    tables = _tables(lambda rank, step: 2 + 0.01 * rank + 0.1 * step)
    assert is_data_parallel(tables, JOB) and not is_data_parallel({**tables, **told}, JOB)


def test_ranks_in_pairs_print_the_loss_of_a_replica() -> None:
    pairs = _tables(lambda rank, step: 2 + 0.01 * (rank // 2) + 0.1 * step)
    assert sorted(sorted(part) for part in mates(pairs, JOB)) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert mates(_tables(lambda rank, step: 2 + 0.01 * min(rank, 4) + 0.1 * step), JOB) == ()  # 1 1 1 1 4


NAN = float("nan")


@pytest.mark.parametrize(
    ("loss", "size", "ranks", "is_finite"),
    [
        (lambda rank, step: NAN if (rank, step) == (3, 7) else 2 + rank / 100, 1, [3], False),
        (lambda rank, step: 3e9 if (rank, step) == (3, 7) else 2 + rank / 100, 1, [3], True),
        (lambda rank, step: 3e-9 * 10 ** (9 * (rank == 3)), 1, None, False),
        (lambda rank, step: NAN if (rank // 2, step) == (1, 7) else 2 + rank // 2 / 100, 2, [2, 3], False),
        (lambda rank, step: NAN if (rank, step) == (3, 7) else 2 + rank // 2 / 100, 2, None, False),
        (lambda rank, step: NAN if rank > 3 and step > 6 else 2 + rank / 100, 1, None, False),
    ],
    ids=[
        "nan",
        "far from all",
        "far, and as small as a loss may be",
        "both of a pair",
        "one of a pair",
        "half of the job",
    ],
)
def test_the_first_bad_loss_is_of_few(loss: Loss, size: int, ranks: list[int] | None, is_finite: bool) -> None:
    parts = [frozenset(range(first, first + size)) for first in range(0, 8, size)]
    own = own_loss(_tables(loss), JOB, parts)
    assert (None if own is None else [row["rank"] for row in own.rows]) == ranks
    assert own is None or (own.step, own.is_finite) == (7, is_finite)


@pytest.mark.parametrize("console", ["console_rank0.log", "a_console.log", "logs/train.log", "zz/rank0/out.txt"])
@pytest.mark.parametrize("bad", [0, 3, 7])
def test_the_mean_that_a_console_of_one_rank_prints_is_nobodys_own(console: str, bad: int) -> None:
    """Each rank's file tells its own loss; rank 0's console beside them the mean of all, which is bad with any of them."""
    tables = _tables(lambda rank, step: float("nan") if rank == bad and step > 5 else 2.0 + 0.01 * rank - 0.001 * step)
    mean = [
        {"rank": 0, "step": step, "loss": 2.03 if step < 6 else float("nan"), "file": console, "line": step}
        for step in range(1, 9)
    ]
    tables["steps"] = tables["steps"].vstack(table("steps", mean)) if bad else tables["steps"]
    found = own_loss(tables, JOB, mates(tables, JOB))
    assert found is not None and (found.step, [row["rank"] for row in found.rows]) == (6, [bad])


def _logs(folder: Path, head: str, before: str = "", behind: str = "") -> Path:
    """Each rank's own losses; rank 1's is no number a step before those of all others."""
    for rank in range(4):
        lines = [head] if head else []
        for step in range(12):
            value, other = (2 + 0.07 * ((5 * rank + 3 * step * k) % 11) - 0.05 * step for k in (1, 2))
            lost = step > 8 or (step == 8 and rank == 1)
            told = [f"rank={rank} step={step} loss={'nan' if lost else f'{value:.4f}'}"]
            told += [f"{before}={other:.4f} {behind}={'inf' if lost else f'{other + 1:.4f}'}"] if before else []
            lines.append(" ".join(told))
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    "head",
    [
        "context_parallel_size=4",
        "--context-parallel-size 4",
        "sequence_parallel_size: 2",
        "ulysses_degree=4",
        "ring attention over 4 ranks",
        "tp=4",
        "tensor_model_parallel_size=4",
        "layout pp=2 dp=2",
        "2 pipeline stages",
        "num_experts=8",
        "model: mixture of experts, 16 experts, top-2 routing",
    ],
)
def test_where_ranks_share_the_work_on_a_sample_differing_losses_name_nobody(tmp_path: Path, head: str) -> None:
    verdict = analyze(_logs(tmp_path, head)).verdict
    assert (verdict.kind, [*verdict.ranks], [*verdict.suspects.ranks]) == ("numerics", [], [])


@pytest.mark.parametrize(
    ("before", "behind"),
    [("moe_in", "moe_out"), ("expert_in", "expert_out"), ("a2a_in", "a2a_out"), ("dispatched", "combined"), ("permuted", "unpermuted"), ("all2all_in_amax", "all2all_out_amax")],
)  # fmt: skip
def test_who_received_what_an_expert_made_is_not_named(tmp_path: Path, before: str, behind: str) -> None:
    verdict = analyze(_logs(tmp_path, "", before, behind)).verdict
    assert (verdict.kind, [*verdict.ranks], [*verdict.suspects.ranks]) == ("numerics", [], [])


@pytest.mark.parametrize(
    "head", ["", "context_parallel_size=1", "tp=1 pp=1 dp=4", "num_experts=1", "tp=21 fp=3 fn=4", "sp=0.5"]
)
def test_else_it_is_its_own(tmp_path: Path, head: str) -> None:
    assert [*analyze(_logs(tmp_path, head, "ffn_in", "ffn_out")).verdict.ranks] == [1]


@pytest.mark.parametrize(("apart", "named"), [(1e-4, []), (2e-4, []), (0.02, [1])])
def test_a_mean_that_each_rank_rounds_is_nobodys_own(tmp_path: Path, apart: float, named: list[int]) -> None:
    """Some print it a step before the others."""
    for rank in range(4):
        lost = 8 if rank == 1 else 9
        told = (f"{2 - 0.05 * step + apart * (rank * 3 % 4):.5f}" if step < lost else "nan" for step in range(12))
        lines = [f"rank={rank} step={step} avg_loss={value}" for step, value in enumerate(told)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    assert ([*verdict.ranks], [*verdict.suspects.ranks]) == (named, [])


@pytest.mark.parametrize("shift", [1, 2])
def test_who_counts_its_steps_from_another_number_is_not_ahead(tmp_path: Path, shift: int) -> None:
    """All lose their loss together; rank 1's records begin and end with smaller numbers."""
    for rank in range(4):
        first = 100 - (shift if rank == 1 else 0)
        told = (f"{2 + 0.07 * ((5 * rank + 3 * at) % 11):.4f}" if at < 8 else "nan" for at in range(14))
        lines = [f"rank={rank} step={first + at} loss={value} act={value}" for at, value in enumerate(told)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert [*analyze(tmp_path).verdict.ranks] == []


@pytest.mark.parametrize(("names", "named"), [(("enc_loss", "dec_loss"), []), (("enc_loss", "enc_loss"), [3])])
def test_losses_of_several_works_tell_no_layout(tmp_path: Path, names: tuple[str, str], named: list[int]) -> None:
    for rank in range(4):
        lost = 8 if rank == 3 else 9
        told = (f"{2 + 0.07 * ((5 * rank + 3 * at) % 11):.4f}" if at < lost else "nan" for at in range(12))
        lines = [f"rank {rank} step {at} {names[rank // 2]} {value}" for at, value in enumerate(told)]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert [*analyze(tmp_path).verdict.ranks] == named


@pytest.mark.parametrize("call", ["expert {0} output absmax {1:.4f} nonfinite {2}", "expert.{0} out_absmax {1:.4f} nonfinite {2}"])  # fmt: skip
def test_what_one_expert_gives_was_made_where_it_is(tmp_path: Path, call: str) -> None:
    """All lose the loss in the step in which one expert's output is no number: it went to all."""
    for rank in range(4):
        lines = []
        for step in range(8):
            bad = 512 if step > 4 and rank == 3 else 0
            lines.append(f"rank={rank} step={step} {call.format(rank, 0.7 + 0.01 * ((3 * rank + step) % 7), bad)}")
            lines.append(f"rank={rank} step={step} loss={'nan' if step > 4 else f'{2 + 0.1 * rank - 0.05 * step:.4f}'}")
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    assert [*analyze(tmp_path).verdict.ranks] == [3]
