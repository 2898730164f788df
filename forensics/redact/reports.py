"""A report → the same one without its owner's names: every text in it, wherever it stands."""

from typing import Any

import msgspec

from forensics.model.incident import Report
from forensics.redact.names import Renaming

BUNDLE = "bundle"  # its file name may be the job's


def redacted(report: Report, renaming: Renaming) -> Report:
    """The report renamed. Tables that a notebook hangs on it do not come along."""
    renamed = _renamed(msgspec.to_builtins(report), renaming)
    renamed["bundle"]["name"] = BUNDLE
    for row in renamed["environment"]:  # the one place where what the bundle says is a key
        row["values"] = {renaming.text(value): who for value, who in row["values"].items()}
    return msgspec.convert(renamed, Report)


def _renamed(value: Any, renaming: Renaming) -> Any:
    if isinstance(value, str):
        return renaming.text(value)
    if isinstance(value, dict):
        return {key: _renamed(item, renaming) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(item, renaming) for item in value]
    return value
