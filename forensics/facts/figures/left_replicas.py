"""Which ranks left the others in what replicas hold in common: hashes and long figures that every rank prints for a step, and the
learning rate.

Who printed the same in every step before holds the same: such ranks are replicas of each other, whatever the layout. Where one of
them prints something else, the few left the many. Where half left half, or all left all, it may as well be how the job is laid out:
equal seeds make equal weights that then learn apart. Where the job is known to train nothing but replicas, few that never printed what
the many do were never the same.
"""

from collections.abc import Mapping

import msgspec
import polars as pl

from forensics.facts.figures.speakers import speakers
from parsers.schema.tables import Tables
from parsers.text.patterns import regex
from parsers.text.replica_names import says_what

_SURE = 2  # steps in which they agreed, for one to be named
_LAYOUT = 3  # and for parts of one size to be told at all
_LEARNS = 2  # values in several steps
_FEWEST = 3  # replicas among which some are few
# May be each rank's own from some step on.
_OWN = regex(r"(?i)local|resid|error|feedback|rng|random|sampler|loader|running|cache")
_PART = regex(r"(?i)shard|local|stage|part(?!ner)|expert|slice|chunk|bucket|rank")  # of what each holds of its own


class Left(msgspec.Struct, frozen=True):
    """In `step`, of `name`: ranks by what they print, most first. `agreed`: how many steps they had printed the same. `place`: rank →
    (file, line, what it printed). `is_first`: they never agreed, though all are replicas; then `agreed` is of the many."""

    name: str
    step: int
    sides: tuple[tuple[int, ...], ...]
    agreed: int
    place: Mapping[int, tuple[str, int | None, str]]
    is_first: bool = False

    @property
    def few(self) -> tuple[int, ...]:
        """Who left the most of three or more; nobody where there is no most."""
        members = sum(len(side) for side in self.sides)
        is_most = members >= _FEWEST and 2 * len(self.sides[0]) > members
        return tuple(sorted(rank for side in self.sides[1:] for rank in side)) if is_most else ()

    @property
    def is_sure(self) -> bool:
        return bool(self.few) and self.agreed >= _SURE

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(sorted(rank for side in self.sides for rank in side))


def spoken(tables: Tables) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Tables of one attempt → `steps`, where no rank is told beside any hash with a negative number for each who speaks (facts/figures/speakers.py), and
    what these are named after: the first of -1."""
    told = tables["steps"].filter(pl.col("checksum").is_not_null())
    if not told.height or told["rank"].count():
        return tables["steps"], ()
    found = speakers({**tables, "steps": told, "values": tables["values"].clear()}, fewest=2)
    if found is None or found.tables["steps"].select("rank", "step").is_duplicated().any():
        return tables["steps"], ()
    return found.tables["steps"].with_columns((-1 - pl.col("rank")).alias("rank")), found.names


def left_replicas(steps: pl.DataFrame, before: pl.DataFrame, replicas: frozenset[int], *, is_told: bool) -> Left | None:
    """Table of steps of an attempt and of the one before → the first step in which replicas part; None where none do. `replicas`: the
    ranks of a job that trains nothing but replicas; where nobody tells so (`is_told`), they must print another figure alike in every step:
    who reduces together, each from a loss of its own, holds the same parameters."""
    now = _printed(steps)
    if now.is_empty():
        return None
    then = _printed(before) if before.height else now.clear()
    apart = [(str(name), _steps(rows)) for (name,), rows in now.partition_by("name", as_dict=True).items()]
    before_it = (_first(name, said, _steps(then.filter(pl.col("name") == name))) for name, said in apart)
    found = [left for left in before_it if left is not None]
    if not found and replicas:
        are_replicas = is_told or any(_is_common(said, replicas) for _, said in apart)
        found = [
            left for name, said in apart if are_replicas and (left := _never_alike(name, said, replicas)) is not None
        ] or [left for name, said in apart if (left := _two_sides(name, said, replicas, _begins(steps))) is not None]
    return min(found, key=lambda left: (left.step, not left.few, left.name), default=None)


def odd_rate(steps: pl.DataFrame, before: pl.DataFrame) -> Left | None:
    """The same of the learning rate, where all ranks had one in the attempt before and some have another in the first step now."""
    now, then = (_steps(_rates(rows)) if rows.height else {} for rows in (steps, before))
    if not now or not then or any(len({value for _, _, value in said.values()}) > 1 for said in then.values()):
        return None
    first = min(now)
    ranks = frozenset.intersection(*(frozenset(said) for said in then.values()))
    left = _parted("lr", first, ranks, now[first], len(then))
    return left if left is not None and left.few else None


_COLUMNS = ("step", "rank", "file", "line")
_Said = Mapping[int, tuple[str, int | None, str]]


def _train(steps: pl.DataFrame) -> pl.DataFrame:
    train = pl.col("phase").fill_null("train") == "train"
    return steps.filter(train & pl.col("step").is_not_null() & pl.col("rank").is_not_null())


def _printed(steps: pl.DataFrame) -> pl.DataFrame:
    """step, rank, file, line, name, value: a row for each pair."""
    rows = _train(steps).filter(pl.col("checksum").is_not_null())
    pairs = rows.select(*_COLUMNS, pl.col("checksum").str.split(" ")).explode("checksum")
    apart = pl.col("checksum").str.splitn("=", 2)
    told = pairs.select(*_COLUMNS, name=apart.struct.field("field_0"), value=apart.struct.field("field_1"))
    told = _in_turn(told)
    unclear = [name for name in told["name"].drop_nulls().unique().to_list() if not says_what(name)]
    # What changes on every rank is learnt: an identity of a run or a request that all share stays as it is.
    stays = pl.col("value").n_unique().over("name", "rank").min().over("name") < _LEARNS
    return told.filter(~(pl.col("name").is_in(unclear) & stays))


def _in_turn(told: pl.DataFrame) -> pl.DataFrame:
    """The same; where every rank tells a step several values under one name, as in a row or a line for each of several tables, the second of them is called so: each goes through
    them in one order. Where ranks tell the same ones in another order, they do not, and nothing is compared."""
    of_one = ["name", "rank", "step"]
    count = pl.len().over(of_one)
    if not told.select((count > 1).any()).item():
        return told
    told = told.sort("file", "line", maintain_order=True)
    each = told.group_by(of_one, maintain_order=True).agg(
        pl.col("value").str.join(" ").alias("_order"), pl.col("value").sort().str.join(" ").alias("_all"), pl.len().alias("_count")
    )  # fmt: skip
    is_shuffled = (pl.col("_all").n_unique() == 1) & (pl.col("_order").n_unique() > 1)
    shuffled = each.group_by("name", "step").agg(is_shuffled.alias("_is")).filter("_is")["name"].unique()
    steady = each.group_by("name", "step").agg((pl.col("_count").n_unique() == 1).alias("_steady"))
    told = told.join(steady, on=["name", "step"], how="left", maintain_order="left").with_columns(
        pl.int_range(1, pl.len() + 1).over(of_one).alias("_nth")
    )
    is_told_apart = pl.col("_steady") & (pl.col("_nth") > 1) & ~pl.col("name").is_in(shuffled.implode())
    name = pl.when(is_told_apart).then(pl.concat_str("name", pl.lit("."), "_nth")).otherwise("name")
    return told.with_columns(name.alias("name")).drop("_nth", "_steady")


def _rates(steps: pl.DataFrame) -> pl.DataFrame:
    rows = _train(steps).filter(pl.col("learning_rate").is_finite())
    return rows.select(*_COLUMNS, pl.lit("lr").alias("name"), pl.col("learning_rate").cast(pl.String).alias("value"))


def _steps(rows: pl.DataFrame) -> dict[int, _Said]:
    """Step → rank → (file, line, value); without ranks that print two values in a step."""
    once = rows.unique(["step", "rank", "value"], keep="first", maintain_order=True)
    once = once.filter(pl.len().over("step", "rank") == 1)
    found: dict[int, dict[int, tuple[str, int | None, str]]] = {}
    for step, rank, file, line, _, value in once.sort("step", "rank").iter_rows():
        found.setdefault(step, {})[rank] = (str(file), line, value)
    return dict(found)


def _first(name: str, now: Mapping[int, _Said], then: Mapping[int, _Said]) -> Left | None:
    """The first split of a class of ranks that agreed in every step so far; what all had in common in the attempt before is
    such a class."""
    classes: list[tuple[frozenset[int], int]] = []  # and in how many steps they agreed
    if then and all(len({value for _, _, value in said.values()}) == 1 for said in then.values()):
        classes = [(frozenset.union(*(frozenset(said) for said in then.values())), len(then))]
    for step in sorted(now):
        said = now[step]
        split = [
            left
            for members, agreed in classes
            if (
                left := _parted(name, step, members, said, agreed, is_learnt=_learnt_alike(members, now, step))
                or _scattered(name, step, members, now, agreed)
            )
            is not None
        ]
        if split:
            return max(split, key=lambda left: len(left.members))
        if not classes:
            classes = [(members, 0) for members in _alike(said)]
        classes = [one for members, agreed in classes for one in _after(members, agreed, said)]
    return None


def _is_common(now: Mapping[int, _Said], replicas: frozenset[int]) -> bool:
    """Do all print it, alike in every step and anew in each?"""
    values = [{value for _, _, value in said.values()} for said in now.values()]
    is_alike = all(frozenset(said) == replicas for said in now.values()) and all(len(own) == 1 for own in values)
    return is_alike and len(set().union(*values)) > _SURE


def _never_alike(name: str, now: Mapping[int, _Said], replicas: frozenset[int]) -> Left | None:
    """Where all replicas print it in every step, most always print the same and few, no more than a third, never do."""
    if len(now) < _SURE or any(frozenset(said) != replicas for said in now.values()):
        return None
    first = min(now)
    sides = [_alike(now[step]) for step in sorted(now)]
    few = replicas - sides[0][0]
    is_lasting = all(one[0] == sides[0][0] for one in sides) and 0 < _FEWEST * len(few) <= len(replicas)
    left = _parted(name, first, replicas, now[first], len(now)) if is_lasting else None
    return None if left is None else msgspec.structs.replace(left, is_first=True)


def _begins(steps: pl.DataFrame) -> int:
    """The first step of which a loss is told."""
    first = _train(steps).filter(pl.col("loss").is_not_null())["step"].min()
    return first if isinstance(first, int) else -1


def _two_sides(name: str, now: Mapping[int, _Said], replicas: frozenset[int], begins: int) -> Left | None:
    """Where all print it in every step, from before the first loss on, and neighbours print the same in each, in halves that never do. Mates of a part print a loss in
    common, and parts of a state are dealt out among neighbours; so hosts have begun with different parameters, and nothing tells whose are right."""
    is_told = len(now) >= _LAYOUT and min(now) <= begins and all(frozenset(said) == replicas for said in now.values())
    if not is_told or _PART.search(name):
        return None
    sides = {tuple(tuple(sorted(side)) for side in _alike(said)) for said in now.values()}
    halves = sides.pop()
    is_even = not sides and len(halves) == 2 and len(halves[0]) == len(halves[1]) > 1
    if not is_even or any(side[-1] - side[0] >= len(side) for side in halves) or not _is_anew(now, replicas):
        return None
    left = _parted(name, min(now), replicas, now[min(now)], len(now))
    return None if left is None else msgspec.structs.replace(left, is_first=True)


def _is_anew(now: Mapping[int, _Said], replicas: frozenset[int]) -> bool:
    """Does every rank print another value in each step?"""
    return all(len({said[rank][2] for said in now.values()}) == len(now) for rank in replicas)


def _after(members: frozenset[int], agreed: int, said: _Said) -> list[tuple[frozenset[int], int]]:
    """The class after a step: as it was, one step older where two said the same; else its parts, which begin anew."""
    parts = _alike(said, members)
    if len(parts) < 2:
        return [(members, agreed + any(len(part) > 1 for part in parts))]
    return [(part, 1) for part in parts if len(part) > 1]


def _alike(said: _Said, members: frozenset[int] | None = None) -> list[frozenset[int]]:
    by_value: dict[str, set[int]] = {}
    for rank, (_, _, value) in said.items():
        if members is None or rank in members:
            by_value.setdefault(value, set()).add(rank)
    return sorted((frozenset(ranks) for ranks in by_value.values()), key=lambda ranks: (-len(ranks), min(ranks)))


def _scattered(name: str, step: int, members: frozenset[int], now: Mapping[int, _Said], agreed: int) -> Left | None:
    """Where all that agreed go their own ways at once, and no two of them come together again: what made them alike is no longer done. Who averages
    now and then comes together."""
    later = [said for at, said in now.items() if at >= step and members <= said.keys()]
    are_apart = all(len({said[rank][2] for rank in members}) == len(members) for said in later)
    if len(members) < _FEWEST or agreed < _LAYOUT or len(later) < _LAYOUT or not are_apart or _OWN.search(name):
        return None
    place = {rank: now[step][rank] for rank in members}
    return Left(name, step, tuple((rank,) for rank in sorted(members)), agreed, place)


def _learnt_alike(members: frozenset[int], now: Mapping[int, _Said], step: int) -> bool:
    """Did all of them print one value, and later another one, in the steps before?"""
    before = (said for at, said in now.items() if at < step and members <= said.keys())
    values = ({said[rank][2] for rank in members} for said in before)
    return len({value for own in values if len(own) == 1 for value in own}) >= _LEARNS


def _parted(
    name: str, step: int, members: frozenset[int], said: _Said, agreed: int, *, is_learnt: bool = False
) -> Left | None:
    sides = _alike(said, members)
    is_layout = len({len(side) for side in sides}) == 1 and agreed < _LAYOUT and not is_learnt
    each_alone = len(sides) > 2 and len(sides[0]) == 1  # goes its own way: it is nobody's replica
    if len(sides) < 2 or is_layout or each_alone:
        return None
    place = {rank: said[rank] for side in sides for rank in side}
    return Left(name, step, tuple(tuple(sorted(side)) for side in sides), agreed, place)
