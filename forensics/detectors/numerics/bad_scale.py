"""Did a scale of a scaled format (FP8) become infinite or no number?

A scale is the largest value of the format over the largest that was seen (amax): of an amax that is 0, of an unused block or a
tensor that is all zero, it has no finite value unless the recipe guards it, and all that is multiplied by it is lost. The
scale is state, so what goes bad behind it has its cause there. Amax 0 alone is legal. Several ranks at once, or all
replicas of a module, have it from their program or recipe. Source: Transformer Engine's delayed and current scaling.
"""

from collections.abc import Sequence

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import Row, ref, same, where
from forensics.facts.figures.scales import bad_scales
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import formats as words

_MANY = 0.5  # of the ranks that report scales, and more than two


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the ranks whose scales were bad first, by step."""
    told = case.tables["tensors"].filter(pl.col("scale").is_not_null() & pl.col("rank").is_not_null())
    bad = bad_scales(told)
    if not bad.height:
        return ()
    first = bad.filter(pl.col("step").eq_missing(bad["step"][0]))
    ranks = tuple(sorted(set(first["rank"].to_list())))
    of_program = len(ranks) > 2 and len(ranks) >= _MANY * told["rank"].n_unique()
    row = first.row(0, named=True)
    value = "nan" if row["scale"] != row["scale"] else "inf"
    form = words.SCALE_OF_FORMAT_IS if row["format"] else words.SCALE_IS
    text = form(where=where(row), format=row["format"], value=words.VALUE[value])
    if row["amax"] == 0:
        text = words.AMAX_IS_ZERO(scale=text)
    before = told.filter(same(row, "rank", "module", "tensor"), pl.col("step") < row["step"]).sort("step")
    claims = [Claim(text, "for", (ref(row),))]
    if before.height:
        last = before.row(-1, named=True)
        was = words.SCALE_WAS(step=last["step"], scale=f"{last['scale']:.4g}", amax=last["amax"])
        claims.append(Claim(was, "for", (ref(last),)))
    return (
        Finding(
            cause="bad_state",
            ranks=() if of_program else ranks,
            domain="workload" if of_program else "unknown",
            severity="fatal",
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(
                rank=None if of_program else row["rank"], step=row["step"], microbatch=row["microbatch"], phase=row["phase"],
                module=row["module"], op=row["op"], tensor=row["tensor"], value=value,
                signature=f"bad_scale/{row['module']}",
            ),
            actions=(
                *_of_zeros(told, row, ranks),
                to_do("check_config", words.RECIPE_AND_FORMAT, words.SCALE_LOSES_ALL),
            ),
            summary=words.SCALE_BECAME(value=words.VALUE[value], who=ranks_text(ranks), what=text),
        ),
    )  # fmt: skip


def _of_zeros(told: pl.DataFrame, row: Row, ranks: Sequence[int]) -> tuple[Action, ...]:
    """Of a tensor that is all zero where other ranks hold numbers, what made it so comes before the scale."""
    there = same(row, "step", "microbatch", "phase", "module", "tensor") & ~pl.col("rank").is_in(list(ranks))
    others = told.filter(there)["absmax"].drop_nulls()
    most = others.max()
    if row["amax"] != 0 or row["absmax"] != 0 or not isinstance(most, float) or not others.min():
        return ()
    target = advice.ZEROS_OF(module=row["module"] or row["op"], who=ranks_text(ranks))
    reason = advice.ZEROS_THERE_ALONE(tensor=row["tensor"], most=f"{most:.4g}")
    return (to_do("check_code", target, reason),)


DETECTOR = Detector("bad_scale", ("tensors",), detect, "bad_value")
