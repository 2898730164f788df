"""NCCL's lines of collectives (`NCCL_DEBUG_SUBSYS=COLL`) → operations. Expressions only: these lines are dense.

    AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x9

Unchanged from 2.4 to 2.30; RCCL adds `acc 0x0` and, at the end, its task. Printed when enqueued. `opCount` is
hexadecimal, per communicator, and shared by all calls of one group. Of Send and Recv `root` is the other end. The line
says no rank: host, process and communicator lead to it. What is cut before `[nranks=` is not read.
"""

import polars as pl

from parsers.tables import conform

COLLECTIVE = (
    r"^(?P<op>\w+): opCount (?P<count>[0-9a-f]{1,15}) sendbuff \S+ recvbuff \S+ (?:acc \S+ )?"
    r"count (?P<elements>\d{1,18}) datatype (?P<dtype>\d{1,3}) op (?P<reduce>\d{1,12}) root (?P<root>-?\d{1,9}) "
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\)) \[nranks=\d"
)
OPS = {
    "AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
    "Bcast": "broadcast", "Reduce": "reduce", "Send": "send", "Recv": "recv", "AlltoAll": "all_to_all",
    "AllToAll": "all_to_all", "AllToAllv": "all_to_all", "Gather": "gather", "Scatter": "scatter",
    "PutSignal": "put_signal", "Signal": "signal", "WaitSignal": "wait_signal",
}  # fmt: skip
_DTYPES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16",
           "float8_e4m3", "float8_e5m2")  # fmt: skip
_ROOTED = ["Broadcast", "Bcast", "Reduce", "Gather", "Scatter"]


def is_collective() -> pl.Expr:
    """Whether `message` is a whole line of a collective."""
    return pl.col("message").str.contains(COLLECTIVE).fill_null(False)


def operations(lines: pl.DataFrame) -> pl.DataFrame:
    """Records (nccl_records.records) of collectives → the table `operations`; comm is `host:pid:pointer`."""
    part = lines.with_columns(pl.col("message").str.extract_groups(COLLECTIVE).alias("c")).unnest("c")
    return described(part.with_columns(seq=pl.col("count").str.to_integer(base=16, strict=False)))


def described(part: pl.DataFrame) -> pl.DataFrame:
    """Columns op, seq, elements, dtype, root, comm beside who printed them → the table `operations`."""
    kind = pl.col("op").replace_strict(OPS, default=pl.col("op").str.to_lowercase(), return_dtype=pl.String())
    is_p2p = pl.col("op").is_in(["Send", "Recv"])
    root = pl.col("root").cast(pl.Int64, strict=False)
    dtype = pl.col("dtype").replace_strict({str(i): name for i, name in enumerate(_DTYPES)}, default=pl.col("dtype"))
    local = pl.col("host").fill_null("") + ":" + pl.col("pid").cast(pl.String).fill_null("") + ":"
    return conform(
        "operations",
        part.select(
            "rank", "host", "pid", "file", "line", "thread", "seq",
            comm=local + pl.col("comm"),
            backend=pl.col("library").str.to_lowercase(),
            is_p2p=is_p2p,
            kind=kind,
            peer=pl.when(is_p2p).then(root),
            root=pl.when(pl.col("op").is_in(_ROOTED)).then(root),
            input_sizes="[[" + pl.col("elements") + "]]",
            input_dtypes='["' + dtype + '"]',
            state=pl.lit("scheduled"),
            time_created_ns=pl.col("time_ns"),
        ),
    )  # fmt: skip
