"""Writes a simulated incident to a folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write_bundle(folder: Path, files: Iterable[tuple[str, bytes]], truth: dict[str, Any]) -> None:
    """The bundle below `folder`/bundle and truth.json beside it. Raises FileExistsError if it is there."""
    bundle = folder / "bundle"
    bundle.mkdir(parents=True)
    for path, content in files:
        target = bundle / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
