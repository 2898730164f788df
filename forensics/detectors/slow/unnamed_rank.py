"""Is somebody slow in a log whose lines do not say of which rank they are?

Programs that every rank runs print the same line per step, and a launcher mixes them without a prefix (accelerate, Fabric,
`srun` without `-l`). Which line is whose cannot be told, but a step of which one line shows far more work or loading than all
others, step after step, has a slow rank. Nobody is named. A pipeline or experts may be uneven by design.
"""

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.durations.phase_times import with_sort
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.words import slow as words
from parsers.text.durations import sort_of

_RANKS = (3, 64)  # lines of one step that are compared
_STEPS, _SHARE = 8, 0.75  # at least so many last steps, and in how many of them one line must stand apart
_APART, _OF_STEP = 1.1, 0.05  # above the second slowest, and of the time of the step


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the phase in which one line of most of the last steps stands apart."""
    if case.roles.is_piped or case.roles.has_experts:
        return ()
    steps = _steps(case.tables["timings"])
    found = []
    for (file, phase), part in steps.partition_by("file", "phase", as_dict=True).items():
        last = part.sort("step").tail(max(_STEPS, part.height // 2))
        if last.height >= _STEPS and last["lines"].n_unique() == 1 and last["apart"].mean() >= _SHARE:  # type: ignore[operator]
            found.append((str(file), str(phase), last))
    return tuple(_finding(*one) for one in sorted(found, key=lambda one: one[:2])[:1])


def _steps(timings: pl.DataFrame) -> pl.DataFrame:
    """file, phase, step, lines, ms (of the slowest), second, line, apart."""
    told = timings.filter(
        pl.col("rank").is_null() & pl.col("step").is_not_null() & (pl.col("value_ms") > 0) & pl.col("line").is_not_null()
        & (pl.col("level").fill_null(0) == 0)
    ).with_columns(pl.col("phase").str.to_lowercase())  # fmt: skip
    told = with_sort(told)
    whole = told.filter(pl.col("sort") == "whole").group_by("file", "step").agg(pl.col("value_ms").max().alias("whole"))
    parts = told.filter(pl.col("sort").is_in(["work", "host"])).sort("value_ms", "line", descending=[True, False])
    rows = parts.group_by("file", "phase", "step", maintain_order=True).agg(
        pl.len().alias("lines"), pl.col("value_ms").first().alias("ms"), pl.col("value_ms").slice(1, 1).first().alias("second"),
        pl.col("line").first(),
    )  # fmt: skip
    rows = rows.filter(pl.col("lines").is_between(*_RANKS)).join(whole, on=["file", "step"], how="left")
    gap = pl.col("ms") - pl.col("second")
    counts = (gap > _OF_STEP * pl.col("whole")).fill_null(True)
    return rows.with_columns(((pl.col("ms") > _APART * pl.col("second")) & counts).fill_null(False).alias("apart"))


def _finding(file: str, phase: str, last: pl.DataFrame) -> Finding:
    apart = last.filter("apart")
    cause: Cause = "straggler_host" if sort_of(phase) == "host" else "straggler_compute"
    longer = float((apart["ms"] - apart["second"]).median())  # type: ignore[arg-type]
    text = words.ONE_LINE_APART(
        number=apart.height, steps=last.height, lines=last["lines"][0], phase=phase, ms=f"{longer:.0f}"
    )
    shown = tuple(
        Ref(file=file, line=line, text=f"{phase} {ms:.0f} ms")
        for line, ms in apart.select("line", "ms").tail(3).iter_rows()
    )
    return Finding(
        cause=cause,
        undecided=("membership_unknown",),
        claims=(Claim(text, "for", shown),),
        first_anomaly=FirstAnomaly(step=apart["step"][0], phase=phase, signature="slow_rank"),
        collect=(words.LINES_THAT_NAME_RANKS,),
        summary=words.SLOW(what=words.LINES_NAME_NO_RANK(what=text)),
    )


DETECTOR = Detector("unnamed_rank", ("timings",), detect, "slow")
