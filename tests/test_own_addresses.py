"""Which address is whose host's, and what else a host is called, as people note it: one fact, one answer; and lists of others, which name nobody."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parsers.archive.bundle import open_bundle
from parsers.schema.names import Names
from parsers.who.speakers import speakers
from tests.sources import written

HOSTS = {"lyra-11": "10.8.3.77", "lyra-03": "10.8.3.52", "lyra-07": "10.8.3.14"}  # in the order of their ranks
LAN = {"lyra-11": "192.168.61.77", "lyra-03": "192.168.61.52", "lyra-07": "192.168.61.14"}
Files = dict[str, list[str]]
DEVICES = 4


def job(called: Sequence[str]) -> Files:
    """A table of the ranks of devices by the hosts' names there, and a log of each host."""
    table = [
        {"server_id": name, "device": [{"device_id": f"{one}", "rank_id": f"{DEVICES * node + one}"} for one in range(DEVICES)]}
        for node, name in enumerate(called)
    ]  # fmt: skip
    files = {
        f"{host}/train.log": [f"2026-03-01 10:00:0{at} step {at} loss 2.{at}" for at in range(8)] for host in HOSTS
    }
    return files | {
        "ranks.json": json.dumps(
            {"server_count": "3", "server_list": table, "status": "completed"}, indent=1
        ).splitlines()
    }


def told(folder: Path, files: Files) -> Names:
    with open_bundle(str(written(folder, files))) as bundle:
        return speakers(bundle.sources).names


def each(path: str, *lines: str) -> Callable[[], Files]:
    """A file of each host."""
    return lambda: {
        path.format(host=host): [one.format(host=host, ip=ip, lan=LAN[host]) for one in lines]
        for host, ip in HOSTS.items()
    }


def one(
    path: str, *lines: str, head: Sequence[str] = (), hosts: Sequence[str] = tuple(sorted(HOSTS))
) -> Callable[[], Files]:
    """One file, a part of each host."""
    return lambda: {
        path: [*head, *(line.format(host=host, ip=HOSTS[host], lan=LAN[host], at=at) for at, host in enumerate(hosts) for line in lines)]
    }  # fmt: skip


OF_ADDRESSES: dict[str, Callable[[], Files]] = {
    "typed": each("{host}/shell.txt", "[root@{host} ~]# hostname -I", "{ip} {lan} 172.17.0.1", "[root@{host} ~]# date", "Fri 20:31"),
    "typed, of one file": one("session.txt", "ern@{host}:~$ hostname -I", "{ip} {lan}"),
    "typed, of one host alone": one("session.txt", "ern@{host}:~$ hostname -I", "{ip} {lan}", hosts=("lyra-03",)),
    "below headings": one("hosts.txt", "==== {host} ====", "{ip} {lan}", ""),
    "pssh": one("hosts.txt", "[{at}] 20:00:02 [SUCCESS] {host}", "{host}", "{ip} {lan} 172.17.0.1", head=["# pssh 'hostname; hostname -I'"]),
    "ansible": one("hosts.txt", "{host} | CHANGED | rc=0 >>", "{ip} {lan}"),
    "clush": one("hosts.txt", "{host}: {ip} {lan}"),
    "clush, gathered": one("hosts.txt", "---------------", "{host}", "---------------", "{ip} {lan}"),
    "ip -br": each("{host}/net.txt", "lo               UNKNOWN        127.0.0.1/8", "ens3f0           UP             {ip}/24 fe80::1/64"),
    "ip addr": each("{host}/ip.txt", "2: ens3f0: <BROADCAST,UP> mtu 1500", "    inet {ip}/24 brd 10.8.3.255 scope global ens3f0"),
    "ifconfig": each("{host}/ip.txt", "ens3f0: flags=4163  mtu 1500", "        inet {ip}  netmask 255.255.255.0  broadcast 10.8.3.255"),
    "a launcher's settings": each("{host}/launch.log", "LAUNCH INFO 2026-11-29 19:58:19,114 devices: None", "LAUNCH INFO 2026-11-29 19:58:19,114 host: {ip}", "LAUNCH INFO 2026-11-29 19:58:19,114 master: 10.8.3.5"),
    "a field": each("{host}/agent.log", "I0301 10:00:00 agent] version=3 node_ip={ip} state=up"),
    "in Chinese": each("{host}/agent.log", "2026-03-01 10:00:00 本机: {ip}"),
    "fields of a record": one("inventory.txt", "host={host} rack=C07 ip={ip}"),
    "a list in JSON": lambda: {"nodes.json": json.dumps([{"host": host, "up": True, "ip": ip} for host, ip in HOSTS.items()], indent=1).splitlines()},
    "a list in YAML": one("nodes.yaml", "  - name: {host}", "    rack: C07", "    address: {ip}", head=["nodes:"]),
    "names of hosts": one("etc_hosts", "{ip}  {host}.lab {host}", head=["127.0.0.1 localhost"]),
    "a table": one("inventory.csv", "{at},{host},{ip}", head=["nr,host,ip"]),
}  # fmt: skip


@pytest.mark.parametrize("form", OF_ADDRESSES)
def test_hosts_have_addresses(form: str, tmp_path: Path) -> None:
    names = told(tmp_path, job([*HOSTS.values()]) | OF_ADDRESSES[form]())
    hosts = ["lyra-03"] if "one host alone" in form else [*HOSTS]
    assert {host: names.devices.get((host, 1)) for host in hosts} == {
        host: 4 * [*HOSTS].index(host) + 1 for host in hosts
    }


NEXT = dict(zip(HOSTS, [*HOSTS.values()][1:] + [*HOSTS.values()][:1], strict=True))
OF_OTHERS: dict[str, Files] = {
    "peers": {f"{host}/agent.log": [f"10:00:00 connected to ip={ip}", f"10:00:01 sending to addr={ip}"] for host, ip in NEXT.items()},
    "a neighbour": {f"{host}/agent.log": [f"version=3 next_ip={ip} state=up"] for host, ip in NEXT.items()},
    "its master": {f"{host}/agent.log": ["version=3 master_ip=10.8.3.77 state=up"] for host in HOSTS},
    "one address for all": {f"{host}/agent.log": ["host: 10.8.3.77"] for host in HOSTS},
    "a list of hosts, a line each": {"session.txt": ["ern@lyra-07:~$ cat hostfile", "10.8.3.77", "10.8.3.52", "10.8.3.14"]},
    "a list of hosts in a line": {"session.txt": ["ern@lyra-07:~$ echo $HOSTS", "10.8.3.77 10.8.3.52 10.8.3.14"]},
    "asked for": {"session.txt": ["a@lyra-07:~$ dig +short lyra-03", "10.8.3.52", "a@lyra-07:~$ cat next", "10.8.3.77"]},
    "asked for, one": {"session.txt": ["a@lyra-07:~$ hostname", "lyra-07", "$ dig +short lyra-03", "10.8.3.52"]},
    "routes": {f"{host}/net.txt": [f"{ip} dev ens3f0 lladdr aa:bb:cc:00:11:22 REACHABLE", f"{ip}/32 via 10.8.3.1"] for host, ip in NEXT.items()},
    "a firewall": {f"{host}/net.txt": [f"-A INPUT -s {ip}/32 -j ACCEPT"] for host, ip in NEXT.items()},
    "two hosts that say the same": {"session.txt": ["a@lyra-07:~$ hostname -I", "10.8.3.77", "a@lyra-03:~$ hostname -I", "10.8.3.77"]},
    "ports of others": {f"{host}/agent.log": [f"up addr={ip}:5000"] for host, ip in NEXT.items()},
    "in a sentence": {f"{host}/agent.log": [f"10:00:00 lost heartbeat of host: {ip}"] for host, ip in NEXT.items()},
    "a table of neighbours": {"ring.csv": ["host,peer_ip", *(f"{host},{ip}" for host, ip in NEXT.items())]},
}  # fmt: skip


@pytest.mark.parametrize("form", OF_OTHERS)
def test_addresses_of_others_name_no_host(form: str, tmp_path: Path) -> None:
    names = told(tmp_path, job([*HOSTS.values()]) | OF_OTHERS[form])
    assert {host for host, _ in names.devices} & HOSTS.keys() == set()


ALIASES = {"lyra-11": "east-two", "lyra-03": "west-one", "lyra-07": "attic"}
IN_CHINESE = {"lyra-11": "一号机", "lyra-03": "二号机", "lyra-07": "三号机"}


def listed(*head: str, row: str, aliases: dict[str, str], turned: bool = True) -> Files:
    hosts = sorted(HOSTS, key=[*HOSTS].index, reverse=turned)
    return {
        "assets.txt": [*head, *(row.format(at=at, host=host, alias=aliases[host], lan=LAN[host]) for at, host in enumerate(hosts, 1))]
    }  # fmt: skip


OF_ALIASES: dict[str, tuple[Files, dict[str, str]]] = {
    "csv": (listed("nr,alias,hostname,rack", row="{at},{alias},{host},C07-{at}", aliases=ALIASES), ALIASES),
    "csv in Chinese": (listed("序号,别名,主机名,管理口,机柜", row="{at},{alias},{host},{lan},C07-{at}", aliases=IN_CHINESE), IN_CHINESE),
    "tabs": (listed("host\tcalled", row="{host}\t{alias}", aliases=ALIASES), ALIASES),
    "columns": (listed("HOST        CALLED      CARDS", row="{host}     {alias}    4", aliases=ALIASES), ALIASES),
    "marks": (listed("| label | machine |", "|---|---|", row="| {alias} | {host} |", aliases=ALIASES), ALIASES),
    "semicolons": (listed("machine;name", row="{host};{alias}", aliases=IN_CHINESE), IN_CHINESE),
}  # fmt: skip


@pytest.mark.parametrize("form", OF_ALIASES)
def test_hosts_have_other_names(form: str, tmp_path: Path) -> None:
    files, aliases = OF_ALIASES[form]
    used = {"digest.csv": ["where,step,crc", *(f"{alias},4070,6a06e9ab" for alias in aliases.values())]}
    names = told(tmp_path, job([*HOSTS]) | files | used)
    assert {host: names.devices.get((alias, 2)) for host, alias in aliases.items()} == {
        host: 4 * at + 2 for at, host in enumerate(HOSTS)
    }
