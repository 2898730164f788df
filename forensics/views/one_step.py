"""One step of middle length, operation by operation, of who is at fault, of a peer of theirs, and of a rank of each stage."""

from collections.abc import Mapping

import polars as pl

from forensics.case import Case
from forensics.model.drawn import OneStep, StepSpan, StepTrack
from forensics.model.finding import Finding

_CULPRITS, _TRACKS, _SPANS = 4, 12, 200


def one_step(case: Case, finding: Finding) -> OneStep | None:
    """Case and the chosen finding → the step to draw; None where no replay meets what was measured."""
    replays = case.replays
    if replays is None or replays.shares is None:
        return None
    part = replays.parts[0]
    order = part.measured.arg_sort()
    at = int(order[len(order) // 2])
    step = part.program.steps[at]
    rows = replays.operations.filter(pl.col("step") == step).sort("rank", "start_ms", "end_ms", "kind", "number")
    begin: float = min(rows["start_ms"].to_list())
    ranks = rows["rank"].unique().sort().to_list()
    culprits = sorted(finding.subjects & {*ranks})[:_CULPRITS]
    stages = {rank: replays.layout.get(rank, {}).get("pp") for rank in ranks}
    tracks = []
    for rank in _chosen(ranks, culprits, stages):
        spans = _spans(rows.filter(rank=rank), begin)
        tracks.append(StepTrack(rank=rank, stage=stages[rank], is_culprit=rank in culprits, spans=spans))
    return OneStep(step=step, ms=round(float(part.measured[at]), 3), tracks=tracks, ranks=len(ranks))


def _chosen(ranks: list[int], culprits: list[int], stages: Mapping[int, int | None]) -> list[int]:
    peers = {stages[rank]: rank for rank in reversed(ranks) if rank not in culprits}
    chosen = [*culprits, *(peers[stage] for stage in sorted(peers, key=lambda stage: (stage is None, stage)))]
    chosen += [rank for rank in ranks if rank not in chosen]
    return sorted(chosen[:_TRACKS], key=lambda rank: (stages[rank] is None, stages[rank], rank))


def _spans(own: pl.DataFrame, begin: float) -> list[StepSpan]:
    """The longest operations of a rank, in order."""
    shown = own.sort(pl.col("end_ms") - pl.col("start_ms"), descending=True, maintain_order=True).head(_SPANS)
    told = shown.sort("start_ms", "end_ms", "kind").select("start_ms", "end_ms", "kind", "sort").rows()
    return [
        StepSpan(start_ms=round(start - begin, 3), end_ms=round(end - begin, 3), kind=kind, sort=sort if sort in ("host", "wait") else "work")
        for start, end, kind, sort in told
    ]  # fmt: skip
