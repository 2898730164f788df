"""What may make ranks differ by design, and how it is told who is slow: for the detectors of this room."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import polars as pl

from forensics.assemble.identity import short_host
from forensics.case import Case
from forensics.facts.outliers import Outlier
from forensics.model.finding import Claim
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text

_DEEPEST = 16  # stages of one rank each: no pipeline is deeper
_MANY = 0.25  # of the peers: so many slow ones are another kind of rank, unless they are one host


def doubt(case: Case, slow: Sequence[Outlier]) -> tuple[Reason | None, str]:
    """Why these ranks may do other work than their peers; (None, "") where nothing speaks for that."""
    ranks = sorted({one.rank for one in slow})
    peers = sorted({rank for one in slow for rank in one.peers})
    if len(ranks) > max(1, _MANY * len(peers)) and not is_one_host(case, ranks):
        return "membership_unknown", "so many ranks differ from the rest that they may do other work"
    if not all(one.is_always for one in slow):
        return None, ""
    distances = {later - earlier for earlier, later in pairwise(ranks)}
    if len(distances) == 1 and distances != {1} and len(ranks) > 2:  # neighbours are a block, below
        return "membership_unknown", "they stand at equal distances, as ranks with a task of their own do"
    if any(one.sort == "host" for one in slow) and 0 in ranks:
        return "membership_unknown", "rank 0 often loads, logs and saves for the others"
    if any(one.sort == "work" for one in slow) and case.roles.has_experts and not _has_load(case):
        return "no_baseline", "experts may be loaded unevenly, and no record says how many tokens each rank had"
    if case.roles.is_known(peers):
        return None, ""
    if case.roles.is_piped:
        return "membership_unknown", "the job is a pipeline, and which stage each rank holds is not known"
    is_block = len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1
    if ranks[0] == peers[0] or ranks[-1] == peers[-1] or is_block:
        return "membership_unknown", "they may be a pipeline stage of their own; the layout is not known"
    return None, ""


def caveat(case: Case, slow: Sequence[Outlier]) -> tuple[tuple[Reason, ...], str]:
    """A single rank that is slow from the start, of few whose layout is not known, may be a pipeline stage of its own that
    has more to do: it is named, as the best explanation only."""
    peers = {rank for one in slow for rank in one.peers}
    is_sure = not all(one.is_always for one in slow) or case.roles.is_known(peers) or len(peers) > _DEEPEST
    if is_sure or any(one.sort == "host" for one in slow):
        return (), ""
    return ("membership_unknown",), " The layout is not known: it may be a pipeline stage with more to do, by design."


def _has_load(case: Case) -> bool:
    return case.phase_times["tokens"].drop_nulls().len() > 0 or "expert_load" in case.events["kind"]


def hosts(case: Case) -> Mapping[int, str]:
    """Rank → host, by the identity table, else by the rows of timings."""
    told = case.phase_times.select("rank", "host").drop_nulls().unique("rank").sort("rank")
    found = {rank: short_host(host) for rank, host in told.iter_rows()}
    return found | case.host_of_rank


def is_one_host(case: Case, ranks: Iterable[int]) -> bool:
    """Are these all ranks of one host, of several, that left figures?"""
    place, chosen = hosts(case), set(ranks)
    where = {place.get(rank) for rank in chosen}
    if len(where) != 1 or None in where or len(set(place.values())) < 3:
        return False
    return chosen == {rank for rank in case.phase_times["rank"].unique() if place.get(rank) in where}


def course(one: Outlier) -> str:
    """When it is slow."""
    if not one.is_steady:
        return f"on and off, in {one.votes} of {one.steps} steps"
    if one.is_always:
        return "from the first step on"
    if one.to_end:
        return f"from step {one.begin} on"
    return f"in steps {one.begin} to {one.end}"


def longer(one: Outlier, verb: str = "takes") -> Claim:
    """A rank's figures beside those of its peers."""
    more = f"{100 * one.ratio:.0f}% longer" if 0 < one.ratio < 10 else f"{one.excess_ms:.4g} ms longer"
    text = (
        f"rank {one.rank}: {one.phase} {verb} {one.level_ms + one.excess_ms:.4g} ms, the median of its "
        f"{len(one.peers) - 1} peers is {one.level_ms:.4g} ms ({more}), {course(one)}{f' ({one.votes} of {one.steps} steps)' if one.is_steady else ''}"
    )
    return Claim(text, "for", references(one.places))


def waiting(one: Outlier) -> Claim:
    """That the others wait for a rank, by a figure of its own and one of a peer."""
    text = (
        f"the others wait for rank {one.rank}: in {one.phase} it spends {one.level_ms + one.excess_ms:.4g} ms, the "
        f"others {one.level_ms:.4g} ms at the median ({one.votes} of {one.steps} steps)"
    )
    return Claim(text, "for", references((*one.places[:1], *one.peer_places)))


def references(places: Iterable[tuple[str, int | None, str]]) -> tuple[Ref, ...]:
    """Places of figures; the text is the name under which they stand there."""
    return tuple(Ref(file=file, line=line, text=name) for file, line, name in places)


def measured(case: Case, ranks: Iterable[int]) -> list[Claim]:
    """What was measured of the devices of these ranks that makes them slower: a monitor is another observer."""
    chosen = set(ranks)
    return [Claim(one.text, "for", one.refs) for one in case.apart if one.effect == "slows" and one.rank in chosen]


def why(claims: Sequence[Claim]) -> str:
    """The first of them, as a sentence of the summary."""
    return f" What was measured fits: {claims[0].text.partition(';')[0]}." if claims else ""


def price(slow: Sequence[Outlier]) -> str:
    """What the costliest of the ranks costs every rank, in words; empty where the length of a step is not known."""
    shares: dict[int, float] = {}
    for one in slow:
        if one.share is not None:
            shares[one.rank] = shares.get(one.rank, 0.0) + one.share
    worst = max(shares.values(), default=0.0)
    return f" Waiting for it costs all ranks about {100 * worst:.1f}% of the time of all steps." if worst > 0 else ""


def named(ranks: Sequence[int], case: Case) -> str:
    """ "rank 5 (node-1)"."""
    places = sorted({place for rank in ranks if (place := hosts(case).get(rank))})
    return ranks_text(ranks) + (f" ({', '.join(places[:4])})" if places else "")


def figures(case: Case, ranks: Sequence[int]) -> pl.DataFrame:
    """Rows of phase_times of these ranks."""
    return case.phase_times.filter(pl.col("rank").is_in(list(ranks)))
