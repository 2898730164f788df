"""What is advised follows what the records show: how replicas differ, why a connection was not made, which figure tells the cause."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.detectors.numerics.first_anomaly import DETECTOR as FIRST_BAD
from forensics.detectors.numerics.replica_divergence import DETECTOR
from forensics.model.finding import Finding
from forensics.model.incident import Action
from reports import terminal
from tests.analysed import primary
from tests.tensor_rows import Job

WEIGHT = {"nan_count": 0, "inf_count": 0, "min": -0.5, "max": 0.75, "l2norm": 4.0, "absmax": 0.75, "dtype": "float32"}


def times(factor: float) -> dict[str, Any]:
    return WEIGHT | {name: WEIGHT[name] * factor for name in ("min", "max", "l2norm", "absmax")}  # type: ignore[operator]


def parted(odd: dict[str, Any], *, used: bool = True, dtype: str = "float32") -> Finding:
    """Three replicas, equal after step 0; rank 2 uses another weight in step 1, and updates it."""
    job = Job()
    for step in range(2):
        for rank in range(3):
            own = odd if rank == 2 and step == 1 else WEIGHT
            if used:
                job.row(rank, "param.weight", own, module="up", op="Linear", step=step, microbatch=0, dtype=dtype)
            job.reduce({rank: ("ok", "ok")}, range(3), module="up.weight", step=step)
            job.row(rank, "param.weight", own, module="up", op="step", phase="optimizer", step=step, dtype=dtype)
    (found,) = DETECTOR.detect(job.case(expected=range(3)))
    return found


@pytest.mark.parametrize("factor", [1.001, 0.5, 1.1, -1.0, 3.0])
def test_a_tensor_that_is_others_by_one_factor_is_a_programs_doing(factor: float) -> None:
    found = parted(times(factor))
    assert found.ranks == (2,) and [one.kind for one in found.actions] == ["check_code", "rollback"]
    assert f"{factor:.5g} times" in found.actions[0].reason and "up.weight" in found.actions[0].target


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(WEIGHT | {"max": 9.0, "absmax": 9.0, "l2norm": (16 + 81 - 0.25) ** 0.5}, id="one element grew"),
        pytest.param(WEIGHT | {"l2norm": 4.01}, id="none of the ends moved"),
        pytest.param(WEIGHT | {"min": -0.6, "max": 0.8, "l2norm": 4.4}, id="moved each by its own"),
        pytest.param(times(1 + 5e-7), id="within what rounding does"),
    ],
)
def test_what_no_factor_explains_is_not_laid_to_code(odd: dict[str, Any]) -> None:
    found = parted(odd)
    assert (found.ranks, found.actions[0].kind) == ((2,), "inspect_hardware")


def test_a_lone_element_is_told_from_others() -> None:
    lone = parted(WEIGHT | {"max": 9.0, "absmax": 9.0, "l2norm": (16 + 81 - 0.25) ** 0.5})
    many = parted(WEIGHT | {"max": 9.0, "absmax": 9.0, "l2norm": 40.0})
    assert "one changed element" in lone.actions[0].reason and "one changed element" not in many.actions[0].reason


def test_a_tensor_of_one_value_has_no_factor() -> None:
    one = {"min": 1.0, "max": 1.0, "absmax": 1.0, "l2norm": 4.0}
    job = Job()
    job.reduce(dict.fromkeys(range(3), ("ok", "ok")), range(3), module="w")
    for rank in range(3):
        double = {name: 2 * value for name, value in one.items()} if rank == 2 else one
        job.params([rank], {"nan_count": 0, "inf_count": 0, "dtype": "float32"} | double)
    (found,) = DETECTOR.detect(job.case(expected=range(3)))
    assert found.actions[0].kind == "inspect_hardware"


@pytest.mark.parametrize(("used", "phase"), [(True, "forward"), (False, "optimizer")])
def test_the_first_row_that_differs_is_named_and_not_the_update_that_shows_it(used: bool, phase: str) -> None:
    found = parted(times(2.0), used=used)
    assert (found.first_anomaly.phase, found.first_anomaly.step) == (phase, 1)
    assert any("after the update of step 0" in claim.text for claim in found.claims) is used


# --- connections that were not made ----------------------------------------------------------------------------------


def unmade(folder: Path, *lines: str) -> Action:
    (folder / "worker.log").write_text("\n".join(lines) + "\n")
    return primary(folder).actions[0]


IBV = "h7:811:930 [0] misc/ibvwrap.cc:{at} NCCL WARN Call to {call} failed with error {why}"
SOCKET = "h7:811:930 [0] misc/socket.cc:{at} NCCL WARN socketStartConnect: Connect to 10.9.1.4<4711> failed : {why}"


@pytest.mark.parametrize(
    ("line", "begins", "holds", "lacks"),
    [
        (IBV.format(at=187, call="ibv_modify_qp", why="Network is unreachable"), "ssh h7", "gids", "ping"),
        (SOCKET.format(at=480, why="Network is unreachable"), "ssh h7", "ip route get 10.9.1.4", "gids"),
        (SOCKET.format(at=480, why="No route to host"), "ssh h7", "ip neigh show to 10.9.1.4", "ping"),
        (SOCKET.format(at=480, why="Connection timed out"), "ssh h7", "ping -c 3 -W 2 10.9.1.4", "gids"),
        (
            SOCKET.format(at=480, why="Connection refused"),
            "ssh -t 10.9.1.4",
            "ss --listening --tcp --numeric --processes",
            "ip route",
        ),
    ],
)
def test_each_reason_why_a_connection_failed_has_a_look_of_its_own(
    tmp_path: Path, line: str, begins: str, holds: str, lacks: str
) -> None:
    first = unmade(tmp_path, line)
    assert (first.command or "").startswith(begins) and holds in (first.command or "")
    assert lacks not in (first.command or "")
    assert ("nothing answered" in first.reason) is ("ping" in holds)


# --- figures that tell the cause -------------------------------------------------------------------------------------


def plain(folder: Path, tokens: int, bad: int = 2) -> Action:
    """Three replicas print a loss of their own; one loses it in step 6."""
    for rank in range(3):
        lines = [f"rank={rank} world_size=3 local_rank={rank} start"]
        for step in range(9):
            is_bad = rank == bad and step == 6
            loss = "nan" if is_bad or step > 6 else f"{3 - 0.1 * step + 0.01 * rank:.5f}"
            norm = "nan" if step > 5 else "0.7000"
            here = tokens if is_bad else 128
            lines.append(f"rank={rank} step={step} local_loss={loss} grad_norm={norm} tokens={here} dt=20.0ms")
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    incident = primary(folder)
    assert incident.verdict.ranks == [bad]
    return incident.actions[0]


def test_a_batch_without_a_token_is_said_to_be_empty(tmp_path: Path) -> None:
    first = plain(tmp_path, 0)
    assert first.kind == "check_data" and "0 tokens" in first.reason and "128" in first.reason


@pytest.mark.parametrize("tokens", [1, 128, 4096])
def test_a_batch_with_tokens_is_not(tmp_path: Path, tokens: int) -> None:
    assert "tokens" not in plain(tmp_path, tokens).reason


@pytest.mark.parametrize(("given", "is_near"), [(6.2e4, True), (3.4e4, True), (1.2e4, False), (9e4, False)])
def test_what_came_near_the_end_of_its_format_is_computed_in_another(given: float, is_near: bool) -> None:
    job = Job(dtype="float16")
    for rank in range(3):
        most = given if rank == 1 else 10.0
        fed = {"nan_count": 0, "inf_count": 0, "absmax": most, "min": -most, "max": most}
        job.op(rank, "drop", fed, "inf" if rank == 1 else "ok", op="Dropout", step=4)
    (found,) = FIRST_BAD.detect(job.case(expected=range(3)))
    first = found.actions[0]
    assert (first.kind == "check_config" and "bfloat16" in first.reason) is is_near


# --- what is undecided, and what is not recorded ---------------------------------------------------------------------


def test_a_kill_whose_cause_is_told_is_not_called_undecided(tmp_path: Path) -> None:
    (tmp_path / "job.err").write_text(
        "/var/spool/slurmd/job00951/slurm_script: line 12:  4410 Killed                  python3 train.py\n"
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=951.batch cgroup. Some of your processes may have been killed by "
        "the cgroup out-of-memory handler.\n"
    )
    text = terminal.render(analyze(tmp_path), color=False, width=None)
    assert text.startswith("CRASH (probable)") and "undecided" not in text and "members of the group" not in text
    assert "$ sacct -j 951" in text and "which rank it was is not recorded" in text


def test_memory_of_a_device_is_looked_for_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(
        "[rank3]: Traceback (most recent call last):\n"
        '[rank3]:   File "/w/t.py", line 9, in <module>\n'
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.11 GiB of "
        "which 1.25 GiB is free.\n"
    )
    commands = [one.command or "" for one in primary(tmp_path).actions]
    assert any("--query-compute-apps" in one for one in commands) and not any("rss" in one for one in commands)


def in_two_folders(base: Path, names: tuple[str, str]) -> None:
    """Rank 4 of 6 leaves its replicas; three ranks in each folder."""
    for rank in range(6):
        folder = base / names[rank // 3]
        folder.mkdir(exist_ok=True)
        lines = [
            f"[rank {rank}/6] step {step} loss 2.5 weights_crc32 {0x20000000 + step + (step > 5 and rank == 4):08x}"
            for step in range(12)
        ]
        (folder / f"rank{rank}.out").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("names", [("node-a", "node-b"), ("host-17", "host-18")])
def test_folders_that_call_themselves_nodes_name_the_host(tmp_path: Path, names: tuple[str, str]) -> None:
    in_two_folders(tmp_path, names)
    incident = primary(tmp_path)
    assert (incident.verdict.ranks, incident.verdict.hosts) == ([4], [names[1]])
    assert f"ssh -t {names[1]} " in (incident.actions[0].command or "")


@pytest.mark.parametrize("names", [("attempt-0", "attempt-1"), ("stage-0", "stage-1"), ("monday", "tuesday")])
def test_other_folders_do_not(tmp_path: Path, names: tuple[str, str]) -> None:
    in_two_folders(tmp_path, names)
    assert primary(tmp_path).verdict.hosts == []


def weights(value: dict[str, Any]) -> Finding:
    """A parameter that three replicas hold; rank 1 has another one in the step after a clean update."""
    job = Job(dtype="float32", numel=64)
    for step in range(3):
        for rank in range(3):
            held = value if rank == 1 and step == 2 else WEIGHT
            job.row(rank, "param.weight", held, module="up", op="Linear", step=step)
            job.op(rank, "up", "ok", "ok", step=step)
            if step < 2:
                job.row(rank, "param.weight", WEIGHT, module="up", op="step", phase="optimizer", step=step)
    return next(one for one in FIRST_BAD.detect(job.case(expected=range(3))) if one.ranks == (1,))


@pytest.mark.parametrize(("count", "kind"), [(64, "check_code"), (1, "inspect_hardware"), (3, "inspect_hardware")])
def test_a_tensor_that_went_bad_as_a_whole_was_written(count: int, kind: str) -> None:
    found = weights({"nan_count": count, "inf_count": 0, "dtype": "float32"})
    assert (found.cause, found.actions[0].kind) == ("bad_state", kind)


@pytest.mark.parametrize(("low", "kind"), [(-3e30, "check_code"), (-0.5, "inspect_hardware")])
def test_both_ends_of_a_tensor_do_not_leap_by_one_bit(low: float, kind: str) -> None:
    most = {"nan_count": 0, "inf_count": 0, "min": low, "max": 5e30, "absmax": 5e30, "dtype": "float32"}
    assert weights(most).actions[0].kind == kind


# --- what a worker of a loader raised --------------------------------------------------------------------------------

CHILD = """Traceback (most recent call last):
  File "/w/train.py", line 31, in main
    for batch in loader:
  File "/usr/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1491, in _process_data
    data.reraise()
{kind}: Caught {kind} in DataLoader worker process 2.
Original Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/reader/shards.py", line 88, in open_one
    raise {kind}(text)
{kind}: {said}
"""


@pytest.mark.parametrize(
    ("kind", "said", "path"),
    [
        ("ValueError", "bad magic number in /mnt/sets/part-0041.bin", "/mnt/sets/part-0041.bin"),
        ("RuntimeError", "/data/a/b.tar: unexpected end of data", "/data/a/b.tar"),
        ("KeyError", "'label'", None),
        ("ValueError", "cannot read s3://bucket/set/part-0041", None),
        ("ValueError", "/data/a.bin and /data/b.bin differ", None),
    ],
)
def test_the_file_that_a_worker_could_not_read_is_looked_at(
    tmp_path: Path, kind: str, said: str, path: str | None
) -> None:
    for rank in range(3):
        text = CHILD.format(kind=kind, said=said) if rank == 1 else "step 7 loss 2.1\n"
        (tmp_path / f"rank_{rank}.log").write_text(text)
    incident = primary(tmp_path)
    commands = [one.command or "" for one in incident.actions]
    assert incident.verdict.ranks == [1] and any(said in item.claim for item in incident.evidence)
    assert (commands[0] == f"ls -la --time-style=full-iso {path}") is (path is not None)
    assert path is not None or not any(one.startswith("ls ") for one in commands)


# --- a module, a restart, a driver -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["2.75", "9.1e-02"])
def test_a_module_that_gave_nan_of_a_number_comes_before_a_rollback(tmp_path: Path, given: str) -> None:
    lines = [
        f"[default{rank}]:step {step} loss {3 - step / 10 + rank / 100:.4f}" for step in range(8) for rank in range(4)
    ]
    lines += [
        f"[default1]:nan in block 4! step=8 rank=1 in_absmax={given}",
        "[default1]:nan in block 5! step=8 rank=1 in_absmax=nan",
    ]
    lines += [f"[default{rank}]:step 8 loss {'nan' if rank == 1 else '2.2000'}" for rank in range(4)]
    lines += [f"[default{rank}]:nan in block 4! step=9 rank={rank} in_absmax=nan" for rank in range(4)]
    lines += [f"[default{rank}]:step 9 loss nan" for rank in range(4)]
    (tmp_path / "job.out").write_text("\n".join(lines) + "\n")
    incident = primary(tmp_path)
    kinds = [one.kind for one in incident.actions]
    assert incident.verdict.ranks == [1] and kinds.index("check_code") < kinds.index("rollback")
    assert "block 4" in incident.actions[0].target and given in incident.actions[0].reason


@pytest.mark.parametrize(("odd_from", "kind"), [(10, "check_config"), (13, "inspect_hardware")])
def test_who_parts_in_the_first_step_after_a_restart_was_started_otherwise(
    tmp_path: Path, odd_from: int, kind: str
) -> None:
    for attempt, steps in enumerate((range(10), range(10, 18))):
        folder = tmp_path / f"attempt_{attempt}"
        folder.mkdir()
        for rank in range(4):
            lines = [
                f"[rank {rank}] step={step} loss={2.5 - step / 50 + rank / 100:.4f} "
                f"param_hash={0x5F000000 + 7 * step + (rank == 3 and step >= odd_from):08x}"
                for step in steps
            ]
            (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n")
    incident = primary(tmp_path)
    assert (incident.verdict.ranks, incident.actions[0].kind) == ([3], kind)


@pytest.mark.parametrize(("held", "is_said"), [("9.9e+29", True), ("0.1800", False)])
def test_a_parameter_that_is_far_from_the_others_is_said(tmp_path: Path, held: str, is_said: bool) -> None:
    for rank in range(4):
        loss = "8.8e+29" if rank == 0 else f"4.{rank}1"
        rows = [
            f"{step},{loss},{'2.9e+30' if rank == 0 else '0.95'},{held if rank == 0 else '0.1764'}" for step in range(6)
        ]
        (tmp_path / f"metrics_rank{rank}.csv").write_text(
            "\n".join(["step,local_loss,local_grad_norm,head_weight_absmax", *rows]) + "\n"
        )
    incident = primary(tmp_path)
    said = [item.claim for item in incident.evidence if "head_weight_absmax" in item.claim]
    assert incident.verdict.ranks == [0] and bool(said) is is_said
