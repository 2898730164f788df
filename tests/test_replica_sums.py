"""Digests of what ranks hold, however they are written down: who left the others, and when."""

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from parsers.numerics.replica_sums import Line, accepts, told_sums

RANKS, STEPS, ODD, SINCE = range(5), range(20, 120, 20), 3, 60
Sums = Callable[[int, int], str]
Files = Mapping[str, str]


def _left(step: int, rank: int) -> str:
    return hashlib.sha256(f"{step} {rank == ODD and step >= SINCE}".encode()).hexdigest()[:12]


def _log(told: Callable[[int], str]) -> Files:
    return {"train.log": "".join(f"step {step} loss 2.{step}\n{told(step)}" for step in STEPS)}


def _table(mark: str, head: str, sums: Sums) -> str:
    rows = (mark.join((str(step), *(sums(step, rank) for rank in RANKS))) for step in STEPS)
    return "\n".join((mark.join((head, *(f"rank{rank}" for rank in RANKS))), *rows)) + "\n"


FORMS: Mapping[str, Callable[[Sums], Files]] = {
    "pairs below the step": lambda sums: _log(
        lambda step: f"  weights: {'  '.join(f'r{rank}:{sums(step, rank)}' for rank in RANKS)}\n"
    ),
    "a rank a line": lambda sums: _log(
        lambda step: (
            f"== step {step} check ==\n"
            + "".join(f"  rank {rank:2}  card {rank}  opt {sums(9, 0)}  state {sums(step, rank)}\n" for rank in RANKS)
        )
    ),
    "a table below the step": lambda sums: _log(
        lambda step: (
            "| rank | host | crc |\n|---|---|---|\n"
            + "".join(f"| {rank} | n{rank} | {sums(step, rank)} |\n" for rank in RANKS)
        )
    ),
    "a list": lambda sums: _log(
        lambda step: f"step {step} state of all ranks: [{', '.join(sums(step, rank) for rank in RANKS)}]\n"
    ),
    "whoever prints it": lambda sums: {
        "out.log": "".join(
            f"[rank {rank}] iter {step} loss 2.{rank}{step}\n[rank {rank}] state 0x{sums(step, rank)}\n"
            for step in STEPS
            for rank in RANKS
        )
    },
    "a column for each": lambda sums: {"state.csv": _table(",", "iteration", sums)},
    "columns under a title": lambda sums: {"sums.txt": "after the optimizer step\n\n" + _table("   ", "step", sums)},
    "a page": lambda sums: {"check.md": "# Check\n\n" + _table(" | ", "step", sums)},
    "a file of each": lambda sums: {
        f"sums/rank_{rank}.txt": "".join(f"{step} {sums(step, rank)}\n" for step in STEPS) for rank in RANKS
    },
    "YAML": lambda sums: {
        "state.yaml": "".join(
            f"- step: {step}\n  sums:\n" + "".join(f'    rank{rank}: "{sums(step, rank)}"\n' for rank in RANKS)
            for step in STEPS
        )
    },
    "Chinese": lambda sums: {
        "训练.log": "".join(
            f"步 {step} 平均损失 2.{step}\n==== 步 {step} 自检 ====\n"
            + "".join(f"  rank {rank}  卡 {rank}  权重校验 {sums(step, rank)}\n" for rank in RANKS)
            for step in STEPS
        )
    },
}


def _write(folder: Path, files: Files) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_who_left_the_others(tmp_path: Path, form: str) -> None:
    verdict = analyze(_write(tmp_path, FORMS[form](_left))).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [ODD], SINCE)


@pytest.mark.parametrize("form", FORMS)
def test_equal_ones_and_shards_accuse_nobody(tmp_path: Path, form: str) -> None:
    equal = analyze(_write(tmp_path / "equal", FORMS[form](lambda step, _: _left(step, 0)))).verdict
    shards = analyze(_write(tmp_path / "shards", FORMS[form](lambda step, rank: _left(1000 * rank + step, 0)))).verdict
    assert [(one.cause, one.ranks) for one in (equal, shards)] == [(None, [])] * 2


def test_half_against_half_is_nobodys(tmp_path: Path) -> None:
    text = _table("  ", "step", lambda step, rank: _left(step, ODD if rank % 2 else 0)).replace("rank4", "mean")
    verdict = analyze(_write(tmp_path, {"sums.txt": text})).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [])


@pytest.mark.parametrize(
    "line",
    [
        "[rank {rank}] batch digest {sum}",  # what was read
        "[rank {rank}] buffer at 0x7f{sum}",
        "layers: 0:{sum} 1:{sum}",  # numbers of anything
        "    @     0x7f{sum}  nccl::Proxy::wait()",  # native stacks
        "#3  0x00007f{sum} in sem_wait",
        "  0x7f{sum} in c10d::Work::wait() (libtorch.so)",
    ],
)
def test_other_texts_of_digits(line: str) -> None:
    text = "".join(
        f"[rank {rank}] step {step} loss 2.1\n" + line.format(rank=rank, sum=_left(step, rank)) + "\n"
        for step in STEPS
        for rank in RANKS
    )
    assert not told_sums(Line(at, one, at // 2 % 5) for at, one in enumerate(text.splitlines()))


def test_two_values_of_each_rank_in_a_step_are_nobodys(tmp_path: Path) -> None:
    steps = [f"[rank:{rank}] [train], iter: {step}/2000, loss: 5.{step}{rank}" for step in STEPS for rank in RANKS]
    lines = [f"[rank:{rank}] weights {_left(part, rank)}" for rank in RANKS for part in (1, 2, 3)]
    text = "\n".join((*steps, *lines)) + "\n"
    verdict = analyze(_write(tmp_path, {"train.log": text})).verdict
    assert (verdict.cause, verdict.ranks) == (None, [])


def test_the_step_is_of_who_prints_it() -> None:
    lines = [
        Line(1, "step 20 loss 2.1", 0),
        Line(2, "step 10 loss 2.2", 1),  # behind
        Line(3, "weights 9f86d081884c", 0),
        Line(4, "weights 1b4f0e985197", 1),
        Line(5, "weights 60303ae22b99", 2),  # of no step that is known
    ]
    assert [(one.rank, one.step) for one in told_sums(lines)] == [(0, 20), (1, 10)]
    apart = [Line(1, "step 20 check", None), Line(9, "rank 0: 9f86d081884c", None)]
    assert not told_sums(apart)


@pytest.mark.parametrize("text", ["", "9f86d081 enc.w\n", "{}\n", "commit 9f86d081884c\nstep 5 loss 2.1\n"])
def test_other_files(text: str) -> None:
    assert not accepts("a.txt", text.encode())


# --- figures of many decimals --------------------------------------------------------------------------------------------


def _norm(step: int, rank: int) -> str:
    return f"{80 + step / 7 + 0.01 * (rank == ODD and step >= SINCE):.9f}"


_OF_ONE = "a file of each"  # which tells nothing of others: names must say what they are
OF_FIGURES = [form for form in FORMS if form != "norms below the step"]  # makes norms of digests itself


@pytest.mark.parametrize("form", [form for form in OF_FIGURES if form != _OF_ONE])
def test_whose_figure_left_those_of_the_others(tmp_path: Path, form: str) -> None:
    files = {name: text.replace("0x", "") for name, text in FORMS[form](_norm).items()}
    verdict = analyze(_write(tmp_path, files)).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [ODD], SINCE)


@pytest.mark.parametrize("form", OF_FIGURES)
@pytest.mark.parametrize(
    "own",
    [
        lambda step, rank: f"{2 + rank / 8 + step / 7:.9f}",  # of each rank's own data
        lambda step, rank: "1.00000000" if rank != ODD or step < SINCE else "0.87120934",  # cut at a limit
        lambda step, rank: "0.00000000" if (rank + step // 20) % 3 else f"{step / 7:.9f}",
        lambda step, rank: f"{80 + step / 7 + 0.01 * (rank == ODD and step >= SINCE):.5f}",  # alike by chance
    ],
)
def test_figures_of_a_ranks_own_accuse_nobody(tmp_path: Path, form: str, own: Sums) -> None:
    verdict = analyze(_write(tmp_path, FORMS[form](own))).verdict
    assert (verdict.cause, verdict.ranks) == (None, [])


_OF_TWO: Mapping[str, str] = {
    "rank_{rank}.log": "it={step} loss={loss:.4f} local_gnorm={own} found_inf=0 scale=8192 psum={digest}\n",
    "own/rank{rank}.log": "level=info rank={rank} step={step} loss={loss:.4f} own_grad_norm={own} param_sum={digest}\n",
    "both.log": "[rank{rank}] step {step} | loss {loss:.4f} | grad_norm_local {own} | checksum {digest}\n",
}


def _two(folder: Path, form: str, lost: Callable[[int, int], bool], since: int) -> list[int]:
    """`since`: the step from which on two ranks hold something else."""
    texts: dict[str, str] = {}
    for step in range(10):
        for rank in range(2):
            own = (
                ("Infinity" if "json" in form else "inf") if lost(rank, step) else f"{0.4 + (rank + step) % 5 / 50:.4f}"
            )
            digest = f"{7 + step * 1.37 + (rank * 0.21 if step >= since else 0):.9f}"
            loss = 1.4 + ((rank * 3 + step * 5) % 7) / 100
            path = form.format(rank=rank)
            texts[path] = texts.get(path, "") + _OF_TWO[form].format(
                rank=rank, step=step, loss=loss, own=own, digest=digest
            )
    for path, text in texts.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return list(analyze(folder).verdict.ranks)


@pytest.mark.parametrize("form", _OF_TWO)
def test_of_two_that_part_the_one_that_lost_a_figure_there(form: str, tmp_path: Path) -> None:
    assert _two(tmp_path, form, lambda rank, step: (rank, step) == (1, 6), 6) == [1]


@pytest.mark.parametrize("form", _OF_TWO)
@pytest.mark.parametrize(
    ("lost", "since"),
    [
        (lambda rank, step: False, 6),
        (lambda rank, step: step == 6, 6),
        (lambda rank, step: (rank, step) == (1, 3), 6),
        (lambda rank, step: (rank, step) == (0, 8), 6),
        (lambda rank, step: (rank, step) == (1, 6), 99),
    ],
)
def test_of_two_nobody_where_that_is_not_so(
    form: str, lost: Callable[[int, int], bool], since: int, tmp_path: Path
) -> None:
    assert _two(tmp_path, form, lost, since) == []
