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
