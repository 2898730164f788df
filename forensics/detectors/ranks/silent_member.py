"""Whose watchdogs gave up, and who of their group did not say so?

Whoever times out waited, and is a victim. Members that printed nothing of it are unknown, never absent: they are suspects
where they are few; where the members of a group are not known, so are the few ranks of the job, or, where its size is not
told, the few that left a line: the highest rank seen is only the least size. One is named only where it alone of a group of
three and more gave up in nothing, all the others gave up in one and the same call, and something shows that it did not wait there: its
own watchdog saw the signal that somebody had given up; or its host shows it dead, or its kernel says that it was blocked; or its stack shows it in a place of the
host that is no wait for others; or its driver, or its own log, tells what held it up (facts/waits/held_by_itself.py), there in any words where all who say for whom they waited call it. Of a group whose members are not told these are the whole job, if its size is told; those of the default
group are all that left a record, too, if these are 0 … N-1; and only a kernel or a stack names whom all others wait for. Where several groups gave up, the same goes for the one rank of the job that did
not, if a signal has stopped its process or its kernel says that it is blocked: that is no wait, whoever waits for it. Whoever ended well before the first of them
gave up (several may) did not wait either, and nobody could wait for it but in vain. If every member waits in the same operation, link, adapter, switch and kernel
look alike.
"""

from typing import Any

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.ends.given_up_calls import called, told_of_call
from forensics.facts.rows.event_rows import detail, of_kinds, own_rank, refs, rows
from forensics.facts.waits.held_by_itself import clocked_wait, counted_attempts, counted_wait, device_errors
from forensics.facts.waits.held_processes import held_processes
from forensics.facts.waits.rank_stacks import codes, place_of, stack_ref
from forensics.facts.waits.stacks import classify, to_frames
from forensics.facts.waits.told_states import odd_state
from forensics.graph.hang.standings import free, standings
from forensics.graph.hang.waits import HOST_SITES
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Cause, Reason
from forensics.model.ref import Ref
from forensics.model.said import Form, Said, joined, sentence
from forensics.model.signals import signal_of
from forensics.model.texts import doing, group_text, ranges, ranks_text
from forensics.model.told import values
from forensics.words import silent_member as words
from parsers.knowledge import waits

_Row = dict[str, Any]
_MEMBERS = 16  # that are told one by one
_PLACES = 4  # calls that are told one by one
_FEW = 3  # at most one in three ranks may be silent


class _Group(msgspec.Struct, frozen=True):
    """A group in which somebody gave up. `members`: all of them; empty where not known."""

    label: str
    is_default: bool  # or of no name
    is_named: bool
    waits: pl.DataFrame
    members: frozenset[int]


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where neither records of operations nor counters tell more."""
    said = case.positions.filter(pl.col("source") == "watchdog")
    gave_up = said.filter(pl.col("state") == "timed_out")
    if case.has_open_operations or (not case.has_begun and case.out_of_reach.height):
        return ()
    if not gave_up.height:
        return _somebody(case)
    timed_out = frozenset(values(gave_up["rank"]))
    if free(standings(case.positions, "watchdog")) - timed_out:
        return ()  # somebody's own counter tells
    groups = _groups(said)
    absent = _absent(case, groups, timed_out) or _held_alone(case, groups, timed_out)
    return (absent if absent is not None else _victims(case, groups, timed_out),)


def _somebody(case: Case) -> tuple[Finding, ...]:
    """Lines of waits that tell neither a rank nor a call: who waited is not known, and whom for still less."""
    waits = of_kinds(case.events, "collective_timeout")
    if not waits.height or case.ends:
        return ()
    return (
        Finding(
            undecided=("membership_unknown",),
            claims=(Claim(words.SOMEBODY_WAITED, "for", refs(waits.iter_rows(named=True))),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="watchdog:?"),
            collect=(words.LOGS_OF_ALL,),
            summary=words.UNDECIDED(what=joined((words.SOMEBODY_WAITED, words.NOT_SAID_FOR_WHOM), "; ")),
        ),
    )


def _groups(said: pl.DataFrame) -> list[_Group]:
    groups = []
    for (name, label), told in said.partition_by(["group", "label"], as_dict=True).items():
        waits = told.filter(pl.col("state") == "timed_out")
        ranks = frozenset(values(told["rank"]))
        whole = len(ranks) == waits["size"][0]
        groups.append(
            _Group(str(label), name in ("default", None), name is not None, waits, ranks if whole else frozenset())
        )
    return groups


def _calls(waits: pl.DataFrame) -> int:
    """How many calls were given up, by number and kind. A line without a number, or with neither, is of the call that its rank tells
    elsewhere."""
    kinds = waits.filter(pl.col("kind").is_not_null() & pl.col("rank").is_not_null()).select("rank")
    says_nothing = pl.col("number").is_null() & pl.col("kind").is_null()
    waits = waits.filter(~(says_nothing & pl.col("rank").is_in(kinds["rank"].unique().implode())).fill_null(False))
    numbered = waits.filter(pl.col("number").is_not_null() & pl.col("rank").is_not_null()).select("rank")
    is_told = pl.col("number").is_null() & pl.col("rank").is_in(numbered["rank"].unique().implode())
    return waits.filter(~is_told.fill_null(False)).select("number", "kind").n_unique()


def _absent(case: Case, groups: list[_Group], timed_out: frozenset[int]) -> Finding | None:
    """Those that all who wait in a group of theirs wait for, and that are shown not to have waited there."""
    signals = {rank: row for row in rows(case.events, "dump_signal") if (rank := own_rank(row)) is not None}
    found: dict[frozenset[int], tuple[_Group, Form, tuple[Ref, ...], str | None]] = {}
    for group in groups:
        is_told = case.is_world_told or (group.is_named and _is_from_zero(case))
        is_job = not group.members and group.is_default and is_told
        members = case.job_told_of if is_job else group.members
        missing = members - timed_out
        if len(members) < 3 or not missing or _calls(group.waits.drop_nulls("rank")) != 1:
            continue
        if (row := _only_blocked(case, missing, values(group.waits["rank"]), members)) is not None:
            found.setdefault(frozenset({row["rank"]}), (group, words.ALONE_IS_BLOCKED, refs([row]), row["host"]))
            continue
        if is_job:
            here = values(group.waits["rank"])
            if len(missing) > 1 or here != members - missing:
                continue
        elif left := _ended_before(case, missing, group.waits):
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_LEFT, left, None))
            continue
        elif len(missing) > 1:
            continue
        elif (row := signals.get(min(missing))) is not None:
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT, refs([row]), None))
            continue
        if (held := held_processes(case.tables["stacks"], ()).get(min(missing))) is not None and held.how == "dead":
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_DEAD, held.refs, None))
        elif (row := _blocked(case, min(missing))) is not None:
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_BLOCKED, refs([row]), row["host"]))
        elif (row := _elsewhere(case, min(missing))) is not None:
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_ELSEWHERE, (stack_ref(row),), None))
        elif errors := device_errors(case.hardware, case.anomaly_window, min(missing)):
            found.setdefault(
                missing, (group, words.ALL_OTHERS_TIMED_OUT_DEVICE, refs(one.row for one in errors), errors[0].host)
            )
        elif own := (
            counted_wait(case.events, case.tables["files"], min(missing)) or counted_attempts(case.events, min(missing))
        ):
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_COUNTS, refs(own), None))
        elif members == case.job_told_of == {called(case.events, group.waits), *values(group.waits["rank"])} and (
            clocked := clocked_wait(case.tables, min(missing))
        ):
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_COUNTS, clocked, None))
        elif (state := odd_state(case.tables, min(missing), members - missing)) is not None:
            found.setdefault(missing, (group, words.ALL_OTHERS_TIMED_OUT_STATE, state.refs, None))
    if len(found) != 1:
        return None
    ((ranks, (group, form, shown, host)),) = found.items()
    wait = group.waits.sort(pl.col("kind").is_null(), maintain_order=True).row(0, named=True)
    call = wait["kind"] if wait["number"] is None else f"{wait['kind']} {wait['number']}"
    # By its stack, or its kernel's.
    is_seen = form in (words.ALL_OTHERS_TIMED_OUT_ELSEWHERE, words.ALL_OTHERS_TIMED_OUT_BLOCKED, words.ALONE_IS_BLOCKED)
    row = _elsewhere(case, min(ranks)) if is_seen else None
    site = row["site"] if row is not None and row["site"] in HOST_SITES else None
    tried = counted_attempts(case.events, min(ranks)) if form is words.ALL_OTHERS_TIMED_OUT_COUNTS else ()
    site = detail(tried[0]).get("site") if tried else site
    if form is words.ALL_OTHERS_TIMED_OUT_STATE:
        told = odd_state(case.tables, min(ranks), (group.members or case.job_told_of) - ranks)
        site = told.site if told is not None else None
    shows = doing(site, place_of(row)) if site is not None and row is not None else words.CALLING_A_SERVICE
    who = {"group": group_text(group.label), "call": call, "rank": ranks_text(ranks)}
    text = form(**who, site=shows) if form is words.ALL_OTHERS_TIMED_OUT_ELSEWHERE else form(**who)
    return Finding(
        cause=_cause(case, form, min(ranks)),
        ranks=tuple(sorted(ranks)),
        hosts=(short_host(host),) if host else (),
        site=site,
        code=codes(case.stacks, ranks).get(min(ranks)) if site is not None else None,
        claims=(Claim(text, "for", (*shown, *refs(group.waits.iter_rows(named=True)))),),
        first_anomaly=FirstAnomaly(
            rank=min(ranks), step=case.step_in_progress(min(ranks)), op=wait["kind"], group=group.label,
            group_ranks=ranges(group.members or case.job_told_of), seq=wait["number"],
            signature=f"watchdog:{wait['kind']}:{group.label}",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(timed_out), groups=[group.label]),
        collect=(words.WHOLE_LOG(who=ranks_text(ranks)),),
        summary=sentence(text),
    )  # fmt: skip


def _cause(case: Case, form: Form, rank: int) -> Cause:
    """What its witness says of the one that the others wait for."""
    if form in (words.ALL_OTHERS_TIMED_OUT_LEFT, words.ALL_OTHERS_TIMED_OUT_DEAD):
        return "rank_died"
    if form is not words.ALL_OTHERS_TIMED_OUT_DEVICE:
        return "rank_absent"
    errors = device_errors(case.hardware, case.anomaly_window, rank)
    return "gpu_fault" if any(one.is_device_error for one in errors) else "kernel_stuck"


def _is_from_zero(case: Case) -> bool:
    """Did all ranks up to the highest leave a record? All of these are members of the default group, whoever else is."""
    return case.seen == frozenset(range(len(case.seen)))


def _held_alone(case: Case, groups: list[_Group], timed_out: frozenset[int]) -> Finding | None:
    """The one rank of the whole job that gave up in nothing, and that its kernel shows stopped or blocked, or a list of processes gone."""
    job = case.job_told_of
    waited = timed_out | {rank for rank, end in case.ends.items() if end.waited}
    if len(job) < _FEW or len(job - waited) != 1 or not (case.is_world_told or job == frozenset(range(len(job)))):
        return None
    (rank,) = job - waited
    if (end := case.ends.get(rank)) is not None and end.how not in ("stopped", "failed"):
        return None
    who = ranks_text([rank])
    stands, row = _elsewhere(case, rank), _blocked(case, rank)
    stands = stands if stands is not None and stands["site"] == "unresponsive" else None
    gone = held_processes(case.tables["stacks"], ()).get(rank)
    gone = gone if gone is not None and gone.how == "dead" else None
    if stands is None and row is None and gone is None:
        return None
    host = row["host"] if stands is None and row is not None else None
    why = words.KERNEL_SAYS_BLOCKED(who=who) if stands is None else words.PROCESS_IS_STOPPED(who=who)
    shown = (stack_ref(stands),) if stands is not None else refs([row] if row is not None else [])
    if stands is None and row is None and gone is not None:
        why, shown = words.PROCESS_IS_GONE(who=who), gone.refs
    text = joined((words.ALL_OTHERS_OF_THE_JOB(rank=who), why), "; ")
    waits = [row for group in groups for row in group.waits.iter_rows(named=True)]
    wait = waits[0] if len(groups) == 1 else None
    return Finding(
        cause="rank_absent" if stands is not None or row is not None else "rank_died",
        ranks=(rank,),
        hosts=(short_host(host),) if host else (),
        site=stands["site"] if stands is not None else None,
        claims=(Claim(text, "for", (*shown, *refs(waits))),),
        first_anomaly=FirstAnomaly(
            rank=rank, step=case.step_in_progress(rank), op=wait["kind"] if wait else None,
            group=groups[0].label if wait else None, seq=wait["number"] if wait else None, signature="watchdog:held_alone",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(waited)),
        collect=(words.WHOLE_LOG(who=who),),
        summary=sentence(text),
    )  # fmt: skip


def _ended_before(case: Case, missing: frozenset[int], waits: pl.DataFrame) -> tuple[Ref, ...]:
    """Where it is said that all of these ended well, before the first time-out of this call; else nothing. A stamp decides, and
    without one the line in the same file."""
    ends = [case.ends.get(rank) for rank in sorted(missing)]
    told = case.events.filter(pl.col("kind") == "collective_timeout").select("file", "line", "time_ns", "time_basis")
    first = told.join(waits.select("file", "line").unique(), on=["file", "line"], how="semi")
    for end in ends:
        if end is None or end.how != "ended" or not end.refs:
            return ()
        stamps = first.filter(pl.col("time_basis") == end.time_basis)["time_ns"].drop_nulls()
        lines = first.filter(pl.col("file") == end.refs[0].file)["line"].drop_nulls()
        is_before = end.time_ns is not None and stamps.len() > 0 and end.time_ns < stamps.min()  # type: ignore[operator]
        is_above = end.time_ns is None and lines.len() > 0 and (end.refs[0].line or 0) < lines.min()  # type: ignore[operator]
        if not (is_before or is_above):
            return ()
    return tuple(end.refs[0] for end in ends if end is not None)


def _blocked(case: Case, rank: int) -> _Row | None:
    """What a kernel says of a blocked task that is this rank's process: by its own pid, or as the one process of the launcher there
    that is nobody else's, where the pids of all others are known."""
    pids = dict(case.identity.select("rank", "pid").drop_nulls().iter_rows())
    others = {(case.host_of_rank.get(other), pid) for other, pid in pids.items() if other != rank}
    is_rest = not (case.job_told_of - pids.keys() - {rank})
    stopped = case.events.filter((pl.col("kind") == "closing_signal") & pl.col("pid").is_not_null())
    launched = {(short_host(host), pid) for host, pid in stopped.select("host", "pid").drop_nulls().iter_rows()}
    own = case.host_of_rank.get(rank)
    for one in case.hardware:
        row = one.row
        if row["kind"] != "hung_task" or row["pid"] is None or not row["host"]:
            continue
        if not (one.counts or case.anomaly_window.is_during(row)):
            continue
        host = short_host(row["host"])
        if (host, row["pid"]) in others or (None, row["pid"]) in others:
            continue
        if row["rank"] == rank and row["rank_space"] == "global":
            return dict(row)
        if own not in (None, host):
            continue
        if (pids.get(rank) == row["pid"] and own is not None) or (
            rank not in pids and is_rest and (host, row["pid"]) in launched
        ):
            return dict(row)
    return None


def _only_blocked(case: Case, silent: frozenset[int], waited: set[int], members: frozenset[int]) -> _Row | None:
    """Of several that printed no time-out, for the job was stopped meanwhile, the one whose kernel complained of it again and again."""
    is_stopped = case.events["kind"].is_in(["closing_signal", "scheduler"]).any()
    if not is_stopped or waited != members - silent or not 1 < len(silent) < len(members) / 2:
        return None
    told = case.events.filter((pl.col("kind") == "hung_task") & (pl.col("rank_space") == "global"))
    again = told.group_by("rank").len().filter(pl.col("len") > 1)["rank"].to_list()
    return _blocked(case, again[0]) if len(again) == 1 and again[0] in silent else None


def _elsewhere(case: Case, rank: int) -> _Row | None:
    """The stack of a rank that shows it in a place of the host that is no wait for others, and was not seen to leave it."""
    if not case.stacks.height:
        return None
    own = case.stacks.filter((pl.col("rank") == rank) & (pl.col("source") != "traceback"))
    stands = [
        row
        for row in own.iter_rows(named=True)
        if (not row["moving"] or _stays(case, rank, row["site"]))
        and (not _lost_another(case) if _waits_for_service(row) else row["site"] in HOST_SITES)
    ]
    return stands[0] if own.height and len(stands) == own.height else None


def _stays(case: Case, rank: int, site: str) -> bool:
    """Does every look at a rank show it in that place, wherever in there? Who works on in it comes to nobody meanwhile."""
    is_look = (pl.col("source") != "traceback") & (pl.col("frames").list.len() > 0) & pl.col("parent_pid").is_null()
    looks = case.tables["stacks"].filter(is_look & pl.col("is_main") & (pl.col("rank") == rank))
    return looks.height > 1 and all(classify(to_frames(own)).site == site for own in looks["frames"].to_list())


def _lost_another(case: Case) -> bool:
    """Did a process end by a signal that is no rank's, before anybody gave up? Who calls a service may call that one, and no rank is at fault
    then."""
    gave_up = case.events.filter(pl.col("kind") == "collective_timeout")["time_ns"].min()
    is_before = True if gave_up is None else (pl.col("time_ns") < gave_up).fill_null(True)
    ended = case.events.filter((pl.col("kind") == "exit") & pl.col("rank").is_null() & pl.col("local_rank").is_null())
    return any(signal_of(code) is not None for code in ended.filter(is_before)["code"].drop_nulls().unique())


def _waits_for_service(row: _Row) -> bool:
    """Does a stack of no known place, or of a transfer, show a call of a service outside the job, and none that waits for ranks?"""
    kinds = {waits(frame.file, frame.function) for frame in to_frames(row["frames"])}
    return row["site"] in ("unknown", "storage_io") and "service" in kinds and "ranks" not in kinds


def _completed(case: Case, waits: pl.DataFrame) -> list[Claim]:
    """Groups of which whoever gave up says in the same line that it waits for none of their calls: it was in another."""
    is_idle = (pl.col("last_enqueued") == pl.col("last_completed")) & (pl.col("last_completed") > 0)
    idle = case.tables["progress"].filter(is_idle).drop_nulls("rank")
    told = idle.join(waits.select("file", "line", "text"), on=["file", "line"], maintain_order="left")
    return [
        Claim(
            words.COMPLETED_ALL(who=ranks_text([row["rank"]]), number=row["last_completed"], group=row["desc"] or row["group"]),
            "for", refs([row]),
        )
        for row in told.head(1).iter_rows(named=True)
        if row["desc"] or row["group"]
    ]  # fmt: skip


def _victims(case: Case, groups: list[_Group], timed_out: frozenset[int]) -> Finding:
    """Nobody can be named: everybody seen waits."""
    group = max(groups, key=lambda one: (one.waits.height, bool(one.members), one.label))
    waits, wait = group.waits, group.waits.row(0, named=True)
    launched, stuck = _launched(case, group), _stuck_watchdogs(case, timed_out)
    reason, suspects, why = _reading(group, timed_out, bool(launched), frozenset(stuck), case)
    who = ranks_text(timed_out) if timed_out else _members(case, waits)
    call = wait["kind"] or words.SOME_COLLECTIVE
    here = frozenset(values(waits["rank"])) or timed_out
    told = told_of_call(case.events, waits, is_whole=group.members == case.job_told_of and case.is_world_told)
    places = _places(group)
    claims = [Claim(text, "for", refs(own.iter_rows(named=True))) for text, own in places]
    claims = claims or [Claim(words.TIMED_OUT_IN(who=who, call=call), "for", refs(waits.iter_rows(named=True)))]
    claims += [*launched, *_completed(case, waits)]
    if stuck:
        claims.append(Claim(words.WATCHDOG_HELD(who=ranks_text(stuck)), "for", refs(stuck.values())))
    if told is not None:
        claims.append(told)
        is_all = reason == "membership_unknown" and not suspects
        why = joined(("" if is_all else why, told.text), "; ")
    there = ranks_text(here) if timed_out else who
    in_group = words.TIMED_OUT_IN_GROUP(who=there, call=call, group=group_text(group.label))
    if places:
        told_apart = joined([text for text, _ in places], "; ")
        in_group = words.AT_PLACES_OF_GROUP(group=group_text(group.label), what=told_apart)
    others = ranks_text(timed_out - here) if timed_out - here else None
    text = joined((in_group, words.TIMED_OUT_TOO(who=others)), "; ") if others else in_group
    return Finding(
        suspect_ranks=tuple(sorted(suspects)),
        undecided=(reason,),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(
            step=case.step_in_progress(), op=wait["kind"], group=group.label, seq=wait["number"],
            signature=f"watchdog:{wait['kind']}:{group.label}",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(timed_out), groups=[group.label]),
        collect=(words.ALL_DUMPS_AND_RAS,),
        summary=words.UNDECIDED(what=joined((text, why), "; ")),
    )  # fmt: skip


def _members(case: Case, waits: pl.DataFrame) -> Said:
    """Who gave up where no rank of the job is told: by the numbers that a group gives to its members. A rank may print a line for each call that
    it gave up, so lines are not counted as ranks where they tell numbers; the same number in two logs may be of two groups."""
    rows = of_kinds(case.events, "collective_timeout").filter(pl.col("rank_space") == "group")
    told, number = values(rows["rank"]), rows.select("file", "rank").n_unique()
    if not told or len(told) > _MEMBERS or number != len(told):
        return words.SOME_RANKS(number or waits.height)
    return words.AS_THE_GROUP_COUNTS(who=ranks_text(told))


def _places(group: _Group) -> list[tuple[Said, pl.DataFrame]]:
    """Who gave up at which call of the group, where that is told of each, and is not the same of all; the lowest number first."""
    told = group.waits.drop_nulls(["rank", "number"]).filter(pl.col("kind").is_not_null())
    calls = told.select("number", "kind").unique()
    each = told.select("rank", "number", "kind").unique()
    is_plain = each["rank"].n_unique() == each.height == group.waits["rank"].n_unique()
    if not group.is_named or not 1 < calls.height <= _PLACES or not is_plain or group.waits["rank"].null_count():
        return []
    return [
        (words.TIMED_OUT_AT(who=ranks_text(frozenset(own["rank"].to_list())), call=kind, number=number), own)
        for (number, kind), own in told.sort("number", "kind").group_by(["number", "kind"], maintain_order=True)
    ]


def _reading(
    group: _Group, timed_out: frozenset[int], launched: bool, stuck: frozenset[int], case: Case
) -> tuple[Reason, frozenset[int], Said]:
    """(why nobody is named, suspects, the same in words)."""
    silent = group.members - timed_out
    here = {*group.waits["rank"].unique().to_list()}
    if launched or (group.members and group.members <= here and _calls(group.waits) == 1):
        why = words.RAS_FINE if launched else words.SAME_OPERATION
        return "all_entered_no_counters", group.members, joined((why, words.LOOK_ALIKE), "; ")
    if silent and 2 * len(silent) <= len(group.members):
        return "culprit_among_missing", silent, words.NO_TIMEOUT_PRINTED(who=ranks_text(silent))
    if silent:
        return "culprit_among_missing", frozenset(), words.MOST_LEFT_NO_LINE
    if group.members:
        return "tied_explanations", frozenset(), words.OTHER_OPERATIONS
    if stuck and 2 * len(stuck) < len(timed_out):
        return "membership_unknown", stuck, words.WATCHDOG_STUCK_NO_LIST(who=ranks_text(stuck))
    rest = case.job_told_of - timed_out
    if rest and _FEW * len(rest) <= len(case.job_told_of) and len(timed_out) > 1:
        whole = words.OF_THE_JOB if case.is_world_told else words.OF_THOSE_HEARD
        return "membership_unknown", rest, words.REST_PRINTED_NONE(whole=whole, who=ranks_text(rest))
    return "membership_unknown", frozenset(), words.WAITED_ITSELF


def _stuck_watchdogs(case: Case, timed_out: frozenset[int]) -> dict[int, _Row]:
    """Ranks that timed out in nothing, and whose monitor says that their watchdog got stuck → where."""
    result: dict[int, _Row] = {}
    for row in rows(case.events, "heartbeat_lost"):
        rank = own_rank(row)
        if rank is not None and rank not in timed_out:
            result.setdefault(rank, row)
    return result


def _launched(case: Case, group: _Group) -> list[Claim]:
    """What RAS says of the job, where it was asked: healthy communicators speak against an absent rank."""
    status = rows(case.events, "ras_status")
    fine = bool(status) and all(row["code"] == "OK" for row in status)
    return [Claim(words.RAS_FINE, "for", refs(status))] if fine and group.is_default else []


DETECTOR = Detector("silent_member", ("events",), detect, "waiting")
