"""Whose numbers a line prints: groups by name or description, their members, and ranks within them made global."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import Row, detail, own_rank
from forensics.model.texts import UNNAMED_GROUP
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_OWN = regex(r"\[Rank (\d{1,7})\]")  # a member of a group, by its number there
_NEAR = 40  # lines between a report and the counters that name its group
_BARRIERS = ("barrier_missing", "remote_error")
_DEFAULT = ("default_pg", "default", "world")
_OF_ALL = ("0", "hccl_world_group", "nccl_world_group", "mccl_world_group")  # PyTorch's and MindSpore's names


def is_default(group: str | None, desc: str | None) -> bool:
    """Is this the group of all ranks, by its description or its framework's name of it?"""
    return desc in _DEFAULT or (desc is None and group in (*_OF_ALL, *_DEFAULT))


def _number(row: Row) -> int | None:
    """The number that the printer of a line tells of itself there."""
    own, said = detail(row).get("own"), _OWN.search(row["text"] or "")
    return int(own) if own is not None else int(said[1]) if said else None


def group_name(group: str | None, desc: str | None) -> str:
    """The telling name: its description, else its number; both where several groups share the description."""
    if desc and desc != "undefined":
        return desc if not group or group == desc or desc == "default_pg" else f"{desc} ({group})"
    return group or "?"


def label(group: tuple[str | None, str | None]) -> str:
    """(name, description) of a group → how sentences call it."""
    return group[1] or (f"group {group[0]}" if group[0] else UNNAMED_GROUP)


def _agreed(groups: pl.DataFrame, what: str) -> dict[tuple[str, str], Any]:
    """(column, name or description of a group) → what is said of it, where all who say it agree."""
    found: dict[tuple[str, str], Any] = {}
    for column in ("group", "desc") if groups.height else ():
        said = groups.select(column, what).drop_nulls().unique()
        found |= {(column, name): one for name, one in said.filter(pl.len().over(column) == 1).iter_rows()}
    return found


class Memberships(msgspec.Struct, frozen=True, dict=True):
    """What the tables of one attempt say of groups. `expected`, `seen`: ranks of the job, ranks with a record."""

    tables: Tables
    expected: frozenset[int]
    seen: frozenset[int]

    def group_of(self, row: Row) -> tuple[str | None, str | None]:
        """(name, description) of the group that a watchdog's report is about: the row's own, else that of the counters its
        rank printed near it."""
        if row["group"]:
            return row["group"], self._descriptions.get((row["file"], row["group"]))
        rank, line = own_rank(row), row["line"] or 0
        lines, counters = self._counters.get(row["file"], ([], []))
        near = counters[bisect_left(lines, line - _NEAR) : bisect_right(lines, line + _NEAR)]
        found = {(group, desc) for whose, group, desc in near if rank is None or whose is None or whose == rank}
        return found.pop() if len(found) == 1 else (None, None)

    def with_groups(self, events: pl.DataFrame) -> pl.DataFrame:
        """Events with `_name` and `_desc` of the group that each is about; asked once of those that must be alike."""
        is_near = (pl.col("group").fill_null("") == "") & pl.col("file").is_in(list(self._counters))
        keys = ["rank", "rank_space", "group", "file", "_near"]
        events = events.with_columns(pl.when(is_near).then("line").alias("_near"))
        asked = events.select(*keys, pl.col("_near").alias("line")).unique(maintain_order=True)
        found = [self.group_of(row) for row in asked.iter_rows(named=True)]
        named = pl.DataFrame(found, schema={"_name": pl.String, "_desc": pl.String}, orient="row")
        told = pl.concat([asked.drop("line"), named], how="horizontal")
        return events.join(told, on=keys, how="left", nulls_equal=True, maintain_order="left").drop("_near")

    @cached_property
    def _descriptions(self) -> dict[tuple[str, str], str]:
        """(file, name of a group) → the first description that counters there print of it."""
        named = self.tables["progress"].select("file", "group", "desc").drop_nulls()
        return {(file, group): desc for file, group, desc in named.reverse().iter_rows()}

    @cached_property
    def _counters(self) -> dict[str, tuple[list[int], list[tuple[int | None, str | None, str | None]]]]:
        """File → (lines with counters, ascending; whose and of which group), but of groups that had completed all they were asked for."""
        if not self.tables["progress"].height:
            return {}
        is_idle = pl.col("last_enqueued").eq(pl.col("last_completed")).fill_null(False)
        placed = self.tables["progress"].drop_nulls("line").filter(~is_idle).sort("file", "line")
        by_file: dict[str, tuple[list[int], list[tuple[int | None, str | None, str | None]]]] = {}
        for file, line, *counter in placed.select("file", "line", "rank", "group", "desc").iter_rows():
            lines, counters = by_file.setdefault(file, ([], []))
            lines.append(line)
            counters.append((counter[0], counter[1], counter[2]))
        return by_file

    def members_of(self, group: str | None, desc: str | None) -> tuple[int, ...]:
        """Global ranks of a group in group order; empty where the bundle does not say."""
        for column, value in (("group", group), ("desc", desc)):
            if value is not None and (column, value) in self._stated:
                return self._stated[column, value]
        said, size = self._joined.get(group or "", ()), self.size_of(group, desc)
        if size is not None and len(said) == size:
            return said  # PyTorch numbers the members of a group in the order of their ranks
        if size is not None and size == len(self.expected):
            return tuple(sorted(self.expected))
        return tuple(sorted(self.expected)) if is_default(group, desc) else ()

    def members_for(self, row: Row) -> tuple[int, ...]:
        """Members of the group whose numbers a line of a monitored barrier prints: those of its own group, else of the one list in the bundle that has everybody who
        told a number of his there at that place."""
        group = self.group_of(row)
        members, own = self.members_of(*group), _number(row)
        if members or own is None or group != (None, None) or row["kind"] not in _BARRIERS:
            return members
        places = self._places
        pairs = [(own, own_rank(row))] if any(len(ranks) > 1 for ranks in places.values()) else [
            (number, rank) for number, ranks in places.items() for rank in ranks
        ]  # fmt: skip
        fitting = [one for one in self._lists if all(at < len(one) and one[at] == rank for at, rank in pairs)]
        return fitting[0] if len(fitting) == 1 else ()

    @cached_property
    def _places(self) -> dict[int, set[int]]:
        """Numbers that printers of global ranks tell of themselves in barriers of a group without a name → these ranks."""
        found: dict[int, set[int]] = {}
        told = self.tables["events"].filter(pl.col("kind").is_in(_BARRIERS) & (pl.col("rank_space") == "global"))
        for row in told.iter_rows(named=True):
            number, rank = _number(row), own_rank(row)
            if number is not None and rank is not None and self.group_of(row) == (None, None):
                found.setdefault(number, set()).add(rank)
        return found

    @cached_property
    def _lists(self) -> list[tuple[int, ...]]:
        """The members of each group that the bundle lists, and of all."""
        known = self.tables["groups"].filter(pl.col("members_space") == "global")["members"].drop_nulls()
        return sorted({*map(tuple, known.to_list()), tuple(sorted(self.expected))} - {()})

    @cached_property
    def _stated(self) -> dict[tuple[str, str], tuple[int, ...]]:
        """(column, name or description) → members, where all who state them agree."""
        known = self.tables["groups"].filter(pl.col("members_space") == "global")
        return {name: tuple(members) for name, members in _agreed(known, "members").items()}

    @cached_property
    def _joined(self) -> dict[str, tuple[int, ...]]:
        """Name of a group → ranks that say themselves that they are members."""
        if not self._of_jobs.height:
            return {}
        own = self._of_jobs.filter(pl.col("members").is_null()).select("group", "rank").drop_nulls()
        return {group: tuple(sorted(ranks)) for group, ranks in own.unique().group_by("group").agg("rank").iter_rows()}

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], int]:
        """(column, name or description) → how many members, where all who say it agree."""
        return _agreed(self._of_jobs, "size")

    @cached_property
    def _of_jobs(self) -> pl.DataFrame:
        """Rows of `groups` without a library's communicators, which have no group's name."""
        groups = self.tables["groups"]
        return groups.filter(pl.col("comm").is_null()) if groups.height else groups

    def size_of(self, group: str | None, desc: str | None) -> int | None:
        """Members of a group, where a member says how many; a description alone may stand for several groups."""
        return self._sizes.get(("group", group) if group is not None else ("desc", desc or ""))

    def _only_default(self) -> bool:
        """No record in the bundle knows a group besides the default one."""
        frames = (self.tables["progress"], self._of_jobs)
        named = (one for frame in frames for one in frame.select("group", "desc").unique().iter_rows())
        return all(is_default(group, desc) for group, desc in named if group or desc)

    def to_global(self, row: Row, numbers: Sequence[int], *, assume: bool = False) -> dict[int, int] | None:
        """Numbers printed for ranks → global ranks; None where membership is unknown.

        A number is global where the row says so, where its group is the default one, or where the numbers are just those of
        the whole job; else the group's members tell. `assume`: where the bundle knows no other group, take it for the
        default one."""
        same = {number: number for number in numbers}
        if row["names_rank_space"] == "global":
            return same
        group, desc = self.group_of(row)
        members = self.members_for(row)
        if members and max(numbers, default=0) < len(members):
            return {number: members[number] for number in numbers}
        if is_default(group, desc) or (len(same) > 1 and set(same) == self.expected):
            return same
        covered = len(self.seen) > 1 and self.seen <= set(numbers)
        return same if group is None and self._only_default() and (assume or covered) else None
