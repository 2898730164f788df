"""The same bundle gives the same bytes: determinism.py [BUNDLE …] [--seeds N …] [--threads N …]

Each bundle is read as a folder, a tar and a zip, in one process and in a pool of two with units of a few files, under
each hash seed of Python and each number of polars' threads; `incident.json`, the page and the tables, row by row, must be equal to the byte.
Without BUNDLE: fifteen of the samples. The documents lie in --out; where some differ, the exit status is 1.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import parsers
from forensics.analyze import conclude_evidence
from parsers.engine import ledger, pool
from reports import html
from reports import json as document

ROOT = Path(__file__).resolve().parent.parent
FORMS = ("folder", "tar", "zip")
COUNT = 15  # bundles
UNIT_FILES = 4  # of a pool's unit


def packed(bundle: Path, folder: Path) -> dict[str, Path]:
    """The bundle in each form, under one name: an incident says the name of its bundle."""
    made = {"folder": folder / "folder" / "bundle"}
    shutil.copytree(bundle, made["folder"])
    for form in FORMS[1:]:
        (folder / form).mkdir()
        archive = shutil.make_archive(str(folder / form / "bundle"), form, made["folder"])
        made[form] = Path(archive).rename(folder / form / "bundle")
    return made


def documents(path: Path, in_pool: bool) -> dict[str, bytes]:
    """What a bundle becomes, by the ending of the file."""
    if in_pool:
        evidence = parsers.read(str(path), map=lambda work, units: pool.in_processes(work, units, 2))
    else:
        evidence = parsers.read(str(path))
    report = conclude_evidence(evidence)
    return {
        "json": document.render(report),
        "html": html.render(report, generated="2026-01-01 00:00 UTC").encode(),
        "tables": "\n".join(f"{name} {table.write_json()}" for name, table in sorted(evidence.tables.items())).encode(),
    }


def inside(out: Path, bundles: Sequence[Path]) -> None:
    """In a process with its own hash seed: a line of JSON per run; each document goes to `out`, by its digest."""
    before = ledger.UNIT_FILES
    for bundle in bundles:
        with tempfile.TemporaryDirectory() as folder:
            for form, path in packed(bundle, Path(folder)).items():
                for in_pool in (False, True):
                    ledger.UNIT_FILES = UNIT_FILES if in_pool else before
                    for ending, data in documents(path, in_pool).items():
                        digest = hashlib.sha256(data).hexdigest()[:16]
                        kept = out / f"{digest}.{ending}"
                        if not kept.exists():
                            kept.write_bytes(data)
                        print(
                            json.dumps([str(bundle), f"{form}{', pool' if in_pool else ''}", ending, digest]),
                            flush=True,
                        )


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("bundles", nargs="*", type=Path)
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 4711])
    options.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options.add_argument("--out", type=Path, default=ROOT / ".bench" / "determinism")
    options.add_argument(
        "--resume", action="store_true", help="what an interrupted run of the same bundles has done stays done"
    )
    given = options.parse_args()
    samples = sorted((ROOT / "samples").glob("*/bundle"))
    bundles = given.bundles or samples[:: len(samples) // COUNT][:COUNT]
    if not given.resume:
        shutil.rmtree(given.out, ignore_errors=True)
    given.out.mkdir(parents=True, exist_ok=True)
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for seed, threads in product(given.seeds, given.threads):
        done = given.out / f"seed {seed}, {threads} threads"
        if not done.exists():
            own = {"PYTHONHASHSEED": str(seed), "POLARS_MAX_THREADS": str(threads), "PYTHONPATH": str(ROOT)}
            command = [sys.executable, __file__, "--inside", str(given.out), *map(str, bundles)]
            lines = subprocess.run(command, env=os.environ | own, stdout=subprocess.PIPE, check=True).stdout
            done.write_bytes(lines)
        for bundle, how, ending, digest in map(json.loads, done.read_text().splitlines()):
            found[bundle, ending][digest].append(f"{how}, {done.name}")
    differing = {key: digests for key, digests in found.items() if len(digests) > 1}
    for (bundle, ending), digests in differing.items():
        print(
            f"{bundle} {ending}: "
            + "; ".join(f"{digest}: {runs[0]} and {len(runs) - 1} more" for digest, runs in digests.items())
        )
    runs = sum(len(runs) for (_, ending), digests in found.items() if ending == "json" for runs in digests.values())
    print(f"{len(bundles)} bundles, {runs} runs, {len(differing)} documents differ")
    return 1 if differing else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside(Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]]))
    sys.exit(main())
