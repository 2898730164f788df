"""Tables of what a rank holds, as scripts draw them into its log, under any names: who alone has a part there that is no number."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
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


JUDGED: dict[str, tuple[str, Sequence[str], Sequence[Sequence[str]]]] = {  # title · names · rows, the last of which is bad on one rank
    "classes of samples": (
        "Sanity check, per-class results of this shard:", ("class", "AP", "AR"), (("car", "41.2", "50.1"), ("bicycle", "31.0", "40.7"))
    ),
    "a product that is called after weights": (
        "Weights & Biases: sanity metrics of this shard", ("class", "AP", "AR"), (("car", "41.2", "50.1"), ("bicycle", "31.0", "40.7"))
    ),
    "weights of classes": (
        "Weights of each class:", ("name", "share", "own"), (("car", "0.62", "1.2"), ("bicycle", "0.31", "2.4"))
    ),
    "sizes that weights are judged at": (
        "", ("weights", "size", "AP50", "AP"), (("yolo.n", "640x640", "41.2", "50.1"), ("yolo.s", "640x640", "31.0", "40.7"))
    ),
    "a share that holds none": (
        "Parameter overview:", ("Name", "Shape", *STD), (("enc.0.kernel", "(8, 4)", "0.01", "0.3"), ("head.kernel", "(0, 4)", "0.01", "0.3"))
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", JUDGED)
def test_what_is_judged_or_empty_is_nothing_that_was_loaded(tmp_path: Path, form: str) -> None:
    title, names, cells = JUDGED[form]
    files = {}
    for rank in range(4):
        bad = [[cell if cell[0].isalpha() or not cell[-1].isdigit() or "x" in cell else "nan" for cell in cells[-1]]]
        table = PRETTY(names, [*cells[:-1], *(bad if rank == 2 else cells[-1:])])
        steps = [
            f"step {step} loss {'nan' if step > 4 else f'{2.5 - step / 10 + rank / 100:.4f}'}" for step in range(9)
        ]
        lines = [f"rank {rank} of 4 pid {900 + rank}", "parallel config: dp=4 tp=1 pp=1", title, *table, *steps]
        files[f"logs/rank_{rank}.log"] = [line for line in lines if line]
    found = analyze(str(written(tmp_path, files))).verdict
    assert (found.cause, found.ranks, found.suspects.ranks) == ("nan_birth", [], [])


def _reported(
    folder: Path, words: str, behind: int, *, lost: int = 9, cut: int | None = None, by: Sequence[int] = range(4)
) -> Verdict:
    """Each rank reports its weights behind that step, those of rank 3 as nan, and all lose their loss at step `lost`; `cut`: where the logs of others end; `by`: who prints losses."""
    files = {}
    for rank in range(4):
        lines = [f"rank {rank} of 4 pid {900 + rank}", "parallel config: dp=4 tp=1 pp=1"]
        for step in range(1, 13):
            if rank in by:
                lines.append(f"step {step} loss {'nan' if step >= lost else f'{2.5 - step / 50 + rank / 100:.4f}'}")
            if step == behind:
                lines.append(f"{words} layers.2.weight absmax={'nan' if rank == 3 else f'0.81{rank}'}")
        files[f"logs/rank_{rank}.log"] = lines if rank == 3 else lines[:cut]
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(("words", "step"), [("state check", 8), ("resumed in place, loaded", 9)])
def test_what_all_report_behind_one_step_is_of_that_step_or_of_a_load(tmp_path: Path, words: str, step: int) -> None:
    found = _reported(tmp_path, words, 8)
    assert found.first_anomaly is not None
    assert (found.cause, found.ranks, found.first_anomaly.step) == ("bad_state", [3], step)


@pytest.mark.parametrize("words", ["state check", "resumed in place, loaded"])
def test_what_each_tells_once_stands_alike_where_one_prints_the_steps(tmp_path: Path, words: str) -> None:
    assert _reported(tmp_path, words, 8, by=[0]).ranks == [3]


@pytest.mark.parametrize("words", ["state check", "resumed in place, loaded"])
def test_what_one_alone_still_reports_names_nobody(tmp_path: Path, words: str) -> None:
    assert not _reported(tmp_path, words, 8, cut=9).ranks


@pytest.mark.parametrize("words", ["state dump", "a dump of what was loaded:"])
def test_a_report_behind_the_end_shows_no_beginning(tmp_path: Path, words: str) -> None:
    """All had lost their loss before they told it: which of both was first, it does not show."""
    assert not _reported(tmp_path, words, 12, lost=12).ranks


@pytest.mark.parametrize("line", [b"+--" * 100_000 + b"x", b"| --  -- " * 50_000 + b"x", b" \t" * 60_000 + b"x"])
def test_a_long_line_of_marks_is_looked_through_at_once(line: bytes) -> None:
    begun = process_time()
    assert PARSER.holds is not None and PARSER.follows is not None
    assert PARSER.holds.search(line) is None
    PARSER.follows.search(line)
    assert process_time() - begun < 5
