"""Who looks for its job at another address than all others do, by lines in any words, and a job that never comes about."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SAME, OTHER = "10.0.0.1:29601", "10.0.0.1:29611"
GAVE_UP = """\
Traceback (most recent call last):
  File "/job/train.py", line 8, in <module>
    init(rank)
  File "/job/net.py", line 31, in init
    join(addr, timeout=60)
TimeoutError: no group of 4 after 60 s
"""
FATAL = (
    "F1130 07:32:35.469405   2890{rank} client.h:80] Terminating process because the JAX distributed service detected fatal "
    "errors. This most likely indicates that another task died; see the other task logs for more details. Status: DEADLINE_EXCEEDED\n"
)
DEEP = GAVE_UP.replace("  File", "".join(f'  File "/job/m{at}.py", line {at}, in f{at}\n    g()\n' for at in range(20)) + "  File", 1)  # fmt: skip
FORMS: Mapping[str, tuple[str, str]] = {
    "JAX": ("07:31:50 jax._src.distributed INFO Connecting to JAX distributed service on {address}\n", FATAL),
    "a word that nobody knows": ("07:31:50 zorp {address}\n", GAVE_UP),
    "a long traceback": ("07:31:50 zorp dials {address}\n", DEEP),
    "Chinese": ("07:31:50 正在前往 {address}\n", GAVE_UP),
    "a URL": ("07:31:50 group at grpc://{address}/job7\n", GAVE_UP),
    "a setting": ("07:31:50 MASTER_ADDR={host} MASTER_PORT={port}\n", GAVE_UP),
    "two settings": ("MASTER_ADDR={host}\nMASTER_PORT={port}\n", GAVE_UP),
    "a tuple": ("07:31:50 join ('{host}', {port})\n", GAVE_UP),
    "v6 of v4": ("07:31:50 zorp dials [::ffff:{host}]:{port}\n", GAVE_UP),
}


def logs(line: str, end: str, odd: int = 3, same: str = SAME, other: str = OTHER) -> dict[str, str]:
    told = {}
    for rank in range(4):
        host, _, port = (address := other if rank == odd else same).rpartition(":")
        said = line.format(address=address, host=host, port=port)
        told[f"proc{rank}.log"] = f"process {rank}/4 pid 2890{rank} starts on n{rank}\n" + said + end.format(rank=rank)
    return told


def judged(folder: Path, files: Mapping[str, str]) -> Verdict:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("odd", [1, 3])
def test_who_dials_another_port_is_named(tmp_path: Path, form: tuple[str, str], odd: int) -> None:
    verdict = judged(tmp_path, logs(*form, odd=odd))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("launch", "config_drift", [odd])


@pytest.mark.parametrize(("same", "other"), [("head01:29601", "head07:29601"), (SAME, "10.0.0.11:29601")])
def test_another_host_counts_where_the_others_are_of_several(tmp_path: Path, same: str, other: str) -> None:
    assert judged(tmp_path, logs("07:31:50 zorp dials {address}\n", GAVE_UP, same=same, other=other)).ranks == [3]


OWN = {f"logs/rank{rank}.log": f"rank {rank} of 4 starting, pid 2890{rank}\n{GAVE_UP}" for rank in range(4)}
ADDRESSES = {rank: OTHER if rank == 3 else SAME for rank in range(4)}
BESIDE: Mapping[str, Mapping[str, str]] = {
    "variables": {
        f"env/rank{rank}.env": f"RANK={rank}\nWORLD_SIZE=4\nMASTER_PORT={address[-5:]}\n"
        for rank, address in ADDRESSES.items()
    },
    "configurations": {
        f"conf/rank{rank}.yaml": f"rank: {rank}\nworld_size: 4\nrendezvous:\n  endpoint: {address}\n"
        for rank, address in ADDRESSES.items()
    },
    "a table of processes": {
        "ps.txt": "  PID ELAPSED CMD\n"
        + "".join(
            f"2890{rank}   00:70 python lm.py --rank {rank} --world 4 --coordinator {address}\n"
            for rank, address in ADDRESSES.items()
        )
    },
}


@pytest.mark.parametrize("files", BESIDE.values(), ids=BESIDE)
def test_other_files_tell_it_as_well(tmp_path: Path, files: Mapping[str, str]) -> None:
    assert judged(tmp_path, {**OWN, **files}).ranks == [3]


def test_ranks_of_one_file(tmp_path: Path) -> None:
    said = [f"[rank{rank}]: start, world 4\n" for rank in range(4)]
    said += [f"[rank{rank}]: dialing {ADDRESSES[rank]}\n" for rank in (2, 0, 3, 1)]
    said += [f"[rank{rank}]: TimeoutError: no group of 4 after 60 s\n" for rank in (1, 0, 3, 2)]
    assert judged(tmp_path, {"job.log": "".join(said)}).ranks == [3]


DIALS = "07:31:50 zorp dials {address}\n"
STEPS = "".join(f"step {step} loss {2 - step / 10:.3f}\n" for step in range(8))
NOBODYS: Mapping[str, dict[str, str]] = {
    "all alike": logs(DIALS, GAVE_UP, other=SAME),
    "two and two": {**logs(DIALS, GAVE_UP), "proc2.log": logs(DIALS, GAVE_UP, odd=2)["proc2.log"]},
    "each its own": {
        f"proc{one}.log": f"process {one}/4\nzorp at 10.0.0.{one}:2960{one}\n{GAVE_UP}" for one in range(4)
    },
    "who listens": logs(DIALS, GAVE_UP, odd=0, other="0.0.0.0:29601"),
    "a name of the same": logs(DIALS, GAVE_UP, other="head01:29601"),
    "after steps": logs(DIALS, STEPS + GAVE_UP),
    "what it serves": logs("07:31:50 metrics served on {address}\n", GAVE_UP),
    "long before": logs("07:31:50 zorp gauge {address}\n" + "07:31:51 zorp loads a part\n" * 9, GAVE_UP),
    "what each host has": {
        name: text.replace(f"on n{at}", "on n1" if at < 3 else "on n2")
        for at, (name, text) in enumerate(logs(DIALS, GAVE_UP, other="10.0.0.2:29601").items())
    },
}


@pytest.mark.parametrize("files", NOBODYS.values(), ids=NOBODYS)
def test_nobody_is_named_for_another_address(tmp_path: Path, files: dict[str, str]) -> None:
    assert judged(tmp_path, files).ranks == []


def test_a_job_that_runs_is_well(tmp_path: Path) -> None:
    assert judged(tmp_path, logs(DIALS, STEPS + "training finished\n")).kind == "healthy"


@pytest.mark.parametrize(
    "line", ["DEBUG dials {address}\n", "export MASTER_PORT={port}\n", "07:31:50 connect to the server {address}\n"]
)
def test_words_beside_it_do_not_hide_it(tmp_path: Path, line: str) -> None:
    assert judged(tmp_path, logs(line, GAVE_UP)).ranks == [3]
