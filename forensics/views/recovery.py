"""The chain from the failure of an attempt to the next run: failed, saved, checked, evicted, relaunched, rechecked, resumed.

To it belongs what came after the first failure of an attempt, and, of the next one, what came before its first step. The stages
stand in this order whatever the clocks of their printers say; one that no line tells of is left out. A chain that says no more
than that the job failed and began again is none: the attempts say that themselves.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.relaunches import Relaunch, relaunches
from forensics.facts.hosts.checks import hosts_of_nodes
from forensics.facts.rows.event_rows import Row, detail, reference, rows
from forensics.model.ledger import STAGES, ChainLink, Stage
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import first_of, iso
from forensics.words import views as words

_GONE = ("Evicted", "TaintManagerEviction", "Preempted", "node_failure")  # reasons of Kubernetes and of Slurm
_FAILURES = [kind for kind, row in EVENTS.items() if {"failure", "victim"} & {*row.roles}]
_NAMES = 8
_ALONE: frozenset[Stage] = frozenset(("failed", "resumed"))


class Recovery(NamedTuple):
    """Of one attempt: what came after its first failure, and what came before its first step."""

    after: tuple[ChainLink, ...] = ()
    before: tuple[ChainLink, ...] = ()


NOTHING = Recovery()


def recovery(case: Case) -> Recovery:
    """Case of one attempt → what it has of the chains at its two ends."""
    events, steps = case.tables["events"], case.tables["steps"].filter(pl.col("time_ns").is_not_null())
    is_bad = pl.col("kind").is_in(_FAILURES) & pl.col("severity").is_in(["error", "fatal"])
    earliest = case.events.select("kind", "severity", "time_ns").filter(is_bad)["time_ns"].min()
    bad = case.events.filter(is_bad & (pl.col("time_ns") == earliest)) if earliest is not None else case.events.clear()
    failed = next(bad.sort("file", "line").iter_rows(named=True), None)
    begun = next(steps.sort("time_ns", "file", "line").iter_rows(named=True), None)
    after = events if failed is None else events.filter(_of(failed) & (pl.col("time_ns") >= failed["time_ns"]))
    before = events.clear() if begun is None else events.filter(_of(begun) & (pl.col("time_ns") < begun["time_ns"]))
    own = [] if failed is None else [_told("failed", str(failed["text"]).splitlines()[0], [failed])]
    return Recovery((*own, *_links(after, _saved)), tuple(_links(before)))


def chain(failed: Recovery, begun: Recovery = NOTHING, resumed: str | None = None) -> list[ChainLink]:
    """Of an attempt and the next one → the chain between them, each stage once; empty where no line tells of a stage
    between the failure and the beginning."""
    last = [ChainLink(stage="resumed", text=resumed)] if resumed is not None else []
    is_again = any(link.stage in ("checked", "relaunched") for link in failed.after)
    again: Mapping[Stage, Stage] = {"checked": "rechecked"} if is_again else {}
    before = [replace(link, stage=again.get(link.stage, link.stage)) for link in begun.before]
    found = {link.stage: link for link in (*before, *failed.after, *last)}
    listed = [found[stage] for stage in STAGES if stage in found]
    return listed if len(listed) > 1 and {link.stage for link in listed} - _ALONE else []


def _of(row: Row) -> pl.Expr:
    return pl.col("time_basis").eq_missing(pl.lit(row["time_basis"]))


def _links(events: pl.DataFrame, *more: Callable[[pl.DataFrame], ChainLink | None]) -> Iterable[ChainLink]:
    if not events.height:
        return
    found = relaunches(events)
    since = min((one.time_ns for one in found if one.time_ns is not None), default=None)
    is_late = pl.lit(False) if since is None else (pl.col("time_ns") > since).fill_null(False)
    checks = _checked(events.filter(~is_late), "checked"), _checked(events.filter(is_late), "rechecked")
    yield from filter(None, (*(make(events) for make in more), _evicted(events, found), _relaunched(found), *checks))


def _told(stage: Stage, text: str, said: Iterable[Row]) -> ChainLink:
    first = next(iter(said))
    return _link(stage, text, reference(first), first["time_ns"])


def _link(stage: Stage, text: str, ref: Ref, time_ns: int | None) -> ChainLink:
    return ChainLink(stage=stage, text=text, time_utc=iso(time_ns) if time_ns is not None else None, ref=ref)


def _saved(events: pl.DataFrame) -> ChainLink | None:
    """The newest checkpoint that was written, or stored, after the failure."""
    told = [row for row in rows(events, *words.SAVED) if row["step"] is not None]
    done = [row for row in told if detail(row).get("phase") != "begin"]
    if not done:
        return None
    step = max(row["step"] for row in done)
    those = [row for row in done if row["step"] == step]
    how = joined(dict.fromkeys(words.SAVED[row["kind"]] for row in those), " and ")
    return _told("saved", words.STEP_SAVED(step=step, how=how), those)


def _checked(events: pl.DataFrame, stage: Stage) -> ChainLink | None:
    """Whose last result was bad; of a check in rounds the last one counts."""
    said, slow = rows(events, "node_check"), [row for row in rows(events, "straggler") if row["names_ranks"]]
    names = hosts_of_nodes(events)
    last: dict[str, bool] = {}
    for row in said:
        for who in _whom(row, names):
            last[who] = row["code"] == "failed"
    if not last:
        return None
    bad = [who for who, is_bad in last.items() if is_bad]
    lame = list(dict.fromkeys(who for row in slow for who in _whom(row, names)))
    result = words.FAILED(who=_some(bad)) if bad else words.PASSED(number=len(last))
    return _told(stage, joined((result, words.LAME(who=_some(lame)) if lame else ""), ", "), said)


def _whom(row: Row, names: Mapping[int, str]) -> list[str]:
    if row["names_rank_space"] == "node" and row["names_ranks"]:
        return [names.get(node, f"node {node}") for node in row["names_ranks"]]
    return [str(row["host"])] if row["host"] else []


def _evicted(events: pl.DataFrame, found: Sequence[Relaunch]) -> ChainLink | None:
    """Whom the scheduler took away, and whose place somebody else was given."""
    gone = [row for row in rows(events, "scheduler") if row["code"] in _GONE]
    replaced = [one for one in found if one.new is not None]
    names = [str(detail(row).get("object") or row["host"] or row["text"]) for row in gone]
    names += [one.old for one in replaced]
    if not names:
        return None
    if gone:
        return _told("evicted", _some(names), gone)
    return _link("evicted", _some(names), replaced[0].ref, replaced[0].time_ns)


def _relaunched(found: Sequence[Relaunch]) -> ChainLink | None:
    return _link("relaunched", _some([one.text for one in found]), found[0].ref, found[0].time_ns) if found else None


def _some(names: Iterable[str]) -> Said:
    return first_of(list(dict.fromkeys(names)), _NAMES)
