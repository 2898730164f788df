"""Do ranks wait for each other in a circle, by the arguments of the sends and receives in their stacks, or by their own lines on
messages that they gave up?

Method: every rank in a message waits for one other, so the graph has one edge a rank and its cycles are found by walking it. A pair
of which one sends what the other receives is a message on its way, and no circle. In a collective the neighbours in its ring wait for each
other in any case, so only messages count. Who gave up two messages with different ranks waits for nobody that is known.
"""

from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import of_kinds, own_rank, refs
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text
from forensics.words import ranks as words
from parsers.text.unanimous import unanimous

_MESSAGES = ("send", "recv")


class _Wait(msgspec.Struct, frozen=True):
    """Of one rank. `stood`: it is known that it stood there for long."""

    peer: int
    op: str | None
    ref: Ref
    stood: bool


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → one finding per circle, only where no operation is recorded as open."""
    if case.states.open.height:
        return ()
    waits = _in_stacks(case) | _given_up(case)
    found = cycles({rank: one.peer for rank, one in waits.items()})
    on_its_way = [one for one in found if len(one) == 2 and waits[one[0]].op != waits[one[1]].op]
    return tuple(_finding(case, cycle, waits) for cycle in found if cycle not in on_its_way)


def _in_stacks(case: Case) -> dict[int, _Wait]:
    if not case.stacks.height:
        return {}
    told = case.stacks.filter((pl.col("source") != "traceback") & (pl.col("site") == "communication"))
    return {
        row["rank"]: _Wait(row["peer"], row["op"], stack_ref(row), row["moving"] is not None)
        for row in told.drop_nulls(["rank", "peer"]).iter_rows(named=True)
    }


def _given_up(case: Case) -> dict[int, _Wait]:
    """Messages that ranks say themselves that they gave up, one of each."""
    told = of_kinds(case.events, "collective_timeout")
    of_one = (pl.col("names_ranks").list.len() == 1) & (pl.col("names_rank_space") == "global")
    lines = told.filter(of_one & pl.col("op").is_in(_MESSAGES)).iter_rows(named=True)
    said = [(rank, row) for row in lines if (rank := own_rank(row)) is not None]
    one: dict[int, int] = unanimous((rank, row["names_ranks"][0]) for rank, row in said)
    return {rank: _Wait(one[rank], row["op"], refs([row])[0], True) for rank, row in said if rank in one}


def cycles(waits: Mapping[int, int]) -> list[tuple[int, ...]]:
    """Rank → whom it waits for; the circles, each in its own order from its lowest rank."""
    found: list[tuple[int, ...]] = []
    done: set[int] = set()
    for first in sorted(waits):
        path: dict[int, None] = {}
        at: int | None = first
        while at is not None and at not in done and at not in path:
            path[at] = None
            at = waits.get(at)
        if at in path:
            order = list(path)
            found.append(tuple(order[order.index(at) :]))
        done |= path.keys()
    return [one for one in found if len(one) > 1]


def _finding(case: Case, cycle: tuple[int, ...], waits: Mapping[int, _Wait]) -> Finding:
    claims = []
    for rank, own in ((rank, waits[rank]) for rank in cycle[:4]):
        who, peer = ranks_text([rank]), ranks_text([own.peer])
        text = words.WAITS_FOR_PEER(who=who, call=own.op or words.A_MESSAGE, peer=peer)
        claims.append(Claim(text, "for", (own.ref,)))
    stood = all(waits[rank].stood for rank in cycle)
    return Finding(
        cause="deadlock_cycle",
        cycle=tuple(sorted(cycle)),
        domain="workload",
        claims=tuple(claims),
        undecided=() if stood else ("single_snapshot",),
        first_anomaly=FirstAnomaly(step=case.step_in_progress(cycle[0]), signature="stack_cycle"),
        blast_radius=BlastRadius(ranks_waiting=len(cycle)),
        collect=() if stood else (words.SECOND_STACKS,),
        summary=words.STACK_CYCLE(who=ranks_text(sorted(cycle))),
    )


DETECTOR = Detector("stack_cycle", (), detect, "waiting")
