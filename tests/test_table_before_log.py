"""A job log that begins with the table of a tool is still a log: nothing of it is swallowed, nothing called known."""

from pathlib import Path

import pytest

import parsers
from parsers import Evidence

LOG = """\
words that no parser has ever seen, said once
2026-05-04 10:00:01 [rank3] INFO loop: step 7 done loss=2.10 grad_norm=0.5
words that no parser has ever seen, said twice
    an indented remark : of nobody
[rank3]: Traceback (most recent call last):
[rank3]:   File "/job/loop.py", line 12, in <module>
[rank3]:     run()
[rank3]:   File "/job/loop.py", line 7, in run
[rank3]:     raise ValueError("odd batch")
[rank3]: ValueError: odd batch
"""
FOREIGN = 3

TABLES = {
    "nvidia_smi_q": "==============NVSMI LOG==============\n\nTimestamp        : Mon May  4 09:59:00 2026\n"
    "Driver Version   : 550.1\nAttached GPUs    : 1\nGPU 00000000:3B:00.0\n    Product Name     : GPU\n"
    "    ECC Mode\n        Current      : Enabled\n    Processes        : None\n",
    "nvidia_smi_csv": "index, pci.bus_id, temperature.gpu\n0, 00000000:3B:00.0, 40\n1, 00000000:3C:00.0, 41\n",
    "nvlink_status": "GPU 0: Some GPU (UUID: GPU-0a0b0c0d)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n",
    "mx_smi": "mx-smi  version: 2.1.12\n\n====== MetaX System Management Interface Log ======\n"
    "Attached GPUs    : 1\n+-----+\n| MX-SMI 2.1.12     Kernel Mode Driver Version: 2.12 |\n"
    "| 0           MetaX C500   | 0000:0e:00.0   | 0% |\n| 35C   54W / 350W   | 826/65536 MiB   |   |\n+-----+\n",
    "mthreads_gmi": "Mon May  4 09:59:00 2026\n-----\n    mthreads-gmi:2.4.1     Driver Version:5.1.0\n-----\n"
    "ID   Name      |PCIe         |%GPU  Mem\n     Type      |Lane Width   |Temp  MPC\n"
    "0    MTT S4000 |00000000:12:00.0 |0%    4MiB(49152MiB)\n     Physical  |16x(16x)     |43C   YES\n-----\n",
    "ib": "CA 'mlx5_3'\n\tCA type: MT4129\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\n",
    "ibstatus": "Infiniband device 'mlx5_3' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\trate:\t\t 400 Gb/sec\n\n",
    "rdma_link": "link mlx5_3/1 state ACTIVE physical_state LINK_UP netdev ib3\n",
    "lspci": "3b:00.0 3D controller: Somebody GPU (rev a1)\n\tControl: I/O+ Mem+\n"
    "\t\tLnkSta: Speed 16GT/s, Width x8 (downgraded)\n\tKernel driver in use: driver\n\n",
    "dcgmi_dmon": "#Entity   GPUTL  POWER\nID               W\nGPU 0     75     185.3\n",
    "prometheus": "# HELP GPU_TEMP degrees\n# TYPE GPU_TEMP gauge\nGPU_TEMP{gpu=\"0\"} 41\n",
    "sacct": "JobID|JobName|State|ExitCode\n4711.0|python|RUNNING|0:0\n",
    "sacct_aligned": "JobID           JobName      State ExitCode\n------------ ---------- ---------- --------\n"
    "4711.0           python    RUNNING      0:0\n",
    "sacct_bare": "JobID           JobName      State ExitCode\n4711.0           python    RUNNING      0:0\n",
    "kubernetes": "LAST SEEN   TYPE     REASON    OBJECT     MESSAGE\n3m          Normal   Pulled    pod/w-0    pulled\n",
    "ras": "NCCL version 2.28.3 compiled with CUDA 12.9\n\nJob summary\n===========\n\n"
    "  Nodes  Processes         GPUs  Processes     GPUs\n      4          8            1         32       32\n\n"
    "Errors\n======\n\n#0-0 (27a0c3d4e5f60718) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    "  The missing rank: 21\n\nWarnings\n========\n\n",
    "transfer_counters": "rank,peer,seq,channel,total,posted,transmitted,done\n0,1,9,0,5,5,5,5\n",
    "phases": "rank,step,phase,ms\n3,6,forward,12.5\n3,6,backward,25.0\n",
    "preflight": "host,test,ok,gbps\nn1,allreduce,1,390.1\n",
    "heartbeat": "time,host,state,heartbeat\n2026-05-04T09:59:00Z,n1,up,1\n",
}  # fmt: skip


def _read(folder: Path, text: str) -> Evidence:
    (folder / "worker.log").write_text(text)
    return parsers.read(str(folder))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("is_bare", [False, True], ids=["with rank prefix", "without"])
def test_a_log_behind_a_table_is_read(name: str, is_bare: bool, tmp_path: Path) -> None:
    alone, log = tmp_path / "alone", tmp_path / "log"
    for folder in (alone, log):
        folder.mkdir()
    table = _read(alone, TABLES[name]).tables
    owner = table["files"]["parsers"].item().to_list()
    assert len(owner) == 1 and table["unread"].is_empty()
    text = LOG.replace("[rank3]: ", "") if is_bare else LOG
    tables = _read(log, TABLES[name] + text).tables

    assert owner[0] in tables["files"]["parsers"].item().to_list()
    exception = tables["events"].filter(kind="exception").rows(named=True)
    assert [(row["code"], row["rank"]) for row in exception] == [("ValueError", None if is_bare else 3)]
    assert tables["steps"]["step"].to_list() == [7]
    for rows in ("devices", "settings", "timings", "transfers", "progress", "ranks"):
        assert tables[rows].height == table[rows].height, rows
    count = tables["files"].row(0, named=True)
    blank = sum(not line.strip() for line in TABLES[name].splitlines())
    assert count["recognised"] in range(count["lines"] - FOREIGN - blank, count["lines"] - FOREIGN + 1)
    assert tables["unread"].filter(tables["unread"]["line"].is_null()).is_empty()


def test_words_of_a_tool_make_no_table(tmp_path: Path) -> None:
    head = "MACA_PATH=/opt/maca\nTOOL=/opt/bin/mx-smi\nmthreads-gmi: not found, Driver Version: unknown\n"
    assert "exception" in _read(tmp_path, head + LOG).tables["events"]["kind"].to_list()


def test_a_row_that_does_not_fit_its_table_is_still_unread(tmp_path: Path) -> None:
    tables = _read(tmp_path, TABLES["nvidia_smi_csv"] + "2, 00000000:3D:00.0\n").tables
    assert tables["unread"]["line"].to_list() == [4]
