"""What lines of steps tell beside the loss, under any names: as of records, `figures` and, where one is no number, rows of `values`.

    step 41 loss 1.6532 grad_norm 0.4109 shard_update_norm 4.7569e+01 lr 2.00e-03
    step=22 loss=3.0023 gnorm_local=inf gnorm=inf max_grad_local=7.044e+34 (blocks.1.fc1.weight)

A figure is a number with a fraction, NaN or Inf behind its name, with nothing but a space, `=` or `:` between them.

Printed by: training scripts.
Versions: any.
Source: this project's own samples.
"""

import polars as pl

from parsers.schema.tables import Tables, conform, empty
from parsers.text import vocabulary
from parsers.training.step_figures import unknown_figures
from parsers.training.told_values import of_record

_VALUE = r"[+-]?(?:[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|[nN][aA][nN]|[iI]nf(?:inity)?)"
_NAME = r"[A-Za-z][A-Za-z0-9_./-]*"
_PAIR = rf"(?P<name>{_NAME}(?: {_NAME})?(?: {_NAME})?)(?: *[=:] *| +)(?P<value>{_VALUE})(?:[\s,;|)\]]|$)"
_IS_BAD = r"(?i)[=:\s][+-]?(?:nan|inf(?:inity)?)(?:[\s,;|)\]]|$)"
_LOST = r"(?i)(?P<name>[0-9a-z_]) (?P<value>[+-]?(?:nan|inf(?:inity)?))(?P<end>[\s,;|)\]]|$)"
_LEARNT = frozenset(
    ("loss", "norm", "gnorm", "grad", "grads", "gradient", "gradients", "update", "param", "params", "weight", "weights")
)  # fmt: skip
_FIRST, _MORE = 8, 32  # lines of a file that tell whether its lines tell more than a loss
_PLACE = ("rank", "local_rank", "step", "time_ns", "time_basis", "file", "line")


def beside_losses(lines: pl.DataFrame, steps: pl.DataFrame) -> Tables:
    """Lines, and the rows of `steps` from them → these with `figures`, and with a norm that nobody has read; values, of files in which a figure is no
    number while the loss is one."""
    mine = (pl.col("phase") == "train") & pl.col("loss").is_not_null() & pl.col("figures").is_null()
    own = steps.filter(mine & pl.col("framework").is_null() & pl.col("step").is_not_null())
    own = own.select(*_PLACE, "loss", "grad_norm")
    if own.is_empty():
        return {"steps": steps, "values": empty("values")}
    told = own.unique(["file", "line"]).join(lines.select("file", "line", "text"), on=["file", "line"])
    is_odd = pl.col("loss").is_finite() & pl.col("text").str.contains(_IS_BAD)
    odd = told.filter(is_odd)["file"].unique()
    at, count = pl.int_range(pl.len()).over("file"), pl.len().over("file")
    some = _pairs(told.sort("file", "line").filter((at < _FIRST) | (at % (count // _MORE + 1) == 0)))
    normed = told.filter(pl.col("grad_norm").is_not_null())["file"].unique()
    tells = pl.col("is_free") | (pl.col("is_norm") & ~pl.col("file").is_in(normed.implode()))
    telling = some.filter(tells)["file"].unique().append(odd)
    pairs = _pairs(told.filter(pl.col("file").is_in(telling.implode())))
    if pairs.is_empty():
        return {"steps": steps, "values": empty("values")}
    as_text = pl.concat_str("name", pl.lit("="), "value")
    by_line = pairs.group_by("file", "line", maintain_order=True).agg(
        as_text.filter("is_free").str.join(" ").alias("_figures"),
        pl.col("value").filter("is_norm").first().str.to_lowercase().cast(pl.Float64, strict=False).alias("_norm"),
    )
    is_told = pl.col("_figures").is_not_null() & (pl.col("_figures") != "") & mine
    steps = steps.join(by_line, on=["file", "line"], how="left", maintain_order="left").with_columns(
        figures=pl.when(is_told).then("_figures").otherwise("figures"),
        grad_norm=pl.when(mine).then(pl.coalesce("grad_norm", "_norm")).otherwise("grad_norm"),
    )
    values = _values(told, pairs, odd) if len(odd) else empty("values")
    return {"steps": steps.drop("_figures", "_norm"), "values": values}


def _pairs(told: pl.DataFrame) -> pl.DataFrame:
    """file, line, name, value as text, and what of _names: a row for each figure of these lines, in order."""
    # `loss inf pmax 3.2`, where no name goes on with it
    joined = pl.col("text").str.replace_all(_LOST, "${name}=${value}${end}")
    found = told.select("file", "line", joined.str.extract_all(_PAIR).alias("pair")).explode("pair")
    apart = pl.col("pair").str.extract_groups(_PAIR)
    name, value = apart.struct.field("name").str.replace_all(" ", "_", literal=True), apart.struct.field("value")
    pairs = found.drop_nulls("pair").select("file", "line", name, value)
    return pairs.join(_names(pairs["name"].unique().to_list()), on="name", maintain_order="left")


def _values(told: pl.DataFrame, pairs: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    lasts = told.sort("file", "line").group_by("file").agg(pl.col("loss").last().is_finite().alias("_went_on"))
    of_odd = pairs.filter(pl.col("file").is_in(odd.implode()) & pl.col("is_compared"))
    compared = of_odd.join(lasts, on="file", maintain_order="left").filter(~pl.col("_went_on") | pl.col("is_learnt"))
    is_bad = pl.col("value").str.contains(r"(?i)n")
    as_text = pl.concat_str("name", pl.lit("="), pl.col("value").str.to_lowercase())
    rows = compared.group_by("file", "line", maintain_order=True).agg(
        fine=pl.col("name").filter(~is_bad).str.join(" "), bad=as_text.filter(is_bad).str.join(" ")
    )
    rows = rows.with_columns(pl.when(pl.col(one) != "").then(one).alias(one) for one in ("fine", "bad"))
    return conform("values", told.select(_PLACE).join(rows, on=["file", "line"]).with_columns(pl.lit("").alias("of")))


def _names(names: list[str]) -> pl.DataFrame:
    """name, whether nothing is known of it or it is a norm of the rank's own, is the norm of all, counts among what is compared, and is of what a
    step makes: a training goes on without any other figure."""
    told = {
        "is_free": [unknown_figures({name: 0.5}, with_own=True) is not None for name in names],
        "is_norm": [vocabulary.meant(name) == "grad_norm" for name in names],
        "is_compared": [of_record({name: float("nan")}) is not None for name in names],
        "is_learnt": [not _LEARNT.isdisjoint(vocabulary.words_of(name)) for name in names],
    }
    return pl.DataFrame({"name": names, **told}, schema={"name": pl.String, **dict.fromkeys(told, pl.Boolean)})
