"""Speed on large tensor statistics, beside DuckDB: the first bad row of each rank, and the whole causal answer.

Run: python benchmarks/bench_numerics.py FOLDER [--threads 2] [--duckdb PYTHON]. FOLDER is made by make_tensor_rows.py;
PYTHON is an interpreter that has duckdb (it is no dependency of the project), else that column is left out. Every
measurement is a process of its own; its time includes the imports; the best of three counts.
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import click

_REPORT = """
import json, resource, time
print(json.dumps({"s": time.perf_counter() - begin, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "said": said}))
"""
_DUCKDB = """
import sys, time; begin = time.perf_counter()
import duckdb
base = duckdb.connect(); base.execute(f"SET threads = {sys.argv[2]}")
rows = base.execute(f'''
    SELECT rank, min(step * 1099511627776 + file_row_number) FROM read_parquet('{sys.argv[1]}/*.parquet', file_row_number = true)
    WHERE nan_count > 0 OR inf_count > 0 OR NOT isfinite(absmax) GROUP BY rank
''').fetchall()
said = [len(rows), min(key >> 40 for _, key in rows)]
"""
_FIRST = """
import sys, time; begin = time.perf_counter()
from pathlib import Path
import polars as pl
from parsers.numerics.stats_window import first_bad
files = [pl.scan_parquet(path) for path in sorted(Path(sys.argv[1]).glob("*.parquet"))]
schema = files[0].collect_schema()
parts = pl.collect_all([first_bad(lazy, schema) for lazy in files], engine="streaming")
rows = pl.concat(parts)
said = [rows.height, rows["step"].min()]
"""
_WHOLE = """
import sys, time; begin = time.perf_counter()
from forensics.analyze import analyze
report = analyze(sys.argv[1])
verdict = report.incidents[report.primary].verdict
said = [verdict.ranks, verdict.cause, verdict.first_anomaly.step, verdict.first_anomaly.module]
"""


def measure(python: str, code: str, folder: Path, threads: int, repeat: int) -> dict[str, Any]:
    """Best of `repeat` runs: seconds, megabytes at the peak, and what was said."""
    environment = os.environ | {"POLARS_MAX_THREADS": str(threads), "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [python, "-c", textwrap.dedent(code + _REPORT), str(folder), str(threads)]
    runs = []
    for _ in range(repeat):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["s"])


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--threads", default=2, show_default=True)
@click.option("--repeat", default=3, show_default=True)
@click.option("--duckdb", "duckdb_python", default=sys.executable, help="Interpreter that has duckdb.")
def main(folder: Path, threads: int, repeat: int, duckdb_python: str) -> None:
    """Print ratios and peak memory side by side."""
    try:
        peer = measure(duckdb_python, _DUCKDB, folder, threads, repeat)
    except subprocess.CalledProcessError:
        peer = None
    print(f"{'':<28}{'seconds':>9}{'ratio':>8}{'peak MB':>9}  answer")
    for name, code in (("first bad row of each rank", _FIRST), ("whole causal answer", _WHOLE)):
        own = measure(sys.executable, code, folder, threads, repeat)
        ratio = f"{own['s'] / peer['s']:.2f}" if peer else "-"
        print(f"{name:<28}{own['s']:>9.2f}{ratio:>8}{own['mb']:>9.0f}  {own['said']}")
    if peer:
        print(f"{'DuckDB, first bad rows':<28}{peer['s']:>9.2f}{'1.00':>8}{peer['mb']:>9.0f}  {peer['said']}")


if __name__ == "__main__":
    main()
