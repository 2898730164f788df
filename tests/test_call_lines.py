"""Lines that tell a rank's place among the calls of a group, under names of any watchdog."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.comm.call_lines import PARSER
from tests.lines import lines

PADDLE = "Find timeout start but not finish task:group_key:dp,group_ranks:[0,1,2,3],global_rank:{rank},comm_count:{number},op:ALLREDUCE,started:1,completed:{done},nranks:4"
FORMS = {
    "flags": PADDLE,
    "words": "comm guard timeout: rank={rank} pg=dp seq={number} op=all_gather state={state} elapsed=600s",
    "commas": "[hang detector] stuck rank: {rank}, group: dp, collective_id: {number}, operation: AllReduce, status: {state}",
    "object": '{{"msg": "collective timed out", "rank": {rank}, "group": "dp", "op_count": {number}, "func": "AllReduce", "status": "{state}"}}',
    "yes and no": "timeout global_rank={rank} coll_seq={number} coll=ReduceScatter launched=true finished={flag}",
    "bare": "watchdog: timed out rank={rank} seq_num={number} status={state}",
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("late", [0, 2])
def test_who_did_not_come_to_the_call_of_the_others_is_named(tmp_path: Path, form: str, late: int) -> None:
    for rank in range(4):
        done = rank == late
        text = form.format(
            rank=rank,
            number=11 if done else 12,
            done=int(done),
            state="completed" if done else "started",
            flag="true" if done else "false",
        )
        (tmp_path / f"rank_{rank}.log").write_text(
            f"2026-01-31 10:11:1{rank} INFO hello\n2026-01-31 10:41:1{rank} WARNING {text}\n"
        )
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [late])


def test_ranks_that_all_stand_in_one_call_name_nobody(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"rank_{rank}.log").write_text(PADDLE.format(rank=rank, number=12, done=0) + "\n")
    assert analyze(tmp_path).verdict.ranks == []


@pytest.mark.parametrize(
    "text",
    [
        "task 3 started, seq 4 pending",
        "rank: 3, epoch: 4, status: started",
        "seq=4 op=all_reduce state=started",
        "rank=3 seq=4 op=all_reduce state=purple",
    ],
    ids=["prose", "no call", "nobody's", "unknown word"],
)
def test_other_lines_tell_no_place(text: str) -> None:
    assert PARSER.parse(lines(text))["progress"].is_empty()


@pytest.mark.parametrize(
    ("state", "enqueued", "completed"), [("started", 4, 3), ("in_progress", 4, 3), ("done", 4, 4), ("queued", 4, 3)]
)
def test_how_far_a_rank_came(state: str, enqueued: int, completed: int) -> None:
    [row] = PARSER.parse(lines(f"rank=3 group=tp seq=4 state={state}"))["progress"].rows(named=True)
    assert (row["rank"], row["group"], row["last_enqueued"], row["last_completed"]) == (3, "tp", enqueued, completed)
