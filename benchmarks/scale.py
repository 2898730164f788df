"""What speed and memory must be, and what they are: one table, each row beside its yardstick in the same minutes.

    python benchmarks/scale.py [--only WORD] [--part 0.1] [--long] [--runs 2] [--torchfrtrace PROGRAM] [--duckdb PYTHON]

Whole commands in processes of their own, start included; ratios are of processor time unless it says wall; peak memory is
that of the largest process. Byte code is made first, as an installation has it. A yardstick that is not there is said,
and its ratios are left out. `--part` shrinks the inputs, and says no limits then. Inputs that take long to make stay in .bench.
"""

import compileall
import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import click

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import inputs
from benchmarks.cost import ROOT, Cost, cost, least
from benchmarks.make_tensor_rows import CULPRIT_SHARE, make, make_lines

_FORENSICS = [sys.executable, "-m", "forensics"]
_ANALYZE = [*_FORENSICS, "analyze", "--json", "-"]
_POLARS = [sys.executable, "-c", "import polars"]
_COLUMNS = """
import sys
from concurrent.futures import ThreadPoolExecutor
import parsers
with ThreadPoolExecutor(2) as pool:
    parsers.read(sys.argv[1], map=pool.map)
"""

_DUCKDB = """
import sys, duckdb
base = duckdb.connect(); base.execute("SET threads = 2"); base.execute("SET enable_progress_bar = false")
print(len(base.execute(f'''
    SELECT rank, min(step * 1099511627776 + file_row_number) FROM read_parquet('{sys.argv[1]}/*.parquet', file_row_number = true)
    WHERE nan_count > 0 OR inf_count > 0 OR NOT isfinite(absmax) GROUP BY rank
''').fetchall()))
"""
_DUCKDB_LINES = (
    _DUCKDB.replace("read_parquet", "read_json")
    .replace("*.parquet', file_row_number = true", "*.jsonl', format = 'newline_delimited'")
    .replace("file_row_number", "seq")
)
_FIRST = """
import sys
from pathlib import Path
import polars as pl
from parsers.numerics.stats_window import first_bad
lazy = pl.scan_parquet(sorted(Path(sys.argv[1]).glob("*.parquet")))
print(first_bad(lazy, lazy.collect_schema()).height)
"""
_WHOLE = """
import sys
from forensics.analyze import analyze
report = analyze(sys.argv[1])
print(*report.incidents[report.primary].verdict.ranks)
"""


class Figure(NamedTuple):
    """A measured value and what it may be at most; `least`: what it must be at least."""

    value: float
    unit: str
    must: float | None = None
    least: float | None = None

    @property
    def holds(self) -> bool:
        return (self.must is None or self.value <= self.must) and (self.least is None or self.value >= self.least)

    def __str__(self) -> str:
        limit = f" (≤ {self.must:g})" if self.must is not None else f" (≥ {self.least:g})" if self.least else ""
        return f"{self.value:.3g} {self.unit}{limit}{'' if self.holds else ' MISSED'}"


class Row(NamedTuple):
    """One line of the table."""

    work: str
    yardstick: str
    figures: list[Figure]

    def __str__(self) -> str:
        return f"| {self.work} | {self.yardstick or '–'} | {' · '.join(map(str, self.figures))} |"


def _unlimited(row: Row) -> Row:
    return row._replace(figures=[Figure(one.value, one.unit) for one in row.figures])


class Bench(NamedTuple):
    """What a row needs: a folder for inputs, one that stays, the share of the whole size, and the yardsticks."""

    made: Path
    kept: Path
    part: float
    long: bool
    runs: int
    torchfrtrace: str | None
    duckdb: str | None

    def mb(self, whole: int) -> int:
        return max(1, int(whole * self.part))


def _memory(own: Cost, must: float | None = None) -> Figure:
    return Figure(own.peak / 2**20, "MB", must)


def _beside(
    own: Cost, other: Cost, name: str, must: float | None, wall: float | None = None
) -> tuple[str, list[Figure]]:
    """(the yardstick with its time, ratios to it)."""
    ratios = [Figure(own.seconds / other.seconds, "×", must)]
    if wall is not None:
        ratios.append(Figure(own.wall / other.wall, "× wall", wall))
    return f"{name} {other.seconds:.2f} s", ratios


def flight_records(bench: Bench) -> Iterator[Row]:
    """Flight records of a hang, from the files to the verdict."""
    costs: dict[int, Cost] = {}
    whole = (128, 512, 1024, *((10_240,) if bench.long else ()))
    for ranks in sorted({max(64, int(ranks * bench.part) // 8 * 8) for ranks in whole}):
        folder, victim = bench.made / f"records_{ranks}", ranks * 5 // 8 + 1
        inputs.records(folder, ranks, 2_000, victim)
        own = costs[ranks] = cost([*_ANALYZE, str(folder)])
        report = json.loads(own.output)
        verdict = report["incidents"][report["primary"]]["verdict"]
        named = verdict["ranks"] or verdict["suspects"]["ranks"]  # no line tells that the job stood still
        if named != [victim]:
            raise SystemExit(f"{ranks} ranks: {named} named, not {victim}")
        yardstick, figures = "", []
        if ranks <= 512 and bench.torchfrtrace:
            other = cost([bench.torchfrtrace, "--allow-incomplete-ranks", str(folder)])
            yardstick, figures = _beside(own, other, "torchfrtrace", 0.15 if ranks <= 128 else 0.1)
            figures.append(Figure(own.peak / other.peak, "× memory", 0.35 if ranks <= 128 else None))
        if ranks > 128:
            figures.append(Figure(1000 * own.seconds / ranks, "ms a rank", 20))
            figures.append(Figure(own.peak / 2**20 / ranks, "MB a rank", 0.6))
        figures.append(_memory(own, 700 if ranks == 1024 else 4096 if ranks > 1024 else None))
        if ranks == 10_240 and 1024 in costs:
            figures.append(Figure(math.log(own.seconds / costs[1024].seconds, 10), "exponent", 1.05))
        yield Row(f"flight records, {ranks} ranks × 2,000 entries", yardstick, figures)
        shutil.rmtree(folder)


def simulated_hang(bench: Bench) -> Iterator[Row]:
    """All sources of a simulated hang, to the page."""
    for ranks in (64, 512, 2_048):
        if ranks * bench.part < 64 and ranks > 64:
            continue
        folder = bench.kept / f"hang_{ranks}"
        inputs.hang(folder, ranks // 64)
        page = bench.made / "page.html"
        own = cost([*_FORENSICS, "analyze", str(folder / "bundle"), "--json", "-", "--html", str(page)])
        small = ranks < 512  # what it costs to begin is no cost of a rank
        figures = [
            Figure(1000 * own.seconds / ranks, "ms a rank", None if small else 10),
            Figure(own.peak / 2**20 / ranks, "MB a rank", None if small else 0.4),
            Figure(page.stat().st_size / 1e3, "kB page", 1000),
        ]
        yield Row(f"simulated hang, all sources, {ranks} ranks, to the page", "", figures)


def sparse_text(bench: Bench) -> Iterator[Row]:
    """One line in a thousand of interest: many files, and the same in one archive."""
    rg, zstd = shutil.which("rg"), shutil.which("zstd")
    folder, listed = bench.made / "sparse", bench.made / "anchors.txt"
    inputs.sparse(folder, bench.mb(1024), 256)
    listed.write_text("\n".join(inputs.anchors()) + "\n")
    work, analyze = f"one line in a thousand of {bench.mb(1024)} MB in 256 files", [*_ANALYZE, str(folder)]
    if rg:
        find = [rg, "-F", "-f", str(listed), "-b", "-n", "-j2", "--no-config", str(folder)]
        own, other = least(analyze, find, runs=bench.runs)
        yardstick, figures = _beside(own, other, f"rg, {inputs.ANCHORS} anchors", 1.0, 1.4)
    else:
        own, yardstick, figures = cost(analyze), "no rg", []
    yield Row(work, yardstick, [*figures, _memory(own, 200)])
    if not zstd:
        return
    whole = inputs.packed(folder, zstd)
    count = ["sh", "-c", 'zstd -dc "$0" | wc -l', str(whole)]
    own, other = least([*_ANALYZE, str(whole)], count, runs=bench.runs)
    yardstick, figures = _beside(own, other, "zstd -dc, wc -l", 2)
    yield Row("the same as one .tar.zst", yardstick, [*figures, _memory(own)])
    shutil.rmtree(folder)
    whole.unlink()


def collectives(bench: Bench) -> Iterator[Row]:
    """Lines of NCCL's collectives to typed columns."""
    rg = shutil.which("rg")
    for what, size, every, musts in (
        ("nothing else", 1024, 1, (1.6, 2, 250)),
        ("every seventh line", 256, 7, (8, None, None)),
    ):
        folder = bench.made / f"dense_{every}"
        inputs.dense(folder, bench.mb(size), every)
        read = [sys.executable, "-c", _COLUMNS, str(folder)]
        if rg:
            count = [rg, "-c", "-j2", "--no-config", inputs.COLL_PATTERN, str(folder)]
            own, other = least(read, count, runs=bench.runs)
            yardstick, figures = _beside(own, other, "rg -c", musts[0] or 0, musts[1])
        else:
            own, yardstick, figures = cost(read), "no rg", []
        yield Row(f"COLL lines to columns, {what}, {bench.mb(size)} MB", yardstick, [*figures, _memory(own, musts[2])])
        shutil.rmtree(folder)


def much_of_interest(bench: Bench) -> Iterator[Row]:
    """A log of which every third line holds an anchor."""
    folder, size = bench.made / "third", bench.mb(50)
    inputs.third(folder / "rank_3.log", size << 20)
    own, other = least([*_ANALYZE, str(folder)], _POLARS, runs=bench.runs)
    figures = [Figure(size / own.seconds, "MB/s", least=10), _memory(own, 250)]
    yield Row(f"every third line of interest, {size} MB", f"import polars {other.seconds:.2f} s", figures)
    shutil.rmtree(folder)


def small_bundle(bench: Bench) -> Iterator[Row]:
    """A log of 20 lines: what it costs to begin."""
    folder = bench.made / "small"
    inputs.third(folder / "rank_3.log", 2_500)
    own, other = least([*_ANALYZE, str(folder)], _POLARS, runs=5 * bench.runs)
    yardstick, figures = _beside(own, other, "import polars", 2)
    yield Row("a log of 20 lines", yardstick, [*figures, _memory(own)])


def many_files(bench: Bench) -> Iterator[Row]:
    """Files of two bytes in a tar."""
    files, path = bench.mb(10_000), bench.made / "many.tar"
    inputs.tiny_files(path, files)
    own = cost([*_ANALYZE, str(path)])
    yield Row(
        f"{files} files of two bytes in a tar", "", [Figure(1000 * own.seconds / files, "ms a file"), _memory(own)]
    )


def further_questions(bench: Bench) -> Iterator[Row]:
    """Questions to what `parse` kept, beside the first analysis."""
    ranks = max(64, int(512 * bench.part) // 64 * 64)
    folder, kept = bench.kept / f"hang_{ranks}", bench.made / "tables"
    inputs.hang(folder, ranks // 64)
    cost([*_FORENSICS, "parse", str(folder / "bundle"), "--out", str(kept)])
    questions = (("show", "rank", "5"), ("stacks",), ("events",))
    asked = [[*_FORENSICS, *question, str(kept)] for question in questions]
    first, *answers = least([*_ANALYZE, str(folder / "bundle")], *asked, runs=bench.runs)
    for question, own in zip(questions, answers, strict=True):
        yardstick, figures = _beside(own, first, "the first analysis", 0.1)
        yield Row(f"{' '.join(question)}, of kept tables, {ranks} ranks", yardstick, [*figures, _memory(own)])


def tensor_statistics(bench: Bench) -> Iterator[Row]:
    """The first bad row of each rank, and the whole causal answer."""
    many = [(1024, 100, 500), (10_240, 3, 20)] if bench.long else [(300, 100, 500)]
    for ranks, steps, modules in ((32, 100, 500), *many):
        name = f"tensor_stats_{ranks}"
        rows = make(bench.kept / name, ranks, steps, modules, min(ranks, 64))
        first = 1.2 if ranks == 32 else 0.9
        codes = (
            {_FIRST: (first, ranks), _WHOLE: (4.0, _culprit(ranks))} if steps > 3 else {_WHOLE: (None, _culprit(ranks))}
        )
        what = f"{rows / 1e6:.1f} M rows of {ranks} ranks in Parquet"
        yield from _numbers(bench, what, bench.kept / name, _DUCKDB, codes)
    folder, ranks = bench.kept / "tensor_stats_lines", 16
    rows = make_lines(folder, ranks, 30, 500)
    what = f"{rows / 1e6:.1f} M rows in JSON Lines"
    yield from _numbers(bench, what, folder, _DUCKDB_LINES, {_WHOLE: (1.5, _culprit(ranks))})


def _culprit(ranks: int) -> int:
    return int(CULPRIT_SHARE * ranks)


def _numbers(
    bench: Bench, what: str, folder: Path, query: str, codes: Mapping[str, tuple[float | None, int]]
) -> Iterator[Row]:
    """`codes`: what is run → how many times DuckDB's time it may take, and what it has to print."""
    names = {_FIRST: "first bad row of each rank", _WHOLE: "whole causal answer"}
    commands = [[sys.executable, "-c", code, str(folder)] for code in codes]
    if bench.duckdb:
        *own, other = least(*commands, [bench.duckdb, "-c", query, str(folder)], runs=bench.runs)
    else:
        own, other = least(*commands, runs=bench.runs), None
    for cost_of, (code, (must, answer)) in zip(own, codes.items(), strict=True):
        if cost_of.output.split() != [str(answer).encode()]:
            raise SystemExit(f"{names[code]}, {what}: {cost_of.output.decode()}, not {answer}")
        yardstick, figures = _beside(cost_of, other, "DuckDB", must) if other else ("no DuckDB", [])
        yield Row(f"{names[code]}, {what}", yardstick, [*figures, _memory(cost_of)])


ROWS: tuple[Callable[[Bench], Iterator[Row]], ...] = (
    small_bundle,
    further_questions,
    much_of_interest,
    collectives,
    sparse_text,
    many_files,
    simulated_hang,
    tensor_statistics,
    flight_records,
)


@click.command()
@click.option("--only", default="", help="Rows of which the function's name holds this.")
@click.option("--part", default=1.0, help="Share of the whole size.")
@click.option("--long", is_flag=True, help="Also 10,240 ranks; 102 million rows of 1,024 ranks, in place of 30.")
@click.option("--runs", default=2, help="Runs of each; the cheapest counts.")
@click.option("--torchfrtrace", default=shutil.which("torchfrtrace"), help="Comes with PyTorch.")
@click.option("--duckdb", default=sys.executable, help="Interpreter that has duckdb.")
@click.option("--kept", default=ROOT / ".bench", type=click.Path(path_type=Path), help="Where inputs stay.")
def main(
    only: str, part: float, long: bool, runs: int, torchfrtrace: str | None, duckdb: str | None, kept: Path
) -> None:
    """Measure and print the table."""
    for package in ("forensics", "parsers", "reports"):
        compileall.compile_dir(ROOT / package, quiet=1)
    if duckdb and subprocess.run([duckdb, "-c", "import duckdb"], capture_output=True, check=False).returncode:
        duckdb = None
    kept.mkdir(exist_ok=True)
    held = missed = 0
    click.echo("| work | yardstick | measured (must) |\n|---|---|---|")
    for rows in ROWS:
        if only not in rows.__name__:
            continue
        with tempfile.TemporaryDirectory(prefix="forensics-bench-") as made:
            for measured in rows(Bench(Path(made), kept, part, long, runs, torchfrtrace, duckdb)):
                row = measured if part == 1 else _unlimited(measured)
                click.echo(str(row))
                bad = sum(not figure.holds for figure in row.figures)
                held, missed = held + len(row.figures) - bad, missed + bad
    if part == 1:
        click.echo(f"\n{held} figures hold, {missed} miss their limit")


if __name__ == "__main__":
    main()
