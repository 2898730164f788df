"""The situations T01 to T41 through msprobe's own layout, where it can express them: the same answer must come out."""

import inspect
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.model.finding import Finding
from tests import (
    first_anomaly_answers,
    msprobe_layout,
    test_detector_first_anomaly,
    test_detector_first_anomaly_matching,
)
from tests.tensor_rows import Job, case_of

MODULES = (test_detector_first_anomaly, test_detector_first_anomaly_matching)


def situations() -> Iterator[Any]:
    """Every test of a numbered situation, with each of its values."""
    for module in MODULES:
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if not name.startswith("test_t"):
                continue
            values = [()]
            for mark in getattr(test, "pytestmark", []):
                if mark.name == "parametrize":
                    values = [(value,) for value in mark.args[1]]
            yield from (
                pytest.param(module, test, value, id="-".join([name[5:], *map(str, value)])) for value in values
            )


@pytest.mark.parametrize(("module", "test", "values"), [*situations()])
def test_the_answer_is_the_same(
    monkeypatch: pytest.MonkeyPatch, module: Any, test: Callable[..., None], values: tuple[Any, ...]
) -> None:
    told: list[str] = []

    def both(job: Job, expected: Any = (), without: Any = ()) -> Finding:
        found = first_anomaly_answers.answer(job, expected, without)
        try:
            dumped = msprobe_layout.tensors(job, without)
        except msprobe_layout.NotExpressibleError as error:
            told.append(str(error))
            return found
        (other,) = DETECTOR.detect(case_of(dumped, expected))
        assert (other.ranks, other.suspect_ranks, other.domain) == (found.ranks, found.suspect_ranks, found.domain)
        assert other.first_anomaly.step == found.first_anomaly.step
        told.append("")
        return found

    monkeypatch.setattr(module, "answer", both)
    test(*values)
    if "" not in told:
        pytest.skip(f"no words for it: {told[0] if told else 'the test looks at tables'}")


def _bundle(folder: Path, stacks: Collection[int], keep: Mapping[int, float]) -> None:
    """T01 as dumps of two ranks. `stacks`: who has a stack.json; `keep`: of whose dump which share is there."""
    job = Job()
    for rank in range(2):
        for module in ("embed", "fc", "head"):
            job.op(rank, module, "ok", "nan" if rank == 1 and module == "fc" else "ok")
    first_anomaly_answers.spread_over(job, range(2))
    for path, text in msprobe_layout.documents(job).items():
        target = folder / path
        target.parent.mkdir(parents=True)
        rank = int(target.parent.name.removeprefix("rank"))
        target.write_text(text[: int(len(text) * keep.get(rank, 1.0))])
        if rank in stacks:
            name = "Module.fc.Linear.forward.1"
            (target.parent / "stack.json").write_text(json.dumps({name: ['File "train.py", line 3, in step']}))


@pytest.mark.parametrize("stacks", [(), (0,), (1,), (0, 1)], ids=str)
def test_t23_stack_missing_on_a_rank(tmp_path: Path, stacks: tuple[int, ...]) -> None:
    _bundle(tmp_path, stacks, {})
    (incident,) = analyze(tmp_path).incidents
    assert (incident.verdict.ranks, incident.verdict.first_anomaly.module) == ([1], "fc")


@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])
def test_t22_dump_of_an_innocent_rank_is_cut(tmp_path: Path, share: float) -> None:
    """The rest is read, the loss is said, and nobody innocent is named."""
    _bundle(tmp_path, (0, 1), {0: share})
    report = analyze(tmp_path)
    assert report.incidents[0].verdict.ranks == [1]
    assert [lost.file for lost in report.coverage.unreadable] == ["step0/rank0/dump.json"]
