"""The file of hosts that a command begins its processes along (parsers/who/processes/starts.py), in a file or shown below a prompt (parsers/who/places/orders.py)."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

HOSTS = ("fir3", "fir1", "fir2")  # in the order of their ranks
RUN = "colossalai run --nproc_per_node 2 --hostfile job/hosts --master_addr fir3 fit.py"
SLOTS = "deepspeed --hostfile=job/hosts fit.py"
MORE = "torchpod launch --nproc-per-node=2 --host-file 'hosts' fit.py"


def named(folder: Path, run: Sequence[str], hosts: Sequence[str] = ()) -> list[int]:
    logs = {
        f"{host}.log": [
            f"2026-05-06 07:08:{step} [{host} local {place}] step {step} loss 2.{step}"
            for step in range(10, 30)
            for place in (0, 1)
        ]
        for host in HOSTS
    }
    logs["fir1.log"] += [
        f"2026-05-06 07:08:31 [fir1 local 1] {line}"
        for line in ("Traceback (most recent call last):", '  File "/job/fit.py", line 9, in run', "KeyError: 'ids'")
    ]
    files = {"run.txt": run, **logs} | ({"job/hosts": hosts} if hosts else {})
    return analyze(str(written(folder, files))).verdict.ranks


@pytest.mark.parametrize(
    ("run", "hosts"),
    [
        ([f"$ {RUN}"], HOSTS),
        ([f"$ {MORE}"], HOSTS),
        ([f"$ {SLOTS}"], [f"{host} slots=2" for host in HOSTS]),
        (["me@fir3:~$ cat job/hosts", *HOSTS, f"me@fir3:~$ {RUN}"], ()),
        (["$ cat job/hosts", *(f"{host} slots=2" for host in HOSTS), f"$ {SLOTS}"], ()),
    ],
)
def test_hosts_are_in_the_order_of_their_ranks(tmp_path: Path, run: list[str], hosts: Sequence[str]) -> None:
    assert named(tmp_path, run, hosts) == [3]


@pytest.mark.parametrize(
    "run",
    [
        f"$ {RUN} --include fir1,fir2,fir3",  # another order, or fewer
        "$ mpirun -np 6 --map-by node --hostfile job/hosts fit.py",
        f"$ {RUN.replace('job/hosts', 'others')}",
        f"$ {RUN.replace('addr fir3', 'addr fir2')}",  # the first is another
    ],
)
def test_what_a_command_does_not_take_as_it_is_tells_nobody(tmp_path: Path, run: str) -> None:
    assert named(tmp_path, [run], HOSTS) == []
