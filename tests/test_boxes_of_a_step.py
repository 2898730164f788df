"""Boxes of names and values, one for each step: however they are drawn and the step is called, whose figure or digest left the others is told."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

STEPS, AT, ODD = 9, 6, 2
Pairs = Sequence[tuple[str, str]]  # a name without a value is a group's
Draw = Callable[[Pairs], list[str]]


def _bars(pairs: Pairs, rule: str = "-" * 40) -> list[str]:
    rows = [f"| {name if name.endswith('/') else '   ' + name:<20} | {value:<12} |" for name, value in pairs]
    return [rule, *rows, rule]


def _plain(pairs: Pairs) -> list[str]:
    return _bars([pair for pair in pairs if pair[1]])


def _psql(pairs: Pairs) -> list[str]:
    rule = "+--------------------+------------+"
    return [rule, *(f"| {name:<18} | {value:<10} |" for name, value in pairs if value), rule]


def _boxes(pairs: Pairs) -> list[str]:
    rows = [f"│ {name:<18} │ {value:<10} │" for name, value in pairs if value]
    return ["┌" + "─" * 20 + "┬" + "─" * 12 + "┐", *rows, "└" + "─" * 20 + "┴" + "─" * 12 + "┘"]


def _markdown(pairs: Pairs) -> list[str]:
    return ["| name | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in pairs if value), ""]


def _apart(pairs: Pairs) -> list[str]:
    return [*(f"| {name} | {value} |" for name, value in pairs if value), ""]


def _among_lines(pairs: Pairs) -> list[str]:
    return ["INFO rollout done", *_bars(pairs), "INFO saved nothing", ""]


# how it is drawn · what counts the steps, its first, and how far it goes at once · beside what
FORMS: dict[str, tuple[Draw, str, int, int, Pairs]] = {
    "groups": (_bars, "n_updates", 1, 1, (("fps", "812"), ("ep_rew_mean", "0.97"))),
    "a larger count beside it": (_bars, "iterations", 1, 1, (("total_timesteps", "{512}"),)),
    "the larger count alone": (_bars, "total_timesteps", 512, 512, ()),
    "without groups": (_plain, "Epoch", 0, 1, (("AverageEpRet", "-120.1"), ("Iters", "{4000}"))),
    "a known name": (_plain, "global_step", 10, 10, ()),
    "of psql": (_psql, "training_iteration", 1, 1, (("episodes", "12"),)),
    "drawn": (_boxes, "update", 0, 1, ()),
    "of Markdown": (_markdown, "cycle", 3, 1, ()),
    "apart by a blank": (_apart, "sweep", 1, 1, (("seconds", "1.2"),)),
    "among lines": (_among_lines, "n_updates", 1, 1, ()),
    "steps by twos": (_bars, "n_updates", 2, 2, ()),
}


def bundle(form: str, what: Callable[[int, int], Pairs], ranks: int = 4) -> dict[str, list[str]]:
    draw, counter, first, stride, beside = FORMS[form]
    files: dict[str, list[str]] = {}
    for rank in range(ranks):
        lines = [f"learner rank {rank} of {ranks}, 8 envs"]
        for step in range(STEPS):
            told = [(name, value.strip("{}")) for name, value in beside]
            told = [
                (name, str(int(value) * (step + 1)) if beside[at][1][0] == "{" else value)
                for at, (name, value) in enumerate(told)
            ]
            count = ("time/", ""), *told, (counter, str(first + stride * step))
            lines += draw([*count, ("train/", ""), ("learning_rate", "0.003"), *what(rank, step)])
        files[f"learner_{rank}.log"] = lines
    return files


def lost(rank: int, step: int) -> Pairs:
    is_bad = step > AT or (step == AT and rank == ODD)
    return [
        ("policy_loss", "nan" if is_bad else f"{0.2 - step / 70 + rank / 31:.4f}"),
        ("std", f"{0.5 + rank / 9:.2f}"),
    ]


def parted(rank: int, step: int) -> Pairs:
    return [
        ("value_loss", f"{1 / (2 + step) + rank / 50:.4f}"),
        ("policy_sha1", f"{step * 7919 + (step >= AT and rank == ODD):012x}"),
    ]


def verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", [lost, parted])
def test_whose_it_is_and_at_which_step(tmp_path: Path, form: str, what: Callable[[int, int], Pairs]) -> None:
    _, counter, first, stride, _ = FORMS[form]
    found = verdict(tmp_path, bundle(form, what))
    assert found.kind == "numerics"
    assert found.ranks == [ODD] or (what is lost and stride > 2 and found.suspects.ranks == [ODD])  # few steps are told
    assert found.first_anomaly is not None and found.first_anomaly.step == first + stride * AT, counter


def test_of_two_nobody_is_told(tmp_path: Path) -> None:
    found = verdict(tmp_path, bundle("groups", lambda rank, step: parted(rank + 1, step), ranks=2))
    assert (found.kind, list(found.ranks)) == ("numerics", [])
    assert found.first_anomaly is not None and found.first_anomaly.step == 1 + AT


@pytest.mark.parametrize(
    "what",
    [
        lambda rank, step: [("policy_loss", "nan" if step >= AT else f"{1 / (1 + step):.4f}")],  # all alike
        lambda rank, step: [("val_loss", "nan" if step >= AT and rank == ODD else f"{1 / (1 + step):.4f}")],  # judged
        lambda rank, step: [("data_sha1", f"{step * 7919 + rank:012x}"), ("loss", f"{1 / (1 + step):.4f}")],  # each its own
        lambda rank, step: [("policy_sha1", f"{step * 7919 + (step >= AT and rank >= 2):012x}")],  # two against two
    ],
)  # fmt: skip
def test_what_is_all_theirs_or_their_own_names_nobody(tmp_path: Path, what: Callable[[int, int], Pairs]) -> None:
    assert not verdict(tmp_path, bundle("groups", what)).ranks


def test_settings_that_are_printed_at_each_start_are_no_steps(tmp_path: Path) -> None:
    files = {
        f"rank_{rank}.log": [
            line
            for start in range(3)
            for line in (*_plain([("lr", "nan" if rank == ODD and start == 1 else "0.1"), ("seed", "7")]), "begun")
        ]
        for rank in range(4)
    }
    assert not verdict(tmp_path, files).ranks
