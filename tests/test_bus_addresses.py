"""Whose a record is that tells a host and the bus address of a device: where lines join a rank, or a number of a device, to that address."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from parsers import read

HOSTS = ("mk-01", "mk-02")
BUSES = ("0000:5e:00.0", "0000:3b:00.0", "0000:af:00.0")
WORLD = len(HOSTS) * len(BUSES)
PLACED = {rank: (HOSTS[rank // len(BUSES)], BUSES[(rank + rank // len(BUSES)) % len(BUSES)]) for rank in range(WORLD)}  # fmt: skip
# The same addresses as tools print them.
LONG, SHORT = (lambda bus: f"0000{bus.upper()}"), (lambda bus: bus.partition(":")[2])


def losses(folder: Path, files: Mapping[str, str]) -> dict[float, int | None]:
    bundle = folder / "bundle"
    bundle.mkdir()
    for name, text in files.items():
        (bundle / name).write_text(text)
    return dict(read(str(bundle)).tables["steps"].drop_nulls("loss").select("loss", "rank").iter_rows())


STARTS = {
    "rows of a log": "2026-02-01 10:00:0{rank} | start | rank {rank} of 6 | host {host} | gpu | pci {bus}\n",
    "a sentence": "I am rank {rank} of 6 on host {host}, my device sits at {bus}\n",
    "fields": "event=init host={host} rank={rank} world_size=6 bus={bus}\n",
}


def started(form: str) -> str:
    return "".join(STARTS[form].format(rank=rank, host=host, bus=bus) for rank, (host, bus) in PLACED.items())


ORDER = sorted(PLACED, key=lambda rank: PLACED[rank][1])
RANKED = {step + rank / 100: rank for step in (1, 2, 3) for rank in ORDER}
TABLES = {
    "semicolons": ("host;pci;step;loss", "{host};{bus};{step};{loss}"),
    "commas": ("step,bus_id,node,loss", "{step},{bus},{host},{loss}"),
    "records": ("", ""),
}


def table(form: str, spelled=str, hosts: Mapping[str, str] = {}) -> str:  # type: ignore[no-untyped-def]
    head, row = TABLES[form]
    lines = [head] if head else []
    for loss, rank in RANKED.items():
        host, bus = PLACED[rank]
        told = {"host": hosts.get(host, host), "bus": spelled(bus), "step": int(loss), "loss": loss}
        lines.append(row.format(**told) if row else json.dumps(told))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("spelled", [str, LONG, SHORT], ids=["as told", "long", "short"])
@pytest.mark.parametrize("form", TABLES)
def test_a_host_and_an_address_are_one_rank(tmp_path: Path, form: str, spelled) -> None:  # type: ignore[no-untyped-def]
    name = "phases.jsonl" if form == "records" else "phases.csv"
    assert losses(tmp_path, {"main.log": started("rows of a log"), name: table(form, spelled)}) == RANKED


@pytest.mark.parametrize("form", STARTS)
def test_whatever_form_joins_them(tmp_path: Path, form: str) -> None:
    assert losses(tmp_path, {"main.log": started(form), "phases.csv": table("semicolons")}) == RANKED


def test_an_address_on_a_host_of_which_nothing_is_told_is_nobody_s(tmp_path: Path) -> None:
    files = {"main.log": started("rows of a log"), "phases.csv": table("semicolons", hosts={"mk-01": "mk-77"})}
    found = losses(tmp_path, files)
    assert {loss: rank for loss, rank in found.items() if rank is not None} == {
        loss: rank for loss, rank in RANKED.items() if PLACED[rank][0] == "mk-02"
    }


def test_the_address_of_an_adapter_is_nobody_s(tmp_path: Path) -> None:
    lines = started("rows of a log").replace(" gpu | pci ", " nic at ")
    assert {*losses(tmp_path, {"main.log": lines, "phases.csv": table("semicolons")}).values()} == {None}


def test_an_address_that_two_ranks_tell_is_neither_s(tmp_path: Path) -> None:
    lines = started("rows of a log").replace(PLACED[1][1], PLACED[0][1], 1)
    found = losses(tmp_path, {"main.log": lines, "phases.csv": table("semicolons")})
    assert {rank for loss, rank in found.items() if RANKED[loss] in (0, 1)} <= {None, 0}
