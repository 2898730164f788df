"""Rows of tensor statistics → operations with three-valued inputs, states and outputs (ok, bad, unknown = null).

An operation is a run of rows of one rank, consecutive in program order, with equal step, microbatch, chunk, phase,
module, op and call; a tensor that comes a second time begins the next one. Times never order anything.
"""

import re

import msgspec
import polars as pl

from forensics.graph.numerics.masks import without_masks
from forensics.graph.numerics.removed import without_removed
from forensics.graph.numerics.tensor_rules import (
    COMMUNICATIONS,
    DESTINATION_FIRST,
    FOUND_INF,
    HOW,
    INPUTS,
    LOCAL_TOO,
    OUTPUTS,
    PARAM_GRADS,
    REGIONS,
    STATES,
    UNINITIALISED,
    WHERE,
)
from forensics.graph.numerics.unnamed import with_unnamed_calls
from forensics.model.said import Said
from forensics.words import numerics as words
from parsers.schema.order import sort_if_needed
from parsers.text.patterns import regex
from parsers.text.rank_list import rank_list

_RUN = ("launch", "step", "microbatch", "chunk", "phase", "module", "op", "call", "peer", "tag", "group")
_BRINGING = ("recv", "broadcast", "scatter", "all_to_all", "other")  # their output may be a stage's input
_REPEATS = 1 << 24  # more often than this no tensor comes within one run
_NAMED = INPUTS | OUTPUTS | STATES
_FIGURES = ("min", "max", "mean", "l2norm", "absmax", "nan_count", "inf_count", "checksum")
_AFTER_NAME = r"(?:\.\d+|\.forward|\.backward|\.default)+$"  # number of the call, direction, overload
_WORDS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_KINDS = regex(
    rf"(?<![a-z0-9])(?:{'|'.join(f'(?P<{kind}>{name})' for kind, name in COMMUNICATIONS.items())})(?![a-z0-9])"
)
_KEY = ("rank", "attempt", "step", "microbatch", "chunk", "phase", "module", "op", "tensor", "call", "peer", "tag")


class Rows(msgspec.Struct, frozen=True):
    """`frame`: rows in program order per rank with the columns `launch` (attempt, a restart begins the next), `place`
    (order within the rank), `kind` (of communication), `role` (in, state, out; any = a NaN in a tensor of another name, made or
    brought; null = says nothing), `nan`, `inf`,
    `bad`. `warnings`: what was ambiguous about the files."""

    frame: pl.DataFrame
    warnings: tuple[Said, ...]


_LAST: dict[str, tuple[pl.DataFrame, Rows]] = {}  # frames are never changed: the same frame gives the same rows


def read_rows(tensors: pl.DataFrame) -> Rows:
    """The table `tensors` → rows with order, role and three-valued badness. Rows of evaluation are left out."""
    known = _LAST.get("rows")
    if known is not None and known[0] is tensors:  # several detectors ask for the rows of one case
        return known[1]
    frame = _numbered(tensors.filter(pl.col("phase").fill_null("") != "eval"))
    frame, warnings = _one_copy(frame)
    rows = Rows(with_unnamed_calls(_judged(_with_roles(_in_order(frame)))), warnings)
    _LAST["rows"] = (tensors, rows)
    return rows


def newest_launch(tensors: pl.DataFrame) -> pl.DataFrame:
    """Rows of the newest launch."""
    frame = read_rows(tensors).frame
    return frame.filter(pl.col("launch") == pl.col("launch").max())


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    """A process whose rank nobody printed gets a negative number of its own, per file; no finding names it."""
    without = frame.filter(pl.col("rank").is_null())["file"].unique().sort()
    if not len(without):
        return frame
    numbers = pl.DataFrame(
        {"file": without, "_number": range(-1, -1 - len(without), -1)}, schema_overrides={"_number": pl.Int64}
    )
    frame = frame.join(numbers, on="file", how="left", nulls_equal=True, maintain_order="left")
    return frame.with_columns(pl.coalesce("rank", "_number").alias("rank")).drop("_number")


def _one_copy(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Said, ...]]:
    """Equal rows of a rank in two files count once; of two files that differ the longer is used."""
    files = _files(frame.select("rank", pl.col("attempt").fill_null(0), "file"))
    crowded = files.group_by("rank", "attempt").len().filter(pl.col("len") > 1)["rank"].unique().to_list()
    if not crowded:
        return frame, ()
    mine = frame.filter(pl.col("rank").is_in(crowded))
    mine = mine.with_columns(
        pl.col("attempt").fill_null(0),
        pl.col("file").cum_count().over("file", *_KEY).alias("nth"),
        pl.col("file").count().over("rank", "attempt", "file").alias("length"),
    )
    mine = mine.sort("length", "file", "line", "record", descending=[True, False, False, False], nulls_last=True)
    mine = mine.unique([*_KEY, "nth", *_FIGURES], keep="first", maintain_order=True)
    clash = mine.filter(pl.struct(*_KEY, "nth").is_duplicated())
    lost: list[Said] = []
    for (rank, attempt), files in clash.partition_by("rank", "attempt", as_dict=True).items():
        longest = files.sort("length", "file", descending=[True, False])["file"][0]
        others = files.filter(pl.col("file") != longest)["file"].unique().sort().to_list()
        lost += [words.LONGER_FILE_USED(rank=rank, other=other, longest=longest) for other in others]
        here = (pl.col("rank") == rank) & (pl.col("attempt") == attempt)
        mine = mine.filter(~(here & pl.col("file").is_in(others)))
    kept = pl.concat([frame.filter(~pl.col("rank").is_in(crowded)), mine.select(frame.columns)])
    return kept, tuple(sorted(lost))


def _files(rows: pl.DataFrame) -> pl.DataFrame:
    """The distinct ones of rank, attempt and file: of neighbours that are alike, as rows of a file are, only the first is
    compared."""
    return rows.filter(~_same(*rows.columns)).unique()


def _in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Program order per rank: `seq` where it is complete and unique, else files by first step, rows as they stand."""
    frame = frame.with_columns(pl.col("attempt").fill_null(0))
    by, way = ["rank", "attempt"], ["file", "line", "record"]
    if frame["seq"].null_count() < frame.height:
        whole = pl.col("seq").is_not_null().all() & (pl.col("seq").n_unique() == pl.len())
        frame = frame.with_columns(pl.when(whole.over(by)).then(pl.col("seq")).alias("_seq"))
        way = ["_seq", *way]
    files = _files(frame.select(*by, "file"))
    if files.height > files.select(by).unique().height:
        first = frame.group_by(*by, "file").agg(pl.col("step").min().alias("_first"))
        frame = frame.join(first, on=[*by, "file"], how="left", nulls_equal=True, maintain_order="left")
        way.insert(way.index("file"), "_first")
    frame = sort_if_needed(frame, [*by, *way])
    fall = (pl.col("step").diff() < 0) & _same(*by)
    frame = frame.with_columns(fall.fill_null(False).cum_sum().alias("_falls"))
    own = pl.col("_falls") - pl.when(~_same(*by)).then(pl.col("_falls")).forward_fill()
    frame = frame.with_columns((pl.col("attempt") * 1000 + own).cast(pl.Int64).alias("launch"))
    extra = [name for name in frame.columns if name.startswith("_")]
    return frame.drop(extra).with_columns(pl.int_range(pl.len()).alias("place"))


def _same(*names: str) -> pl.Expr:
    """Whether a row has what the row before it has."""
    return pl.all_horizontal(pl.col(name).eq_missing(pl.col(name).shift(1)) for name in names)


_PATH = r"(?i)^[a-z_][\w]*(?:[./][\w]+)+$"
_OF_PARAMETER = r"(?i)(?:weight|bias|kernel|scale|gamma|beta)\d*$"
_SIDES = {"in": "input", "inputs": "input", "out": "output", "outputs": "output"}


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds `plain`, `base` and `kind`: what an operator, a tensor and a communication are called without decoration.

    `Tensor.masked_fill_.0` → `masked_fill`; `torch.distributed.all_reduce` → `all_reduce`. Each name is looked at once.
    """
    text = pl.col("op").str.to_lowercase().str.replace(_AFTER_NAME, "")
    plain = text.str.extract(r"([^.]+)$", 1).str.strip_chars_end("_")
    kind = pl.col("op").map_elements(kind_of, return_dtype=pl.String)
    ops = frame.select(pl.col("op").unique()).with_columns(plain=plain, kind=kind)
    is_gradient, first = pl.col("tensor").str.contains(PARAM_GRADS), pl.col("tensor").str.extract(r"^([^.]+)", 1)
    base = pl.when(is_gradient).then(pl.lit("param_grad")).otherwise(first.replace(_SIDES))
    tensors = frame.select(pl.col("tensor").unique()).with_columns(base=base)
    # A path that is no parameter's is a module's, and the row is of what it gave.
    is_path = (
        pl.col("tensor").str.contains(_PATH)
        & ~pl.col("tensor").str.contains(_OF_PARAMETER)
        & ~pl.col("base").is_in([*_NAMED, "grad_in", "grad_out"])
    )
    tensors = tensors.with_columns(_path=pl.when(is_path).then(pl.col("tensor")))
    frame = frame.join(ops, on="op", how="left", nulls_equal=True, maintain_order="left")
    frame = frame.join(tensors, on="tensor", how="left", nulls_equal=True, maintain_order="left")
    is_module = pl.col("_path").is_not_null() & pl.col("module").is_null() & pl.col("op").is_null()
    made = {"module": pl.col("_path"), "base": pl.lit("output")}
    return frame.with_columns(
        pl.when(is_module).then(one).otherwise(name).alias(name) for name, one in made.items()
    ).drop("_path")


def kind_of(op: str) -> str | None:
    """The kind of communication whose name the last part of an operator's name holds; null = none.

    `tp_all_reduce`, `ncclAllReduce`, `_c10d_functional.all_reduce.default` → `all_reduce`. "other": a communication, but of
    several kinds or with a calculation in it (`all_gather_matmul`), so that no rule of one kind holds.
    """
    words = _WORDS.findall(re.split(r"[.:/]", re.sub(_AFTER_NAME, "", op))[-1])
    name = "_".join(words).lower()
    kinds = {str(match.lastgroup) for match in _KINDS.finditer(name)}
    rest = set(_KINDS.sub("", name).split("_")) - {""}
    if not kinds:
        return None
    if kinds <= LOCAL_TOO:
        if {"parallel", "region"} <= rest:
            return REGIONS.get(min(kinds))
        if len(kinds) > 1 or (rest and not (rest <= WHERE | HOW and rest & WHERE)):
            return None
    return kinds.pop() if len(kinds) == 1 and rest <= WHERE | HOW else "other"


def _with_roles(frame: pl.DataFrame) -> pl.DataFrame:
    frame = _named(frame).with_columns(
        pl.when(pl.col("kind").is_null() & _communicates()).then(pl.lit("other")).otherwise(pl.col("kind"))
        .alias("kind")
    )  # fmt: skip
    frame = _with_operations(frame)
    base, kind = pl.col("base"), pl.col("kind")
    role = (
        pl.when(base.is_in(list(INPUTS))).then(pl.when(kind == "recv").then(None).otherwise(pl.lit("in")))
        .when(base.is_in(list(OUTPUTS)))
        .then(pl.when(pl.col("plain").is_in(list(UNINITIALISED)) | (kind == "send")).then(None)
              .otherwise(pl.lit("out")))
        .when(base.is_in(list(STATES)))
        .then(pl.when((pl.col("phase") == "optimizer") & kind.is_null()).then(pl.lit("out")).otherwise(pl.lit("state")))
    )  # fmt: skip
    return _without_destinations(frame.with_columns(role.alias("role")))


def _communicates() -> pl.Expr:
    """By its phase, or by what only communications state, whatever the operator is called; a group alone, where none is named."""
    told = pl.any_horizontal(pl.col(name).is_not_null() for name in ("call", "peer"))
    grouped = pl.any_horizontal(pl.col(name).is_not_null() for name in ("group", "group_ranks"))
    exchanges = pl.col("base").is_in(["grad_in", "grad_out"]) & (pl.col("phase") == "grad_sync")
    return (pl.col("phase") == "comm") | told | exchanges.fill_null(False) | (pl.col("op").is_null() & grouped)


def _with_operations(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds `operation`, a number that rows of one operation share. Tensors that repeat within a run are looked for by
    their hash, and counted only in the runs that have some: few do."""
    begins = ~_same("rank", *(name for name in _RUN if frame[name].null_count() < frame.height))
    frame = frame.with_columns((begins.cum_sum().cast(pl.Int64) * _REPEATS).alias("operation"))
    mark = pl.col("operation").cast(pl.UInt64) ^ pl.col("tensor").hash(0)
    repeated = frame.select("operation", again=mark.is_duplicated()).filter("again")["operation"].unique()
    if not len(repeated):
        return frame
    some = frame.filter(pl.col("operation").is_in(repeated.implode()))
    nth = some.select(
        "place", (pl.col("place").cum_count().over("operation", "tensor") - 1).cast(pl.Int64).alias("_nth")
    )
    whole = frame.join(nth, on="place", how="left", maintain_order="left")
    return whole.with_columns(pl.col("operation") + pl.col("_nth").fill_null(0)).drop("_nth")


def _without_destinations(frame: pl.DataFrame) -> pl.DataFrame:
    """The first of two input slots of a gather or scatter is a buffer that the call will fill: it says nothing.

    Equal inputs, as many as there are members, are the slices of one input instead.
    """
    candidates = frame.filter(pl.col("kind").is_in(list(DESTINATION_FIRST)) & (pl.col("role") == "in"))
    slots = candidates.with_columns(pl.col("tensor").str.extract(r"^[^.]+\.(\d+)", 1).alias("slot"))
    many = slots.filter(pl.col("slot").n_unique().over("operation") > 1)
    sizes = {text: len(rank_list(text) or ()) for text in many["group_ranks"].drop_nulls().unique()}
    size = pl.col("group_ranks").replace_strict(sizes, default=None, return_dtype=pl.UInt32)
    is_whole = (pl.col("slot").n_unique() == size.first()) & (pl.col("numel").n_unique() == 1)
    sliced = is_whole & (pl.col("kind").first() != "all_gather")
    buffers = many.filter(~sliced.over("operation").fill_null(False) & (pl.col("slot") == "0"))["place"]
    if not len(buffers):
        return frame
    is_buffer = pl.col("place").is_in(buffers.implode())
    return frame.with_columns(pl.when(~is_buffer).then("role").alias("role"))


def _judged(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds `nan`, `inf`, `bad`: counts decide where present, else min, max and absmax; mean and norm never do."""
    figures = pl.col("min", "max", "absmax")
    seen = pl.any_horizontal(figures.is_not_null())
    nan = pl.any_horizontal(figures.is_nan().fill_null(False))
    inf = pl.any_horizontal(figures.is_infinite().fill_null(False))
    frame = frame.with_columns(
        pl.when(pl.col("nan_count").is_not_null()).then(pl.col("nan_count") > 0).when(seen).then(nan).alias("nan"),
        pl.when(pl.col("inf_count").is_not_null()).then(pl.col("inf_count") > 0).when(seen).then(inf).alias("inf"),
    )
    named = pl.col("module", "op", "tensor")
    flag = pl.any_horizontal(named.str.contains(FOUND_INF).fill_null(False))
    raised = pl.coalesce("absmax", "max", "min")
    found = pl.when(raised.is_nan() | (raised.abs() > 0)).then(True).when(raised.is_not_null()).then(False)
    bad = (
        pl.when(flag).then(found | pl.col("nan").fill_null(False))
        .when(pl.col("numel") == 0).then(False)
        .when(pl.col("nan").is_null() & pl.col("inf").is_null()).then(None)
        .otherwise(pl.col("nan").fill_null(False) | pl.col("inf").fill_null(False))
    )  # fmt: skip
    is_named = pl.col("base").is_in(list(_NAMED)).fill_null(False)
    unnamed = pl.col("role").is_null() & pl.col("bad") & pl.col("nan") & ~is_named
    frame = frame.with_columns(bad.alias("bad"))
    frame = frame.with_columns(pl.when(unnamed).then(pl.lit("any")).otherwise(pl.col("role")).alias("role"))
    return without_masks(without_removed(frame))


def operations(frame: pl.DataFrame, some: pl.Series | None = None) -> pl.DataFrame:
    """Rows of `read_rows` → one row per operation, in program order. `some`: the numbers of those that are wanted.

    `in_bad`, `state_bad`, `out_bad`: bad if one tensor is, ok if all are, null if none has a row or one is unknown.
    `first_bad`: place of the first bad row with a role, `first_role` and `first_base` its role and tensor; `ins`: how
    many input rows; `peak`: largest |input|; `prev_ok`: place of the last clean row before, within the launch;
    `opens`: the operation begins a microbatch's forward pass, so that its input is the batch.
    """

    def three(role: str) -> pl.Expr:
        mine = pl.col("bad").filter(pl.col("role") == role)
        return pl.when(mine.any()).then(True).when(mine.is_null().any() | (mine.len() == 0)).then(None).otherwise(False)

    telling = pl.col("role").is_not_null()
    bad = pl.col("bad").fill_null(False) & telling
    inputs = pl.col("role") == "in"
    largest = pl.coalesce("absmax", pl.max_horizontal(pl.col("min").abs(), pl.col("max").abs()))
    frame = _with_way(frame)
    if some is not None:
        frame = frame.filter(pl.col("operation").is_in(some.implode()))
    return (
        frame.group_by("operation", maintain_order=True)
        .agg(
            pl.col("rank", *_RUN, "kind", "plain", "group_ranks", "inferred", "reduce_op").first(),
            pl.col("place").first(),
            pl.col("place").last().alias("end"),
            three("in").alias("in_bad"), three("state").alias("state_bad"), three("out").alias("out_bad"),
            inputs.sum().alias("ins"),
            pl.col("place").filter(bad).first().alias("first_bad"),
            pl.col("role").filter(bad).first().alias("first_role"),
            pl.col("base").filter(bad).first().alias("first_base"),
            pl.col("place").filter(telling & (pl.col("bad") == False)).last().alias("last_ok"),  # noqa: E712
            largest.filter(inputs).max().alias("peak"),
            pl.col("dtype").drop_nulls().first(),
            pl.col("tensor").filter(bad & (pl.col("role") == "out")).alias("bad_outputs"),
            pl.col("tensor").filter(bad & inputs).alias("bad_inputs"),
            pl.col("prev_ok", "opens").first(),
        )
        .sort("place")
    )  # fmt: skip


def _with_way(frame: pl.DataFrame) -> pl.DataFrame:
    """Adds `prev_ok` and `opens` of an operation to its first row: what came before it on its rank's way."""
    place = pl.col("place")
    clean = pl.when(pl.col("role").is_not_null() & (pl.col("bad") == False)).then(place)  # noqa: E712
    begin = pl.when(~_same("rank", "launch")).then(place).forward_fill()
    before = clean.forward_fill().shift(1)
    return frame.with_columns(
        pl.when(before >= begin).then(before).alias("prev_ok"),
        pl.col("operation").is_in(_openings(frame).implode()).alias("opens"),
    )


def _openings(frame: pl.DataFrame) -> pl.Series:
    """Operations whose input is a batch: the first forward input of a micro-batch, whichever module it goes into, unless
    a call before it brought it from another rank, or an output of the same shape came before it. Indices, masks and
    parameters that an operator takes as inputs are none."""
    way = ["rank", "launch", "step"]
    forward = frame.filter((pl.col("phase").fill_null("forward") == "forward") | pl.col("kind").is_not_null())
    local, brings = pl.col("kind").is_null(), pl.col("kind").is_in(_BRINGING)
    given = local & (pl.col("role") == "in") & ~_is_no_batch()
    if not forward.select(given.any()).item():
        return forward["operation"].clear()
    before = [pl.when(which).then("place").forward_fill().shift(1).over(way).fill_null(-1) for which in (brings, local)]
    other = pl.col("microbatch") != pl.when(brings).then("microbatch").forward_fill().shift(1).over(way)
    forward = forward.with_columns(((before[0] > before[1]) & ~other.fill_null(False)).alias("brought"))
    into = _without_parameters(forward.filter(given), frame)
    into = into.unique("operation", keep="first", maintain_order=True)
    into = into.with_columns(pl.col("place").shift(1).over(way).fill_null(-1).alias("since"))
    if frame["microbatch"].null_count() < frame.height:
        firsts = into.filter(pl.col("place") == pl.col("place").min().over(*way, "microbatch", "chunk"))
    else:  # a batch begins where the module that began the step comes again
        first = [pl.col(name).eq_missing(pl.col(name).first().over(way)) for name in ("module", "op")]
        firsts = into.filter(pl.all_horizontal(first))
    firsts = firsts.filter((pl.col("chunk").fill_null(0) == 0) & ~pl.col("brought"))
    made = forward.filter(local & (pl.col("role") == "out") & pl.col("shape").is_not_null())
    made = made.select(*way, "shape", pl.col("place").alias("made"))
    pairs = firsts.select(*way, "operation", "shape", "place", "since").join(made, on=[*way, "shape"])
    derived = pairs.filter((pl.col("made") > pl.col("since")) & (pl.col("made") < pl.col("place")))["operation"]
    return firsts.filter(~pl.col("operation").is_in(derived.implode()))["operation"]


def _is_no_batch() -> pl.Expr:
    """Integers and truth values index; what holds Inf and is not bad is a mask."""
    whole = pl.col("dtype").str.contains(r"^(?:torch\.)?(?:u?int|bool|long)").fill_null(False)
    return whole | (pl.col("inf").fill_null(False) & ~pl.col("bad").fill_null(True))


def _without_parameters(into: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    """Input rows but those with shape and figures of a parameter of that rank and step."""
    same = ["rank", "launch", "step", "shape", "min", "max"]
    params = frame.filter((pl.col("base") == "param") & pl.col("shape").is_not_null()).select(same).unique()
    return into.join(params, on=same, how="anti", maintain_order="left") if params.height else into
