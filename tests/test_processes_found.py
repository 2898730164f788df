"""Which rank a process is, by what its file, its unit or a number in a name tells."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.who.lines.prefixes import strip

TRACE = """Traceback (most recent call last):
  File "/job/fit.py", line 61, in <module>
    run()
  File "/job/words.py", line 12, in cut
    raise {error}
{shown}
"""
OWN = TRACE.format(error="KeyError('bos')", shown="KeyError: 'bos'")


def named(folder: Path, files: dict[str, str]) -> list[int]:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return analyze(folder).verdict.ranks


def steps(at: int) -> str:
    return "".join(f"2026-03-04 05:06:{second:02} step {second} loss 2.{at}\n" for second in range(10, 16))


RANK_OF = {("hx1", 0): 2, ("hx1", 1): 0, ("hx2", 0): 3, ("hx2", 1): 1}


@pytest.mark.parametrize("said", ["cluster: rank_id: {}", "joined as rank id {}", "my rank: {}"])
def test_files_of_local_numbers_tell_all_ranks(said: str, tmp_path: Path) -> None:
    files = {
        f"{host}/workerlog.{local}": f"{said.format(rank)}\n" + steps(rank) for (host, local), rank in RANK_OF.items()
    }
    files["hx2/workerlog.0"] += OWN
    assert named(tmp_path, files) == [3]


def test_files_that_lack_a_rank_tell_no_place(tmp_path: Path) -> None:
    """The second node's log is not all of it."""
    files = {f"hx{node}.log": f"rank_id: {node}\n" + steps(node) for node in (0, 1)}
    files["hx1.log"] += OWN
    files["launch.txt"] = "torchrun --nnodes=2 --nproc-per-node=4 fit.py\n"
    assert named(tmp_path, files) == []


@pytest.mark.parametrize(("host", "rank"), [("hx1", 1), ("hx2", 3), ("hx3", None)])
def test_a_pid_in_the_name_of_a_file_is_asked_with_the_host(host: str, rank: int | None, tmp_path: Path) -> None:
    files = {
        f"out/{place}.{pid}": f"world size 4, I am rank {number}\n" + steps(number)
        for number, (place, pid) in enumerate([("hx1", 4101), ("hx1", 4117), ("hx2", 4103), ("hx2", 4117)])
    }
    files["mpi.txt"] = f"=   PID 4117 RUNNING AT {host}\n=   EXIT CODE: 139\n"
    assert named(tmp_path, files) == ([] if rank is None else [rank])


def test_an_instance_of_a_unit_is_asked_for_below_its_journal(tmp_path: Path) -> None:
    files = {}
    for place, ranks in (("hx1", (2, 0)), ("hx2", (1, 3))):
        for slot, rank in zip("ab", ranks, strict=True):
            files[f"{place}/etc/{slot}{slot}.env"] = f"RANK={rank}\nWORLD_SIZE=4\n"
        files[f"{place}/journal.txt"] = (
            f"2026-03-04T05:06:{10 + len(files)}.1+0000 {place} systemd[1]: fit@bb.service: Main process exited, "
            + ("code=killed, status=9/KILL\n" if place == "hx2" else "code=exited, status=1/FAILURE\n")
        )
    assert named(tmp_path, files) == [3]


def test_a_process_number_that_counts_from_zero_is_a_rank_and_no_pid(tmp_path: Path) -> None:
    """A second column counts as well: what a scheduler calls them."""
    order = {0: 3, 1: 0, 2: 1, 3: 2}
    lines = [
        f"ts=2026-03-04T05:06:0{at}.1Z pod=fit-{at}-x{at}k idx={at} msg=initialize process_id={rank} num_processes=4\n"
        for at, rank in order.items()
    ]
    last = "\\n".join(OWN.splitlines()).replace('"', '\\"')
    lines += [f'ts=2026-03-04T05:07:00.1Z pod=fit-1-x1k idx=1 level=error msg="{last}"\n']
    assert named(tmp_path, {"job.logfmt": "".join(lines)}) == [0]


@pytest.mark.parametrize(
    ("line", "host", "text"),
    [
        ("ts=2026-03-04T05:06:07.1Z pod=fit-1 msg=up n=3", "fit-1", None),
        ("time=2026-03-04T05:06:07Z level=info msg=up", None, None),
        ("[1,mpirank:13,algo-2]<stdout>:loss 2.0", None, "loss 2.0"),
    ],
)
def test_what_stands_before_lines(line: str, host: str | None, text: str | None) -> None:
    found = strip(line)
    assert found.host == host
    assert found.text == (line if text is None else text)
    assert found.task == (13 if "mpirank" in line else None)


def test_an_end_of_file_with_words_is_its_readers_own(tmp_path: Path) -> None:
    files = {f"rank{rank}.log": f"rank {rank} world size 2\n" + steps(rank) for rank in (0, 1)}
    files["rank1.log"] += TRACE.format(error="EOFError('no lines')", shown="EOFError: no lines")
    assert named(tmp_path, files) == [1]


@pytest.mark.parametrize(
    "frame", ["    flock (fcntl) [native]", "    flock (fcntl.py:3)", "    flock (libc-2.31.so)", "    flock"]
)
def test_a_frame_of_any_shape_is_where_a_process_stands(frame: str, tmp_path: Path) -> None:
    wait = "    all_reduce (torch/distributed/distributed_c10d.py:1992)\n    fit (fit.py:7)\n"
    own = f"{frame}\n    acquire (locks.py:41)\n    fit (fit.py:5)\n"
    for look in (1, 2):
        text = "".join(
            f'Process {700 + rank}: python fit.py\nThread {700 + rank} (idle): "MainThread"\n{own if rank == 2 else wait}\n'
            for rank in range(4)
        )
        (tmp_path / f"look{look}.txt").write_text(text)
    (tmp_path / "who.csv").write_text("pid,rank,world_size\n" + "".join(f"{700 + r},{r},4\n" for r in range(4)))
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", [2])


LISTED = "host,local_rank,rank\n" + "".join(f"{host},{local},{rank}\n" for (host, local), rank in RANK_OF.items())


@pytest.mark.parametrize("name", ["w{}.out", "log/card_{:02}.txt", "trainer-{}-stdout.log"])
@pytest.mark.parametrize(("first", "ranks"), [(0, [1]), (2, [])])
def test_files_of_hosts_that_count_their_places(name: str, first: int, ranks: list[int], tmp_path: Path) -> None:
    """On hx2 they are 0 and 1 as well, or go on: then they count something else."""
    files = {
        f"{host}/{name.format(local + (first if host == 'hx2' else 0))}": steps(rank)
        for (host, local), rank in RANK_OF.items()
    }
    files[f"hx2/{name.format(1 + first)}"] += OWN
    assert named(tmp_path, files | {"places.csv": LISTED}) == ranks


def job_with_figures(said: str, number: int = 41230) -> dict[str, str]:
    """A driver that tells a figure beside each rank, and the end of a process whose number is one of these."""
    files = {f"logs/rank_{at}.log": steps(at) for at in range(4)}
    told = "".join(f"2026-03-04 05:07:0{at} rank {at} {said.format(n=number + at)}\n" for at in range(4))
    ended = "2026-03-04 05:07:20 process 41231 died with signal 9\n2026-03-04 05:07:21 launcher: child 41231 exited with code -9\n"
    return {**files, "driver.log": told + ended}


@pytest.mark.parametrize(
    "said",
    ["processed {n} tokens", "has {n} samples", "({n} samples)", "holds {n} parameters", "{n} batches per epoch", "numel {n}", "seed {n}",
     "(seed {n})", "offset {n}", "n={n}", "opened {n} files", "size {n}", "listening on {n}", "fd {n}", "ran for {n} milliseconds"],
)  # fmt: skip
def test_a_figure_beside_a_rank_is_no_number_of_its_process(tmp_path: Path, said: str) -> None:
    assert named(tmp_path, job_with_figures(said)) == []


@pytest.mark.parametrize(
    "said", ["pid {n}", "(pid {n})", "is process {n}", "-> {n}", ": {n}", "started as {n}", "spawned {n}"]
)
def test_a_number_beside_a_rank_that_measures_nothing_is_that_of_its_process(tmp_path: Path, said: str) -> None:
    assert named(tmp_path, job_with_figures(said)) == [1]
