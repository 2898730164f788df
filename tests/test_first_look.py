"""What is to be looked at first follows what was seen: the line of the job's own, the quota, the file server, the batch, the settings."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from forensics import Report, analyze
from forensics.facts.hosts.surroundings import surroundings
from forensics.model.commands import holder_of_port, reach
from forensics.model.frames import is_own, is_own_file
from forensics.model.incident import Action, EnvironmentRow, Incident
from forensics.verdict.past.changed_settings import with_changes
from parsers.schema.tables import table
from tests.log_cases import case


def first(report: Report) -> Action:
    return report.incidents[report.primary].actions[0]


def told(report: Report) -> list[Action]:
    return report.incidents[report.primary].actions


def kinds(report: Report) -> list[str]:
    return [action.kind for action in told(report)]


# --- whose line it is -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        "pwrite (os.py)",
        "sleep (time)",
        "load (json/decoder.py:337)",
        "write (fsspec/implementations/arrow.py:190)",
        "_batch_encode_plus (transformers/tokenization_utils_fast.py:553)",
        "main_loop (ray/_private/worker.py:946)",
        "fetch (/opt/torch/utils/data/_utils/fetch.py:28)",
        "read (/usr/lib/python3.12/pathlib.py:1019)",
    ],
)
def test_a_librarys_line_is_not_the_jobs(frame: str) -> None:
    assert not is_own(frame)


@pytest.mark.parametrize(
    "file",
    [
        "profile.py",  # a script of that name is the job's, whatever the interpreter has
        "train.py",
        "megatron/training/checkpointing.py",
        "verl/utils/reward_score/format_check.py",
        "/home/me/torch/train.py",
        "/srv/rayon/ray_data.py",
        "src/transformers_like.py",
    ],
)
def test_the_jobs_own_line_is_its_own(file: str) -> None:
    assert is_own_file(file)


PY_SPY = 'Process {pid}: python train.py\nPython v3.11.9 (/usr/bin/python3.11)\n\nThread {pid} (active): "MainThread"\n{frames}'
WAITS = "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n    step (/srv/app/loop.py:40)\n    <module> (/srv/app/loop.py:9)\n"


def hang(folder: Path, frames: str, kernel: str = "") -> Report:
    (folder / "stacks").mkdir()
    for rank in range(4):
        text = PY_SPY.format(pid=4000 + rank, frames=frames if rank == 2 else WAITS)
        (folder / "stacks" / f"rank_{rank}.txt").write_text(text)
        (folder / f"rank_{rank}.log").write_text(f"[rank{rank}]: host n7 pid {4000 + rank} world_size 4\n")
    if kernel:
        (folder / "kern.log").write_text(kernel)
    return analyze(folder, hung=True)


@pytest.mark.parametrize(
    "inner",
    [
        "    pwrite (os.py)\n",
        "    write (fsspec/implementations/local.py:420)\n",
        "    __write (/usr/lib64/libc.so.6)\n    flush (torch/serialization.py:88)\n",
    ],
)
def test_the_place_is_the_innermost_line_of_the_jobs_own(tmp_path: Path, inner: str) -> None:
    report = hang(tmp_path, inner + "    put_block (/srv/app/store.py:188)\n    <module> (/srv/app/loop.py:9)\n")
    code = report.verdict.code
    assert code is not None and (code.file, code.line) == ("/srv/app/store.py", 188)
    assert any((action.command or "").startswith("sed -n '178,193p' /srv/app/store.py") for action in told(report))


def test_where_no_line_is_the_jobs_none_is_to_be_changed(tmp_path: Path) -> None:
    report = hang(tmp_path, "    main_loop (ray/_private/worker.py:946)\n    <module> (ray/_private/workers/w.py:3)\n")
    assert "check_code" not in kinds(report)


# --- storage that does not answer -----------------------------------------------------------------------------------------

WRITES = "    pwrite (os.py)\n    put_block (/srv/app/store.py:188)\n    <module> (/srv/app/loop.py:9)\n"
SILENT = "Nov 03 18:08:41 n7 kernel: nfs: server {server} not responding, still trying\n"


@pytest.mark.parametrize("server", ["filer-2.cluster", "10.9.8.7"])
def test_the_server_that_does_not_answer_is_looked_at_first(tmp_path: Path, server: str) -> None:
    report = hang(tmp_path, WRITES, SILENT.format(server=server) * 2)
    assert first(report).kind == "inspect_hardware" and server in first(report).target
    assert f"rpcinfo -t {server}" in (first(report).command or "") and "ssh n7" in (first(report).command or "")
    assert any(server in one.claim for one in report.incidents[report.primary].evidence)


@pytest.mark.parametrize("server", ["a;rm -rf x", "$(id)"])
def test_a_name_that_a_shell_would_read_is_in_no_command(tmp_path: Path, server: str) -> None:
    report = hang(tmp_path, WRITES, SILENT.format(server=server))
    assert not any(server in (action.command or "") for action in told(report))


def test_a_server_is_of_nobody_who_does_not_stand_in_storage(tmp_path: Path) -> None:
    computes = "    forward (/srv/app/model.py:12)\n    <module> (/srv/app/loop.py:9)\n"
    report = hang(tmp_path, computes, SILENT.format(server="filer-2") * 2)
    assert not any("filer-2" in action.target for action in told(report))


# --- who is slow ----------------------------------------------------------------------------------------------------------

STAT = "nr_periods {periods}\nnr_throttled {held}\n{time} 2485806196\n"


def slow(
    folder: Path, forward: float = 4.0, backward: float = 1.0, ranks: int = 4, extra: Sequence[str] = ()
) -> Report:
    """Steps of a few ranks on one host, the phases of rank 2 that many times as long."""
    for rank in range(ranks):
        lines = [f"rank {rank} | host n7 pid {5000 + rank} world {ranks}"]
        for step in range(40):
            f, b = (20 * forward, 30 * backward) if rank == 2 else (20.0, 30.0)
            f, b = f + step % 3 * 0.1 + rank * 0.01, b + step % 3 * 0.1 + rank * 0.01
            lines.append(
                f"step {step} loss {3 - step / 50:.4f} forward_time {f:.2f} ms backward_time {b:.2f} ms "
                f"comm_time {max(20 * forward + 30 * backward - f - b, 0) + 5:.2f} ms"
            )
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    for number, text in enumerate(extra):
        (folder / f"cgroups{number}.txt").write_text(text)
    return analyze(folder)


@pytest.mark.parametrize(("forward", "backward", "other"), [(4.0, 1.0, "backward"), (1.0, 3.0, "forward")])
def test_who_is_slow_in_one_phase_alone_does_more_there(
    tmp_path: Path, forward: float, backward: float, other: str
) -> None:
    report = slow(tmp_path, forward, backward)
    assert (report.verdict.kind, report.verdict.ranks) == ("slow", [2])
    assert first(report).kind == "check_code" and other in first(report).reason
    assert "n7" not in report.incidents[0].decision.reason and "device" not in report.incidents[0].decision.reason


def test_who_is_slow_in_all_phases_has_a_slow_device(tmp_path: Path) -> None:
    report = slow(tmp_path, 2.0, 2.0)
    assert first(report).kind == "inspect_hardware" and "other ranks of its host" in first(report).reason
    assert "top -b" not in " ".join(action.command or "" for action in told(report))
    assert "n7" not in report.incidents[0].decision.reason


@pytest.mark.parametrize(
    ("head", "time", "file"),
    [
        ("$ cat /sys/fs/cgroup/cpu/job/rank_pid_5002/cpu.stat\n", "throttled_time", "cpu.cfs_quota_us"),
        ("==> /sys/fs/cgroup/job.slice/p5002/cpu.stat <==\nusage_usec 81\n", "throttled_usec", "cpu.max"),
        ("# cat /sys/fs/cgroup/unit-5002.scope/cpu.stat\n", "throttled_usec", "cpu.max"),
    ],
)
def test_a_quota_that_holds_a_rank_back_is_raised(tmp_path: Path, head: str, time: str, file: str) -> None:
    report = slow(tmp_path, 4.0, 4.0, extra=[head + STAT.format(periods=44, held=36, time=time)])
    assert report.verdict.ranks == [2]
    assert first(report).kind == "check_config" and file in (first(report).command or "")
    assert any("36 of 44 periods" in one.claim for one in report.incidents[0].evidence)
    assert "n7" not in report.incidents[0].decision.reason


@pytest.mark.parametrize(
    "stats",
    [
        [("5002", 44, 2)],  # hardly ever
        [("5002", 6, 6)],  # too few to tell
        [("5003", 44, 40)],  # another's
        [(str(5000 + rank), 44, 36) for rank in range(4)],  # all alike
    ],
)
def test_a_quota_that_hardly_holds_or_holds_all_alike_tells_nobody(
    tmp_path: Path, stats: list[tuple[str, int, int]]
) -> None:
    extra = [
        f"$ cat /sys/fs/cgroup/pid_{pid}/cpu.stat\n" + STAT.format(periods=periods, held=held, time="throttled_usec")
        for pid, periods, held in stats
    ]
    report = slow(tmp_path, 4.0, 4.0, extra=extra)
    assert report.verdict.ranks == [2] and first(report).kind == "inspect_hardware"


# --- numbers --------------------------------------------------------------------------------------------------------------


def logs(
    folder: Path, losses: Callable[[int], Sequence[object]], form: str = "step {s} loss {l} grad_norm {g}"
) -> Report:
    for rank in range(4):
        lines = [
            form.format(s=step, l=loss, g=1 + step % 3 if isinstance(loss, float) and loss < 5 else loss)
            for step, loss in enumerate(losses(rank))
        ]
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


CALM = [4.0 - step / 10 for step in range(12)]


@pytest.mark.parametrize("end", [[], ["nan"] * 6, ["inf"] * 3])
@pytest.mark.parametrize(
    "form", ["step {s} loss {l} grad_norm {g}", "iteration {s} | train_loss: {l} | grad_norm: {g}"]
)
def test_a_loss_that_only_grows_is_a_matter_of_settings(tmp_path: Path, end: list[str], form: str) -> None:
    report = logs(tmp_path, lambda rank: [*CALM, 40.0, 1000.0, 50000.0, 2e7, *end], form)
    assert report.verdict.kind == "numerics" and first(report).kind == "check_config"
    assert "learning rate" in first(report).target and "ranks 0-3" in first(report).reason
    assert "skip_data" not in kinds(report) and report.incidents[0].decision.do == "stop"


@pytest.mark.parametrize(
    ("after", "looks"),
    [
        ([40.0, 38.0, 9.0, 3.0, 2.9, 2.8, 2.8, 2.7, 2.7, 2.7], "check_data"),  # it came back
        (
            [9.0, 9.3, 9.2, 9.4, 9.1, 9.3, 9.2, 9.2],
            "check_code",
        ),  # a higher level: of no one batch, nor shown to be of a setting
    ],
)
def test_a_loss_that_stays_or_comes_back_is_no_divergence(tmp_path: Path, after: list[float], looks: str) -> None:
    report = logs(tmp_path, lambda rank: [*CALM, *after])
    assert report.verdict.kind == "numerics" and first(report).kind == looks
    assert report.incidents[0].decision.do != "stop"


HASHES = "{time}INFO [rank {rank}] step={step} loss={loss:.4f} lr={rate} param_hash={hash}"


def replicas(folder: Path, rate: Callable[[int], str]) -> Report:
    for attempt, steps in enumerate((range(10), range(10, 20))):
        (folder / f"attempt_{attempt}").mkdir()
        for rank in range(4):
            lines = [] if attempt == 0 else [f"INFO [rank {rank}] resumed from /srv/ckpt/step_10 at step 10"]
            for step in steps:
                odd = attempt == 1 and rank == 1
                told = rate(rank) if attempt else "3e-3"
                own = f"{step * 7919 + (13 if odd else 0):08x}"
                lines.append(HASHES.format(time="", rank=rank, step=step, loss=3 - step / 50, rate=told, hash=own))
            (folder / f"attempt_{attempt}" / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("odd", ["3e-2", "3e-4"])
def test_whose_settings_differ_is_no_matter_of_its_device(tmp_path: Path, odd: str) -> None:
    report = replicas(tmp_path, lambda rank: odd if rank == 1 else "3e-3")
    assert report.verdict.ranks == [1] and first(report).kind == "check_config"
    assert "inspect_hardware" not in kinds(report) and "rollback" not in kinds(report)
    assert report.incidents[report.primary].decision.do == "stop"


def test_where_the_settings_are_equal_the_device_is_tested(tmp_path: Path) -> None:
    report = replicas(tmp_path, lambda rank: "3e-3")
    assert report.verdict.ranks == [1] and first(report).kind == "inspect_hardware"


# --- what was changed, and what a port or a path tells --------------------------------------------------------------------

FAILS = 'Traceback (most recent call last):\n  File "/srv/app/model.py", line 31, in load\n    copy(x)\nRuntimeError: sizes 8 and 4 differ\n'


def crash(folder: Path) -> Incident:
    lines = [f"[rank0]: step {step} loss {3 - step / 50:.3f}" for step in range(8)]
    (folder / "rank_0.log").write_text("\n".join(lines) + "\n" + FAILS)
    return replace(analyze(folder).incidents[0], attempt=1)


def row(name: str, was: str = "2.4", now: str = "2.6") -> EnvironmentRow:
    return EnvironmentRow(name=name, values={now: "attempt 1", was: "attempt 0"}, note="changed between attempts")


@pytest.mark.parametrize("name", ["megatron_version", "lr", "tensor_model_parallel_size", "NCCL_ALGO"])
def test_what_was_changed_before_it_failed_is_looked_at_first(tmp_path: Path, name: str) -> None:
    one = crash(tmp_path)
    well = replace(one, attempt=0, verdict=replace(one.verdict, kind="unknown", cause=None))
    after = with_changes(one, [well], [row(name)])
    assert after.actions[0].kind == "check_config" and name in after.actions[0].target
    assert f"{name} from 2.4 to 2.6" in after.evidence[-1].claim and after.actions[1:] == one.actions
    assert after.verdict == one.verdict


@pytest.mark.parametrize("name", ["MASTER_PORT", "job_id", "SLURM_JOB_NODELIST", "log_dir", "seed", "hosts, replaced"])
def test_what_every_launch_has_anew_is_no_change(tmp_path: Path, name: str) -> None:
    one = crash(tmp_path)
    well = replace(one, attempt=0, verdict=replace(one.verdict, kind="unknown", cause=None))
    assert with_changes(one, [well], [row(name)]) == one


def test_a_change_explains_nothing_that_was_so_before(tmp_path: Path) -> None:
    one = crash(tmp_path)
    assert with_changes(one, [replace(one, attempt=0)], [row("lr")]) == one


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("DistNetworkError: failed to listen. port: 29500, useIpv6: false, name: EADDRINUSE, message: address already in use", 29500),
        ("RuntimeError: The server socket has failed to bind to 0.0.0.0:12355 (errno: 98 - Address already in use).", 12355),
        ("OSError: [Errno 98] Address already in use", None),
    ],
)  # fmt: skip
def test_a_port_that_is_taken_is_asked_for(text: str, port: int | None) -> None:
    assert holder_of_port(text) == (
        None if port is None else f"ss --listening --tcp --numeric --processes 'sport = :{port}'"
    )


FULL = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/srv/app/save.py\", line 9, in save\n[rank1]:     f.write(b)\n[rank1]: OSError: [Errno 28] No space left on device: '{path}'\n"


@pytest.mark.parametrize(
    ("path", "folder"),
    [("/mnt/ssd/ckpt/step-600/a.pt", "/mnt/ssd/ckpt/step-600"), ("/data/x.bin", "/data"), ("/mnt/a b;id/x.pt", None)],
)
def test_a_full_disk_is_asked_by_its_path(tmp_path: Path, path: str, folder: str | None) -> None:
    (tmp_path / "rank_1.log").write_text("[rank1]: step 1 loss 2.0\n" + FULL.format(path=path))
    command = next((action.command for action in told(analyze(tmp_path)) if action.kind == "check_config"), None)
    assert (command is not None and f"df -h {folder};" in command) == (folder is not None)
    assert "id/x" not in (command or "")


# --- bad numbers of one rank ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["step {s} loss {l}", "[train] iter={s} own_loss={l}"])
def test_a_loss_that_one_rank_alone_finds_bad_is_of_what_it_read(tmp_path: Path, form: str) -> None:
    def losses(rank: int) -> list[object]:
        own = [3 - step / 50 + rank / 7 + step * (rank + 3) % 5 / 100 for step in range(14)]
        return [f"{one:.4f}" for one in own] + ["nan" if rank == 2 else f"{2.5 + rank / 9:.4f}"] + ["nan"] * 4

    for rank in range(4):
        lines = [f"rank {rank} of 4, data parallel, tp=1 pp=1 dp=4"]
        lines += [form.format(s=step, l=loss) for step, loss in enumerate(losses(rank))]
        (tmp_path / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    report = analyze(tmp_path)
    assert report.verdict.kind == "numerics"
    assert report.verdict.ranks == [2] and first(report).kind == "check_data"
    assert "rank 2" in first(report).target and "step 14" in first(report).target
    assert kinds(report)[1] == "rollback" and report.incidents[0].decision.do == "change_first"


JAX = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/train.py", line 45, in <module>\n    x = normalize(read(step))\n'
    '  File "/srv/app/train.py", line 32, in normalize\n    return x / x.sum()\n'
    '  File "/srv/venv/lib/python3.11/site-packages/jax/_src/numpy/array_methods.py", line 787, in op\n    return f(x)\n'
    "FloatingPointError: invalid value (nan) encountered in {op}\n"
)


@pytest.mark.parametrize("op", ["mul", "div", "log"])
def test_what_an_operator_gave_before_the_update_needs_no_older_state(tmp_path: Path, op: str) -> None:
    for rank in range(4):
        lines = [f"step {step} loss {3 - step / 50 + rank / 9:.4f}" for step in range(8)]
        (tmp_path / f"proc{rank}.log").write_text("\n".join(lines) + "\n" + (JAX.format(op=op) if rank == 1 else ""))
    report = analyze(tmp_path)
    assert report.verdict.kind == "numerics" and "rollback" not in kinds(report)
    code = report.verdict.code
    assert code is not None and (code.file, code.line) == ("/srv/app/train.py", 32)
    assert any(action.command == "sed -n '22,37p' /srv/app/train.py" for action in told(report))


@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("head-0:8711", "ssh n3 \"sh -c 'getent hosts head-0; nc -zv -w 5 head-0 8711'\""),
        ("10.2.3.4:29500", "ssh n3 \"sh -c 'getent hosts 10.2.3.4; nc -zv -w 5 10.2.3.4 29500'\""),
        ("a;id:29500", None),
        ("head-0:http", None),
    ],
)
def test_whether_an_address_is_reached_is_asked_from_the_host_that_did_not(address: str, command: str | None) -> None:
    assert reach("n3", address) == command


SHARED = "RuntimeError: DataLoader worker (pid {pid}) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory."


@pytest.mark.parametrize("pid", [417, 30882])
def test_who_is_out_of_shared_memory_needs_more_of_it(tmp_path: Path, pid: int) -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/app/t.py", line 9, in <module>\n    run()\n'
    (tmp_path / "train.log").write_text(trace + SHARED.format(pid=pid) + "\n")
    action = first(analyze(tmp_path))
    assert (action.kind, action.command) in (("check_config", "df -h /dev/shm"), ("check_config", None))
    assert "shared memory" in f"{action.target} {action.reason}"


@pytest.mark.parametrize(
    ("used", "kind"),
    [
        ("tmpfs            126G  1.2M  126G   1% /dev/shm", "check_data"),
        ("none       65536    12288   53248  19% /dev/shm", "check_data"),
        ("shm              64M   64M     0 100% /dev/shm", "check_config"),
        ("tmpfs             13G  1.2M   13G   1% /run", "check_config"),
    ],
)
def test_a_look_that_the_log_has_taken_is_not_asked_for_first(tmp_path: Path, used: str, kind: str) -> None:
    trace = 'Traceback (most recent call last):\n  File "/srv/app/t.py", line 9, in <module>\n    run()\n'
    (tmp_path / "train.log").write_text(trace + SHARED.format(pid=417) + f"\n{used}\n")
    action = first(analyze(tmp_path))
    assert action.kind == kind and action.look and action.then


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId={}.batch cgroup.",
        "slurmstepd: error: *** JOB {} ON n7 CANCELLED",
    ],
)
@pytest.mark.parametrize(("numbers", "job"), [((264,), "264"), ((264, 265), None)])
def test_slurms_own_lines_tell_the_job(tmp_path: Path, line: str, numbers: tuple[int, ...], job: str | None) -> None:
    rows = [{"kind": "scheduler", "text": line.format(number), "file": "job.err", "line": number} for number in numbers]
    files = [{"file": "job.err", "parsers": ["slurm"]}]
    tables = {**case([], 1).tables, "events": table("events", rows), "files": table("files", files)}
    assert surroundings(tables).job == job
