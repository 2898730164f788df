"""How long a log full of NCCL collectives takes to read, against `rg -c` with the whole pattern on the same file.

    python benchmarks/bench_dense_coll.py [--megabytes 200] [--rounds 3] [--whole]

The log is generated into a temporary folder. Prints times, CPU times, ratios and peak memory. `--whole` also reads the
folder as a bundle. Without ripgrep the ratio is left out, and that is said.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from parsers import read
from parsers.comm.nccl_collectives import DENSE
from parsers.dense import DenseReader

WINDOW = 16 << 20
PATTERN = (
    r"[^ :]+:[0-9]+:[0-9]+ \[[0-9]+\] NCCL INFO \w+: opCount [0-9a-f]+ sendbuff \S+ recvbuff \S+ count [0-9]+ "
    r"datatype [0-9]+ op [0-9]+ root [0-9]+ comm 0x[0-9a-f]+ \[nranks=[0-9]+\]"
)
OPS = ("AllReduce", "AllGather", "ReduceScatter", "Send", "Recv")


def generate(path: Path, megabytes: int) -> int:
    """Eight processes of a host in turn; → number of lines."""
    chance = random.Random(1)
    number = 0
    with path.open("w") as log:
        while log.tell() < megabytes << 20:
            for _ in range(10_000):
                device, call = number % 8, number // 8
                log.write(
                    f"node17:{41000 + device}:{42000 + device} [{device}] NCCL INFO {OPS[call % 5]}: opCount {call:x} "
                    f"sendbuff 0x7f{chance.getrandbits(40):010x} recvbuff 0x7f{chance.getrandbits(40):010x} "
                    f"count {chance.choice((4096, 1048576, 33554432))} datatype 9 op 0 root 0 comm 0x55d{device:x}a0 "
                    f"[nranks=64] stream 0x55{device:x}ab30\n"
                )
                number += 1
    return number


def dense(path: Path) -> int:
    """The file's windows through the dense reader → rows."""
    reader = DenseReader((DENSE,), {"file": path.name})
    line, rest = 1, b""
    with path.open("rb") as stream:
        while chunk := stream.read(WINDOW):
            block = rest + chunk
            cut = block.rfind(b"\n") + 1
            window, rest = block[:cut], block[cut:]
            reader.take(window, line)
            line += window.count(b"\n")
    return reader.tables()["operations"].height


def measure(what: str, work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Best wall time and CPU time (own and of children) of some rounds, in seconds."""
    best = (float("inf"), float("inf"))
    for _ in range(rounds):
        begin, before = time.perf_counter(), os.times()
        work()
        after = os.times()
        best = min(best, (time.perf_counter() - begin, sum(after[:4]) - sum(before[:4])))
    print(f"{what:12} {best[0]:7.2f} s wall  {best[1]:7.2f} s CPU")
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--megabytes", type=int, default=200)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--whole", action="store_true", help="read the folder as a bundle, too")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nccl.log"
        lines = generate(path, given.megabytes)
        print(f"{lines} lines, {path.stat().st_size >> 20} MiB")
        assert dense(path) == lines
        own = measure("dense", lambda: dense(path), given.rounds)
        ripgrep = shutil.which("rg")
        if ripgrep is None:
            print("ripgrep is not installed (Debian: ripgrep): no ratio")
        else:
            command = [ripgrep, "-c", PATTERN, str(path)]
            other = measure("rg -c", lambda: subprocess.run(command, check=True, capture_output=True), given.rounds)
            print(f"{'ratio':12} {own[0] / other[0]:7.2f}   wall  {own[1] / other[1]:7.2f}   CPU")
        print(f"{'peak memory':12} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:7d} MB")
        if given.whole:
            measure("whole read", lambda: read(folder), 1)
            print(f"{'peak memory':12} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:7d} MB")


if __name__ == "__main__":
    main()
