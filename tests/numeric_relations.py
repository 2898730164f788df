"""Bundles of figures told otherwise: modules and tensors under other names, columns under other names or left out one by one, rows in other
forms. Whoever is named then was named before, or is the culprit.

`python -m tests.numeric_relations` goes through all of it; the tests take a few of each bundle.
"""

import csv
import gzip
import io
import json
import lzma
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests import analysed
from tests.relations import SAMPLES, look, outcome

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases"
SETS = ("num2", "numreal")
HIDDEN = {"truth.json", "meta.json", "peer_out.txt", "fault_injection.log", "README.md"}
UNPACK: Mapping[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
Files = dict[str, bytes]
Row = dict[str, Any]
Change = Callable[[list[Row]], list[Row]]


def bundles() -> Iterator[tuple[str, Path, frozenset[int]]]:
    """Name, folder, and whom its truth allows to be named, of each sample and case that is about figures."""
    for path in sorted(SAMPLES.glob("*/truth.json")):
        truth = json.loads(path.read_text())
        if "numerics" in truth.get("kinds", [truth.get("kind")]) or "tensors" in path.parent.name:
            yield path.parent.name, path.parent / "bundle", _allowed(truth)
    for name in SETS:
        if (CASES / name / "expect.json").exists():
            for case, truth in json.loads((CASES / name / "expect.json").read_text()).items():
                yield f"{name} {case}", CASES / name / case, _allowed(truth)


def _allowed(truth: Mapping[str, Any]) -> frozenset[int]:
    return frozenset(
        (*truth.get("ranks", ()), *truth.get("may", ()), *(one for any_ in truth.get("ranks_any", ()) for one in any_))
    )


def files_of(folder: Path) -> Files:
    """By name below the folder; what is packed is unpacked."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in HIDDEN:
            unpack = UNPACK.get(path.suffix)
            name = path if unpack is None else path.with_suffix("")
            found[str(name.relative_to(folder))] = (unpack or bytes)(path.read_bytes())
    return found


# --- tables ----------------------------------------------------------------------------------------------------------


def rows_of(name: str, data: bytes) -> list[Row] | None:
    """The rows of a table of objects or commas; None for what is none."""
    try:
        text = data.decode()
        if name.endswith(".csv"):
            return list(csv.DictReader(io.StringIO(text)))
        found = [json.loads(line) for line in text.splitlines()] if text.startswith("{") else []
    except ValueError:
        return None
    return found if found and all(isinstance(row, dict) for row in found) else None


def _cell(value: Any) -> str:
    return "" if value is None else json.dumps(value) if isinstance(value, list | dict | bool) else str(value)


def objects(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _separated(mark: str) -> Callable[[list[Row]], bytes]:
    def written(rows: list[Row]) -> bytes:
        names = list(dict.fromkeys(name for row in rows for name in row))
        out = io.StringIO()
        table = csv.writer(out, delimiter=mark, lineterminator="\n")
        table.writerow(names)
        table.writerows([[_cell(row.get(name)) for name in names] for row in rows])
        return out.getvalue().encode()

    return written


def _drawn(rows: list[Row]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, ["---"] * len(names), *([_cell(row.get(name)).replace("|", "/") for name in names] for row in rows)]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines).encode()


FRAMINGS: Mapping[str, tuple[str, Callable[[list[Row]], bytes]]] = {
    "objects": (".jsonl", objects),
    "commas": (".csv", _separated(",")),
    "tabs": (".tsv", _separated("\t")),
    "semicolons": (".csv", _separated(";")),
    "drawn": (".md", _drawn),
}


# --- what is told otherwise ------------------------------------------------------------------------------------------


def _other(word: str) -> str:
    """Another name, the same for the same; numbers stay."""
    return word if word.isdigit() else "".join(random.Random(word).choices("bdfgklmprtvz", k=4)) + "a"


def _renamed(column: str, keep: int) -> Change:
    """All but the first `keep` parts of the names in a column."""

    def change(rows: list[Row]) -> list[Row]:
        made = []
        for row in rows:
            parts = str(row[column]).split(".") if row.get(column) not in (None, "") else []
            made.append(row | ({column: ".".join([*parts[:keep], *map(_other, parts[keep:])])} if parts else {}))
        return made

    return change


def _without(column: str) -> Change:
    return lambda rows: [{name: cell for name, cell in row.items() if name != column} for row in rows]


def _called_otherwise(column: str) -> Change:
    return lambda rows: [{_other(name) if name == column else name: cell for name, cell in row.items()} for row in rows]


def relations(files: Files) -> Iterator[tuple[str, Callable[[], Files]]]:
    """What is told otherwise, and what makes the bundle that tells it."""
    tables = {name: rows for name, data in files.items() if (rows := rows_of(name, data))}
    columns = sorted({column for rows in tables.values() for row in rows[:200] for column in row})
    changes: list[tuple[str, Change]] = [
        ("other modules", _renamed("module", 0)),
        ("other tensors", _renamed("tensor", 1)),
        ("other operators", _renamed("op", 0)),
    ]
    changes += [(f"without {column}", _without(column)) for column in columns]
    changes += [(f"{column} called otherwise", _called_otherwise(column)) for column in columns]
    rest = {name: data for name, data in files.items() if name not in tables}
    for said, change in changes if tables else ():
        yield said, partial(_changed, files, tables, change)
    for form, (suffix, written) in FRAMINGS.items() if tables else ():
        yield f"as {form}", partial(_framed, rest, tables, suffix, written)


def _changed(files: Files, tables: Mapping[str, list[Row]], change: Change) -> Files:
    told = {
        name: FRAMINGS["commas" if name.endswith(".csv") else "objects"][1](change(rows))
        for name, rows in tables.items()
    }
    return files | told


def _framed(rest: Files, tables: Mapping[str, list[Row]], suffix: str, written: Callable[[list[Row]], bytes]) -> Files:
    return rest | {str(Path(name).with_suffix(suffix)): written(rows) for name, rows in tables.items()}


def newly(name: str, folder: Path, allowed: frozenset[int], few: int | None = None) -> Iterator[str]:
    """What names somebody new, over all relations or a few of them. The bundle as it is is asked only where the changed one names
    somebody whom the truth does not allow."""
    files = files_of(folder)
    told = list(relations(files))
    chosen = told if few is None else random.Random(name).sample(told, min(few, len(told)))
    for said, changed in chosen:
        named = look(changed()).named - allowed
        if named and (new := named - _named(folder)):
            yield f"{name}, {said}: {sorted(map(str, new))}"


@cache
def _named(folder: Path) -> frozenset[int | str]:
    """Whom the bundle as it is names; a sample was analysed by others, too."""
    if folder.parent.parent == SAMPLES:
        return outcome(analysed.sample(folder.parent.name)).named
    return look(files_of(folder)).named


if __name__ == "__main__":
    wrong = 0
    for one in bundles():
        for line in newly(*one):
            wrong += 1
            print(line, flush=True)
    sys.exit(bool(wrong))
