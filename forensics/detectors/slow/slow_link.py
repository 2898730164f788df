"""Between which ranks does a transfer take longer than between others that do the same, so that the steps would be shorter without?

Told by replay (graph/slow/shares.py): what a send and its receive take after both have come is the link's. Which end of it is slow
nobody can say: both are suspects.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.ref import Ref
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import slow as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the ranks that share a slow link."""
    shares, replays = case.shares, case.replays
    if shares is None or replays is None or not shares.links or shares.ranks:
        return ()
    ranks = tuple(sorted({rank for link in shares.links for rank in link}))
    who = joined([ranks_text(link) for link in shares.links], ", ")
    text = words.LINK_TAKES_LONGER(who=who)
    claims = []
    for part in replays.parts[:1]:
        for link in shares.links[:4]:
            nodes = part.nodes.filter(who=",".join(map(str, link)))
            kind = nodes.sort("ms")["kind"][-1]
            shown = replays.operations.filter(rank=link[0], kind=kind).sort("step", "number").head(1)
            refs = tuple(Ref(file=row["file"], line=row["line"], text=kind) for row in shown.iter_rows(named=True))
            own, level = (_middle(each.filter(kind=kind)) for each in (nodes, part.nodes))
            said = words.TRANSFER_TAKES(kind=kind, ranks=ranks_text(link), own=f"{own:.4g}", level=f"{level:.4g}")
            claims.append(Claim(said, "for", refs))
    return (
        Finding(
            cause="straggler_network",
            domain="infrastructure",
            suspect_ranks=ranks,
            undecided=("tied_explanations",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(step=replays.first_step, phase="comm", signature="slow_network"),
            actions=(to_do("inspect_network", ranks_text(ranks), text),),
            collect=(words.PORT_COUNTERS,),
            summary=joined(
                (words.SLOW(what=text), words.COSTS_BY_REPLAY(percent=f"{100 * shares.by_culprits:.1f}")), " "
            ),
        ),
    )


def _middle(nodes: pl.DataFrame) -> float:
    value = nodes["ms"].median()
    return value if isinstance(value, float) else 0.0


DETECTOR = Detector("slow_link", ("timings",), detect, "slow")
