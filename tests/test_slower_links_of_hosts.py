"""The job became slow when the link of one host did: told by tables of whatever columns, or by the kernels, which say how fast a link came up."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

START = datetime(2026, 1, 5, 10, 0, 0)
ONSET, STEPS = 30, 60  # of 30 s each
HOSTS = tuple(f"ps-{at}" for at in range(1, 5)) + tuple(f"wk-{at}" for at in range(1, 5))


def _logs(ranks: int = 4, *, anew: int = 0, grows: str = "wait", onset: int = ONSET) -> dict[str, list[str]]:
    """Each worker's speed and where its step goes. `anew`: steps of an epoch, after which they are counted from 0."""
    files: dict[str, list[str]] = {}
    for rank in range(ranks):
        own = [f"[10:00:00] worker {rank} of {ranks} (host wk-{rank + 1}), world size {ranks}"]
        for step in range(STEPS):
            is_slow = step >= onset
            at = START + timedelta(seconds=30 * step, milliseconds=137)
            work, wait = 0.61 + 0.001 * (step % 3), 0.01
            work, wait = (
                work + (1.1 if is_slow and grows == "work" else 0),
                wait + (1.1 if is_slow and grows == "wait" else 0),
            )
            number = step % (anew or STEPS)
            speed = (150.0 if is_slow else 412.0) + step % 4
            own.append(
                f"{at:%Y-%m-%d %H:%M:%S},137 Node[{rank}] Epoch[{step // (anew or STEPS)}] Batch [{40 * number}-{40 * number + 40}]"
                f"\tSpeed: {speed:.2f} samples/sec\taccuracy=0.59 fwd_bwd={work:.3f}s push_pull_wait={wait:.3f}s"
            )
        files[f"worker_{rank}.log"] = own
    return files


def _table(
    columns: str,
    row: str,
    lame: Sequence[str] = ("ps-2",),
    since: int = ONSET,
    fast: float = 10,
    low: float = 1,
    gap: str = ",",
) -> list[str]:
    """A look at all hosts every two minutes; `row` has `{gbps}` and its like in it."""
    lines = [columns]
    for look in range(0, STEPS, 4):
        at = START + timedelta(seconds=30 * look)
        for host in HOSTS:
            gbps = low if host in lame and look >= since else fast
            said = {"gbps": gbps, "mbps": gbps * 1000, "bytes": gbps * 1e9 / 8, "host": host, "role": host[:2]}
            said |= {"t": f"{at:%Y-%m-%dT%H:%M:%S}Z", "unix": int((at - datetime(1970, 1, 1)).total_seconds())}
            lines.append(row.format(**said))
    return lines


def _kernels(
    form: str, lame: Sequence[str] = ("ps-2",), since: int = ONSET, hosts: Sequence[str] = HOSTS
) -> dict[str, list[str]]:
    """What each host's kernel says at its start, and of the link that came back slower."""
    files = {}
    for host in hosts:
        own = [f"Jan 05 09:00:0{at} {host} kernel: " + form.format(speed="10 G") for at in range(1)]
        if host in lame:
            at = START + timedelta(seconds=30 * since)
            own += [
                f"{at - timedelta(seconds=3):%b %d %H:%M:%S} {host} kernel: ixgbe 0000:3b:00.0 eno1: NIC Link is Down"
            ]
            own += [f"{at:%b %d %H:%M:%S} {host} kernel: " + form.format(speed="1 G")]
        files[f"journal_{host}.log"] = own
    return files


def _verdict(folder: Path, files: dict[str, list[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ("time,instance,role,nic_speed_mbps,tx_MBps,rx_MBps,cpu_busy_pct,tcp_retrans_per_s", "{t},{host}:9100,{role},{mbps:.0f},318.0,322.1,31.0,0.3"),
        ("time,host,link_speed_gbps", "{t},{host},{gbps}"),
        ("timestamp,node,port,link_rate_Gbps", "{unix},{host},eth0,{gbps}"),
        ("ts,hostname,interface,node_network_speed_bytes", "{unix},{host},eno1,{bytes:.0f}"),
        ("time,nodename,net_speed_mbit", "{t},{host},{mbps:.0f}"),
        ("time,instance,eth0_speed_mbits", "{unix},{host}:9100,{mbps:.0f}"),
        ("timestamp,host,nic,port_speed_Gb/s", "{t},{host},mlx5_0,{gbps}"),
        ("time,host,metric,value", "{unix},{host},port_gbps,{gbps}"),
    ],
)  # fmt: skip
def test_a_table_of_hosts(tmp_path: Path, columns: str, row: str) -> None:
    found = _verdict(
        tmp_path,
        _logs(anew=15 if "instance" in columns or "metric" in columns else 0) | {"export.csv": _table(columns, row)},
    )
    assert (found.kind, found.cause, found.hosts, found.ranks) == ("slow", "straggler_network", ["ps-2"], [])


@pytest.mark.parametrize(
    "form",
    [
        "ixgbe 0000:3b:00.0 eno1: NIC Link is Up {speed}bps, Flow Control: RX/TX",
        "igb 0000:3b:00.0 eth0: igb: eth0 NIC Link is Up {speed}bps Full Duplex, Flow Control: RX",
        "bnxt_en 0000:3b:00.0 ens1: NIC Link is Up, {speed}bps full duplex, Flow control: none",
        "i40e 0000:3b:00.0 eth1: NIC Link is Up, {speed}bps Full Duplex, Flow Control: None",
    ],
)
def test_what_kernels_say_of_links(tmp_path: Path, form: str) -> None:
    found = _verdict(tmp_path, _logs() | _kernels(form))
    assert (found.cause, found.hosts, found.ranks) == ("straggler_network", ["ps-2"], [])


def _at_boot(lame: str) -> dict[str, list[str]]:
    """Each kernel's one word of its link, of long before the job."""
    return {
        f"journal_{host}.log": [
            f"Jan 01 06:02:11 {host} kernel: igb 0000:05:00.0 eno1: igb: eno1 NIC Link is Up {100 if host == lame else 1000} Mbps Full Duplex, Flow Control: RX"
        ]
        for host in HOSTS
    }


def _untimed(files: dict[str, list[str]]) -> dict[str, list[str]]:
    return {path: [line.split(",137 ")[-1].removeprefix("[10:00:00] ") for line in own] for path, own in files.items()}


def _beside(host: str, said: str) -> list[str]:
    return [f"Jan 05 09:00:01 {host} kernel: {said}"]


_COLUMNS, _ROW = "time,host,link_speed_gbps", "{t},{host},{gbps}"
_UP = "ixgbe 0000:3b:00.0 eno1: NIC Link is Up {speed}bps, Flow Control: RX/TX"


@pytest.mark.parametrize(
    "files",
    [
        _logs() | {"e.csv": _table(_COLUMNS, _ROW, lame=())},
        _logs() | {"e.csv": _table(_COLUMNS, _ROW, lame=("ps-2", "ps-3", "wk-1"))},
        _logs() | {"e.csv": _table(_COLUMNS, _ROW, since=0)},
        _logs() | {"e.csv": _table(_COLUMNS, _ROW, since=52)},
        _logs(grows="work") | {"e.csv": _table(_COLUMNS, _ROW)},
        _logs(grows="work", anew=15) | {"e.csv": _table(_COLUMNS, _ROW)},
        _logs() | _kernels(_UP, hosts=("ps-2",)),
        _logs() | _kernels(_UP, since=6),
        _logs() | _kernels(_UP, since=STEPS + 60),
        _logs() | _kernels(_UP.replace("{speed}", "10 G")),
        _logs() | _at_boot("ps-2"),
        _untimed(_logs()) | _at_boot("ps-2"),
        _logs() | _kernels(_UP) | {"dmesg_ps-2.log": _beside("ps-2", "mlx5_core 0000:41:00.0 ens3f0np0: Link up")},
        _logs() | _kernels(_UP) | {"dmesg_ps-2.log": _beside("ps-2", "i40e 0000:41:00.0 ens3: NIC Link is Up, 40 Gbps Full Duplex, Flow Control: None")},
        _logs() | {"e.csv": _table("time,host,net_rate_mbps", "{t},{host},{mbps:.0f}")},
        _logs() | {"e.csv": _table("time,host,net_speed_mbps", "{t},{host},{mbps:.0f}", fast=9.1, low=2.1)},
    ],
    ids=["all alike", "several", "always", "later", "work grew", "work grew, epochs", "one kernel alone", "long before", "long after", "came back as fast",
         "at the boot", "at the boot, of a job without times", "beside an adapter of unknown speed", "beside a faster one", "traffic", "traffic called a speed"],
)  # fmt: skip
def test_nobody_else_s_link(tmp_path: Path, files: dict[str, list[str]]) -> None:
    found = _verdict(tmp_path, files)
    assert (found.hosts, found.ranks) == ([], [])


def test_a_job_that_kept_its_speed_is_not_slow(tmp_path: Path) -> None:
    found = _verdict(tmp_path, _logs(onset=STEPS) | {"e.csv": _table(_COLUMNS, _ROW)})
    assert (found.kind == "slow", found.hosts) == (False, [])
