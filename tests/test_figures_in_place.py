"""Figures where people leave them: printed in cells of a notebook, counted beside a loss, behind a hash that begins with a letter; and what stays silent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers.archive import notebooks
from parsers.forms import framings, pairs
from parsers.text import vocabulary

RANKS, STEPS, FIRST, ODD = 4, 9, 6, 2


def judged(folder: Path, files: dict[str, str]) -> Verdict:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return analyze(folder).verdict


def at(verdict: Verdict) -> tuple[str, list[int], int | None]:
    return verdict.kind, verdict.ranks, verdict.first_anomaly.step if verdict.first_anomaly else None


def printed(
    form: str, *, bad: Callable[[int, int], bool], hides: Callable[[int, int], int] = lambda *_: 0
) -> list[str]:
    """A line for each step and rank: {v} a loss, {n} how many values of the input were bad."""
    return [
        form.format(r=rank, s=step + 20, v="nan" if bad(step, rank) else f"2.{rank}{step}7", n=hides(step, rank))
        for step in range(STEPS)
        for rank in range(RANKS)
    ]


def first_alone(step: int, rank: int) -> bool:
    return step > FIRST or (step == FIRST and rank == ODD)


def given(step: int, rank: int) -> int:
    return 12 * (step == FIRST and rank == ODD)


# --- notebooks -----------------------------------------------------------------------------------------------------------


def notebook(*outputs: dict[str, Any], **more: Any) -> str:
    code = {"cell_type": "code", "source": ["raise ValueError('never run')\n"], "outputs": [*outputs]}
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "loss nan at step 3"}, code], **more}, indent=1)


NBFORMAT = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}


@pytest.mark.parametrize("as_list", [True, False])
def test_what_a_notebook_printed_is_a_log(tmp_path: Path, as_list: bool) -> None:
    lines = [f"{line}\n" for line in printed("[rank {r}] step {s} local loss {v}", bad=first_alone)]
    stream = {"output_type": "stream", "name": "stdout", "text": lines if as_list else "".join(lines)}
    verdict = judged(tmp_path, {"try.ipynb": notebook(stream, **NBFORMAT)})
    assert at(verdict) == ("numerics", [ODD], FIRST + 20)


def test_outputs_are_read_and_code_and_remarks_are_not() -> None:
    error = {"output_type": "error", "ename": "E", "traceback": ["Traceback (most recent call last)", "E: no\nmore"]}
    value = {"output_type": "execute_result", "data": {"text/plain": "8"}}
    found = json.loads(notebook(value, error, **NBFORMAT))
    assert notebooks.lines_of(found) == b"8\nTraceback (most recent call last)\nE: no\nmore\n"
    assert notebooks.lines_of(json.loads(notebook(**NBFORMAT))) == b"\n"  # nothing was printed
    assert notebooks.lines_of(json.loads(notebook(value))) is None  # no notebook
    old = {"worksheets": [{"cells": [{"outputs": [{"output_type": "stream", "text": ["a\n", "b"]}]}]}], "nbformat": 3}
    assert notebooks.lines_of(old) == b"a\nb\n"


def test_a_notebook_without_outputs_says_nothing(tmp_path: Path) -> None:
    assert judged(tmp_path, {"plan.ipynb": notebook(**NBFORMAT)}).kind == "unknown"


# --- counted beside a loss -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        "[rank {r}] step {s} | in_nan={n} | loss {v}",
        "rank {r} | step {s} | n_nonfinite={n}  amax=3.5 | loss {v} (own batch)",
        "[rank{r}] iter {s}: batch_nans={n} loss {v}",
    ],
)
def test_what_a_step_was_given_is_bad_where_its_count_stands_beside_the_loss(tmp_path: Path, form: str) -> None:
    verdict = judged(tmp_path, {"all.log": "\n".join(printed(form, bad=first_alone, hides=given)) + "\n"})
    assert (*at(verdict), verdict.cause) == ("numerics", [ODD], FIRST + 20, "bad_input")


def test_a_count_that_stays_is_of_what_was_made(tmp_path: Path) -> None:
    lines = printed(
        "[rank {r}] step {s} | out_nan={n} | loss {v}", bad=first_alone, hides=lambda s, r: 12 * first_alone(s, r)
    )
    verdict = judged(tmp_path, {"all.log": "\n".join(lines) + "\n"})
    assert (*at(verdict), verdict.cause) == ("numerics", [ODD], FIRST + 20, "nan_birth")


def test_counts_that_are_zero_tell_nothing(tmp_path: Path) -> None:
    lines = printed("[rank {r}] step {s} | in_nan={n} | loss {v}", bad=lambda *_: False)
    assert judged(tmp_path, {"all.log": "\n".join(lines) + "\n"}).kind == "unknown"


# --- hashes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("check step  70 rank 1: weights digest bcb1d13558ec59e6 l2 8.96 loss_local 2.3", "weights digest", "bcb1d13558ec59e6"),
        ("step 70 rank 1 crc c0ffee12 norm 8.96", "crc", "c0ffee12"),
    ],
)  # fmt: skip
def test_a_hash_that_begins_with_a_letter_is_no_part_of_the_next_name(text: str, name: str, value: str) -> None:
    said = pairs.mentions(text) or {}
    assert (said.get(name), said.get("rank")) == (value, "1")


def checked(parts: int, members: int) -> list[str]:
    """Digests of all, of which the last rank's differs from step 30 on."""
    return [
        f"00:0{step % 10}:00 replica check step  {step} rank {rank}: params digest "
        f"{'ab' if step >= 30 and rank >= members - parts else 'bc'}{step:02}1d13558ec59e l2 8.96 loss_local 2.{rank}{step}1"
        for step in range(10, 80, 10)
        for rank in range(members)
    ]


def test_one_of_many_that_leaves_what_all_print_alike_is_named(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"all.log": "\n".join(checked(1, 4)) + "\n"})
    assert (*at(verdict), verdict.cause) == ("numerics", [3], 30, "replica_divergence")


def test_of_two_nobody_is(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"all.log": "\n".join(checked(1, 2)) + "\n"})
    assert (*at(verdict), verdict.cause) == ("numerics", [], 30, "replica_divergence")


# --- curves named from behind --------------------------------------------------------------------------------------------


def rising(step: int) -> float:
    """It leaps at step 30 and comes back."""
    return 2.5 - step / 200 if step < 30 else 2.4 + 7 * 0.8 ** (step - 30)


@pytest.mark.parametrize(
    "name", ["run-a-tag-Loss_train.csv", "run-a-tag-loss_train.csv", "run-a-tag-loss_train_step.csv"]
)
def test_a_loss_of_the_training_is_one_whichever_word_comes_first(tmp_path: Path, name: str) -> None:
    rows = [f"{1_790_000_000 + step},{step},{rising(step)}" for step in range(60)]
    verdict = judged(tmp_path, {name: "\n".join(["Wall time,Step,Value", *rows]) + "\n"})
    assert (*at(verdict), verdict.cause) == ("numerics", [], 30, "loss_spike")


@pytest.mark.parametrize("name", ["Loss/train", "loss_training"])
def test_a_column_of_it_too(tmp_path: Path, name: str) -> None:
    rows = [f"{step},{rising(step)}" for step in range(60)]
    verdict = judged(tmp_path, {"history.csv": "\n".join([f"step,{name}", *rows]) + "\n"})
    assert at(verdict) == ("numerics", [], 30)


@pytest.mark.parametrize("name", ["Loss/val", "loss_test", "Loss/train_best", "accuracy/train"])
def test_of_an_evaluation_or_a_score_it_is_none(name: str) -> None:
    assert vocabulary.meaning_of(name) is None


def test_a_time_of_the_training_is_no_moment() -> None:
    assert vocabulary.meaning_of("time/train") is None


@pytest.mark.parametrize(
    "name", ["loss on own shard", "loss (before all-reduce)", "loss_pre_allreduce", "loss_own_data"]
)
def test_a_loss_of_what_a_rank_has_is_its_own(name: str) -> None:
    said = vocabulary.meaning_of(name)
    assert said is not None and (said.meaning, said.sort) == ("loss", "own")


# --- numbers behind an r -------------------------------------------------------------------------------------------------


def canaries(form: str, *, in_turn: bool = False) -> str:
    """A digest that is the same on all, but for rank 2 from step 500 on."""
    cells = [(step, rank) for step in range(100, 900, 100) for rank in range(RANKS)]
    cells = sorted(cells, key=lambda cell: cell[1]) if in_turn else cells
    return "".join(
        form.format(
            r=rank, pid=7108 + 3 * rank, s=step, d="0badf00d39a2" if rank == ODD and step >= 500 else "39a20e2d597c"
        )
        + "\n"
        for step, rank in cells
    )


@pytest.mark.parametrize(
    "form",
    [
        "Sep 12 00:00:00 n1 trainer[{pid}]: [r{r:02}] step={s} canary digest={d} loss(local)=2.{r}{s}",
        "{pid} [r{r}] step {s} selftest crc={d}",
    ],
)
def test_processes_that_speak_at_once_behind_an_r_are_ranks(tmp_path: Path, form: str) -> None:
    verdict = judged(tmp_path, {"all.log": canaries(form)})
    assert (*at(verdict), verdict.cause) == ("numerics", [ODD], 500, "replica_divergence")


def test_tries_one_after_the_other_are_none(tmp_path: Path) -> None:
    text = canaries("Sep 12 00:00:00 n1 trainer[{pid}]: [r{r}] step={s} canary digest={d}", in_turn=True)
    assert judged(tmp_path, {"all.log": text}).ranks == []


def test_nor_are_numbers_of_one_process(tmp_path: Path) -> None:
    text = canaries("Sep 12 00:00:00 n1 trainer[7108]: [r{r}] step={s} canary digest={d}")
    assert judged(tmp_path, {"all.log": text}).ranks == []


# --- files called as what they hold --------------------------------------------------------------------------------------

RUNS = ("3f0c9be1", "0c44e1f7", "e97a20b4", "b81d7ac9")


def runs(told: Callable[[int], dict[str, str]]) -> dict[str, str]:
    """A run of a tracker for each rank: its own norm is Inf at step 6 on the odd one, that of all is from then on."""
    files: dict[str, str] = {}
    for rank, run in enumerate(RUNS):
        own = [f"{1_790_000_000_000 + at} {'inf' if at == 6 and rank == ODD else 'nan' if at > 6 else 1.2 + at / 100 + rank / 7} {at}" for at in range(9)]  # fmt: skip
        loss = [f"{1_790_000_000_000 + at} {'nan' if at > 6 else 2.4 + at / 100 + rank / 9} {at}" for at in range(9)]
        files |= {f"mlruns/7/{run}/metrics/{name}": "\n".join(rows) + "\n" for name, rows in (("grad_norm_local", own), ("loss_local", loss))}  # fmt: skip
        files |= {f"mlruns/7/{run}/{name}": text for name, text in told(rank).items()}
    return files


@pytest.mark.parametrize(
    "told",
    [
        lambda rank: {"tags/rank": f"{rank}", "params/rank": f"{rank}", "params/world_size": "4"},
        lambda rank: {"tags/rank": f"{rank}", "tags/mlflow.runName": f"try-{rank + 4}"},
        lambda rank: {"params/global_rank": f"{rank}\n", "tags/process_index": f"{rank}\n"},
    ],
)
def test_runs_that_tell_their_rank_twice_tell_it(tmp_path: Path, told: Callable[[int], dict[str, str]]) -> None:
    assert at(judged(tmp_path, runs(told))) == ("numerics", [ODD], 6)


def test_runs_that_tell_two_ranks_are_nobodys(tmp_path: Path) -> None:
    told = runs(lambda rank: {"tags/rank": f"{rank}", "params/rank": f"{3 - rank}", "params/world_size": "4"})
    assert judged(tmp_path, told).ranks == []


# --- far together --------------------------------------------------------------------------------------------------------


def leaps(loss: float, norm: float, top: float = 1.0) -> Callable[[int, int], dict[str, float]]:
    """How many times what it usually is each figure of the odd rank is in its worst step; all are high after the update, and stay so."""

    def row(step: int, rank: int) -> dict[str, float]:
        is_it = (step, rank) == (FIRST, ODD)
        later = 40.0 if step > FIRST else 1.0
        usual = 1 + rank / 7 + (step * 3 + rank) % 5 / 10
        return {"l": 2 * usual * later * (loss if is_it else 1), "g": usual * later * (norm if is_it else 1), "t": usual * (top if is_it else 1)}  # fmt: skip

    return row


def told_far(form: str, figures: Callable[[int, int], dict[str, float]]) -> str:
    return "".join(
        form.format(r=rank, s=step + 50, **figures(step, rank)) + "\n" for step in range(14) for rank in range(RANKS)
    )


FAR = (
    "[rank {r}] step {s} own loss {l:.3f} own grad norm {g:.4f}",
    '{{"rank": {r}, "step": {s}, "loss_local": {l:.4f}, "grad_norm_local": {g:.4f}, "input_absmax": {t:.3f}}}',
    "rank={r} iteration={s} local_loss={l:.4f} local_grad_norm={g:.4f} x_absmax={t:.3f}",
)


@pytest.mark.parametrize("form", FAR)
def test_a_loss_and_a_norm_that_leap_together_are_the_ranks(tmp_path: Path, form: str) -> None:
    verdict = judged(tmp_path, {"all.log": told_far(form, leaps(300, 400))})
    assert at(verdict) == ("numerics", [ODD], FIRST + 50)


@pytest.mark.parametrize("form", FAR[1:])
def test_with_what_it_was_given_it_is_the_input(tmp_path: Path, form: str) -> None:
    verdict = judged(tmp_path, {"all.log": told_far(form, leaps(300, 400, 2000))})
    assert (*at(verdict), verdict.cause) == ("numerics", [ODD], FIRST + 50, "bad_input")


@pytest.mark.parametrize("form", FAR)
def test_not_so_far_together_they_are_where_the_losses_of_all_began_to_rise(tmp_path: Path, form: str) -> None:
    verdict = judged(tmp_path, {"all.log": told_far(form, leaps(40, 40))})
    assert (*at(verdict), verdict.cause) == ("numerics", [ODD], FIRST + 50, "loss_spike")


@pytest.mark.parametrize("times", [(300, 1), (1, 300), (1, 1)])
@pytest.mark.parametrize("form", FAR)
def test_one_that_leaps_alone_or_not_so_far_is_nobodys(tmp_path: Path, form: str, times: tuple[float, float]) -> None:
    assert judged(tmp_path, {"all.log": told_far(form, leaps(*times))}).ranks == []


# --- reports with a part for each step -----------------------------------------------------------------------------------


def reports(write: Callable[[dict[str, Any]], str], name: str, *, lost: str = "exp_avg_nan") -> dict[str, str]:
    """A report of each rank: what it loaded, and three steps; the odd one loaded a moment with NaN."""
    files: dict[str, str] = {}
    for rank in range(RANKS):
        own = {"rank": rank, "world_size": RANKS, "host": f"n{rank}"}
        own["load"] = {"params_nan": 0, "exp_avg_nan": 0, "exp_avg_absmax": 0.25} | ({lost: 64} if rank == ODD else {})
        for at in range(3):
            own[f"step_{at + 80}"] = {"input_nan": 0, "loss_local": "nan" if at else 2.5 + rank / 7}
        files[name.format(r=rank)] = write(own)
    return files


def as_toml(own: dict[str, Any]) -> str:
    plain = "".join(f'{name} = "{cell}"\n' if isinstance(cell, str) else f"{name} = {cell}\n" for name, cell in own.items() if not isinstance(cell, dict))  # fmt: skip
    parts = "".join(
        f"\n[{name.replace('_', '.')}]\n" + "".join(f"{key} = {cell}   # as it was\n" for key, cell in inner.items())
        for name, inner in own.items()
        if isinstance(inner, dict)
    )
    return plain + parts


def as_yaml(own: dict[str, Any]) -> str:
    def rows(inner: dict[str, Any], before: str) -> str:
        return "".join(f"{before}{key}: {'.nan' if cell == 'nan' else cell}\n" for key, cell in inner.items())

    steps = {name.partition("_")[2]: inner for name, inner in own.items() if name.startswith("step_")}
    plain = rows({name: cell for name, cell in own.items() if not isinstance(cell, dict)}, "")
    return plain + "load:\n" + rows(own["load"], "  ") + "steps:\n" + "".join(f"  {step}:\n{rows(inner, '    ')}" for step, inner in steps.items())  # fmt: skip


def as_json(own: dict[str, Any]) -> str:
    return json.dumps(own, indent=1).replace('"nan"', "NaN") + "\n"


def merged(name: str, write: Callable[[dict[int, dict[str, Any]]], dict[str, Any]], lost: str) -> dict[str, str]:
    """The same of all ranks in one document."""
    all_ = {rank: json.loads(text) for rank, text in enumerate(reports(json.dumps, "{r}", lost=lost).values())}
    return {name: json.dumps(write(all_)).replace('"nan"', "NaN")}


def by_rank(all_: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return {"world_size": RANKS, "ranks": {f"{rank}": {name: cell for name, cell in own.items() if isinstance(cell, dict)} for rank, own in all_.items()}}  # fmt: skip


def by_step(all_: dict[int, dict[str, Any]]) -> dict[str, Any]:
    steps = [name for name in all_[0] if name.startswith("step_")]
    load = {"load": {f"rank_{rank}": own["load"] for rank, own in all_.items()}}
    return load | {step: {f"rank_{rank}": own[step] for rank, own in all_.items()} for step in steps}


@pytest.mark.parametrize("lost", ["exp_avg_nan", "exp_avg_absmax"])
@pytest.mark.parametrize("write", [by_rank, by_step])
def test_one_report_of_all_ranks(
    tmp_path: Path, write: Callable[[dict[int, dict[str, Any]]], dict[str, Any]], lost: str
) -> None:
    verdict = judged(tmp_path, merged("summary.json", write, lost))
    assert (verdict.kind, verdict.ranks) == ("numerics", [ODD] if lost == "exp_avg_nan" else [])


WRITTEN = [(as_toml, "resume/rank{r}.toml"), (as_yaml, "rank_{r}/report.yaml"), (as_json, "report_r{r}.json")]


@pytest.mark.parametrize(("write", "name"), WRITTEN)
def test_what_was_loaded_stands_before_the_steps_of_a_report(
    tmp_path: Path, write: Callable[[dict[str, Any]], str], name: str
) -> None:
    verdict = judged(tmp_path, reports(write, name))
    assert (verdict.kind, verdict.ranks, verdict.cause) == ("numerics", [ODD], "bad_state")


@pytest.mark.parametrize(("write", "name"), WRITTEN)
def test_where_nobody_loaded_anything_bad_nobody_is_named(
    tmp_path: Path, write: Callable[[dict[str, Any]], str], name: str
) -> None:
    verdict = judged(tmp_path, reports(write, name, lost="exp_avg_absmax"))
    assert (verdict.kind, verdict.ranks) == ("numerics", [])


@pytest.mark.parametrize(
    "text",
    ["steps:\n  100: 0.1\n  200: 0.01\n", "step: 5\nloss: 2.1\n", "jobs:\n  step_1: {run: a}\n", "step 5 loss 2.1\nstep 6 loss 2.0\n"],
)  # fmt: skip
def test_counts_that_hold_no_records_of_steps_make_no_report(text: str) -> None:
    assert framings.framing("x.yaml", text.encode()) != "outlined"


# --- whose ranks nobody knows --------------------------------------------------------------------------------------------


def test_a_table_of_hosts_says_that_it_went_bad_and_names_nobody(tmp_path: Path) -> None:
    rows = [
        f"{step}\t{host}\t4\t{'nan' if step > 66 or (step == 66 and host == 'fir') else 1.9 + at / 100}"
        for step in range(60, 70)
        for at, host in enumerate(("elm", "fir", "oak"))
    ]
    verdict = judged(tmp_path, {"all.tsv": "\n".join(["step\thost\tprocs\tloss(mean over procs)", *rows]) + "\n"})
    assert at(verdict) == ("numerics", [], 66)


def test_the_first_of_many_that_nobody_can_tell_apart_is_heard(tmp_path: Path) -> None:
    lines = [
        f"---\nstep: {step}\nworker: {{host: h{slot // 2}, card: {slot % 2}}}\nlocal_loss: {'.nan' if step > 66 or (step == 66 and slot == 2) else f'1.{slot}{step}'}"
        for step in range(60, 70)
        for slot in (1, 2, 0, 3)
    ]
    assert at(judged(tmp_path, {"all.yaml": "\n".join(lines) + "\n"})) == ("numerics", [], 66)


def entries(nested: bool) -> str:
    def one(step: int, local: int, loss: str) -> str:
        text = f"[local {local}] step {step}: loss on own shard (before reduce) {loss}"
        told = {"jsonPayload": {"message": text, "levelname": "INFO"}} if nested else {"textPayload": text}
        return json.dumps({**told, "resource": {"labels": {"task_name": "worker-1"}}, "timestamp": f"2026-10-20T13:00:{step:02}.5Z"})  # fmt: skip

    return "".join(one(step, local, "nan" if step > 25 else f"1.{local}{step}") + "\n" for step in range(20, 30) for local in (0, 1))  # fmt: skip


@pytest.mark.parametrize("nested", [True, False])
def test_lines_of_cloud_logging_are_what_was_logged(tmp_path: Path, nested: bool) -> None:
    assert at(judged(tmp_path, {"export.jsonl": entries(nested)})) == ("numerics", [], 26)
