"""Names of collectives as PyTorch prints them (`OpType=`), as people write them, and as the tables have them."""

from parsers.text.patterns import regex

_OPS = {
    "ALLREDUCE": "all_reduce", "ALLREDUCE_COALESCED": "all_reduce", "ALLREDUCE_SPARSE": "all_reduce",
    "ALLGATHER": "all_gather", "_ALLGATHER_BASE": "all_gather", "ALLGATHER_COALESCED": "all_gather",
    "ALLGATHER_INTO_TENSOR_COALESCED": "all_gather", "REDUCE_SCATTER": "reduce_scatter",
    "_REDUCE_SCATTER_BASE": "reduce_scatter", "REDUCE_SCATTER_TENSOR_COALESCED": "reduce_scatter",
    "ALLTOALL": "all_to_all", "ALLTOALL_BASE": "all_to_all", "_BROADCAST_OOP": "broadcast",
    "_REDUCE_OOP": "reduce", "RECVANYSOURCE": "recv",
}  # fmt: skip


def operation(printed: str | None) -> str | None:
    """`_ALLGATHER_BASE` → `all_gather`; an unknown name in small letters."""
    return None if printed is None else _OPS.get(printed.upper(), printed.lower())


_SPOKEN = regex(
    r"(?i)(?<![a-z])(?:(?P<name>all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|all[-_ ]?to[-_ ]?all|broadcast|barrier)"
    r"|i?(?P<message>send|recv))(?![a-z])"
)
_BETWEEN = regex(r"[-_ ]")
_BARE = {name.replace("_", ""): name for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")}


def spoken(text: str) -> str | None:
    """The first operation of communication that a text names, however it is written: `AllReduce` → `all_reduce`, `irecv` → `recv`."""
    found = _SPOKEN.search(text)
    if found is None:
        return None
    bare = _BETWEEN.sub("", found["name"] or found["message"]).lower()
    return _BARE.get(bare, bare)
