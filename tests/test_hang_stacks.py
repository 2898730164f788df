"""Hangs without flight records: what main threads do, who gives no stack, and which device is idle."""

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.facts.waits import stacks as stacks_of
from forensics.facts.waits.stacks import Frame, classify
from forensics.model.incident import Verdict
from reports.answer import actions
from tests.hang_tables import SECOND_NS, STACKS, START_NS, Rows

CASES = Path(os.environ.get("FORENSICS_CASES") or Path(__file__).resolve().parents[2] / "shared" / "cases") / "bloom"


def stacks(job: Rows, elsewhere: dict[int, str] | None = None, silent: tuple[int, ...] = (), times: int = 1) -> Rows:
    """Everybody stands in communication, but these do something else and those give no stack."""
    for snapshot in range(times):
        for rank in range(job.world):
            if rank not in silent:
                job.stack(rank, (elsewhere or {}).get(rank, "communication"), snapshot)
    return job


@pytest.mark.parametrize(
    ("name", "hosts"),
    [
        ("bloom_2022-05-01_eval_hang_pyspy_2node.txt", []),
        ("bloom_2022-05-18_eval_hang_innermost_groups_48node.txt", ["jean-zay-iam52"]),
    ],
    ids=["t3a two nodes", "t3b 48 nodes"],
)
def test_t3_real_stacks_show_the_one_that_loads_data(name: str, hosts: list[str]) -> None:
    if not (CASES / name).is_file():
        pytest.skip("the real cases are not here")
    report = analyze(CASES / name, hung=True)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.kind, verdict.cause, verdict.site, verdict.ranks) == ("hang", "rank_absent", "data_loading", [])
    assert set(hosts) <= set(verdict.hosts)


def test_t3_the_odd_one_is_named_by_its_place() -> None:
    verdict = stacks(Rows(16), {5: "data_loading"}, times=2).verdict()
    assert (verdict.cause, verdict.ranks, verdict.site) == ("rank_absent", [5], "data_loading")
    assert verdict.undecided == []
    assert verdict.code is not None
    assert (verdict.code.file, verdict.code.function) == ("train.py", "get_batch")


def test_a_process_that_is_no_rank_changes_nothing_where_every_rank_left_a_stack() -> None:
    """The odd one is named although some server's stack was gathered with the others."""
    job = stacks(Rows(16), {5: "data_loading"}, times=2)
    job.stack(None, "storage_io", host="login-2", pid=977, file="other/server.txt")
    assert job.verdict(expected=16).ranks == [5]


def test_one_snapshot_cannot_tell_slow_from_stuck() -> None:
    verdict = stacks(Rows(16), {5: "data_loading"}).verdict()
    assert (verdict.ranks, verdict.undecided) == ([5], ["single_snapshot"])


@pytest.mark.parametrize(("silent", "undecided"), [((), []), ((7,), ["single_snapshot"])])
def test_one_snapshot_is_enough_where_everybody_else_gave_up(silent: tuple[int, ...], undecided: list[str]) -> None:
    """A time-out of all the others is the second look; one of them that said nothing may be whom they waited for."""
    job = stacks(Rows(16), {5: "data_loading"})
    for rank in set(range(16)) - {5, *silent}:
        job.event("collective_timeout", rank=rank)
    verdict = job.verdict(expected=16)
    assert (verdict.ranks, verdict.undecided) == ([5], undecided)


def test_ctrl_c_shows_who_is_elsewhere_but_not_that_the_job_hung() -> None:
    job = stacks(Rows(8), {5: "data_loading"})
    for row in job.rows["stacks"]:
        row["source"] = "interrupt"
    verdict = job.verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("hang", None, [], [5])
    assert verdict.undecided == ["single_snapshot"] and "Ctrl-C" in verdict.summary


def test_t3c_two_halves_have_no_odd_one() -> None:
    """A majority is not health: 32 and 32 say nothing."""
    verdict = stacks(Rows(64), dict.fromkeys(range(32), "data_loading")).verdict()
    assert (verdict.ranks, verdict.hosts, verdict.suspects.ranks, verdict.cause) == ([], [], [], None)


def test_t3d_silent_processes_of_one_host_point_at_it() -> None:
    """Three of its eight processes answer no sampler, the others do."""
    verdict = stacks(Rows(16).placed(), silent=(9, 10, 12), times=2).verdict()
    assert (verdict.kind, verdict.hosts, verdict.ranks) == ("hang", ["node1"], [])
    assert (verdict.suspects.ranks, verdict.site) == ([9, 10, 12], "unresponsive")
    assert (verdict.status, verdict.undecided) == ("hypothesis", ["culprit_among_missing"])


@pytest.mark.parametrize("silent", [(9, 10, 12), (9,)])
def test_who_answered_no_sampler_is_not_asked_by_one_again(silent: tuple[int, ...]) -> None:
    """The kernel tells what it waits in; only then the host's own log, and no sampler that stops it."""
    job = stacks(Rows(16).placed(), silent=silent, times=2)
    for rank in range(16):
        job.add("ranks", rank=rank, host=job.host(rank), pid=4000 + rank, how="log")
    incident = job.incident()
    first = actions(incident)[0]
    command = first.command or ""
    assert "/proc/$p/stack" in command.replace("\\", "") and "State" in command and first.look and first.then
    assert not any("py-spy dump --pid" in (one.command or "") for one in incident.actions)
    assert all(one.look for one in incident.actions if one.kind == "inspect_hardware")


def test_t3d_a_host_that_is_silent_as_a_whole_is_only_a_suspect() -> None:
    """Its stacks may just not have been collected."""
    verdict = stacks(Rows(32).placed(), silent=tuple(range(8, 16)), times=2).verdict()
    assert (verdict.hosts, verdict.suspects.hosts, verdict.suspects.ranks) == ([], ["node1"], list(range(8, 16)))


def test_t3d_a_host_whose_ranks_are_silent_while_another_of_its_processes_answers_is_named() -> None:
    """The sampler worked there: it asked the loader that the ranks share, and them in vain."""
    job = stacks(Rows(32).placed(), silent=tuple(range(8, 16)), times=2)
    job.stack(None, "storage_io", host="node1", pid=77, file="stacks/loader.txt")
    verdict = job.verdict()
    assert (verdict.hosts, verdict.ranks, verdict.site) == (["node1"], [], "storage_io")


LOADER = (
    ("recv_bytes", "multiprocessing/connection.py", 216),
    ("next", "shared_loader.py", 88),
    ("get_batch", "train.py", 77),
)


def of_one_loader(ranks: Iterable[int], world: int = 32) -> Rows:
    """Two looks: these ranks wait for the next batch, all others in communication."""
    job = Rows(world).placed()
    for rank in range(world):
        for look in range(2):
            job.stack(rank, LOADER if rank in ranks else "communication", look)
    return job


def shared(job: Rows) -> list[str]:
    return [one.claim for one in job.incident().evidence if "what they share" in one.claim]


def test_t3f_all_ranks_of_a_host_at_one_line_wait_for_what_they_share() -> None:
    job = of_one_loader(range(8))
    verdict, actions = job.verdict(), job.incident().actions
    assert (verdict.kind, verdict.hosts, verdict.ranks, verdict.status) == (
        "hang",
        ["node0"],
        list(range(8)),
        "supported",
    )
    assert shared(job) == [
        "every rank of node0, and no other, is in next (shared_loader.py:88): what they share holds them up, not "
        "one of them: a loader or the storage of that host, or a part of the work that is theirs alone"
    ]
    assert str(actions[0].target).startswith("stacks and logs of all processes of node0 that are no ranks")


def test_t3f_the_loader_itself_tells_why() -> None:
    job = of_one_loader(range(8)).stack(None, "storage_io", host="node0", pid=77, file="stacks/loader.txt")
    assert "process 77 of node0, which is no rank, is waiting for storage" in [
        one.claim for one in job.incident().evidence
    ]


@pytest.mark.parametrize(
    "job",
    [of_one_loader(range(7)), of_one_loader(range(9)), of_one_loader([3]), of_one_loader(range(2), world=8)],
    ids=["one of the host waits in communication", "one of another host is there, too", "one rank", "one host alone"],
)
def test_t3f_what_is_no_matter_of_a_host(job: Rows) -> None:
    assert shared(job) == []


def test_t3d_silent_processes_of_several_hosts_are_a_list() -> None:
    verdict = stacks(Rows(32).placed(), silent=(3, 17), times=2).verdict()
    assert (verdict.hosts, verdict.suspects.hosts, verdict.suspects.ranks) == ([], [], [3, 17])


@pytest.mark.parametrize("silent", [(), tuple(range(8))], ids=["nobody", "half"])
def test_t3d_nothing_is_said_of_nobody_or_of_half(silent: tuple[int, ...]) -> None:
    verdict = stacks(Rows(16).placed(), silent=silent, times=2).verdict()
    assert (verdict.hosts, verdict.suspects.ranks) == ([], [])


def test_t3d_a_run_that_ended_well_has_no_silent_process() -> None:
    job = stacks(Rows(16).placed(), silent=(9, 10))
    for rank in range(16):
        job.event("job_end", rank=rank, severity="info")
    assert job.verdict().kind == "healthy"


def test_t3e_a_rank_that_moved_between_snapshots_is_slow() -> None:
    job = stacks(Rows(8), silent=(7,), times=2).stack(7, "data_loading", 0)
    verdict = job.stack(7, (("read_shard", "mydata.py", 3), ("get_batch", "train.py", 77)), 1).verdict()
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("slow", "straggler_host", [7])


@pytest.mark.parametrize(
    ("timed_out", "named"),
    [(range(1, 8), [0]), (range(8), []), (range(2, 8), []), ((), [0])],
    ids=["all others", "itself, too", "not all others", "nobody, but the job stands still"],
)
def test_who_computes_while_all_others_wait_until_their_time_out(timed_out: Iterable[int], named: list[int]) -> None:
    job = Rows(8)
    for rank in range(8):
        computes = (("forward", "torch/nn/functional.py", 2315), ("evaluate", "train.py", 120))
        job.stack(rank, "communication" if rank else computes)
    for rank in timed_out:
        job.event("collective_timeout", rank=rank, seq=44, group="0")
    verdict = job.verdict()
    assert verdict.ranks == named
    assert not named or (verdict.cause, verdict.status, verdict.site) == ("rank_absent", "hypothesis", "compute")


CLIPS = (("clip_grad_norm", "optimizer.py", 214), ("train_step", "train.py", 90))
PACKS = (("pack", "packing.py", 57), ("train_step", "train.py", 80))


@pytest.mark.parametrize(
    ("times", "hung", "ranks", "suspects"),
    [(2, False, [3], []), (1, False, [], [3]), (1, True, [3], [])],
    ids=["two looks", "one look", "the person's word"],
)
def test_most_processes_at_one_line_wait_there_for_their_device(
    times: int, hung: bool, ranks: list[int], suspects: list[int]
) -> None:
    job = Rows(8)
    for rank in range(8):
        for snapshot in range(times):
            job.stack(rank, PACKS if rank == 3 else "communication" if rank == 5 else CLIPS, snapshot)
    verdict = job.verdict(hung=hung)
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("hang", ranks, suspects)


def test_a_job_of_which_most_processes_moved_is_no_hang() -> None:
    """Two or three may stand in the same place in two looks by chance."""
    job = Rows(8)
    for rank in range(8):
        for snapshot in range(2):
            job.stack(
                rank, "data_loading" if rank == 0 else "communication" if rank < 3 or snapshot else CLIPS, snapshot
            )
    assert job.verdict(hung=False).ranks == []


def test_all_at_one_line_accuse_nobody() -> None:
    job = Rows(8)
    for rank in range(8):
        job.stack(rank, CLIPS, 0).stack(rank, CLIPS, 1)
    verdict = job.verdict(hung=False)
    assert (verdict.ranks, verdict.hosts, verdict.suspects.ranks) == ([], [], [])


WAITS = "all_reduce (torch/distributed/distributed_c10d.py:2501)"
LOADS = "_next_data (torch/utils/data/dataloader.py:1507)"
MULTIPLIES = "forward (torch/nn/functional.py:2315)"


@pytest.mark.parametrize(
    "folders", [("snapshot_9", "snapshot_10"), ("t1/before", "t1/after")], ids=["numbers", "words"]
)
@pytest.mark.parametrize(
    ("doing", "expected"),
    [
        ((LOADS, LOADS), ("hang", "rank_absent", [2], [])),
        ((MULTIPLIES, LOADS), ("slow", "straggler_host", [2], [])),
        ((LOADS, MULTIPLIES), ("slow", "straggler_compute", [2], [])),
    ],
    ids=["stays", "moved to the loader", "moved from the loader"],
)
def test_t3e_dumps_in_two_folders_are_two_snapshots(
    folders: tuple[str, str], doing: tuple[str, str], expected: tuple[object, ...], tmp_path: Path
) -> None:
    for folder, own in zip(folders, doing, strict=True):
        (tmp_path / folder).mkdir(parents=True)
        for rank in range(8):
            frames = f"    {own if rank == 2 else WAITS}\n    main (train.py:{10 if rank == 2 else 90})\n"
            text = f'Process {900 + rank}: python train.py\nThread {900 + rank} (idle): "MainThread"\n{frames}'
            (tmp_path / folder / f"rank_{rank}.txt").write_text(text)
    report = analyze(tmp_path)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.undecided) == expected


@pytest.mark.parametrize(
    ("seen", "named"),
    [((3, 3), [3]), ((1, 3), []), ((None, 0), [])],
    ids=["the same one in both looks", "another in each look", "none in the first look"],
)
def test_who_waited_among_the_others_in_one_look_is_not_slow(seen: tuple[int | None, int], named: list[int]) -> None:
    job = Rows(8)
    for snapshot, loads in enumerate(seen):
        for rank in range(8):
            reads = (("read", "shards.py", 3 + snapshot), ("__next__", "torch/utils/data/dataloader.py", 631))
            job.stack(rank, reads if rank == loads else "communication", snapshot)
    verdict = job.verdict(hung=False)
    assert (verdict.kind == "slow", verdict.ranks, verdict.suspects.ranks) == (bool(named), named, [])


def test_dumps_of_two_kinds_are_no_two_snapshots(tmp_path: Path) -> None:
    """The same moment, once with the names of C functions: nothing moved."""
    for folder, deeper in (("python", ""), ("native", "    poll (libc.so.6)\n")):
        (tmp_path / folder).mkdir()
        for rank in range(8):
            frames = f"{deeper}    {LOADS if rank == 2 else WAITS}\n    main (train.py:9)\n"
            text = f'Process {900 + rank}: python train.py\nThread {900 + rank} (idle): "MainThread"\n{frames}'
            (tmp_path / folder / f"rank_{rank}.txt").write_text(text)
    report = analyze(tmp_path)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("hang", [], [2])
    assert verdict.undecided == ["single_snapshot"]


def test_hosts_that_all_wait_for_storage_accuse_what_they_share() -> None:
    job = stacks(Rows(16).placed(), dict.fromkeys(range(14), "storage_io"), times=2)
    verdict = job.event("hung_task", host="node0").verdict()
    assert (verdict.kind, verdict.ranks, verdict.hosts, verdict.site) == ("hang", [], [], "storage_io")
    assert verdict.undecided == ["collector_is_suspect"]


def test_storage_of_one_host_alone_is_not_shared() -> None:
    verdict = stacks(Rows(8).placed(), dict.fromkeys(range(8), "storage_io"), times=2).verdict()
    assert "collector_is_suspect" not in verdict.undecided


BLOCKED = [{"host": "node0"}, {"host": "node1"}]


@pytest.mark.parametrize(
    ("times", "complaints", "kind"),
    [(2, BLOCKED, "hang"), (1, BLOCKED, "unknown"), (2, [], "unknown")],
    ids=["stood still, and kernels complain", "one look", "a slow loader stands there in every look"],
)
def test_loaders_that_all_stand_still_wait_for_storage(times: int, complaints: list[dict[str, str]], kind: str) -> None:
    job = stacks(Rows(16).placed(), dict.fromkeys(range(16), "data_loading"), times=times)
    for row in complaints:
        job.event("hung_task", **row)
    incident = job.incident()
    verdict = incident.verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks, verdict.hosts) == (kind, [], [], [])
    if kind == "hang":  # their stacks were taken twice
        assert not [action for action in incident.actions if "stack" in action.target]


def _all_write(complaints: list[dict[str, object]]) -> Verdict:
    """Four processes write a checkpoint; their stacks do not tell the host."""
    job = Rows(4)
    for rank in range(4):
        job.stack(rank, "checkpoint_io", host=None)
    for number, row in enumerate(complaints):
        job.event("storage_error", code="nfs:not_responding", file=f"kern{number}.log", **row)
    return job.verdict()


def test_n11_stacks_without_host_and_kernels_of_several_hosts() -> None:
    verdict = _all_write([{"host": "n0"}, {"host": "n1"}])
    assert (verdict.kind, verdict.ranks, verdict.hosts) == ("hang", [], [])
    assert (verdict.undecided, verdict.site) == (["collector_is_suspect"], "checkpoint_io")


@pytest.mark.parametrize(
    "complaints",
    [[], [{"host": "n0"}], [{"host": "n0"}, {"host": "n1", "severity": "info"}], [{"host": None}, {"host": None}]],
    ids=["no kernel", "one host", "one answers again", "hosts unknown"],
)
def test_n11_stacks_without_host_need_kernels(complaints: list[dict[str, object]]) -> None:
    assert "collector_is_suspect" not in _all_write(complaints).undecided


def loads(job: Rows, values: dict[int, float], times: int = 2, metric: str = "dcgm/gputl") -> Rows:
    for moment in range(times):
        for rank in range(job.world):
            job.add("devices", host=job.host(rank), device_index=rank % job.per_host, metric=metric,
                    value=values.get(rank, 100.0), time_ns=START_NS + moment * 30 * SECOND_NS)  # fmt: skip
    return job


@pytest.mark.parametrize("metric", ["dcgm/gputl", "utilization.gpu", "DCGM_FI_DEV_GPU_UTIL", "utilization"])
def test_t11_one_device_idle_while_all_others_spin(metric: str) -> None:
    """Loads of devices are a hint: they make a suspect and name nobody."""
    verdict = loads(Rows(128).placed(), {77: 0.0}, metric=metric).verdict()
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks, verdict.status) == ("hang", [], [77], "hypothesis")


def test_t11_one_moment_accuses_nobody() -> None:
    verdict = loads(Rows(128).placed(), {77: 0.0}, times=1).verdict()
    assert (verdict.ranks, verdict.suspects.ranks, verdict.undecided) == ([], [77], ["single_snapshot"])


@pytest.mark.parametrize(
    ("values", "metric"),
    [
        ({77: 0.0, 78: 0.0}, "dcgm/gputl"),
        ({77: 60.0}, "dcgm/gputl"),
        ({77: 0.0, 3: 50.0}, "dcgm/gputl"),
        ({77: 0.0}, "dcgm/mcutl"),
    ],
    ids=["two idle", "half busy", "another one in between", "memory, not compute"],
)
def test_t11_other_shapes_say_nothing(values: dict[int, float], metric: str) -> None:
    verdict = loads(Rows(128).placed(), values, metric=metric).verdict()
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [])


def test_the_stacks_of_the_builder_are_what_their_names_say() -> None:
    sites = {name: classify([Frame(*frame) for frame in frames]).site for name, frames in STACKS.items()}
    assert sites == {name: "communication" if name == "broadcast" else name for name in STACKS}


def test_a_recursion_is_asked_once_for_each_of_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    rules = stacks_of._rules()

    def counted() -> tuple[stacks_of._Rule, ...]:
        asked.append(1)
        return rules

    monkeypatch.setattr(stacks_of, "_rules", counted)
    deep = [Frame("Tree.descend", "recursion.py", line) for line in range(5000)]
    assert classify([*deep, Frame("Store.save_state", "recursion.py", 1)]).site == "checkpoint_io"
    assert len(asked) == 4  # two kinds of frames, strong rules and weak ones


def test_where_nobody_gave_a_stack_nobody_is_silent() -> None:
    """Tracebacks are no samples."""
    job = Rows(4).placed().timeout(1, "world", 5)
    job.add("stacks", rank=1, is_main=True, snapshot=0, source="traceback", frames=[], file="logs/rank_1.log")
    assert job.verdict(hung=False).suspects.ranks == []


@pytest.mark.parametrize(
    ("function", "site"),
    [
        ("take_compile_lock", "lock"),
        ("_acquire_ckpt_lock", "lock"),
        ("Cache.wait_for_autotune_lock", "lock"),
        ("compile_block", "compile"),
        ("get_compile_block", "compile"),
        ("recompile_unlocked", "compile"),
    ],
)
def test_who_takes_a_lock_does_not_do_what_it_guards(function: str, site: str) -> None:
    assert classify([Frame(function, "work.py", 61), Frame("main", "work.py", 269)]).site == site


@pytest.mark.parametrize(
    ("inner", "site"),
    [
        (("_read_bytes", "numpy/lib/format.py", 978), "storage_io"),
        (("fromtarfile", "tarfile.py", 1100), "storage_io"),
        (("read", "pyarrow/parquet/core.py", 1520), "storage_io"),
        (("read_manifest", "job/tables.py", 30), "storage_io"),
        (("readinto", "socket.py", 706), "unknown"),  # another process may not answer
        (("_read_thread", "job/pool.py", 12), "unknown"),
        (("read", "", 0), "unknown"),  # of native code: a pipe's, too
    ],
)
def test_who_reads_a_file_by_a_library_waits_for_storage(inner: tuple[str, str, int], site: str) -> None:
    assert classify([Frame(*inner), Frame("plan", "job/plan.py", 88), Frame("run", "fit.py", 9)]).site == site
