"""Whom a rank waits for in a send or a receive of which its stack shows no argument: by the source, and by what is printed of the names in it.

    exchange (halo.py:10)                 halo.py:10: comm.Send(edge, dest=right, tag=7)          rank 3/4 right=0 left=2
    right: 0  left: 2                     right, left = (me + 1) % n, (me - 1) % n

Ranks that stand in one call: the other end is the argument that is another rank of the job for each of them, and another one for each. What a name is, the variables of the
rank's own stack tell, else what its log prints of that name, else what the source gives it, where this can be computed of the rank and of the size of the job. Where
several arguments, or, without a source, several variables, may be the other end, and do not all close the same circles, nobody is told. Without a source only a stack that
shows the call itself, by its name, is in one.
"""

import ast
import json
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import polars as pl

from forensics.assemble.who.told_lines import speaker_of
from forensics.model.frames import LIBRARY
from parsers.schema.event_kinds import CALL, PRINTED
from parsers.schema.tables import TableName, Tables
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous

_MESSAGE = regex(r"(?i)(?:^|[\W_])(?:b|r|s|ss|p?mpi_[bsr]?)?(?P<op>send|recv|receive)(?:_\w{1,30})?$")
_RANK, _SIZE = regex(r"(?i)(?:^|_)(?:rank|me|myid|my_?id|pid)$|rank"), regex(r"(?i)size|world|procs|nranks|^n$|^np$")
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv, ast.BitXor: operator.xor,
}  # fmt: skip
_DEPTH, _CHARACTERS, _BIGGEST = 12, 160, 1 << 31
_FRAMES = 12  # from the innermost one, in which a call's own line is looked for


class _Stood(NamedTuple):
    """A rank at a call. `numbers`: what the variables of its stack hold; `row`: of the table."""

    rank: int
    row: int
    numbers: Mapping[str, int]


def with_called_peers(tables: Tables, told: pl.DataFrame, job: Set[int]) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt, ranks global, the rows that tell of calls (told_lines.py), and the job's ranks → the same, with `peer` of such stacks, their innermost
    frame the call."""
    stacks = tables["stacks"]
    is_asked = pl.col("rank").is_not_null() & pl.col("peer").is_null() & pl.col("is_main").fill_null(False)
    is_asked &= pl.col("parent_pid").is_null() & (pl.col("source") != "traceback") & (pl.col("frames").list.len() > 0)
    asked = stacks.with_row_index("_row").filter(is_asked)
    if len(job) < 2 or not asked.height or (told.is_empty() and not asked["numbers"].count()):
        return dict(tables)
    calls = _Calls(told)
    printed = _printed(told, tables)
    stood: defaultdict[tuple[Any, ...], list[_Stood]] = defaultdict(list)
    for row in asked.select("_row", "rank", "frames", "numbers").iter_rows(named=True):
        if (where := calls.at(row["frames"])) is not None:
            numbers = {**printed.get(row["rank"], {}), **json.loads(row["numbers"] or "{}")}
            stood[where].append(_Stood(row["rank"], row["_row"], numbers))
    found: dict[int, tuple[int, str]] = {}
    for where, own in stood.items():
        whom = _peers([*_candidates(calls.told.get(where), own, job)], {one.rank for one in own})
        found |= {one.row: (whom[one.rank], where[0]) for one in own if one.rank in whom}
    if not found:
        return dict(tables)
    peers = [one for one, _ in found.values()]
    peer = pl.int_range(pl.len()).replace_strict([*found], peers, default=None, return_dtype=pl.Int64)
    frames = stacks["frames"].to_list()
    for at, (_, op) in found.items():
        if not _MESSAGE.search(_name(frames[at][0])):
            frames[at] = [{"function": op, "file": None, "line": None}, *frames[at]]
    shown = pl.Series("frames", frames, dtype=stacks.schema["frames"])
    changed = stacks.with_columns(pl.coalesce("peer", peer).alias("peer"), shown)
    return {**tables, "stacks": changed}


class _Calls:
    """The calls of the sources, by what is called and where: (op, name of the source, line)."""

    def __init__(self, told: pl.DataFrame) -> None:
        self.told: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        self._at: defaultdict[tuple[str, int], list[tuple[Any, ...]]] = defaultdict(list)
        for file, line, text in told.filter(pl.col("how") == CALL).select("file", "line", "name").iter_rows():
            call, name = json.loads(text), file.rpartition("/")[2]
            where = (call["op"], name, line, call["call"])
            self._at[name, line].append(where)
            self.told[where] = call

    def at(self, frames: Sequence[Mapping[str, Any]]) -> tuple[Any, ...] | None:
        """Which call a stack stands in: by the line of its innermost own frame, or by a frame's own name."""
        if (first := next(filter(_is_own, frames[:_FRAMES]), None)) is not None:
            here = self._at.get((first["file"].rpartition("/")[2], first["line"]), [])
            if len(here) == 1:
                return here[0]
        named = ((_name(one), _MESSAGE.search(_name(one))) for one in frames[:_FRAMES])
        name, shown = next((one for one in named if one[1] is not None), ("", None))
        if shown is None:
            return None
        op = "send" if shown["op"].lower() == "send" else "recv"
        return op, name, tuple((one["file"], one["line"]) for one in frames if _is_own(one))


def _is_own(frame: Mapping[str, Any]) -> bool:
    """Is it of the job's own code, in whatever language?"""
    return bool(frame["file"]) and frame["line"] is not None and LIBRARY.search(frame["file"]) is None


def _name(frame: Mapping[str, Any]) -> str:
    return str(frame["function"] or "").rsplit(".", 1)[-1]


def _printed(told: pl.DataFrame, tables: Tables) -> dict[int, dict[str, int]]:
    """Rank → what its log prints of each name, always the same."""
    speaker = speaker_of(tables)
    pairs: list[tuple[tuple[int, str], int]] = []
    for file, line, rank, text in told.filter(pl.col("how") == PRINTED).select("file", "line", "rank", "name").iter_rows():  # fmt: skip
        if (who := speaker(file, line, rank)) is not None:
            pairs += [((who, name), number) for name, number in json.loads(text).items()]
    found: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for (who, name), number in unanimous(pairs).items():
        found[who][name] = number
    return found


def _candidates(call: Mapping[str, Any] | None, own: Sequence[_Stood], job: Set[int]) -> Iterator[dict[int, int]]:
    """Rank → whom it may wait for, by each argument of the call; without one by each variable."""
    if call is not None:
        texts = [argument.partition("=")[2] if _is_named(argument) else argument for argument in call["arguments"]]
        told = ({one.rank: _value(text, call["given"], one, len(job)) for one in own} for text in texts)
    else:
        names = set[str].intersection(*({*one.numbers} for one in own))
        told = ({one.rank: one.numbers[name] for one in own} for name in sorted(names))
    for peers in told:
        whole = {rank: peer for rank, peer in peers.items() if peer is not None and peer in job and peer != rank}
        if len(whole) == len(peers) == len({*whole.values()}):
            yield whole


def _is_named(argument: str) -> bool:
    return "=" in argument and argument.partition("=")[0].strip().isidentifier()


def _peers(candidates: Sequence[dict[int, int]], ranks: Set[int]) -> dict[int, int]:
    """The only one of these, or any where all close circles of just the same ranks."""
    if not candidates:
        return {}
    closed = {frozenset(one.values()) == frozenset(ranks) for one in candidates}
    return candidates[0] if len(candidates) == 1 or (closed == {True} and len(ranks) > 1) else {}


def _value(text: str, given: Mapping[str, str], one: _Stood, size: int) -> int | None:
    """What an expression of a source is for a rank."""

    def of(node: ast.expr, depth: int) -> int | None:
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int and abs(node.value) < _BIGGEST else None
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = of(node.left, depth + 1), of(node.right, depth + 1)
            if left is None or right is None or (right == 0 and isinstance(node.op, ast.Mod | ast.FloorDiv)):
                return None
            made = _OPERATORS[type(node.op)](left, right)
            return made if abs(made) < _BIGGEST else None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = of(node.operand, depth + 1)
            return None if inner is None else -inner
        if isinstance(node, ast.Subscript):
            return _item(node, depth)
        if isinstance(node, ast.Name | ast.Attribute):
            return _named(node.id if isinstance(node, ast.Name) else node.attr, depth)
        return _told(ast.unparse(node)) if isinstance(node, ast.Call) else None

    def _named(name: str, depth: int) -> int | None:
        if name in one.numbers:
            return one.numbers[name]
        if name not in given:
            return _told(name)
        node = _parsed(given[name])
        made = None if node is None else of(node, depth + 1)
        return _told(given[name]) if made is None and node is not None and isinstance(node, ast.Call) else made

    def _item(node: ast.Subscript, depth: int) -> int | None:
        held = node.value
        if isinstance(held, ast.Name) and held.id in given:
            held = _parsed(given[held.id]) or held
        at = of(node.slice, depth + 1)
        if isinstance(held, ast.List | ast.Tuple) and at is not None and 0 <= at < len(held.elts):
            return of(held.elts[at], depth + 1)
        if isinstance(held, ast.Dict):
            pairs = zip(held.keys, held.values, strict=True)
            return next((of(value, depth + 1) for key, value in pairs if key and of(key, depth + 1) == at), None)
        return _told(ast.unparse(node))

    def _told(said: str) -> int | None:
        """What is called after a rank, or after how many there are."""
        if _SIZE.search(said) and not regex(r"(?i)rank\b").search(said):
            return size
        return one.rank if _RANK.search(said) else None

    node = _parsed(text)
    return None if node is None else of(node, 0)


def _parsed(text: str) -> ast.expr | None:
    """Only taken apart: nothing of it is done."""
    if len(text) > _CHARACTERS:
        return None
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
