"""Recorded incidents with a truth written by hand: the verdict must agree, also when files are missing or broken.

`samples/NAME/truth.json` tells what happened (its form: samples/README.md). `samples/NAME/expected.json`, where
present, is the whole document as last approved; only `pytest --update-golden` writes it (an empty file starts one).
"""

import fnmatch
import json
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from forensics.model.said import encoded
from forensics.report import Report
from tests.advice import against_the_evidence
from tests.analysed import NAMES, SAMPLES
from tests.analysed import sample as untouched


def truth_of(name: str) -> dict[str, Any]:
    return json.loads((SAMPLES / name / "truth.json").read_text())


STEP, FIGURE = re.compile(r"step[ =]\d+(?: \w+=\S+)*"), re.compile(r" \w+=(\S+)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
WITH_OWN_FILES = [name for name in NAMES if "own_files" in truth_of(name)]
WITH_DUMPS = [name for name in NAMES if (SAMPLES / name / "bundle" / "fr").is_dir()]


def verdict_of(report: Report) -> Verdict:
    return report.incidents[report.primary].verdict


@pytest.fixture
def copy_of(tmp_path: Path) -> Callable[[str], Path]:
    """Copies a sample's bundle to where a test may break it."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(SAMPLES / name / "bundle", tmp_path / "bundle"))

    return copy


def essence(verdict: Verdict) -> tuple[object, ...]:
    """What the verdict says, without its wording and its places in files."""
    return verdict.kind, verdict.cause, verdict.ranks, verdict.suspects, verdict.cycle, verdict.site


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_advised_against_the_evidence(name: str) -> None:
    assert against_the_evidence(untouched(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_verdict_agrees_with_the_truth(name: str) -> None:
    truth, verdict = truth_of(name), verdict_of(untouched(name))
    assert verdict.kind in truth["kinds"]
    assert verdict.cause in truth["causes"]
    assert verdict.ranks in truth.get("ranks_any", [truth.get("ranks")])
    if "cycle" in truth:
        assert verdict.cycle == truth["cycle"]
    if "sites" in truth:
        assert verdict.site in truth["sites"]


@pytest.mark.parametrize(
    ("name", "place"),
    [(name, place) for name in NAMES for place in ("step", "microbatch", "module") if place in truth_of(name)],
)
def test_the_first_anomaly_lies_where_the_truth_says(name: str, place: str) -> None:
    assert getattr(verdict_of(untouched(name)).first_anomaly, place) == truth_of(name)[place]


@pytest.mark.parametrize("name", NAMES)
def test_every_quoted_line_stands_where_the_evidence_says(name: str) -> None:
    """A reference to a line of a log must quote that line, whole or in part; a page that misquotes is worth nothing. Of a
    training step it names the figures, and each of them stands in the line."""
    report = untouched(name)
    for ref in [ref for evidence in report.incidents[report.primary].evidence for ref in evidence.refs]:
        path = SAMPLES / name / "bundle" / ref.file
        assert path.is_file(), ref
        if ref.line is not None and path.suffix == ".log":
            line = COLOURS.sub("", path.read_bytes().decode(errors="replace").split("\n")[ref.line - 1])
            if STEP.fullmatch(ref.text):
                assert {repr(float(value)) for value in FIGURE.findall(ref.text)} <= numbers(line), ref
            else:
                assert ref.text.strip().rstrip("…") in line, ref


def numbers(line: str) -> set[str]:
    """All that are printed in it, NaN too, each as Python writes it."""
    return {repr(float(found)) for found in re.findall(r"nan|inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?", line)}


@pytest.mark.parametrize("name", [name for name in NAMES if (SAMPLES / name / "expected.json").exists()])
def test_the_whole_document_is_as_approved(name: str, update_golden: bool) -> None:
    golden = SAMPLES / name / "expected.json"
    today = (
        msgspec.json.format(msgspec.json.encode(untouched(name), enc_hook=encoded, order="deterministic"), indent=1)
        + b"\n"
    )
    if update_golden:
        golden.write_bytes(today)
    assert today.decode() == golden.read_text()


@pytest.mark.parametrize("name", WITH_OWN_FILES)
def test_without_the_culprits_files_nobody_innocent_is_named(name: str, copy_of: Callable[[str], Path]) -> None:
    """The others' records may still tell who it was; they must not make it somebody else."""
    truth, bundle = truth_of(name), copy_of(name)
    removed = 0
    for path in [path for path in bundle.rglob("*") if path.is_file()]:
        if any(fnmatch.fnmatch(str(path.relative_to(bundle)), pattern) for pattern in truth["own_files"]):
            path.unlink()
            removed += 1
    assert removed
    verdict = verdict_of(analyze(bundle, expected_ranks=len(world_of(name))))
    assert set(verdict.ranks) <= set(truth["ranks"]), "an innocent rank is named"
    assert verdict.kind != "healthy"


def world_of(name: str) -> set[int]:
    """Ranks with a log: torchrun's folders, or one file each."""
    folders = [path.name for path in SAMPLES.glob(f"{name}/bundle/logs/*/attempt_0/*")]
    files = [path.stem.removeprefix("rank_") for path in SAMPLES.glob(f"{name}/bundle/logs/rank_*.log")]
    return {int(number) for number in folders + files}


class Hostile:
    """A pickle that makes a file when it is loaded by a reader that trusts it."""

    def __init__(self, bundle: Path) -> None:
        self.mark = bundle.parent / "executed"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (self.mark,)


def test_the_hostile_pickle_would_work(tmp_path: Path) -> None:
    """Else the next test proves nothing."""
    pickle.loads(pickle.dumps(Hostile(tmp_path / "bundle"), protocol=2))
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", WITH_DUMPS)
def test_broken_files_among_good_dumps_are_listed_and_change_nothing(name: str, copy_of: Callable[[str], Path]) -> None:
    """One of no bytes, and one that would do something if it were loaded."""
    bundle = copy_of(name)
    broken = {"99999": b"", "99998": pickle.dumps(Hostile(bundle), protocol=2)}
    for rank, data in broken.items():
        (bundle / "fr" / f"comm_lib_trace_rank_{rank}").write_bytes(data)
    report = analyze(bundle)
    assert not (bundle.parent / "executed").exists()
    listed = {row.file for row in report.coverage.unreadable}
    assert {f"fr/comm_lib_trace_rank_{rank}" for rank in broken} <= listed
    assert essence(verdict_of(report)) == essence(verdict_of(untouched(name)))


@pytest.mark.parametrize("name", ["data_loader_stall", "two_in_checkpoint"])
def test_a_cut_dump_of_a_waiting_rank_is_listed_and_changes_nothing(name: str, copy_of: Callable[[str], Path]) -> None:
    bundle = copy_of(name)
    path = bundle / "fr" / "comm_lib_trace_rank_0"
    path.write_bytes(path.read_bytes()[:-40])
    report = analyze(bundle)
    assert str(path.relative_to(bundle)) in {row.file for row in report.coverage.unreadable}
    assert essence(verdict_of(report)) == essence(verdict_of(untouched(name)))
