"""Gloo runs on hosts, and retires an entry when it ends, well or not."""

from tests.hang_tables import Rows, call


def gloo(seq: int, *, done: bool = False) -> dict[str, object]:
    """Gloo leaves the state at scheduled."""
    return call("world", seq, backend="gloo") | {"retired": done}


def job(*entries: dict[str, object], own: int = 1) -> Rows:
    """Four ranks that all have completed 10; `entries` are the newest of the others, rank `own` has none."""
    rows = Rows(4).placed()
    for rank in range(4):
        newest = () if rank == own else (entries[rank % len(entries)],)
        rows.dump(rank, gloo(10, done=True), *newest, counted=False)
    return rows


def closed(rows: Rows, *ranks: int) -> Rows:
    for rank in ranks:
        rows.event("peer_closed", rank=rank, text="Connection closed by peer [10.0.0.1]:4711")
    return rows


def test_who_raised_is_not_an_old_record_though_the_others_entries_were_retired() -> None:
    """Rank 1 raised before 11; the connections of the others broke in 11, which ended it for some."""
    rows = closed(job(gloo(11, done=True), gloo(11)), 0, 2, 3)
    own = '{"frames": [["read", "/srv/app/data.py", 41]]}'
    rows.event("exception", rank=1, code="KeyError", text="KeyError: 'eos'", detail=own)
    verdict = rows.verdict(hung=False)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [1])
    assert not any("older than what other records" in limit for limit in rows.report().limits)


def test_an_operation_that_all_called_and_one_did_not_finish_is_no_stopped_device() -> None:
    rows = Rows(4).placed()
    for rank in range(4):
        rows.dump(rank, gloo(10, done=True), gloo(11, done=rank != 2), counted=False)
    verdict = closed(rows, 2).verdict()
    assert (verdict.cause, verdict.ranks) == (None, [])


def test_without_a_broken_connection_the_record_that_is_behind_is_old() -> None:
    """It was taken earlier: nobody completes 11 without rank 1."""
    verdict = job(gloo(11, done=True)).verdict()
    assert verdict.ranks == []
    assert any("rank 1" in limit for limit in job(gloo(11, done=True)).report().limits)


def test_a_record_without_entries_and_counters_proves_no_absence() -> None:
    """The others completed 10 together with rank 1: its record does not hold what it called."""
    verdict = closed(empty_record(), 0).verdict()
    assert (verdict.ranks, 1 in verdict.suspects.ranks) == ([], True)


def empty_record() -> Rows:
    rows = Rows(4).placed().dump(1, counted=False)
    for rank in (0, 2, 3):
        rows.dump(rank, gloo(10, done=True), gloo(11), counted=False)
    return rows
