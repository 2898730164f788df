"""Nodes of HTCondor's parallel universe: whose their ends and their files are, where the job makes ranks of their numbers."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

LOST = """Traceback (most recent call last):
  File "/job/fit.py", line 60, in step
    dist.all_reduce(total)
  File "/opt/site-packages/torch/distributed/distributed_c10d.py", line 2806, in all_reduce
    work = group.allreduce([tensor], opts)
RuntimeError: [/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.9]:4711
"""
PLAIN = "#!/bin/sh\nexport RANK=$_CONDOR_PROCNO WORLD_SIZE=$_CONDOR_NPROCS\nexec python fit.py\n"
NODES = "#!/bin/sh\nexec torchrun --nproc_per_node 2 --node_rank $_CONDOR_PROCNO --nnodes 3 fit.py\n"
SUM = "#!/bin/sh\nfor g in 0 1; do RANK=$((_CONDOR_PROCNO*2+g)) python fit.py & done; wait\n"


def job(folder: Path, wrapper: str, how: str, files: str, dead: int = 1) -> str:
    log = "".join(
        f"014 (88.000.00{n}) 2026-02-03 01:00:0{n} Node {n} executing on host: <10.0.0.{n}:96?alias=kx{n}.site>\n...\n"
        for n in range(3)
    )
    for n in (dead, *({0, 1, 2} - {dead})):
        end = how if n == dead else "(1) Normal termination (return value 1)"
        log += f"015 (88.000.00{n}) 2026-02-03 02:00:0{n + 1} Node {n} terminated.\n\t{end}\n\t\tUsr 0 00:00:10, Sys 0 00:00:01  -  Run Remote Usage\n...\n"
    (folder / "job.log").write_text(log)
    (folder / "job.sub").write_text(
        f"universe = parallel\nexecutable = wrap.sh\noutput = {files.replace('#', 'o')}\nerror = {files.replace('#', 'e')}\nqueue\n"
    )
    (folder / "wrap.sh").write_text(wrapper)
    for n in range(3):
        name = files.replace("$(Node)", str(n)).replace("$(Cluster)", "88")
        (folder / name.replace("#", "e")).write_text("starting\n" + (LOST if n != dead else ""))
        (folder / name.replace("#", "o")).write_text("".join(f"it {step} loss 2.{step}{n}\n" for step in range(10, 19)))
    return str(folder)


@pytest.mark.parametrize("files", ["#.$(Node)", "#.$(Cluster).$(Node)", "node$(Node)-#.txt"])
@pytest.mark.parametrize("dead", [1, 2])
def test_a_node_that_was_killed_is_the_rank_that_the_wrapper_makes_of_it(tmp_path: Path, files: str, dead: int) -> None:
    verdict = analyze(job(tmp_path, PLAIN, "(0) Abnormal termination (signal 9)", files, dead)).verdict
    assert (verdict.ranks, verdict.cause) == ([dead], "killed")


@pytest.mark.parametrize("wrapper", [NODES, SUM, "#!/bin/sh\nexec ./train\n"])
def test_a_node_of_several_processes_is_none_of_them(tmp_path: Path, wrapper: str) -> None:
    assert analyze(job(tmp_path, wrapper, "(0) Abnormal termination (signal 9)", "#.$(Node)")).verdict.ranks == []


@pytest.mark.parametrize(
    ("how", "code", "severity"),
    [("(0) Abnormal termination (signal 11)", "SIGSEGV", "error"), ("(1) Normal termination (return value 3)", "3", "error"),
     ("(1) Normal termination (return value 0)", "0", "info")],
)  # fmt: skip
def test_how_a_node_ended_and_where(tmp_path: Path, how: str, code: str, severity: str) -> None:
    events = read(job(tmp_path, NODES, how, "#.$(Node)")).tables["events"]
    [row] = [row for row in events.filter(kind="exit").to_dicts() if "Node 1 " in row["text"]]
    assert (row["code"], row["severity"], row["names_hosts"]) == (code, severity, ["kx1.site"])


@pytest.mark.parametrize(
    "says",
    [
        "procno {n} of 3, becoming RANK {rank}",
        "started as rank {rank} of 3",
        "node {n} is given RANK={rank} WORLD_SIZE=3",
    ],
)
@pytest.mark.parametrize("dead", [0, 2])
def test_who_says_another_rank_than_his_files_number_is_that_in_all_streams(
    tmp_path: Path, says: str, dead: int
) -> None:
    """No wrapper tells it: each output begins with the rank that its node was given."""
    bundle = Path(job(tmp_path, "#!/bin/sh\nexec ./train\n", "(0) Abnormal termination (signal 9)", "#.$(Node)", dead))
    for n in range(3):
        path = bundle / f"o.{n}"
        path.write_text(says.format(n=n, rank=(n + 1) % 3) + "\n" + path.read_text())
    verdict = analyze(bundle).verdict
    assert verdict.ranks in ([(dead + 1) % 3], []) and verdict.hosts in (["kx" + str(dead) + ".site"], [])
