"""That the other end closed a connection is said only where a line says it."""

from pathlib import Path

import pytest

from forensics import analyze
from reports.answer import answer
from tests.hang_tables import Rows

LINES = {
    "closed": ("[rank2]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:40211", "closed the connection"),
    "reset": ("[rank2]: RuntimeError: Read error [10.0.0.7]:40211: Connection reset by peer", "closed the connection"),
    "at a barrier": (
        "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5. "
        "Please check rank 5 logs for faulty rank.", "rank 2 came to a barrier, and its exchange with rank 5 failed"),
    "at a barrier, of several": (
        "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5.\n"
        "[E ProcessGroupGloo.cpp:138] Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5.",
        "message to or from another process failed"),
}  # fmt: skip


@pytest.mark.parametrize("form", LINES)
def test_what_the_line_says_of_the_other_end_and_no_more(tmp_path: Path, form: str) -> None:
    line, says = LINES[form]
    (tmp_path / "train.log").write_text("\n".join([*(f"step {n} loss 2.{n}" for n in range(6)), line]) + "\n")
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    said = " ".join([str(incident.verdict.summary), *(str(one.claim) for one in incident.evidence)])
    assert not incident.verdict.ranks
    if "barrier" in form:
        assert says in said.replace("Rank", "rank") or "barrier" in said
        assert "closed" not in said


EITHER = (
    "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error, NCCL version 2.20.5 "
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely. Last error: {}"
)


@pytest.mark.parametrize(
    ("last", "is_closed", "asks_for_ports"),
    [
        ("NET/IB : Got completion from peer 10.2.0.7<40693> with error 5, opcode 57, len 32682, vendor err 249", False, True),
        ("socketProgress: Connection closed by remote peer n7<40693>", True, False),
        ("Call to recv from 10.2.0.7<40693> failed : Connection reset by peer", True, False),
    ],
)  # fmt: skip
def test_a_transfer_that_failed_accuses_neither_end(tmp_path: Path, last: str, is_closed: bool, asks_for_ports: bool) -> None:  # fmt: skip
    (tmp_path / "train.log").write_text(
        "\n".join([*(f"step {n} loss 2.{n}" for n in range(6)), EITHER.format(last)]) + "\n"
    )
    incident = analyze(tmp_path).incidents[0]
    said = " ".join([str(incident.verdict.summary), *(str(one.claim) for one in incident.evidence)])
    assert ("closed" in said or "broke (" in said) == is_closed and not incident.verdict.ranks
    assert (incident.verdict.suspects.hosts == []) or is_closed
    assert any("port" in one.setup for one in incident.actions) == asks_for_ports


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("decode_and_retokenize", "in the tokenizer"),
        ("tokenize_batch", "in the tokenizer"),
        ("fetch_batch", "in data loading"),
    ],
)
def test_what_a_rank_is_in_is_called_by_the_frame_that_tells(function: str, says: str) -> None:
    stacks = dict.fromkeys(
        range(4), (("all_gather", "torch/distributed/distributed_c10d.py", 2806), ("step", "train.py", 12))
    )
    rows = Rows(4)
    for rank, frames in {**stacks, 2: ((function, "rewards.py", 41), ("step", "train.py", 14))}.items():
        rows.add("stacks", rank=rank, pid=100 + rank, thread="1", is_main=True, source="py-spy", snapshot=0, file=f"{rank}.txt", line=1,
                 frames=[{"function": name, "file": file, "line": line} for name, file, line in frames])  # fmt: skip
    incident = rows.incident()
    assert (incident.verdict.site, incident.verdict.ranks) == ("data_loading", [2])
    assert says in answer(incident).sentence and any(says in one.claim for one in incident.evidence)


@pytest.mark.parametrize(("warned", "told"), [((2,), True), ((1,), False), ((0, 1, 2, 3), True), ((), False)])
def test_a_warning_of_a_fork_is_told_of_who_stands_in_the_tokenizer(warned: tuple[int, ...], told: bool) -> None:
    rows = Rows(4)
    for rank in range(4):
        name, file = (
            ("tokenize", "rewards.py") if rank == 2 else ("all_gather", "torch/distributed/distributed_c10d.py")
        )
        rows.add("stacks", rank=rank, pid=100 + rank, thread="1", is_main=True, source="py-spy", snapshot=0, file=f"{rank}.txt", line=1,
                 frames=[{"function": name, "file": file, "line": 41}])  # fmt: skip
    for rank in warned:
        rows.add("events", kind="other", code="advice", severity="info", rank=rank, rank_space="global", file=f"{rank}.err", line=5,
                 text="The current process just got forked", detail='{"about": "printer", "row": "tokenizers.forked"}')  # fmt: skip
    incident = rows.incident()
    assert incident.verdict.ranks == [2]
    assert any("TOKENIZERS_PARALLELISM" in one.claim for one in incident.evidence) is told


@pytest.mark.parametrize(
    ("inner", "waits"),
    [
        ("recv_object (distributed/parallel_state.py:1067)", True),
        ("recv (torch/distributed/distributed_c10d.py:2400)", True),
        ("forward (models/llama.py:300)", False),
    ],
)
def test_a_lone_stack_that_waits_for_another_process_is_told_as_a_waiter(
    tmp_path: Path, inner: str, waits: bool
) -> None:
    (tmp_path / "pyspy.txt").write_text(
        f'Process 4711: python -m serve\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 4711 (active): "MainThread"\n    {inner}\n'
        "    event_loop (scheduler.py:111)\n    <module> (serve.py:9)\n"
    )
    report = analyze(tmp_path)
    verdict = report.incidents[report.primary].verdict
    assert (verdict.kind, verdict.ranks) == ("unknown", [])
    assert ("waiting for other processes" in verdict.summary) is waits


BAR = "Tokenizing:  {percent}%|###   | 640/1000 [1:52:18<{left}, 16.40 examples/s]"


@pytest.mark.parametrize(("percent", "left"), [(64, "1:03:44"), (2, "22:03:44")])
def test_a_bar_on_the_line_of_a_barrier_shows_work_that_goes_on(tmp_path: Path, percent: int, left: str) -> None:
    (tmp_path / "train.log").write_text(BAR.format(percent=percent, left=left) + LINES["at a barrier"][0] + "\n")
    incident = analyze(tmp_path).incidents[0]
    assert (incident.actions[0].kind, incident.verdict.ranks) == ("check_config", [])
    assert f"{percent}% after 1:52:18, with {left} to go" in incident.verdict.summary


@pytest.mark.parametrize(
    "bar", [BAR.format(percent=100, left="00:00"), BAR.format(percent=64, left="1:03:44") + "\n", ""]
)
def test_a_bar_that_was_done_or_stands_elsewhere_is_no_reason(tmp_path: Path, bar: str) -> None:
    (tmp_path / "train.log").write_text(bar + LINES["at a barrier"][0] + "\n")
    incident = analyze(tmp_path).incidents[0]
    assert incident.actions[0].kind == "collect_more" and "to go" not in incident.verdict.summary


BROKE = (
    "[rank5]:[E207 19:37:09.98 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog thread terminated with exception: "
    "NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\n"
)


@pytest.mark.parametrize("label", ["", "[rank5]: "])
@pytest.mark.parametrize(
    "call",
    ["recv from 10.9.8.7<4990> failed : Broken pipe", "send to 10.9.8.7<4990> failed : Connection reset by peer"],
)
def test_the_only_address_of_a_broken_connection_is_told_and_looked_at(tmp_path: Path, call: str, label: str) -> None:
    (tmp_path / "w.log").write_text(f"{BROKE}{label}socketProgressOpt: Call to {call}\n")
    incident = analyze(tmp_path).incidents[0]
    assert (incident.verdict.ranks, incident.verdict.hosts) == ([], [])
    assert f"“socketProgressOpt: Call to {call}”" in incident.verdict.summary
    assert (incident.actions[0].kind, incident.actions[0].command) == ("collect_more", "ssh -t 10.9.8.7 sudo dmesg -T")


@pytest.mark.parametrize("ends", [["127.0.0.1"], ["10.9.8.7", "10.9.8.8"], []])
def test_several_addresses_or_none_send_nobody_to_one(tmp_path: Path, ends: list[str]) -> None:
    (tmp_path / "w.log").write_text(
        "".join(f"{BROKE}socketProgressOpt: Call to recv from {end}<4990> failed : Broken pipe\n" for end in ends)
        or BROKE
    )
    incident = analyze(tmp_path).incidents[0]
    assert (
        not any("10.9.8" in (action.command or "") for action in incident.actions)
        and "Broken pipe" not in incident.verdict.summary
    )
