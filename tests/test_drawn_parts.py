"""Tables of what a rank holds, as scripts draw them into its log, under any names: who alone has a part there that is no number."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import pytest

from forensics import analyze
from parsers.numerics.logged_tables import PARSER
from tests.sources import written

PARTS = ("enc.0.kernel", "enc.0.bias", "head.kernel", "head.bias")
Rows = Sequence[Sequence[str]]
Draw = Callable[[Sequence[str], Rows], list[str]]


def _padded(names: Sequence[str], rows: Rows) -> list[list[str]]:
    wide = [max(len(row[at]) for row in (names, *rows)) for at in range(len(names))]
    return [[cell.ljust(width) for cell, width in zip(row, wide, strict=True)] for row in (names, *rows)]


def _boxed(top: str, middle: str, bottom: str, bar: str, *, between: bool = False) -> Draw:
    def draw(names: Sequence[str], rows: Rows) -> list[str]:
        head, *own = _padded(names, rows)
        rules = [
            mark[0] + mark[2].join(mark[1] * (len(cell) + 2) for cell in head) + mark[3] if mark else ""
            for mark in (top, middle, bottom)
        ]
        lines = [f"{bar} " + f" {bar} ".join(row) + f" {bar}" for row in own]
        body = [part for line in lines for part in (line, rules[1])][:-1] if between else lines
        return [
            line
            for line in (rules[0], f"{bar} " + f" {bar} ".join(head) + f" {bar}", rules[1], *body, rules[2])
            if line
        ]

    return draw  # fmt: skip


def _simple(mark: str, ends: bool) -> Draw:
    def draw(names: Sequence[str], rows: Rows) -> list[str]:
        head, *own = ["  ".join(row) for row in _padded(names, rows)]
        rule = "  ".join(mark * len(cell) for cell in _padded(names, rows)[0])
        return [*([rule] if ends else []), head, rule, *own, *([rule] if ends else [])]

    return draw


PRETTY = _boxed("+-++", "+-++", "+-++", "|")
MARKDOWN = _boxed("", "|-||", "", "|")
PSQL = _boxed("+-++", "|-+|", "+-++", "|")
GRID = _boxed("+-++", "+-++", "+-++", "|", between=True)
RICH = _boxed("┏━┳┓", "┡━╇┩", "└─┴┘", "│")
FANCY = _boxed("╒═╤╕", "╞═╪╡", "╘═╧╛", "│")
SIMPLE, RST = _simple("-", False), _simple("=", True)
STD = ("Mean", "Std")

# how it is drawn · title · names · before each line · ranks · the odd one · the number of the first step
FORMS: dict[str, tuple[Draw, str, Sequence[str], str, int, int, int]] = {
    "flax in absl's log": (PRETTY, "Parameter overview:", ("Name", "Shape", *STD), "", 4, 1, 200),
    "markdown": (MARKDOWN, "", ("parameter", "shape", "mean", "std"), "", 4, 2, 0),
    "psql": (PSQL, "loaded weights", ("tensor", "size", "avg", "spread"), "", 4, 0, 1),
    "grid": (GRID, "restored params:", ("Name", "Shape", "L2", "Peak"), "", 3, 2, 1),
    "rich": (RICH, "Parameters of the model", ("layer", "shape", "avg", "scale"), "", 4, 3, 10),
    "fancy": (FANCY, "Weights after restore", ("what", "shape", "lo", "hi"), "", 8, 5, 0),
    "simple": (SIMPLE, "", ("param", "Shape", "Mean", "Std"), "", 4, 1, 1),
    "rst": (RST, "Parameters:", ("Name", "Shape", "rms", "top"), "", 4, 1, 1),
    "a rank before each line": (PRETTY, "Parameter overview:", ("Name", "Shape", *STD), "[rank{}]: ", 4, 1, 1),
    "a launcher's place": (RICH, "Parameter overview:", ("Name", "Shape", *STD), "[default{}]:", 4, 2, 1),
    "optimizer state": (PRETTY, "Optimizer state:", ("part", "shape", "m", "v"), "", 4, 2, 1),
    "the names say it": (MARKDOWN, "", ("weights", "dims", "m1", "m2"), "", 5, 4, 1),
}  # fmt: skip


def rows(*, odd: bool, cells: tuple[str, str] = ("nan", "nan")) -> list[list[str]]:
    good = ("0.0171", "0.301")
    return [[part, "(8, 4)", *(cells if odd and part == "head.kernel" else good)] for part in PARTS]


def bundle(form: str, odd: Sequence[int] | None = None, *, spread: bool = True) -> dict[str, list[str]]:
    draw, title, names, mark, ranks, one, first = FORMS[form]
    odd = [one] if odd is None else odd
    files = {}
    for rank in range(ranks):
        table = draw(names, rows(odd=rank in odd))
        lost = [step for step in range(8) if spread and (step or rank in odd)]
        steps = [
            f"step {first + at} loss {'nan' if at in lost else f'{2.5 - at / 10 + rank / 100:.4f}'}" for at in range(8)
        ]
        lines = [f"rank {rank} of {ranks} pid {900 + rank}", *([title] if title else []), *table, "ready", *steps]
        files[f"logs/rank_{rank}.log"] = [mark.format(rank) + line for line in lines]
    return files  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_who_loaded_it_is_named(tmp_path: Path, form: str) -> None:
    found = analyze(str(written(tmp_path, bundle(form)))).verdict
    first = found.first_anomaly
    assert (found.kind, found.cause, found.ranks) == ("numerics", "bad_state", [FORMS[form][5]])
    assert first is not None and first.step == FORMS[form][6]


@pytest.mark.parametrize("form", ["flax in absl's log", "rich", "simple"])
@pytest.mark.parametrize("odd", [[0, 1, 2, 3], [1, 2]])
def test_what_several_hold_names_nobody(tmp_path: Path, form: str, odd: list[int]) -> None:
    assert not analyze(str(written(tmp_path, bundle(form, odd)))).verdict.ranks


@pytest.mark.parametrize("form", ["flax in absl's log", "rich", "simple"])
def test_what_led_to_nothing_is_no_fault(tmp_path: Path, form: str) -> None:
    """A statistic of a part that has none, in a job that trains on."""
    files = {path: [*lines, "training finished"] for path, lines in bundle(form, spread=False).items()}
    assert analyze(str(written(tmp_path, files))).verdict.kind == "healthy"


@pytest.mark.parametrize("form", ["flax in absl's log", "rich", "simple"])
def test_without_the_table_of_another_nobody_is_named_for_it(tmp_path: Path, form: str) -> None:
    files = bundle(form)
    last = FORMS[form][4] - 1
    other = 0 if FORMS[form][5] == last else last
    path = f"logs/rank_{other}.log"
    files[path] = [files[path][0], *files[path][files[path].index("ready") :]]
    found = analyze(str(written(tmp_path, files))).verdict
    assert found.cause != "bad_state"


@pytest.mark.parametrize("form", ["flax in absl's log", "rich", "rst"])
def test_the_spread_of_a_single_value_is_no_fault(tmp_path: Path, form: str) -> None:
    files = bundle(form)
    odd = f"logs/rank_{FORMS[form][5]}.log"
    files[odd] = [line.replace("nan  ", "0.02 ", 1) if "kernel" in line else line for line in files[odd]]
    found = analyze(str(written(tmp_path, files))).verdict
    assert found.cause != "bad_state"


@pytest.mark.parametrize("form", ["flax in absl's log", "rich", "rst"])
def test_a_table_of_the_middle_tells_nothing_of_what_was_loaded(tmp_path: Path, form: str) -> None:
    """All print one before the first step and one later; who alone still has the later one in its log shows what all came to."""
    files = bundle(form, [])
    one, last = f"logs/rank_{FORMS[form][5]}.log", bundle(form)
    table = last[one][: last[one].index("ready")][1:]
    files[one] = [*files[one], *table]
    assert analyze(str(written(tmp_path, files))).verdict.ranks == []
    files[one] = [*files[one][:-4], *table, *files[one][-4:]]
    assert analyze(str(written(tmp_path / "again", files))).verdict.ranks == []


@pytest.mark.parametrize("line", [b"+--" * 100_000 + b"x", b"| --  -- " * 50_000 + b"x", b" \t" * 60_000 + b"x"])
def test_a_long_line_of_marks_is_looked_through_at_once(line: bytes) -> None:
    begun = process_time()
    assert PARSER.holds is not None and PARSER.follows is not None
    assert PARSER.holds.search(line) is None
    PARSER.follows.search(line)
    assert process_time() - begun < 5
