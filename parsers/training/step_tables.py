"""A table with a row per step, or per rank and step, in any form → steps, timings, and who runs where."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from parsers.forms import framings
from parsers.forms.holders import MOST_ROWS, holder_columns, holder_of, step_of
from parsers.forms.reading import whole
from parsers.schema.parser import Source
from parsers.schema.tables import Rows, Tables, tables_of
from parsers.text import vocabulary
from parsers.training.spread import labelled
from parsers.training.step_figures import figures
from parsers.training.told_values import of_record

_FEW = 6  # rows
_RANGE = ("__MIN", "__MAX")  # of the points that one of a chart stands for


def names_in(raw: Collection[str], whose: Callable[[str], int | None] | None = None) -> dict[str, str]:
    """Name → without the run's name that a chart puts before it; nothing of a chart of several, unless these are called after ranks, or as processes are (`whose`;
    without it, what they would be called)."""
    points = [name for name in raw if not name.endswith(_RANGE)]
    runs = dict.fromkeys(run for name in points if (run := name.rpartition(" - ")[0]))
    if len(runs) < 2:
        return {name: name.rpartition(" - ")[2] for name in points}
    ranks = {run: found[0] if (found := labelled(run)) is not None else None for run in runs}
    if len({*ranks.values()} - {None}) == len(runs):
        return {name: name for name in points}
    ranks = {run: at if whose is None else whose(run) for at, run in enumerate(runs)}
    told = [name.rpartition(" - ") for name in points]
    alike = {frozenset(metric for run, _, metric in told if run == one) for one in runs}
    if len({*ranks.values()} - {None}) < len(runs) or len(alike) > 1:
        return {}
    own = [f"rank {ranks[run]} - {rest}" if run else rest for run, _, rest in told]
    return dict(zip(points, own, strict=True))


def step_tables(source: Source, form: str | None, counter: str | None = None, *, is_of_parts: bool = False) -> Tables:
    """`form`: that of the file's records (framings.py). `counter`: the column that counts the steps, where its name says nothing; `is_of_parts`: rows without a step hold values as well. timings, a row per part of a step, level 0; steps; ranks: who runs where; `unread` for rows that log neither."""
    steps, timings, values = Rows("steps"), Rows("timings"), Rows("values")
    hosts: dict[tuple[Any, ...], dict[str, Any]] = {}
    claimed: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    shown: dict[tuple[str, ...], dict[str, str]] = {}
    sample: list[Mapping[str, Any]] = []
    called = source.labels.names.of_cell
    common = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
    for number, _text, said in framings.rows(source):
        place = {"file": source.path, "line": number}
        if said is framings.HEADER:
            claimed.append(place)
            continue
        if said is not None and tuple(said) not in shown:
            own_names = {raw: "step" if raw == counter else name for raw, name in names_in(said, called).items()}
            shown = {tuple(said): own_names}  # rows of a table are alike
        if said is not None and len(sample) < MOST_ROWS:
            sample.append(said)
        own = {} if said is None else {name: said[raw] for raw, name in shown[tuple(said)].items()}
        found = figures(own, common | {"line": number}, source.labels.names)
        told = of_record(own) if found is None else None
        if told is not None and ((whose := _whose(own, source))["step"] is not None or is_of_parts):
            values.append(whose | place | told)
            continue
        if found is None:
            unread.append(place | {"reason": "logs neither loss, gradient norm nor times"})
            continue
        for rows, own_rows in ((steps, found.steps), (timings, found.timings), (values, found.values)):
            for row in own_rows:
                rows.append(row)
        for row in found.ranks:
            hosts.setdefault((row["rank"], row["host"]), row)
    times, own_steps = timings.table(), steps.table()
    held_by = _holders(source, sample, counter)
    return tables_of(
        timings=times,
        steps=_held(_logged(own_steps) if times.is_empty() and form in framings.TABLES else own_steps, held_by),
        values=_held(values.table(), held_by),
        ranks=hosts.values(),
        claimed=claimed,
        unread=unread,
    )


def _whose(own: Mapping[str, Any], source: Source) -> dict[str, Any]:
    meant = vocabulary.told(own)
    rank = whole(meant.get("rank"))
    who = {"rank": source.rank if rank is None else rank, "local_rank": source.local_rank}
    return who | {"step": whole(meant.get("step"))}


def _holders(source: Source, sample: Sequence[Mapping[str, Any]], counter: str | None) -> dict[int, str]:
    """Line → whose it is, where no row tells a rank."""
    is_told = source.rank is not None or source.local_rank is not None
    if is_told or len(sample) < _FEW or "rank" in vocabulary.meanings(sample[0]):
        return {}
    step = counter or step_of(sample)
    columns = () if step is None else holder_columns(sample, step)
    if not columns:
        return {}
    return {number: holder_of(said, columns) for number, _, said in framings.rows(source) if said}


def _held(rows: pl.DataFrame, whose: Mapping[int, str]) -> pl.DataFrame:
    if not whose or not rows.height or rows["rank"].count():
        return rows
    told = pl.col("line").replace_strict(whose, default=None, return_dtype=pl.String)
    return rows.with_columns(told.cast(rows.schema["holder"]).alias("holder"))


def _logged(steps: pl.DataFrame) -> pl.DataFrame:
    """Without NaN that stands where nothing was logged: some exports of tables write it, a record of its own does not; and a loss that is NaN stays so. Where several tell one step, whose ranks
    nobody knows yet, the loss of another may be finite after it."""
    last = pl.col("line").filter(pl.col("loss").is_finite()).max().over("rank", "phase")
    is_of_one = pl.col("step").is_unique().over("rank", "phase")
    return steps.filter(~(pl.col("loss").is_nan() & (pl.col("line") < last) & is_of_one).fill_null(False))
