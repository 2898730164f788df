"""A rank loses a loss that is called in one word, `ploss` of a policy, and the norm of its own gradients, which all others had as numbers then."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

STEPS = 12
RAISED = [
    "Traceback (most recent call last):",
    '  File "/w/pg.py", line 24, in rollout',
    "    a = rng.choice(2, p=p)",
    "ValueError: Probabilities contain NaN",
]


def number(rank: int, step: int, nth: int) -> str:
    return f"{0.3 + (rank * 7 + step * 5 + nth * 3) % 13 / 10 + rank / 1000:+.5f}"


# what stands before each line · the line · name of the file · ranks · the odd one
FORMS: dict[str, tuple[str, str, str, int, int]] = {
    "learners of mpirun": ("[1,{r}]<stdout>: ", "[learner {r}] update {s:3d}  ret {x} +- 2.50  ploss {a}  gnorm_local {b}  738 fps", "mpirun.out", 3, 2),
    "own logs": ("", "update {s} qloss {a} gnorm_local {b}", "logs/rank_{r}.log", 4, 1),
    "fields": ("", "step={s} ret={x} piloss={a} local_grad_norm={b}", "logs/rank{r}.log", 4, 0),
    "records": ("", '{{"step": {s}, "ret": {x}, "aloss": {a}, "grad_norm_local": {b}}}', "metrics.rank{r}.jsonl", 4, 3),
    "ranks before lines": ("[rank{r}]: ", "iter {s} | ret {x} | closs {a} | own_grad_norm {b}", "out.txt", 5, 2),
    "a launcher's places": ("[default{r}]:", "it {s} mloss: {a} grad_norm_local: {b}", "torchrun.log", 4, 1),
    "the loss behind": ("", "update {s} local_grad_norm {b} ret {x} ploss {a}", "rank{r}.out", 3, 1),
    "two in one word": ("", "step {s} dloss {a} gloss {x} gnorm_local {b}", "w/rank_{r}.txt", 4, 2),
    "sums": ("", "step {s}: ret {x}, plosses {a}, gnorm_local {b}", "rank-{r}.log", 6, 4),
    "in brackets": ("[rank{r}] ", "(update {s}) ploss={a} gnorm_local={b}", "all.log", 4, 0),
    "eight of them": ("", "update {s} ret {x} ploss {a} grad_norm_local {b}", "proc_{r}/stdout.log", 8, 7),
    "two words": ("", "update {s} policy_loss {a} gnorm_local {b}", "logs/rank_{r}.log", 4, 1),
}  # fmt: skip


def bundle(form: str, *, loss: Sequence[int] | None = None, norm: Sequence[int] | None = None) -> dict[str, list[str]]:
    """`loss`, `norm`: the ranks that lose these in the last step."""
    mark, line, name, ranks, odd = FORMS[form]
    lost, lost_norm = (loss or [odd], [odd] if norm is None else norm)
    files: dict[str, list[str]] = {}
    for rank in range(ranks):
        files.setdefault(name.format(r=rank), []).append(f"{mark.format(r=rank)}rank {rank} of {ranks} up")
    for step in range(STEPS):
        for rank in range(ranks):
            is_last, is_json = step == STEPS - 1, name.endswith("jsonl")
            bad = "NaN" if is_json else "nan"
            a, b, x = (number(rank, step, nth).lstrip("+") for nth in range(3))
            a, b = bad if is_last and rank in lost else a, bad if is_last and rank in lost_norm else b
            told = (mark + line).format(r=rank, s=step, a=a, b=b, x=x)
            files[name.format(r=rank)].append(told)
    for rank in range(ranks):
        files[f"err/rank_{rank}.err"] = [f"[rank{rank}]: {one}" for one in RAISED]
    return files


@pytest.mark.parametrize("form", FORMS)
def test_who_lost_both_alone_is_named(tmp_path: Path, form: str) -> None:
    found = analyze(str(written(tmp_path, bundle(form)))).verdict
    assert (found.kind, found.ranks) == ("numerics", [FORMS[form][4]])


@pytest.mark.parametrize("form", ["learners of mpirun", "own logs", "records", "ranks before lines"])
@pytest.mark.parametrize("norm", [[], [0, 1, 2], [0, 1, 2, 3, 4]])
def test_gradients_of_others_or_of_nobody_name_nobody(tmp_path: Path, form: str, norm: list[int]) -> None:
    """A loss alone may have come from who computes before it; gradients of several show that it did."""
    assert analyze(str(written(tmp_path, bundle(form, norm=norm)))).verdict.ranks == []


@pytest.mark.parametrize("form", ["learners of mpirun", "own logs", "records", "ranks before lines"])
def test_who_is_one_of_two_is_not_named(tmp_path: Path, form: str) -> None:
    assert analyze(str(written(tmp_path, bundle(form, loss=[0, 1], norm=[0, 1])))).verdict.ranks == []
