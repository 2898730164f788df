"""`forensics setup --gather`, run: what it takes along, what it leaves alone, and whether the archive decides."""

import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.setup.rows import gather_script

ROOT = Path(__file__).resolve().parent.parent
SECRET = "hf_" + "q" * 30
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")

# A sampler that says of each process what its environment asks it to say.
_SPY = """#!/bin/bash
pid=${!#}
say() {
  echo "Process $1: python train.py"
  echo "Python v3.11.7 (/usr/bin/python3.11)"
  [ -z "$3" ] || echo "Parent Process $3: python train.py"
  echo
  echo "Thread $1 (idle): \\"MainThread\\""
  case $2 in
    waits) printf '    all_reduce (torch/distributed/distributed_c10d.py:2501)\\n    <module> (train.py:12)\\n' ;;
    loads) printf '    fetch (torch/utils/data/dataloader.py:1291)\\n    <module> (train.py:9)\\n' ;;
  esac
}
say "$pid" "$(tr '\\0' '\\n' <"/proc/$pid/environ" | sed -n 's/^DOES=//p')" ""
for child in $(ps -o pid= --ppid "$pid"); do
  if [[ " $* " == *" --subprocesses "* ]]; then say "$child" loads "$pid"; fi
done
"""


@contextmanager
def job(place: Path, ranks: int, stuck: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of a job, each with its log, and one of them with a helper as a data loader has."""
    code = (
        "import os, sys, time\n"
        "if os.environ['RANK'] == '0' and not os.fork():\n    time.sleep(600)\n"
        "print('rank', os.environ['RANK'], 'step 7 loss 0.5', flush=True)\n"
        "time.sleep(600)\n"
    )
    started = []
    for rank in range(ranks):
        environment = {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "HF_TOKEN": SECRET,
            "WANDB_API_KEY": "0123456789abcdef0123", "PATH": os.environ["PATH"],
            "TORCH_FR_DUMP_TEMP_FILE": str(place / "fr" / "nccl_trace_rank_"), "DOES": "loads" if rank == stuck else "waits",
        }  # fmt: skip
        with (place / f"rank_{rank}.log").open("wb") as log:
            arguments = [sys.executable, "-c", code, f"--token={SECRET}"]
            started.append(subprocess.Popen(arguments, env=environment, stdout=log, stderr=log, start_new_session=True))
    try:
        _until(lambda: all((place / f"rank_{rank}.log").stat().st_size for rank in range(ranks)))
        yield started
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _until(happened: "object") -> None:
    ends = time.monotonic() + 60
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < ends
        time.sleep(0.05)


def gather(place: Path, *options: str, path: str = os.environ["PATH"]) -> Path:
    """Runs the script, and gives the folder that was in its archive."""
    (place / "gather.sh").write_text(gather_script())
    command = ["sh", "gather.sh", "-o", "out", "-w", "1", *options]
    done = subprocess.run(command, cwd=place, env={"PATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    with tarfile.open(place / done.stdout.strip()) as archive:
        archive.extractall(place / "opened", filter="data")
    return place / "opened"


def tools(place: Path, **scripts: str) -> str:
    """PATH with these programs before all others."""
    folder = place / "tools"
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name.replace("_", "-")).write_text(text)
        (folder / name.replace("_", "-")).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def pids(started: list[subprocess.Popen[bytes]]) -> list[str]:
    return [option for process in started for option in ("-p", str(process.pid))]


def test_two_looks_at_a_hung_job_name_the_rank_and_its_host_and_every_process_goes_on(tmp_path: Path) -> None:
    path = tools(tmp_path, py_spy=_SPY)
    (tmp_path / "fr").mkdir()
    (tmp_path / "fr" / "nccl_trace_rank_3").write_bytes(b"\x80\x04\x00not a dump\x00")
    with job(tmp_path, ranks=6, stuck=3) as started:
        opened = gather(tmp_path, *pids(started), path=path)
        assert [process.poll() for process in started] == [None] * 6
        assert all(_state(process.pid) == "S" for process in started)
    (here,) = opened.glob("*/hosts/*")
    for look in ("look_1", "look_2"):
        assert len(list((here / look / "stacks").glob("rank*_pid*.py-spy.txt"))) == 6
        assert (here / look / "ps.txt").stat().st_size > 0
    assert (here / "files" / str(tmp_path)[1:] / "rank_2.log").read_text() == "rank 2 step 7 loss 0.5\n"
    assert (here / "files" / str(tmp_path)[1:] / "fr" / "nccl_trace_rank_3").read_bytes().endswith(b"not a dump\x00")
    report = analyze(opened, hung=True)
    assert report.verdict.ranks == [3] and report.verdict.cause == "rank_absent"
    assert [one.host for one in report.verdict.places] == [here.name]
    assert report.coverage.ranks_seen == ["0-5"]  # the helper of rank 0 is none


def test_another_job_on_the_node_is_not_taken_for_this_one(tmp_path: Path) -> None:
    code = ["-c", "import time; time.sleep(600)", "train.py", "--world-size", "4", "--api-endpoint", "elsewhere"]
    others = [subprocess.Popen([sys.executable, *code, "--rank", str(rank)]) for rank in range(4)]
    try:
        with job(tmp_path, ranks=6, stuck=3) as started:
            opened = gather(tmp_path, *pids(started), path=tools(tmp_path, py_spy=_SPY))
            report = analyze(opened, hung=True)
            assert report.verdict.ranks == [3] and report.verdict.places[0].pid == started[3].pid
    finally:
        for process in others:
            process.kill()
            process.wait()
    assert not any("elsewhere" in path.read_text(errors="replace") for path in opened.rglob("*.txt"))


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def test_no_secret_leaves_the_node(tmp_path: Path) -> None:
    with job(tmp_path, ranks=2, stuck=1) as started:
        opened = gather(tmp_path, *pids(started), path=tools(tmp_path, py_spy=_SPY))
    texts = {path: path.read_text(errors="replace") for path in opened.rglob("*") if path.is_file()}
    assert [path for path, text in texts.items() if SECRET in text or "0123456789abcdef0123" in text] == []
    environment = next(text for path, text in texts.items() if re.fullmatch(r"rank0_pid\d+\.env", path.name))
    assert "HF_TOKEN=[masked]" in environment and "WORLD_SIZE=2" in environment


def test_a_step_that_hangs_is_left_behind(tmp_path: Path) -> None:
    stuck = "#!/bin/sh\ntrap '' TERM\necho half\nsleep 600\n"
    path = tools(tmp_path, py_spy=_SPY, nvidia_smi=stuck)
    began = time.monotonic()
    with job(tmp_path, ranks=2, stuck=1) as started:
        opened = gather(tmp_path, "-t", "1", *pids(started), path=path)
    assert time.monotonic() - began < 60
    (here,) = opened.glob("*/hosts/*")
    assert "took longer than 1 s: nvidia-smi -q" in (here / "gather.log").read_text()
    assert (here / "look_1" / "devices" / "nvidia-smi-q.txt").read_text() == "half\n"


def test_a_long_log_is_kept_in_its_beginning_and_its_end(tmp_path: Path) -> None:
    lines = [f"step {number} loss 0.5" for number in range(400_000)]
    (tmp_path / "long.log").write_text("\n".join(lines) + "\n")
    with job(tmp_path, ranks=2, stuck=1) as started:
        opened = gather(tmp_path, "-m", "1", "-d", "long.log", *pids(started), path=tools(tmp_path, py_spy=_SPY))
    (kept,) = opened.rglob("long.log")
    text = kept.read_text().splitlines()
    assert text[0] == lines[0] and text[-1] == lines[-1] and len(text) < len(lines) / 2
    assert set(text) - set(lines) == {
        f"[gather.sh left out the middle of {(tmp_path / 'long.log').stat().st_size} bytes]"
    }


def test_without_a_job_it_says_so_and_gathers_what_the_host_tells(tmp_path: Path) -> None:
    (tmp_path / "gather.sh").write_text(gather_script())
    command = ["sh", "gather.sh", "-o", "out", "-w", "0", "-p", "999999999"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "-p PID names one" in done.stderr
    with tarfile.open(tmp_path / done.stdout.strip()) as archive:
        assert any(name.endswith("host.env") for name in archive.getnames())


# --- a real job ------------------------------------------------------------------------------------------------------

_PYTHON = ROOT / ".venv-torch" / "bin" / "python"  # as `make test-probe` makes it
_TRAIN = """
import os, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Samples(Dataset):
    def __len__(self):
        return 10_000
    def __getitem__(self, index):
        if os.environ["RANK"] == "5" and index >= 80:
            time.sleep(10_000)
        return torch.randn(16)

dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
for step, batch in enumerate(DataLoader(Samples(), batch_size=8, num_workers=1)):
    loss = model(batch).pow(2).mean()
    loss.backward()
    print(f"step {step} loss {loss.item():.4f}", flush=True)
"""


@pytest.mark.skipif(
    not (_PYTHON.exists() and _PYTHON.with_name("py-spy").exists()), reason="needs .venv-torch with PyTorch and py-spy"
)
def test_a_real_hung_job_of_eight_processes_is_decided(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_TRAIN)
    settings = os.environ | {
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": "8",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29653",
    }
    started = []
    for rank in range(8):
        with (tmp_path / f"rank_{rank}.log").open("wb") as log:
            environment = settings | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            started.append(
                subprocess.Popen(
                    [_PYTHON, "train.py"], cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
                )
            )
    try:
        _until(lambda: all(b"step 9 " in (tmp_path / f"rank_{rank}.log").read_bytes() for rank in range(8)))
        time.sleep(2)
        opened = gather(tmp_path, "-w", "5", *pids(started))
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    report = analyze(opened, hung=True)
    assert report.verdict.ranks == [5] and report.verdict.site == "data_loading"
    assert report.verdict.status in ("supported", "established")
    assert report.coverage.ranks_seen == ["0-7"]
