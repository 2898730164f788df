"""Whose number is it: global, a place in a group, or stale."""

from typing import Any

import polars as pl
import pytest

from forensics.assemble.who.identity import globalise, identify
from forensics.model.hosts import short_host, short_hosts
from parsers.schema.tables import TABLE_NAMES, TableName, table

GROUP = {"group": "7", "members": [8, 24, 40], "members_space": "global", "size": 3, "file": "fr", "record": 0}


def _events(*events: dict[str, Any], **rows: list[dict[str, Any]]) -> list[tuple[int | None, str | None]]:
    place = {"kind": "collective_timeout", "file": "a.log", "line": 1, "time_ns": 1}
    given = {**rows, "events": [place | event for event in events]}
    tables: dict[TableName, pl.DataFrame] = {
        name: table(name, [({} if name == "files" else {"file": "x", "line": 1}) | row for row in given.get(name, [])])
        for name in TABLE_NAMES
    }
    whole = globalise(tables, identify(tables))
    return whole["events"].select("rank", "rank_space").rows()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param({"rank": 1, "rank_space": "group", "group": "7"}, (24, "global"), id="place in a known group"),
        pytest.param({"rank": 3, "rank_space": "group", "group": "7"}, (3, "group"), id="no such place"),
        pytest.param({"rank": 1, "rank_space": "group", "group": "9"}, (1, "group"), id="unknown group"),
        pytest.param({"rank": 1, "rank_space": "group"}, (1, "group"), id="no group named"),
        pytest.param({"rank": 1, "rank_space": "global", "group": "7"}, (1, "global"), id="already global"),
        pytest.param({"rank": 1, "rank_space": "node", "group": "7"}, (1, "node"), id="of a node"),
    ],
)
def test_a_place_in_a_group(event: dict[str, Any], expected: tuple[int, str]) -> None:
    assert _events(event, groups=[GROUP]) == [expected]


def test_a_name_that_two_groups_have_maps_nothing() -> None:
    other = GROUP | {"members": [9, 25, 41], "file": "fr2"}
    assert _events({"rank": 1, "rank_space": "group", "group": "7"}, groups=[GROUP, other]) == [(1, "group")]


def test_the_same_group_told_by_each_member_is_one() -> None:
    listed = [GROUP | {"rank": rank, "file": f"fr{rank}"} for rank in (8, 24, 40)]
    assert _events({"rank": 2, "rank_space": "group", "group": "7"}, groups=listed) == [(40, "global")]


FILE = {"file": "a.log", "bytes": 1, "rank": None, "local_rank": 5}


def test_a_stale_number_is_outvoted_by_the_initialisation() -> None:
    claims = [{"rank": 13, "host": "n1", "pid": 40, "file": "a.log", "how": "NCCL init"}]
    stale = {"rank": 2, "rank_space": "global", "text": "[Rank 2] Watchdog caught collective operation timeout"}
    other = {"rank": 2, "rank_space": "global", "text": "[Rank 2] aborted", "file": "b.log"}
    assert _events(stale, other, files=[FILE], ranks=claims) == [(13, "global"), (2, "global")]


def test_a_name_that_every_host_has_for_itself_yields_to_another() -> None:
    told = [{"rank": 2, "host": host} for host in ("vm", "localhost", "localhost")]
    rows = [row | {"file": "a.log", "line": 1, "how": "said"} for row in told]
    assert identify({"ranks": table("ranks", rows)})["host"].to_list() == ["vm"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [("n1", 13), ("n2", None), ("alias", 13), (None, 13)],
    ids=["its host", "a host that has told its own processes", "a host by a name that nobody uses", "no host"],
)
def test_a_number_of_a_process_on_another_host_is_another_process(host: str | None, expected: int | None) -> None:
    claims = [{"rank": 13, "host": "n1", "pid": 40}, {"rank": 21, "host": "n2", "pid": 41}]
    assert _events({"host": host, "pid": 40}, ranks=claims) == [(expected, None if expected is None else "global")]


def test_a_kernel_of_a_host_that_nobody_knows_speaks_of_another_process() -> None:
    claims = [{"rank": 13, "host": "n1", "pid": 40}]
    killed = {"kind": "host_oom", "pid": 40}
    assert _events(killed | {"host": "n1"}, killed | {"host": "cold-07"}, ranks=claims) == [
        (13, "global"),
        (None, None),
    ]


def test_a_printed_number_counts_where_nothing_else_speaks() -> None:
    printed = {"rank": 2, "rank_space": "global", "text": "[Rank 2] Watchdog caught collective operation timeout"}
    silent = {"kind": "exception", "line": 2}
    assert _events(printed, silent, files=[FILE]) == [(2, "global"), (2, "global")]


def test_a_process_that_most_claims_give_one_rank() -> None:
    claims = [{"rank": rank, "host": "n1", "pid": 40, "line": line} for line, rank in enumerate((13, 13, 2))]
    events = [{"host": "n1.cluster", "pid": 40}, {"host": "n2", "pid": 41}]
    assert _events(*events, ranks=claims) == [(13, "global"), (None, None)]
    tied = [{"rank": rank, "host": "n1", "pid": 40, "line": line} for line, rank in enumerate((13, 2))]
    assert _events(events[0], ranks=tied) == [(None, None)]


def test_on_a_single_host_that_runs_the_whole_world_local_numbers_are_ranks() -> None:
    """As launchers count; with a rank that nobody placed there, the other part may be elsewhere."""
    claims = [
        {"rank": rank, "host": "n1", "pid": 40 + rank, "world_size": 3, "how": "process line"} for rank in range(3)
    ]
    local = {"kind": "exit", "code": "SIGKILL", "local_rank": 2, "file": "launcher.log"}
    assert _events(local, ranks=claims) == [(2, "global")]
    assert _events(local, ranks=claims[1:]) == [(None, None)]
    assert _events(local, ranks=[{**claim, "world_size": 6} for claim in claims]) == [(None, None)]


@pytest.mark.parametrize(
    ("other", "expected"),
    [("run/attempt_0/5/stdout.log", (13, "global")), ("run/attempt_0/6/stdout.log", (2, "group")), ("run/attempt_0/5/notes.log", (2, "group"))],
    ids=["both streams of one process", "of another process", "another file beside it"],
)  # fmt: skip
def test_both_streams_of_a_process_say_whose_they_are(other: str, expected: tuple[int, str]) -> None:
    """PyTorch up to 2.1 prints a rank within a group on standard error, and the trainer its own on standard output."""
    mine = "run/attempt_0/5/stderr.log"
    files = [{**FILE, "file": mine}, {**FILE, "file": other}]
    event = {
        "rank": 2,
        "rank_space": "group",
        "text": "[Rank 2] Watchdog caught collective operation timeout",
        "file": mine,
    }
    assert _events(event, files=files, steps=[{"rank": 13, "step": 1, "file": other}]) == [expected]


@pytest.mark.parametrize(
    ("files", "rank"),
    [([0, 3], 3), ([0, 1], None), ([], None)],
    ids=["the last of as many as the world has", "another host may have the others", "nobody counts itself"],
)
def test_a_local_rank_of_a_world_on_one_host(files: list[int], rank: int | None) -> None:
    logs = [{"file": f"workerlog.{n}", "local_rank": n, "bytes": 1} for n in files]
    found = _events({"local_rank": 3}, files=logs, ranks=[{"world_size": 4, "how": "Paddle"}])
    assert found == [(rank, "global" if rank is not None else None)]


PLACED = [{"rank": rank, "host": f"n{rank // 4}", "local_rank": rank % 4, "how": "init"} for rank in range(8)]


@pytest.mark.parametrize(
    ("event", "claims", "rank"),
    [
        ({"host": "n1", "local_rank": 1}, PLACED, 5),
        ({"host": "n1.cluster", "local_rank": 1}, PLACED, 5),
        ({"host": "n2", "local_rank": 1}, PLACED, None),
        ({"local_rank": 1}, PLACED, None),
        ({"host": "n1", "local_rank": 1}, [*PLACED, {"rank": 2, "host": "n1", "local_rank": 1, "how": "init"}], None),
    ],
    ids=["its place", "with its domain", "a host that nobody claims", "on which host", "two worlds share the host"],
)
def test_a_local_rank_of_one_of_several_hosts(
    event: dict[str, Any], claims: list[dict[str, Any]], rank: int | None
) -> None:
    assert _events({"kind": "exception", **event}, ranks=claims)[0][0] == rank


def test_a_column_of_hosts_has_the_first_labels_that_one_host_has() -> None:
    hosts = [
        "node1.cluster.local",
        "node1",
        "10.0.0.7",
        "fe80::1%eth0",
        "fe80::a.b",
        "7",
        "...",
        "",
        ".x",
        "a\nb.c",
        "٣.٤",
    ]
    short = pl.DataFrame({"host": [*hosts, None]}).select(short_hosts())["host"].to_list()
    assert short == [*map(short_host, hosts), None]
    assert short[:3] == ["node1", "node1", "10.0.0.7"]
