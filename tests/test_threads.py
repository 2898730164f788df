"""However many threads polars has, every sample's document is the same: the other tests give it one, and most machines more."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import polars as pl

from forensics.model.said import encoded
from tests.analysed import NAMES, SAMPLES, sample

ROOT = Path(__file__).resolve().parent.parent
THREADS = 4 if pl.thread_pool_size() == 1 else 1  # not as many as here
TOLD = """
import sys
from pathlib import Path

import msgspec
import polars as pl

from forensics import analyze
from forensics.model.said import encoded

assert pl.thread_pool_size() == int(sys.argv[1])
for bundle in sys.argv[2:]:
    print(msgspec.json.encode(analyze(bundle), enc_hook=encoded, order="deterministic").decode())
"""


def test_the_documents_of_all_samples_are_the_same_with_more_threads() -> None:
    bundles = [str(SAMPLES / name / "bundle") for name in NAMES]
    own = {"POLARS_MAX_THREADS": str(THREADS), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", TOLD, str(THREADS), *bundles], env=os.environ | own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name, told in zip(NAMES, done.stdout.splitlines(), strict=True):
        assert told == msgspec.json.encode(sample(name), enc_hook=encoded, order="deterministic").decode(), name
