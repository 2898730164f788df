"""What may make ranks differ by design, and how it is told who is slow: for the detectors of this room."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import polars as pl

from forensics.case import Case
from forensics.facts.durations.outliers import Outlier
from forensics.model.finding import Claim
from forensics.model.hosts import short_host
from forensics.model.names import Reason, Site
from forensics.model.ref import Ref
from forensics.model.said import Said, first_clause, joined
from forensics.model.texts import ranks_text
from forensics.words import slow as words
from parsers.text.vocabulary import reducing_words

_SITES: tuple[tuple[str, Site], ...] = (
    ("data", "data_loading"), ("load", "data_loading"), ("h2d", "data_loading"), ("tokenize", "data_loading"),
    ("checkpoint", "checkpoint_io"), ("save", "checkpoint_io"), ("storage", "storage_io"), ("logging", "logging"),
)  # fmt: skip
_DEEPEST = 16  # stages of one rank each: no pipeline is deeper
_HEAT = ("temperature_c", "memory_temperature_c")
_UPDATES = r"(?:^|_)(?:optimizer|optim|opt|upd|update)(?:_|$)"
_AS_MANY = 0.1  # of the others' update: what is as long
_ALIKE = 0.15  # between the shares by which phases are longer
_MANY = 0.25  # of the peers: so many slow ones are another kind of rank, unless they are one host


def site_of(phase: str, sort: str) -> Site | None:
    """Where a rank stands that is slow in a phase of this sort: the device, or what the host does in it."""
    return next((site for word, site in _SITES if phase.startswith(word)), None) if sort == "host" else "compute"


def doubt(case: Case, slow: Sequence[Outlier]) -> tuple[Reason | None, Said | None]:
    """Why these ranks may do other work than their peers; (None, None) where nothing speaks for that."""
    ranks = sorted({one.rank for one in slow})
    peers = sorted({rank for one in slow for rank in one.peers})
    if len(ranks) > max(1, _MANY * len(peers)) and not is_one_host(case, ranks):
        return "membership_unknown", words.SO_MANY_DIFFER
    if not all(one.is_always for one in slow):
        return None, None
    distances = {later - earlier for earlier, later in pairwise(ranks)}
    if len(distances) == 1 and distances != {1} and len(ranks) > 2:  # neighbours are a block, below
        return "membership_unknown", words.EQUAL_DISTANCES
    if any(one.sort == "host" for one in slow) and 0 in ranks:
        return "membership_unknown", words.RANK_0_LOADS
    has_load = case.phase_times["tokens"].drop_nulls().len() > 0 or "expert_load" in case.events["kind"]
    if any(one.sort == "work" for one in slow) and case.roles.has_experts and not has_load:
        return "no_baseline", words.EXPERT_LOAD_UNKNOWN
    if _have_the_same_layers(case, peers, ranks):
        return None, None
    if case.roles.is_piped:
        return "membership_unknown", words.STAGES_UNKNOWN
    is_block = len(ranks) > 1 and ranks[-1] - ranks[0] == len(ranks) - 1
    # A stage in the middle has other work for its device; its hosts have no more to do than those of the others.
    # Of a layout that is told in part, the rest may be stages.
    untold = not case.topology and not case.roles.coordinates
    is_block &= not (untold and all(one.sort == "host" for one in slow) and is_one_host(case, ranks))
    if ranks[0] == peers[0] or ranks[-1] == peers[-1] or is_block:
        return "membership_unknown", words.MAY_BE_A_STAGE
    return None, None


def _have_the_same_layers(case: Case, peers: Iterable[int], ranks: Iterable[int]) -> bool:
    """Is the layout told, or is there but one way that the figures fit?"""
    return case.roles.is_known(peers) or case.is_data_parallel or _reduce_together(case, ranks)


def _reduce_together(case: Case, ranks: Iterable[int]) -> bool:
    """Do the others wait for each of these in a reduction, as their own figures show? Who reduces together has the same layers: no
    stages of a pipeline, which wait for each other in what they send and receive."""
    marks = [f"_{word}_" for word in reducing_words()]
    waits = {one.rank for one in case.slow_phases.late if any(mark in f"_{one.phase.lower()}_" for mark in marks)}
    return not case.roles.is_piped and waits >= set(ranks)


def slow_host(case: Case, slow: Sequence[Outlier]) -> str | None:
    """The one host that all these ranks are all of, where all that they compute takes longer by the same share, the others wait for each of them and each updates as many parameters as they: its
    optimizer takes as long as theirs, so that it has no more layers. The host is slow whatever its ranks compute; which of them are, is
    not told by that."""
    ranks = {one.rank for one in slow}
    ratios = [one.ratio for one in slow]
    if len({one.phase for one in slow}) < 2 or max(ratios) - min(ratios) > _ALIKE:
        return None  # a slow device is slow in all that it computes
    if not is_one_host(case, ranks) or case.roles.is_piped or not {one.rank for one in case.slow_phases.late} >= ranks:
        return None
    phase = pl.col("phase").str.to_lowercase().str.replace_all("[^a-z]+", "_")
    updates = case.phase_times.filter((pl.col("sort") == "work") & phase.str.contains(_UPDATES))
    own, others = (updates.filter(pl.col("rank").is_in(sorted(ranks)) == here)["ms"].median() for here in (True, False))
    if not isinstance(own, float) or not isinstance(others, float) or abs(own - others) > _AS_MANY * others:
        return None
    return hosts(case)[min(ranks)]


def nobody(why: Said | None) -> str:
    """That and why nobody is named, where there is a doubt."""
    return words.NOBODY_NAMED(why=why) if why else ""


def caveat(case: Case, slow: Sequence[Outlier]) -> tuple[tuple[Reason, ...], str]:
    """A single rank that is slow from the start, of few whose layout is not known, may be a pipeline stage of its own that
    has more to do, and so may a whole host be: it is named, as the best explanation only."""
    peers = {rank for one in slow for rank in one.peers}
    is_known = _have_the_same_layers(case, peers, {one.rank for one in slow})
    is_sure = not all(one.is_always for one in slow) or is_known or len(peers) > _DEEPEST
    if is_sure or (any(one.sort == "host" for one in slow) and len({one.rank for one in slow}) == 1):
        return (), ""
    return ("membership_unknown",), words.LAYOUT_UNKNOWN


def hosts(case: Case) -> Mapping[int, str]:
    """Rank → host, by the identity table, else by the rows of timings."""
    if not case.phase_times.height:
        return case.host_of_rank
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


def course(one: Outlier) -> Said:
    """When it is slow."""
    if not one.is_steady:
        return words.ON_AND_OFF(votes=one.votes, steps=one.steps)
    if one.is_always:
        return words.FROM_FIRST_STEP
    if one.to_end:
        return words.FROM_STEP(step=one.begin)
    return words.IN_STEPS(begin=one.begin, end=one.end)


def longer(one: Outlier) -> Claim:
    """A rank's figures beside those of its peers."""
    by_share = words.LONGER_BY_SHARE(percent=f"{100 * one.ratio:.0f}")
    text = words.LONGER(
        rank=one.rank,
        phase=one.phase,
        own=f"{one.level_ms + one.excess_ms:.4g}",
        peers=len(one.peers) - 1,
        level=f"{one.level_ms:.4g}",
        more=by_share if 0 < one.ratio < 10 else words.LONGER_BY_MS(ms=f"{one.excess_ms:.4g}"),
        course=course(one),
    )
    steps = words.OF_STEPS(what=text, votes=one.votes, steps=one.steps) if one.is_steady else text
    return Claim(steps, "for", references(one.places))


def waiting(one: Outlier) -> Claim:
    """That the others wait for a rank, by a figure of its own and one of a peer."""
    text = words.OTHERS_WAIT(
        rank=one.rank,
        phase=one.phase,
        own=f"{one.level_ms + one.excess_ms:.4g}",
        level=f"{one.level_ms:.4g}",
        votes=one.votes,
        steps=one.steps,
    )
    return Claim(text, "for", references((*one.places[:1], *one.peer_places)))


def references(places: Iterable[tuple[str, int | None, str]]) -> tuple[Ref, ...]:
    """Places of figures; the text is the name under which they stand there."""
    return tuple(Ref(file=file, line=line, text=name) for file, line, name in places)


def measured(case: Case, ranks: Iterable[int]) -> list[Claim]:
    """What was measured of the devices of these ranks that makes them slower: a monitor is another observer."""
    chosen = set(ranks)
    return [Claim(one.text, "for", one.refs) for one in case.apart if one.effect == "slows" and one.rank in chosen]


def hot(case: Case, ranks: Iterable[int]) -> list[Claim]:
    """That the devices of these ranks are hotter than their peers: it proves nothing, and says where to look."""
    chosen = set(ranks)
    odd = (one for one in case.apart if one.rank in chosen and one.quantity in _HEAT and one.value > one.centre)
    return [Claim(one.text, "for", one.refs) for one in odd]


def why(claims: Sequence[Claim]) -> str:
    """The first of them, as a sentence of the summary."""
    return words.MEASURED_FITS(what=first_clause(claims[0].text)) if claims else ""


def is_waited_for(case: Case, one: Outlier) -> bool:
    """Would the steps be shorter without what it takes longer? Yes, where they cannot be replayed."""
    return case.shares is None or one.rank in case.shares.ranks


def price(case: Case, slow: Sequence[Outlier]) -> str:
    """What the ranks cost every rank, in words: by replay; else what the costliest of them takes longer, empty where the length
    of a step is not known. Of phases that lie within each other, the longest: nobody costs more than the whole time."""
    if case.shares is not None:
        if not case.shares.ranks or {one.rank for one in slow}.isdisjoint(case.shares.ranks):
            return ""
        return words.COSTS_BY_REPLAY(percent=f"{100 * case.shares.by_culprits:.1f}")
    shares: dict[int, list[float]] = defaultdict(list)
    for one in slow:
        if one.share is not None:
            shares[one.rank].append(one.share)
    totals = (sum(own) if sum(own) <= 1 else max(own) for own in shares.values())
    worst = max((total for total in totals if total <= 1), default=0.0)
    return words.COSTS_ALL(percent=f"{100 * worst:.1f}") if worst > 0 else ""


def named(ranks: Sequence[int], case: Case) -> Said:
    """ "rank 5 (node-1)"."""
    places = sorted({place for rank in ranks if (place := hosts(case).get(rank))})
    return words.ON_HOSTS(ranks=ranks_text(ranks), hosts=joined(places[:4], ", ")) if places else ranks_text(ranks)


def figures(case: Case, ranks: Sequence[int]) -> pl.DataFrame:
    """Rows of phase_times of these ranks."""
    return case.phase_times.filter(pl.col("rank").is_in(list(ranks)))
