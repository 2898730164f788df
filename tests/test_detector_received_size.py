"""A message of another size than its call expects, and whose line it is."""

from forensics.detectors.ranks.received_size import DETECTOR
from tests.log_cases import case

LINE = {"kind": "size_mismatch", "text": "op.preamble.length <= op.nbytes"}


def abort(*ranks: int) -> list[dict[str, object]]:
    return [{"kind": "exit", "rank": rank, "code": "SIGABRT"} for rank in ranks]


def test_a_line_without_a_rank_is_of_the_only_one_that_aborted() -> None:
    assert [one.suspect_ranks for one in DETECTOR.detect(case([LINE, *abort(3)]))] == [(3,)]
    assert [one.suspect_ranks for one in DETECTOR.detect(case([LINE, *abort(2, 3)]))] == [()]
    assert [one.suspect_ranks for one in DETECTOR.detect(case([{**LINE, "rank": 1}, *abort(3)]))] == [(1,)]


def test_or_of_the_only_one_that_did_not_end_in_another_way() -> None:
    world = [{"rank": 0, "world_size": 4, "how": "start line"}]
    lost = [{"kind": "peer_closed", "rank": rank} for rank in (0, 1, 2)]
    assert [one.suspect_ranks for one in DETECTOR.detect(case([LINE, *lost], ranks=world))] == [(3,)]
    assert [one.suspect_ranks for one in DETECTOR.detect(case([LINE, *lost[:2]], ranks=world))] == [()]
    assert [one.suspect_ranks for one in DETECTOR.detect(case([LINE, *lost]))] == [()]
