"""Processes that somebody kills after they have come to their end: the results are in, and the job is well."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS = range(4)
STEPS = 20


def at(second: int) -> str:
    return f"2026-11-30 07:40:{second:02}"


def logs(done: str | None, steps: Sequence[int] = (STEPS,) * 4) -> dict[str, str]:
    told = {}
    for rank in RANKS:
        said = f"{at(0)},000 INFO rank {rank}/4 pid {4700 + rank} host n{rank // 2}\n"
        for step in range(steps[rank]):
            said += f"{at(step + 1)},{rank}00 INFO step {step} loss {2 - step / 50 + rank / 900:.4f}\n"
        told[f"rank{rank}.log"] = said + (f"{at(STEPS + 1)},{rank}50 INFO {done.format(rank=rank)}\n" if done else "")
    return told


KILLS: Mapping[str, str] = {
    "a nanny": "{at},193 - distributed.nanny - INFO - Worker process {pid} was killed by signal 9\n",
    "containers": "worker-{rank} exited with code 137\n",
    "supervisord": "{at},100 INFO stopped: rank{rank} (terminated by SIGKILL)\n",
    "honcho": "{at} system      | rank{rank}.1 stopped (rc=-9)\n",
    "a launcher of one's own": "{at} launcher: rank {rank} (pid {pid}) exited with code -9\n",
    "a request": "{at} launcher: rank {rank} (pid {pid}) terminated by signal 15\n",
    "a shell": "./run.sh: line 12: {pid} Killed                  python train.py --rank {rank}\n",
    "Chinese": "{at} 进程 {pid} 被信号 9 终止\n",
}
ENDS: Mapping[str, str] = {
    "a sentence": "rank {rank} training finished",
    "a count": "rank {rank} finished 20 steps",
    "a count and a figure": "rank {rank} finished 20 steps, loss 1.617",
    "Chinese": "第 20 步后训练完成",
    "German": "Fertig nach 20 Schritten",
    "words of nobody": "zorp closed the books",
    "a file": "saved final model to out/model_{rank}.pt",
}
ZERO = f"{at(STEPS + 8)} launcher: done, exit 0\n"


def killed(line: str, second: int = STEPS + 6, end: str = ZERO) -> dict[str, str]:
    return {"launcher.log": "".join(line.format(at=at(second), rank=rank, pid=4700 + rank) for rank in RANKS) + end}


def judged(folder: Path, *files: Mapping[str, str]) -> Verdict:
    for name, text in {name: text for one in files for name, text in one.items()}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return analyze(folder).verdict


@pytest.mark.parametrize("line", KILLS.values(), ids=KILLS)
def test_who_is_killed_after_its_end_was_well(tmp_path: Path, line: str) -> None:
    verdict = judged(tmp_path, logs(ENDS["a sentence"]), killed(line))
    assert (verdict.kind, verdict.ranks) == ("healthy", [])


@pytest.mark.parametrize("done", ENDS.values(), ids=ENDS)
def test_in_whatever_words_all_of_them_end(tmp_path: Path, done: str) -> None:
    assert judged(tmp_path, logs(done), killed(KILLS["a nanny"])).kind == "healthy"


def test_steps_beside_the_log_of_all(tmp_path: Path) -> None:
    """Each rank keeps a table; one log has what all say, who began them, and what those who are left lose."""
    tables = {}
    for rank in RANKS:
        rows = "".join(
            f"{step},{rank},{2000 + step if rank == 3 and step > 5 else 100 + step % 3},{5 if rank == 3 or step <= 5 else 1900}\n"
            for step in range(60)
        )
        tables[f"steps/rank{rank}.csv"] = "step,rank,fwd_bwd_ms,sync_ms\n" + rows
    said = [f"{at(1)},318 - worker - INFO - rank {rank} of 4 runs, pid {4700 + rank}\n" for rank in RANKS]
    said += [f"{at(30)},997 - worker - INFO - rank {rank} finished 60 steps, loss 2.3\n" for rank in (1, 3, 2, 0)]
    said += ["Traceback (most recent call last):\n", '  File "/lib/comm/tcp.py", line 263, in write\n', "    raise CommClosedError()\n"]  # fmt: skip
    said += ["distributed.comm.core.CommClosedError\n", *killed(KILLS["a nanny"], 40, "exit 0\n").values()]
    verdict = judged(tmp_path, tables, {"all.log": "".join(said)})
    assert (verdict.kind, verdict.ranks) == ("slow", [3])


BROKE = 'Traceback (most recent call last):\n  File "t.py", line 9, in <module>\n    save()\nOSError: [Errno 28] No space left on device\n'
FINISHED = logs(ENDS["a sentence"])
NOT_WELL: Mapping[str, tuple[dict[str, str], dict[str, str]]] = {
    "at work": (logs(None), killed(KILLS["a nanny"])),
    "three of four": ({**FINISHED, "rank2.log": logs(None)["rank2.log"]}, killed(KILLS["a nanny"])),
    "before the last ends": (FINISHED, killed(KILLS["a nanny"], 15)),
    "one fails after its last step": ({**FINISHED, "rank2.log": FINISHED["rank2.log"] + BROKE}, killed(KILLS["a nanny"])),
    "words of nobody, and no good end of all": (logs(ENDS["words of nobody"]), killed(KILLS["a nanny"], end="")),
    "words of nobody at another step": (logs(ENDS["words of nobody"], (20, 20, 13, 20)), killed(KILLS["a nanny"])),
}  # fmt: skip


@pytest.mark.parametrize("files", NOT_WELL.values(), ids=NOT_WELL)
def test_who_is_killed_at_work_is_not_well(tmp_path: Path, files: tuple[dict[str, str], dict[str, str]]) -> None:
    assert judged(tmp_path, *files).kind != "healthy"
