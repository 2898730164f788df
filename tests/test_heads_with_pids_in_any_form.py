"""A logger's head that tells a rank and its process, in whatever form: what the kernel says of that process is that rank's."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

PIDS = {8: 20772, 9: 20779, 10: 20786, 11: 20793, 12: 20801, 13: 20817, 14: 20824, 15: 20831}
ODD = 13
FORMS = {
    "composer's": "2026-08-19 05:{m}:16,808: rank{r}[{p}][MainThread]: INFO: composer.trainer: {text}",
    "the thread first": "2026-08-19 05:{m}:16,808: rank{r}[MainThread][{p}]: INFO: composer.trainer: {text}",
    "brackets": "[rank{r}][{p}] 05:{m}:16 {text}",
    "in brackets behind it": "05:{m}:16 rank{r}({p}): {text}",
    "a slash": "05:{m}:16 rank{r}/{p}: {text}",
    "bars": "rank {r} | {p} | {text}",
    "fields": "rank={r} pid={p} {text}",
    "fields in brackets": "(rank={r} pid={p}) {text}",
    "the process first": "05:{m}:16 [{p}] [rank {r}] INFO {text}",
    "an at": "rank{r}@{p} | {text}",
    "colons": "rank{r}:{p}:MainThread: {text}",
    "a tag": "05:{m}:16 rank{r}[{p}]: {text}",
    "behind a level": "INFO 2026-08-19 05:{m}:16 rank{r}[{p}]: {text}",
    "a word for it": "05:{m}:16 [rank {r}, pid {p}] {text}",
    "another stamp": "[08/19/26 05:{m}:16] rank{r}[{p}]: {text}",
}


def log(form: str, pids: dict[int, int]) -> list[str]:
    texts = (
        "Building tokenizer...",
        "Replication 1, 1024 canonical nodes",
        "shard 3697 evicted from local cache",
        "step 4 loss 2.1",
    )
    lines = ["Starting processes, world_size 16"]
    for at, text in enumerate(texts):
        lines += [FORMS[form].format(r=rank, p=pid, m=50 + at, text=text) for rank, pid in pids.items()]
    return lines


def known(folder: Path, files: dict[str, list[str]]) -> dict[int, int]:
    ranks = read(str(written(folder, files))).tables["ranks"]
    return dict(ranks.select("pid", "rank").drop_nulls().unique().iter_rows())


@pytest.mark.parametrize("form", FORMS)
def test_whose_process_it_is(form: str, tmp_path: Path) -> None:
    told = known(tmp_path, {"hgx-b12.log": log(form, PIDS)})
    assert {told.get(pid) for pid in PIDS.values()} == {*PIDS}
    assert told == {pid: rank for rank, pid in PIDS.items()}  # no shard is one


def test_two_numbers_without_a_word_name_nobody(tmp_path: Path) -> None:
    FORMS["two numbers"] = "[{r}:{p}] {text}"
    try:
        assert known(tmp_path, {"hgx-b12.log": log("two numbers", PIDS)}) == {}
    finally:
        del FORMS["two numbers"]


def node(name: str, number: int, pids: dict[int, int]) -> list[str]:
    """The log of a launcher that somebody typed there, which tells where the first node is."""
    command = f"$ composer -n 8 --world_size 16 --node_rank {number} --master_addr 10.70.1.11 --master_port 29531 train.py 2>&1 | tee ~/{name}.log"
    return [
        command,
        *(f"INFO: Launching process for local_rank({rank % 8}), global_rank({rank})" for rank in pids),
        *log("composer's", pids),
    ]


def kernel(name: str, pid: int) -> list[str]:
    return [
        f"Aug 19 06:00:31 {name} kernel: docker0: port 3(veth77) entered disabled state",
        f"Aug 19 06:07:50 {name} kernel: NVRM: Xid (PCI:0000:c3:00): 48, pid={pid}, name=python, DBE (double bit error)",
        f"Aug 19 06:07:51 {name} kernel: NVRM: Xid (PCI:0000:c3:00): 95, pid={pid}, name=python, Uncontained ECC error",
    ]


ENDED = ["Traceback (most recent call last):", '  File "/w/train.py", line 9, in <module>', "    loss.backward()", "RuntimeError: CUDA error: uncorrectable ECC error encountered"]  # fmt: skip


@pytest.mark.parametrize(("host", "named"), [("hgx-b12", [ODD]), ("hgx-b11", [])])
def test_a_kernel_speaks_of_the_process_of_its_host(host: str, named: list[int], tmp_path: Path) -> None:
    first = {rank: 188027 + 31 * rank for rank in range(8)}
    files = {
        "hgx-b11.log": node("hgx-b11", 0, first),
        "hgx-b12.log": [*node("hgx-b12", 1, PIDS), *ENDED],
        f"{host}_kernel.txt": kernel(host, PIDS[ODD]),
    }
    verdict = analyze(str(written(tmp_path, files))).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "gpu_fault", named)
