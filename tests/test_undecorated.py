"""What somebody's tools put around every line of a file is taken away again; whatever the lines themselves have stays."""

import html
from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from parsers.archive.undecorated import lines_of, may_be
from tests.sources import py_spy_dump


def each(form: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "".join(form(at, line) + "\n" for at, line in enumerate(text.splitlines(), 1))


FORMS: dict[str, Callable[[str], str]] = {
    "a quotation": each(lambda _, line: f"> {line}"),
    "a quotation, cut at its end": each(lambda _, line: f"> {line}".rstrip()),
    "a quotation of one": each(lambda _, line: f"> > {line}"),
    "bars": each(lambda _, line: f"| {line}"),
    "indented": each(lambda _, line: f"    {line}"),
    "a tab": each(lambda _, line: f"\t{line}"),
    "cat -n": each(lambda at, line: f"{at:6}\t{line}"),
    "cat -n of a part": each(lambda at, line: f"{at + 995:6}\t{line}"),
    "grep -n": each(lambda at, line: f"{at}:{line}"),
    "colours": each(lambda _, line: f"\x1b[32m{line}\x1b[0m"),
    "entities": html.escape,
    "a page": lambda text: f"<pre>\n{html.escape(text)}</pre>\n",
    "a mark of its encoding": lambda text: "\ufeff" + text,
    "numbers in a quotation": each(lambda at, line: f"> {at:6}\t{line}"),
}
DUMPS = {
    rank: py_spy_dump(410 + rank, frame, line)
    for rank, (frame, line) in enumerate(
        [("all_reduce (torch/distributed/distributed_c10d.py:2501)", 41)] * 2
        + [("read (io.py:81)", 33)]
        + [("all_reduce (torch/distributed/distributed_c10d.py:2501)", 41)] * 3
    )
}


def told(folder: Path, form: Callable[[str], str]) -> tuple[object, ...]:
    folder.mkdir()
    for rank, text in DUMPS.items():
        (folder / f"rank_{rank}.txt").write_text(form(text))
    said = analyze(folder, hung=True).verdict
    return said.kind, said.cause, said.ranks


@pytest.mark.parametrize("form", FORMS)
def test_stacks_are_read_whatever_stands_around_their_lines(form: str, tmp_path: Path) -> None:
    assert told(tmp_path / "plain", str) == ("hang", "rank_absent", [2])
    assert told(tmp_path / "copied", FORMS[form]) == ("hang", "rank_absent", [2])


@pytest.mark.parametrize("form", FORMS)
def test_the_lines_are_those_of_before_and_keep_their_numbers(form: str) -> None:
    data = FORMS[form](DUMPS[0]).encode()
    assert may_be(data)
    found = (lines_of(data) or b"").decode().strip("\n").splitlines()
    assert [line.rstrip() for line in found] == [line.rstrip() for line in DUMPS[0].splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        DUMPS[0],
        "".join(f"{at}: gn{at:02}\n" for at in range(16)),  # tasks of a launcher, a line each
        "".join(f"{at}\t0.5{at}\n" for at in range(1, 16)),  # a column of steps
        "| rank | loss |\n|---|---|\n| 0 | 2.1 |\n| 1 | 2.2 |\n",
        "rank\tloss\n" + "".join(f"{at:6}\t2.1\n" for at in range(6)),
        ">>> 1 + 1\n2\n>>> 2 + 2\n4\n",
        "5:step 1 loss 2.1\n9:step 5 loss 2.0\n",  # what a search found
        "x &lt; y in a <b>page</b> of <a href='#'>links</a>\n",
        "> said\nand answered\n",
    ],
)
def test_other_files_stay_as_they_are(text: str) -> None:
    assert lines_of(text.encode()) is None
