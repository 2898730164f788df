"""Do ranks announce different collectives at the same place? (TORCH_DISTRIBUTED_DEBUG=DETAIL)

The wrapper compares fingerprints before each collective. More than half of all members alike: the others are named.
Else, and always in a group of two, both sides are suspects. A fingerprint that never came says nothing.
"""

from collections import defaultdict
from typing import Any

from forensics.case import Case, Detector
from forensics.facts.event_rows import Row, detail, own_rank, refs, rows
from forensics.facts.progress import step_in_progress
from forensics.model.finding import Claim, Finding
from forensics.model.incident import BlastRadius, FirstAnomaly
from forensics.model.names import Reason
from forensics.model.texts import listed, ranks_text

_Print = tuple[Any, ...]


def _prints(row: Row) -> list[dict[str, Any]]:
    said = detail(row)
    return [said[side] for side in ("a", "b") if isinstance(said.get(side), dict)]


def _key(said: dict[str, Any]) -> _Print:
    return said["seq"], said["op"], said["shape"], said["dtypes"]


def _mapping(case: Case, found: list[dict[str, Any]]) -> dict[int, int] | None:
    """Printed numbers → global ranks; the wrapper's line does not name its group, the reporter's own number may tell."""
    numbers = sorted({said["rank"] for row in found for said in _prints(row)})
    known = [
        case.memberships.to_global(row, numbers, assume=own_rank(row) in (None, _prints(row)[0]["rank"]))
        for row in found
    ]
    return known[0] if known and all(mapping == known[0] for mapping in known) else None


def _size(case: Case, found: list[dict[str, Any]], everybody: set[int]) -> int | None:
    """Members of the group; None where it may have some that printed nothing."""
    if case.expected:
        return max(len(case.expected), len(everybody))
    reporters = {_prints(row)[0]["rank"] for row in found}
    return len(everybody) if reporters == everybody == set(range(len(everybody))) else None


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    found = [row for row in rows(case.events, "fingerprint_mismatch") if _prints(row)]
    if not found:
        return ()
    sides: dict[_Print, set[int]] = defaultdict(set)
    silent: set[int] = set()
    for said in (said for row in found for said in _prints(row)):
        if said["incomplete"]:
            silent.add(said["rank"])
        else:
            sides[_key(said)].add(said["rank"])
    everybody = set().union(*sides.values(), silent)
    mapping = _mapping(case, found)
    size = _size(case, found, everybody)
    major = max(sides, key=lambda key: (len(sides[key]), str(key)), default=None)
    odd = everybody - sides[major] - silent if major is not None else set()
    if mapping and odd and major is not None and size and size > 2 and 2 * len(sides[major]) > size:
        return (_finding(case, found, tuple(sorted(mapping[r] for r in odd)), (), sides[major], ()),)
    suspects = tuple(sorted(mapping[rank] for rank in everybody)) if mapping else ()
    reason: Reason = (
        "membership_unknown" if not mapping else "two_member_mismatch" if len(everybody) == 2 else "tied_explanations"
    )
    return (_finding(case, found, (), suspects, everybody, (reason,)),)


def _finding(
    case: Case,
    found: list[dict[str, Any]],
    named: tuple[int, ...],
    suspects: tuple[int, ...],
    others: set[int],
    undecided: tuple[Reason, ...],
) -> Finding:
    first = found[0]
    a, b = (*_prints(first), {})[:2]
    text = f"rank {a['rank']} announced {_words(a)}, rank {b.get('rank')} {_words(b)}"
    if named:
        summary = (
            f"{ranks_text(named).capitalize()} ran another collective than {listed(others)}, which are most members."
        )
    else:
        summary = f"Ranks {listed(others)} announced different collectives at the same place; the records do not tell which side is wrong."
    return Finding(
        detector=DETECTOR.name,
        cause="collective_mismatch",
        ranks=named,
        suspect_ranks=suspects,
        domain="workload",
        undecided=undecided,
        claims=(Claim(text, "for", refs(found)),),
        first_anomaly=FirstAnomaly(
            rank=named[0] if named else None,
            step=step_in_progress(case.tables["steps"]),
            op=first["op"],
            seq=first["seq"],
            signature=f"fingerprint:{first['op']}",
        ),
        blast_radius=BlastRadius(ranks_waiting=0),
        collect=() if named else ("the fingerprints that all other ranks printed, and flight-recorder dumps",),
        summary=summary,
    )


def _words(said: dict[str, Any]) -> str:
    if not said or said["incomplete"]:
        return "nothing that was received in time"
    parts = [str(said[name]) for name in ("op", "shape", "dtypes") if said[name]]
    return f"{' '.join(parts)} (number {said['seq']})"


DETECTOR = Detector("fingerprint_mismatch", ("events",), detect, "waiting")
