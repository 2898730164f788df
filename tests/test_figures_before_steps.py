"""What each rank found in what it loaded, and then its steps in a list of the same report."""

from pathlib import Path

import pytest

from forensics import analyze

RANKS, ODD = range(4), 2
YAML = """rank: {rank}
host: n{rank}
load:
  {part}:
    count: 96
    nan: {bad}
  seconds: 1.2{rank}
steps:
{steps}"""
TOML = """rank = {rank}
host = "n{rank}"

[load]
{part}_count = 96
{part}_nan = {bad}
{steps}"""
FLOW = "  - {{step: {step}, loss_own: .{own}, loss_mean: .nan}}\n"
BLOCK = "  - step: {step}\n    loss_own: .{own}\n    loss_mean: .nan\n"
TABLES = "\n[[steps]]\nstep = {step}\nloss_own = {own}\nloss_mean = nan\n"


def _reports(folder: Path, form: str, one: str, part: str, bad: int) -> Path:
    for rank in RANKS:
        own = [
            "nan" if at or (bad and rank == ODD) else ("2.1" if one is TABLES else "21") + str(rank) for at in range(3)
        ]
        steps = "".join(one.format(step=701 + at, own=own[at]) for at in range(3))
        text = form.format(rank=rank, part=part, bad=bad if rank == ODD else 0, steps=steps)
        (folder / f"report_{rank}.{'toml' if one is TABLES else 'yaml'}").write_text(text)
    return folder


@pytest.mark.parametrize("part", ["parameters", "optimizer"])
@pytest.mark.parametrize(("form", "one"), [(YAML, FLOW), (YAML, BLOCK), (TOML, TABLES)])
def test_what_was_loaded_is_bad_on_one(tmp_path: Path, form: str, one: str, part: str) -> None:
    verdict = analyze(_reports(tmp_path, form, one, part, 5)).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_state", [ODD])


@pytest.mark.parametrize(("form", "one"), [(YAML, FLOW), (YAML, BLOCK), (TOML, TABLES)])
def test_without_a_bad_one_nobody_is_named(tmp_path: Path, form: str, one: str) -> None:
    assert analyze(_reports(tmp_path, form, one, "parameters", 0)).verdict.ranks == []


# --- all found the same ------------------------------------------------------------------------------------------------

FOUND = (
    "[rank {rank}] loaded {part}: nan={bad} inf=0 of 960\n",
    '{{"event": "loaded", "rank": {rank}, "{part}_nan": {bad}, "{part}_count": 960}}\n',
    "rank={rank} phase=load {part}_numel=960 {part}_nonfinite={bad}\n",
)
AFTER = (
    "[rank {rank}] step {step} own loss nan norm nan\n",
    '{{"event": "step", "rank": {rank}, "step": {step}, "loss_own": NaN}}\n',
    "rank={rank} step={step} local_loss=nan\n",
)


def _log(folder: Path, at: int, part: str, *, but: int | None = None) -> Path:
    text = "".join(FOUND[at].format(rank=rank, part=part, bad=0 if rank == but else 7) for rank in RANKS)
    text += "".join(AFTER[at].format(rank=rank, step=step) for step in range(41, 45) for rank in RANKS)
    (folder / "job.log").write_text(text)
    return folder


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("part", ["optimizer", "weights"])
def test_what_was_loaded_is_bad_on_all_alike(tmp_path: Path, at: int, part: str) -> None:
    verdict = analyze(_log(tmp_path, at, part)).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("bad_state", [], [])


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(("part", "but"), [("optimizer", 1), ("masks", None), ("grads", None)])
def test_of_no_state_or_not_of_all(tmp_path: Path, at: int, part: str, but: int | None) -> None:
    verdict = analyze(_log(tmp_path, at, part, but=but)).verdict
    assert (verdict.cause, verdict.ranks) != ("bad_state", []) and verdict.ranks == []
