"""Words by which clouds and clusters say that they take a machine or a pod away."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers.text.taken_away import is_taken_away


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Spot ITN received. Instance will be interrupted at 2026-05-06T10:03:04Z", True),
        ("ITN: node will be reclaimed in 30 s", True),
        ("this VM will be terminated at 10:03 UTC", True),
        ("virtual machine is being reclaimed by the cloud", True),
        ("Spot instance interruption notice: instance i-0a1 will be terminated", True),
        ("instance was preempted", True),
        ("instance i-0a1b2c3d4 (g5.xlarge, eu-1a) will be taken back", True),
        ("Instance i-0a1b2c3d4 will be terminated at 10:03", True),
        ("instance (of the old model) will be stopped when idle", False),
        ("training will be interrupted at step 500 for an evaluation", False),
        ("the process will be terminated at the end of its grace period", False),
        ("Instance will be healthy again", False),
    ],
)
def test_a_machine_is_taken_away(text: str, taken: bool) -> None:
    assert is_taken_away(text) is taken


NOTICE = '{"action": "terminate", "time": "2026-01-31T10:13:12Z"}'
ASKED = {
    "curl": f"2026-01-31T10:11:12Z {NOTICE}",
    "an agent": f"2026-01-31T10:11:12Z agent: GET latest/meta-data/spot/instance-action -> 200 {NOTICE}",
    "a record": f'2026-01-31T10:11:12Z {{"watch": "spot", "said": {NOTICE}}}',
}
LOST = (
    "F0131 10:13:52.500100 4140 client.h:77] Terminating process because the JAX distributed service detected fatal errors. absl::Status: UNAVAILABLE: "
    "The following tasks are unhealthy (stopped sending heartbeats): /job:jax_worker/replica:0/task:2"
)
RAISED = "Traceback (most recent call last):\n  File \"fit.py\", line 9, in fit\n    raise ValueError('shape')\nValueError: shape"


def verdict(
    folder: Path, said: str, noticed: tuple[int, ...], own: str = "bye", others: Mapping[int, str] = {}
) -> Verdict:
    for rank in range(4):
        steps = [
            f"ip-10-0-4-{rank * 7 + 31} fit[41{rank}7]: I0131 10:1{n}:00.000000 p{rank}/4 step {n} loss 2.{9 - n}"
            for n in (1, 2, 3)
        ]
        head = f"ip-10-0-4-{rank * 7 + 31} fit[41{rank}7]: I0131 10:10:00.000000 p{rank}/4 jax.distributed up: coordinator ip-10-0-4-31:8476 process_id={rank} num_processes=4"
        end = own if rank == 2 else others.get(rank, LOST)
        fate = (
            []
            if rank == 2 or rank in others
            else [f"ip-10-0-4-{rank * 7 + 31} systemd[1]: fit.service: Main process exited, code=killed, status=6/ABRT"]
        )
        lines = [
            head,
            *steps,
            *(f"ip-10-0-4-{rank * 7 + 31} fit[41{rank}7]: {line}" for line in end.splitlines()),
            *fate,
        ]
        (folder / "journal").mkdir(exist_ok=True)
        (folder / "journal" / f"ip-10-0-4-{rank * 7 + 31}.txt").write_text("\n".join(lines) + "\n")
        (folder / "agent").mkdir(exist_ok=True)
        told = [said] if rank in noticed else []
        (folder / "agent" / f"ip-10-0-4-{rank * 7 + 31}.log").write_text(
            "\n".join(["2026-01-31T10:10:00Z watching", *told]) + "\n"
        )
    return analyze(folder).verdict


@pytest.mark.parametrize("form", ASKED)
def test_whose_machine_is_told_that_it_goes_left_first(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, ASKED[form], (2,))
    assert (found.kind, found.cause, found.ranks) == ("crash", "preempted", [])
    assert "rank 2" in found.summary  # whom it hit is told, and named for nothing


@pytest.mark.parametrize("form", ASKED)
def test_a_notice_alone_accuses_nobody(tmp_path: Path, form: str) -> None:
    """Where others went on, or it failed by itself before; and one of an innocent's machine."""
    for name, told in (
        ("another's", verdict(_in(tmp_path, "a"), ASKED[form], (1,))),
        ("several", verdict(_in(tmp_path, "b"), ASKED[form], (0, 1, 2))),
        ("its own error", verdict(_in(tmp_path, "c"), ASKED[form], (2,), RAISED)),
        (
            "one goes on",
            verdict(_in(tmp_path, "d"), ASKED[form], (1,), others={0: "I0131 10:14:00.000000 p0/4 step 4 loss 2.5"}),
        ),
    ):
        assert set(told.ranks) <= {2}, name
        assert name not in ("another's", "its own error") or told.cause != "preempted", name


def _in(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name
