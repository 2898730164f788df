"""All ranks waited in vain, and a process that is none of them had failed before: it is told, and no rank is blamed."""

from collections.abc import Callable
from pathlib import Path

import pytest

import forensics
from forensics.model.incident import Verdict
from samples.situations.job import Job, s
from samples.situations.programs import ENGINE, folder, together, two

RAY = "(EngineCore pid={pid}) {line}"
SYSLOG = "Oct  5 09:00:27 rl5 python[{pid}]: {line}"
TRACE = "".join(f'  File "{f}", line {a}, in {fn}\n    {code}\n' for f, a, fn, code in ENGINE)
RAISED = f"Traceback (most recent call last):\n{TRACE}IndexError: list index out of range"


def _job(head: str = RAY, pid: int = 25043, after: float = 1, waiting: int = 8, folder_of: str = "engine/") -> Job:
    trainer, engine, end = two("outside", 5, 8, 8, folder)
    engine.files.clear()
    stamp = f"{end + s(after):%Y-%m-%d %H:%M:%S}"
    lines = [f"{stamp} ERROR leaving", *RAISED.split("\n")] if head == RAY else RAISED.split("\n")
    engine.put(f"{folder_of}serve.log", end + s(after), "\n".join(head.format(pid=pid, line=line) for line in lines))
    trainer.all_timeout(end + s(602), 45, list(trainer.ranks)[:waiting], op="BROADCAST")
    return together(trainer, engine)


def _verdict(path: Path, job: Job) -> Verdict:
    job.write(path / "bundle")
    return forensics.analyze(path / "bundle").verdict


@pytest.mark.parametrize("head", [RAY, SYSLOG])
@pytest.mark.parametrize("where", ["engine/", "serving/"])
def test_a_process_of_no_rank_that_failed_before_all_waited_in_vain_explains_it(
    tmp_path: Path, head: str, where: str
) -> None:
    verdict = _verdict(tmp_path, _job(head, folder_of=where))
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("crash", "exception", [], [])
    assert verdict.program == where.rstrip("/")


CHANGES: dict[str, tuple[Callable[[], Job], list[int]]] = {
    "it is one of the ranks": (lambda: _job(pid=15043), list(range(8))),
    "a rank did not wait": (lambda: _job(waiting=7), [7]),
    "it came after the first gave up": (lambda: _job(after=640), list(range(8))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_else_was_raised_explains_no_wait(tmp_path: Path, change: str) -> None:
    changed, suspects = CHANGES[change]
    verdict = _verdict(tmp_path, changed())
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", None, [])
    assert verdict.suspects.ranks == suspects and verdict.program != "engine"
