"""Pictures of numbers: where values first turned bad, and how figures ran around the onset, thinned to what is drawn."""

from math import inf, isfinite, isnan

import polars as pl

from forensics.case import Case
from forensics.graph.numerics.growth import limit
from forensics.graph.numerics.tensor_ops import read_rows
from forensics.model.drawn import FirstBad, Series, Who
from forensics.model.finding import Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.texts import ranges
from forensics.words import views as words

MODULES, POINTS, SERIES = 40, 200, 12
_RANKS = 2  # of a figure, besides the peers
_SHOWN = ("absmax", "loss", "grad_norm", "loss_scale")
_PLACE = ["module", "tensor", "phase"]


def numbers(case: Case, finding: Finding) -> tuple[list[FirstBad], list[Series], list[str]]:
    """What a numeric incident draws, and which modules are left out; nothing of any other."""
    if finding.severity is None:
        return [], [], []
    anomaly = finding.first_anomaly
    frame = _launch(read_rows(case.tables["tensors"]).frame)
    cells, notes = _first_bad(frame, anomaly)
    own = _of_tensors(frame, anomaly)
    told = _of_log(case.tables["steps"], case.events)
    figures = pl.concat([own, told.filter(~pl.col("what").is_in(own["what"].implode()))])
    return cells, _series(figures, finding, _limit(frame, anomaly)), notes


def _launch(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of ranks, of the newest launch that holds a bad value, else of the newest one; `bad` only where it tells."""
    frame = frame.with_columns((pl.col("bad").fill_null(False) & pl.col("role").is_not_null()).alias("bad"))
    launches = frame.filter("bad")["launch"] if frame["bad"].any() else frame["launch"]
    return frame.filter((pl.col("launch") == pl.lit(launches.max(), dtype=pl.Int64)) & (pl.col("rank") >= 0))


# --- where and when --------------------------------------------------------------------------------------------------


def _first_bad(frame: pl.DataFrame, anomaly: FirstAnomaly) -> tuple[list[FirstBad], list[str]]:
    """A parameter's gradient counts to its module. Modules in order of the step, and of the program within it."""
    name = pl.col("module").str.replace(r"\.(?:weight|bias)$", "")
    way = pl.col("place") - pl.col("place").min().over("rank", "step")
    own = frame.select("rank", "step", "phase", "module", "place", "nan", "bad", way.alias("way"))
    bad = own.filter(pl.col("bad") & pl.col("module").is_not_null()).with_columns(name.alias("module")).sort("place")
    first = bad.unique(["rank", "module"], keep="first", maintain_order=True)
    order = first.sort("step", "way", "module").unique("module", keep="first", maintain_order=True)
    origin = (anomaly.rank, (anomaly.module or "").removesuffix(".weight").removesuffix(".bias"), anomaly.step)
    shown = {module: nth for nth, module in enumerate(order["module"].head(MODULES))}
    value = pl.when("nan").then(pl.lit("nan")).otherwise(pl.lit("inf")).alias("value")
    held = first.filter(pl.col("module").is_in(list(shown))).group_by("module", "step", "phase", value).agg("rank")
    cells = []
    ordered = sorted(held.iter_rows(), key=lambda row: (shown[row[0]], *(str(part).zfill(12) for part in row[1:4])))
    for module, step, phase, what, found in ordered:
        is_origin = (module, step) == origin[1:] and (origin[0] is None or origin[0] in found)
        cells.append(FirstBad(module=module, step=step, phase=phase, value=what, ranks=ranges(found), origin=is_origin))
    left = order.height - MODULES
    return cells, [words.MORE_MODULES(number=left, shown=MODULES)] if left > 0 else []


# --- how figures ran -------------------------------------------------------------------------------------------------

_FIGURES = {
    "what": pl.String(), "rank": pl.Int64(), "module": pl.String(), "tensor": pl.String(), "phase": pl.String(),
    "step": pl.Int64(), "value": pl.Float64(), "file": pl.String(), "line": pl.Int64(),
}  # fmt: skip


def _figures(frame: pl.DataFrame, what: str, value: pl.Expr) -> pl.DataFrame:
    """Columns of _FIGURES, a row per rank and step that has a value; `frame` may lack the names of tensors."""
    names = [name if name in frame.columns else pl.lit(None).alias(name) for name in _PLACE]
    line = pl.coalesce("line", "record").alias("line")
    rows = frame.select(pl.lit(what).alias("what"), "rank", *names, "step", value.alias("value"), "file", line)
    return rows.select(pl.col(name).cast(kind) for name, kind in _FIGURES.items()).drop_nulls(["step", "value"])


def _of_tensors(frame: pl.DataFrame, anomaly: FirstAnomaly) -> pl.DataFrame:
    """The largest value of the tensor that turned bad first, and the loss as the job's hooks saw it."""
    size = pl.coalesce("absmax", pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs()))
    value = pl.when(pl.col("nan")).then(float("nan")).when(pl.col("inf")).then(inf)
    tensor = _at(frame, anomaly, *_PLACE, "op") if anomaly.tensor is not None else frame.clear()
    loss = frame.filter((pl.col("op") == "loss") & (pl.col("numel").fill_null(1) == 1)).drop(_PLACE)
    losses = _figures(loss, "loss", value.otherwise("max"))
    return pl.concat([_figures(tensor, "absmax", value.otherwise(size)), losses])


def _of_log(steps: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """What steps and the scaler print."""
    train = steps.filter(pl.col("phase").fill_null("train") == "train").drop("phase")
    told = [_figures(train, name, pl.col(name)) for name in ("loss", "grad_norm", "loss_scale")]
    return pl.concat([*told, _figures(events.filter(pl.col("kind") == "loss_scale"), "loss_scale", pl.col("value"))])


def _at(frame: pl.DataFrame, anomaly: FirstAnomaly, *names: str) -> pl.DataFrame:
    return frame.filter(pl.all_horizontal(pl.col(name).eq_missing(pl.lit(getattr(anomaly, name))) for name in names))


def _limit(frame: pl.DataFrame, anomaly: FirstAnomaly) -> float | None:
    rows = _at(frame, anomaly, *_PLACE)
    return limit(rows.row(0, named=True)) if rows.height and anomaly.tensor is not None else None


def _series(figures: pl.DataFrame, finding: Finding, most: float | None) -> list[Series]:
    """Of each figure the ranks that matter, each by itself, the others together, and what is the whole job's."""
    told = (finding.first_anomaly.rank, *finding.ranks, *finding.suspect_ranks)
    found, onset = [], finding.first_anomaly.step
    for what in _SHOWN:
        rows = figures.filter(pl.col("what") == what)
        seen = set(rows["rank"].to_list())
        own = [rank for rank in dict.fromkeys(told) if rank is not None and rank in seen][:_RANKS]
        parts: list[tuple[Who, int | None, pl.DataFrame]] = [
            ("culprit" if rank in finding.ranks else "suspect", rank, rows.filter(pl.col("rank") == rank))
            for rank in own
            if rank in finding.ranks or rank in finding.suspect_ranks
        ]
        shown = [rank for _, rank, _ in parts]
        parts.append(("peers", None, rows.filter(pl.col("rank").is_not_null() & ~pl.col("rank").is_in(shown))))
        parts.append(("job", None, rows.filter(pl.col("rank").is_null())))
        limited = most if what == "absmax" else None
        found += [_drawn(who, rank, part, onset, limited) for who, rank, part in parts if part.height]
    return found[:SERIES]


def _drawn(who: Who, rank: int | None, rows: pl.DataFrame, onset: int | None, most: float | None) -> Series:
    """The worst value of a rank in a step, and of several ranks the median; NaN is worse than Inf."""
    worst = rows.group_by("rank", "step").agg(pl.col("value", "file", "line").sort_by("value").last())
    middle = pl.col("value", "file", "line").sort_by("value", "rank").get((pl.len() - 1) // 2)
    line = worst.group_by("step").agg(middle).sort("step")
    at = line.height - 1 if onset is None else int(line["step"].search_sorted(onset))
    kept = _thinned(line.height, min(at, line.height - 1))
    here = line.row(min(at, line.height - 1), named=True)
    label, first = _text(here["value"]), rows.row(0, named=True)
    return Series(
        what=first["what"],
        who=who,
        rank=rank,
        **{name: first[name] for name in _PLACE},
        steps=[line["step"][index] for index in kept],
        values=[_text(line["value"][index]) for index in kept],
        onset=onset,
        limit=most,
        ref=Ref(file=here["file"], line=here["line"], text=f"step {here['step']}: {first['what']} {label}"),
    )


def _thinned(count: int, at: int) -> list[int]:
    """All of `count` points, or those nearest to `at` and as many of the rest, evenly, with both ends."""
    half = POINTS // 2
    if count <= POINTS:
        return list(range(count))
    begin = min(max(0, at - half // 2), count - half)
    rest = [index for index in range(count) if not begin <= index < begin + half]
    spread = {rest[index * (len(rest) - 1) // (half - 1)] for index in range(half)}
    return sorted(spread | set(range(begin, begin + half)))


def _text(value: float) -> float | str:
    """A figure as incident.json has it."""
    return value if isfinite(value) else "NaN" if isnan(value) else "Inf" if value > 0 else "-Inf"
