"""Files of several hosts that tell the number of each beside the address of the first: the number is that of whose file it is."""

from pathlib import Path

import pytest

from tests.sources import raised

SCRIPT = (
    "#!/bin/bash",
    "SLOT=$1",
    "export LOCAL_RANK=$SLOT",
    "export RANK=$(( NODE * NPROC + SLOT ))",
    "exec python -u loop.py",
)
ERROR = (
    "Traceback (most recent call last):",
    '  File "/srv/enc/feed.py", line 83, in pack',
    "    out[k] = ids",
    "ValueError: shapes differ",
)
LOST = (
    "Traceback (most recent call last):",
    '  File "/srv/enc/grads.py", line 49, in flush',
    "    dist.all_reduce(self.flat)",
    "RuntimeError: Connection closed by peer [172.20.8.21]:50888",
)

FORMS = {
    "supervisord.conf": ("[supervisord]", 'environment=NODE="{n}",NPROC="{e}",WORLD_SIZE="{w}",MASTER_ADDR="{m}",MASTER_PORT="6111"'),
    "site.env": ("NODE={n}", "NPROC={e}", "MASTER_ADDR={m}"),
    "job.env": ("MASTER_ADDR={m} NODE={n} NPROC={e}",),
    "vars.sh": ("export MASTER_ADDR={m}; export NODE={n}; export NPROC={e}",),
    "node.yaml": ("env:", "  MASTER_ADDR: {m}", "  NODE: {n}", "  NPROC: {e}"),
    "run.cmd": ("NODE={n} NPROC={e} torchx --first {m}",),
    "enc.service": ("[Service]", 'Environment="MASTER_ADDR={m}" "NODE={n}" "NPROC={e}"'),
    "node.toml": ("[env]", 'RDZV = "{m}"', "NODE = {n}", "NPROC = {e}"),
    "start.env": ("FIRST={m} NODE={n} NPROC={e}",),
    "conf.ini": ("[job]", "store = {m}:6111", "NODE = {n}", "NPROC = {e}"),
    "all.env": ("NODE={n} NPROC={e} ALL={all}",),
    "chief.env": ("COORDINATOR=tcp://{m}:29500 NODE={n} NPROC={e}",),
}  # fmt: skip


def _files(
    name: str, hosts: list[str], each: int, odd: tuple[int, int], order: list[int] | None = None
) -> dict[str, list[str]]:
    """What is kept of each host: its configuration, and the errors of each of its processes."""
    files = {"start.sh": [*SCRIPT]}
    for at, host in enumerate(hosts):
        said = {
            "n": (order or [*range(len(hosts))])[at],
            "e": each,
            "w": len(hosts) * each,
            "m": hosts[0],
            "all": ",".join(hosts),
        }
        files[f"{host}/{name}"] = [line.format(**said) for line in FORMS[name]]
        for local in range(each):
            pid = 5310 + 100 * at + 3 * local
            files[f"{host}/enc_{local}.err"] = [
                *(
                    f"I0422 09:{step:02d}:25.{local}38416 {pid} loop.py:118] batch {200 * step} ce {4.9 - step / 9:.3f}"
                    for step in range(9)
                ),
                *(ERROR if (at, local) == odd else LOST),
            ]
    return files


def _named(tmp_path: Path, files: dict[str, list[str]]) -> set[int | None]:
    return set(raised(tmp_path, files))


@pytest.mark.parametrize("name", FORMS)
def test_the_number_is_that_of_whose_file_it_is(tmp_path: Path, name: str) -> None:
    assert _named(tmp_path, _files(name, ["hx-a", "hx-b", "hx-c"], 3, (1, 2))) == {*range(9)}


@pytest.mark.parametrize("name", ["supervisord.conf", "site.env", "node.yaml"])
@pytest.mark.parametrize(("hosts", "each"), [(["srv07", "srv02"], 4), (["venus", "mars", "pluto", "juno"], 2)])
def test_whatever_hosts_are_called(tmp_path: Path, name: str, hosts: list[str], each: int) -> None:
    assert _named(tmp_path, _files(name, hosts, each, (1, 0))) == {*range(len(hosts) * each)}


def test_where_two_hosts_have_one_number_nobody_is_told(tmp_path: Path) -> None:
    assert _named(tmp_path, _files("supervisord.conf", ["hx-a", "hx-b", "hx-c"], 3, (1, 2), [0, 1, 1])) == {None}


def test_whose_file_is_lost_is_never_another(tmp_path: Path) -> None:
    files = _files("supervisord.conf", ["hx-a", "hx-b", "hx-c"], 3, (1, 2))
    for host in ("hx-a", "hx-c"):
        del files[f"{host}/supervisord.conf"]
    assert _named(tmp_path, files) <= {None, 3, 4, 5}


def test_without_the_script_nobody_is_told(tmp_path: Path) -> None:
    files = _files("supervisord.conf", ["hx-a", "hx-b", "hx-c"], 3, (1, 2))
    del files["start.sh"]
    assert _named(tmp_path, files) == {None}
