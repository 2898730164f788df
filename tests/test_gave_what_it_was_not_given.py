"""Who gave out a bad value where it was given a good one is named, however its lines say what went in and what came out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

STEPS, FIRST = 8, 5
Bad = Callable[[int, int, str], bool]  # rank, step, "in" or "out" of its last part
Cell = Callable[[int, int, int, str], str]  # rank, step, part, side


def _size(rank: int, step: int, part: int, side: str) -> float:
    return 2.0 + rank / 10 + step / 100 + part / 7 + (side == "out") / 3


def _of(odd: int, bad: str) -> Cell:
    """A pipeline: at first one stage's last part, and all behind it; then everybody, by their parameters."""

    def cell(rank: int, step: int, part: int, side: str) -> str:
        first = step == FIRST and (rank > odd or (rank, part, side) == (odd, 1, "out"))
        later = step > FIRST and (rank, part, side) != (0, 0, "in")
        return bad if (first and rank == odd) else "nan" if first or later else f"{_size(rank, step, part, side):.3f}"

    return cell


Line = Callable[[int, int, int, Cell], str]


def _lines(form: str) -> Line:
    def line(rank: int, step: int, part: int, cell: Cell) -> str:
        return form.format(
            r=rank, s=step, m=2 * rank + part, i=cell(rank, step, part, "in"), o=cell(rank, step, part, "out")
        )

    return line


def _merged(folder: Path, form: str, cell: Cell, world: int) -> None:
    line = _lines(form)
    text = [f"[rank{rank}]: stage {rank} of {world} up, pid {700 + rank}" for rank in range(world)]
    for step in range(STEPS):
        for rank in range(world):
            text += [f"[rank{rank}]: " + line(rank, step, part, cell) for part in range(2)]
        text.append(f"[rank{world - 1}]: step {step} loss {cell(world - 1, step, 1, 'out')}")
    (folder / "run.log").write_text("\n".join(text) + "\n")


def _tagged(folder: Path, form: str, cell: Cell, world: int) -> None:
    line = _lines(form)
    text = [f"[1,{rank}]<stdout>: rank {rank} of {world}, pid {700 + rank}" for rank in range(world)]
    for step in range(STEPS):
        for rank in reversed(range(world)):
            text += [f"[1,{rank}]<stdout>:" + line(rank, step, part, cell) for part in range(2)]
    (folder / "np.out").write_text("\n".join(text) + "\n")


def _apart(name: str, head: str = "") -> Callable[[Path, str, Cell, int], None]:
    def write(folder: Path, form: str, cell: Cell, world: int) -> None:
        line = _lines(form)
        for rank in range(world):
            text = [head.format(r=rank, w=world)] if head else []
            text += [line(rank, step, part, cell) for step in range(STEPS) for part in range(2)]
            (folder / name.format(r=rank)).write_text("\n".join(text) + "\n")

    return write


def _headed(folder: Path, form: str, cell: Cell, world: int) -> None:
    line = _lines(form)
    for rank in range(world):
        text = [f"rank {rank} of {world}"]
        for step in range(STEPS):
            text += [f"### step {step}", "", "| module | in | out |", "|---|---|---|"]
            text += [*(line(rank, step, part, cell) for part in range(2)), ""]
        (folder / f"rank_{rank}.log").write_text("\n".join(text) + "\n")


_RANKS = "rank {r} of {w}"
FORMS = {
    "prose": (_merged, "  fwd block.{m}  step {s} mb 1 absmax in={i} out={o}"),
    "prose, step first": (_apart("rank_{r}.log", _RANKS), "step {s} block.{m} in {i} out {o}"),
    "pairs": (_merged, "step {s} | block.{m} | input absmax {i} | output absmax {o}"),
    "bars": (_tagged, "  {s:>3}  ffn {m}  rows  37  max|in|    {i:>7}  max|out|    {o:>7}"),
    "bars, step told": (_tagged, "it {s}: ffn {m} |x_in|={i} |x_out|={o}"),
    "logfmt": (_apart("w{r}.log", _RANKS), "level=info rank={r} step={s} layer=block.{m} in_max={i} out_max={o}"),
    "objects": (_apart("rank_{r}.jsonl"), '{{"step": {s}, "rank": {r}, "module": "block.{m}", "in_absmax": "{i}", "out_absmax": "{o}"}}'),
    "nested": (_apart("rank_{r}.jsonl"), '{{"it": {s}, "rank": {r}, "layer": "block.{m}", "in": {{"amax": "{i}"}}, "out": {{"amax": "{o}"}}}}'),
    "commas": (_apart("rank_{r}.csv", "step,module,absmax_in,absmax_out"), "{s},block.{m},{i},{o}"),
    "markdown": (_apart("rank_{r}.md", "| step | module | in | out |\n|---|---|---|---|"), "| {s} | block.{m} | {i} | {o} |"),
    "ends told behind": (_merged, "block.{m}: input max {i}, output max {o} (step {s})"),
    "arrow": (_merged, "step {s} block.{m} amax {i} -> {o}"),
    "under headings": (_headed, "| block.{m} | {i} | {o} |"),
    "received": (_merged, "step {s} stage part {m} received absmax {i} produced absmax {o}"),
    "before and after": (_apart("rank_{r}.log", _RANKS), "[step {s}] layer {m} before: {i} after: {o}"),
}  # fmt: skip
WORLDS = (4, 3, 6)


def _told(folder: Path, form: str, cell: Cell, world: int) -> Report:
    write, line = FORMS[form]
    write(folder, line, cell, world)
    return analyze(folder)


@pytest.mark.parametrize("form", FORMS)
def test_who_gave_it_is_named(tmp_path: Path, form: str) -> None:
    at = list(FORMS).index(form)
    world, bad = WORLDS[at % 3], ("nan", "5.29e+37", "inf")[at // 3 % 3]
    odd = 1 + at % (world - 1)
    verdict = _told(tmp_path, form, _of(odd, bad), world).verdict
    first = verdict.first_anomaly
    assert (verdict.kind, list(verdict.ranks), first and first.step) == ("numerics", [odd], FIRST)


def _numbers(rank: int, step: int, part: int, side: str) -> str:
    return f"{_size(rank, step, part, side):.3f}"


def _bad_where(is_bad: Callable[[int, int, int, str], bool]) -> Cell:
    return lambda *at: "nan" if is_bad(*at) else _numbers(*at)


def _all_together(rank: int, step: int, part: int, side: str) -> bool:
    return step >= FIRST and side == "out"


def _two_of_them(rank: int, step: int, part: int, side: str) -> bool:
    return step > FIRST or (step == FIRST and rank in (0, 1) and side == "out")


def _told_by_others(rank: int, step: int, part: int, side: str) -> bool:
    return step > FIRST or (step == FIRST and rank == 1)


def _came_back(rank: int, step: int, part: int, side: str) -> bool:
    return step == FIRST and rank == 1 and (part, side) == (1, "out")


def _ever(rank: int, step: int, part: int, side: str) -> bool:
    return side == "out" and part == 1


@pytest.mark.parametrize("form", ["prose", "nested"])
@pytest.mark.parametrize("is_bad", [_all_together, _two_of_them, _told_by_others, _came_back, _ever])
def test_nobody_is_named_where_it_was_not_one_alone(
    tmp_path: Path, form: str, is_bad: Callable[[int, int, int, str], bool]
) -> None:
    assert not _told(tmp_path, form, _bad_where(is_bad), 4).verdict.ranks


@pytest.mark.parametrize("form", ["prose, step first", "commas"])
@pytest.mark.parametrize("lost", ["its file", "its end", "one part"])
def test_a_rank_of_which_a_row_is_missing_may_have_made_it(tmp_path: Path, form: str, lost: str) -> None:
    write, line = FORMS[form]
    write(tmp_path, line, _of(1, "nan"), 4)
    (tmp_path / "run.txt").write_text("world_size=4\n")
    path = next(one for one in sorted(tmp_path.iterdir()) if "0" in one.name)
    text = path.read_text().splitlines()
    rows = [at for at, one in enumerate(text) if "block.0" in one or "block.1" in one]
    if lost == "its file":
        path.unlink()
    else:
        cut = {rows[2 * FIRST + 1]} if lost == "one part" else {*rows[2 * FIRST :]}
        path.write_text("\n".join(one for at, one in enumerate(text) if at not in cut) + "\n")
    assert not analyze(tmp_path).verdict.ranks


def test_what_a_layer_of_experts_gives_was_made_elsewhere(tmp_path: Path) -> None:
    _merged(tmp_path, "step {s} moe.{m} absmax in={i} out={o}", _of(1, "inf"), 4)
    assert not analyze(tmp_path).verdict.ranks
