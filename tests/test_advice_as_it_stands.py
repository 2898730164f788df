"""What is advised, and said beside it, holds for what was read: the host of the one named rank, calls at several numbers, drivers' words alone,
what is left of a run before what the next one leaves, and names that are no hosts."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.assemble.who.host_names import with_one_name_each
from forensics.detectors.numerics.first_anomaly import DETECTOR as FIRST_BAD
from forensics.detectors.ranks.absent import DETECTOR
from forensics.model.commands import Surroundings
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, Place
from forensics.model.ref import Ref
from forensics.verdict.advice.actions import Known, actions_of
from parsers.schema.tables import empty, table
from tests.analysed import primary
from tests.log_cases import case
from tests.tensor_rows import Job


def finding(cause: str, kind: str, *ranks: int) -> Finding:
    act = Action(kind=kind, target="rank 3", command=None, reason="why")  # type: ignore[arg-type]
    claim = Claim("it failed", "for", (Ref(file="a.log", line=1, text="x"),))
    return Finding(detector="x", cause=cause, ranks=ranks, actions=(act,), claims=(claim,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cause", "kind", "around", "begins"),
    [
        ("nan_birth", "inspect_hardware", Surroundings(), "sudo dmesg"),
        ("replica_divergence", "inspect_hardware", Surroundings(vendor="nvidia"), "nvidia-smi -q -d ECC"),
        ("bad_state", "inspect_hardware", Surroundings(vendor="metax"), "mx-smi"),
        ("straggler_host", "check_data", Surroundings(), "sh -c 'top"),
        ("straggler_compute", "inspect_hardware", Surroundings(), "sh -c 'top"),
        ("gpu_oom", "check_config", Surroundings(vendor="nvidia"), "nvidia-smi --query-compute-apps"),
    ],
)
def test_whose_host_nobody_names_is_looked_at_there(cause: str, kind: str, around: Surroundings, begins: str) -> None:
    first, *_ = actions_of(finding(cause, kind, 3), "supported", Known([Place(rank=3, pid=7)], around=around))
    assert (first.command or "").startswith(begins)
    assert "its host" in first.target and "ssh" not in (first.command or "")


@pytest.mark.parametrize("ranks", [(3, 5), ()])
def test_hosts_of_several_ranks_or_of_nobody_are_no_one_host(ranks: tuple[int, ...]) -> None:
    first, *_ = actions_of(finding("nan_birth", "inspect_hardware", *ranks), "supported", Known())
    assert first.command is None and first.target == "rank 3"


def test_the_number_of_a_process_in_a_pod_that_nobody_names_is_none_of_a_host() -> None:
    pods = Known([Place(rank=3, pid=7)], around=Surroundings(launcher="kubernetes"))
    told = actions_of(finding("straggler_compute", "check_code", 3), "supported", pods)
    assert not any("py-spy record" in (one.command or "") for one in told)


def desync(snapshot: list[tuple[int, str, list[int]]], missing: int) -> dict[str, Any]:
    said = {
        "lagging": [{"ranks": [3], "state": "finished", "count": missing - 1, "missing": missing}],
        "snapshot": [{"count": at, "state": "started", "op": op, "ranks": ranks} for at, op, ranks in snapshot],
        "reported_by": 0,
    }
    names = {"names_ranks": [3], "names_rank_space": "group", "detail": json.dumps(said)}
    return {"kind": "desync", "rank": 0, "op": "all_reduce", **names}


LAST = {"rank": 0, "group": "0", "desc": "default_pg", "last_enqueued": 9, "file": "a.log", "line": 2}


@pytest.mark.parametrize(
    ("snapshot", "says"),
    [
        ([(20, "all_reduce", [0, 1]), (22, "all_gather", [2])], "ranks 0-1 started all_reduce #20"),
        ([(22, "broadcast", [1]), (20, "all_reduce", [0, 2])], "rank 1 started broadcast #22"),
        ([(20, "barrier", [0]), (21, "barrier", [1]), (22, "barrier", [2])], "rank 2 started barrier #22"),
    ],
)
def test_calls_of_several_numbers_stay_apart(snapshot: list[tuple[int, str, list[int]]], says: str) -> None:
    (one,) = DETECTOR.detect(case([desync(snapshot, 7)], 4, progress=[LAST]))
    assert (one.ranks, one.first_anomaly.seq, one.first_anomaly.op) == ((3,), 7, None)
    assert "rank 3 finished #6 of default_pg and never joined #7" in one.claims[0].text and says in one.claims[0].text


def test_calls_of_one_number_are_the_one_that_was_missed() -> None:
    (one,) = DETECTOR.detect(case([desync([(7, "all_reduce", [0, 1, 2])], 7)], 4, progress=[LAST]))
    assert (one.first_anomaly.seq, one.first_anomaly.op) == (7, "all_reduce")


@pytest.mark.parametrize("why", ["Connection refused", "SO_ERROR: Connection refused"])
@pytest.mark.parametrize("head", ["failed to connect, ", "failed to connect, willRetry=0, retry=3, retryLimit=3, "])
def test_a_refusal_is_heard_beside_a_word_that_tells_no_reason(tmp_path: Path, why: str, head: str) -> None:
    lines = "NCCL WARN socketStartConnect: Connect to 10.3.4.2<56159> failed : Software caused connection abort\n"
    (tmp_path / "w.log").write_text(f"{lines}RuntimeError: {head}remote=[10.3.4.2]:61826, error={why}\n")
    incident = primary(tmp_path)
    assert "ss --listening --tcp --numeric --processes" in (incident.actions[0].command or "")
    assert "refused" in incident.evidence[0].refs[0].text


XID = "[Sat Mar 13 13:59:1{at} 2021] NVRM: Xid (PCI:0000:{bus}:00): {code}, pid={pid}, Ch 00000010\n"


@pytest.mark.parametrize("code", [31, 13])
def test_a_card_that_several_programs_met_an_error_on_is_looked_at(tmp_path: Path, code: int) -> None:
    rows = [("65", 43, 4010), *(("b3", code, pid) for pid in (701, 702, 703))]
    (tmp_path / "dmesg.txt").write_text(
        "".join(XID.format(at=at, bus=bus, code=one, pid=pid) for at, (bus, one, pid) in enumerate(rows))
    )
    incident = primary(tmp_path)
    first = incident.actions[0]
    assert incident.verdict.kind == "unknown" and not incident.verdict.hosts
    assert f"Xid {code} on GPU 0000:b3:00 (3 processes)" in incident.verdict.summary
    assert (first.kind, first.command) == ("inspect_hardware", "nvidia-smi -q -i 0000:b3:00.0")


def test_an_error_of_one_program_is_of_that_program(tmp_path: Path) -> None:
    (tmp_path / "dmesg.txt").write_text(XID.format(at=1, bus="b3", code=31, pid=701))
    assert primary(tmp_path).actions[0].kind != "inspect_hardware"


@pytest.mark.parametrize("name", ["worker-6ab9-ffffffff-26936", "trainer_26936", "python.26936"])
def test_a_name_that_ends_in_the_number_of_its_process_is_no_host(name: str) -> None:
    rows = [{"rank": 0, "host": name, "pid": 26936, "how": "x"}, {"rank": 1, "host": "n1", "pid": 26936, "how": "x"}]
    tables = {**{each: empty(each) for each in case([]).tables}, "ranks": table("ranks", rows)}
    assert with_one_name_each(tables)["ranks"]["host"].to_list() == [None, "n1"]


def test_a_host_of_several_processes_keeps_its_name() -> None:
    rows = [{"rank": rank, "host": "node-4011", "pid": 4011 + rank, "how": "x"} for rank in range(2)]
    tables = {**{each: empty(each) for each in case([]).tables}, "ranks": table("ranks", rows)}
    assert with_one_name_each(tables)["ranks"]["host"].to_list() == ["node-4011"] * 2


@pytest.mark.parametrize("pad", ["", "  ", " " * 90])
def test_a_table_whose_head_is_cut_still_tells_the_host(tmp_path: Path, pad: str) -> None:
    lines = (
        "  host      : b200-118",
        "  rank      : 0 (local_rank: 0)",
        "  exitcode  : -11 (pid: 3085)",
        "  error_file: <N/A>",
    )
    (tmp_path / "train.log").write_text("".join(f"{line}{pad}\n" for line in lines))
    incident = primary(tmp_path)
    assert (incident.verdict.ranks, incident.verdict.hosts) == ([0], ["b200-118"])


def trace(rank: int, kernel: int, name: str) -> str:
    events = [
        event
        for step in range(6)
        for event in (
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": step * 4e5, "dur": 3.9e5},
            {"ph": "X", "cat": "kernel", "name": name, "ts": step * 4e5 + 10, "dur": kernel},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "ncclAllReduce",
                "ts": step * 4e5 + kernel + 20,
                "dur": 3.8e5 - kernel,
            },
        )
    ]
    whole = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}}
    return json.dumps(whole | {"traceEvents": events})


@pytest.mark.parametrize("name", ["sm90_xmma_gemm_bf16", "Cijk_Ailk_Bljk", "flash_fwd_kernel"])
def test_no_load_of_a_host_is_blamed_for_kernels(tmp_path: Path, name: str) -> None:
    for rank in range(4):
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(trace(rank, 300_000 if rank == 2 else 200_000, name))
    report = analyze(tmp_path)
    first = report.incidents[report.primary].actions[0]
    assert report.incidents[report.primary].verdict.ranks == [2] and report.coverage.ranks_expected == 4
    assert "kernels take longer" in first.reason and "top -b" not in (first.command or "")


@pytest.mark.parametrize("out", [True, False])
def test_what_went_in_bad_was_made_before_it(out: bool) -> None:
    job = Job(step=3)
    for rank in range(3):
        job.row(rank, "input", "ok", module="up", op="Linear")
        if out:
            job.row(rank, "output", "ok", module="up", op="Linear")
        job.row(rank, "input", "nan" if rank == 1 else "ok", module="act", op="GELU")
        job.row(rank, "output", "nan" if rank == 1 else "ok", module="act", op="GELU")
    [one] = FIRST_BAD.detect(job.case(expected=range(3)))
    assert one.ranks == (1,) and "first showed NaN in act" in one.summary
    assert (one.actions[0].target == "what lies between up and act") is out


def test_what_is_left_of_a_run_is_collected_before_the_next_is_set_up(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text(
        "[rank0]:[E515 18:36:47.343377708 ProcessGroupNCCL.cpp:1937] Rank 0\n"
        "         - [0] Timeout at collective: ALLREDUCE, #20\n"
        "         - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        "             [3] finished collective #6, but didn't join collective #7 (count from 1)\n"
        "         - Snapshot of ranks' latest states:\n           #6 finished ranks:\n             [3] finished ALLREDUCE\n"
        "           #7 started ranks:\n             [0, 1, 2] started ALLREDUCE\n"
        "[rank0]:[E515 18:36:47.343391940 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at "
        "work sequence id: 20 PG status: last enqueued work: 20, last completed work: 6\n"
    )
    told = [(one.kind, str(one.target)) for one in primary(tmp_path).actions]
    logs = next(at for at, (kind, what) in enumerate(told) if kind == "collect_more" and "log of rank 3" in what)
    later = [at for at, (_, what) in enumerate(told) if "next run" in what or "next time" in what]
    assert all(logs < at for at in later)
    assert not any("if the job still runs" in what and "next run" in what for _, what in told)
