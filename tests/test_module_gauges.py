"""Statistics of modules that a training gives to Prometheus; and gauges that are none."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

RANKS, LAYERS, STEP = 4, 5, 512
_Bad = Callable[[int, int], str]


def of_one(rank: int, layer: int) -> str:
    return "fine" if rank != 1 or layer < 2 else "inf" if layer == 2 else "nan"


def of_all(_: int, layer: int) -> str:
    return of_one(1, layer)


def figures(sort: str) -> tuple[str, int, int]:
    return {"fine": ("31.5", 0, 0), "inf": ("+Inf", 0, 2), "nan": ("NaN", 40, 0)}[sort]


def told(folder: Path, bad: _Bad, *, types: bool, by_metric: bool, label: str, step: bool = True) -> None:
    name = {"module": "h.{}.mlp", "layer": "{}"}[label]
    for rank in range(RANKS):
        lines: dict[str, list[str]] = {"absmax": [], "nan_count": [], "inf_count": []}
        for layer in range(LAYERS):
            for metric, value in zip(lines, figures(bad(rank, layer)), strict=True):
                lines[metric].append(f'act_{metric}{{rank="{rank}",{label}="{name.format(layer)}"}} {value}\n')
        blocks = [(f"# TYPE act_{metric} gauge\n" if types else "") + "".join(own) for metric, own in lines.items()]
        mixed = ["".join(own) for own in zip(*lines.values(), strict=True)]
        head = f'train_step{{rank="{rank}"}} {STEP}\n' if step else ""
        head = ("# TYPE train_step gauge\n" if types and step else "") + head
        (folder / f"worker_{rank}.prom").write_text(head + "".join(blocks if by_metric or types else mixed))


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("by_metric", [True, False])
@pytest.mark.parametrize(("label", "module"), [("module", "h.2.mlp"), ("layer", "layer 2")])
def test_whose_module_gave_an_inf_first_is_named(
    tmp_path: Path, types: bool, by_metric: bool, label: str, module: str
) -> None:
    told(tmp_path, of_one, types=types, by_metric=by_metric, label=label)
    verdict = analyze(tmp_path).verdict
    first = verdict.first_anomaly
    assert (verdict.cause, verdict.ranks, first.step, first.module) == ("overflow", [1], STEP, module)


def test_where_all_have_it_nobody_is_named(tmp_path: Path) -> None:
    told(tmp_path, of_all, types=True, by_metric=True, label="module")
    assert analyze(tmp_path).verdict.ranks == []


def test_without_a_step_and_of_anything_else_there_is_no_row(tmp_path: Path) -> None:
    told(tmp_path, of_one, types=True, by_metric=True, label="module", step=False)
    (tmp_path / "node.prom").write_text(
        '# TYPE queue_max gauge\nqueue_max{layer="3",rank="0"} 7\n# TYPE train_step gauge\ntrain_step{rank="0"} 4\n'
    )
    tables = read(str(tmp_path)).tables
    assert tables["tensors"].is_empty()
    assert "queue_max" in str(tables["devices"]["metric"].to_list())
