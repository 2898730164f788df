"""Builds a case from a few rows of evidence, along the road that analyze takes."""

from typing import Any

from forensics.analyze import case_of
from forensics.case import Case
from parsers.tables import TABLE_NAMES, table


def case(events: list[dict[str, Any]] = (), expected: int | None = None, **tables: list[dict[str, Any]]) -> Case:  # type: ignore[assignment]
    """Rows get a file and a line where they state none, and errors a severity; a rank without space is global."""
    rows = []
    for number, given in enumerate(events, 1):
        row = {"file": "a.log", "line": number, "severity": "error", "text": f"line {number}"} | given
        if row.get("rank") is not None:
            row.setdefault("rank_space", "global")
        rows.append(row)
    others = {
        name: [
            ({} if name == "files" else {"file": f"{name}.log", "line": number}) | row
            for number, row in enumerate(given, 1)
        ]
        for name, given in tables.items()
    }
    others["events"] = rows
    return case_of({name: table(name, others.get(name, [])) for name in TABLE_NAMES}, 0, expected)
