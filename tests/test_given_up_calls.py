"""What a line of a call that was given up tells besides, and what is asked for when the job is over."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from forensics.model.incident import Incident
from tests.analysed import primary

WATCHDOG = (
    "[rank{rank}]:[E318 07:39:53.79 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600086 milliseconds before timing out."
)
NOTIFY = (
    "EI0002: [PID: {pid}] 2026-03-24-08:54:27.918.452 The wait execution of the Notify register times out. Reason: The Notify register has not "
    "received the Notify record from remote rank: [{peer}]. base information: [streamID:[7], taskID[5], taskType[Notify Wait], "
    "tag[AllReduce_{group}NHRAllReduceComm_device], AlgType(level 0-1-2):[ring-NHR-NHR].]. task information: [notify id:[0x6], stage:[0], "
    "remote rank:[{peer}]]. group information: [group:[{group}], user define information[Unspecified], rankSize[16], rankId[3 {peer}]]"
)


def told(tmp_path: Path, lines: Sequence[str]) -> Incident:
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    return primary(tmp_path)


def watchdogs(*calls: tuple[int, int, str, int]) -> list[str]:
    return [WATCHDOG.format(rank=rank, seq=seq, op=op, size=size) for rank, seq, op, size in calls]


@pytest.mark.parametrize(
    ("calls", "differ"),
    [
        (((2, 88, "ALLREDUCE", 4096), (5, 88, "ALLREDUCE", 2048)), True),
        (((0, 7, "_ALLGATHER_BASE", 10), (1, 7, "_ALLGATHER_BASE", 10), (3, 7, "_ALLGATHER_BASE", 14)), True),
        (((2, 88, "ALLREDUCE", 4096), (5, 88, "ALLREDUCE", 4096)), False),
        (((2, 88, "ALLREDUCE", 4096), (5, 90, "ALLREDUCE", 2048)), False),  # another call
        (((2, 88, "ALLTOALL_BASE", 4096), (5, 88, "ALLTOALL_BASE", 2048)), False),  # each brings its own
        (((2, 88, "ALLREDUCE", 4096),), False),
    ],
)
def test_other_sizes_for_one_number_are_said_with_the_doubt_and_name_nobody(
    tmp_path: Path, calls: Sequence[tuple[int, int, str, int]], differ: bool
) -> None:
    incident = told(tmp_path, watchdogs(*calls))
    verdict = incident.verdict
    assert verdict.kind == "hang" and not verdict.ranks
    if differ and verdict.cause is None:
        assert "their sizes differ" in verdict.summary and "if they are of one group" in verdict.summary
    assert differ or "sizes differ" not in verdict.summary


@pytest.mark.parametrize(("peer", "group"), [(24, "group_name_17"), (5, "hccl_world_group")])
def test_the_member_that_a_line_waits_for_is_said_by_its_number_in_the_group(
    tmp_path: Path, peer: int, group: str
) -> None:
    head = "[ERROR] 2026-03-24-08:54:27 (PID:6340, Device:0, RankID:101) ERR00100 PTA call acl api failed."
    verdict = told(tmp_path, [head, NOTIFY.format(pid=6340, peer=peer, group=group)]).verdict
    assert (
        f"member {peer} of that group" in verdict.summary and not verdict.ranks and peer not in verdict.suspects.ranks
    )


def test_what_outlives_the_job_is_asked_for_before_the_next_run(tmp_path: Path) -> None:
    """Whoever waited has given up: no stack of it is left, and the others' logs are."""
    first, *rest = told(tmp_path, watchdogs((2, 88, "ALLREDUCE", 4096))).actions
    assert first.command == "forensics setup --gather --output gather.sh" and {"log", "kernel", "port"} <= {
        *first.setup
    }
    assert any("forensics setup dump stack" in (one.command or "") for one in rest)
    assert "counters cleared" in first.look


def test_ras_is_not_asked_for_where_it_has_answered(tmp_path: Path) -> None:
    lines = watchdogs((2, 88, "ALLREDUCE", 4096))
    asked = told(tmp_path, lines).actions
    assert any("ras" in one.setup for one in asked)
    (tmp_path / "ncclras.txt").write_text(
        "NCCL version 2.27.3 compiled with CUDA 12.8\nCUDA runtime version 12080, driver version 12080\n\nJob summary\n===========\n\n"
        "  Nodes  Processes         GPUs  Processes     GPUs\n(total)   per node  per process    (total)  (total)\n"
        "      1          8            1          8        8\n\nCommunicators... (0.00s)\n=============\n\n"
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n"
        "    0         1         1         8         8         8   RUNNING      OK\n\nErrors\n======\n\nWarnings\n========\n\n"
    )
    assert not any("ras" in one.setup for one in told(tmp_path, lines).actions)


def test_a_call_of_a_group_is_not_said_of_who_told_no_group(tmp_path: Path) -> None:
    lines = watchdogs((4, 610, "COALESCED", 56320), (6, 610, "COALESCED", 76800))
    lines.insert(1, "[rank4]:[E318 07:39:53.79 ProcessGroupNCCL.cpp:1834] [PG ID 2 PG GUID 9 Rank 4] Timeout at NCCL work: 610, "
                    "last enqueued NCCL work: 616, last completed NCCL work: 609.")  # fmt: skip
    said = told(tmp_path, lines).verdict.summary
    assert "ank 4 timed out in coalesced of group 9" in said and "rank 6 timed out, too" in said


def test_figures_of_the_next_run_are_not_what_a_node_still_has(tmp_path: Path) -> None:
    """A loss went bad: logs and port counters of the nodes tell nothing of the tensors."""
    lines = [f"[rank0]: step {n} loss {'nan' if n > 30 else 2.5 - n / 50}" for n in range(60)]
    incident = told(tmp_path, [*lines, "training finished after 60 steps"])
    assert incident.verdict.kind == "numerics"
    assert not any("--gather" in (one.command or "") for one in incident.actions)
