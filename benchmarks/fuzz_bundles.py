"""Spoils files of recorded bundles and goes the whole way to the outputs: fuzz_bundles.py [--seconds S] [--seed N]

An input is one bundle, a sample of which one to three files are spoiled. Wrong is an error that leaves the analysis or an
output, or more than SLOW seconds of processor time. What broke is printed with its seed, the exit status is 1 then.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import fuzz_inputs
import polars as pl

import parsers
from forensics.analyze import conclude_evidence
from reports import html, markdown, terminal
from reports import json as document

SLOW = 10.0  # seconds for a bundle of at most MOST bytes
MOST = 2 << 20


def spoil(chance: random.Random, bundle: Path) -> None:
    """One to three files of the bundle."""
    files = sorted(path for path in bundle.rglob("*") if path.is_file())
    for path in chance.sample(files, min(len(files), chance.randrange(1, 4))):
        data = path.read_bytes()
        if fuzz_inputs.is_document(data):
            seeds = fuzz_inputs.Seeds(documents=[data])
        else:
            seeds = fuzz_inputs.Seeds(lines=data.splitlines() or [b"x"], texts=[data])
        path.write_bytes(fuzz_inputs.spoiled(chance, seeds).data)


def failure(bundle: Path) -> str | None:
    """Where the way from a bundle to its outputs breaks."""
    began = time.process_time()
    try:
        report = conclude_evidence(parsers.read(str(bundle)))
        document.render(report)
        html.render(report, generated="2026-01-01 00:00 UTC")
        markdown.render(report)
        terminal.render(report, color=True)
    except parsers.BundleError:
        return None
    except (Exception, pl.exceptions.PanicException) as error:
        return f"{type(error).__name__}: {error} at {traceback.extract_tb(error.__traceback__)[-1]}"
    spent = time.process_time() - began
    return f"{spent:.1f} seconds" if spent > SLOW else None


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--seconds", type=float, default=600)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    samples = [
        path
        for path in sorted((fuzz_inputs.ROOT / "samples").glob("*/bundle"))
        if sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) < MOST
    ]
    until, tried, broken = time.monotonic() + given.seconds, 0, set[str]()
    while time.monotonic() < until:
        chance = random.Random(f"{given.seed}-{tried}")
        sample = chance.choice(samples)
        with tempfile.TemporaryDirectory() as folder:
            bundle = Path(shutil.copytree(sample, Path(folder) / "bundle"))
            spoil(chance, bundle)
            wrong = failure(bundle)
        if wrong and wrong not in broken:
            broken.add(wrong)
            print(
                json.dumps({"sample": sample.parent.name, "seed": f"{given.seed}-{tried}", "wrong": wrong[:500]}),
                flush=True,
            )
        tried += 1
    print(f"{tried:,} bundles, {len(broken)} ways to break")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
