"""A job that somebody told its supervisor to stop was stopped by hand; a service of another name, or a stop after a failure, explains no end."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

AT = "2025-01-23T14:{:02}:{:02}+0100 "
STEPS = [f"{AT.format(at, 1)}bx1 run.sh[{411 + n}]: step {at}/900 loss 2.{at:02}" for at in range(1, 9) for n in (0, 1)]
SUDO = "bx1 sudo[77]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND={}"
FORMS = {
    "systemd": ("/usr/bin/systemctl stop 'fit@*'", "bx1 systemd[1]: Stopping fit@{0}.service - worker {0}..."),
    "by name": ("/bin/systemctl --no-block stop fit@0.service fit@1", "bx1 systemd[1]: Stopping fit@{0}.service..."),
    "kill": ("/usr/bin/systemctl kill fit@0 fit@1", "bx1 systemd[1]: Stopping fit@{0}.service - worker {0}..."),
}
KILLED = "bx1 systemd[1]: fit@1.service: Main process exited, code=killed, status=9/KILL"
UNIT = {"fit@.service": ["[Service]", "Environment=RANK=%i WORLD_SIZE=2", "ExecStart=/opt/run.sh %i"]}


def verdict(folder: Path, lines: Sequence[str]) -> tuple[str, str | None, tuple[int, ...]]:
    found = analyze(written(folder, {"journal.txt": lines, **UNIT})).verdict
    return found.kind, found.cause, tuple(found.ranks)


def stop(form: str) -> list[str]:
    order, stopping = FORMS[form]
    lines = [SUDO.format(order), *(stopping.format(at) for at in (0, 1)), KILLED]
    return [AT.format(8, 10 + at) + line for at, line in enumerate(lines)]


@pytest.mark.parametrize("form", FORMS)
def test_told_to_stop(tmp_path: Path, form: str) -> None:
    assert verdict(tmp_path, [*STEPS, *stop(form)]) == ("crash", "stopped_by_hand", ())


@pytest.mark.parametrize(
    "lines",
    [
        [*STEPS, *(line.replace("fit", "web") for line in stop("systemd")[:-1]), AT.format(8, 30) + KILLED],
        [*STEPS, stop("systemd")[0], AT.format(8, 30) + KILLED],
        [*stop("systemd")[:-1], *STEPS, AT.format(9, 30) + KILLED],
        [*STEPS, AT.format(8, 5) + KILLED, *stop("systemd")[:-1]],
    ],
    ids=["another service", "it did not stop", "it went on", "it had failed before"],
)
def test_no_stop_of_the_job(tmp_path: Path, lines: list[str]) -> None:
    assert verdict(tmp_path, lines)[1] != "stopped_by_hand"


KILLS = {
    "sudo": "bx1 sudo[77]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/usr/bin/kill -9 {}",
    "sudo, by name": "bx1 sudo[77]:   mia : TTY=pts/3 ; PWD=/home/mia ; USER=root ; COMMAND=/bin/kill -s TERM {}",
    "auditd": 'bx1 audit[1]: type=EXECVE msg=audit(1767603602.102:7): argc=3 a0="kill" a1="-9" a2="{}"',
}
LOST = "[rank{0}]: torch.distributed.DistBackendError: NCCL error in: x.cpp:268, remote process exited or there was a network error"


def killed(folder: Path, order: str, *, at: int = 8, pid: int = 502) -> tuple[str, str | None, tuple[int, ...]]:
    """Four processes on bx1, and a person's order at minute `at` about the one of `pid`; the others lose somebody after minute 8."""
    steps = [f"[rank{n}]: 2025-01-23T14:{m:02}:01 step {m} loss 2.{m:02}{n}" for m in range(1, 9) for n in range(4)]
    told = [f"[rank{n}]: 2025-01-23T14:00:00 up rank={n} world_size=4 pid={500 + n} host=bx1" for n in range(4)]
    lost = [LOST.format(n) for n in range(4) if n != 2]
    ended = ["worker 2 (pid 502) on bx1 exited with signal 9 (SIGKILL)"]
    journal = [f"2025-01-23T14:{at:02}:10 {order.format(pid)}"]
    found = analyze(written(folder, {"job.log": [*told, *steps, *lost, *ended], "journal.txt": journal})).verdict
    return found.kind, found.cause, tuple(found.ranks)


@pytest.mark.parametrize("form", KILLS)
def test_a_process_that_a_person_ended(tmp_path: Path, form: str) -> None:
    assert killed(tmp_path, KILLS[form]) == ("crash", "stopped_by_hand", (2,))


def test_what_a_person_typed_at_a_prompt(tmp_path: Path) -> None:
    assert killed(tmp_path, "mia@bx1:~$ sudo kill -9 {}") == ("crash", "stopped_by_hand", (2,))


@pytest.mark.parametrize(
    "said", [{"pid": 9999}, {"at": 2}, {"at": 40}], ids=["another process", "long before", "long after"]
)
def test_a_persons_kill_that_explains_nothing(tmp_path: Path, said: dict[str, int]) -> None:
    assert killed(tmp_path, KILLS["sudo"], **said)[1] != "stopped_by_hand"


def test_a_signal_that_ends_nobody(tmp_path: Path) -> None:
    assert killed(tmp_path, KILLS["sudo"].replace("-9", "-0"))[1] != "stopped_by_hand"
