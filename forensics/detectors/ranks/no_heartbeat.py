"""Who stopped sending heartbeats to a collector while most went on?

A member is silent where its last beat is many intervals older than the newest of all. It died, hangs, or lost the way to the
collector: a suspect of a wait, never named. Where others completed later steps than its last one, the job went on with it, and
only its beats are missing. Who beat for as long as the newest did not fall silent: its clock, or its beginning, is another.
"""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import Row, detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.middle import median
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import ranks as words

_INTERVALS, _LEAST_S = 5.0, 60.0
_MANY = 0.5  # of the members: then the collector, or the end of the job
_ENDED = ("finished", "completed", "ended", "exited", "succeeded", "stopped", "done")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all silent members."""
    told = (row for row in rows(case.events, "other") if row["code"] == "heartbeat")
    beats = _last(row for row in told if row["time_ns"] is not None)
    silent = _silent(beats)
    if not silent or case.has_open_operations or any(end.how == "ended" for end in case.ends.values()):
        return ()
    ranks = tuple(sorted({int(row["rank"]) for row in silent if row["rank"] is not None}))
    hosts = tuple(sorted({str(row["host"]) for row in silent if row["host"] is not None}))
    who = joined((ranks_text(ranks) if ranks else "", *hosts), ", ")
    longest = max(row["time_ns"] for row in beats) - min(row["time_ns"] for row in silent)
    text = words.BEAT_IS_OLD(who=who, seconds=longest / 1e9, members=len(beats))
    return (
        Finding(
            suspect_ranks=ranks,
            suspect_hosts=() if ranks else hosts,
            undecided=("tied_explanations",),
            claims=(Claim(text, "for", refs(silent)),),
            first_anomaly=FirstAnomaly(
                host=hosts[0] if len(hosts) == 1 else None, step=case.step_in_progress(),
                signature="no_heartbeat",
            ),
            blast_radius=BlastRadius(ranks_waiting=len(beats) - len(silent)),
            collect=(words.LOG_STACK_KERNEL(who=who),),
            summary=words.UNDECIDED(what=words.DEAD_HELD_CUT_OFF(text=text, what=words.THE_COLLECTOR)),
        ),
    )  # fmt: skip


def _last(beats: Iterable[Row]) -> list[Row]:
    """The last beat of each member, with `spent`, the seconds since its first one; `value` is the time between two of its beats at the mean
    where their parser tells none."""
    members: dict[tuple[Any, ...], list[Row]] = {}
    for row in beats:
        members.setdefault((row["rank"], row["host"]), []).append(row)
    found: list[Row] = []
    for own in members.values():
        times = [row["time_ns"] for row in own]
        spent = (max(times) - min(times)) / 1e9
        last = max(own, key=itemgetter("time_ns"))
        every = last["value"] if last["value"] is not None or not spent else spent / (len(own) - 1)
        spent = spent or (every or 0.0) * (detail(last).get("beats", 1) - 1)
        found.append({**last, "value": every, "spent": spent})
    return found


def _silent(beats: Sequence[Row]) -> list[Row]:
    """Last beats that are far older than the newest, if they are few and nothing shows that their senders went on."""
    if len(beats) < 3:
        return []
    newest = max(row["time_ns"] for row in beats)
    longest = max(row["spent"] for row in beats if row["time_ns"] == newest)
    every = [row["value"] for row in beats if row["value"]]
    usual = median(every) if every else 0.0
    limit = max(_INTERVALS * usual, _LEAST_S) * 1e9
    late = [row for row in beats if newest - row["time_ns"] > limit and not _has_ended(row)]
    late = [row for row in late if not row["spent"] or (longest - row["spent"]) * 1e9 > limit]
    steps = [row["step"] for row in beats if row not in late and row["step"] is not None]
    went_on = bool(steps) and all(row["step"] is not None and row["step"] + 1 < max(steps) for row in late)
    return late if len(late) <= _MANY * len(beats) and not went_on else []


def _has_ended(row: Row) -> bool:
    more = detail(row)
    return str(more.get("state") or more.get("status") or "").lower() in _ENDED


DETECTOR = Detector("no_heartbeat", ("events",), detect, "waiting")
