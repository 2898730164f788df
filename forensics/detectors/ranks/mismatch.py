"""Do the members of one collective bring different calls: another operation, size, type or root at the same number?

Flight records, watchdogs' time-outs, lines of enqueued collectives and fingerprints each tell what members bring (facts/
positions.py), Horovod's stall inspector what each lacks. The minority is named if more than half of all members agree on the other
call: members of whom the source says nothing count as unknown, and a stack inside the operation's own call as a record. In a group
of two nobody is named.
RAS counts what members launched of each kind: whoever goes through the same calls in the same order has, at any moment, of
every kind as many as another member or fewer, or of every kind as many or more. More of one and fewer of another is a mismatch.
"""

from collections import Counter
from typing import Any

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import refs, rows
from forensics.facts.waits.positions import call_text
from forensics.graph.hang.standings import latest
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, Code, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import group_text, iso, ranges, ranks_text
from forensics.words import ranks as words
from parsers.schema.event_kinds import MISMATCH

_ENDINGS = ("exit", "closing_signal", "job_end", "comm_destroy", "scheduler")  # a job that ends leaves logs uneven
# Tell more than flight records of open operations, or are these.
_BESIDE_RECORDS = ("flight_record", "fingerprint", "barrier")
_SOURCES = ("flight_record", "watchdog", "collective_line", "ras", "fingerprint", "barrier")
_Row = dict[str, Any]


class _Call(msgspec.Struct, frozen=True):
    """One call of a group, as one source shows it. `said`: rank → its statement. `unheard`: other members. `votes`: by
    stacks, for what most bring. `unmapped`: statements whose rank is not told."""

    source: str
    said: dict[int, _Row]
    unheard: tuple[int, ...]
    unmapped: tuple[_Row, ...]
    votes: int

    @property
    def size(self) -> int | None:
        return next((row["size"] for row in self.said.values()), None)

    @property
    def sides(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(minority, majority)."""
        counts = Counter(row["call"] for row in self.said.values())
        usual = min(counts, key=lambda call: (-counts[call], str(call)))
        few = tuple(sorted(rank for rank, row in self.said.items() if row["call"] != usual))
        return few, tuple(sorted(rank for rank, row in self.said.items() if row["call"] == usual))


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → for each source the earliest disagreement."""
    sources = _BESIDE_RECORDS if case.has_open_operations else _SOURCES
    found = (_first(case, source) for source in sources if case.positions.height)
    return tuple(_finding(case, one) for one in found if one is not None) or _of_library(case)


def _of_library(case: Case) -> tuple[Finding, ...]:
    """The library's own check says that members brought different calls, and not which: where it met that tells of two neighbours in its ring,
    either of which may be the one that differs."""
    told = [row for row in rows(case.events, "comm_warning") if row["code"] == MISMATCH and row["severity"] == "error"]
    if not told:
        return ()
    return (
        Finding(
            cause="collective_mismatch",
            undecided=("membership_unknown",),
            domain="workload",
            claims=(Claim(words.DIFFERENT_CALLS, "for", refs(told)),),
            first_anomaly=FirstAnomaly(step=case.step_in_progress(), signature="mismatch:library"),
            collect=(words.DETAIL_AND_STACKS,),
            summary=sentence(words.MISMATCH(text=words.DIFFERENT_CALLS), words.NO_MAJORITY),
        ),
    )


def _first(case: Case, source: str) -> _Call | None:
    told = case.positions.filter((pl.col("source") == source) & pl.col("group").is_not_null())
    if not told.height:
        return None
    key = ["group", "number"]
    calls = told.filter(pl.col("call").is_not_null())
    if source == "watchdog":  # of several that a member gave up, the first holds it
        calls = calls.sort("number", "file", "line").unique(["group", "rank"], keep="first", maintain_order=True)
    if source == "fingerprint":
        return _fingerprints(told)
    if source == "ras":
        return _crossed(latest(told))
    calls = calls.filter(pl.col("rank").is_not_null())
    differ = calls.filter(pl.col("call").n_unique().over(key) > 1)
    if not differ.height or (source == "collective_line" and not case.has_waited and rows(case.events, *_ENDINGS)):
        return None
    order = differ.sort("since_ns", "number", "group", nulls_last=True) if source == "flight_record" else differ.sort(
        pl.len().over(key), "number", "group", descending=[source == "watchdog", False, False]
    )  # fmt: skip
    group, number = order.select(key).row(0)
    is_here = (pl.col("group") == group) & pl.col("number").eq_missing(number)
    said = {row["rank"]: row for row in calls.filter(is_here).sort("rank", "file", "line").iter_rows(named=True)}
    unknown = told.filter(is_here & (pl.col("state") == "unknown"))
    unheard = tuple(sorted(set(unknown["rank"].to_list()) - said.keys()))
    return _Call(source, said, unheard, (), _by_stack(case, unknown, said))


def _fingerprints(told: pl.DataFrame) -> _Call | None:
    listed = list(told.sort("file", "line").iter_rows(named=True))
    said = {row["rank"]: row for row in listed if row["rank"] is not None and row["call"] is not None}
    silent = {row["rank"] for row in listed if row["rank"] is not None} - said.keys()
    unmapped = tuple(row for row in listed if row["rank"] is None)
    return _Call("fingerprint", said, tuple(sorted(silent)), unmapped, 0) if said or unmapped else None


def _crossed(told: pl.DataFrame) -> _Call | None:
    """The one member that launched more of one kind and fewer of another than every other member of its group."""
    for part in told.filter(pl.col("number").is_not_null()).sort("group").partition_by("group"):
        if part["rank"].null_count() or part["kind"].n_unique() < 2 or part["rank"].n_unique() < 3:
            continue
        counts: dict[int, Counter[str]] = {}
        for rank, kind, number in part.select("rank", "kind", "number").iter_rows():
            counts.setdefault(rank, Counter())[kind] = number
        if len(set(map(_launched, counts.values()))) < 2:
            continue
        odd = [
            rank for rank, own in counts.items()
            if not any(own <= other or other <= own for at, other in counts.items() if at != rank)
        ]  # fmt: skip
        if len(odd) == 1:
            rows = {row["rank"]: row for row in part.sort("rank", "kind").iter_rows(named=True)}
            usual = _launched(next(own for rank, own in counts.items() if rank != odd[0]))
            said = {rank: row | {"kind": None, "number": None, "call": usual} for rank, row in rows.items()}
            said[odd[0]]["call"] = _launched(counts[odd[0]])
            return _Call("ras", said, (), (), 0)
    return None


def _launched(counts: Counter[str]) -> Said:
    return joined((f"{number} {kind}" for kind, number in sorted(counts.items())), " and ")


def _by_stack(case: Case, unknown: pl.DataFrame, said: dict[int, _Row]) -> int:
    """How many members without a usable record stand, by their stack, in the call that most bring."""
    kinds = Counter(row["call"] for row in said.values())
    best = min(kinds, key=lambda call: (-kinds[call], str(call)))
    kind = next(row["kind"] for row in said.values() if row["call"] == best)
    stacks = case.positions.filter((pl.col("source") == "stack") & pl.col("rank").is_in(unknown["rank"].implode()))
    return stacks.filter(pl.col("kind") == kind).height


def _doubt(call: _Call, many: tuple[int, ...]) -> Reason | None:
    """Why no side is named; None: more than half of all members agree."""
    if call.unmapped:
        return "membership_unknown"
    everybody = len(call.said) + len(call.unheard)
    if call.size == 2 or everybody == 2:
        return "two_member_mismatch"
    if call.size is None:
        return "membership_unknown" if call.source == "watchdog" else "tied_explanations"
    return None if 2 * (len(many) + call.votes) > call.size else "tied_explanations"


def _finding(case: Case, call: _Call) -> Finding:
    few, many = call.sides if call.said else ((), ())
    doubt = _doubt(call, many) if few or not call.said or call.unmapped else "two_member_mismatch"
    if doubt is None and not few:
        doubt = "tied_explanations"
    both = tuple(sorted({*call.said, *call.unheard}))
    listed = [call.said[rank] for rank in (*few[:1], *many[:1], *few[1:2], *many[1:2])] or list(call.unmapped)
    first = listed[0]
    text = _words(call, few, many)
    decided = doubt is None
    claims = [Claim(text, "for", refs(listed, 4))]
    if call.votes:
        claims.append(Claim(words.BY_THEIR_STACK(number=call.votes, call=call.said[many[0]]["kind"]), "for"))
    snapshot = call.source == "collective_line" and not case.has_waited
    reasons: tuple[Reason, ...] = () if doubt is None else (doubt,)
    return Finding(
        cause="collective_mismatch",
        ranks=few if decided else (),
        suspect_ranks=() if decided else both,
        undecided=(*reasons, "single_snapshot") if snapshot else reasons,
        code=_code(first) if decided else None,
        domain="workload",
        claims=tuple(claims),
        first_anomaly=_anomaly(case, call, first, few, many, decided),
        blast_radius=_blast(case, call, few if decided else (), many, first),
        collect=() if decided else (words.DETAIL_AND_STACKS,),
        summary=sentence(joined((words.MISMATCH(text=text), "" if decided else words.NO_MAJORITY), ". ")),
    )


def _words(call: _Call, few: tuple[int, ...], many: tuple[int, ...]) -> Said:
    if not few and len(call.said) == 1:
        ((rank, row),) = call.said.items()
        number = "" if row["number"] is None else f" #{row['number']}"
        what = f"{row['kind']}{number}"
        return words.ANNOUNCED_ALONE(who=ranks_text([rank]), what=what, others=ranks_text(call.unheard))
    if not few:
        return words.DIFFERENT_CALLS
    one, other = call.said[few[0]], call.said[many[0]]
    who: dict[str, object] = {"few": ranks_text(few), "many": ranks_text(many), "group": group_text(one["label"])}
    if call.source == "ras":
        return words.CROSSED(**who, one=one["call"], other=other["call"])
    differ = words.DIFFER if call.source in ("fingerprint", "barrier") else words.DIFFER_IN
    return differ(**who, number=one["number"], one=_brings(one), other=_brings(other))


def _brings(row: _Row) -> Said:
    call = call_text(row["call"])
    return words.BROUGHT_AT(call=call, code=row["code"]) if row["code"] else words.BROUGHT(call=call)


def _anomaly(
    case: Case, call: _Call, first: _Row, few: tuple[int, ...], many: tuple[int, ...], decided: bool
) -> FirstAnomaly:
    since = [row["since_ns"] for row in call.said.values() if row["since_ns"]]
    recorded = call.source == "flight_record"
    other = call.said[many[0]]["kind"] if many else None
    op = f"{first['kind']} / {other}" if recorded else first["kind"]
    return FirstAnomaly(
        time_utc=iso(min(since)) if since and recorded else None,
        rank=few[0] if decided else None,
        step=case.step_in_progress(few[0] if few else None),
        op=op,
        group=first["label"],
        group_ranks=ranges((*call.said, *call.unheard)) if recorded else None,
        seq=first["number"],
        signature=f"mismatch:{first['label']}:{op}".replace(" ", ""),
    )


def _blast(case: Case, call: _Call, few: tuple[int, ...], many: tuple[int, ...], first: _Row) -> BlastRadius:
    recorded = call.source == "flight_record"
    raised = call.source == "fingerprint" and not case.waited_ranks  # whoever saw that they differ did not wait
    waiting = len(case.roots.waiters - {*few}) if recorded else 0 if raised else len(many)
    return BlastRadius(ranks_waiting=waiting, groups=[first["label"]])


def _code(row: _Row) -> Code | None:
    file, _, line = (row["code"] or "").rpartition(":")
    return Code(file=file, line=int(line) if line.isdigit() else None, function=None) if file else None


DETECTOR = Detector("mismatch", (), detect, "waiting")
