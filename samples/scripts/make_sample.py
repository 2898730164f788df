"""Makes one sample bundle: python make_sample.py CASE OUT [--work /srv/train]

Starts workload.py under torchrun with the fault of CASE, waits until it ends or stops making progress, then takes what
an on-call person would take: Flight Recorder dumps, `py-spy dump` (text and JSON) and faulthandler stacks of all ranks,
and the launcher's logs. OUT must not exist yet; it becomes the bundle. Needs Linux, PyTorch and py-spy.

Logs and dumps quote the paths of the job, so the work folder and the virtual environment that runs this should lie
where the world may know it: a link /srv/train/venv to the environment is enough. The path of the Python underneath is
replaced by /opt/python in text files, and a bundle that still quotes it, the home folder or this checkout is refused.
"""

import argparse
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
RANKS = {"wrong_collective": 4, "order_inversion": 4, "rank_killed": 6, "segfault": 4, "extra_collective": 6}
RANKS |= {"nan_birth": 3, "nan_weight": 4, "healthy_tensors": 2, "missing_at_start": 4, "barrier_absent": 6}
STALLS = {"data_stall", "wrong_collective", "extra_collective", "order_inversion", "two_absent", "barrier_absent"}
STALLS |= {"missing_at_start", "pipeline_stall"}  # the others end before anybody could collect stacks
QUIET_S = 6.0  # without a new line of any rank for so long, the job counts as stalled
LIMIT_S = 150.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Make one sample bundle.")
    parser.add_argument("case")
    parser.add_argument("out", type=Path)
    parser.add_argument("--work", type=Path, default=Path("/srv/train"))
    options = parser.parse_args()
    work = options.work / options.case
    prepare(work)
    with (work / "compile.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        status = run(options.case, work)
    for empty in (path for path in (work / "bundle").rglob("*") if path.is_file() and not path.stat().st_size):
        empty.unlink()
    for folder in sorted((path for path in (work / "bundle").rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()
    replace_python_path(work / "bundle")
    refuse_private_paths(work / "bundle", (f"{Path.home()}/", f"{HERE.parents[1]}/", sys.base_prefix))
    shutil.copytree(work / "bundle", options.out)
    shutil.rmtree(work)
    print(f"{options.case}: torchrun ended with {status}; the bundle is {options.out}")


def prepare(work: Path) -> None:
    """A fresh work folder with the scripts and the FIFOs on which some faults block."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "bundle" / "stacks").mkdir(parents=True)
    for script in ("workload.py", "recording.py"):
        shutil.copy(HERE / script, work)
    os.mkfifo(work / "shard-00017.bin")
    os.mkfifo(work / "checkpoint.pt")


def run(case: str, work: Path) -> int:
    logs = work / "bundle" / "logs"
    command = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={RANKS.get(case, 8)}"]
    command += ["--max-restarts=0", "--monitor-interval=0.5", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0"]
    command += [f"--rdzv-id={case}", f"--log-dir={logs}", "--redirects=3", str(work / "workload.py"), case]
    settings = {"TORCH_FR_BUFFER_SIZE": "2000", "OMP_NUM_THREADS": "1"}
    settings |= {"JOB_WORK": str(work), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with (work / "bundle" / "agent.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=work, env=os.environ | settings, stdout=log, stderr=log, start_new_session=True
        )
        try:
            wait(case, process, work)
            return process.wait(LIMIT_S)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait(case: str, process: subprocess.Popen[bytes], work: Path) -> None:
    """Returns when the job ended, or when it stalled and all was collected."""
    size, since, began = 0, time.monotonic(), time.monotonic()
    while process.poll() is None and time.monotonic() - began < LIMIT_S:
        time.sleep(0.5)
        now = sum(path.stat().st_size for path in (work / "bundle" / "logs").rglob("*.log"))
        started = started_ranks(work)
        if now != size or len(started) < RANKS.get(case, 8) or not (case == "missing_at_start" or has_stepped(work)):
            size, since = now, time.monotonic()
        elif case in STALLS and time.monotonic() - since > QUIET_S:
            collect(work, started)
            return


def has_stepped(work: Path) -> bool:
    """Starting up is quiet too."""
    return any(" step 0 " in path.read_text() for path in (work / "bundle" / "logs").rglob("stdout.log"))


def started_ranks(work: Path) -> dict[int, int]:
    """rank → pid, from the first line that each rank prints."""
    found = {}
    for path in (work / "bundle" / "logs").rglob("stdout.log"):
        words = path.read_text().split(" pid=")
        if len(words) > 1:
            found[int(path.parent.name)] = int(words[1].split()[0])
    return found


def collect(work: Path, ranks: dict[int, int]) -> None:
    stacks = work / "bundle" / "stacks"
    for rank, pid in sorted(ranks.items()):
        for name, flags in ((f"pyspy_rank_{rank}.txt", []), (f"pyspy_rank_{rank}.json", ["--json"])):
            with (stacks / name).open("wb") as file:
                subprocess.run(["py-spy", "dump", "--pid", str(pid), *flags], stdout=file, check=False)
    (work / "dump.request").touch()
    for pid in ranks.values():
        os.kill(pid, signal.SIGUSR1)
    time.sleep(2)


def replace_python_path(bundle: Path) -> None:
    """The Python underneath becomes /opt/python; the environment keeps the name it was called by, not its real path."""
    for path in (path for path in bundle.rglob("*") if path.suffix in (".log", ".txt", ".json")):
        text = path.read_bytes().replace(sys.base_prefix.encode(), b"/opt/python")
        path.write_bytes(text.replace(os.path.realpath(sys.prefix).encode(), sys.prefix.encode()))


def refuse_private_paths(bundle: Path, private: tuple[str, ...]) -> None:
    for path in (path for path in bundle.rglob("*") if path.is_file()):
        for text in private:
            if text.encode() in path.read_bytes():
                raise SystemExit(f"{path} quotes {text}: run this with a Python and a work folder elsewhere")


if __name__ == "__main__":
    main()
