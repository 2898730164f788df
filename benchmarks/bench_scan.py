"""The sparse scan beside a yardstick, in the same run: `parsers.read` over text logs against ripgrep.

Run: python benchmarks/bench_scan.py [--mb 2048] [--files 256] [--runs 3] [--dense-mb 256]

Sparse: training logs of which one line in a thousand is of interest, read by `parsers.read` with two processes, beside
`rg -F -f anchors -b -n -j2` with the same 60 anchors for both. "every parser" reads with all that are registered.
Dense: files of NCCL COLL lines to typed columns, with two threads (rows in millions are dear to hand over), beside `rg -c` with the full pattern.
Printed: wall and CPU seconds (best of the runs) and their ratios to ripgrep, and the peak memory of the largest process.
The limits are those of the project: sparse 1.25 of the wall time, 0.8 of the CPU, 200 MB; dense 1.6 of the wall time.
"""

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

ANCHORS = 60
BLOCK_LINES = 64
LIMITS = {"sparse": (1.25, 0.8, 200), "dense": (1.6, None, None)}
_WORDS = [
    "loading",
    "shard",
    "tokenizer",
    "bucket",
    "pinned",
    "memory",
    "worker",
    "queue",
    "prefetch",
    "cache",
    "layer",
    "stage",
    "schedule",
    "warm",
    "flush",
]
_COLL = (
    "{host}:{pid}:{tid} [{device}] NCCL INFO AllReduce: opCount {count:x} sendbuff 0x7f{a:010x} recvbuff 0x7f{b:010x} "
    "count {size} datatype 9 op 0 root 0 comm 0x5{comm:011x} [nranks=64] stream 0x5{stream:011x}\n"
)
_COLL_PATTERN = (
    r"NCCL INFO (\w+): opCount ([0-9a-f]+) sendbuff (0x[0-9a-f]+) recvbuff (0x[0-9a-f]+) count (\d+) datatype (\d+) "
    r"op (\d+) root (\d+) comm (0x[0-9a-f]+) \[nranks=(\d+)\] stream (0x[0-9a-f]+)"
)
_READ = """
import json, resource, sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import parsers
from parsers.parser import LineParser
wanted = json.loads(sys.argv[2])
def chosen():
    for parser in parsers.PARSERS:
        if wanted is None or not isinstance(parser, LineParser):
            yield parser
            continue
        kept = tuple(anchor for anchor in parser.anchors if anchor.decode("latin-1") in wanted)
        if kept:
            yield LineParser(parser.name, kept, parser.parse, parser.after, parser.follows)
if __name__ == "__main__":
    with (ProcessPoolExecutor if sys.argv[3] == "processes" else ThreadPoolExecutor)(2) as pool:
        evidence = parsers.read(sys.argv[1], parsers=tuple(chosen()), map=pool.map)
    rows = sum(frame.height for name, frame in evidence.tables.items() if name != "files")
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps({"rows": rows, "peak": peak // 1024}))
"""


def _anchors() -> list[str]:
    """The first anchors of each line parser in turn, until there are ANCHORS of them."""
    import parsers
    from parsers.parser import LineParser

    # A hit of the others brings a block of a hundred lines along: then it is not one line in a thousand any more.
    chosen = [parser for parser in parsers.PARSERS if isinstance(parser, LineParser) and parser.after <= BLOCK_LINES]
    lists = [list(parser.anchors) for parser in chosen]
    found: dict[str, None] = {}
    for turn in range(max(map(len, lists))):
        for anchors in lists:
            if turn < len(anchors) and len(found) < ANCHORS:
                found.setdefault(anchors[turn].decode("latin-1"))
    return list(found)


def _ordinary(chance: random.Random) -> str:
    words = " ".join(chance.choices(_WORDS, k=chance.randint(4, 14)))
    stamp = f"2026-05-01 {chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02},{chance.randrange(1000):03}"
    return f"{stamp} INFO trainer.py:{chance.randrange(900)} {words} took {chance.random():.4f} s\n"


def _write_sparse(folder: Path, megabytes: int, files: int, anchors: list[str]) -> None:
    """Each file is a block of lines again and again, begun elsewhere: the bytes are there, the time to make them not."""
    chance = random.Random(1)
    block = [_ordinary(chance) for _ in range(40_000)]
    for at in range(0, len(block), 1000):
        block[at] = f"[rank{at // 1000}]: {chance.choice(anchors)} {block[at]}"
    size = megabytes * 1024 * 1024 // files
    for number in range(files):
        turn = chance.randrange(len(block))
        body = "".join(block[turn:] + block[:turn]).encode("latin-1")
        data = (body * (size // len(body) + 1))[:size]
        (folder / f"worker-{number:04}.log").write_bytes(data[: data.rfind(b"\n") + 1])


def _write_dense(folder: Path, megabytes: int) -> None:
    chance = random.Random(2)
    for number in range(8):
        comm = chance.randrange(1 << 40)
        lines = [
            _COLL.format(
                host=f"node{number}", pid=4000 + number, tid=4100 + number, device=number, count=count,
                a=chance.randrange(1 << 38), b=chance.randrange(1 << 38), size=chance.choice((4096, 1 << 20, 1 << 24)),
                comm=comm, stream=chance.randrange(1 << 40),
            )
            for count in range(20_000)
        ]  # fmt: skip
        body = "".join(lines).encode()
        size = megabytes * 1024 * 1024 // 8
        data = (body * (size // len(body) + 1))[:size]
        (folder / f"nccl-{number}.log").write_bytes(data[: data.rfind(b"\n") + 1])


def _timed(command: list[str]) -> tuple[float, float, str]:
    """(wall seconds, CPU seconds of the child, its standard output)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr[-2000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def _best(command: list[str], runs: int) -> tuple[float, float, str]:
    results = [_timed(command) for _ in range(runs)]
    return min(r[0] for r in results), min(r[1] for r in results), results[-1][2]


def _report(name: str, yardstick: tuple[float, float, str], ours: tuple[float, float, str], kind: str) -> bool:
    said = json.loads(ours[2].splitlines()[-1])
    wall, cpu = ours[0] / yardstick[0], ours[1] / yardstick[1]
    wall_limit, cpu_limit, peak_limit = LIMITS[kind]
    holds = (
        wall <= wall_limit
        and (cpu_limit is None or cpu <= cpu_limit)
        and (peak_limit is None or said["peak"] <= peak_limit)
    )
    click.echo(
        f"{name:<22} wall {ours[0]:6.2f} s, {wall:4.2f} of rg's {yardstick[0]:.2f} s · "
        f"CPU {ours[1]:6.2f} s, {cpu:4.2f} of {yardstick[1]:.2f} s · peak {said['peak']} MB · {said['rows']:,} rows"
        f" · {'holds' if holds else 'MISSES THE LIMIT'}"
    )
    return holds


@click.command()
@click.option("--mb", default=2048, help="Sparse logs, megabytes in all.")
@click.option("--files", default=256, help="Files of sparse logs.")
@click.option("--dense-mb", default=256, help="Dense COLL lines, megabytes in all; 0 leaves them out.")
@click.option("--runs", default=3, help="Runs of each; the best counts.")
def main(mb: int, files: int, dense_mb: int, runs: int) -> None:
    """Measure, print, and exit with 1 where a limit is missed."""
    if shutil.which("rg") is None:
        sys.exit("ripgrep is the yardstick: apt-get install ripgrep")
    anchors = _anchors()
    holds = True
    with tempfile.TemporaryDirectory(prefix="forensics-bench-") as made:
        sparse, listed = Path(made, "sparse"), Path(made, "anchors.txt")
        sparse.mkdir()
        listed.write_text("\n".join(anchors) + "\n")
        _write_sparse(sparse, mb, files, anchors)
        click.echo(f"sparse: {mb} MB in {files} files, {len(anchors)} anchors, {os.cpu_count()} cores")
        find = ["rg", "-F", "-f", str(listed), "-b", "-n", "-j2", "--no-config", str(sparse)]
        _timed(find)  # the files are in the page cache from here on, for both
        yardstick = _best(find, runs)
        for name, wanted in ((f"{len(anchors)} anchors", anchors), ("every parser", None)):
            ours = _best([sys.executable, "-c", _READ, str(sparse), json.dumps(wanted), "processes"], runs)
            holds &= _report(name, yardstick, ours, "sparse")
        if dense_mb:
            shutil.rmtree(sparse)
            dense = Path(made, "dense")
            dense.mkdir()
            _write_dense(dense, dense_mb)
            count = ["rg", "-c", "-j2", "--no-config", _COLL_PATTERN, str(dense)]
            _timed(count)
            yardstick = _best(count, runs)
            ours = _best([sys.executable, "-c", _READ, str(dense), "null", "threads"], runs)
            holds &= _report("COLL lines to columns", yardstick, ours, "dense")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
