"""Everything that a reader can be told, in one file: the terminal's answer and the Markdown of every sample and situation,
and the same answer in Chinese.

Run by `make words`; the file is read as a text, and corrected where it does not read well.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from forensics import Report, analyze
from reports import markdown, terminal
from samples.situations import CASES, write

SAMPLES = Path(__file__).resolve().parent


def answers(only: str = "") -> Iterator[tuple[str, Report]]:
    """(name, report) of every bundle whose name begins with `only`."""
    for truth in sorted(SAMPLES.glob(f"{only}*/truth.json")):
        yield truth.parent.name, analyze(truth.parent / "bundle")
    for name, case in CASES.items():
        if name.startswith(only):
            with TemporaryDirectory() as folder:
                write(name, Path(folder) / name)
                yield name, analyze(Path(folder) / name, hung="--hung" in case.expect.get("args", ()))


def main(target: str, only: str = "") -> None:
    with Path(target).open("w") as stream:
        for name, report in answers(only):
            chinese = terminal.render(report, color=False, width=None, language="zh")
            shown = terminal.render(report, color=False), markdown.render(report), chinese
            stream.write("\n".join([f"{'=' * 20} {name}", "", *shown]))


if __name__ == "__main__":
    main(*sys.argv[1:])
