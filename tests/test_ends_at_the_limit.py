"""A run of which the last words, whatever they are, say that all steps were done is sound, though a metric of its evaluations has no value."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

Files = Mapping[str, Sequence[str]]
WORLD, LAST = 4, 40


def loss(step: int, rank: int) -> float:
    return round(2 + 3 / step + 0.017 * ((step * 3 + rank * 5) % 7), 4)


def objects(end: str, last: int = LAST) -> Files:
    def made(rank: int) -> list[str]:
        lines = [json.dumps({"rank": rank, "event": "start", "world_size": WORLD, "max_steps": LAST})]
        for step in range(1, last + 1):
            lines.append(json.dumps({"rank": rank, "event": "train", "step": step, "loss": loss(step, rank)}))
            if not step % 10:
                said = {"rank": rank, "event": "eval", "step": step, "val_loss": 2.5, "val_acc_rare": float("nan")}
                lines.append(json.dumps(said))
        return [*lines, end.replace("RANK", str(rank))]

    return {f"log_rank{rank}.jsonl": made(rank) for rank in range(WORLD)}


def prose(end: str, last: int = LAST) -> Files:
    lines = [f"[rank{rank}]: rank {rank} of {WORLD}, {LAST} steps to do" for rank in range(WORLD)]
    for step in range(1, last + 1):
        lines += [f"[rank{rank}]: step {step} loss {loss(step, rank)}" for rank in range(WORLD)]
        lines += ["[rank0]: val recall nan"] if not step % 10 else []
    return {"out.log": lines + [f"[rank{rank}]: {end.replace('RANK', str(rank))}" for rank in range(WORLD)]}


def tables(end: str, last: int = LAST) -> Files:
    """A console that nobody prints alone, and records of all."""
    own = {
        f"metrics_rank{rank}.csv": ["rank,step,loss", *(f"{rank},{n},{loss(n, rank)}" for n in range(1, last + 1))]
        for rank in range(WORLD)
    }
    report = ["evaluation after step 40", "class_3 0.000 nan 0", "macro recall nan"]
    return {"console.log": ["model of 1089 parameters", end], "eval_report.txt": report, **own}


FORMS: Mapping[str, tuple[Callable[[str, int], Files], str]] = {
    "event": (objects, '{"rank": RANK, "event": "end", "step": 40, "reason": "max_steps reached"}'),
    "message": (objects, '{"rank": RANK, "msg": "stopping at step 40: iteration limit"}'),
    "both": (objects, '{"rank": RANK, "event": "bye", "step": 40, "total_steps": 40}'),
    "nested": (objects, '{"rank": RANK, "event": "exit", "state": {"step": 40, "why": "step limit"}}'),
    "reached": (prose, "max_steps reached at step 40"),
    "limit": (prose, "leaving the loop at iteration 40, the limit of steps"),
    "target": (prose, "step=40 hit max_iters, bye"),
    "of": (prose, "did 40 of 40 steps on rank RANK"),
    "nodes": (prose, "40/40 updates on 2 nodes, closing files"),
    "workers": (tables, "40/40 steps done on 4 workers, model written to out/model.pt"),
    "shards": (tables, "all 40 of 40 iterations over, 4 shards written"),
    "count": (tables, "40 / 40 steps, saved"),
    "limit of all": (tables, "reached total_steps at step 40"),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_steps_were_done(tmp_path: Path, form: str) -> None:
    made, end = FORMS[form]
    assert analyze(str(written(tmp_path, made(end, LAST)))).verdict.kind == "healthy"


NO_END: Mapping[str, tuple[Callable[[str, int], Files], str, int]] = {
    "fewer steps": (objects, '{"rank": RANK, "event": "end", "step": 40, "reason": "max_steps reached"}', 31),
    "denied": (prose, "max_steps not reached at step 40", LAST),
    "of an epoch": (prose, "epoch 40/40 of the schedule, steps go on", LAST),
    "of workers": (tables, "40/40 workers are up", LAST),
    "of files": (tables, "40/40 files read for the steps", LAST),
    "of records that are short": (tables, "40/40 steps done on 4 workers", 31),
    "of a plan": (prose, "max_steps is 40, step 40", 31),
}


@pytest.mark.parametrize("form", NO_END)
def test_what_tells_no_end_proves_nothing(tmp_path: Path, form: str) -> None:
    made, end, last = NO_END[form]
    said = analyze(str(written(tmp_path, made(end, last)))).verdict
    assert said.kind != "healthy" and not said.ranks
