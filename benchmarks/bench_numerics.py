"""Speed on large tensor statistics, beside DuckDB: the first bad row of each rank, and the whole causal answer.

Run: python benchmarks/bench_numerics.py FOLDER [--threads 2] [--duckdb PYTHON]. FOLDER is made by make_tensor_rows.py;
what is not there is made (--ranks, --steps, --modules, --files). PYTHON is an interpreter that has duckdb (it is no
dependency of the project), else its line is left out, which is said. Every measurement is a process of its own; its time
includes the imports; the processes take turns and the best of three counts; on a busy machine the CPU times tell more.
--lines RANKS also measures 30,030 rows of each of RANKS ranks in JSON Lines, as the probe writes them, beside read_json.
--wide RANKS also measures the analysis of RANKS ranks over three steps once their statistics are columns.
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import click
from make_tensor_rows import make, make_lines

_PEER = "DuckDB, first bad rows"
_REPORT = """
import json, resource, time
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"s": time.perf_counter() - begin, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024, "said": said}))
"""
DUCKDB = """
import sys, time; begin = time.perf_counter()
import duckdb
base = duckdb.connect(); base.execute(f"SET threads = {sys.argv[2]}"); base.execute("SET enable_progress_bar = false")
rows = base.execute(f'''
    SELECT rank, min(step * 1099511627776 + file_row_number) FROM read_parquet('{sys.argv[1]}/*.parquet', file_row_number = true)
    WHERE nan_count > 0 OR inf_count > 0 OR NOT isfinite(absmax) GROUP BY rank
''').fetchall()
said = [len(rows), min(key >> 40 for _, key in rows)]
"""
DUCKDB_LINES = (
    DUCKDB.replace("read_parquet", "read_json")
    .replace("*.parquet', file_row_number = true", "*.jsonl', format = 'newline_delimited'")
    .replace("file_row_number", "seq")
)
FIRST = """
import sys, time; begin = time.perf_counter()
from pathlib import Path
import polars as pl
from parsers.numerics.stats_window import first_bad
lazy = pl.scan_parquet(sorted(Path(sys.argv[1]).glob("*.parquet")))
rows = first_bad(lazy, lazy.collect_schema())
said = [rows.height, rows["step"].min()]
"""
WHOLE = """
import sys, time; begin = time.perf_counter()
from forensics.analyze import analyze
report = analyze(sys.argv[1])
verdict = report.incidents[report.primary].verdict
said = [verdict.ranks, verdict.cause, verdict.first_anomaly.step, verdict.first_anomaly.module]
"""
_WIDE = """
import sys, time
from forensics.analyze import conclude_evidence
from parsers import read
evidence = read(sys.argv[1])
begin = time.perf_counter()
report = conclude_evidence(evidence)
verdict = report.incidents[report.primary].verdict
said = [evidence.tables["tensors"].height, verdict.ranks, verdict.cause, verdict.first_anomaly.step]
"""


def measure(python: str, code: str, folder: Path, threads: int) -> dict[str, Any]:
    """One run in a process of its own: seconds, megabytes at the peak, and what was said."""
    environment = os.environ | {"POLARS_MAX_THREADS": str(threads), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [python, "-c", textwrap.dedent(code + _REPORT), str(folder), str(threads)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def has_duckdb(python: str) -> bool:
    """Whether the interpreter can import it."""
    return subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0


def compare(folder: Path, what: str, codes: dict[str, tuple[str, str]], threads: int, repeat: int) -> None:
    """Print the best run of each, and its ratios to the one of DuckDB."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in codes}
    for _ in range(repeat):
        for name, (python, code) in codes.items():
            runs[name].append(measure(python, code, folder, threads))
    best = {name: min(found, key=lambda run: run["s"]) for name, found in runs.items()}
    peer = best.get(_PEER)
    print(f"{what}, {threads} threads")
    print(f"{'':<28}{'seconds':>9}{'ratio':>8}{'CPU s':>8}{'ratio':>8}{'peak MB':>9}  answer")
    for name, run in best.items():
        wall, cpu = (f"{run[of] / peer[of]:.2f}" if peer else "-" for of in ("s", "cpu"))
        print(f"{name:<28}{run['s']:>9.2f}{wall:>8}{run['cpu']:>8.2f}{cpu:>8}{run['mb']:>9.0f}  {run['said']}")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--threads", default=2, show_default=True)
@click.option("--repeat", default=3, show_default=True)
@click.option("--duckdb", "duckdb_python", default=sys.executable, help="Interpreter that has duckdb.")
@click.option("--ranks", default=1024, show_default=True)
@click.option("--steps", default=100, show_default=True)
@click.option("--modules", default=500, show_default=True)
@click.option("--files", default=64, show_default=True)
@click.option("--lines", default=0, help="Ranks of a job in JSON Lines, e.g. 16; 0 leaves it out.")
@click.option("--wide", default=0, help="Ranks of the second job, e.g. 10240; 0 leaves it out.")
def main(
    folder: Path,
    threads: int,
    repeat: int,
    duckdb_python: str,
    ranks: int,
    steps: int,
    modules: int,
    files: int,
    lines: int,
    wide: int,
) -> None:
    """Print ratios and peak memory side by side."""
    peer = has_duckdb(duckdb_python)
    if not peer:
        print(f"no duckdb in {duckdb_python}: its line and the ratios are left out (--duckdb PYTHON)")
    rows = make(folder, ranks, steps, modules, files)
    codes = {"first bad row of each rank": (sys.executable, FIRST), "whole causal answer": (sys.executable, WHOLE)}
    compare(folder, f"{rows:,} rows", codes | ({_PEER: (duckdb_python, DUCKDB)} if peer else {}), threads, repeat)
    if lines:
        written = folder.with_name(f"{folder.name}_lines_{lines}")  # beside it: the folder is read whole
        rows = make_lines(written, lines, 30, 500)
        codes = {"whole causal answer": (sys.executable, WHOLE)}
        codes |= {_PEER: (duckdb_python, DUCKDB_LINES)} if peer else {}
        compare(written, f"{rows:,} rows in JSON Lines", codes, threads, repeat)
    if wide:
        columns = folder.with_name(f"{folder.name}_wide_{wide}")
        make(columns, wide, 3, 20, 16)
        run = measure(sys.executable, _WIDE, columns, threads)
        print(f"{f'{wide:,} ranks, decided':<28}{run['s']:>9.2f}{'':>24}{run['mb']:>9.0f}  {run['said']}")


if __name__ == "__main__":
    main()
