"""What whole commands cost beside the cheapest thing that could be asked: to begin, to read much that matters, many small
files, and to ask again.

    python benchmarks/bench_whole.py [--mb 5] [--files 10000] [--ranks 64]

Processor seconds and peak memory of each command in a process of its own; `import polars` runs beside each, as the yardstick
of the machine in that minute. Byte code is made first, as an installation has it.
"""

import argparse
import compileall
import io
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.bench_flight_records import Cost, cost, dump

_ROOT = Path(__file__).resolve().parent.parent
_FORENSICS = (sys.executable, "-m", "forensics")


def log(path: Path, size: int) -> None:
    """A log of which every third line holds an anchor: reports of a watchdog and warnings of NCCL in turn."""
    with path.open("w") as stream:
        at = 0
        while stream.tell() < size:
            stamp = f"10:{at // 60 % 60:02d}:{at % 60:02d}"
            if at % 2:
                stream.write(
                    "node1:4711:4801 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.7<51234> with status=12 "
                    "opcode=0 len=0 vendor err 129 (Recv)\n"
                )
            else:
                stream.write(
                    f"[rank3]:[E131 {stamp}.123456789 ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog caught collective "
                    f"operation timeout: WorkNCCL(SeqNum={at}, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, "
                    f"Timeout(ms)=600000) ran for {600_000 + at} milliseconds before timing out.\n"
                )
            stream.write(f"2026-01-31 {stamp} INFO at place {at} some plain text\n2026-01-31 {stamp} INFO {at} more\n")
            at += 1


def archive(path: Path, files: int) -> None:
    """A tar of files of two bytes, and one with an error."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as whole:
        contents = {f"d{at % 100}/f{at}.log": b"x\n" for at in range(files)} | {"rank_0.log": b"ValueError: boom\n"}
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            whole.addfile(entry, io.BytesIO(content))


def show(what: str, own: Cost, more: str = "") -> None:
    """One line: seconds, memory, and seconds as a multiple of importing polars."""
    polars = cost([sys.executable, "-c", "import polars"])
    ratio = own.seconds / polars.seconds
    print(f"{what:44} {own.seconds:6.2f} s {own.peak >> 20:5} MB {ratio:6.1f} × import polars  {more}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=5)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--ranks", type=int, default=64)
    given = parser.parse_args()
    for package in ("forensics", "parsers", "reports"):
        compileall.compile_dir(_ROOT / package, quiet=1)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name, size in (("small", 2_500), ("large", given.mb << 20)):
            (folder / name).mkdir()
            log(folder / name / "rank_3.log", size)
        archive(folder / "many.tar", given.files)
        (folder / "records").mkdir()
        for rank in range(given.ranks):
            content = dump(rank, given.ranks, 2_000, given.ranks * 5 // 8 + 1)
            (folder / "records" / f"nccl_trace_rank_{rank}").write_bytes(content)
        analyze = [*_FORENSICS, "analyze", "--json", "-"]
        show("a log of 2.5 kB", cost([*analyze, str(folder / "small")]))
        large = cost([*analyze, str(folder / "large")])
        show(f"{given.mb} MB, every third line of interest", large, f"{given.mb / large.seconds:.1f} MB/s")
        many = cost([*analyze, str(folder / "many.tar")])
        show(f"{given.files} files of two bytes in a tar", many, f"{1000 * many.seconds / given.files:.2f} ms a file")
        first = cost([*analyze, str(folder / "records")])
        show(f"records of {given.ranks} ranks", first)
        show("the same, kept", cost([*_FORENSICS, "parse", str(folder / "records"), "--out", str(folder / "kept")]))
        show("the same, asked again of what was kept", cost([*analyze, str(folder / "kept")]))
        for question in (("show", "rank", "5"), ("stacks",), ("events",)):
            asked = cost([*_FORENSICS, *question, str(folder / "kept")])
            show(
                f"{' '.join(question)}, of what was kept",
                asked,
                f"{asked.seconds / first.seconds:.2f} of the first analysis",
            )


if __name__ == "__main__":
    main()
