"""What stands in the drawings of the page: words that never stand on each other, short paths, who stands out where."""

import random
from itertools import combinations

import pytest

from forensics import analyze
from forensics.model.drawn import GraphEdge, GraphNode, GridCell, GridHost, Votes
from reports.html.drawings import graph, phases, ranks, stacks


@pytest.mark.parametrize("seed", range(20))
def test_no_two_words_at_arrows_overlap(seed: int) -> None:
    rng = random.Random(seed)
    names = [f"n{number}" for number in range(16)]
    nodes = [GraphNode(id=name, kind="ranks", label="", ranks="0-5,9", state="waiting", detail="") for name in names]
    pairs = sorted({(rng.choice(names), rng.choice(names[:3])) for _ in range(30)})
    edges = [GraphEdge(source=one, target=two, label="enqueued", certain=True) for one, two in pairs]
    drawn = graph.graph(nodes, edges)
    assert drawn is not None
    for one, two in combinations(drawn.arrows, 2):
        assert abs(one.x - two.x) >= 66 or abs(one.y - two.y) >= 11
    assert all(arrow.y <= drawn.height for arrow in drawn.arrows)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (
            "all_reduce (/venv/lib/python3.11/site-packages/torch/distributed.py:41)",
            "all_reduce (torch/distributed.py:41)",
        ),
        ("get (/usr/lib/python3.11/multiprocessing/queues.py:113)", "get (multiprocessing/queues.py:113)"),
        ("train (/home/a/pretrain/train.py:585)", "train (pretrain/train.py:585)"),
        ("train (train.py:585)", "train (train.py:585)"),
        ("ncclKernel (libnccl.so)", "ncclKernel (libnccl.so)"),
        ("no place", "no place"),
    ],
)
def test_paths_of_frames_are_short(frame: str, expected: str) -> None:
    assert stacks.short(frame) == expected


def _votes(rank: int, phase: str, votes: int, sort: str = "slower", peers: str = "0-7") -> Votes:
    excess = -40.0 if sort == "late" else 40.0
    return Votes(rank=rank, phase=phase, sort=sort, votes=votes, steps=20, excess_ms=excess, level_ms=10.0, peers=peers)  # type: ignore[arg-type]


def test_map_of_votes_has_a_row_per_phase_and_group_and_a_column_per_rank() -> None:
    drawn = phases.phases(
        [_votes(6, "forward", 20), _votes(6, "all_reduce", 18, "late"), _votes(12, "forward", 10, peers="8-15")]
    )
    assert drawn is not None
    assert [(line.first, line.second) for line in drawn.lines] == [
        ("forward", "takes longer, among ranks 0-7"),
        ("all_reduce", "waits least, among ranks 0-7"),
        ("forward", "takes longer, among ranks 8-15"),
    ]
    assert [name for _, name in drawn.columns] == ["6", "12"]
    assert [(bar.rank, bar.height) for bar in drawn.bars] == [(6, drawn.full), (6, 22), (12, drawn.full // 2)]
    assert (
        drawn.bars[1].title
        == "rank 6, all_reduce: waits least: the others wait for it, in 18 of 20 steps, 40 ms below its peers"
    )


def test_a_single_vote_needs_no_map() -> None:
    assert phases.phases([_votes(6, "forward", 20)]) is None


def test_many_votes_say_what_is_left_out() -> None:
    drawn = phases.phases([_votes(rank, "forward", 20) for rank in range(60)])
    assert drawn is not None and drawn.cut_off == 20 and len(drawn.columns) == 40


def test_a_vote_says_among_whom() -> None:
    views = analyze("samples/slow_rank/bundle").incidents[0].views
    assert [(one.rank, one.phase, one.peers) for one in views.votes] == [(6, "data_time", "0-7")]


def test_a_lost_rank_stands_on_its_host_and_one_without_a_host_beside_them() -> None:
    cells = [GridCell(state="ok", ranks="0-2,4-7"), GridCell(state="no_data", ranks="3,9")]
    hosts = [GridHost(host="node0", ranks="0-3"), GridHost(host="node1", ranks="4-7")]
    drawn = ranks.by_host(cells, hosts)
    assert drawn is not None
    assert [label.text for label in drawn.labels] == ["node0", "node1", "place unknown"]
    assert [(run.first, run.length) for run in drawn.runs] == [(0, 4), (4, 4), (9, 1)]
    assert {mark.state: mark.total for mark in drawn.marks} == {"ok": 7, "no_data": 2}
