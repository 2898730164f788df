"""The merged prefix tree of stacks (STAT, 2007), as text: each frame with the ranks that are in it."""

from collections.abc import Iterator

import msgspec
import polars as pl

from forensics.facts.waits.stacks import to_frames
from forensics.model.texts import ranks_text


class _Node(msgspec.Struct):
    count: int = 0
    ranks: list[int] = msgspec.field(default_factory=list)
    children: dict[str, "_Node"] = msgspec.field(default_factory=dict)


def _tree(stacks: pl.DataFrame) -> _Node:
    root = _Node()
    for row in stacks.sort("rank", "host", "pid", "file", "line").iter_rows(named=True):
        node = root
        for step in (None, *(frame.text() for frame in reversed(to_frames(row["frames"])))):
            if step is not None:
                node = node.children.setdefault(step, _Node())
            node.count += row["count"]
            if row["rank"] is not None:
                node.ranks.append(row["rank"])
    return root


def _walk(node: _Node, depth: int, whole: int) -> Iterator[str]:
    for name, child in sorted(node.children.items(), key=lambda item: (-item[1].count, item[0])):
        who = ranks_text(child.ranks) if child.ranks else f"{child.count} processes"
        rare = "  ◀" if child.count < whole / 3 and node.count != child.count else ""
        yield f"{'  ' * depth}{child.count:>6}  {name}  [{who}]{rare}"
        yield from _walk(child, depth + (len(node.children) > 1), whole)


def lines(stacks: pl.DataFrame) -> Iterator[str]:
    """Frame of facts.stacks.main_stacks → classes first (rarest first), then the tree, outermost frame first; a branch
    that few share is marked ◀. A chain without branches is not indented."""
    if not stacks.height:
        yield "no stacks in this bundle"
        return
    root = _tree(stacks)
    classes = stacks.group_by("site", "op").agg(pl.col("count").sum(), pl.col("rank").drop_nulls())
    classes = classes.sort("count", "site", "op")
    yield f"{root.count} main threads, {classes.height} classes by what they do"
    for row in classes.iter_rows(named=True):
        what = row["site"] + (f" ({row['op']})" if row["op"] else "")
        yield f"{row['count']:>6}  {what}" + (f"  [{ranks_text(row['rank'])}]" if row["rank"] else "")
    yield ""
    yield from _walk(root, 0, root.count)
