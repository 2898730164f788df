"""From the table `tensors` to the births of NaN and Inf: cuts the data to what matters, then simulates the spread."""

from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise

import msgspec
import polars as pl

from forensics.graph.numerics.feeders import feeders
from forensics.graph.numerics.taint import Clean, Spread, spread
from forensics.graph.numerics.tensor_ops import operations, read_rows
from forensics.model.said import Said


class Births(msgspec.Struct, frozen=True):
    """`ops` and `rows` of the launch that `spread` is about, cut to the steps that matter; `spread` indexes `ops`.

    `gapped`: ranks whose first bad step does not follow the step observed before.
    """

    rows: pl.DataFrame
    history: pl.DataFrame  # all rows of the launch
    ops: pl.DataFrame
    spread: Spread
    ranks: frozenset[int]
    gapped: frozenset[int]
    silent: frozenset[int]  # ranks without any row
    counted: bool  # how many ranks there are is known
    recorded_calls: bool  # the dump holds communications at all
    fed: Mapping[int, int]  # by whom (feeders.py)
    warnings: tuple[Said, ...]

    def unseen_at(self, step: int, phase: str | None = None, module: str | None = None) -> frozenset[int]:
        """Ranks without a row in that step: silent ones, and those whose file ends before; with a module also those that
        ran it in an earlier step and whose file ends before it in this one, without a bad row."""
        seen = self.rows.lazy().filter(pl.col("step") == step).select(pl.col("rank").unique()).collect()
        absent = (self.silent | self.ranks) - frozenset(seen["rank"].to_list())
        if module is None:
            return absent
        same = pl.col("module").eq_missing(pl.lit(module)) & pl.col("phase").eq_missing(pl.lit(phase))
        ran = self.history.lazy().group_by("rank").agg(
            same.any().alias("ever"), (same & (pl.col("step") == step)).any().alias("here"), pl.col("step").last(),
            (pl.col("bad") & pl.col("role").is_not_null() & (pl.col("step") == step)).any().alias("is_bad"),
        ).collect()  # fmt: skip
        cut = ran.filter(pl.col("ever") & ~pl.col("here") & ~pl.col("is_bad") & (pl.col("step") == step))
        return absent | frozenset(cut["rank"].to_list())

    def row(self, place: int) -> dict[str, object]:
        """One row of the statistics by its place."""
        return self.rows.row(bisect_left(self.rows["place"], place), named=True)  # no query: it is asked for many


def find_births(tensors: pl.DataFrame, expected: frozenset[int]) -> Births | None:
    """None where nothing bad was observed. Of several launches the newest that holds anything bad is taken."""
    read = read_rows(tensors)
    frame = read.frame
    bad = frame.filter(pl.col("bad") & pl.col("role").is_not_null())
    if not bad.height:
        return None
    launch = bad["launch"].max()
    if (frame["launch"] != launch).any():  # of millions of rows none is copied for nothing
        frame = frame.filter(pl.col("launch") == launch)
        bad = bad.filter(pl.col("launch") == launch)
    clean = _clean_boundaries(frame)
    first, last = _span(bad, clean)
    ranks = frozenset(frame["rank"].unique().to_list())
    steps = frame.select("rank", "step").unique().sort("rank", "step")
    gaps = steps.with_columns(pl.col("step").diff().over("rank").alias("leap"))
    gapped = gaps.filter(pl.col("leap") > 1).join(bad.group_by("rank").agg(pl.col("step").min()), on=["rank", "step"])
    rows = frame.filter(pl.col("step").is_between(first - 1, last))
    kept = operations(rows, _telling(rows.filter(pl.col("step") >= first)))
    return Births(
        rows=rows,
        history=frame,
        ops=kept,
        spread=spread(kept, clean, expected),
        ranks=ranks,
        gapped=frozenset(gapped["rank"].to_list()),
        silent=(expected | frozenset(range(max(ranks) + 1))) - ranks,  # ranks are numbered without holes
        counted=expected >= ranks,
        recorded_calls=bool(frame.select((pl.col("kind").is_not_null() & ~pl.col("inferred")).any()).item()),
        fed=feeders(frame, first),
        warnings=read.warnings,
    )


def _clean_boundaries(frame: pl.DataFrame) -> Clean:
    """After which steps the rank's parameters were clean: by its optimizer, on arrival in the next step, or by what the
    next step computed with them."""
    frame = frame.select("rank", "step", "place", "phase", "module", "base", "kind", "role", "bad")
    states = frame.filter(pl.col("base").is_in(["param", "optimizer_state"]) & pl.col("bad").is_not_null())
    params = (pl.col("base") == "param").any() & ~pl.col("bad").any()
    after = states.filter(pl.col("phase") == "optimizer").group_by("rank", "step").agg(params.alias("ok"))
    updating = frame.filter(pl.col("phase") == "optimizer")
    updates = updating.group_by("rank", "step").agg(pl.col("place").min().alias("update"))
    arrived = states.join(updates, on=["rank", "step"], how="left")
    arrived = arrived.filter((pl.col("place") < pl.col("update")).fill_null(True))  # a gather may follow it
    arrived = arrived.group_by("rank", "step").agg(params.alias("ok"))
    steps = frame.select("rank", "step").unique().sort("rank", "step")
    steps = steps.with_columns(pl.col("step").shift(1).over("rank").alias("before"))
    told = arrived.filter("ok").join(_unseen_updates(frame, steps), on=["rank", "step"], how="anti")
    told = told.join(_bad_on_arrival(frame), on=["rank", "step"], how="anti")
    proven = pl.concat([told, _sound_steps(frame)]).unique()
    spoiled = arrived.filter(~pl.col("ok")).select("rank", "step")
    proven = proven.join(spoiled, on=["rank", "step"], how="anti").join(steps, on=["rank", "step"])
    found = set(after.filter("ok").select("rank", "step").iter_rows())
    gathered = frame.filter(pl.col("bad") & pl.col("role").is_not_null()).join(updates, on=["rank", "step"])
    gathered = gathered.filter(pl.col("place") > pl.col("update"))  # shards of others, after the own one
    bad_after = set(after.filter(~pl.col("ok")).select("rank", "step").iter_rows())
    bad_after |= set(gathered.select("rank", "step").iter_rows())
    before = proven.filter(pl.col("before").is_not_null()).select("rank", "before")
    return Clean(frozenset(found - bad_after), frozenset(set(before.iter_rows()) - bad_after))


def _unseen_updates(frame: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """(rank, step) before which a parameter had a bad gradient, of which no row in that step shows that it is clean all the
    same: others that are say nothing of it."""
    name = pl.col("module").str.replace(r"\.(?:weight|bias)$", "")
    gradient = (pl.col("phase") == "grad_sync") | (pl.col("base") == "param_grad")
    bad = frame.filter(gradient & pl.col("bad")).drop_nulls("role").select("rank", name, before="step").unique()
    seen = frame.filter((pl.col("base") == "param") & (pl.col("bad") == False)).select("rank", "step", name).unique()  # noqa: E712
    due = bad.join(steps, on=["rank", "before"])
    return due.join(seen, on=["rank", "step", "module"], how="anti", nulls_equal=True).select("rank", "step").unique()


def _bad_on_arrival(frame: pl.DataFrame) -> pl.DataFrame:
    """(rank, step) whose first bad row is what a communication sends, before anything was computed in the step: it was made
    of parameters that no row shows."""
    rows = frame.filter(pl.col("role").is_not_null() & pl.col("bad"))
    first = rows.unique(["rank", "step"], keep="first", maintain_order=True)
    begun = frame.filter(pl.col("role").is_not_null()).unique(["rank", "step"], keep="first", maintain_order=True)
    sent = (pl.col("role") == "in") & pl.col("kind").is_not_null()
    return first.filter(sent).join(begun.select("place"), on="place", how="semi").select("rank", "step")


def _sound_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Steps that show that a rank's parameters were clean when they began: forward and later rows, all of them clean; or
    a first bad row in a module that had computed a clean output before."""
    here = ["rank", "step"]
    telling = pl.col("role").is_not_null()
    made = telling & pl.col("kind").is_null() & (pl.col("phase").fill_null("forward") == "forward")
    made &= pl.col("role") == "out"
    later = pl.col("phase").is_in(["backward", "grad_sync", "optimizer"]) & (pl.col("bad") == False)  # noqa: E712
    marked = frame.lazy().group_by(here).agg(
        made.any().alias("made"), later.any().alias("later"), (pl.col("bad") & telling).any().alias("is_bad")
    )  # fmt: skip
    clean = marked.filter(pl.col("made") & pl.col("later") & ~pl.col("is_bad")).select(here).collect()
    bad = frame.lazy().filter(pl.col("bad") & telling).unique(here, keep="first", maintain_order=True)
    first = bad.filter(pl.col("kind").is_null()).select(
        *here, pl.col("module").str.replace(r"\.(?:weight|bias)$", ""), pl.col("place").alias("end")
    ).collect()  # fmt: skip
    names = first["module"].unique().implode()
    found = frame.lazy().filter(made & (pl.col("bad") == False) & pl.col("module").is_in(names))  # noqa: E712
    sound = found.select(*here, "module", "place").collect().join(first, on=[*here, "module"])
    sound = sound.filter(pl.col("place") < pl.col("end")).select(here).unique()
    return pl.concat([clean, sound]).unique().with_columns(pl.lit(True).alias("ok"))


def _span(bad: pl.DataFrame, clean: Clean) -> tuple[int, int]:
    """First and last step to simulate: up to each rank's first bad step after the last boundary that cleaned it."""
    first = last = None
    for rank, steps in bad.group_by("rank").agg(pl.col("step").unique().sort()).iter_rows():
        start = steps[0]
        for before, after in pairwise(steps):
            if any((rank, step) in clean for step in range(before, min(after, before + 100_000))):
                start = after
        first = steps[0] if first is None else min(first, steps[0])
        last = start if last is None else max(last, start)
    assert first is not None and last is not None
    return first, last


def _telling(rows: pl.DataFrame) -> pl.Series:
    """Numbers of the operations that matter: communications, and of the rest what marks a rank's way, its first bad
    operation per step, the begin of the optimizer, the last of a step."""
    here = ["rank", "step"]
    bad = pl.col("bad") & pl.col("role").is_not_null()
    known = rows.lazy().select(*here, "operation", "kind", "phase", bad.alias("bad"))
    first = known.filter(pl.col("bad")).unique(here, keep="first", maintain_order=True)
    optimizer = known.filter(pl.col("phase") == "optimizer").unique(here, keep="first", maintain_order=True)
    last = known.unique(here, keep="last", maintain_order=True)
    calls = known.filter(pl.col("kind").is_not_null())
    found = pl.concat([part.select("operation") for part in (first, optimizer, last, calls)])
    return found.unique().collect()["operation"]
