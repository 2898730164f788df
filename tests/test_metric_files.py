"""Metric files of trackers, a folder or a file for each rank: whose own loss was NaN first is named in every form."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze

Value = Callable[[int], str]


def _rows(row: str) -> Callable[[Value], str]:
    return lambda value: "".join(row.format(s=step, v=value(step)) + "\n" for step in range(20))


def _table(names: str, row: str) -> Callable[[Value], str]:
    return lambda value: f"{names}\n{_rows(row)(value)}"


FORMS: dict[str, tuple[str, Callable[[Value], str]]] = {
    "wandb's history": (
        "rank_{r}/wandb/offline-run-20260301_100000-ab{r}c/files/wandb-history.jsonl",
        _rows('{{"_step": {s}, "_runtime": {s}.5, "_timestamp": 17900000{s:02}.1, "train/loss": {v}}}'),
    ),
    "wandb's output.log": ("rank{r}/files/output.log", _rows("step {s} | loss {v} | lr 0.0003")),
    "mlflow": ("mlruns/0/rank_{r}/metrics/loss", _rows("17900000{s:02}123 {v} {s}")),
    "mlflow, a name in folders": ("rank_{r}/mlruns/1/abc/metrics/train/loss", _rows("17900000{s:02}123 {v} {s}")),
    "lightning": (
        "rank_{r}/lightning_logs/version_0/metrics.csv",
        _table("epoch,lr,step,train_loss_step,val_loss", "0,0.0003,{s},{v},"),
    ),
    "lightning, loss first": ("rank{r}/metrics.csv", _table("train_loss,epoch,step,val_loss", "{v},0,{s},")),
    "neptune": ("rank_{r}/train_loss.csv", _table("step,timestamp,value", "{s}.0,17900000{s:02}.5,{v}")),
    "a figure a row": ("rank_{r}/scalars.csv", _table("step,tag,value", "{s},train/loss,{v}\n{s},train/lr,0.0003")),
    "a figure an object": ("rank_{r}/scalars.jsonl", _rows('{{"tag": "train/loss", "step": {s}, "value": {v}}}')),
    "an array of figures": (
        "rank_{r}/aim.json",
        lambda value: (
            "[" + ",\n".join(f'{{"name": "loss", "step": {step}, "value": {value(step)}}}' for step in range(20)) + "]"
        ),
    ),
    "a trainer's state": (
        "rank_{r}/trainer_state.json",
        lambda value: (
            '{"global_step": 19, "log_history": ['
            + ", ".join(f'{{"step": {step}, "loss": {value(step)}}}' for step in range(20))
            + "]}"
        ),
    ),
    "DLLogger": (
        "rank_{r}/dllogger.json",
        _rows('DLLL {{"timestamp": "17900000{s:02}.1", "type": "LOG", "step": {s}, "data": {{"loss": {v}}}}}'),
    ),
    "YAML": (
        "rank_{r}/metrics.yaml",
        lambda value: "".join(f"- step: {s}\n  loss: {value(s).replace('NaN', '.nan')}\n" for s in range(20)),
    ),
    "parts inside parts": (
        "rank_{r}/metrics.jsonl",
        _rows('{{"progress": {{"step": {s}}}, "train": {{"figures": {{"loss": {v}, "lr": 0.0003}}}}}}'),
    ),
    "who it is inside a part": (
        "m/{r}.jsonl",
        lambda value: "".join(
            f'{{"where": {{"rank": {{r}}, "host": "n0"}}, "at": {{"step": {s}}}, "loss": {value(s)}}}\n'
            for s in range(20)
        ),
    ),
    "mmengine": ("rank_{r}/scalars.json", _rows('{{"lr": 0.0003, "loss": {v}, "iter": {s}, "step": {s}}}')),
}


# A file for all ranks: (name, text of it), given the value of (rank, step).
Cell = Callable[[int, int], str]
RANKS, STEPS = range(4), range(20)


def _wide(names: str, row: str, apart: str = ",", head: str = "") -> Callable[[Cell], str]:
    named = apart.join(names.format(r=rank) for rank in RANKS)
    return lambda cell: (
        f"{head}step{apart}{named}\n"
        + "".join(f"{step}{apart}{apart.join(row.format(v=cell(rank, step)) for rank in RANKS)}\n" for step in STEPS)
    )


def _markdown(cell: Cell) -> str:
    rows = ("| " + " | ".join([str(step), *(cell(rank, step) for rank in RANKS)]) + " |\n" for step in STEPS)
    names = " | ".join(f"rank {rank}" for rank in RANKS)
    return f"# Loss of each rank\n\n| step | {names} |\n|---|---|---|---|---|\n" + "".join(rows)


def _lines(row: str) -> Callable[[Cell], str]:
    return lambda cell: "".join(row.format(s=step, v=[cell(rank, step) for rank in RANKS]) + "\n" for step in STEPS)


def _scrapes(cell: Cell) -> str:
    made = []
    for step in STEPS:
        made += ["# TYPE train_step gauge", *(f'train_step{{rank="{rank}"}} {step}' for rank in RANKS)]
        made += [
            "# TYPE train_loss gauge",
            *(f'train_loss{{rank="{rank}",job="j"}} {cell(rank, step)}' for rank in RANKS),
        ]
    return "\n".join(made) + "\n"


OF_ALL: dict[str, tuple[str, Callable[[Cell], str]]] = {
    "a column a rank": ("losses.csv", _wide("loss_rank{r}", "{v}")),
    "a column a rank, its name first": ("out/wide.tsv", _wide("rank{r}/train_loss", "{v}", "\t")),
    "ranks alone": ("per_rank/loss.csv", _wide("rank_{r}", "{v}")),
    "a chart of a tracker": (
        "wandb_export_2026-03-01T10_00_00.csv",
        lambda cell: _wide(
            '"rank-{r} - train/loss","rank-{r} - train/loss__MIN","rank-{r} - train/loss__MAX"', '"{v}","{v}","{v}"'
        )(cell).replace("step,", '"Step",', 1),
    ),
    "a drawn table below a title": ("losses.md", _markdown),
    "a list of ranks": ("train.log", _lines("step {s} loss by rank: [{v[0]}, {v[1]}, {v[2]}, {v[3]}]")),
    "a list that says so in its name": ("train.log", _lines("it {s} per_rank_loss=[{v[0]}, {v[1]}, {v[2]}, {v[3]}]")),
    "a mapping of ranks": (
        "train.jsonl",
        _lines('{{"step": {s}, "ranks": {{"0": {{"loss": {v[0]}}}, "1": {{"loss": {v[1]}}}, "2": {{"loss": {v[2]}}}, "3": {{"loss": {v[3]}}}}}}}'),
    ),
    "gauges, scrape after scrape": ("metrics.prom", _scrapes),
}  # fmt: skip


def _cell(odd: int | None) -> Cell:
    def value(rank: int, step: int) -> str:
        bad = step > 14 or (step == 14 and rank == odd)
        return "NaN" if bad else f"{3 - step / 20 + rank / 100 + (step * 7 + rank * 13) % 11 / 300:.4f}"

    return value


@pytest.mark.parametrize("form", OF_ALL)
def test_a_file_of_all_ranks(tmp_path: Path, form: str) -> None:
    name, text = OF_ALL[form]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text(_cell(2)))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [2], 14)


@pytest.mark.parametrize("form", OF_ALL)
def test_a_file_of_all_ranks_of_which_all_go_bad_at_once(tmp_path: Path, form: str) -> None:
    name, text = OF_ALL[form]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text(_cell(None)))
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        _wide("loss_{r}", "{v}"),
        _wide("layer{r}_loss", "{v}"),
        _wide("tp_rank_{r}_loss", "{v}"),
        _wide("lora_rank_{r}", "{v}"),
        _lines("step {s} losses: [{v[0]}, {v[1]}, {v[2]}, {v[3]}]"),
        _lines('{{"step": {s}, "heads": {{"0": {{"loss": {v[0]}}}, "2": {{"loss": {v[2]}}}}}}}'),
    ],
)
def test_numbers_without_a_word_for_ranks_are_none(tmp_path: Path, text: Callable[[Cell], str]) -> None:
    (tmp_path / "train.csv").write_text(text(_cell(2)))
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [])


DOCUMENTS = {
    "a configuration with remarks": ("config.yaml", "rank:\n  desc: null\n  value: {r}\n"),
    "the name of a run": ("meta.yaml", "artifact_uri: file:///w\nrun_name: rank-{r}\nstatus: 1\n"),
}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_run_whose_own_document_tells_its_rank(tmp_path: Path, document: str) -> None:
    cell, (name, said) = _cell(2), DOCUMENTS[document]
    for rank, run in enumerate(("9f31c", "04b2e", "c70a1", "77d5e")):
        (tmp_path / run / "metrics").mkdir(parents=True)
        (tmp_path / run / name).write_text(said.format(r=rank))
        rows = (f"17900000{step:02}123 {cell(rank, step)} {step}\n" for step in STEPS)
        (tmp_path / run / "metrics" / "loss").write_text("".join(rows))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [2], 14)


def _write(folder: Path, form: str, odd: int | None) -> None:
    name, text = FORMS[form]
    for rank in range(4):

        def value(step: int, rank: int = rank) -> str:
            return "NaN" if step > 14 or (step == 14 and rank == odd) else f"{3 - step / 20 + rank / 100:.4f}"

        path = folder / name.format(r=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(value).replace("{r}", str(rank)))
    (folder / "wandb-summary.json").write_text('{"_step": 19, "train/loss": "NaN", "_runtime": 30.1}\n')
    (folder / "config.yaml").write_text("wandb_version: 1\n\nlr:\n  desc: null\n  value: 0.0003\n")


@pytest.mark.parametrize("form", FORMS)
def test_whose_loss_went_bad_first_is_named(tmp_path: Path, form: str) -> None:
    _write(tmp_path, form, 2)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [2], 14)


@pytest.mark.parametrize("form", [form for form in FORMS if "figure" in form or form == "neptune"])
def test_all_at_once_is_nobodys(tmp_path: Path, form: str) -> None:
    _write(tmp_path, form, None)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks, verdict.first_anomaly.step) == ("numerics", [], [], 15)
