"""Whom a driver calls innocent of a reset is a victim of whom it calls guilty, whatever the program of either says."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

PIDS = (20443, 20444, 20445, 20446)
FORMS = (
    "MTGPU:(Error): 1733:  PID {pid} experienced error {role} Lockup (0x1) caller[CheckFWCCB CTX Reset Noticication] [188]",
    "MTGPU:(Error):  1733: Recovery 1: PID = {pid}, frame = 0, HWRTData = 0x0, EventStatus = 0x10, {role} Lockup",
    "MTGPU:(Error):  1733: Recovery 1: PID: {pid}, {role} Lockup",
)


def named(folder: Path, dmesg: list[str]) -> tuple[str | None, list[int]]:
    log = [f"[INFO] rank {rank}/4 pid {pid} host mt-s4k-02 device {rank}" for rank, pid in enumerate(PIDS)]
    log += [f"2026-07-14 15:22:{at} | INFO | iter {700 + at}/9000 loss 4.15 lr 1.00e-3" for at in (10, 30, 50)]
    for rank in (0, 2, 3):
        log += [
            f"[rank{rank}]: {line}"
            for line in (
                "Traceback (most recent call last):",
                '  File "/work/det/tools/train.py", line 118, in train_one_iter',
                "    loss_item = reduce_loss(loss).item()",
                "RuntimeError: MUSA error: unknown error",
            )
        ]
    verdict = analyze(
        str(written(folder, {"train.log": log, "dmesg.txt": ["root@mt-s4k-02:~# dmesg | tail", *dmesg]}))
    ).verdict
    return verdict.cause, verdict.ranks


def told(form: str, **roles: int) -> list[str]:
    return [
        f"[91877.{at}04518] {form.format(pid=PIDS[rank], role=role.split('_')[0])}"
        for at, (role, rank) in enumerate(roles.items())
    ]


@pytest.mark.parametrize("form", FORMS)
def test_the_guilty_is_named(form: str, tmp_path: Path) -> None:
    assert named(tmp_path, told(form, Guilty=3, Innocent=0, Innocent_2=2)) == ("gpu_fault", [3])


@pytest.mark.parametrize(
    "roles", [{"Innocent": 3, "Innocent_1": 0, "Innocent_2": 2}, {"Guilty": 3, "Guilty_1": 0, "Guilty_2": 2}]
)
def test_where_all_are_called_alike_nobody_is(roles: dict[str, int], tmp_path: Path) -> None:
    _, ranks = named(tmp_path, told(FORMS[0], **roles))
    assert len(ranks) != 1
