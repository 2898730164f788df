"""Without flight records: who has not come to the call that the others of its group wait in?

Watchdogs print counters, NCCL a line per enqueued collective, RAS numbers of launched ones; a desync report and a monitored
barrier name those who lag. Each puts members of a group at a call (facts/waits/positions.py). Whoever is behind and waits in no
group for one that is further behind is free: if such are few, did not give up themselves, and the others are shown to wait,
they are absent. In a group of two, where half and more are behind, where a member is not heard of, or where statements
disagree, they are suspects. Method: the maintainers' own, NVIDIA/nccl issues 147 and 296; PyTorch's desync report.
"""

from collections.abc import Sequence
from operator import itemgetter

import msgspec

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import detail, rows
from forensics.facts.waits.rank_stacks import codes, sites, stack_claims
from forensics.facts.waits.told_positions import SERVICE_BARRIER, STALL_INSPECTOR
from forensics.graph.hang.standings import Standing, free, standings
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import group_text, ranks_text
from forensics.words import ranks as words

_FEWEST = 4  # members, where no time-out says that the others wait
_ENDINGS = ("exit", "closing_signal", "job_end", "comm_destroy", "scheduler")  # a job that ends leaves logs uneven, too


class _Source(msgspec.Struct, frozen=True):
    """`beside_records`: tells more than flight records of open operations. `is_report`: made
    once somebody had given up. `is_whole`: shows all groups of a rank, so that a member not heard of leaves a doubt."""

    name: str
    beside_records: bool = False
    is_report: bool = False
    is_whole: bool = False


_SOURCES = (
    _Source("barrier", beside_records=True, is_report=True),
    _Source("desync", beside_records=True, is_report=True),
    _Source("ras", is_whole=True),
    _Source("collective_line", is_whole=True),
    _Source("watchdog"),
)


class _Doubt(msgspec.Struct, frozen=True):
    """Why those who are behind must not be named, and who else it may be."""

    reason: Reason
    suspects: tuple[int, ...]


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding per source."""
    found = []
    for source in _SOURCES:
        if case.has_open_operations and not source.beside_records:
            continue
        groups = standings(case.positions, source.name)
        if (one := _behind(case, source, groups)) is not None:
            found.append(one)
    return tuple(found)


def _behind(case: Case, source: _Source, groups: list[Standing]) -> Finding | None:
    first = free(groups)
    gave_up = {rank for rank in case.waited_ranks if not source.is_report}
    late = first - gave_up  # who gave up waited: a line of it is missing, or it waits elsewhere
    split = [one for one in groups if late & one.behind and not one.uneven]
    if not split:
        return _disputed(case, source, groups, first & gave_up)
    main = max(split, key=lambda one: (len(one.at), one.label))
    named = tuple(sorted(late & main.behind))
    waiting = [rank for rank in main.ahead if rank in main.waiting or rank in case.waited_ranks]
    if not _is_shown_to_wait(case, source, main, named, bool(waiting)):
        return None
    doubt = _doubt(source, groups, main, named, late, first & gave_up)
    return _finding(case, source, main, named, doubt, is_snapshot=not (waiting or source.is_report or case.has_waited))


def _is_shown_to_wait(case: Case, source: _Source, main: Standing, named: tuple[int, ...], waiting: bool) -> bool:
    """Lines alone end somewhere: without a time-out they tell only where one rank is behind all others, in a log of its
    own, and nothing says that the job ended."""
    if source.name != "collective_line" or waiting:
        return True
    files = {main.refs[rank].file for rank in main.at if rank not in named and rank in main.refs}
    own = {main.refs[rank].file for rank in named if rank in main.refs}
    alone = len(named) == 1 and bool(own) and not own & files and {main.at[rank] for rank in main.ahead} == {main.front}
    return alone and len(main.behind) == 1 and (main.size or 0) >= _FEWEST and not rows(case.events, *_ENDINGS)


def _doubt(
    source: _Source, groups: list[Standing], main: Standing, named: tuple[int, ...], late: frozenset[int],
    gave_up: frozenset[int],
) -> _Doubt | None:  # fmt: skip
    """None: nothing speaks against naming them."""
    everybody = tuple(sorted(main.at))
    if not main.certain:
        return _Doubt("membership_unknown", everybody if main.known == 2 else named)
    size = main.size or (0 if source.name == "barrier" else main.known)  # a barrier's list tells nothing of the others
    if size == 2:
        return _Doubt("two_member_mismatch", everybody)
    if size and not main.is_few:
        return _Doubt("tied_explanations", everybody)
    if source.name == "watchdog" and len(main.waiting) < 2:
        return _Doubt("tied_explanations", tuple(sorted({*main.behind, *main.waiting})))
    # Of another group, either may hold up the other. What is counted is what hosts launched: a device that stands still
    # stops the hosts of all that it works with, but one that never came is alone.
    if late - set(named) or (source.is_whole and len(named) > 1):
        lost = {rank for one in groups for rank in one.lost if source.is_whole}
        return _Doubt("tied_explanations", tuple(sorted(late | lost)))
    if source.is_whole and (main.unsure & set(named) or gave_up):
        return _Doubt("culprit_among_missing", named)
    return _unheard(groups, main, named) if source.is_whole else None


def _unheard(groups: Sequence[Standing], main: Standing, named: tuple[int, ...]) -> _Doubt | None:
    """They may wait for a member, or for a message, of which nothing tells; or in a group whose members differ, but of which
    it is not told who they are."""
    own = [one for one in groups if set(named) & one.at.keys()]
    open_ended = [one for one in own if one.uneven or one.known < (one.size or one.known)]
    open_ended += [one for one in groups if one.late > len(one.behind) and not set(named) & one.behind]
    if not open_ended:
        return None
    unknown = {rank for one in open_ended for rank in (*one.lost, *(one.at if one.uneven else ()))}
    suspects = tuple(sorted({*named, *unknown} - set(main.ahead)))
    return _Doubt("culprit_among_missing", suspects)


def _disputed(case: Case, source: _Source, groups: list[Standing], gave_up: frozenset[int]) -> Finding | None:
    """No rank is free: statements disagree, those behind gave up themselves, or the lists do not tell which ranks they are."""
    snapshot = not (source.is_report or case.has_waited)
    for one in groups:
        if one.disputed:
            return _finding(case, source, one, (), _Doubt("tied_explanations", tuple(sorted(one.disputed))))
        if source.name == "ras" and gave_up & one.behind:
            doubt = _Doubt("conflicting_evidence", ())
            return _finding(case, source, one, tuple(sorted(gave_up & one.behind)), doubt, snapshot)
        if source.name == "ras" and one.behind:  # each behind another, in a circle
            everybody = frozenset(rank for other in groups for rank in other.behind)
            doubt = _Doubt("tied_explanations", tuple(sorted(everybody)))
            return _finding(case, source, one, tuple(sorted(one.behind)), doubt, snapshot)
    for one in groups:
        if one.late and not one.behind:
            return _finding(case, source, one, (), _Doubt("membership_unknown", ()), snapshot)
    return None


def _words(source: _Source, main: Standing, named: tuple[int, ...]) -> Said:
    group, by = group_text(main.label), words.BY[source.name]
    if source.name == "barrier":
        who = ranks_text(named) if named else words.SOME_MEMBERS
        if is_service := main.label.startswith(SERVICE_BARRIER):
            barrier: Said | str = group
        else:
            barrier = words.MONITORED_BARRIER if main.kind == "barrier" else words.SAYS(kind=main.kind, group=group)
        text = words.DID_NOT_REACH(who=who, barrier=barrier)
        return joined((text, words.MEMBERS_DID(number=_came(main), size=main.size)), "; ") if is_service else text
    call = words.CALL(kind=main.kind or words.ANY_CALL, number=main.front, group=group)
    who = ranks_text(main.ahead) if main.ahead else words.MEMBERS(main.known - main.late)
    if not named:
        return words.REACHED_OTHERS_DID_NOT(who=who, call=call, by=by)
    last = joined((f"#{main.at[rank]}" if main.at[rank] >= 0 else words.NO_CALL for rank in named[:3]), ", ")
    return words.REACHED_ONLY(who=who, call=call, late=ranks_text(named), last=last, by=by)


def _came(main: Standing) -> int:
    """How many wait at a call: those that are told by their rank; of a list of all that are missing, everybody else."""
    is_list = main.label.startswith((SERVICE_BARRIER, STALL_INSPECTOR)) and main.late == len(main.behind)
    return main.size - len(main.behind) if is_list and main.size is not None else len(main.ahead)


class _Apart(msgspec.Struct, frozen=True):
    """The first call that a rank missed, where those who waited for it stand at several."""

    text: Said
    missing: int


def _apart(case: Case, source: _Source, main: Standing, named: tuple[int, ...]) -> _Apart | None:
    """Of a desync report that shows the others at calls of several numbers: the one that was missed first is none of these."""
    if source.name != "desync" or len(named) != 1:
        return None
    for row in rows(case.events, "desync"):
        said = detail(row)
        started = [one for one in said["snapshot"] if not {*one["ranks"]} & {*named} and one["state"] == "started"]
        own = [one for one in said["lagging"] if one["ranks"] == [*named] and isinstance(one.get("missing"), int)]
        told = {rank for one in started for rank in one["ranks"]} | {*named}
        if len({one["count"] for one in started}) < 2 or len(own) != 1 or told != main.at.keys():
            continue
        started.sort(key=itemgetter("count"))
        each = [words.STARTED(who=ranks_text(one["ranks"]), kind=one["op"], number=one["count"]) for one in started]
        text = words.LEFT_AFTER(
            who=ranks_text(named), last=own[0]["missing"] - 1, missing=own[0]["missing"], group=group_text(main.label),
            others=joined(each, ", "), by=words.BY[source.name],
        )  # fmt: skip
        return _Apart(text, own[0]["missing"])
    return None


def _finding(
    case: Case, source: _Source, main: Standing, named: tuple[int, ...], doubt: _Doubt | None, is_snapshot: bool = False
) -> Finding:
    apart = _apart(case, source, main, named)
    text = _words(source, main, named) if apart is None else apart.text
    number, call = main.first_missed(named) if apart is None else (apart.missing, None)
    reasons: tuple[Reason, ...] = () if doubt is None else (doubt.reason,)
    where = sites(case.stacks, named) if doubt is None else {}
    refs = (*(main.refs[rank] for rank in named[:2] if rank in main.refs), *main.front_refs, *main.loose_refs)
    return Finding(
        cause=None if doubt else "rank_absent",
        ranks=() if doubt else named,
        suspect_ranks=doubt.suspects if doubt else (),
        site=where.get(named[0]) if named else None,
        code=codes(case.stacks, named).get(named[0]) if named and doubt is None else None,
        undecided=(*reasons, "single_snapshot") if is_snapshot else reasons,
        claims=(
            Claim(text, "for", tuple(dict.fromkeys(refs))),
            *(stack_claims(case.stacks, named) if doubt is None else ()),
        ),
        first_anomaly=FirstAnomaly(
            rank=named[0] if named and doubt is None else None,
            step=case.step_in_progress(named[0] if named else None),
            op=call,
            group=main.label,
            seq=None if source.name == "barrier" else number,
            signature=f"absent:{call or main.kind}",
        ),
        blast_radius=BlastRadius(ranks_waiting=_came(main), groups=[main.label]),
        collect=(words.WHOLE_LOG(who=ranks_text(named)) if named else words.ALL_DUMPS,),
        summary=sentence(text, words.ABSENT_DOUBT[doubt.reason] if doubt is not None else ""),
    )


DETECTOR = Detector("absent", (), detect, "waiting")
