"""The coordination service of XLA, JAX and TensorFlow: tasks that stopped sending heartbeats, barriers that nobody passed.

    E external/xla/…/coordination_service.cc:1170] /job:jax_worker/replica:0/task:3 has been set to ERROR in coordination
        service: UNAVAILABLE: Task /job:jax_worker/replica:0/task:3 heartbeat timeout. This indicates that …
    … UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):
    /job:jax_worker/replica:0/task:3
    … DEADLINE_EXCEEDED: Barrier timed out. Id: warmup::0. … # of tasks that reached the barrier: 8/16.
    The first task at the barrier: /job:jax_worker/replica:0/task:13. Some timed out task names:
    /job:jax_worker/replica:0/task:6
    F pjrt/distributed/client.h:77] Terminating process because the JAX distributed service detected fatal errors. …
    UNAVAILABLE: DNS resolution failed for head-0:1234: C-ares status is not ARES_SUCCESS …      (gRPC, of who does not reach the service)
    … while calling /tensorflow.CoordinationService/RegisterTask:⏎ :{"created":"@…","description":"Deadline Exceeded",…      (it never came to the service)
    ABORTED: /job:jax_worker/replica:0/task:1 unexpectedly tried to connect with a different incarnation. It has …

A task is a process of the job, its number the process's (jax.process_index). Whose heartbeats are missing died, was busy, or
lost the network; who did not come to a barrier is late or gone. Kinds: `heartbeat_lost` and `missing_members` with names_ranks
= the tasks; `connect_failed`, code store, of who did not reach the service; `store_timeout` of whom it did not answer; `remote_error` of the process that ends itself because of another; `other` with code restarted.

Printed by: coordination_service.cc, coordination_service_agent.cc, pjrt/distributed/client.h.
Versions: JAX 0.4 to 0.8, TensorFlow 2.9 to 2.20.
Source: these files in openxla/xla and tensorflow/tensorflow.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.lines import Row, claimed, event
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, columns, matches
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_TASK = r"/job:[\w-]{1,60}/replica:\d{1,6}/task:"
_NAMED = regex(rf"{_TASK}(\d{{1,7}})\b")
_ALONE = regex(rf"\s*(?:{_TASK}\d{{1,7}}[,;]?\s*)+$")
_COMES = regex(r"\bCoordinationService/RegisterTask\b")
_TOO_LATE = regex(r"\bDEADLINE_EXCEEDED\b|\b[Dd]eadline [Ee]xceeded\b")


def _one(groups: Mapping[str, str]) -> dict[str, Any]:
    return {"names_ranks": [int(groups["task"])], "detail": {"task": None}}


RULES = (
    Rule(regex(rf"Task (?:{_TASK})?(?P<task>\d{{1,7}}) heartbeat timeout"), "heartbeat_lost", refine=_one),
    Rule(regex(r"tasks are unhealthy \(stopped sending heartbeats\)"), "heartbeat_lost"),
    Rule(
        regex(
            r"Barrier timed out\.(?: (?:Id|Barrier_id): (?P<barrier>\S{1,200}?)\.?(?=\s|$))?"
            r"(?:.{0,600}?# of tasks that reached the barrier: (?P<reached>\d{1,7})/(?P<expected>\d{1,7}))?"
        ),
        "missing_members", code="barrier",
    ),
    Rule(regex(r"# of tasks that reached the barrier: (?P<reached>\d{1,7})/(?P<expected>\d{1,7})"), "missing_members",
         code="barrier"),
    Rule(
        regex(r"Terminating process because the (?:JAX distributed|coordinat\w+) service detected fatal errors"), "remote_error",
        code="coordination_service",
    ),
    Rule(
        regex(rf"{_TASK}(?P<task>\d{{1,7}}) unexpectedly tried to connect with a different incarnation"),
        "other", code="restarted", refine=_one,
    ),
    Rule(regex(rf"{_TASK}(?P<task>\d{{1,7}}) has been set to ERROR in coordination service"), "remote_error", refine=_one,
         code="task_error"),
    Rule(regex(r"The first task at the barrier: .{0,200}?timed out task names"), None),
    # Whom gRPC cannot reach, by the name that it was given or the address that it tried.
    Rule(
        regex(
            r"(?:RegisterTask|[Cc]oordination|[Dd]istributed|GetKeyValue|\bERROR|UNAVAILABLE).{0,300}?(?:DNS resolution failed for |failed to connect to all addresses"
            r".{0,80}?(?:ipv4|ipv6):)(?P<target>[\w.\[\]-]{1,253}:\d{1,5})\b"
        ),
        "connect_failed", code="store", refine=lambda groups: {"detail": {"host": groups["target"], "target": None}},
    ),
    Rule(regex(r"Polled an error from coordination service|Use error polling to propagate the following error"), None),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events heartbeat_lost, missing_members, remote_error, other; tasks listed line by line join the event before."""
    rows: list[dict[str, Any]] = []
    known: list[tuple[str, int]] = []
    last: dict[str, Any] | None = None
    asked = ("", 0)  # where a call to the service that tells who has come is said to have failed
    named = ("", 0, "")  # the barrier of the line before: what counts its tasks stands on a line of its own
    for row in lines.iter_rows(named=True):
        text = row["text"] or ""
        is_below = last is not None and row["file"] == last["file"] and row["line"] - last["line"] < _LISTED
        if last is not None and is_below and _ALONE.match(text):
            last["names_ranks"] = sorted({*(last["names_ranks"] or ()), *map(int, _NAMED.findall(text))})
            last["names_rank_space"] = "global"
            known.append((row["file"], row["line"]))
            continue
        asked = (row["file"], row["line"]) if _COMES.search(text) else asked
        if _TOO_LATE.search(text) and asked[0] == row["file"] and row["line"] - asked[1] < _BELOW:
            rows.append(event(row, "store_timeout", code="coordination_service", severity="error"))
            asked = ("", 0)
            continue
        found = matches(text, RULES)
        near = named if named[0] == row["file"] and row["line"] - named[1] < _BELOW else None
        barrier = near[2] if near else None
        made = [one for rule, match in found if (one := _event(row, rule, match, barrier)) is not None]
        barriers = (said for _, match in found if (said := match.groupdict().get("barrier")))
        named = next(((row["file"], row["line"], said) for said in barriers), named)
        if not made and any(rule.kind is None and rule.pattern.search(text) for rule in RULES):
            known.append((row["file"], row["line"]))
        if any(one["kind"] == "heartbeat_lost" for one in made):  # the task's state is only another word for it
            made = [one for one in made if one.get("code") not in ("task_error", "coordination_service")]
        rows += made
        listing = (one for one in reversed(made) if one["kind"] in ("heartbeat_lost", "missing_members"))
        last = next(listing, None if made else last)
    return tables_of(events=rows, claimed=claimed(known))


def _event(row: Row, rule: Rule, match: re.Match[str], barrier: str | None) -> dict[str, Any] | None:
    if rule.kind is None:
        return None
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    if barrier and "reached" in groups:
        groups = {"barrier": barrier} | groups
    said = columns(rule, groups)
    if rule.kind == "heartbeat_lost" and "names_ranks" not in said:
        said["names_ranks"] = sorted(set(map(int, _NAMED.findall(row["text"][match.end() :])))) or None
    elif rule.kind == "missing_members":
        late = row["text"].partition("timed out task names")[2]
        said["names_ranks"] = sorted(set(map(int, _NAMED.findall(late)))) or None
    return event(row, rule.kind, **said)


_BELOW = 4  # lines
_LISTED = 64  # lines after the event that may list tasks
PARSER = LineParser(
    name="coordination",
    anchors=(
        b"heartbeat timeout", b"stopped sending heartbeats", b"Barrier timed out", b"that reached the barrier",
        b"service detected fatal errors", b"a different incarnation", b"in coordination service", b"from coordination service",
        b"Use error polling", b"DNS resolution failed for ", b"failed to connect to all addresses", b"first task at the barrier",
        b"CoordinationService/RegisterTask",
    ),
    parse=parse,
    after=_LISTED,
    follows=regex(rb"/task:\d+[,;]?\s*$|that reached the barrier|(?i:deadline exceeded)"),
)  # fmt: skip
