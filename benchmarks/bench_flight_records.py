"""What the flight records of a hang cost, from the files to the verdict, against `torchfrtrace` on the same folder.

    python benchmarks/bench_flight_records.py [--ranks 128 512] [--entries 2000] [--torchfrtrace PROGRAM]

The dumps are written into a temporary folder, as PyTorch's pickler writes them: tensor-parallel groups of eight, a data-
parallel group across them, and a last all-reduce of all ranks that one rank never calls. Prints processor seconds and peak
memory of the whole command, per rank and as ratios. Without `torchfrtrace` (it comes with PyTorch) ratios are left out, and
that is said.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from samples.simulator.torch_pickle import pickled

_ROOT = Path(__file__).resolve().parent.parent
NODE = 8
START_NS = 1_795_000_000_000_000_000
FRAMES = [{"name": f"fn{at}", "filename": f"/job/train/module_{at}.py", "line": 100 + at} for at in range(6)]


class Cost(NamedTuple):
    """Processor seconds, peak bytes of the largest process, and what it printed."""

    seconds: float
    peak: int
    output: bytes


def dump(rank: int, ranks: int, entries: int, victim: int) -> bytes:
    """The record of one rank; the victim's lacks the last call."""
    node, place = divmod(rank, NODE)
    groups = {
        "0": ("default_pg", list(range(ranks))),
        f"{1 + node}": ("tp", list(range(node * NODE, node * NODE + NODE))),
        f"{1 + ranks + place}": ("dp", list(range(place, ranks, NODE))),
    }
    names, count, listed = list(groups), dict.fromkeys(groups, 0), []
    for at in range(entries - (rank == victim)):
        is_last = at == entries - 1
        name = "0" if is_last else names[1 + (at % 4 == 3)]
        count[name] += 1
        created = START_NS + at * 5_000_000 + rank * 7919 % 400_000
        listed.append(
            {
                "frames": FRAMES, "record_id": at, "pg_id": names.index(name), "process_group": (name, groups[name][0]),
                "thread_name": "python", "thread_id": "140000000000000", "collective_seq_id": count[name],
                "p2p_seq_id": 0, "op_id": count[name], "profiling_name": "nccl:all_reduce", "time_created_ns": created,
                "input_sizes": [[4096, 1024]], "input_dtypes": ["BFloat16"], "output_sizes": [[4096, 1024]],
                "output_dtypes": ["BFloat16"], "state": "started" if is_last else "completed",
                "time_discovered_started_ns": created + 100_000,
                "time_discovered_completed_ns": None if is_last else created + 3_000_000,
                "retired": not is_last, "timeout_ms": 600_000, "is_p2p": False,
            }
        )  # fmt: skip
    status = {
        str(number): {
            "last_enqueued_collective": count[name], "last_started_collective": count[name],
            "last_completed_collective": count[name] - (name == "0" and rank != victim),
        }
        for number, name in enumerate(names)
    }  # fmt: skip
    config = {name: {"name": name, "desc": desc, "ranks": str(members)} for name, (desc, members) in groups.items()}
    whole = {"version": "2.10", "pg_config": config, "comm_lib_version": "2.29.3", "pg_status": status}
    return pickled({**whole, "entries": listed})


def cost(command: list[str]) -> Cost:
    """Runs a command in a process of its own, which waits for it, so that its figures are its alone."""
    waits = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); sys.stdout.buffer.write(done.stdout);"
        "print(done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run([sys.executable, "-c", waits, *command], capture_output=True, check=True, env=environment)
    status, seconds, peak = done.stderr.splitlines()[-1].split()
    if status != b"0":
        raise SystemExit(f"{command[0]} failed: {done.stderr.decode()[-500:]}")
    return Cost(float(seconds), int(peak) * (1 if sys.platform == "darwin" else 1024), done.stdout)


def measure(folder: Path, ranks: int, entries: int, victim: int, other: str | None) -> str:
    for rank in range(ranks):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(dump(rank, ranks, entries, victim))
    own = cost([sys.executable, "-m", "forensics", "analyze", str(folder), "--json", "-"])
    report = json.loads(own.output)
    verdict = report["incidents"][report["primary"]]["verdict"]
    named = verdict["ranks"] or verdict["suspects"]["ranks"]  # no line tells that the job stood still
    line = f"{ranks:6} ranks {own.seconds:7.1f} s {own.peak >> 20:6} MB  {1000 * own.seconds / ranks:5.1f} ms a rank"
    if other is not None:
        theirs = cost([other, "--allow-incomplete-ranks", str(folder)])
        line += f"  torchfrtrace {theirs.seconds:6.1f} s {theirs.peak >> 20:6} MB"
        line += f"  ratios {own.seconds / theirs.seconds:.2f} and {own.peak / theirs.peak:.2f}"
    return line + ("" if named == [victim] else f"  NAMED {named}, not {victim}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--entries", type=int, default=2_000)
    parser.add_argument("--torchfrtrace", default=shutil.which("torchfrtrace"))
    given = parser.parse_args()
    if given.torchfrtrace is None:
        print("torchfrtrace is not there: no ratios")
    for ranks in given.ranks:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(Path(folder), ranks, given.entries, ranks * 5 // 8 + 1, given.torchfrtrace), flush=True)


if __name__ == "__main__":
    main()
