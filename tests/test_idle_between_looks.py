"""A process that sleeps in storage in two looks, and used no CPU between them while its like did, stood meanwhile; less is no proof."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("lynx01", "lynx02", "lynx03", "lynx04")
ODD = "lynx03"
PIDS = dict(zip(HOSTS, (618230, 1190457, 90388, 2204119), strict=True))
BUSY = 1037  # seconds of CPU between looks
RUN = "python -u train.py --epochs 40"


def clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def minutes(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02}"


def days(seconds: int) -> str:
    return f"2-{clock(seconds)}"


def hundredths(seconds: int) -> str:
    return f"{minutes(seconds)}.17"


Form = tuple[str, str, Callable[[int], str]]
FORMS: dict[str, Form] = {
    "docker top": ("PID                 STAT                WCHAN                        TIME                COMMAND", "{pid}              {state}                 {wchan}        {time}            {run}", clock),
    "ps": ("    PID    PPID STAT WCHAN                      TIME COMMAND", "{pid:7d}       1 {state:4} {wchan:22} {time} {run}", clock),
    "of days": ("    PID STAT WCHAN                        TIME CMD", "{pid:7d} {state:4} {wchan:22} {time} {run}", days),
    "minutes": ("    PID TTY STAT WCHAN                 TIME COMMAND", "{pid:7d} ?   {state:4} {wchan:22} {time} {run}", minutes),
    "hundredths": ("    PID S WCHAN                        TIME+ COMMAND", "{pid:7d} {letter} {wchan:22} {time} {run}", hundredths),
    "called CPUTIME": ("    PID STAT WCHAN                   CPUTIME COMMAND", "{pid:7d} {state:4} {wchan:22} {time} {run}", clock),
}  # fmt: skip


def look(form: Form, host: str, used: int, wchan: str) -> list[str]:
    state = "Dsl" if wchan.startswith("rpc") else "Ssl"
    head, row, time = form
    return [
        head,
        row.format(pid=PIDS[host], state=state, letter=state[0], wchan=wchan, time=time(18764 + used), run=RUN),
    ]


def files(
    form: Form, odd: int, others: int, looks: int = 2, wchan: str = "rpc_wait_bit_killable"
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host in HOSTS:
        for at in range(looks):
            used, where = (odd, wchan) if host == ODD else (others, "futex_wait_queue")
            found[f"hosts/{host}/look_{at + 1}.txt"] = look(form, host, at * used, where)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_it_stood(form: str, tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, files(FORMS[form], 0, BUSY)))).verdict
    assert (verdict.kind, verdict.hosts, verdict.site) == ("hang", [ODD], "storage_io")
    assert "single_snapshot" not in verdict.undecided


@pytest.mark.parametrize(
    "told",
    [
        files(FORMS["ps"], 3, BUSY),  # it went on
        files(FORMS["ps"], 0, 0),  # nobody did anything: the looks are one
        files(FORMS["ps"], 0, BUSY, looks=1),
        files(FORMS["ps"], 0, BUSY, wchan="futex_wait_queue"),  # as all others sleep
        files(FORMS["ps"], 0, 9),  # it may write for as long
    ],
)
def test_less_is_no_proof(told: dict[str, list[str]], tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, told))).verdict
    assert not verdict.hosts and not verdict.ranks
