"""Names of collectives as PyTorch prints them (`OpType=`), and as the tables have them."""

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
