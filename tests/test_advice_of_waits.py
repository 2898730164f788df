"""A phase that takes just as long each time is waited for by the clock; a run that has ended is not looked at as it is now."""

from pathlib import Path

import pytest

from forensics.model.incident import Action, Incident
from tests.analysed import primary

STEPS, RANKS, SLOW = 24, 6, 4


def run(folder: Path, waits: list[float], phase: str = "data_time", *, ended: bool = True) -> Incident:
    """A job whose one slow rank waits so long in its last steps."""
    for rank in range(RANKS):
        lines = [f"2026-02-01 08:00:00.000 [rank{rank}] init rank={rank} world_size={RANKS} pid={4000 + rank}"]
        for step in range(STEPS):
            at = step - STEPS + len(waits)
            wait = waits[at] if rank == SLOW and at >= 0 else 0.001
            lines.append(
                f"2026-02-01 08:01:{step:02}.000 [rank{rank}] INFO train: step {step} loss 2.1 step_time {wait + 0.3:.4f} s "
                f"{phase} {wait:.4f} s forward_time 0.1000 s comm_time 0.2000 s"
            )
        lines += [f"2026-02-01 08:02:00.000 [rank{rank}] INFO train: training finished"] if ended else []
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return primary(folder)


def first(incident: Incident) -> Action:
    assert incident.verdict.kind == "slow" and incident.verdict.ranks == [SLOW]
    return incident.actions[0]


@pytest.mark.parametrize("wait", [0.2, 0.75, 3.0])
@pytest.mark.parametrize("phase", ["data_time", "save_time", "load_batch_time"])
def test_a_wait_that_is_as_long_each_time_is_no_load(tmp_path: Path, wait: float, phase: str) -> None:
    one = first(run(tmp_path, [wait * (1 + 0.001 * (at % 5)) for at in range(16)], phase))
    assert one.kind == "check_code" and "sleep" in one.reason and "16 times" in one.reason


@pytest.mark.parametrize("spread", [0.2, 1.0])
def test_a_wait_that_varies_may_be_any_load(tmp_path: Path, spread: float) -> None:
    one = first(run(tmp_path, [0.6 * (1 + spread * (at % 5) / 4) for at in range(16)]))
    assert one.kind == "check_data" and "sleep" not in one.reason


def test_a_run_that_has_ended_is_not_looked_at_as_it_is_now(tmp_path: Path) -> None:
    incident = run(tmp_path, [0.6 * (1 + at % 5 / 4) for at in range(16)])
    assert incident.has_ended and not any("top -b" in (one.command or "") for one in incident.actions)
    assert any("stacks of rank 4" in one.target for one in incident.actions)


def test_a_run_that_may_still_live_is(tmp_path: Path) -> None:
    incident = run(tmp_path, [0.6 * (1 + at % 5 / 4) for at in range(16)], ended=False)
    assert "top -b" in (first(incident).command or "")
