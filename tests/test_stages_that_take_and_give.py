"""Stages of several pipelines that tell, in one record for each micro-batch, how large what came in and what went out was: one makes NaN of a number. Its
pipeline has it from there on, the other after the mean of the gradients. In reports, tables, sections and lines; and who may not be named."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

STEPS, AT, MICROS, MICRO, STAGES = 9, 6, 3, 1, 3
Cells = dict[str, str]  # in, out, back (what came from the next stage)
Told = tuple[
    int, int, int, list[Cells], Cells
]  # rank, of how many, step, a record for each micro-batch, what is of the step
Writer = Callable[[Told], str]


def story(pipelines: int, odd: int | None, *, given: bool = False, all_lost: bool = False) -> Iterator[Told]:
    """`given`: what came into the odd stage was none, either, and nobody before it told so."""
    ranks = pipelines * STAGES
    for step in range(1, STEPS + 1):
        for rank in range(ranks):
            micros: list[Cells] = []
            for micro in range(MICROS):
                size = 0.2 + (rank * 5 + step * 3 + micro) % 11 / 40
                is_here = (
                    odd is not None and step == AT and micro == MICRO and (all_lost or rank // STAGES == odd // STAGES)
                )
                behind = is_here and odd is not None and (rank > odd or all_lost)
                took = (odd is not None and step > AT) or behind or (given and is_here and rank == odd)
                gave = took or (is_here and rank == odd)
                back = is_here or (odd is not None and step > AT)
                micros.append(
                    {
                        "in": "nan" if took else f"{size:.4f}",
                        "out": "nan" if gave else f"{size + 0.1:.4f}",
                        "back": "nan" if back else f"{size / 9:.5f}",
                    }
                )
            is_lost = odd is not None and step >= AT
            whole = {
                "weights": "nan" if odd is not None and step > AT else f"4.{rank}{step:02}",
                "reduced": "nan" if is_lost else f"0.{rank + 1}{step:02}",
            }
            yield rank, ranks, step, micros, whole


def _report(told: Told) -> str:
    rank, ranks, step, micros, whole = told
    head = (
        f"# Stage {rank % STAGES + 1}\n\n| item | value |\n|---|---|\n| global rank | {rank} |\n| world size | {ranks} |\n\n"
        if step == 1
        else ""
    )
    rows = "".join(f"| {at} | {one['in']} | {one['out']} | {one['back']} |\n" for at, one in enumerate(micros))
    ends = f"\nAll {STEPS} steps were run. Weights: norm {whole['weights']}.\n" if step == STEPS else ""
    return (
        f"{head}## Step {step}\n\n| micro-batch | max abs in | max abs out | gradient from next |\n|---:|---:|---:|---:|\n{rows}\n"
        f"* weights before the step: norm {whole['weights']}\n* gradient after averaging: norm {whole['reduced']}\n{ends}"
    )


def _columns(told: Told) -> str:
    _, _, step, micros, whole = told
    return "\n".join(
        f"{step},{at},{one['in']},{one['out']},{one['back']},{whole['weights']}" for at, one in enumerate(micros)
    )


def _rows(told: Told) -> str:
    rank, _, step, micros, _ = told
    return "\n".join(f"{rank};{step};{at};{one['in']};{one['out']};{one['back']}" for at, one in enumerate(micros))


def _objects(told: Told) -> str:
    rank, ranks, step, micros, _ = told
    return "\n".join(
        json.dumps(
            {
                "rank": rank,
                "world_size": ranks,
                "step": step,
                "mb": at,
                "act_in_max": float(one["in"]),
                "act_out_max": float(one["out"]),
                "grad_from_next": float(one["back"]),
            }
        )
        for at, one in enumerate(micros)
    )


def _nested(told: Told) -> str:
    rank, _, step, micros, _ = told
    return "\n".join(
        json.dumps(
            {
                "step": step,
                "rank": rank,
                "microbatch": at,
                "activation": {"in": float(one["in"]), "out": float(one["out"])},
                "gradient": {"in": float(one["back"])},
            }
        )
        for at, one in enumerate(micros)
    )


def _logfmt(told: Told) -> str:
    rank, ranks, step, micros, _ = told
    return "\n".join(
        f"rank={rank} world={ranks} step={step} mb={at} x_in_absmax={one['in']} x_out_absmax={one['out']} g_in_absmax={one['back']}"
        for at, one in enumerate(micros)
    )


def _prose(told: Told) -> str:
    rank, _, step, micros, _ = told
    lines = (
        f"step {step} mb {at} received act absmax {one['in']}\n[rank{rank}] step {step} mb {at} sent act absmax {one['out']}\n[rank{rank}] step {step} mb {at} received grad absmax {one['back']}"
        for at, one in enumerate(micros)
    )
    return "\n".join(f"[rank{rank}] {line}" for line in lines)


def _sections(told: Told) -> str:
    rank, ranks, step, micros, whole = told
    head = f"[stage]\nrank = {rank}\nworld_size = {ranks}\n\n" if step == 1 else ""
    cells = "".join(
        f"mb{at}.absmax_in = {one['in']}\nmb{at}.absmax_out = {one['out']}\nmb{at}.gradient_from_next = {one['back']}\n"
        for at, one in enumerate(micros)
    )
    return f"{head}[step {step}]\nweights_norm = {whole['weights']}\n{cells}reduced_norm = {whole['reduced']}\n"


def _documents(told: Told) -> str:
    rank, ranks, step, micros, whole = told
    head = f"---\nstage:\n  rank: {rank}\n  world_size: {ranks}\n" if step == 1 else ""
    cells = "".join(
        f"  m{at}: {{in_absmax: {one['in'].replace('nan', '.nan')}, out_absmax: {one['out'].replace('nan', '.nan')}, grad_from_next: {one['back'].replace('nan', '.nan')}}}\n"
        for at, one in enumerate(micros)
    )
    return f"{head}---\nstep: {step}\nweights: {whole['weights'].replace('nan', '.nan')}\nmicro:\n{cells}".rstrip("\n")


def _headed(told: Told) -> str:
    rank, ranks, step, micros, _ = told
    rows = "".join(f"{at:5}  {one['in']:>9}  {one['out']:>9}  {one['back']:>9}\n" for at, one in enumerate(micros))
    return f"== step {step} rank {rank} of {ranks} ==\nmicro  absmax_in  absmax_out  grad_in\n{rows}"


def _drawn(told: Told) -> str:
    rank, _, step, micros, _ = told
    return "\n".join(
        f"| {step} | {rank} | {at} | {one['in']} | {one['out']} | {one['back']} |" for at, one in enumerate(micros)
    )


def _python(told: Told) -> str:
    rank, _, step, micros, _ = told
    return "\n".join(
        str(
            {
                "iter": step,
                "rank": rank,
                "micro_batch": at,
                "input_absmax": float(one["in"]),
                "output_absmax": float(one["out"]),
                "grad_from_next": float(one["back"]),
            }
        )
        for at, one in enumerate(micros)
    )


# The name of a file, one for each rank where the number stands in it; what stands at its head; a record.
WRITERS: Mapping[str, tuple[str, str, Writer]] = {
    "a report": ("pipe_stage-{rank}.md", "", _report),
    "columns": ("rank_{rank}.csv", "step,micro_batch,in_absmax,out_absmax,grad_from_next,weights_norm\n", _columns),
    "rows of all": ("stages.csv", "rank;step;micro_batch;max_in;max_out;grad_from_next\n", _rows),
    "objects": ("stages.jsonl", "", _objects),
    "nested objects": ("rank{rank}.jsonl", "", _nested),
    "logfmt": ("train.log", "", _logfmt),
    "prose": ("train.log", "", _prose),
    "sections": ("stage-{rank}.ini", "", _sections),
    "documents": ("stage-{rank}.yaml", "", _documents),
    "headed tables": ("rank_{rank}.txt", "", _headed),
    "drawn": ("stages.md", "| step | rank | micro-batch | in absmax | out absmax | grad from next |\n|---|---|---|---|---|---|\n", _drawn),
    "python": ("rank_{rank}.log", "", _python),
}  # fmt: skip
JOBS = [(form, (2, 2, 1)[at % 3], (4, 1, 1)[at % 3]) for at, form in enumerate(WRITERS)]


def judged(folder: Path, form: str, told: Iterator[Told], *, lost: int = -1) -> Verdict:
    name, head, write = WRITERS[form]
    files: dict[str, list[str]] = {}
    ranks = 0
    for one in told:
        ranks = one[1]
        if one[0] != lost:
            files.setdefault(name.format(rank=one[0]), []).append(write(one))
    for path, lines in files.items():
        (folder / path).write_text(head + "\n".join(lines) + "\n")
    (folder / "launch.txt").write_text(f"torchrun --nproc_per_node {ranks} pipe.py\n")
    return analyze(folder).verdict


@pytest.mark.parametrize(("form", "pipelines", "odd"), JOBS)
def test_who_made_it_of_a_number_is_named(tmp_path: Path, form: str, pipelines: int, odd: int) -> None:
    verdict = judged(tmp_path, form, story(pipelines, odd))
    assert (verdict.kind, list(verdict.ranks), verdict.first_anomaly and verdict.first_anomaly.step) == (
        "numerics",
        [odd],
        AT,
    )


@pytest.mark.parametrize(("form", "pipelines", "odd"), JOBS[::3])
def test_where_its_record_is_lost_nobody_is(tmp_path: Path, form: str, pipelines: int, odd: int) -> None:
    verdict = judged(tmp_path, form, story(pipelines, odd), lost=odd)
    assert not verdict.ranks
    assert not verdict.suspects.ranks or odd in verdict.suspects.ranks


@pytest.mark.parametrize(("form", "pipelines", "odd"), JOBS[1::3])
def test_who_took_it_is_not(tmp_path: Path, form: str, pipelines: int, odd: int) -> None:
    assert not judged(tmp_path, form, story(pipelines, odd, given=True)).ranks


@pytest.mark.parametrize(("form", "pipelines", "odd"), JOBS[::5])
def test_what_all_lose_together_accuses_nobody_and_a_sound_training_is_none(
    tmp_path: Path, form: str, pipelines: int, odd: int
) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "none").mkdir()
    assert not judged(tmp_path / "all", form, story(pipelines, odd, all_lost=True)).ranks
    assert judged(tmp_path / "none", form, story(pipelines, None)).kind != "numerics"
