"""What a sidecar's table of beats says that each rank is at: the one that stood in a phase of its own while all others stood in one and the same.

    ts,container,step,phase⏎…,5f0c1be7a9d2,18200,barrier⏎…,b3427e915fa0,18200,save_shard          again and again, to the end

The words are the program's own. That all others are in one phase, at the same step, for more than one beat, says that they wait there; whoever is
in another one, which it told again and again as well, and which is no wait by its words, is not where they are.
"""

from collections.abc import Collection, Mapping
from typing import cast

import msgspec
import polars as pl

from forensics.facts.rows.event_rows import detail, reference
from forensics.facts.waits.stacks import classify, to_frames
from forensics.model.names import Site
from forensics.model.ref import Ref
from parsers.schema.tables import Tables
from parsers.text.durations import sort_of

_BEATS = 2  # in the same phase, of the odd one and of most others
_SITES: Mapping[str, Site] = {
    "save": "checkpoint_io", "ckpt": "checkpoint_io", "shard": "checkpoint_io", "data": "data_loading", "load": "data_loading",
    "loader": "data_loading", "batch": "data_loading", "fetch": "data_loading", "storage": "storage_io", "lock": "lock",
}  # fmt: skip


class OddState(msgspec.Struct, frozen=True):
    """The phase that the odd rank stands in, as it calls it, and what a process does there."""

    state: str
    site: Site | None
    refs: tuple[Ref, ...]


def odd_state(tables: Tables, rank: int, others: Collection[int]) -> OddState | None:
    """Tables of one attempt → where the beats of `rank` show it, where those of all `others` show one other phase."""
    is_beat = (pl.col("code") == "heartbeat") & pl.col("rank").is_in([rank, *others])
    beats = tables["events"].filter((pl.col("kind") == "other") & is_beat).sort("time_ns", "file", "line")
    last = {row["rank"]: row for row in beats.iter_rows(named=True)}
    if last.keys() != {rank, *others} or len(others) < _BEATS:
        return None
    told = {one: detail(row) for one, row in last.items()}
    states = {one: str(own.get("state") or "") for one, own in told.items()}
    again = {one for one, own in told.items() if int(own.get("times") or 0) >= _BEATS}
    own, theirs = states[rank], {states[one] for one in others}
    if len(theirs) != 1 or "" in {own, *theirs} or own in theirs or sort_of(own) == "wait":
        return None
    is_level = len({last[one]["step"] for one in others}) == 1 and (last[rank]["step"] or 0) <= (
        last[min(others)]["step"] or 0
    )
    if not is_level or rank not in again or 2 * len(again & {*others}) <= len(others):
        return None
    return OddState(own, _site(own), (reference(last[rank]), reference(last[min(others)])))


def _site(state: str) -> Site | None:
    found = classify(to_frames([{"function": state, "file": "", "line": None}])).site
    if found not in ("unknown", "communication"):
        return cast(Site, found)
    words = state.lower().replace("-", "_").replace(" ", "_").split("_")
    told = next((_SITES[word] for word in words if word in _SITES), None)
    return told or ("compute" if sort_of(state) == "work" else None)
