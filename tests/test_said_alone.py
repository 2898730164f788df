"""What a rank that stayed out of a call printed alone, again and again, to the end of its log."""

from pathlib import Path

import pytest

from forensics import analyze

HEAD = "[rank {r}] step {s} loss 2.{s}\n"
TIMED_OUT = (
    "jaxlib.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id: save.40. This usually happens because a task triggered the barrier too early.\n"
    "# of tasks that reached the barrier: 3/4.\n"
    "The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n"
    "/job:jax_worker/replica:0/task:2\n"
)
RETRIES = (
    "[rank 2] W0720 04:2{n}:10 store.cc:41] PUT of part a{n}f{n} did not succeed: UNAVAILABLE (attempt {n}); retrying\n"
)


def bundle(folder: Path, alone: str, everybody: bool = False) -> Path:
    for rank in range(4):
        text = "".join(HEAD.format(r=rank, s=step) for step in range(1, 8))
        text += "".join(alone.format(n=n) for n in range(1, 7)) if rank == 2 or everybody else ""
        (folder / f"rank_{rank}.log").write_text(text + (TIMED_OUT if rank != 2 else ""))
    return folder


def test_what_it_tried_again_and_again_is_looked_at_first(tmp_path: Path) -> None:
    incident = analyze(bundle(tmp_path, RETRIES)).incidents[0]
    assert (incident.verdict.kind, list(incident.verdict.ranks)) == ("hang", [2])
    assert any("rank 2 alone printed, 6 times" in item.claim for item in incident.evidence)
    assert "rank_2.log:13" in str(incident.actions[0].target)
    assert incident.actions[0].command == "tail --lines=25 rank_2.log"


@pytest.mark.parametrize(
    ("alone", "everybody"),
    [(RETRIES, True), ("[rank 2] step {n}7 loss 2.5\n", False), ("", False)],
    ids=["all print it", "its steps", "nothing"],
)
def test_what_tells_nothing_of_it_alone(tmp_path: Path, alone: str, everybody: bool) -> None:
    incident = analyze(bundle(tmp_path, alone, everybody)).incidents[0]
    assert list(incident.verdict.ranks) == [2]
    assert not any("alone printed" in item.claim for item in incident.evidence)
