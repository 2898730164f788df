"""What one rank alone loaded bad, told before its first step in tables that stand among the lines of its log, or in any other form."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze

PARTS = ("emb.weight", "h.0.up.weight", "h.0.up.bias", "h.1.up.weight", "h.1.up.bias")
Bad = Callable[[int, int], str | None]  # rank, part → what stands there
STEPS = 6


def _cells(bad: Bad, rank: int, part: int) -> tuple[str, str, str, str]:
    usual, told = f"{0.2 + part / 7:.4f}", bad(rank, part)
    return PARTS[part], told or usual, ("inf" if told else f"{2 + part / 3:.3f}"), ("7" if told == "nan" else "0")


Write = Callable[[Bad, int], list[str]]
NAMES = ("parameter", "absmax", "l2", "nonfinite")


def _drawn(top: str, head: str, rule: str, mark: str, end: str) -> Write:
    def write(bad: Bad, rank: int) -> list[str]:
        def row(cells: tuple[str, ...], edge: str) -> str:
            return edge + edge.join(f" {cell:<14} " for cell in cells) + edge

        body = [row(_cells(bad, rank, part), mark) for part in range(len(PARTS))]
        return [one for one in (top, row(NAMES, head), rule, *body, end) if one]

    return write


def _told(form: str) -> Write:
    def write(bad: Bad, rank: int) -> list[str]:
        rows = (_cells(bad, rank, part) for part in range(len(PARTS)))
        return [form.format(r=rank, p=p, a=a, l=norm, n=n) for p, a, norm, n in rows]

    return write


def _aligned(bad: Bad, rank: int) -> list[str]:
    rows = [NAMES, ("-" * 14,) * 4, *(_cells(bad, rank, part) for part in range(len(PARTS)))]
    return ["  ".join(f"{cell:<14}" for cell in row).rstrip() for row in rows]


def _logged(write: Write) -> Write:
    return lambda bad, rank: [f"2026-01-31 10:11:12,649 | INFO    |   {one}" for one in write(bad, rank)]


_LINE = "─" * 66
FORMS: dict[str, tuple[Write, bool]] = {  # and whether all ranks print into one log
    "heavy boxes": (_drawn("┏" + "━" * 66 + "┓", "┃", "┡" + "━" * 66 + "┩", "│", "└" + _LINE + "┘"), False),
    "light boxes": (_drawn("┌" + _LINE + "┐", "│", "├" + _LINE + "┤", "│", "└" + _LINE + "┘"), False),
    "double boxes": (_drawn("╔" + "═" * 66 + "╗", "║", "╠" + "═" * 66 + "╣", "║", "╚" + "═" * 66 + "╝"), False),
    "boxes of all ranks in one log": (_drawn("", "┃", "", "│", ""), True),
    "pluses": (_drawn("+" + "-" * 66 + "+", "|", "+" + "=" * 66 + "+", "|", "+" + "-" * 66 + "+"), False),
    "markdown": (_drawn("", "|", "|---|---|---|---|", "|", ""), False),
    "markdown of all ranks in one log": (_drawn("", "|", "|---|---|---|---|", "|", ""), True),
    "columns": (_aligned, False),
    "prose": (_told("loaded {p} absmax={a} l2={l} nonfinite={n}"), True),
    "words": (_told("  {p}: max {a}, norm {l}, {n} non-finite"), False),
    "objects": (_told('{{"event": "restored", "rank": {r}, "param": "{p}", "absmax": "{a}", "nonfinite": {n}}}'), True),
    "pairs": (_told("level=info msg=restored param={p} absmax={a} l2={l} nonfinite={n}"), False),
    "columns behind a logger's bar": (_logged(_aligned), False),
    "columns behind a bar of all ranks in one log": (_logged(_aligned), True),
    "a part, its shape and its norm": (_told("    {p:<18} (64, 32)   norm {a}"), False),
    "the same of all ranks in one log": (_told("  {p:<18} (64, 32)   norm {a}"), True),
    "a list of norms": (_told("- {p}: norm = {a}"), False),
    "a slash": (_told("restored {p} (absmax {a}, non-finite {n}/4096)"), True),
}


def analysed(folder: Path, form: str, bad: Bad, world: int, *, is_lost: bool = True, first: int = 20) -> Report:
    write, is_merged = FORMS[form]
    text: dict[int, list[str]] = {}
    for rank in range(world):
        steps = [
            f"step {first + at} loss {'nan' if is_lost else f'{2 - at / 9 + rank / 99:.4f}'} grad_norm {'nan' if is_lost else '0.91'}"
            for at in range(STEPS)
        ]
        head = f"worker rank {rank} of {world} pid {900 + rank}"
        text[rank] = [head, "restored ckpt/step_000020", *write(bad, rank), *steps]
    if is_merged:
        lines = [f"[rank{rank}]: {line}" for rank in text for line in text[rank]]
        (folder / "run.log").write_text("\n".join(lines) + "\n")
    else:
        for rank, own in text.items():
            (folder / f"worker{rank}.txt").write_text("\n".join(own) + "\n")
    return analyze(folder)


def one(odd: int, what: str) -> Bad:
    return lambda rank, part: what if (rank, part) == (odd, 3) else None


@pytest.mark.parametrize("form", FORMS)
def test_who_loaded_it_is_named(tmp_path: Path, form: str) -> None:
    at = list(FORMS).index(form)
    world, what, odd = 3 + at % 3, ("nan", "1.33e+35", "inf")[at % 3], at % 3
    verdict = analysed(tmp_path, form, one(odd, what), world).verdict
    assert (verdict.kind, verdict.cause, list(verdict.ranks)) == ("numerics", "bad_state", [odd])


FEW = ["heavy boxes", "markdown of all ranks in one log"]


@pytest.mark.parametrize("form", FEW)
@pytest.mark.parametrize(
    "bad",
    [lambda rank, part: "nan" if part == 3 else None, lambda rank, part: "nan" if rank < 2 and part == 3 else None],
)
def test_what_several_loaded_so_names_nobody(tmp_path: Path, form: str, bad: Bad) -> None:
    assert not analysed(tmp_path, form, bad, 4).verdict.ranks


@pytest.mark.parametrize("form", FEW)
def test_a_table_beside_sound_steps_names_nobody(tmp_path: Path, form: str) -> None:
    assert not analysed(tmp_path, form, one(1, "nan"), 4, is_lost=False).verdict.ranks


def test_a_rank_whose_table_is_missing_may_be_the_one(tmp_path: Path) -> None:
    analysed(tmp_path, "heavy boxes", one(1, "nan"), 4)
    path = tmp_path / "worker0.txt"
    path.write_text("\n".join(line for line in path.read_text().splitlines() if line[:1] not in "│┃") + "\n")
    assert not analyze(tmp_path).verdict.ranks


CHECK = "AssertionError: Rank {r}: found NaN in local forward loss calculation. Device: cpu, node: n{r}"


def _checked(folder: Path, odd: int, raise_it: tuple[int, ...]) -> Report:
    """The first step after the load ends the job: who finds no number in its own loss raises."""
    for rank in range(4):
        table = _told("  {p:<18} (64, 32)   norm {a}")(one(odd, "nan"), rank)
        loss = "nan" if rank in raise_it else f"1.7{rank}"
        own = [f"worker rank {rank} of 4 pid {900 + rank}", "restored at step 20", *table, f"step 21 loss {loss}"]
        if rank in raise_it:
            where = '  File "/opt/t/pretrain.py", line 50, in <module>\n    assert not torch.isnan(loss)'
            own += ["Traceback (most recent call last):", where, CHECK.format(r=rank)]
        (folder / f"worker{rank}.txt").write_text("\n".join(own) + "\n")
    return analyze(folder)


def test_who_loaded_it_and_whose_check_found_it_is_named(tmp_path: Path) -> None:
    verdict = _checked(tmp_path, 3, (2, 3)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "bad_state", [3])


def test_where_only_the_checks_of_others_found_it_nobody_is(tmp_path: Path) -> None:
    assert 3 not in _checked(tmp_path, 3, (1, 2)).verdict.ranks
