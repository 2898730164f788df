"""Do replicas that must be equal differ, though all values are finite? Then data was corrupted silently."""

from typing import Any

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import Row, describe, drawn, first_anomaly, name_of, ref, speaker, where
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.alike import FIGURES, common_factor, differ, is_lone
from forensics.graph.numerics.replicas import Before, Divergence, before, first_divergence, that_kept, without_own_ways
from forensics.graph.numerics.tensor_ops import newest_launch
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, to_do
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import numerics as words

_SAME = ("rank", "step", "microbatch", "chunk", "module", "tensor")
_COMPARED = 4  # outputs of each rank that were computed again
_MANY = 16  # times as many as differ


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the first disagreement of the newest launch, unless NaN or Inf came before it."""
    frame = newest_launch(case.tables["tensors"])
    if not frame.height:
        return ()
    bad = frame.filter(pl.col("bad") & pl.col("role").is_not_null())
    first_bad = bad["step"].min()
    if isinstance(first_bad, int):
        # What is each rank's own in every step does not come before it, either.
        frame = without_own_ways(frame.filter(pl.col("step") < first_bad))
    share = case.tolerances.replicas
    divergence, kept = _by_no_right(case, frame, share)
    recompute = _recompute(frame, share)
    found: list[Finding] = []
    if divergence is not None:
        found.append(
            _left_out(divergence, kept) if kept else _finding(divergence, before(frame, divergence, share), share)
        )
    if recompute is not None and (not found or recompute[1]["step"] <= (found[0].first_anomaly.step or 0)):
        found = [_recompute_finding(*recompute)]
    return tuple(found)


def _by_no_right(case: Case, frame: pl.DataFrame, share: float) -> tuple[Divergence | None, frozenset[int]]:
    """(the first disagreement, the few ranks whose update was zero in it), but for updates that the log says were skipped."""
    told = case.tables["steps"].filter(pl.col("skipped") > 0)
    skipped = set(told.select("rank", "step").drop_nulls().iter_rows())
    idle: dict[int, int] = {}
    while True:
        found = first_divergence(frame, share, idle)
        kept = that_kept(frame, found) if found is not None else frozenset()
        step = found.row[min(found.row)]["step"] if found is not None else 0
        if not kept or not all((rank, step) in skipped for rank in kept):
            return found, kept if found is not None and 2 * len(kept) < len(found.row) else frozenset()
        idle |= dict.fromkeys(kept, step)


def _left_out(divergence: Divergence, kept: frozenset[int]) -> Finding:
    """Weights that stayed while those of the other replicas moved: skipped on purpose, or forgotten; no fault of a device."""
    row = divergence.row[min(kept)]
    others = divergence.row.keys() - kept
    who, step = ranks_text(kept), row["step"]
    text = words.WEIGHTS_STAYED(who=who, step=step, others=ranks_text(others))
    return Finding(
        cause="replica_divergence",
        suspect_ranks=tuple(sorted(kept)),
        first_anomaly=first_anomaly(row, None, None, "left_out_update"),
        undecided=("tied_explanations",),
        claims=(
            Claim(words.AS_BEFORE(who=speaker(row["rank"]), where=where(row)), "for", (ref(row),)),
            Claim(words.OTHER_REPLICA_MOVED, "for", (ref(divergence.row[min(others)]),)),
        ),
        severity="severe",
        actions=(to_do("check_config", words.UPDATE_OF_STEP(step=step, who=who), words.SKIPPED_OR_NOT_RUN),),
        collect=(words.LOG_OF_THAT_STEP,),
        summary=words.UPDATE_LEFT_OUT(where=where(row), what=text),
    )


def _finding(divergence: Divergence, earlier: Before, share: float) -> Finding:
    divergence = earlier.used or divergence
    largest, *others = divergence.sides
    tie = 2 * len(largest) <= len(divergence.members) or len(largest) == len(others[0])
    minority = tuple(sorted(rank for side in others for rank in side))
    shown = min(largest if tie else minority)
    row, peer = divergence.row[shown], divergence.row[min(others[0] if tie else largest)]
    everyone = tuple(sorted((*largest, *minority)))
    form = words.NO_MAJORITY if tie else words.DIFFER if len(minority) > 1 else words.DIFFERS
    text = form(who=ranks_text(everyone if tie else minority), others=ranks_text(largest), where=where(row))
    return Finding(
        cause="replica_divergence",
        ranks=() if tie else minority,
        suspect_ranks=everyone if tie else (),
        first_anomaly=first_anomaly(row, None if tie else shown, None, "replica_divergence"),
        undecided=("replica_tie",) if tie else (),
        claims=(
            Claim(describe(row), "for", (ref(row),)),
            Claim(words.SAME_TENSOR_OTHER_FIGURES(who=speaker(peer["rank"])), "for", (ref(peer),)),
            *_between(earlier, row),
        ),
        severity="severe",
        actions=_by_what_differs(everyone if tie else minority, row, peer, tie),
        collect=(words.REPLAY_ELSEWHERE,) if tie else (),
        tensors=tuple(
            drawn(divergence.row[rank], rank, "finite", "root" if not tie and rank in minority else "infected")
            for rank in (minority or everyone)[:200]
        ),
        summary=joined((sentence(text), sentence(_within(share))), " ") if earlier.used else sentence(text, _within(share)),
    )  # fmt: skip


def _between(earlier: Before, row: Row) -> tuple[Claim, ...]:
    """What was equal after an update, and not when it was used next, changed where no program of training writes it."""
    equal = earlier.equal
    if earlier.used is None or equal is None:
        return ()
    return (Claim(advice.EQUAL_AFTER_UPDATE(step=equal["step"], used=row["step"]), "for", (ref(equal),)),)


def _by_what_differs(ranks: tuple[int, ...], row: Row, peer: Row, tie: bool) -> tuple[Action, ...]:
    """A whole tensor that one factor was multiplied into is a program's doing; a single element may be a flipped bit."""
    factor = common_factor(row, peer)
    if factor is None:
        return _actions(ranks, row["step"], advice.ONE_ELEMENT if is_lone(row, peer) else words.DIFFER_ON_FINITE)
    form = advice.WHAT_MULTIPLIES if tie else advice.WHAT_MULTIPLIES_ON
    reason = advice.ALL_BY_FACTOR(factor=f"{factor:.5g}")
    check = to_do("check_code", form(tensor=name_of(row), who=ranks_text(ranks)), reason)
    return (check, *_actions(ranks, row["step"], words.DIVERGED)[1:])


def _actions(ranks: tuple[int, ...], step: int, reason: str) -> tuple[Action, ...]:
    target = ranks_text(ranks) if ranks else words.NO_RANK
    return (to_do("inspect_hardware", target, reason), to_do("rollback", before_step(step), words.DIVERGED))


def _within(share: float) -> Said:
    return words.MUST_BE_NEAR(percent=f"{100 * share:.4g}") if share else words.MUST_BE_EQUAL


def _recompute(frame: pl.DataFrame, share: float) -> tuple[dict[str, Any], dict[str, Any], bool] | None:
    """(forward row, recompute row, whether inputs are told) of the first finite output that differs though all inputs were equal."""
    is_fine = ~pl.col("bad").fill_null(pl.col("checksum").is_null())
    passes = frame.filter(pl.col("phase").is_in(["forward", "recompute"]) & is_fine)
    again = passes.filter(pl.col("phase") == "recompute")
    if not again.height:
        return None
    before = passes.filter(pl.col("phase") == "forward").unique(_SAME, keep="first", maintain_order=True)
    pairs = again.join(before, on=_SAME, how="inner", nulls_equal=True, suffix="_before", maintain_order="left")
    unlike = (pl.col(name) != pl.col(f"{name}_before") for name in ("checksum", *FIGURES))
    pairs = pairs.with_columns(differ=differ(_both, share) if share else pl.any_horizontal(unlike).fill_null(False))
    fed = (pl.col("differ") & (pl.col("role") == "in")).any().over("operation")
    given = (pl.col("role") == "in").any().over("operation")
    odd = pairs.filter(pl.col("differ") & (pl.col("role") == "out") & ~fed & given).sort("step", "place")
    odd = _alone(pairs) if odd.is_empty() and not (pairs["role"] == "in").any() else odd
    if not odd.height:
        return None
    rows = {row["place"]: row for row in frame.filter(
        pl.col("place").is_in([odd["place"][0], odd["place_before"][0]])).iter_rows(named=True)}  # fmt: skip
    return rows[odd["place_before"][0]], rows[odd["place"][0]], bool((pairs["role"] == "in").any())


def _alone(pairs: pl.DataFrame) -> pl.DataFrame:
    """Where no input is told: what differs, in order, if it is so on one rank of several, in few comparisons, and in none of a step before; a program whose
    repeat is not the same bit by bit differs everywhere."""
    odd = pairs.filter("differ").sort("step", "place")
    ranks = pairs.group_by("rank").agg(pl.len(), pl.col("differ").sum().alias("_odd"))
    is_one = odd["rank"].n_unique() == 1 and ranks.height > 1 and ranks["len"].min() >= _COMPARED  # type: ignore[operator]
    is_late = odd["step"].min() != pairs["step"].min() or pairs.height >= _MANY * odd.height
    is_lone_one = is_one and is_late and 2 * odd.height < pairs.filter(pl.col("rank") == odd["rank"][0]).height
    return odd if is_lone_one else odd.clear()


def _both(name: str) -> tuple[pl.Expr, pl.Expr]:
    before = f"{name}_before"
    known = pl.col(name).is_not_null() & pl.col(before).is_not_null()
    return pl.when(known).then(pl.min_horizontal(name, before)), pl.when(known).then(pl.max_horizontal(name, before))


def _recompute_finding(forward: dict[str, Any], again: dict[str, Any], given: bool) -> Finding:
    rank, who = again["rank"], speaker(again["rank"])
    after = words.AT(who=who, where=where(forward))
    form = words.RECOMPUTE_DIFFERS if given else advice.REPEAT_DIFFERS
    return Finding(
        cause="replica_divergence",
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(again, rank, after, "replica_divergence"),
        claims=(
            Claim(words.FORWARD_GAVE_OTHERS(who=who), "for", (ref(forward),)),
            Claim(describe(again), "for", (ref(again),)),
        ),
        severity="severe",
        actions=_actions((rank,) if rank >= 0 else (), again["step"], words.DIFFER_ON_FINITE),
        summary=form(who=who, where=where(again)),
    )


DETECTOR = Detector("replica_divergence", ("tensors",), detect, "bad_value")
