"""Short real trainings under the launchers and frameworks that people use, each with a known fault: one table.

    make launcher-matrix                   all, in an environment of its own with PyTorch and the frameworks
    make launcher-matrix CASES=torchrun    those whose name has this in it

What was recorded lies in `.bench/launcher_matrix/FORM__FAULT/{bundle,truth.json}`; who judges reads the truth last. A
run whose flight records were taken is judged twice: with them, and by its logs alone.
"""

import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from forensics import analyze

HERE = Path(__file__).parent
WORKLOAD = HERE / "launcher_workload.py"
PYTHON = sys.executable
FIRST_PORT, WORLD, LIMIT_S = 29700, 4, 240.0
RECORDS_AFTER_S = 5.0  # somebody looks at a job that stands still before it times out
STANDS_STILL = {"stopped", "mismatch", "data_stall"}
BY_HAND = f"""for RANK in 0 1 2 3; do
  export RANK
  {PYTHON} {WORKLOAD} $@ > $LOGS/rank_$RANK.log 2>&1 &
  pids="$pids $!"
done
for pid in $pids; do wait $pid || echo "pid $pid ended with $?"; done
"""
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node=4", "--monitor-interval=0.5"]
RESTARTING = ["--tee=3", "--max-restarts=1", "--rdzv-backend=c10d", "--rdzv-id=train"]
ACCELERATE = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes=4", "--num_machines=1"]
DEEPSPEED = ["-m", "deepspeed.launcher.launch", "--node_rank=0", "--master_addr=127.0.0.1"]
ONE_NODE = "eyJsb2NhbGhvc3QiOiBbMCwgMSwgMiwgM119"  # {"localhost": [0, 1, 2, 3]}, as DeepSpeed's launcher passes it on
NEEDS = {"accelerate": "accelerate", "fabric": "lightning", "lightning": "lightning", "hf": "transformers"}
NEEDS |= {"deepspeed": "deepspeed", "ray": "ray"}
OWN_LOOP = {"torchrun", "env", "accelerate", "fabric"}  # every rank says how long its steps take, and who it is
FORMS = ("torchrun", "restart", "spawn", "env", *NEEDS)

TRUTHS: Mapping[str, dict[str, Any]] = {
    "healthy": {"kinds": ["healthy"], "ranks": []},
    "warnings": {"kinds": ["healthy"], "ranks": []},
    "retry": {"kinds": ["healthy"], "ranks": []},
    "killed": {"kinds": ["crash"], "causes": ["killed"], "ranks": [2]},
    "stopped": {"kinds": ["hang"], "ranks": [2], "suspects_do": True},
    "exception": {"kinds": ["crash"], "causes": ["exception"], "ranks": [1]},
    "memory": {"kinds": ["crash"], "causes": ["host_oom", "exception"], "ranks": [1]},
    "mismatch": {"kinds": ["hang", "crash"], "causes": ["collective_mismatch"], "ranks": [3], "suspects_do": True},
    "data_stall": {"kinds": ["hang"], "causes": ["rank_absent"], "ranks": [2]},
    "slow": {"kinds": ["slow"], "ranks": [2]},
}


def command_of(form: str, fault: str, logs: Path, port: int) -> list[str]:
    script = [str(WORKLOAD), form, fault]
    port_is = f"--master-port={port}"
    commands = {
        "torchrun": [PYTHON, *TORCHRUN, port_is, f"--log-dir={logs}", "--redirects=3", *script],
        "restart": [PYTHON, *TORCHRUN, *RESTARTING, f"--rdzv-endpoint=127.0.0.1:{port}", f"--log-dir={logs}", *script],
        "hf": [PYTHON, *TORCHRUN, port_is, *script],
        "env": ["bash", "-c", BY_HAND, "run", form, fault],
        "accelerate": [PYTHON, *ACCELERATE, f"--main_process_port={port}", *script],
        "deepspeed": [PYTHON, *DEEPSPEED, f"--world_info={ONE_NODE}", f"--master_port={port}", *script],
    }
    return commands.get(form, [PYTHON, *script])


def record(form: str, fault: str, case: Path, port: int) -> None:
    """One run: the launcher's own log, the ranks' logs where it keeps them, flight records where they are taken."""
    shutil.rmtree(case, ignore_errors=True)
    logs = case / "bundle" / "logs"
    logs.mkdir(parents=True)
    settings = {
        "JOB_WORK": str(case.resolve()), "LOGS": str(logs), "TORCH_FR_BUFFER_SIZE": "2000", "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1", "DS_ACCELERATOR": "cpu", "RAY_DEDUP_LOGS": "0",
        "PYTHONPATH": str(HERE), "HF_HUB_OFFLINE": "1", "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled",
    }  # fmt: skip
    if form in ("spawn", "env", "fabric", "lightning"):
        settings |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(WORLD)}
    with (case / "bundle" / "launcher.log").open("wb") as log:
        job = subprocess.Popen(
            command_of(form, fault, logs, port), env=os.environ | settings, stdout=log, stderr=log,
            cwd=case, start_new_session=True,
        )  # fmt: skip
        try:
            accompany(job, fault, case)
        finally:
            end(job, case)
    (case / "truth.json").write_text(json.dumps(truth_of(form, fault)))


def truth_of(form: str, fault: str) -> dict[str, Any]:
    """Ray does not say by which signal a worker went."""
    truth = dict(TRUTHS[fault])
    if form == "ray" and fault in ("killed", "mismatch"):
        truth["causes"] = [*truth["causes"], None]
    return truth | ({"after_restart": True} if form == "restart" else {})


def accompany(job: subprocess.Popen[bytes], fault: str, case: Path) -> None:
    """Sends the signal that a rank asks for; takes flight records of a job that stands still; returns at its end."""
    began, size, since = time.monotonic(), 0, time.monotonic()
    while job.poll() is None and time.monotonic() - began < LIMIT_S:
        time.sleep(0.2)
        asked = case / "signal.request"
        if asked.exists():
            pid, name = asked.read_text().split()
            asked.unlink()
            os.kill(int(pid), signal.Signals[name])
        now = sum(path.stat().st_size for path in (case / "bundle").rglob("*.log"))
        if now != size or not (case / "stepping").exists():  # starting up is quiet, too
            size, since = now, time.monotonic()
        elif fault in STANDS_STILL and time.monotonic() - since > RECORDS_AFTER_S:
            (case / "dump.request").touch()


def end(job: subprocess.Popen[bytes], case: Path) -> None:
    """The launcher, if it still runs, then whoever is left of this run's own processes."""
    own = [int(path.read_text()) for path in case.glob("pid_*")]
    if job.poll() is None:
        for pid in filter(is_of_workload, own):
            os.kill(pid, signal.SIGCONT)
        os.killpg(job.pid, signal.SIGTERM)
        try:
            job.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    for pid in filter(is_of_workload, own):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_of_workload(pid: int) -> bool:
    """Whether a process of this number is still one that a run began; its number may be another's by now."""
    try:
        return WORKLOAD.name in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def judge(case: Path, *, records: bool) -> tuple[str, str]:
    """(outcome, what was answered) for one recording."""
    bundle = case / "bundle"
    if not records:
        bundle = Path(shutil.copytree(bundle, case / "logs_alone", dirs_exist_ok=True))
        shutil.rmtree(bundle / "fr")
    report = analyze(bundle)
    verdict = report.incidents[report.primary].verdict
    answer = f"{verdict.kind}/{verdict.cause} {verdict.status} ranks {list(verdict.ranks)}"
    answer += f" suspects {list(verdict.suspects.ranks)} {' '.join(verdict.undecided)}"
    return outcome(json.loads((case / "truth.json").read_text()), report.incidents, report.primary, records), answer


def outcome(truth: Mapping[str, Any], incidents: list[Any], primary: int, records: bool) -> str:
    verdict, culprits = incidents[primary].verdict, set(truth["ranks"])
    if truth.get("after_restart") and verdict.kind == "healthy":
        verdict = next((one.verdict for one in incidents if one.verdict.kind != "healthy"), verdict)
    named, suspects = set(verdict.ranks), {*verdict.suspects.ranks, *verdict.cycle}
    if "healthy" in truth["kinds"]:
        return "right" if verdict.kind == "healthy" else f"healthy {'accused' if named | suspects else 'not proved'}"
    if named - culprits:
        return "INNOCENT NAMED"
    if verdict.kind == "healthy":
        return "CALLED HEALTHY"
    if named != culprits:
        fits = culprits <= suspects and len(suspects) < WORLD
        enough = truth.get("suspects_do") or not records or "no_time_witness" in verdict.undecided
        return "right" if fits and enough else "undecided"
    right = verdict.kind in truth["kinds"] and verdict.cause in truth.get("causes", [verdict.cause])
    return "right" if right else "rank right, cause differs"


def cases_of(wanted: str) -> list[tuple[str, str]]:
    """Forms whose package is there, with the faults that show in them."""
    there = [form for form in FORMS if form not in NEEDS or importlib.util.find_spec(NEEDS[form])]
    pairs = [(form, fault) for form in there for fault in TRUTHS if fault != "slow" or form in OWN_LOOP]
    return [(form, fault) for form, fault in pairs if wanted in f"{form}__{fault}"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--cases", default="", help="only those whose name has this in it")
    arguments.add_argument("--judge-only", action="store_true", help="recordings that are there already")
    arguments.add_argument("--jobs", type=int, default=2, help="trainings at the same time")
    given = arguments.parse_args()
    if not given.judge_only:
        with ThreadPoolExecutor(given.jobs) as pool:
            for number, (form, fault) in enumerate(cases_of(given.cases)):
                pool.submit(record, form, fault, given.folder / f"{form}__{fault}", FIRST_PORT + number)
    counted: Counter[str] = Counter()
    for case in sorted(path.parent for path in given.folder.glob("*/truth.json") if given.cases in path.parent.name):
        for records in [True, False] if (case / "bundle" / "fr").is_dir() else [True]:
            result, answer = judge(case, records=records)
            counted[result] += 1
            print(f"{case.name + ('' if records else ', logs alone'):34} {result:26} {answer}", flush=True)
    print("\n" + "\n".join(f"{count:4} {result}" for result, count in counted.most_common()))


if __name__ == "__main__":
    main()
