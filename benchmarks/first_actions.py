"""Of all samples, situations and real cases: how often the first thing to do comes with a command.

Run: python benchmarks/first_actions.py [--only NAME] [--without] (those without a command are listed)

A run of which nothing has to be repaired (healthy, stopped from outside) asks for nothing and is not counted. Those whose
command only prints how the next run leaves the evidence (`forensics setup`) are told apart. The real cases are those of ../shared/cases beside the repository, or of the
folder that FORENSICS_CASES names; without them the rest is counted.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from forensics import Report, analyze
from reports.answer import actions
from samples.words import answers

CASES = Path(os.environ.get("FORENSICS_CASES") or Path(__file__).resolve().parents[2] / "shared" / "cases")


def cases(only: str = "") -> Iterator[tuple[str, Report]]:
    """(name, report) of every case that an expect.json knows, asked as that file says."""
    for told in sorted(CASES.glob("**/expect.json")):
        for name, expect in json.loads(told.read_text()).items():
            path = told.parent / name
            if name.startswith(only) and path.exists():
                yield path.relative_to(CASES).as_posix(), analyze(path, hung="--hung" in expect.get("args", ()))


def first(report: Report) -> tuple[str, str | None] | None:
    """The first thing to do and its command; null where nothing is to be done."""
    told = actions(report.incidents[report.primary]) if report.incidents else []
    return (f"{told[0].kind} {told[0].target}", told[0].command) if told and told[0].kind != "ignore" else None


@click.command()
@click.option("--only", default="", help="Names that begin so.")
@click.option("--without", is_flag=True, help="List those without a command.")
def main(only: str, without: bool) -> None:
    asked, told, printed = Counter[str](), Counter[str](), 0
    for name, report in (*answers(only), *cases(only)):
        if (one := first(report)) is None:
            continue
        kind = f"{report.incidents[report.primary].verdict.cause}"
        asked[kind] += 1
        told[kind] += one[1] is not None
        printed += (one[1] or "").startswith("forensics setup")
        if without and one[1] is None:
            print(f"{name}: {kind}: {one[0]}")
    for kind, number in asked.most_common():
        print(f"{kind:24} {told[kind]:4} of {number:4}")
    share = f"{told.total() / max(1, asked.total()):.0%}"
    print(
        f"{'all':24} {told.total():4} of {asked.total():4} ({share}) with a command, {printed} of them for the next run"
    )


if __name__ == "__main__":
    main()
