"""Tables with a column for each step and a row for each figure: in every form they say the same as a row for each step would; columns of anything else are no steps."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, ODD, AT = 4, 2, 16
STEPS = range(10, 20)
Cells = Sequence[str]


def figure(rank: int, step: int, what: str) -> str:
    is_bad = step > AT or (step == AT and rank == ODD)
    return "nan" if is_bad and what != "lr" else f"{(2.5 - step / 50 + rank / 900) / (100 if what == 'lr' else 1):.5f}"


def _commas(cells: Cells) -> str:
    return ",".join(cells)


def _semicolons(cells: Cells) -> str:
    return ";".join(cells)


def _tabs(cells: Cells) -> str:
    return "\t".join(cells)


def _drawn(cells: Cells) -> str:
    return f"| {' | '.join(cells)} |"


def _quoted(cells: Cells) -> str:
    return ",".join(f'"{cell}"' for cell in cells)


# between cells · what is above the columns of steps · above those of names, {w} where a row is whose · of what
FORMS: dict[str, tuple[Callable[[Cells], str], str, tuple[str, ...], tuple[str, ...]]] = {
    "a name": (_commas, "step_{s}", ("name",), ("local_loss", "lr")),
    "a metric": (_commas, "step {s}", ("metric",), ("loss_local", "lr")),
    "a tag": (_tabs, "step{s}", ("tag",), ("train/local_loss",)),
    "bare numbers": (_semicolons, "{s}", ("key",), ("local_loss", "lr")),
    "another word": (_commas, "iter_{s}", ("series",), ("local_loss", "lr")),
    "quoted": (_quoted, "iteration {s}", ("name",), ("local_loss",)),
    "drawn": (_drawn, "step {s}", ("metric",), ("local_loss", "lr")),
    "all in one": (_commas, "step_{s}", ("rank", "name"), ("local_loss", "lr")),
    "the rank behind": (_commas, "step={s}", ("name", "rank"), ("local_loss", "lr")),
    "all in one, drawn": (_drawn, "{s}", ("rank", "figure"), ("local_loss", "lr")),
    "of what the path says": (_tabs, "step_{s}", ("rank",), ("",)),
}


def files_of(form: str) -> dict[str, list[str]]:
    line, above, names, what = FORMS[form]
    files: dict[str, list[str]] = {}
    for rank in range(RANKS):
        file = "run - local_loss.tsv" if what == ("",) else "all.csv" if "rank" in names else f"rank_{rank}.csv"
        if file not in files:
            files[file] = [line([*names, *(above.format(s=step) for step in STEPS)])]
            files[file] += ["|---" * (len(names) + len(STEPS)) + "|"] if line is _drawn else []
        for one in what:
            told = [str(rank) if name == "rank" else one for name in names]
            files[file].append(line([*told, *(figure(rank, step, one) for step in STEPS)]))
    return files


def verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("form", FORMS)
def test_a_column_for_each_step(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, files_of(form))
    assert (found.kind, list(found.ranks)) == ("numerics", [ODD])
    assert found.first_anomaly is not None and found.first_anomaly.step == AT


@pytest.mark.parametrize("above", ["layer_{s}", "fold {s}", "q{s}", "rank {s}"])
def test_columns_of_anything_else_are_no_steps(tmp_path: Path, above: str) -> None:
    lines = {
        f"rank_{rank}.csv": [_commas(["name", *(above.format(s=step) for step in STEPS)])] for rank in range(RANKS)
    }
    for rank in range(RANKS):
        lines[f"rank_{rank}.csv"].append(_commas(["local_loss", *(figure(rank, step, "") for step in STEPS)]))
    assert not verdict(tmp_path, lines).ranks


@pytest.mark.parametrize("first", [0, 1])
def test_as_many_bare_numbers_as_there_may_be_processes_are_no_steps(tmp_path: Path, first: int) -> None:
    numbers = [str(first + at) for at in range(len(STEPS))]
    files = {
        f"rank_{rank}.csv": [_commas(["name", *numbers]), _commas(["local_loss", *(figure(rank, step, "") for step in STEPS)])]
        for rank in range(RANKS)
    }  # fmt: skip
    assert not verdict(tmp_path, files).ranks


@pytest.mark.parametrize("what", ["val_loss", "eval/loss"])
def test_of_an_evaluation_nobody_is_named(tmp_path: Path, what: str) -> None:
    files = {
        f"rank_{rank}.csv": [
            _commas(["name", *(f"step_{step}" for step in STEPS)]),
            _commas([what, *("nan" if rank == ODD else "0.5" for _ in STEPS)]),
            _commas(["lr", *("0.01" for _ in STEPS)]),
        ]
        for rank in range(RANKS)
    }
    assert not verdict(tmp_path, files).ranks


def test_what_all_lose_together_is_nobodys(tmp_path: Path) -> None:
    files = files_of("a name")
    shown = {
        name: [line.replace(figure(rank, AT, ""), "nan") if line[0] == "l" else line for line in lines]
        for rank, (name, lines) in enumerate(files.items())
    }
    assert not verdict(tmp_path, shown).ranks
