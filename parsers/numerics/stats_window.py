"""Of a large file of tensor statistics only what an analysis needs, read in passes that hold little in memory.

Not a parser: tensor_stats.py and stats_parquet.py use it for files beyond a number of rows, many at once. The first pass reads rank, step
and the counts alone and finds the steps in which bad values begin. Kept are, per rank,
- all rows of each step in which bad values begin; of very many such steps the first ones and the last ones; where a
  communication brought the first bad value, the rows near it and after it, and before it one of each module;
- where it begins with bad rows, of the step before it the last rows; of the step after it all rows where nothing in it is NaN, else those around its
  first NaN; in the steps before, the rows of the module that was bad first, so that its growth can be shown;
- all rows of a rank's last step, where none of its rows is bad; also those around the step in which most of its
  figures became zero, or in which a scaled format began to clip or to lose values;
- in every step the first bad row, and all rows of communications and of the phases grad_sync and optimizer, so that
  calls, replicas and clean parameters can be followed through the run; of very many, those of the steps near the ones
  above; a step without any of these keeps its first row.
Nothing else is decided here. `record` stays the number of the row in the file, so order and places are the file's.
Lost is what only other rows show: a recompute that differs by finite values in a step without any bad one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import polars as pl

ROWS = 10_000  # smaller files are read whole
ONSETS = 4  # of each rank and sort, from the begin and from the end
NEAR = 64  # rows beside a bad one
GROWTH = 8  # steps before an onset in which its module is followed
SPECIAL_SHARE = 0.05  # of all rows: more communications than this are not kept in every step
_ALWAYS = ("comm", "grad_sync", "optimizer")
_CALL = (("group", "group_ranks", "call"), ("peer",))  # stated of communications alone; of each the first that is there
_COUNTS, _FIGURES = ("nan_count", "inf_count"), ("min", "max", "absmax")
_ALL_FIGURES = ("min", "max", "mean", "l2norm", "absmax", "checksum")
_SHARES = (("overflow_pct", 0.1), ("overflow_pct", 1.0), ("underflow_pct", 5.0), ("underflow_pct", 25.0))
_MORE_ZEROS = 0.15  # of a step's figures, from one step to the next
_UNWRITTEN = r"(?i)(?:^|[._])(?:new_)?(?:empty|resize)"
_FLAG = r"(?i)found_?inf"
_FILLED = r"(?i)recv|gather|scatter|all_?to_?all|a2a"  # a bad input that counts shows in their output, too
_RANK = ["nth_file", "rank"]


class Kept(msgspec.Struct, frozen=True):
    """`frame`: the kept rows, `record` counted in their own file; `nth_file`: of each, the number of its file;
    `left_out`: file → how many rows of communications were left out."""

    frame: pl.DataFrame
    nth_file: pl.Series
    left_out: dict[int, int]


def left_out_rows(kept: Kept, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of `unread` that say so, of files of those paths."""
    reason = "{} rows of communications far from any bad value were left out"
    return [{"file": paths[number], "reason": reason.format(rows)} for number, rows in kept.left_out.items()]


def is_nan(schema: pl.Schema) -> pl.Expr:
    """NaN by the count where there is one, else by min, max and absmax."""
    return _by_count("nan_count", schema, [pl.col(name).is_nan() for name in _FIGURES if name in schema])


def is_inf(schema: pl.Schema) -> pl.Expr:
    """Inf by the count where there is one, else by min, max and absmax; the -Inf of masks counts, too."""
    return _by_count("inf_count", schema, [pl.col(name).is_infinite() for name in _FIGURES if name in schema])


def _by_count(name: str, schema: pl.Schema, figures: Sequence[pl.Expr]) -> pl.Expr:
    seen = pl.any_horizontal([figure.fill_null(False) for figure in figures]) if figures else pl.lit(False)
    return pl.coalesce(pl.col(name) > 0, seen) if name in schema else seen


def can_reduce(schema: pl.Schema) -> bool:
    """Rank, step and figures are numbers."""
    named = [schema.get(name) for name in ("rank", "step")]
    figures = [schema[name] for name in (*_COUNTS, *_FIGURES) if name in schema]
    return all(kind is not None and kind.is_integer() for kind in named) and all(kind.is_numeric() for kind in figures)


def first_bad(lazy: pl.LazyFrame, schema: pl.Schema) -> pl.DataFrame:
    """Per rank its first bad row in step order: columns rank, step, place (number of the row, counted over `lazy`)."""
    packed = (pl.col("step").cast(pl.Int64) * (1 << 40) + pl.col("record").cast(pl.Int64)).alias("key")
    numbered = lazy.with_row_index("record")
    counts = [pl.col(name) for name in _COUNTS if name in schema]
    found = None
    if len(counts) == len(_COUNTS):
        unknown = pl.any_horizontal([count.is_null() for count in counts])
        known = numbered.filter(unknown | pl.any_horizontal([count > 0 for count in counts]))
        rows = known.select("rank", packed, unknown.alias("unknown")).group_by("rank")
        found = rows.agg(pl.col("key").min(), pl.col("unknown").any()).collect(engine="streaming")
    if found is None or found["unknown"].any():  # a count that is not there: the figures tell
        rows = numbered.filter(is_nan(schema) | is_inf(schema)).select("rank", packed).group_by("rank")
        found = rows.agg(pl.col("key").min()).collect(engine="streaming")
    return found.select("rank", (pl.col("key") // (1 << 40)).alias("step"), (pl.col("key") % (1 << 40)).alias("place"))


def reduced(scan: Callable[[], pl.LazyFrame], schema: pl.Schema, sizes: Sequence[int]) -> Kept:
    """`scan`: files of `sizes` rows one after the other, each in its order; opened anew for each query, since a second
    query over one scan of bytes takes more than twice the time."""
    begins = pl.Series([sum(sizes[:number]) for number in range(len(sizes))], dtype=pl.Int64)
    runs = _runs(scan(), begins, sum(sizes))
    seen = _steps(runs, _bad_rows(scan(), schema, []), schema)
    more = _more_onsets(scan, schema, seen)
    steps = _with_windows(seen, more)
    near = _near(scan, schema, steps, begins)
    if _telling(near.join(steps, left_on="record", right_on="bad_first", how="semi"), schema).height < len(
        steps["bad_first"].drop_nulls()
    ):  # the names of all bad rows are read only where some say nothing
        names = [name for name in ("op", "tensor") if name in schema]
        seen = _steps(runs, _telling(_bad_rows(scan(), schema, names), schema), schema)
        steps = _with_windows(seen, more)
        near = _near(scan, schema, steps, begins)
    raised = _raised(near, schema).join(steps.filter("onset"), on=["rank", "step"], how="anti")
    if raised.height:
        steps = _with_windows(seen, pl.concat([more, raised]).unique())
        near = _near(scan, schema, steps, begins)
    found, left_out = _exactly(near, schema, steps, sizes)
    others = [_growth(scan(), schema, found, steps, begins), _quiet(scan(), found, steps, begins)]
    if some := [part.select(found.columns) for part in others if part is not None]:
        found = pl.concat([found, *some]).unique("record").sort("record")
    local = pl.col("record") - begins.gather(found["nth_file"])
    return Kept(found.drop("nth_file").with_columns(local.alias("record")), found["nth_file"], left_out)


def _near(scan: Callable[[], pl.LazyFrame], schema: pl.Schema, steps: pl.DataFrame, begins: pl.Series) -> pl.DataFrame:
    """Rows of steps that are near any rank's onset, of communications (`_special`), and first bad rows. A phase is looked
    for alone: as texts of a dictionary, which a condition on several columns would spell out for every row."""
    far_bad = steps.filter(pl.col("bad_first").is_not_null() & ~pl.col("near"))["bad_first"]
    called, follows = _called(schema), _follows(schema)
    parts = [pl.col("step").is_in(steps.filter(pl.col("near"))["step"].unique().implode()), called]
    if len(far_bad):
        parts.append(pl.col("record").is_in(far_bad.implode()))
    names = ["record", *schema.names()]
    found = scan().with_row_index("record").filter(pl.any_horizontal(parts)).collect(engine="streaming").select(names)
    told = scan().with_row_index("record").filter(follows).select("record").collect(engine="streaming")["record"]
    more = told.filter(~told.is_in(found["record"].implode()))
    if len(more):
        late = scan().with_row_index("record").filter(follows).collect(engine="streaming").select(names)
        late = late.filter(pl.col("record").is_in(more.implode()))
        found = pl.concat([found, late]).sort("record")
    special = called | pl.col("record").is_in(told.cast(pl.Int64).implode())
    return _numbered(found, begins).with_columns(special.alias("_special"))


def _raised(near: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """(rank, step) in which a flag says that a gradient holds Inf."""
    names = [pl.col(name) for name in ("module", "op", "tensor") if name in schema]
    sizes = [pl.col(name).abs() > 0 for name in ("absmax", "max") if name in schema]
    if not names or not sizes:
        return near.select(pl.col("rank", "step").cast(pl.Int64)).clear()
    flag = pl.any_horizontal([name.str.contains(_FLAG).fill_null(False) for name in names])
    some = near.filter("_special").lazy().filter(flag & pl.any_horizontal(sizes))
    return some.select(pl.col("rank", "step").cast(pl.Int64)).unique().collect()


def _numbered(found: pl.DataFrame, begins: pl.Series) -> pl.DataFrame:
    """With the number of the file that each row is from."""
    record = found["record"].cast(pl.Int64)
    nth_file = (begins.search_sorted(record, side="right") - 1).alias("nth_file")
    return found.with_columns(record, nth_file)


def _special(schema: pl.Schema) -> pl.Expr:
    """Rows of communications and of what follows the backward pass."""
    return _called(schema) | _follows(schema).fill_null(False)


def _called(schema: pl.Schema) -> pl.Expr:
    there = [[name for name in names if name in schema] for names in _CALL]
    parts = [pl.col(names[0]).is_not_null() for names in there if names]
    return pl.any_horizontal(parts) if parts else pl.lit(False)


def _follows(schema: pl.Schema) -> pl.Expr:
    return pl.col("phase").is_in(_ALWAYS) if "phase" in schema else pl.lit(False)


# --- the first pass --------------------------------------------------------------------------------------------------


def _steps(runs: pl.DataFrame, bad: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """One row per file, rank, launch and step in the order of a rank's rows: `first`, `last` (numbers of rows);
    `bad_first`, `nan_first` (null = none); `odd` (how many rows hold Inf without NaN: masks, mostly)."""
    at = runs["first"].search_sorted(bad["at"], side="right") - 1
    first_nan = pl.when("nan").then("at").alias("nan_at")
    by_run = bad.with_columns(runs["first"].gather(at).alias("first"), first_nan).group_by("first").agg(
        pl.col("at").min().alias("bad_first"), pl.col("nan_at").min().alias("nan_first"),
        pl.col("nan_at").null_count().cast(pl.Int64).alias("odd"),
    )  # fmt: skip
    runs = runs.join(by_run, on="first", how="left", maintain_order="left").with_columns(pl.col("odd").fill_null(0))
    runs = runs.sort(*_RANK, "first")
    fall = (pl.col("step").diff() < 0).fill_null(False).cum_sum().over(_RANK)
    runs = runs.with_columns((fall if "seq" not in schema else pl.lit(0)).alias("launch"))
    return runs.group_by(*_RANK, "launch", "step", maintain_order=True).agg(
        pl.col("first").min(), pl.col("last").max(), pl.col("odd").sum(),
        pl.col("bad_first").min(), pl.col("nan_first").min(),
    )  # fmt: skip


def _bad_rows(lazy: pl.LazyFrame, schema: pl.Schema, names: Sequence[str]) -> pl.DataFrame:
    """`at`: number of a row that holds NaN or Inf, ascending; `nan`: whether NaN; and what the columns `names` hold.
    Figures are read only where a count is not there."""
    numbered = lazy.with_row_index("at")
    at, counts = pl.col("at").cast(pl.Int64), [pl.col(name) for name in _COUNTS if name in schema]
    if len(counts) == len(_COUNTS):
        known = pl.any_horizontal([count.is_null() | (count > 0) for count in counts])
        found = numbered.filter(known).select(at, (counts[0] > 0).alias("nan"), counts[1].alias("inf"), *names)
        rows = found.collect(engine="streaming")
        if not rows["nan"].null_count() and not rows["inf"].null_count():
            return rows.drop("inf").sort("at")
    nan = is_nan(schema)
    found = numbered.filter(nan | is_inf(schema)).select(at, nan.alias("nan"), *names)
    return found.collect(engine="streaming").sort("at")


def _telling(rows: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """Without memory that nobody has written yet: new tensors, and what goes into a call that will fill it."""
    if "op" not in schema or "tensor" not in schema:
        return rows
    ops = rows["op"].unique()
    unwritten = ops.filter(ops.str.contains(_UNWRITTEN).fill_null(False))
    filled = ops.filter(ops.str.contains(_FILLED).fill_null(False))
    if not len(unwritten) and not len(filled):
        return rows
    given = pl.col("op").is_in(filled.implode()) & pl.col("tensor").str.starts_with("input")
    return rows.filter(~(pl.col("op").is_in(unwritten.implode()) | given).fill_null(False))


def _runs(lazy: pl.LazyFrame, begins: pl.Series, rows: int) -> pl.DataFrame:
    """Rows that follow each other in a file with one rank and step; none of the `rows` rows is held for it. (Lengths of
    equal structs would be cheaper still, but that query fails on frames of several chunks.)"""
    names = ["rank", "step"]
    changed = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names)
    numbered = lazy.select(names).with_row_index("first").with_columns(pl.col("first").cast(pl.Int64))
    told = numbered.filter(changed | (pl.col("first") == 0)).collect(engine="streaming")
    first = pl.concat([told["first"], begins]).unique().sort()
    own = told.select(pl.col(names).cast(pl.Int64).gather(told["first"].search_sorted(first, side="right") - 1))
    runs = own.with_columns(first.alias("first"), (first.shift(-1, fill_value=rows) - 1).alias("last"))
    return runs.with_columns((begins.search_sorted(first, side="right") - 1).alias("nth_file"))


def _more_onsets(scan: Callable[[], pl.LazyFrame], schema: pl.Schema, steps: pl.DataFrame) -> pl.DataFrame:
    """(rank, step) in which scaled formats begin to clip, most figures of a clean file become zero, or a recompute
    differs from its forward pass."""
    found = [steps.select("rank", "step").clear(), _recomputed(scan, schema)]
    counts = [
        (pl.col(name) >= least).sum().cast(pl.Float64).alias(f"{name} {least}")
        for name, least in _SHARES
        if name in schema and schema[name].is_numeric()
    ]
    least: dict[str, float] = {str(count.meta.output_name()): 0.0 for count in counts}
    if "absmax" in schema and not steps["nan_first"].count():
        counts.append((pl.col("absmax") == 0).mean().alias("zero"))
        least["zero"] = _MORE_ZEROS
    if counts:
        many = scan().group_by("rank", "step").agg(counts).sort("rank", "step").collect(engine="streaming")
        rises = pl.any_horizontal(pl.col(name).diff().over("rank") > least[name] for name in least)
        found.append(many.filter(rises.fill_null(False)).select("rank", "step"))
    return pl.concat([part.cast({"rank": pl.Int64, "step": pl.Int64}) for part in found]).unique()


def _recomputed(scan: Callable[[], pl.LazyFrame], schema: pl.Schema) -> pl.DataFrame:
    """(rank, step) in which the rows of a recompute are not those of the forward pass, by the sum of their hashes."""
    names = [name for name in ("microbatch", "chunk", "module", "tensor", *_ALL_FIGURES) if name in schema]
    nothing = pl.DataFrame(schema={"rank": pl.Int64, "step": pl.Int64})
    if "phase" not in schema or "module" not in schema:
        return nothing
    again = scan().filter(pl.col("phase") == "recompute").select(pl.col("module").unique()).collect(engine="streaming")
    if not again.height:
        return nothing
    is_pass = pl.col("phase").is_in(["forward", "recompute"])
    passes = scan().filter(pl.col("module").is_in(again["module"].implode()) & is_pass)
    mark = pl.struct(names).hash() // (1 << 24)  # so that a sum of many stays within 64 bits
    sums = passes.group_by("rank", "step").agg(
        mark.filter(pl.col("phase") == "forward").sum().alias("one"),
        mark.filter(pl.col("phase") == "recompute").sum().alias("two"),
    )  # fmt: skip
    return sums.filter(pl.col("one") != pl.col("two")).select("rank", "step").collect(engine="streaming")


# --- which rows ------------------------------------------------------------------------------------------------------


def _with_windows(steps: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Adds `nth` (of the rank's steps), `onset`, `near` (some rows are kept), `whole` (all are), else `since` and
    `until`: between these numbers they are."""
    steps = steps.with_columns(_own=pl.struct(_RANK).rle_id(), _way=pl.struct(*_RANK, "launch").rle_id())
    nan, odd, place = pl.col("nan_first").is_not_null(), pl.col("odd"), pl.col("bad_first") - pl.col("first")
    late = nan & (place >= pl.min_horizontal(pl.lit(NEAR), (pl.col("last") - pl.col("first")) // 4))
    begins = nan & (late | ~nan.shift(1).over("_way").fill_null(False))
    grows = (odd > odd.shift(1).over("_way").fill_null(0)) & ~nan
    steps = steps.with_columns(
        pl.int_range(pl.len()).over("_own").alias("nth"), _few(begins), _few(grows, "grows"),
        late.fill_null(False).alias("late"),
    )  # fmt: skip
    told = more.with_columns(pl.lit(True).alias("told"))
    steps = steps.join(told, on=["rank", "step"], how="left", maintain_order="left")
    steps = steps.with_columns(_few(pl.col("told").fill_null(False), "more"))
    steps = steps.with_columns(pl.any_horizontal("onset", "grows", "more").alias("onset"))
    after = pl.col("onset").shift(1).over("_way").fill_null(False)
    before = (pl.col("onset") & (place < NEAR).fill_null(True)).shift(-1).over("_way").fill_null(False)
    clean = ~pl.any_horizontal("onset", pl.col("bad_first").is_not_null()).any().over("_own")
    is_last = pl.col("nth") == pl.col("nth").max().over("_own")
    leads_on = pl.col("more").shift(-1).over("_way").fill_null(False)
    whole = pl.col("onset") | (after & ~nan) | leads_on | (is_last & clean)
    first, last, bad = pl.col("first"), pl.col("last"), pl.col("bad_first")
    windows = steps.with_columns(
        whole.alias("whole"), (whole | after | before | pl.col("late")).alias("near"),
        pl.when(after).then(first).when(before).then(last - NEAR).when("late").then(bad - NEAR).alias("since"),
        pl.when(after).then(pl.max_horizontal(pl.col("nan_first"), bad) + NEAR).when(before).then(last)
        .when("late").then(bad + NEAR).alias("until"),
    )  # fmt: skip
    return windows.drop("_own", "_way")


def _few(begins: pl.Expr, name: str = "onset") -> pl.Expr:
    """Of the steps marked those of a rank that come first and last."""
    nth = begins.cum_sum().over("_own")
    return (begins & ((nth <= ONSETS) | (nth > begins.sum().over("_own") - ONSETS))).alias(name)


def _exactly(
    found: pl.DataFrame, schema: pl.Schema, steps: pl.DataFrame, sizes: Sequence[int]
) -> tuple[pl.DataFrame, dict[int, int]]:
    """Of the rows of steps near some rank's onset those that are near its own; (…, calls left out by file)."""
    here = [*_RANK, "step"]
    record, special = pl.col("record"), pl.col("_special")
    rows = found.drop("_special")
    brought = _brought(found, schema, steps)
    since = pl.when("brought").then(pl.col("bad_first") - NEAR).otherwise("since")
    until = pl.when("brought").then("last").otherwise("until")
    is_brought = pl.col("bad_first").is_in(brought.implode()).fill_null(False)
    near = steps.filter("near").with_columns(brought=is_brought)
    window = near.group_by(here).agg(
        (pl.col("whole") & ~pl.col("brought")).any().alias("_whole"), until.max().alias("_until"),
        since.min().alias("_since"), pl.col("brought").any().alias("_brought"),
    )  # fmt: skip
    keys = pl.Schema({name: found.schema[name] for name in here})
    narrow = found.select(name for name in ("record", *here, "module", "_special") if name in found.columns)
    joined = narrow.join(window.cast(keys), on=here, how="left", maintain_order="left")
    kept = [steps["bad_first"].drop_nulls(), _alike(joined, schema, steps)]
    if len(brought):
        some = joined.lazy().filter("_brought").unique([*here, "module"], keep="first", maintain_order=True)
        kept.append(some.select("record").collect()["record"])
    firsts = record.is_in(pl.concat(kept).implode())
    told = pl.col("_whole") | record.is_between("_since", "_until") | firsts
    told = told.fill_null(False)
    far = joined.lazy().filter(special & pl.col("_whole").is_null()).group_by("nth_file").agg(pl.len()).collect()
    many = [at for at, count in far.iter_rows() if count > max(ROWS, SPECIAL_SHARE * sizes[at])]
    if not many:
        return rows.filter(joined.select(told | special).to_series()), {}
    places = [place + way for place in steps.filter("near")["nth"].unique() for way in range(-GROWTH, GROWTH + 1)]
    close = steps.filter(pl.col("nth").is_in(places)).select(*here, pl.lit(True).alias("_close"))
    joined = joined.join(close.unique().cast(keys), on=here, how="left", maintain_order="left")
    spared = ~pl.col("nth_file").is_in(many) | pl.col("_close").fill_null(False)
    lost = joined.filter(special & ~told & ~spared).group_by("nth_file").agg(pl.len())
    return rows.filter(joined.select(told | (special & spared)).to_series()), dict(lost.iter_rows())


def _alike(found: pl.DataFrame, schema: pl.Schema, steps: pl.DataFrame) -> pl.Series:
    """Numbers of the rows of the module that is bad first, in steps of which not all rows are kept."""
    here = [*_RANK, "step", "module"]
    if "module" not in schema:
        return found["record"].clear()
    firsts = pl.col("record").is_in(steps["bad_first"].drop_nulls().implode())
    some = found.lazy().filter(~pl.col("_whole").fill_null(False) & ~pl.col("_special"))
    modules = some.filter(firsts).select(here).unique().collect()
    if not modules.height:
        return found["record"].clear()
    named = some.filter(pl.col("module").is_in(modules["module"].unique().implode()))  # few are compared by all keys
    return named.join(modules.lazy(), on=here, how="semi").select("record").collect()["record"]


def _brought(found: pl.DataFrame, schema: pl.Schema, steps: pl.DataFrame) -> pl.Series:
    """First bad rows of onsets that are those of a communication, where parameters are observed nowhere but there."""
    clear = pl.col("onset") & (pl.col("bad_first") == pl.col("nan_first")) & (pl.col("odd") == 0) & ~pl.col("more")
    firsts = steps.filter(clear)["bad_first"]
    if "module" not in schema or "tensor" not in schema or not len(firsts):
        return firsts.clear()
    state = pl.any_horizontal(pl.col("tensor").str.starts_with(name) for name in ("param", "optimizer_state"))
    local = state.fill_null(False) & ~pl.col("_special")
    if found.lazy().select(local.any()).collect().item():
        return firsts.clear()
    at = pl.col("record").is_in(firsts.implode())
    return found.lazy().filter(at & pl.col("_special")).select("record").collect()["record"]


def _quiet(lazy: pl.LazyFrame, found: pl.DataFrame, steps: pl.DataFrame, begins: pl.Series) -> pl.DataFrame | None:
    """The first rows of steps of which nothing is kept so far."""
    here = [*_RANK, "step"]
    told = found.select(pl.col(name).cast(steps.schema[name]) for name in here).unique()
    firsts = steps.join(told, on=here, how="anti")["first"]
    if not len(firsts):
        return None
    rows = lazy.with_row_index("record").filter(pl.col("record").is_in(firsts.implode()))
    return _numbered(rows.collect(engine="streaming"), begins)


def _growth(
    lazy: pl.LazyFrame, schema: pl.Schema, found: pl.DataFrame, steps: pl.DataFrame, begins: pl.Series
) -> pl.DataFrame | None:
    """Rows of the modules that were bad first, in the steps before."""
    if "module" not in schema:
        return None
    onsets = steps.filter(pl.col("onset") & pl.col("bad_first").is_not_null())
    firsts = found.filter(~_special(schema) & pl.col("record").is_in(onsets["bad_first"].implode()))
    if not firsts.height:
        return None
    ends = firsts.select("module", "record").join(onsets, left_on="record", right_on="bad_first")
    before = pl.int_ranges(pl.col("nth") - GROWTH, pl.col("nth")).alias("nth")
    spans = ends.select(*_RANK, "module", before).explode("nth")
    known = steps.select(*_RANK, pl.col("nth").cast(spans.schema["nth"]), "step")
    wanted = spans.join(known, on=[*_RANK, "nth"]).select(*_RANK, "step", "module").unique()
    if not wanted.height:
        return None
    some = [pl.col(name).is_in(wanted[name].unique().implode()) for name in ("step", "module")]
    files = wanted["nth_file"].sort().to_list()
    starts = [*begins.to_list(), None]
    first, until = starts[files[0]] or 0, starts[files[-1] + 1]  # no other files are read
    own = lazy.with_row_index("record").slice(first, None if until is None else until - first)
    past = _numbered(own.filter(some[0] & some[1]).collect(engine="streaming"), begins)
    keys = pl.Schema({name: past.schema[name] for name in wanted.columns})
    return past.join(wanted.cast(keys), on=wanted.columns, how="semi", maintain_order="left")
