"""Horovod's stall inspector in its forms: who has not submitted a tensor, or who has."""

import json

from parsers.comm.horovod import PARSER
from tests.lines import lines

HEAD = (
    "[2026-01-31 10:11:12.066232: W horovod/common/stall_inspector.cc:105] One or more tensors were submitted to be reduced, "
    "gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. "
)


def _read(text: str) -> list[tuple[object, ...]]:
    events = PARSER.parse(lines(text))["events"]
    assert set(events["kind"]) <= {"barrier_missing"} and set(events["code"]) <= {"horovod_stall"}
    tensors = [json.loads(detail)["tensors"] for detail in events["detail"]]
    return [
        (*row, names) for row, names in zip(events.select("line", "names_ranks", "op").rows(), tensors, strict=True)
    ]


def test_missing_ranks_by_rank() -> None:
    text = (
        f"{HEAD}\nMissing ranks:\n1: [DistributedAllreduce_grad_3, HorovodAllgather_x ...]\n12!: [HorovodBroadcast_a]"
    )
    assert _read(text) == [
        (3, [1], "all_reduce", ["DistributedAllreduce_grad_3", "HorovodAllgather_x"]),
        (4, [12], "broadcast", ["HorovodBroadcast_a"]),
    ]
    late = PARSER.parse(lines(text))["events"].rows(named=True)[1]
    assert json.loads(late["detail"])["will_shut_down"] is True


def test_behind_mpiruns_prefix() -> None:
    text = f"[1,0]<stderr>:{HEAD}\n[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:1: [HorovodAllreduce_a_0, HorovodAllreduce_b_0 ...]"
    assert _read(text) == [(3, [1], "all_reduce", ["HorovodAllreduce_a_0", "HorovodAllreduce_b_0"])]


def test_missing_ranks_by_tensor() -> None:
    text = f"{HEAD}\nStalled ops:HorovodAllreduce_a [missing ranks: 1, 3]\n[2026: W x.cc:5] HorovodAllreduce_b [missing ranks: 1]"
    assert _read(text) == [
        (2, [1, 3], "all_reduce", ["HorovodAllreduce_a"]),
        (3, [1], "all_reduce", ["HorovodAllreduce_b"]),
    ]


def test_ready_ranks_name_nobody() -> None:
    text = f"WARNING: {HEAD[60:]}Stalled ops: grad_a [ready ranks: 0, 2], grad_b [ready ranks: 0]"
    assert _read(text) == [(1, None, None, ["grad_a"]), (1, None, None, ["grad_b"])]
    first, _ = PARSER.parse(lines(text))["events"]["detail"]
    assert json.loads(first)["ready"] == [0, 2]


def test_a_number_and_a_list_elsewhere_is_no_report() -> None:
    assert _read("Missing values:\n1: [a, b]") == []
    assert _read(f"{HEAD}\nMissing ranks:\nstep 3\n1: [a, b]") == []
    assert PARSER.parse(lines(HEAD))["claimed"].height == 1


def test_srun_labels_do_not_hide_the_rank() -> None:
    found = lines(f"{HEAD}\nMissing ranks:\n1: [HorovodAllreduce_a]")
    stripped = found.with_columns(text=found["text"].str.replace(r"^1: ", ""))
    assert PARSER.parse(stripped)["events"]["names_ranks"].to_list() == [[1]]
