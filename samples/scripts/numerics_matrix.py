"""Real trainings with known faults, recorded by `forensics.probe`, judged by the analyzer: one table.

    make numerics-matrix             all cases, in an environment of its own with PyTorch
    make numerics-matrix CASES=ddp   those whose name has this in it

The recordings lie in `.bench/numerics_matrix/FORM__FAULT/{bundle,truth.json}`; who judges reads the truth last. With
`--small` they have two layers, the fault's step and the one before, and statistics packed by xz: some became samples.
"""

import argparse
import json
import lzma
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from forensics import analyze

HERE = Path(__file__).parent
WORLD = 4


def record(folder: Path, wanted: str, small: bool) -> None:
    """Runs the workload, one process per rank."""
    shared = {
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]),
        "WORLD_SIZE": str(WORLD), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29671", "OMP_NUM_THREADS": "1",
        "NUMERICS_SMALL": "1" if small else "0",
    }  # fmt: skip
    command = [sys.executable, str(HERE / "numerics_workload.py"), str(folder), wanted]
    started = [
        subprocess.Popen(command, env={**os.environ, **shared, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True)
        for rank in range(WORLD)
    ]
    errors = [process.communicate()[1] for process in started]
    if any(process.returncode for process in started):
        sys.exit("the workload failed:\n" + "\n".join(error[-2000:] for error in errors))
    for file in list(folder.glob("*/bundle/tensor_stats/*.jsonl")) if small else ():
        Path(f"{file}.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
        file.unlink()


def without(truth: dict[str, Any], bundle: Path, how: str) -> None:
    """Takes away what the culprits recorded: the whole file, or its second half."""
    for rank in truth["ranks"]:
        for file in sorted((bundle / "tensor_stats").glob(f"rank_{rank}.*")):
            data = file.read_bytes()
            file.unlink()
            if how == "cut":
                file.write_bytes(data[: len(data) // 2])


def judge(case: Path, how: str = "whole") -> tuple[str, str]:
    """(outcome, what was answered) for one recording; `how`: whole, or with the culprits' records lost or cut."""
    truth = json.loads((case / "truth.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(shutil.copytree(case / "bundle", Path(folder) / "bundle"))
        if how != "whole":
            without(truth, bundle, how)
        report = analyze(bundle)
    incident = report.incidents[report.primary]
    verdict = incident.verdict
    first = verdict.first_anomaly
    answer = f"{verdict.kind}/{verdict.cause} ranks {list(verdict.ranks)} suspects {list(verdict.suspects.ranks)}"
    answer += f" step {first.step} {first.module} {first.phase}" if first else ""
    return outcome(truth, verdict, how), answer


def outcome(truth: dict[str, Any], verdict: Any, how: str = "whole") -> str:
    """One word or two; the truth is read after the verdict is there."""
    named, suspects, culprits = set(verdict.ranks), set(verdict.suspects.ranks), set(truth["ranks"])
    if "healthy" in truth["kinds"]:
        return "healthy" if verdict.kind in truth["kinds"] and not named | suspects else "healthy accused"
    if named - culprits:
        return "innocent named"
    if how != "whole" and verdict.domain == "workload" and len(culprits) == 1:
        return "blamed on the workload"
    if verdict.kind not in truth["kinds"]:
        return "missed"
    if named != culprits:
        return "undecided, right suspects" if culprits <= suspects else "undecided, wrong suspects"
    first = verdict.first_anomaly
    module = first.module is not None and first.module.removesuffix(".weight").removesuffix(".bias") == truth["module"]
    right = verdict.cause in truth["causes"] and first.step == truth["step"] and module
    return "exact" if right else "rank right, detail differs"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--cases", default="", help="only those whose name has this in it")
    arguments.add_argument("--judge-only", action="store_true", help="recordings that are there already")
    arguments.add_argument("--small", action="store_true", help="as samples have it")
    given = arguments.parse_args()
    if not given.judge_only:
        for earlier in [path for path in given.folder.glob("*") if given.cases in path.name]:
            shutil.rmtree(earlier)
        record(given.folder, given.cases, given.small)
    counted: Counter[tuple[str, str]] = Counter()
    for case in sorted(path.parent for path in given.folder.glob("*/truth.json") if given.cases in path.parent.name):
        is_healthy = case.name.endswith("healthy")
        for how in ("whole",) if is_healthy else ("whole", "lost", "cut"):
            result, answer = judge(case, how)
            counted[how, result] += 1
            print(f"{case.name:28} {how:6} {result:26} {answer}", flush=True)
    print("\n" + "\n".join(f"{count:4} {how:6} {result}" for (how, result), count in sorted(counted.items())))


if __name__ == "__main__":
    main()
