"""What stands before the lines of each process names its host, and its place there: one fact, one answer. Whose device a kernel complains of follows."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("pg-31", "pg-18")
BUSES = ("18", "5d", "9a", "ab")
LOST = 7
FORMS = (
    "[{host}/{at}]", "[{host}:{at}]", "{host}/{at}:", "[{at}@{host}]", "[{host}#{at}]", "{host}.{at} |", "[{host}-{at}]", "{host}_{at}:",
    "<{host} gpu{at}>", "[{host}/gpu{at}]", "[gpu{at}.{host}]", "({host}, {at})", "{host}:r{at} -", "[{host}.lab:{at}]",
)  # fmt: skip


def log(form: str, order: tuple[int, ...] = (6, 1, 4, 7, 0, 3, 2, 5)) -> list[str]:
    def label(rank: int) -> str:
        return form.format(host=HOSTS[rank // 4], at=rank % 4)

    own = [
        f"21:14:2{rank} {label(rank)} acc.boot ready: process_index={rank} num_processes=8 device={BUSES[rank % 4]}:00.0 bf16"
        for rank in order
    ]
    own += [f"21:14:33 {label(rank)} acc.data shards opened, starting" for rank in order]
    own += [f"02:5{at}:14 {label(0)} acc.train {15 + at}/60 loss 1.92 181.1 samples/s" for at in range(4)]
    own += [
        f"02:54:21 {label(LOST)} {line}"
        for line in (
            "Traceback (most recent call last):",
            '  File "train_acc.py", line 141, in main',
            "    accelerator.clip_grad_norm_(model.parameters(), 1.0)",
            "RuntimeError: CUDA error: unspecified launch failure",
        )
    ]
    gone = "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:328, remote process exited or there was a network error, NCCL version 2.22.3"
    return own + [f"02:54:26 {label(rank)} {gone}" for rank in (6, 0, 1, 3, 4)]


JOURNAL = [
    "Aug 28 02:32:39 pg-18 sbatchd[2210]: job 604417 res usage collected",
    "Aug 28 02:54:19 pg-18 kernel: NVRM: GPU at PCI:0000:ab:00: GPU-5e0d11c2-9a41-7f63-b0e5-2f1167aa03d9",
    "Aug 28 02:54:19 pg-18 kernel: NVRM: Xid (PCI:0000:ab:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
]
NODES = ["pg-31", "pg-18"]  # a list of hosts


def placed(folder: Path, lines: list[str]) -> dict[int, set[str]]:
    """Rank → the hosts that it is told to be on."""
    ranks = read(str(written(folder, {"job.out": lines, "journal.txt": JOURNAL, "nodes.txt": NODES}))).tables["ranks"]
    found: dict[int, set[str]] = {}
    for rank, host in ranks.select("rank", "host").drop_nulls().iter_rows():
        found.setdefault(rank, set()).add(host.partition(".")[0])
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_label_names_the_host(form: str, tmp_path: Path) -> None:
    assert placed(tmp_path, log(form)) == {rank: {HOSTS[rank // 4]} for rank in range(8)}


def test_whose_device_it_is_follows(tmp_path: Path) -> None:
    verdict = analyze(
        str(written(tmp_path, {"job.out": log(FORMS[0]), "journal.txt": JOURNAL, "nodes.txt": NODES}))
    ).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", [LOST])


OTHERS = {
    "who gathers them": [line.replace("[pg-18", "[pg-31") for line in log("[{host}/{at}]")],
    "whom they call": [
        f"21:14:2{rank} acc.boot: process_index={rank} num_processes=8 connecting to pg-{31 - 13 * (rank % 2)}" for rank in range(8)
    ],
    "two for one": [*log("[{host}/{at}]")[:8], *log("[{host}/{at}]")[0:1], "21:15:02 [pg-31/2] acc.boot ready: process_index=6 num_processes=8"],
    "no host of the job": [line.replace("pg-", "run-") for line in log("[{host}/{at}]")],
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_what_places_nobody(case: str, tmp_path: Path) -> None:
    assert placed(tmp_path, OTHERS[case]) == {}
