"""A write that came out short is one for want of room where `df` shows a volume without any; else it is its printer's error, whatever it was."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HEAD = "Filesystem Size Used Avail Use% Mounted on"
FULL = {
    "df -h": [HEAD, "/dev/vdb1  98G  61G  37G  63% /", "tmpfs  4.0M  4.0M  0 100% /scratch/a"],
    "df -T": [HEAD, "nfs7:/home/amy nfs4 900G 900G 0B 100% /home/amy"],
    "df -i": ["Filesystem Inodes IUsed IFree IUse% Mounted on", "/dev/sdb 655360 655360 0 100% /data"],
}
NOT = {
    "no table": [],
    "room left": [HEAD, "/dev/vdb1  98G  97G  1G  99% /"],
    "an image": [HEAD, "/dev/loop3 64M 64M 0 100% /snap/core/9", "/dev/sr0 1G 1G 0 100% /mnt/install"],
}
SHORT = ("RuntimeError: PytorchStreamWriter failed writing file data/7: file write failed",
         "RuntimeError: [enforce fail at inline_container.cc:9] . unexpected pos 640 vs 512")  # fmt: skip


def log(last: str) -> list[str]:
    lines = [
        f"[rank{rank}]: rank {rank} of world size 3 step {step} loss 2.{9 - step}"
        for step in range(4)
        for rank in range(3)
    ]
    lost = "RuntimeError: [/w/gloo/transport/tcp/pair.cc:9] Connection closed by peer [127.0.0.1]:4021."
    for rank, end in ((1, last), (0, lost), (2, lost)):
        at = ['  File "/job/t.py", line 9, in f', "    torch.save(state, path)" if rank == 1 else "    dist.barrier()"]
        trace = [
            "Traceback (most recent call last):",
            *at,
            '  File "/x/site-packages/torch/a.py", line 3, in g',
            "    h()",
            end,
        ]
        lines += [f"[rank{rank}]: {line}" for line in trace]
    return lines


@pytest.mark.parametrize("table", FULL)
@pytest.mark.parametrize("last", SHORT)
def test_a_short_write_beside_a_full_volume(tmp_path: Path, last: str, table: str) -> None:
    verdict = analyze(written(tmp_path, {"t.log": log(last), "df.txt": FULL[table]})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "disk_full", [1])


@pytest.mark.parametrize("table", NOT)
@pytest.mark.parametrize("last", [*SHORT, "RuntimeError: basic_ios::clear: iostream error"])
def test_a_short_write_alone_is_an_error_of_whoever_wrote(tmp_path: Path, last: str, table: str) -> None:
    verdict = analyze(written(tmp_path, {"t.log": log(last), "df.txt": NOT[table]})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [1])


def test_a_full_volume_explains_no_other_error(tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, {"t.log": log("KeyError: 'x'"), "df.txt": FULL["df -h"]})).verdict
    assert verdict.cause == "exception"
