"""The same bundle gives the same bytes, whatever it is packed in and whoever reads it; `make determinism` does it for more."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_folder_tar_zip_pool_and_hash_seed_change_no_byte(tmp_path: Path) -> None:
    bundle = str(ROOT / "samples" / "order_inversion" / "bundle")
    done = subprocess.run(
        [sys.executable, "benchmarks/determinism.py", bundle, "--seeds", "1", "2", "--threads", "2", "--out", str(tmp_path)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()) == (0, ["1 bundles, 12 runs, 0 documents differ"]), done.stderr
