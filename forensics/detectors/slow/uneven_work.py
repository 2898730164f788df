"""Is the work itself uneven: a pipeline stage that has more to do, or micro-batches of unequal cost?

Told by replay (graph/slow/shares.py): the steps would be shorter if all stages, or all micro-batches of a stage, took equally long,
and no few ranks alone explain it. A stage is told only where each of its ranks works longer than the other stages do. A stage that
one rank or one host holds may be slow by that. Long sequences make forward and backward of the same micro-batch long, on any rank
and another one each time; what varies otherwise is not explained. Nobody is named: no device is at fault.
"""

from collections.abc import Iterator

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.slow import peers
from forensics.graph.slow.shares import MATTERS, Shares
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import ranks_text
from forensics.words import slow as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    shares = case.shares
    if shares is None or case.replays is None:
        return ()
    of_stages = shares.by_stages if shares.longest is not None else 0.0
    of_batches = shares.by_batches if shares.is_by_data else 0.0
    if max(of_stages, of_batches) < max(MATTERS, shares.by_culprits):
        return ()
    told = []
    if of_batches >= MATTERS:
        text = words.BATCHES_DIFFER(spread=f"{100 * shares.spread:.0f}", percent=f"{100 * of_batches:.1f}")
        told.append((of_batches, text, words.PACK_EVENLY, _batches(case.replays.operations)))
    if of_stages >= MATTERS:
        text = _stage(shares)
        told.append((of_stages, text, words.SPLIT_UNEVENLY(stage=shares.longest), _of_stage(case, shares)))
    told.sort(key=lambda one: -one[0])
    hosts = {peers.hosts(case).get(rank) for rank in shares.of_longest}
    is_alone = told[0][0] == of_stages and (len(shares.of_longest) == 1 or (len(hosts) == 1 and None not in hosts))
    return (
        Finding(
            cause="imbalance",
            domain="workload",
            undecided=("membership_unknown",) if is_alone else (),
            first_anomaly=FirstAnomaly(step=case.replays.first_step, signature="imbalance"),
            claims=tuple(Claim(text, "for", tuple(refs)) for _, text, _, refs in told),
            actions=tuple(to_do("check_config", "job", plan) for _, _, plan, _ in told),
            collect=(words.STAGES_CLOCKS,) if is_alone else (),
            summary=joined(
                (
                    words.SLOW(what=joined([text for _, text, _, _ in told], "; ")),
                    words.NOBODY_NAMED(why=words.STAGE_OF_ONE) if is_alone else _besides(shares),
                ),
                " ",
            ),
        ),
    )


def _besides(shares: Shares) -> Said:
    """What the replay says of single ranks."""
    told = [*shares.ranks, *(rank for link in shares.links for rank in link)]
    if not told:
        return words.NO_RANK_HEALS
    return words.RANKS_BESIDES(who=ranks_text(sorted(set(told))), percent=f"{100 * shares.by_culprits:.1f}")


def _stage(shares: Shares) -> Said:
    text = words.STAGE_HAS_MORE(
        stage=shares.longest, times=f"{shares.ratio:.2f}", ranks=ranks_text(shares.of_longest),
        percent=f"{100 * shares.by_stages:.1f}",
    )  # fmt: skip
    ends = {0: words.FIRST_STAGE, shares.stages - 1: words.LAST_STAGE}
    return joined((text, ends.get(shares.longest, "")), "; ") if shares.longest in ends else text


def _batches(operations: pl.DataFrame) -> Iterator[Ref]:
    """The longest and the shortest micro-batch of the kind of work that takes most."""
    took = operations.filter(pl.col("sort") == "work").with_columns(ms=pl.col("end_ms") - pl.col("start_ms"))
    most = took.group_by("kind").agg(pl.col("ms").sum()).sort("ms", "kind")["kind"][-1]
    order = took.filter(pl.col("kind") == most).sort("ms", "rank", "step", "number")
    for row in (order.row(-1, named=True), order.row(0, named=True)):
        yield Ref(file=row["file"], line=row["line"], text=row["kind"])


def _of_stage(case: Case, shares: Shares) -> Iterator[Ref]:
    """Work of a rank of that stage, and of one of another."""
    assert case.replays is not None
    work = case.replays.operations.filter(pl.col("sort") == "work").sort("step", "rank", "start_ms")
    inside = pl.col("rank").is_in(shares.of_longest)
    for rows in (work.filter(inside), work.filter(~inside)):
        for row in rows.head(1).iter_rows(named=True):
            yield Ref(file=row["file"], line=row["line"], text=row["kind"])


DETECTOR = Detector("uneven_work", ("timings",), detect, "slow")
