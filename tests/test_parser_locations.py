"""Where hosts stand: maps of Slurm, of InfiniBand, of Kubernetes, and a site's own table."""

import json

import polars as pl
import pytest

from parsers.location import ib_fabric, node_labels, rack_map, slurm_topology
from parsers.schema.parser import FileParser
from parsers.text.host_list import host_list
from tests.lines import lines
from tests.sources import source

Row = tuple[str, str | None, str, str]

TREE = "SwitchName=leaf1 Nodes=n[1-2]\nSwitchName=leaf2 Nodes=n[3-4]  # the new row\nSwitchName=top Switches=leaf[1-2]"
SHOWN = (
    "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=leaf1"
)
BLOCKS = "BlockName=b1 BlockIndex=0 Nodes=n[01-02] BlockSize=18"
FABRIC = """\
vendid=0x2c9
switchguid=0xb8599f0300aa0001(b8599f0300aa0001)
Switch\t41 "S-b8599f0300aa0001"\t\t# "leaf-3a;sw:MQM8700" enhanced port 0 lid 7 lmc 0
[1]\t"H-0c42a10300bb0001"[1](c42a10300bb0001) \t\t# "n1 mlx5_0" lid 31 4xHDR
[2]\t"H-0c42a10300bb0002"[1](c42a10300bb0002) \t\t# "MT4123 ConnectX6   Mellanox Technologies" lid 32 4xHDR
[21]\t"S-b8599f0300cc0001"[3]\t\t# "spine-1" lid 2 4xHDR

Ca\t1 "H-0c42a10300bb0001"\t\t# "n1 mlx5_0"
[1](c42a10300bb0001) \t"S-b8599f0300aa0001"[1]\t\t# lid 31 lmc 0 "leaf-3a;sw:MQM8700" lid 7 4xHDR
"""
NODES = json.dumps(
    {
        "kind": "List",
        "items": [
            {"kind": "Node", "metadata": {"name": "n1", "labels": {"kubernetes.io/os": "linux", "example.com/rack": "r3",
             "network.topology.nvidia.com/leaf": "leaf-3", "topology.kubernetes.io/zone": "z1"}}},
            {"kind": "Node", "metadata": {"name": "n2", "labels": {"kubernetes.io/hostname": "n2"}}},
        ],
    }
)  # fmt: skip
LABELS = "NAME  STATUS  ROLES   AGE  VERSION  LABELS\nn1    Ready   <none>  9d   v1.31   a/b=c,topology.kubernetes.io/zone=z1"
COLUMNS = "NAME  STATUS  ROLES   AGE  VERSION  RACK  ZONE\nn1    Ready   <none>  9d   v1.31  r3  z1\nn2    Ready   <none>  9d   v1.31  <none>  z1"
WIDE = "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE\nn1 Ready <none> 9d v1.31 10.0.0.1 <none> Ubuntu"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("gpu-[016-018,020],login1", ["gpu-016", "gpu-017", "gpu-018", "gpu-020", "login1"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a1,b[1-2", ["a1"]),
        ("b[1-", []),
        ("", []),
        ("n[3-1]", []),
    ],
)
def test_host_lists(text: str, names: list[str]) -> None:
    assert host_list(text) == names


def test_a_host_list_of_all_the_world_ends() -> None:
    assert len(host_list("n[0-999999999]r[0-999999999]")) <= 200_001


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (TREE, [("n1", "leaf1", 0), ("n1", "top", 1), ("n2", "leaf1", 0), ("n2", "top", 1),
                ("n3", "leaf2", 0), ("n3", "top", 1), ("n4", "leaf2", 0), ("n4", "top", 1)]),
        (SHOWN, [("n1", "leaf1", 0), ("n1", "top", 1), ("n2", "leaf1", 0), ("n2", "top", 1)]),
        (BLOCKS, [("n01", "b1", 0), ("n02", "b1", 0)]),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", []),
        ("see SwitchName= in the manual", []),
    ],
    ids=["topology.conf", "scontrol", "blocks", "a circle", "foreign"],
)  # fmt: skip
def test_slurm(text: str, rows: list[tuple[str, str, int]]) -> None:
    made = slurm_topology.PARSER.parse(lines(text))["locations"]
    assert sorted(made.select("host", "name", "level").rows()) == rows


@pytest.mark.parametrize(
    ("parser", "text", "rows"),
    [
        (ib_fabric.PARSER, FABRIC, [("n1", "mlx5_0", "switch", "leaf-3a")]),
        (node_labels.PARSER, NODES, [("n1", None, "leaf", "leaf-3"), ("n1", None, "rack", "r3"), ("n1", None, "zone", "z1")]),
        (node_labels.PARSER, LABELS, [("n1", None, "zone", "z1")]),
        (node_labels.PARSER, COLUMNS, [("n1", None, "rack", "r3"), ("n1", None, "zone", "z1"), ("n2", None, "zone", "z1")]),
        (rack_map.PARSER, "Host,Rack,PDU\nn1,r3,p6\nn2,,p6\n,r4,p1", [("n1", None, "pdu", "p6"), ("n1", None, "rack", "r3"), ("n2", None, "pdu", "p6")]),
        (rack_map.PARSER, '{"host": "n1", "port": "mlx5_3", "leaf": "leaf-3d"}', [("n1", "mlx5_3", "leaf", "leaf-3d")]),
    ],
    ids=["fabric", "nodes", "labels", "columns", "csv", "json"],
)  # fmt: skip
def test_files(parser: FileParser, text: str, rows: list[Row]) -> None:
    assert parser.accepts("a", text.encode())
    made = parser.parse(source(text))["locations"]
    assert sorted(made.select("host", "part", "sort", "name").rows(), key=str) == sorted(rows, key=str)


@pytest.mark.parametrize(
    "text",
    [
        WIDE,
        '{"kind": "List", "items": [{"kind": "Event", "involvedObject": {"kind": "Node", "name": "n1"}, "reason": "x"}]}',
        "host,gpu,temperature_c\nn1,0,60",
        "host,round,test,ok,rack\nn1,0,gemm,true,r1",
        "rack,room\nr1,2",
        "",
    ],
    ids=["wide", "events", "telemetry", "checks", "no host", "empty"],
)
def test_what_is_no_map(text: str) -> None:
    taken = [
        one.name for one in (ib_fabric.PARSER, node_labels.PARSER, rack_map.PARSER) if one.accepts("a", text.encode())
    ]
    assert taken == []


def maps(*texts: str) -> pl.DataFrame:
    """A file for each."""
    return pl.concat(lines(text).with_columns(file=pl.lit(f"{number}")) for number, text in enumerate(texts))


def test_maps_of_many_nodes_are_cut_together_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_topology, "_ALL", 5)
    text = "SwitchName=leaf1 Nodes=n[1-4]"
    made = slurm_topology.PARSER.parse(maps(text, text.replace("leaf1", "leaf2"), text))
    assert made["locations"]["host"].to_list() == ["n1", "n2", "n3", "n4", "n1"]
    assert made["unread"].select("file", "reason").rows() == [("1", "a map of more than 1 hosts and switches was cut")]
    assert made["claimed"]["file"].to_list() == ["0", "1", "2"]  # the third says what the first does


@pytest.mark.parametrize(
    "text",
    [
        "SwitchName=s{n} Nodes=n[1-99999]",
        "SwitchName=s{n} Nodes=n[1-99999],n[1-99999],n[1-99999]",
        "SwitchName=s{n} Nodes=n[1-999][1-999][1-999]",
        "SwitchName=s{n} Nodes=n[1-99],n[1-99],n[1-99],n[1-99],n[1-99]",
        "SwitchName=s{n} Switches=s[0-99999]",
        "SwitchName=s{n} Switches=s{m}",
    ],
    ids=["a range", "again", "brackets", "repeated", "all", "a chain"],
)
def test_a_few_bytes_that_name_a_million_hosts_cost_what_a_few_bytes_may(text: str) -> None:
    one = "SwitchName=s99 Nodes=n[1-90000]\n" + "\n".join(text.format(n=n, m=n + 1) for n in range(100))
    made = slurm_topology.PARSER.parse(maps(*(f"# {n}\n{one.replace('=s', f'=t{n}')}" for n in range(20))))
    assert made["locations"].height <= 310_000
    assert 0 < made["unread"].height <= 20


def test_a_map_of_a_large_fabric_is_read_whole() -> None:
    leaves = "".join(f"SwitchName=leaf{n} Nodes=n[{16 * n:04d}-{16 * n + 15:04d}]\n" for n in range(256))
    spines = "".join(f"SwitchName=spine{n} Switches=leaf[0-255]\n" for n in range(16))
    made = slurm_topology.PARSER.parse(lines(leaves + spines))
    assert (made["locations"].height, made["unread"].height) == (17 * 4096, 0)


def test_of_several_brackets_the_last_counts_fastest() -> None:
    assert host_list("r[1-2]n[1-3],x[1-2][5-6]", 8) == ["r1n1", "r1n2", "r1n3", "r2n1", "r2n2", "r2n3", "x15", "x16"]
