"""A report → the same one without its owner's names: every text in it, wherever it stands, in both languages."""

from typing import Any

import msgspec
from msgspec.structs import replace

from forensics.model.said import Said
from forensics.redact.names import Renaming
from forensics.report import Report

BUNDLE = "bundle"  # its file name may be the job's


def redacted(report: Report, renaming: Renaming) -> Report:
    """The report renamed. Tables that a notebook hangs on it do not come along."""
    renamed: Report = _renamed(report, renaming)
    environment = [  # the one place where what the bundle says is a key
        replace(row, values={renaming.text(value): who for value, who in row.values.items()})
        for row in renamed.environment
    ]
    return replace(renamed, bundle=replace(renamed.bundle, name=BUNDLE), environment=environment)


def _renamed(value: Any, renaming: Renaming) -> Any:
    if isinstance(value, Said):
        return Said(renaming.text(str(value)), renaming.text(value.zh))
    if isinstance(value, str):
        return renaming.text(value)
    if isinstance(value, msgspec.Struct):
        return type(value)(**{name: _renamed(getattr(value, name), renaming) for name in value.__struct_fields__})
    if isinstance(value, dict):
        return {key: _renamed(item, renaming) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(item, renaming) for item in value)
    return value
