"""Without records of operations: does every process of the job stand in a call that waits for others?

Then somebody waits for a call that its peers do not make, or a call hangs in all of them: which, a stack does not tell, for it names
neither group nor count. That it hangs, and in which calls who stands, called from which lines of the job, is all that is said. Where nothing shows
that the job stood still, it is said only of different calls, as what it is if it did: one call of all is what any running job shows. One
that at two looks stands in another collective than all others, in the same function and called from the same lines, took another way there.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.waits.rank_stacks import codes, stack_ref
from forensics.facts.waits.stacks import to_frames
from forensics.graph.hang.outside import places
from forensics.model.finding import Claim, Finding
from forensics.model.frames import is_own_file
from forensics.model.incident import Action, BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import ranks as words

_LINES = 4  # that are told
_PAIR, _MANY = 2, 3  # calls, and ranks in the one of most
_BETWEEN_TWO = ("send", "recv")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, only where no operation is recorded as open."""
    if case.states.open.height:
        return ()
    live = places(case.stacks, case.waited_ranks, case.expected).live
    standing = live.filter(live["site"] == "communication") if live.height else live
    ranks = frozenset(standing["rank"].drop_nulls().to_list()) if standing.height else frozenset()
    if case.hung and not ranks and not case.expected and standing.height == live.height:
        return _nameless(standing)
    if standing.height < live.height or len(ranks) < 2 or standing["rank"].null_count() or not case.expected <= ranks:
        return ()
    by_call: dict[str, list[int]] = {}
    for op, rank in standing.sort("rank").select("op", "rank").iter_rows():
        by_call.setdefault(op or str(words.KIND_UNKNOWN), []).append(rank)
    if not (case.hung or case.time_witness.stood) and (len(by_call) == 1 or not case.is_world_told):
        return ()
    called = {op: words.SOME_CALL if op == words.KIND_UNKNOWN else op for op in by_call}
    alike = joined([words.STAND_IN(who=ranks_text(own), op=called[op]) for op, own in by_call.items()], "; ")
    lines = _lines(case, ranks)
    odd = _took_another_way(case, standing, by_call)
    why_not: Reason = "tied_explanations" if ranks <= case.coordinates.keys() else "membership_unknown"
    apart = joined([words.STAND_AT(who=ranks_text(own), line=line) for line, own in lines.items()], "; ")
    first = standing.sort("rank").unique("op", keep="first", maintain_order=True)
    refs = tuple(map(stack_ref, first.iter_rows(named=True)))
    return (
        Finding(
            cause="collective_mismatch" if odd else None,
            ranks=odd,
            claims=(Claim(alike, "for", refs), *([Claim(apart, "for", refs)] if lines else [])),
            undecided=() if odd else (why_not,),
            first_anomaly=FirstAnomaly(
                step=case.step_in_progress(), op="/".join(sorted(by_call)), signature="all_in_calls"
            ),
            blast_radius=BlastRadius(ranks_waiting=len(ranks)),
            actions=_of_lines(lines, apart) if lines else (),
            collect=(words.DUMPS if not case.tables["operations"].height else words.DUMPS_WHEN_IT_STANDS,),
            summary=sentence(alike)
            if odd
            else words.UNDECIDED(what=words.ALL_IN_CALLS(number=len(ranks), ops=joined(list(by_call), ", "))),
        ),
    )


def _took_another_way(case: Case, standing: pl.DataFrame, by_call: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
    """The one rank whose collective is another than that of all others, three at least, that all stand together at two looks: within one function
    of the job, called from the same lines, so that only its order or a branch in there differs. Nobody where groups are told, which may
    each have calls of their own."""
    few, many = sorted(map(tuple, by_call.values()), key=len)[:2] if len(by_call) == _PAIR else ((), ())
    is_whole = frozenset(range(standing.height)) == case.seen and case.job_told_of <= case.seen
    is_of_two = by_call.keys() & {*_BETWEEN_TWO, str(words.KIND_UNKNOWN)}
    if len(few) != 1 or len(many) < _MANY or not is_whole or is_of_two:
        return ()
    sizes = case.tables["groups"]["size"].drop_nulls()
    if case.coordinates or (sizes < standing.height).any() or standing["moving"].fill_null(True).any():
        return ()
    ways = {rank: _way(frames) for rank, frames in standing.select("rank", "frames").iter_rows()}
    inner = {rank: own[0] for rank, own in ways.items() if own}
    if len(inner) < standing.height or len({own[1:] for own in ways.values()}) != 1:
        return ()
    is_one_function = len({(file, function) for file, function, _ in inner.values()}) == 1
    return few if is_one_function and len({inner[rank] for rank in many}) == 1 else ()


def _way(frames: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str, int | None], ...]:
    """The job's own lines in a stack, innermost first."""
    return tuple((one.file, one.function, one.line) for one in to_frames(frames) if is_own_file(one.file))


def _nameless(standing: pl.DataFrame) -> tuple[Finding, ...]:
    """The same of processes of which no rank is told, by their numbers, where a person says that the job stood still."""
    if standing.is_empty() or standing["pid"].null_count() or (number := standing.select("host", "pid").n_unique()) < 2:
        return ()
    ops = sorted({op or str(words.KIND_UNKNOWN) for op in standing["op"].to_list()})
    text = words.ALL_IN_CALLS(number=number, ops=joined(ops, ", "))
    first = standing.sort("pid").unique("op", keep="first", maintain_order=True)
    return (
        Finding(
            claims=(Claim(text, "for", tuple(map(stack_ref, first.iter_rows(named=True)))),),
            undecided=("membership_unknown",),
            first_anomaly=FirstAnomaly(op="/".join(ops), signature="all_in_calls"),
            blast_radius=BlastRadius(ranks_waiting=number),
            collect=(words.DUMPS,),
            summary=words.UNDECIDED(what=text),
        ),
    )


def _lines(case: Case, ranks: frozenset[int]) -> dict[str, list[int]]:
    """The job's own lines that made these calls, with who stands there, where they are few and more than one."""
    at: dict[str, list[int]] = {}
    for rank, own in sorted(codes(case.stacks, ranks).items()):
        if not own.line or not is_own_file(own.file):
            return {}
        at.setdefault(f"{own.file}:{own.line}", []).append(rank)
    return dict(sorted(at.items())) if 1 < len(at) <= _LINES and sum(map(len, at.values())) == len(ranks) else {}


def _of_lines(lines: Iterable[str], reason: Said) -> tuple[Action, ...]:
    """Which of these calls not all come to, or not as often, is read there."""
    return (
        Action(
            kind="check_code", target=joined(lines, ", "), command=None, reason=reason,
            look=advice.WHO_COMES_THERE, then=advice.SAME_CALLS, source="PyTorch: torch.distributed, collectives",
        ),
    )  # fmt: skip


DETECTOR = Detector("all_in_calls", ("stacks",), detect, "waiting")
