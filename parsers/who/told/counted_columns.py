"""Which column of a file's records counts the ranks, where no name says so: every step tells each of 0 … N-1 once.

    iter,worker,batch_loss,local_gnorm            {"it": 60, "r": 5, "l": 3.03}            step | w | loss⏎ 7 | 0 | 2.1
    60,0,4.21,1.11                                {"it": 60, "r": 0, "l": 3.50}                  7 | 1 | 2.3
    60,2,4.29,1.56                                {"it": 60, "r": 6, "l": 3.27}                  7 | 2 | 2.2

A log whose lines end with such objects, whatever a logger set before them, is such a file, too. So do layers and micro-batches count, which one process
tells in their order. Therefore the world that is told must be as large; where none is, the records must come in another order from step to step, as they do from processes that nobody puts in order, or the column be called after a process. What is
within a model or a step, by its name, counts no ranks, nor does a place on one of several hosts, and of two such columns neither does.

Fooled by: threads of one process that number themselves, as many as the world.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from io import BytesIO
from typing import Any

from parsers.forms import framings
from parsers.forms.counting import step_column
from parsers.forms.reading import whole
from parsers.schema.names import share_of
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.lines.beginnings import first_bytes

HEAD = 64 << 10
_NAMED = "process_name"  # what a worker, an actor is called, which may be a number
_STEPS, _FEWEST = 3, 2  # whole steps; ranks in each
_ORDERS = 3  # in which they come, where nobody puts them in one
_PROCESS = frozenset(
    ("w", "r", "rk", "wrk", "worker", "workers", "proc", "process", "member", "replica", "trainer", "peer", "dp", "gpu")
)
_NUMBERED = frozenset(("id", "idx", "index", "no", "num", "number", "nr"))
WITHIN = frozenset(
    ("layer", "block", "blk", "module", "micro", "microbatch", "mb", "ubatch", "stage", "pp", "tp", "cp", "ep", "sp", "vpp", "head", "expert", "bucket",
     "chunk", "shard", "thread", "loader", "env", "task", "fold", "trial", "epoch", "seed", "token", "pos", "position", "group", "node", "host", "machine",
     "slot", "local", "lane", "stream", "depth", "part", "sample", "seq", "accum", "substep", "class", "level")
)  # fmt: skip
_SIZE = regex(rb"(?i)(?<![a-z])(?:world[_ -]?size|num_processes|n_?ranks)[\"']?\W{1,4}(\d{1,6})(?![\w.])")
_Said = Mapping[str, Any]


def counted_columns(sources: Iterable[Source], world: int | None) -> dict[str, str]:
    """Members whose path tells no rank, and the size of the job where it is known → path → the column of its ranks."""
    heads = {one.path: head for one in sources if one.rank is None and (head := head_of(one))}
    counting = {path: head for path, head in heads.items() if _may_count(path, head)}
    if not counting:
        return {}
    sizes = {world} if world is not None else {int(size) for head in heads.values() for size in _SIZE.findall(head)}
    found = ((path, _column([*_told(path, head)], sizes)) for path, head in counting.items())
    return {path: name for path, name in found if name is not None}


def _column(records: Sequence[_Said], sizes: Set[int]) -> str | None:
    if len(records) <= _STEPS * _FEWEST or "rank" in vocabulary.meanings(tuple(records[0])):
        return None
    usual = Counter(map(tuple, records)).most_common(1)[0][0]
    records = [said for said in records if tuple(said) == usual]  # what heads them may tell something else
    counter = step_column(records)
    steps: defaultdict[int, list[_Said]] = defaultdict(list)
    for said in records:
        step = whole(said.get(counter) if counter else vocabulary.told(said).get("step"))
        if step is not None:
            steps[step].append(said)
    every = [steps[step] for step in sorted(steps)]  # of which the first and the last may be cut off
    inner = every[1:-1] if len(every) > _STEPS + 1 or not sizes else every[:-1]
    if len(inner) < (_FEWEST if sizes else _STEPS):
        return None
    told = [name for name in inner[0][0] if name != counter and _may_be(name) and _counts(inner, name, sizes)]
    return told[0] if len(told) == 1 else None


def _may_be(name: str) -> bool:
    said = vocabulary.meaning_of(name)
    is_open = said is None or said.meaning == _NAMED
    return is_open and not WITHIN.intersection(vocabulary.words_of(name))


def _counts(steps: Sequence[Sequence[_Said]], name: str, sizes: Set[int]) -> bool:
    orders = [tuple(_numbered(said.get(name), len(own)) for said in own) for own in steps]
    size = len(orders[0])
    if not _FEWEST <= size <= RANKS or any(sorted(own) != [*range(size)] for own in orders):
        return False
    if sizes:
        return size in sizes
    words = vocabulary.words_of(name)
    is_process = bool(words) and words[0] in _PROCESS and all(word in _PROCESS or word in _NUMBERED for word in words)
    return is_process or (size > _FEWEST and len(set(orders)) >= _ORDERS)


def _numbered(cell: Any, size: int) -> int:
    """The number of a cell; of `2/4` that of which of so many it is; -1 where it has none."""
    share = share_of(cell)
    number = whole(cell) if share is None else share[0] if share[1] == size else None
    return -1 if number is None else number


def _may_count(path: str, head: bytes) -> bool:
    """Does the first record tell no rank, and a step, or has the file a form in which a column may count them? In a log, lines end with objects."""
    if _is_log(path, head):
        return head.count(b"}\n") > _STEPS * _FEWEST
    meant = vocabulary.meanings(sorted(framings.names(path, head)))
    form = framings.framing(path, head)
    return "rank" not in meant and ("step" in meant or form in (*framings.TABLES, "objects"))


def _is_log(path: str, head: bytes) -> bool:
    """Of no form, or of one by its commas alone: `INFO:a.b:{'worker': 5, …}`."""
    return framings.framing(path, head) is None or any("{" in name for name in framings.names(path, head))


def _told(path: str, head: bytes) -> Iterator[_Said]:
    """The first records of a file; of a log, the objects that its lines end with."""
    if not _is_log(path, head):
        yield from (said for _, said in records_of(path, head))
        return
    lines = (line for line in head.decode("utf-8", "replace").splitlines() if "{" in line and line.endswith("}"))
    yield from filter(None, map(framings.record, lines))


def head_of(source: Source) -> bytes:
    """The beginning of a member of text."""
    head = first_bytes(source, HEAD) if source.size else b""
    return b"" if b"\0" in head else head


def first_records(source: Source) -> Iterator[_Said]:
    """Those of a member's beginning."""
    return (said for _, said in records_of(source.path, head_of(source)))


def records_of(path: str, head: bytes) -> Iterator[tuple[int, _Said]]:
    """The first records of a file, with their lines."""
    cut = head if len(head) < HEAD else head[: head.rfind(b"\n") + 1]
    for line, _, said in framings.rows(Source(path, len(cut), partial(BytesIO, cut))):
        if said and said is not framings.HEADER:
            yield line, said
