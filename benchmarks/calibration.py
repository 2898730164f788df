"""How often each status word was right, on bundles with a table of what must be said of them.

    python benchmarks/calibration.py FOLDER EXPECT.json [FOLDER EXPECT.json …]

EXPECT: bundle → {"kinds", "causes", "ranks" | "ranks_any", "may", "hosts", "cycle", "args"}, absent = any. A verdict is right
where all of these are as expected. `established` must be right every time, or the rule that gave it is wrong.
"""

import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forensics import analyze
from forensics.model.incident import Verdict

_TRUTHS = {"truth.json", "meta.json", "peer_out.txt", "fault_injection.log", "README.md"}
_WORDS = ("established", "supported", "hypothesis", "unknown")


def is_right(verdict: Verdict, expected: dict[str, Any]) -> bool:
    """Kind, cause, ranks, cycle and hosts as the table has them."""
    sets = [set(one) for one in expected.get("ranks_any", [expected["ranks"]] if "ranks" in expected else [])]
    named = set(verdict.ranks)
    hosts = {*verdict.hosts, *(device.host for device in verdict.devices)}
    return (
        verdict.kind in expected.get("kinds", [verdict.kind])
        and verdict.cause in expected.get("causes", [verdict.cause])
        and (not sets or any(one <= named <= one | set(expected.get("may", [])) for one in sets))
        and set(expected.get("cycle", verdict.cycle)) == set(verdict.cycle)
        and ("hosts" not in expected or bool(hosts & set(expected["hosts"])))
    )


def judged(folder: Path, table: Path) -> Iterator[tuple[str, str, bool]]:
    """(status, kind, right) of every bundle; truth files are hidden from the analysis."""
    for name, expected in sorted(json.loads(table.read_text()).items()):
        source = folder / name
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(temporary) / "bundle"
            if source.is_file():
                copy.mkdir()
                lines = source.read_text().splitlines(True)
                (copy / "train.log").write_text("".join(line for line in lines if not line.startswith("# source")))
            else:
                shutil.copytree(source, copy, ignore=lambda _, names: [one for one in names if one in _TRUTHS])
            report = analyze(copy, hung="--hung" in expected.get("args", []))
        verdict = report.incidents[report.primary].verdict
        yield verdict.status, verdict.kind, is_right(verdict, expected)


def main() -> None:
    """One row per folder and kind, a column per status word: right of all."""
    print("| bundles | kind | " + " | ".join(_WORDS) + " |\n|---|---|" + "---|" * len(_WORDS))
    for folder, table in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for status, kind, right in judged(Path(folder), Path(table)):
            for row in (kind, "all"):
                counts[row][status][0] += right
                counts[row][status][1] += 1
        for kind in sorted(counts, key=lambda one: (one == "all", one)):
            cells = [counts[kind].get(word) for word in _WORDS]
            print(
                f"| {Path(folder).name} | {kind} | "
                + " | ".join(f"{c[0]} of {c[1]}" if c else "" for c in cells)
                + " |"
            )


if __name__ == "__main__":
    main()
