"""A few lines as somebody pastes them: one file, and what is made of it."""

from pathlib import Path

from forensics.analyze import analyze
from forensics.model.incident import Verdict


def verdict_of(folder: Path, text: str, name: str = "train.log") -> Verdict:
    """The lines as the only file of a bundle → its verdict."""
    (folder / name).write_text(text)
    return analyze(folder).verdict
