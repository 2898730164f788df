"""A file that is named after a rank is a record of that rank, also where no word in it is understood (contract, rule 24)."""

from pathlib import Path

import pytest

from forensics.analyze import analyze
from forensics.report import Report

WORDS = "zorb begun\nfrobnicated shard 1\nfrobnicated shard 2\n"
NAMES = ["rank_{}.log", "rank{}.out", "logs/rank_{}/main.txt", "job-rank-{}.txt", "flight/trace_{}"]


def timed_out(rank: int) -> str:
    return (
        f"[rank{rank}]:[E1123 05:40:00.000000000 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=57, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600042 "
        "milliseconds before timing out.\n"
    )


def reported(folder: Path, files: dict[str, str], expected: int | None = None) -> Report:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return analyze(folder, expected_ranks=expected)


def job(silent: str, text: str = WORDS, world: int = 4) -> dict[str, str]:
    """All ranks but number 2 gave up; of rank 2 there is this file."""
    waited = {f"job/rank_{rank}.log": WORDS + timed_out(rank) for rank in range(world) if rank != 2}
    return {**waited, silent: text}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [WORDS, "\u4f60\u597d\n", "\x00\x01\x02"], ids=["words", "another script", "bytes"])
def test_a_file_of_unknown_words_is_a_record_of_its_rank(tmp_path: Path, name: str, text: str) -> None:
    report = reported(tmp_path, job(name.format(2), text))
    assert report.coverage.ranks_seen == ["0-3"]
    verdict = report.incidents[report.primary].verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [2])


@pytest.mark.parametrize(
    ("files", "seen"),
    [
        (job("rank_2.log", ""), ["0-1", "3"]),
        (job("rank_17.log"), ["0-1", "3"]),
        (job("rank_2.log", WORDS + timed_out(1)), ["0-1", "3"]),
        (job("node_rank_2.log"), ["0-1", "3"]),
    ],
    ids=["empty", "beyond the told world", "the lines of another rank", "the number of a node"],
)
def test_what_is_no_record_of_that_rank(tmp_path: Path, files: dict[str, str], seen: list[str]) -> None:
    assert reported(tmp_path, files, expected=4).coverage.ranks_seen == seen


def test_unknown_words_do_not_show_that_a_rank_came_to_the_start(tmp_path: Path) -> None:
    """Who did not join is looked for among those that left no word that is understood."""
    begun = (
        "n0:40{rank}:41 [{rank}] NCCL INFO comm 0x5 rank {rank} nranks 4 cudaDev {rank} busId {rank}b000 - Init START\n"
    )
    files = {f"rank_{rank}.log": begun.format(rank=rank) for rank in (0, 1, 3)}
    files["rank_0.log"] += (
        "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 3/4 clients joined.\n"
    )
    for more in ({}, {"rank_2.log": WORDS}):
        verdict = reported(tmp_path, files | more, expected=4).incidents[0].verdict
        assert verdict.ranks == [] and 2 in verdict.suspects.ranks
