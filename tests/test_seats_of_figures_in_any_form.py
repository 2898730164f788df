"""Whose a figure of a step is that tells a host and a device, in whatever form: one table, one answer."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("kite-1", "kite-4", "kite-2", "kite-3")  # in the order of their ranks
EACH, ODD, FROM = 2, 3, 6
RANKS = range(len(HOSTS) * EACH)
ALPHABET = sorted(RANKS, key=lambda rank: (HOSTS[rank // EACH], rank % EACH))
MAPPING = {host: [EACH * at, EACH * at + 1] for at, host in enumerate(HOSTS)}


def launcher() -> list[str]:
    head = "{host}: [2026-03-11 06:30:07,{ms}] [INFO] [launch.py:{line}:main] "
    lines = []
    for node, host in enumerate(HOSTS):
        lines += [
            head.format(host=host, ms=400 + node, line=152) + f"nnodes=4, num_local_procs=2, node_rank={node}",
            head.format(host=host, ms=410 + node, line=163)
            + f"global_rank_mapping=defaultdict(<class 'list'>, {MAPPING})",
            head.format(host=host, ms=420 + node, line=164) + "dist_world_size=8",
            head.format(host=host, ms=430 + node, line=168) + "Setting CUDA_VISIBLE_DEVICES=0,1",
        ]
    return lines


def seat(rank: int) -> tuple[str, int]:
    return HOSTS[rank // EACH], rank % EACH


def crc(rank: int, step: int) -> str:
    return f"{(step * 2654435761 + (0x5A5A if rank == ODD and step >= FROM else 0)) & 0xFFFFFFFF:08x}"


def long(names: str, cells: Callable[[str, int], list[object]], mark: str = ",") -> list[str]:
    """A row for each device and step, hosts in the order of the alphabet."""
    rows = [
        mark.join(map(str, [100 * step, *cells(*seat(rank)), 1000, crc(rank, step)]))
        for step in range(1, 10)
        for rank in ALPHABET
    ]
    return [names.replace(",", mark), *rows]


def wide(head: Callable[[str, int], str], mark: str = ",", first: str = "step") -> list[str]:
    """A column for each device; the loss of one is NaN in a step, all are after it."""
    rows = []
    for step in range(100, 130):
        bad = [step > 120 or (step == 120 and rank == ODD) for rank in ALPHABET]
        cells = [
            "nan" if one else f"2.{(7 * step + 13 * rank) % 89 + 10}" for one, rank in zip(bad, ALPHABET, strict=True)
        ]
        rows.append(mark.join([str(step), *cells]))
    return [mark.join([first, *(head(*seat(rank)) for rank in ALPHABET)]), *rows]


LONG: dict[str, list[str]] = {
    "host, cuda": long("step,host,cuda,n_params,crc32", lambda host, at: [host, at]),
    "tabs": long("step,host,cuda,n_params,crc32", lambda host, at: [host, at], "\t"),
    "node, gpu": long("step,node,gpu,n_params,crc32", lambda host, at: [host, at]),
    "machine, local": long("step,machine,local_rank,n_params,crc32", lambda host, at: [host, at]),
    "vm, slot": long("step,vm,slot,n_params,crc32", lambda host, at: [host, at]),
    "device first": long("step,gpu,host,n_params,crc32", lambda host, at: [at, host]),
    "one name": long("step,who,n_params,crc32", lambda host, at: [f"{host}/gpu{at}"]),
    "cuda:1": long("step,who,n_params,crc32", lambda host, at: [f"{host}:cuda{at}"]),
    "with its domain": long("step,host,cuda,n_params,crc32", lambda host, at: [f"{host}.lab.example", at]),
    "semicolons": long("step,host,device,n_params,crc32", lambda host, at: [host, at], ";"),
    "cuda:1 in a column": long("step,host,device,n_params,crc32", lambda host, at: [host, f"cuda:{at}"]),
    "gpu1 in a column": long("step,host,dev,n_params,crc32", lambda host, at: [host, f"gpu{at}"]),
    "from one": long("step,host,card,n_params,crc32", lambda host, at: [host, at + 1]),
    "Chinese": long("步,机器,卡号,参数量,参数crc32", lambda host, at: [host, at]),
}  # fmt: skip
WIDE: dict[str, list[str]] = {
    "a chart": wide(lambda host, at: f'"r3 - loss_local/{host}/gpu{at}"', first='"Step"'),
    "what, then whose": wide(lambda host, at: f"loss_local/{host}/gpu{at}"),
    "whose, then what": wide(lambda host, at: f"{host}/gpu{at}/loss_local"),
    "by words": wide(lambda host, at: f"local loss {host}/gpu{at}"),
    "behind a dash": wide(lambda host, at: f"loss_local/{host}-gpu{at}"),
    "underscores": wide(lambda host, at: f"loss_local_{host}_gpu{at}"),
    "points": wide(lambda host, at: f"loss_local.{host}.gpu{at}"),
    "cuda:1": wide(lambda host, at: f"loss_local/{host}:cuda{at}"),
    "a colon": wide(lambda host, at: f"loss_local: {host}/gpu{at}"),
    "labels": wide(lambda host, at: f'"loss_local{{host=""{host}"", gpu=""{at}""}}"'),
    "tabs": wide(lambda host, at: f"loss_local/{host}/gpu{at}", "\t"),
    "behind its run": wide(lambda host, at: f'"run 41 - loss_local - {host}/gpu{at}"', first='"Step"'),
    "in brackets": wide(lambda host, at: f"loss_local[{host}/gpu{at}]"),
    "a local rank": wide(lambda host, at: f'"loss_local{{node=""{host}"", local_rank=""{at}""}}"'),
    "called after its file": wide(lambda host, at: f"{host}/gpu{at}"),
}  # fmt: skip


def named(folder: Path, files: dict[str, list[str]]) -> tuple[list[int], str | None]:
    verdict = analyze(str(written(folder, {"launch.log": launcher()} | dict(files)))).verdict
    return verdict.ranks, verdict.cause


def whose(folder: Path, files: dict[str, list[str]], of: pl.Expr) -> list[int | None]:
    """The ranks of such rows of steps."""
    steps = read(str(written(folder, {"launch.log": launcher()} | files))).tables["steps"]
    return sorted({*steps.filter(of)["rank"].to_list()}, key=str)


@pytest.mark.parametrize("form", LONG)
def test_a_row_is_of_the_device_of_its_host(form: str, tmp_path: Path) -> None:
    is_odd = pl.col("checksum").cast(pl.String).str.contains(crc(ODD, 9))
    assert whose(tmp_path, {"sync.csv": LONG[form]}, is_odd) == [ODD]


@pytest.mark.parametrize("form", WIDE)
def test_a_column_is_of_the_device_of_its_host(form: str, tmp_path: Path) -> None:
    is_first = pl.col("loss").is_nan() & (pl.col("step") == 120)
    assert whose(tmp_path, {"loss_local.csv": WIDE[form]}, is_first) == [ODD]


@pytest.mark.parametrize(
    "hosts", [("g5-a", "g5-d", "g5-b", "g5-c"), ("lynx", "heron", "finch", "wren"), ("n.a", "n.d", "n.b", "n.s")]
)
def test_hosts_called_otherwise(hosts: tuple[str, ...], tmp_path: Path) -> None:
    others = dict(zip(HOSTS, hosts, strict=True))

    def renamed(lines: list[str]) -> list[str]:
        return [re.sub("|".join(HOSTS), lambda found: others[found[0]], line) for line in lines]

    is_first = pl.col("loss").is_nan() & (pl.col("step") == 120)
    files = {"launch.log": renamed(launcher()), "loss_local.csv": renamed(WIDE["what, then whose"])}
    assert whose(tmp_path, files, is_first) == [ODD]


def test_the_odd_one_is_named(tmp_path: Path) -> None:
    assert named(tmp_path / "rows", {"sync.csv": LONG["host, cuda"]}) == ([ODD], "replica_divergence")
    files = {
        "loss_local.csv": WIDE["a chart"],
        "notes.md": ["Plain data parallel: loss_local is before the all-reduce."],
    }
    assert named(tmp_path / "columns", files) == ([ODD], "nan_birth")


def test_figures_of_parts_and_of_strangers_name_nobody(tmp_path: Path) -> None:
    """Tasks, layers, hosts that the job does not have, and devices that none of its processes has."""
    for at, head in enumerate(
        (
            lambda host, at: f"loss_local/task{2 * HOSTS.index(host) + at}",
            lambda host, at: f"loss_local/layer{2 * HOSTS.index(host) + at}",
            lambda host, at: f"loss_local/{host.replace('kite', 'lark')}/gpu{at}",
            lambda host, at: f"loss_local/{host}/gpu{at + 4}",
            lambda host, at: f"loss_local/peer of {host}/gpu{at}",
        )
    ):
        assert named(tmp_path / str(at), {"loss_local.csv": wide(head)})[0] == []


def test_rows_of_strangers_name_nobody(tmp_path: Path) -> None:
    for at, table in enumerate(
        (
            long("step,host,cuda,n_params,crc32", lambda host, at: [host.replace("kite", "lark"), at]),
            long("step,host,cuda,n_params,crc32", lambda host, at: [host, at + 4]),
            long("step,peer,peer_gpu,n_params,crc32", lambda host, at: [host, at]),
            long("step,host,layer,n_params,crc32", lambda host, at: [host, at]),
            long("step,host,tp_rank,n_params,crc32", lambda host, at: [host, at]),
        )
    ):
        assert named(tmp_path / str(at), {"sync.csv": table})[0] == []


def test_devices_that_a_launch_turned_are_not_counted_as_processes(tmp_path: Path) -> None:
    """Where each host shows its second device to its first process, a device is another one's."""
    turned = [line.replace("CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=1,0") for line in launcher()]
    ranks, _ = named(tmp_path, {"launch.log": turned, "sync.csv": LONG["host, cuda"]})
    assert ranks in ([], [ODD - 1])
