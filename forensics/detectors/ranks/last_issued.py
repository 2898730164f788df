"""Which rank did not issue the collective that all others of its communicator issued last?

NCCL and its kin print a line per collective when it is enqueued (subsystem COLL), numbered per communicator: the same for
every member. A member whose last number stands before that of all others is absent from what they wait in; one whose last
call differs from theirs brings a mismatch. Lines of several communicators form a graph: only a rank that nobody else holds
back is named. That a line is missing may also be a log without its end, so without time-outs of the others, or where the
log breaks off, it is a hypothesis or less. Batches of sends and receives count unevenly; there nothing is compared.
Method: the maintainers' own, NVIDIA/nccl issues 147 and 296.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.event_rows import own_rank, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text
from parsers.tables import spelled

_RECENT = 16  # numbers before the last one that calls are compared in
_FEWEST = 4  # members, where no time-out says that the others wait
_ENDINGS = ("exit", "closing_signal", "job_end", "comm_destroy", "scheduler")  # a job that ends leaves logs uneven, too


@dataclass(frozen=True, slots=True)
class _Comm:
    """A communicator: `at` says how far each member came (-1: not one call, though its log has calls of others)."""

    name: str
    size: int
    at: Mapping[int, int]
    lasts: Mapping[int, dict[str, Any]]  # rank → its last line
    lost: frozenset[int]  # members of whose calls nothing is known, as far as these are known
    uneven: bool  # holds sends and receives

    @property
    def front(self) -> int:
        return max(self.at.values())

    def behind(self) -> frozenset[int]:
        return frozenset(rank for rank, place in self.at.items() if place < self.front)

    def is_held(self, rank: int) -> bool:
        """Has another member not issued what this rank issued last?"""
        return rank in self.at and any(place < self.at[rank] for place in self.at.values())


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: a mismatch, else who is behind; only where no flight record tells more."""
    if case.has_open_operations:
        return ()
    issued = _issued(case)
    if issued.is_empty():
        return ()
    found = _mismatch(case, issued) or _behind(case, _comms(case, issued))
    return (found,) if found else ()


def _issued(case: Case) -> pl.DataFrame:
    """Lines of collectives with `name` and `size` of their communicator, ranks known."""
    known = case.tables["groups"].filter(
        pl.col("comm").is_not_null() & pl.col("group").is_not_null() & (pl.col("comm") != pl.col("group"))
        & pl.col("size").is_not_null()
    )  # fmt: skip
    stated = known.select("group", pl.col("comm").alias("name"), "size").unique()
    single = stated.filter(pl.len().over("group") == 1)  # a pointer that served twice tells nothing
    if not single.height:
        single = _of_all(case)
    calls = case.tables["operations"].select(
        "rank", "comm", "seq", "kind", "root", "input_sizes", "input_dtypes", "is_p2p", "file", "line"
    )
    lines = calls.filter(
        pl.col("comm").is_not_null() & pl.col("line").is_not_null() & pl.col("rank").is_not_null()
        & pl.col("seq").is_not_null()
    )  # fmt: skip
    return spelled(lines).join(single, left_on="comm", right_on="group", how="inner")


def _of_all(case: Case) -> pl.DataFrame:
    """group, name, size where no id is printed: each process set up just one communicator of all ranks, so it is the same."""
    world = len(case.expected)
    every = case.tables["groups"].filter(
        (pl.col("comm") == pl.col("group")) & (pl.col("size") == world) & pl.col("rank").is_not_null()
    ).select("group", "rank", "size").unique()  # fmt: skip
    alone = world > 1 and every.height > 0 and every["rank"].is_unique().all()
    named = every.select("group", pl.lit("of all ranks").alias("name"), "size")
    return named if alone else named.clear()


def _comms(case: Case, issued: pl.DataFrame) -> list[_Comm]:
    uneven = set(issued.filter(pl.col("is_p2p").fill_null(False))["name"].to_list())
    ends = issued.sort("seq", "file", "line").group_by("name", "size", "rank", maintain_order=True).last()
    begun = case.events.filter(
        pl.col("kind").is_in(["comm_init_start", "comm_init_complete"]) & (pl.col("rank_space") == "global")
    )
    members: dict[str, set[int]] = defaultdict(set)
    for name, rank in begun.select("group", "rank").drop_nulls().unique().iter_rows():
        members[name].add(rank)
    speaking = set(issued["rank"].to_list())
    result = []
    for (name, size), part in ends.sort("name", "rank").group_by(["name", "size"], maintain_order=True):
        lasts = {row["rank"]: row for row in part.iter_rows(named=True)}
        known = members[str(name)] | (set(case.expected) if size == len(case.expected) else set())
        at = dict.fromkeys(known & speaking, -1) | {rank: row["seq"] for rank, row in lasts.items()}
        result.append(_Comm(str(name), int(size), at, lasts, frozenset(known - at.keys()), name in uneven))
    return result


def _behind(case: Case, comms: list[_Comm]) -> Finding | None:
    even = [comm for comm in comms if not comm.uneven]
    late = {rank for comm in even for rank in comm.behind()}
    first = {rank for rank in late if not any(comm.is_held(rank) for comm in even)}
    timed_out = {own_rank(row) for row in rows(case.events, "collective_timeout")}
    free = tuple(sorted(first - timed_out))  # who timed out waited: its log lacks a line, or it waits elsewhere
    split = [comm for comm in even if set(free) & comm.behind()]
    if not split:
        return None
    main = max(split, key=lambda comm: (len(comm.at), comm.name))
    ahead = tuple(sorted(main.at.keys() - main.behind()))
    if main.size > 2 and 2 * len(free) >= len(main.at):
        return None
    waiting = tuple(rank for rank in ahead if rank in timed_out)
    if not waiting and (main.size < _FEWEST or not _is_alone(main, free) or rows(case.events, *_ENDINGS)):
        return None
    doubt = _doubt(case, comms, main, free)
    if doubt is None and first & timed_out:
        doubt = "culprit_among_missing", free
    return _finding(case, main, free, ahead, waiting, doubt)


def _is_alone(comm: _Comm, free: tuple[int, ...]) -> bool:
    """One rank behind, all others at one place, and logs of their own: the end of a shared log cuts off whoever prints
    last."""
    others = [rank for rank in comm.at if rank not in free]
    own = {comm.lasts[rank]["file"] for rank in free if rank in comm.lasts}
    apart = own and not own & {comm.lasts[rank]["file"] for rank in others if rank in comm.lasts}
    return len(free) == 1 and bool(apart) and {comm.at[rank] for rank in others} == {comm.front}


def _doubt(case: Case, comms: list[_Comm], main: _Comm, free: tuple[int, ...]) -> tuple[Reason, tuple[int, ...]] | None:
    """Why the ranks that are behind must not be named, and the suspects; None: nothing speaks against it."""
    if main.size == 2:
        return "two_member_mismatch", tuple(sorted(main.at))
    if _is_cut(case, main, free):
        return "culprit_among_missing", free
    # They may wait for a member, or for a message, that no line tells of.
    open_ended = [c for c in comms if set(free) & c.at.keys() and (c.uneven or len(c.at) < c.size)]
    if not open_ended:
        return None
    unknown = {rank for comm in open_ended for rank in (comm.lost | (comm.at.keys() if comm.uneven else set()))}
    is_known = all(len(comm.at) + len(comm.lost) >= comm.size for comm in open_ended)
    suspects = tuple(sorted({*free, *unknown} - (main.at.keys() - main.behind()))) if is_known else ()
    return "culprit_among_missing", suspects


def _is_cut(case: Case, comm: _Comm, free: tuple[int, ...]) -> bool:
    """Does a log go on with a line of a collective that breaks off? Then it was issued."""
    broken = case.tables["operations"].filter(
        pl.col("comm").is_null()
        & pl.col("line").is_not_null()
        & pl.col("rank").is_in(free)
        & pl.col("seq").is_not_null()
    )
    return any(
        row["file"] == comm.lasts[row["rank"]]["file"] and row["line"] > comm.lasts[row["rank"]]["line"]
        for row in broken.iter_rows(named=True)
        if row["rank"] in comm.lasts
    )


def _refs(comm: _Comm, ranks: tuple[int, ...], most: int = 2) -> tuple[Ref, ...]:
    found = [comm.lasts[rank] for rank in ranks[:most] if rank in comm.lasts]
    return tuple(
        Ref(file=row["file"], line=row["line"], text=f"{row['kind']}: opCount {row['seq']:x}") for row in found
    )


def _finding(
    case: Case, comm: _Comm, free: tuple[int, ...], ahead: tuple[int, ...], waiting: tuple[int, ...],
    doubt: tuple[Reason, tuple[int, ...]] | None,
) -> Finding:  # fmt: skip
    first = comm.lasts[ahead[0]]
    own = ", ".join(f"{comm.at[rank]:#x}" if comm.at.get(rank, -1) >= 0 else "none" for rank in free[:3])
    text = f"{ranks_text(ahead)} issued {first['kind']} {first['seq']:#x} of communicator {comm.name}; the last that {ranks_text(free)} issued is {own}"
    claims = [Claim(text, "for", (*_refs(comm, free), *_refs(comm, ahead, 1)))]
    if waiting:
        claims.append(Claim(f"{ranks_text(waiting)} timed out waiting, {ranks_text(free)} did not", "for"))
    reasons: tuple[Reason, ...] = (doubt[0],) if doubt else ()
    limit = "" if waiting else " Nothing shows that the others wait: the log may only lack its end."
    return Finding(
        detector=DETECTOR.name,
        cause=None if doubt else "rank_absent",
        ranks=() if doubt else free,
        suspect_ranks=doubt[1] if doubt else (),
        undecided=reasons if waiting else (*reasons, "single_snapshot"),
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(
            rank=None if doubt else free[0], step=step_in_progress(case.tables["steps"], free[0]), op=first["kind"], group=comm.name,
            seq=first["seq"], signature=f"never_issued:{first['kind']}",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(ahead), groups=[comm.name]),
        collect=(f"py-spy dump of {ranks_text(free)}, and its whole log",),
        summary=f"{text[:1].upper()}{text[1:]}.{limit}",
    )  # fmt: skip


def _mismatch(case: Case, issued: pl.DataFrame) -> Finding | None:
    """The first number, of the last ones, under which members of a whole communicator issued different calls."""
    batched = pl.col("is_p2p").fill_null(False) | (pl.len().over("name", "rank", "seq") > 1)
    recent = issued.filter(
        (pl.col("seq") + _RECENT > pl.col("seq").max().over("name")) & ~batched.any().over("name")
    ).with_columns(
        call=pl.concat_str(
            "kind",
            pl.when(pl.col("kind") != "all_to_all").then("input_sizes").fill_null(""),
            "input_dtypes",
            pl.col("root").cast(pl.String).fill_null(""),
        )
    )
    split = recent.filter(pl.col("call").n_unique().over("name", "seq") > 1).sort("seq", "name", "rank")
    if split.is_empty():
        return None
    here = split.filter((pl.col("seq") == split["seq"][0]) & (pl.col("name") == split["name"][0]))
    votes = Counter(here["call"].to_list())
    usual = min(votes, key=lambda call: (-votes[call], call))
    size = int(here["size"][0])
    odd, even = here.filter(pl.col("call") != usual), here.filter(pl.col("call") == usual)
    few, many = tuple(odd["rank"].to_list()), tuple(even["rank"].to_list())
    decided = size > 2 and 2 * len(many) > size
    reasons: tuple[Reason, ...] = () if decided else ("two_member_mismatch" if size == 2 else "tied_explanations",)
    waited = case.has_waited
    if not waited and rows(case.events, *_ENDINGS):
        return None
    one, other = odd.row(0, named=True), even.row(0, named=True)
    text = f"under number {one['seq']:#x} of communicator {one['name']} {ranks_text(few)} issued {_words(one)}, {ranks_text(many)} {_words(other)}"
    refs = tuple(Ref(file=row["file"], line=row["line"], text=_words(row)) for row in (one, other))
    return Finding(
        detector=DETECTOR.name,
        cause="collective_mismatch",
        ranks=few if decided else (),
        suspect_ranks=() if decided else tuple(sorted((*few, *many))),
        domain="workload",
        undecided=reasons if waited else (*reasons, "single_snapshot"),
        claims=(Claim(text, "for", refs),),
        first_anomaly=FirstAnomaly(
            rank=few[0] if decided else None, step=step_in_progress(case.tables["steps"], few[0]), op=one["kind"], group=one["name"],
            seq=one["seq"], signature=f"mismatch:{one['kind']}",
        ),
        blast_radius=BlastRadius(ranks_waiting=len(many), groups=[one["name"]]),
        summary=f"{text[:1].upper()}{text[1:]}.",
    )  # fmt: skip


def _words(row: Mapping[str, Any]) -> str:
    root = "" if row["root"] is None else f" root {row['root']}"
    return (
        f"{row['kind']} of {str(row['input_sizes']).strip('[]')} {str(row['input_dtypes']).strip('[]')}{root}".replace(
            '"', ""
        )
    )


DETECTOR = Detector("last_issued", ("operations", "groups"), detect, "waiting")
