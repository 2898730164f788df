"""Two signatures side by side."""

from collections.abc import Mapping


def compare(a: Mapping[str, str | None], b: Mapping[str, str | None]) -> tuple[list[str], bool]:
    """(a line per field that either has, equal fields marked "="; whether all agree)."""
    rows = [
        f"{'=' if a[name] == b[name] else '≠'} {name:<8} {a[name] or '-'}  |  {b[name] or '-'}"
        for name in a
        if a[name] or b[name]
    ]
    return rows, all(a[name] == b[name] for name in a)
