"""A device's fault where neither the host nor the rank is told: the pid, or that only one device was gone, joins it to the job; two leave it open."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

XID = "[Fri Oct 30 09:58:31 2026] NVRM: Xid (PCI:0000:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
RAISED = [
    '{{"ts": "2026-10-30 09:58:33", "stream": "{who}"}} ', "Traceback (most recent call last):", '  File "/job/train.py", line 9, in <module>', "    loss.item()",
    "torch.AcceleratorError: CUDA error: unspecified launch failure",
]  # fmt: skip
LOST = ["Traceback (most recent call last):", '  File "/job/train.py", line 12, in <module>', "    dist.all_reduce(x)",
        "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.27.3"]  # fmt: skip


def logs(*failed: str) -> dict[str, list[str]]:
    hosts = ("a1", "b2", "c3")
    return {
        f"hosts/{host}/out.log": [
            f"2026-10-30 09:58:3{3 + at} {line}" for line in (RAISED[1:] if host in failed else LOST)
        ]
        for at, host in enumerate(hosts)
    }


def test_the_only_device_that_was_gone_is_of_the_one_that_failed_on_its_own(tmp_path: Path) -> None:
    verdict = analyze(written(tmp_path, logs("b2") | {"session.txt": [XID.format(pci="20:1c")]})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [])


@pytest.mark.parametrize(
    ("failed", "gone"),
    [((), ("20:1c",)), (("a1", "b2"), ("20:1c",)), (("b2",), ("20:1c", "3b:00"))],
    ids=["all lost others", "two failed on their own", "two devices were gone"],
)
def test_what_joins_no_device_to_a_process(tmp_path: Path, failed: tuple[str, ...], gone: tuple[str, ...]) -> None:
    verdict = analyze(written(tmp_path, logs(*failed) | {"session.txt": [XID.format(pci=pci) for pci in gone]})).verdict
    assert verdict.ranks == [] and verdict.status in ("hypothesis", "unknown", "undecided", "supported")
    assert not (verdict.cause == "gpu_fault" and verdict.status == "established")


PLOG = "[ERROR] RUNTIME({pid},python):2026-11-27-21:04:17.222.377 [stream.cc:1541]188340 GetError:stream synchronize failed, retCode=0x7BC8714, [hbm multi bit ecc error]"
END = "[ERROR] ME(188190:281473215033344,MainProcess):2026-11-27-21:04:18.772 [mindspore/parallel/cluster/process_entity/_api.py:372] Worker process {pid} exit with exception."


def test_its_runtime_and_its_launcher_tell_one_number(tmp_path: Path) -> None:
    files = {
        "asc-2/plog-188213.log": [PLOG.format(pid=188213)],
        "asc-2/msrun.out": [END.format(pid=188213)],
        "asc-5/msrun.out": [END.format(pid=441022)],
    }
    verdict = analyze(written(tmp_path, files)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [])
