"""Did the run fail to come together?

A connection that was refused or never made, a store or a rendezvous that counted too few members or did not answer, all
before anything was communicated. An address is named as printed, or as the host that listens on it; a rank is named whom the service
names that counted all others, and of which nothing else is heard, or whose own log goes another way than those of all others; one that merely was not counted is a suspect where the size of the job is known. Of a store, whoever alone did not reach it is named, and
nobody where none did: that a store does not answer says nothing of its host.
"""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import polars as pl

from forensics.assemble.starts.apart import is_apart, own_logs
from forensics.assemble.starts.called_absent import STORE_BARRIER, eliminated, joined_store
from forensics.assemble.starts.left_out import COUNTED
from forensics.assemble.starts.roll_calls import ROLL_CALL, ROLL_COUNT
from forensics.assemble.starts.unreached import OTHERS
from forensics.case import Case, Detector
from forensics.facts.rows.error_words import names_bridge, tells_setting
from forensics.facts.rows.event_rows import (
    detail,
    host_of,
    is_later_barrier,
    is_missing,
    is_whole_barrier,
    of_kinds,
    own_rank,
    refs,
    rows,
)
from forensics.facts.settings.given_sizes import given_another_size
from forensics.facts.waits.busy_bars import busy_bar
from forensics.facts.waits.store_clients import Address, OddClients, odd_clients
from forensics.graph.hang.blame import UNKNOWN_HOST, blames, find_root
from forensics.model.commands import HERE, events_of_pod, nodes, reach, way
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.names import Cause
from forensics.model.said import joined, sentence
from forensics.model.texts import cut_middle, ranks_text
from forensics.model.told import values
from forensics.words import launch as words
from parsers.text.connections import Unmade, is_within_a_host, why_unmade
from parsers.text.stamps import SECOND_NS

_QUOTED = 160
_SHOWN = 3  # of those that were put nowhere
_TOLD = ("rank", "rank_space", "host", "names_hosts", "code", "text")
_ODD: Mapping[Address, Cause] = {"another": "config_drift", "the same": "network_fault", "unknown": "store_timeout"}
_APART_NS = 15 * SECOND_NS  # by which the clocks of hosts may differ
_DEAD_AFTER = 2  # suspects are listed where at most one in so many is missing


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the strongest of refused connections, missing members and silent stores."""
    if any(end.how == "died" for end in case.ends.values()):
        return ()
    begun = case.has_begun
    is_placed = case.out_of_reach.height > 0  # then where reports meet tells nothing: wrong_interface.py
    # A library that refuses what it was given breaks its connections by that.
    is_refused = any(tells_setting(f"{row['code']} {row['text']}") for row in rows(case.events, "config_error"))
    if not begun and not is_placed and not is_refused and (refused := _refused(case)).height:
        odd = odd_clients(case.events, case.identity, case.tables["files"])
        return (_connection(case, refused) if odd is None else _odd(case, odd),)
    has_steps = case.tables["steps"].height > 0
    later = any(is_later_barrier(row, has_steps) for row in rows(case.events, "missing_members"))
    told = [row for row in rows(case.events, "missing_members") if not is_missing(row) and not later]
    # Who cannot be reached after some steps, by whoever collects or restarts, was not missing at the start.
    if missing := [row for row in told if not (has_steps and row["code"] == "unreachable")]:
        return (_members(case, missing, begun),)
    if silent := [row for row in rows(case.events, "store_timeout") if row["severity"] != "info"]:
        return (_store(case, silent, begun),)
    return ()


def _refused(case: Case) -> pl.DataFrame:
    said = (pl.col("names_hosts").list.len() > 0) | (pl.col("code") != "")
    return of_kinds(case.events, "connect_failed").filter(said & pl.col("severity").ne_missing("info"))


def _connection(case: Case, lines: pl.DataFrame) -> Finding:
    reports = blames(case.tables, case.identity, case.job_hosts, lines)
    refused = list(lines.unique(_TOLD, keep="first", maintain_order=True).iter_rows(named=True))
    told = sorted({blame.named for blame in reports} - {UNKNOWN_HOST})
    local = {name for row in refused for name in row["names_hosts"] or () if is_within_a_host(name)}
    names = told or sorted(local)
    store = all(row["code"] == "store" for row in refused)
    wrong = sorted(local) if not store else []
    wrong += [row["text"] for row in refused if names_bridge(row["text"] or "")]
    root = find_root(reports)
    hosts = root.hosts if root and root.where == "host" else tuple(told) if len(told) == 1 else ()
    hosts = tuple(host for host in hosts if host != UNKNOWN_HOST and not store)
    cause: Cause = "wrong_interface" if wrong else "store_timeout" if store else "network_fault"
    others = tuple(sorted({rank for row in refused for rank in detail(row).get(OTHERS) or ()}))
    reporters = sorted({host for row in refused if (host := host_of(case.identity, row))})
    who, peers = joined(reporters, ", ") or words.A_PROCESS, joined(names, ", ")
    text = words.COULD_NOT_CONNECT(who=who, peers=peers or words.ITS_PEERS)
    unreachable = words.UNREACHABLE[len(names) > 1]
    chosen = words.WRONG_INTERFACE(unreachable=unreachable) if wrong else ""
    is_set = bool(wrong) or store
    # Whoever refuses has answered: its host and the way to it are well, and its process is gone, or listens elsewhere.
    raised = [] if is_set else _raised_of(case, names)
    why = None if is_set else _why(*refused, *raised)
    is_answered = why == "refused"
    shown = [*lines.iter_rows(named=True), *(raised if is_answered else ())]
    reason = unreachable if wrong else words.UNMADE[why] if why is not None else words.NO_CONNECTION
    of_reporters = words.INTERFACE_OF(host=joined(reporters, ", ")) if reporters else words.THE_JOB
    return Finding(
        cause=cause,
        hosts=hosts,
        suspect_hosts=() if hosts or store else tuple(told),
        suspect_ranks=others,
        undecided=("tied_explanations",) if others or is_answered else (),
        domain="infrastructure",
        claims=(Claim(text, "for", refs(sorted(shown, key=lambda row: _why(row) != why))),),
        first_anomaly=FirstAnomaly(host=hosts[0] if len(hosts) == 1 else None, signature=f"connect:{why or cause}"),
        actions=(
            Action(
                kind="check_config" if is_set or is_answered else "inspect_network",
                target=words.STORE_ADDRESS if store else of_reporters if wrong else _from(reporters, peers, why),
                command=None if why in (None, "refused") else _way(why, reporters, names, shown),
                reason=reason,
            ),
        ),
        collect=(words.STORE_RECORDS,) if store else (words.LOGS_OF_HOSTS(hosts=joined(told, ", ")),) if told else (),
        summary=words.NEVER_STARTED(what=joined((text, chosen), "; ")),
    )


def _raised_of(case: Case, names: Sequence[str]) -> list[dict[str, Any]]:
    """What was raised of these addresses: whose words tell the reason where those of the library do not."""
    return [row for row in rows(case.events, "exception") if any(name in (row["text"] or "") for name in names)]


def _why(*told: Mapping[str, Any]) -> Unmade | None:
    """Who refuses has answered, whatever else is said of the way."""
    found = {why_unmade(f"{row['code']} {row['text']}") for row in told} - {None}
    return next((why for why in get_args(Unmade) if why in found), None)


def _from(reporters: Sequence[str], peers: str, why: Unmade | None) -> str:
    """What is to be looked at: the other end, or the way there as the host sees it that could not go it."""
    if why in (None, "refused"):
        return peers or words.THE_JOB
    who = reporters[0] if reporters else words.HOST_THAT_SAYS_SO
    return words.WAY_FROM_TO(who=who, peers=peers) if peers else words.WAY_FROM(who=who)


def _way(
    why: Unmade | None, reporters: Sequence[str], names: Sequence[str], shown: Sequence[Mapping[str, Any]]
) -> str | None:
    is_of_adapter = any("ibv_" in f"{row['code']} {row['text']} {row['op']}" for row in shown)
    return way(
        reporters[0] if reporters else HERE, names[0] if len(names) == 1 else None, why == "timed_out", is_of_adapter
    )


def _odd(case: Case, odd: OddClients) -> Finding:
    """Who alone did not come to a store that others reached: by another address, or by a way of its own that is broken."""
    who = ranks_text(odd.ranks) if odd.ranks else joined(odd.hosts or odd.files, ", ")
    tried = words.LOOKED_AT if odd.is_printed else words.COULD_NOT_CONNECT
    others = words.OTHERS_LOOKED_AT if odd.is_printed else words.OTHERS_CAME
    text = tried(who=who, peers=odd.target)
    came = others(number=odd.others, store=odd.reached or words.THE_STORE)
    is_network = odd.address == "the same"
    host = odd.hosts[0] if len(odd.hosts) == 1 else None
    return Finding(
        cause=_ODD[odd.address],
        ranks=odd.ranks,
        hosts=() if odd.ranks else odd.hosts,
        domain="infrastructure",
        claims=(Claim(joined((text, came), "; "), "for", odd.refs),),
        first_anomaly=FirstAnomaly(
            rank=odd.ranks[0] if len(odd.ranks) == 1 else None, host=host, signature="connect:odd"
        ),
        actions=(
            Action(
                kind="inspect_network" if is_network else "check_config",
                target=who if is_network else words.STORE_ADDRESS_OF(who=who),
                command=reach(host, odd.target, case.around),
                reason=came,
                look="" if is_network else words.LOOK_AT_REACH,
                then="" if is_network else words.THEN_OF_REACH,
                source="" if is_network else "getent(1); nc(1)",
            ),
        ),
        summary=words.NEVER_STARTED(what=joined((text, came), "; ")),
    )


def _unseen(case: Case) -> tuple[int, ...]:
    """Ranks that left nothing, where the size of the job is told and they are few enough to be worth a list."""
    if not case.is_world_told:
        return ()
    gone = case.expected - (case.seen - case.unread)
    return tuple(sorted(gone)) if gone and _DEAD_AFTER * len(gone) <= len(case.expected) else ()


def _of_roll(missing: list[dict[str, Any]], code: str) -> tuple[int, ...]:
    """Whom the counts of those who came leave (assemble/starts/roll_calls.py)."""
    return tuple(sorted({rank for row in missing if row["code"] == code for rank in row["names_ranks"] or ()}))


def _called_late(case: Case, missing: list[dict[str, Any]]) -> tuple[int, ...]:
    """Whom a barrier lists that it waited for in vain, where nobody has heard of them otherwise; how many more there were it may leave open."""
    called = {rank for row in missing if row["code"] == "barrier" for rank in row["names_ranks"] or ()}
    return () if called & (case.seen - case.unread) else tuple(sorted(called))


def _members(case: Case, missing: list[dict[str, Any]], begun: bool) -> Finding:
    last = max(missing, key=lambda row: (joined_store(row) or 0, "joined" in detail(row)))
    said = detail(last)
    called = tuple(sorted({rank for row in missing if is_whole_barrier(row) for rank in row["names_ranks"]}))
    named = () if begun or not _went_another_way(case, called, missing) else called
    named = named or (() if begun else _of_roll(missing, ROLL_CALL))
    left = eliminated(missing)
    # Whose processes listen where nobody reaches them is told with the reason, elsewhere.
    is_store = any(row["code"] == STORE_BARRIER and row["names_ranks"] for row in missing)
    named = named or (left if is_store and case.out_of_reach.is_empty() else ())
    named = named or (() if begun else _of_roll(missing, COUNTED))
    ended = [row for row in rows(case.events, "exit") if own_rank(row) in named and row["severity"] == "error"]
    unseen = named or left or _of_roll(missing, ROLL_COUNT) or _unseen(case) or _called_late(case, missing)
    leader = last["names_ranks"] == [0] and last["code"] not in (COUNTED, "not_placed")
    is_counted = "joined" in said and "expected" in said
    hosts = () if begun else _unreachable(case, missing)
    other_size = given_another_size(case.tables["ranks"])
    is_drift = bool(named) and {*named} <= other_size.keys()
    other = words.OTHER_SIZE(who=ranks_text(named))
    placeless = [row for row in missing if row["code"] == "not_placed"]
    count = words.COUNT(joined=said["joined"], expected=said["expected"]) if is_counted else words.TOO_FEW
    text = words.ID_NOT_PUBLISHED if leader else words.JOINED(count=count)
    absent = words.NOT_AMONG_JOINED[len(unseen) == 1](who=ranks_text(unseen)) if unseen else words.NOT_SAID_WHO
    if hosts:
        absent = words.NOT_REACHED[len(hosts) == 1](hosts=joined(hosts, ", "))
    elif placeless:
        absent = words.NOT_PLACED(line=cut_middle(" ".join(str(placeless[0]["text"]).split()), _QUOTED))
    elif is_drift:
        absent = joined((absent, other), "; ")
    told = _unscheduled(case)
    if placeless and told:
        absent = words.NOT_PLACED(line=cut_middle(next(iter(told.values())), _QUOTED))
    what = joined((text, absent), "; ")
    drift: Cause = "config_drift" if is_drift and not hosts else "missing_ranks"
    at_start: Cause = "store_timeout" if leader else drift
    pods = list(dict.fromkeys(str(pod) for row in placeless if (pod := detail(row).get("pod"))))
    named = named or (() if begun else _put_nowhere(case, placeless))
    pods = pods[:_SHOWN]
    return Finding(
        cause=("rank_absent" if named else "store_timeout") if begun else at_start,
        ranks=tuple(sorted(rank for rank, host in case.host_of_rank.items() if host in hosts)) if hosts else named,
        hosts=hosts,
        suspect_ranks=() if hosts or named else unseen,
        undecided=() if hosts or named else ("culprit_among_missing",) if unseen else ("membership_unknown",),
        claims=(
            Claim(what, "for", refs([*(row for row in missing if row["names_hosts"]), *placeless, *missing])),
            *((Claim(words.ENDED_BEFORE(who=ranks_text(named)), "for", refs(ended)),) if ended else ()),
            *((Claim(other, "for", refs(other_size[rank] for rank in named)),) if is_drift else ()),
        ),
        first_anomaly=FirstAnomaly(op="init", host=hosts[0] if len(hosts) == 1 else None, signature="missing_members"),
        actions=(
            *_room(pods, told),
            *(
                Action(kind="collect_more", target=words.WHY_NOT_PLACED(pod=pod), command=events_of_pod(pod), reason="")
                for pod in pods
                if pod not in told
            ),
        )
        or ((to_do("check_config", words.THE_JOB, other),) if is_drift else ()),
        collect=() if pods or is_drift else (words.LOGS_OF_MISSING,),  # what was put nowhere has no log
        summary=sentence(what) if begun else words.NEVER_STARTED(what=what),
    )


def _went_another_way(case: Case, called: tuple[int, ...], missing: list[dict[str, Any]]) -> bool:
    """Are those whom a barrier misses not heard of otherwise, or do their own logs show that they went another way than all others?"""
    heard = {*called} & (case.seen - case.unread)
    others = case.seen - {*called} - {own_rank(row) for row in missing}
    return not heard or is_apart(own_logs(case.tables), heard, others)


def _unscheduled(case: Case) -> dict[str, str]:
    """Pod → why it had no place, in the scheduler's words."""
    rows_of = (row for row in rows(case.events, "scheduler") if row["code"] == "FailedScheduling")
    named = ((str(detail(row).get("object", "")).rpartition("/")[2], row["text"]) for row in rows_of)
    return {pod: " ".join(str(text).split()) for pod, text in named if pod and text}


def _put_nowhere(case: Case, placeless: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """The ranks of pods that were put nowhere, where all of them are told, and nobody has heard of them."""
    of_pods = [row["names_ranks"] or () for row in placeless if detail(row).get("pod")]
    ranks = {rank for own in of_pods for rank in own}
    heard = values(case.tables["files"]["rank"]) | values(case.tables["steps"]["rank"])
    return tuple(sorted(ranks)) if all(of_pods) and heard.isdisjoint(ranks) else ()


def _room(pods: Sequence[str], told: Mapping[str, str]) -> tuple[Action, ...]:
    """What the cluster lacks is known already: it is to be made."""
    known = [pod for pod in pods if pod in told]
    if not known:
        return ()
    why = cut_middle(told[known[0]], _QUOTED)
    target = words.ROOM_FOR(pods=joined(known, ", "))
    return (
        Action(
            kind="check_config", target=target, command=nodes(), reason=words.QUOTED(line=why),
            look=words.LOOK_AT_ROOM, then=words.THEN_OF_ROOM, source="Kubernetes: taints and allocatable resources of nodes",
        ),
    )  # fmt: skip


def _unreachable(case: Case, missing: list[dict[str, Any]]) -> tuple[str, ...]:
    """Hosts that a launcher could not reach, and of which no process of the job left a word."""
    named = {short_host(host) for row in missing if row["code"] == "unreachable" for host in row["names_hosts"] or ()}
    of_launchers = ((pl.col("kind") == "missing_members") & (pl.col("code") == "unreachable")).fill_null(False)
    of_launchers |= pl.col("kind") == "exit"
    claims = case.tables["ranks"].filter(pl.col("pid").is_not_null())
    spoke = values(case.events.filter(~of_launchers)["host"]) | values(claims["host"])
    return tuple(sorted(named - set(map(short_host, spoke))))


def _ended_before(case: Case, silent: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How those ended who did so before anybody had waited in vain, where all others did, and ended after it: whom the store waited for had gone."""
    told = [row for row in rows(case.events, "exit") if row["severity"] == "error" and row["time_ns"] is not None]
    last = {rank: row for row in told if (rank := own_rank(row)) is not None}
    waited = [row["time_ns"] for row in silent]
    if case.has_begun or {*last} != ({*case.expected} or {*range(len(last))}) or None in waited:
        return []
    gone = [row for row in last.values() if row["time_ns"] < min(waited) - _APART_NS]
    others = {(row["file"], row["pid"]) if (rank := own_rank(row)) is None else rank for row in silent}
    return gone if _DEAD_AFTER * len(gone) <= len(last) == len(gone) + len(others) else []


def _store(case: Case, silent: list[dict[str, Any]], begun: bool) -> Finding:
    if ended := _ended_before(case, silent):
        return _never_came(ended, silent)
    waiting = sorted({rank for row in silent if (rank := own_rank(row)) is not None})
    unseen = tuple(rank for rank in _unseen(case) if rank not in waiting)
    who = ranks_text(waiting) if waiting else words.A_PROCESS
    gone = all(row["code"] == "store_lost" for row in silent)
    text = words.LOST_STORE(who=who) if gone else words.WAITED_FOR_STORE(who=who)
    bar = None if gone else busy_bar(silent)
    shown = bar and words.BAR_STANDS_AT(percent=bar.percent, spent=bar.spent, left=bar.left, limit=bar.limit)
    return Finding(
        cause="store_timeout",
        suspect_ranks=unseen,
        undecided=("culprit_among_missing",) if unseen else ("membership_unknown",),
        claims=(Claim(text, "for", refs(silent)), *((Claim(shown, "for", (bar.ref,)),) if bar and shown else ())),
        first_anomaly=FirstAnomaly(op="store", signature="store_timeout"),
        actions=(
            to_do(
                "check_config" if shown else "check_code",
                words.TIMEOUT_OF_GROUP if shown else words.THE_JOB,
                shown or (words.STORE_GONE if gone else words.RANK_BUSY),
            ),
        ),
        collect=(words.STORE_RECORDS,),
        summary=sentence(text, "" if gone else words.LOST_BEFORE if not begun and unseen else words.NOT_IN_RECORDS),
    )


def _never_came(ended: Sequence[Mapping[str, Any]], silent: Sequence[Mapping[str, Any]]) -> Finding:
    """Who ended on the way to a store, for which all others waited until they gave up."""
    ranks = tuple(sorted(rank for row in ended if (rank := own_rank(row)) is not None))
    text = words.ENDED_ON_THE_WAY(who=ranks_text(ranks))
    waited = words.WAITED_FOR_STORE(who=words.ALL_OTHERS)
    return Finding(
        cause="missing_ranks",
        ranks=ranks,
        claims=(Claim(text, "for", refs(ended)), Claim(waited, "for", refs(silent))),
        first_anomaly=FirstAnomaly(rank=ranks[0], op="init", signature="missing_members"),
        collect=(words.LOGS_OF_MISSING,),
        summary=words.NEVER_STARTED(what=joined((text, waited), "; ")),
    )


DETECTOR = Detector("missing_at_start", ("events",), detect, "never_started")
