"""NCCL's lines of collectives (`NCCL_DEBUG_SUBSYS=COLL`) → operations. Expressions only: these lines are dense.

    AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x9

Unchanged from 2.4 to 2.30; RCCL adds `acc 0x0` and, at the end, its task. Printed when enqueued. `opCount` is
hexadecimal, per communicator, and shared by all calls of one group. Of Send and Recv `root` is the other end. The line
says no rank: host, process and communicator lead to it. Of a line that is cut before `[nranks=` operation and number are
read, if they are whole: it was enqueued, on a communicator that is not known.
"""

from collections.abc import Callable

import polars as pl

from parsers.comm.nccl_records import records
from parsers.dense import Decorate, Dense
from parsers.tables import conform

COLLECTIVE = (
    r"^(?P<op>[A-Za-z0-9_]+): opCount (?P<count>[0-9a-f]{1,15}) sendbuff \S+ recvbuff \S+ (?:acc \S+ )?"
    r"count (?P<elements>[0-9]{1,18}) datatype (?P<dtype>[0-9]{1,3}) op (?P<reduce>[0-9]{1,12}) root (?P<root>-?[0-9]{1,9}) "
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\)) \[nranks=[0-9]"
)
_CUT = r"^(?P<op>[A-Z][A-Za-z0-9_]{2,30}): opCount (?P<count>[0-9a-f]{1,15}) "
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


def is_cut() -> pl.Expr:
    """Whether `message` is the begin of such a line, its number included."""
    return pl.col("message").str.contains(_CUT).fill_null(False) & ~is_collective()


def cut_operations(lines: pl.DataFrame) -> pl.DataFrame:
    """Records that is_cut() takes → the table `operations`, comm and sizes unknown."""
    part = lines.with_columns(pl.col("message").str.extract_groups(_CUT).alias("c")).unnest("c")
    unknown = {name: pl.lit(None, pl.String) for name in ("elements", "dtype", "root", "comm")}
    return described(part.with_columns(seq=pl.col("count").str.to_integer(base=16, strict=False), **unknown))


def operations(lines: pl.DataFrame) -> pl.DataFrame:
    """Records (nccl_records.records) of collectives → the table `operations`; comm is `host:pid:pointer`."""
    part = lines.with_columns(pl.col("message").str.extract_groups(COLLECTIVE).alias("c")).unnest("c")
    return described(part.with_columns(seq=pl.col("count").str.to_integer(base=16, strict=False)))


def described(part: pl.DataFrame) -> pl.DataFrame:
    """Columns op, seq, elements, dtype, root, comm beside who printed them → the table `operations`."""
    kind = pl.col("op").replace_strict(OPS, default=pl.col("op").str.to_lowercase(), return_dtype=pl.String())
    is_p2p = pl.col("op").is_in(["Send", "Recv"])
    root = pl.col("root").cast(pl.Int64, strict=False)
    dtype = pl.col("dtype").replace_strict(
        {str(i): name for i, name in enumerate(_DTYPES)}, default=pl.col("dtype"), return_dtype=pl.String()
    )
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


_END = (
    r"^(?P<elements>\d{1,18}) datatype (?P<dtype>\d{1,3}) op \d{1,12} root (?P<root>-?\d{1,9}) "
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\)) \[nranks=\d{1,9}\] stream (?:0x[0-9a-f]+|\(nil\))"
    r"(?: task \d+ globalrank \d+)?\r?$"
)


class DenseCollectives:
    """Reads windows of such lines, as dense.DenseLines says.

    A line is cut in three: `<prefix> <op>`: opCount `<hex> sendbuff <p> recvbuff <p>` count `<rest>`. The first and the
    last part repeat, and are read once each. Only whole lines that hold one record are taken.
    """

    def __init__(self, decorate: Decorate) -> None:
        self._decorate = decorate
        self._heads: pl.DataFrame | None = None  # head, head_id, and what it says; kind null: not such a line
        self._ends: pl.DataFrame | None = None

    def read(self, window: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """Columns line and text → (taken, columns line, seq, head_id, end_id)."""
        halves = pl.col("text").str.split_exact(": opCount ", 1).struct.rename_fields(["head", "rest"])
        parts = pl.col("rest").str.split_exact(" count ", 1).struct.rename_fields(["buffers", "end"])
        words = pl.col("buffers").str.split_exact(" ", 5).struct.rename_fields(["seq", "s", "p", "r", "q", "more"])
        cut = window.select("line", halves).unnest("text").with_columns(parts).unnest("rest")
        cut = cut.with_columns(words).unnest("buffers")
        heads, ends = self._learn(cut)
        joined = cut.join(heads.select("head", "head_id", "kind"), on="head", how="left", maintain_order="left")
        joined = joined.join(ends.select("end", "end_id", "pointer"), on="end", how="left", maintain_order="left")
        joined = joined.with_columns(pl.col("seq").str.to_integer(base=16, strict=False))
        is_whole = (
            (pl.col("s") == "sendbuff") & (pl.col("r") == "recvbuff") & pl.col("q").is_not_null()
            & pl.col("more").is_null() & pl.col("kind").is_not_null() & pl.col("pointer").is_not_null()
            & pl.col("seq").is_not_null()
        ).fill_null(False)  # fmt: skip
        taken = joined.select(is_whole.alias("taken"))["taken"]
        return taken, joined.select("line", "seq", "head_id", "end_id").filter(taken)

    def rows(self, kept: pl.DataFrame) -> pl.DataFrame:
        """Narrow rows → columns of `operations`."""
        if self._heads is None or self._ends is None:
            return pl.DataFrame()
        heads, ends = self._heads.drop("head", "head_id"), self._ends.drop("end", "end_id")
        whole = pl.concat([kept, heads[kept["head_id"]], ends[kept["end_id"]]], how="horizontal")
        return whole.select(
            "rank", "host", "pid", "thread", "backend", "kind", "is_p2p", "time_created_ns", "input_sizes",
            "input_dtypes", "seq", "line",
            peer=pl.when("is_p2p").then("end_root"),
            root=pl.when("is_rooted").then("end_root"),
            comm=pl.col("process") + pl.col("pointer"),
            state=pl.lit("scheduled"),
        )  # fmt: skip

    def _learn(self, cut: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The known parts, those of this window included."""
        heads, ends = cut["head"].drop_nulls().unique(), cut["end"].drop_nulls().unique()
        self._heads = _extended(self._heads, heads, "head", lambda new: _read_heads(new, self._decorate))
        self._ends = _extended(self._ends, ends, "end", _read_ends)
        return self._heads, self._ends


def _extended(
    known: pl.DataFrame | None, parts: pl.Series, name: str, read: Callable[[pl.Series], pl.DataFrame]
) -> pl.DataFrame:
    new = parts if known is None else parts.filter(~parts.is_in(known[name].implode()))
    if known is not None and new.is_empty():
        return known
    begin = 0 if known is None else known.height
    made = read(new).with_row_index(f"{name}_id", offset=begin)
    return made if known is None else pl.concat([known, made])


def _read_heads(heads: pl.Series, decorate: Decorate) -> pl.DataFrame:
    """What the parts before the call say of who printed them, row by row; kind is null where that is not one record."""
    known = records(decorate(heads))
    is_one = (pl.col("level") == "INFO") & ~pl.col("text").str.contains("\r") & (pl.len().over("line") == 1)
    op = pl.col("message")
    single = known.filter(is_one & op.str.contains(r"^[A-Za-z]\w*$")).select(
        "rank", "host", "pid", "thread", "line",
        backend=pl.col("library").str.to_lowercase(),
        kind=op.replace_strict(OPS, default=op.str.to_lowercase(), return_dtype=pl.String()),
        is_p2p=op.is_in(["Send", "Recv"]),
        is_rooted=op.is_in(_ROOTED),
        process=pl.col("host").fill_null("") + ":" + pl.col("pid").cast(pl.String).fill_null("") + ":",
        time_created_ns=pl.col("time_ns"),
    )  # fmt: skip
    numbered = heads.to_frame("head").with_row_index("line").with_columns(pl.col("line").cast(pl.Int64))
    return numbered.join(single, on="line", how="left", maintain_order="left").drop("line")


def _read_ends(ends: pl.Series) -> pl.DataFrame:
    part = ends.to_frame("end").with_columns(pl.col("end").str.extract_groups(_END).alias("e")).unnest("e")
    dtype = pl.col("dtype").replace_strict({str(i): name for i, name in enumerate(_DTYPES)}, default=pl.col("dtype"))
    return part.select(
        "end",
        end_root=pl.col("root").cast(pl.Int64, strict=False),
        pointer="comm",
        input_sizes="[[" + pl.col("elements") + "]]",
        input_dtypes='["' + dtype + '"]',
    )


DENSE = Dense(parser="nccl", name="operations", anchor=b": opCount ", start=DenseCollectives)
