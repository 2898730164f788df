"""Panels of a dashboard: whose loss was no number at moments of which no step is told."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

COUNT, ODD, FROM, ROWS = 4, 1, 30, 44


def _cell(series: int, row: int, spread: int) -> str:
    is_lost = row >= FROM + spread or (row >= FROM and series == ODD)
    return "NaN" if is_lost else f"{3 - 0.02 * row + 0.013 * ((5 * series + row) % 7):.4f}"


def _panel(heads: Sequence[str], spread: int, mark: str = ",") -> list[str]:
    rows = [
        [f"2026-01-05 10:{row // 6:02}:{row % 6 * 10:02}", *(_cell(at, row, spread) for at in range(len(heads)))]
        for row in range(ROWS)
    ]
    return [mark.join(row) for row in (['"Time"', *(f'"{head}"' for head in heads)], *rows)]


def _verdict(files: dict[str, list[str]], folder: Path) -> Verdict:
    return analyze(written(folder, files)).incidents[0].verdict


@pytest.mark.parametrize(
    ("name", "head", "mark"),
    [
        ("Panel-data-2026-01-05.csv", 'own_loss{{rank=""{0}"", run=""a""}}', ","),
        ("Train loss-data-2026-01-05.csv", '{{instance=""10.0.0.{0}:9100"", rank=""{0}""}}', ","),
        ("local loss per rank.csv", "rank {0}", ";"),
    ],
)
def test_who_was_no_number_before_the_others(name: str, head: str, mark: str, tmp_path: Path) -> None:
    told = _verdict({name: _panel([head.format(at) for at in range(COUNT)], 4, mark)}, tmp_path)
    assert (told.kind, told.ranks, told.first_anomaly.step) == ("numerics", [ODD], None)


@pytest.mark.parametrize(
    "files",
    [
        {"Loss-data-1.csv": _panel(['avg by (run) (train_loss{run=""a""})'], 0)},
        {"Loss-data-1.csv": _panel([f'own_loss{{rank=""{at}""}}' for at in range(COUNT)], 0)},  # all at once
    ],
)
def test_what_all_lost_accuses_nobody(files: dict[str, list[str]], tmp_path: Path) -> None:
    told = _verdict(files, tmp_path)
    assert (told.kind, told.cause, told.ranks) == ("numerics", "nan_birth", [])


@pytest.mark.parametrize("metric", ["val_loss", "queue_depth"])
def test_of_no_training(metric: str, tmp_path: Path) -> None:
    told = _verdict({"panel.csv": _panel([f'{metric}{{rank=""{at}""}}' for at in range(COUNT)], 4)}, tmp_path)
    assert (told.kind, told.ranks) == ("unknown", [])


def _answer(metric: str, cells: Sequence[Sequence[str]]) -> list[str]:
    series = [
        {"metric": {"__name__": metric, "rank": str(at)}, "values": [[1790000000 + 2 * row, cell] for row, cell in enumerate(own)]}
        for at, own in enumerate(cells)
    ]  # fmt: skip
    return [json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})]


def test_a_count_of_bad_losses_is_no_loss(tmp_path: Path) -> None:
    again = {row for row in range(FROM, ROWS) if row % 3}
    losses = [["NaN" if row in again and at == ODD else _cell(at + 9, row, 99) for row in range(ROWS)] for at in range(COUNT)]  # fmt: skip
    told = [[str(len([one for one in again if one <= row]) if at == ODD else 0) for row in range(ROWS)] for at in range(COUNT)]  # fmt: skip
    files = {"a.json": _answer("train_loss_local", losses), "b.json": _answer("train_nonfinite_loss_total", told)}
    files["c.json"] = _answer("train_step", [[str(3 * row) for row in range(ROWS)]] * COUNT)
    verdict = _verdict(files, tmp_path)
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [ODD], None)
