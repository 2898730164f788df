"""Transfers that failed and tell the other end by its address alone: the host that has it is named where any document pairs both, however that is written."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

HOSTS, EACH = ("cfd-n01", "cfd-n02", "cfd-n03", "cfd-n04"), 2
GONE = "cfd-n03"


def _ip(host: str, net: str = "10.77.3") -> str:
    return f"{net}.2{host[-1]}"


def _lost(host: str, local: int, peer: str, to: str) -> list[str]:
    rank, pid = HOSTS.index(host) * EACH + local, 21000 + 100 * HOSTS.index(host) + local
    head = f"{rank:>2}: [{host}:{pid}:0:{pid}] ib_mlx5_log.c:177 "
    return [
        f"{head} Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)",
        f"{head} {to.format(ip=_ip(peer))}",
    ]


DCI = (
    "DCI QP 0x18b0 wqe[7501]: SEND s-e [rqpn 0x2be1 rmac b8:3f:d2:1a:02:4e sgix 3 dgid ::ffff:{ip} tc 106] [inl len 26]"
)
RC = "RC QP 0x2a1 wqe[411]: RDMA_WRITE s-- [rva 0x7f21 rkey 0x1] [rqpn 0x1f rmac b8:3f:d2:1a:02:4e sgix 3 dgid ::ffff:{ip} tc 106]"
RC_PLAIN = "RC QP 0x2a1 wqe[411]: SEND s-e [rqpn 0x1f dlid=0 sl=0 port=1 src_path_bits=0 dgid {ip} sgid_index=3]"
LINK_LOCAL = (
    "DCI QP 0x18b0 wqe[75]: SEND s-e [rqpn 0x2be1 rmac b8:3f:d2:1a:02:4e sgix 1 dgid fe80::ba3f:d2ff:fe1a:24e tc 106]"
)
TOLD: Mapping[str, Sequence[str]] = {
    "hosts": [f"{_ip(host)}  {host}.data {host}" for host in HOSTS],
    "hosts of two nets": [
        "# data network",
        *(f"{_ip(host)}  {host}-d {host}.data" for host in HOSTS),
        "# management",
        *(f"{_ip(host, '10.70.3')}  {host}" for host in HOSTS),
    ],
    "an inventory": [f"{host} ansible_host={_ip(host)}" for host in HOSTS],
    "a table": ["host,ip,rack", *(f"{host},{_ip(host)},a" for host in HOSTS)],
    "a list of nodes": ["NAME      STATUS   INTERNAL-IP", *(f"{host}   Ready    {_ip(host)}" for host in HOSTS)],
    "pairs": [f"{host}: {_ip(host)}" for host in HOSTS],
    "objects": [f'{{"host": "{host}", "ip": "{_ip(host)}"}}' for host in HOSTS],
    "a scheduler": [f"NodeName={host} NodeAddr={_ip(host)} State=ALLOCATED" for host in HOSTS],
    "the one alone": [f"{_ip(GONE)} {GONE} {GONE}.lab"],
    "a ping": [f"$ ping -c 1 {GONE}", f"PING {GONE} ({_ip(GONE)}) 56(84) bytes of data."],
}


def verdict(folder: Path, told: Sequence[str], pairs: Sequence[tuple[str, str]], to: str = DCI) -> Verdict:
    log = [
        f"{node * EACH + local:>2}: rank {node * EACH + local} of {len(HOSTS) * EACH} on {host} pid {21000 + 100 * node + local}"
        for node, host in enumerate(HOSTS)
        for local in range(EACH)
    ]
    log += [f" 0: iter {step} loss {3 - step / 40:.4f}" for step in range(20)]
    log += [line for host, peer in pairs for local in range(EACH) for line in _lost(host, local, peer, to)]
    files = {"slurm-77.out": log} | ({"notes.txt": list(told)} if told else {})
    return analyze(str(written(folder, files))).verdict


AROUND = [(host, GONE) for host in HOSTS if host != GONE] + [(GONE, host) for host in HOSTS if host != GONE]


@pytest.mark.parametrize("told", TOLD)
def test_whose_address_it_is(tmp_path: Path, told: str) -> None:
    pairs = AROUND if len(TOLD[told]) > 2 else AROUND[:3]  # of the others the addresses are not told
    found = verdict(tmp_path, TOLD[told], pairs)
    assert (found.cause, found.hosts, found.ranks) == ("network_fault", [GONE], [])


@pytest.mark.parametrize("to", [RC, RC_PLAIN])
def test_in_other_words_of_the_same(tmp_path: Path, to: str) -> None:
    assert verdict(tmp_path, TOLD["hosts"], AROUND, to).hosts == [GONE]


def test_pairs_without_a_common_end_are_nobodys(tmp_path: Path) -> None:
    pairs = [("cfd-n01", "cfd-n03"), ("cfd-n03", "cfd-n01"), ("cfd-n02", "cfd-n04"), ("cfd-n04", "cfd-n02")]
    found = verdict(tmp_path, TOLD["hosts"], pairs)
    assert not found.hosts and not found.ranks


@pytest.mark.parametrize(
    ("told", "to"),
    [
        ([], DCI),  # nobody tells whose it is
        ([*TOLD["hosts"], f"{_ip(GONE)} cfd-n02"], DCI),  # two have it
        (TOLD["hosts"], LINK_LOCAL),  # an address that no document knows
        (TOLD["hosts"], "DCI QP 0x18b0 wqe[7501]: SEND s-e [inl len 26]"),  # no other end is told
    ],
)
def test_where_nobody_tells_whose_it_is(tmp_path: Path, told: Sequence[str], to: str) -> None:
    pairs = [("cfd-n01", GONE), ("cfd-n02", GONE), (GONE, "cfd-n01"), (GONE, "cfd-n04")]
    found = verdict(tmp_path, told, pairs, to)
    assert not found.ranks and not {*found.hosts} - {GONE}
