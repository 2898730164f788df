"""NCCL's lines of collectives (`NCCL_DEBUG_SUBSYS=COLL`) → operations. Expressions only: these lines are dense.

    AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x9

Unchanged from 2.4 to 2.30; RCCL adds `acc 0x0` and, at the end, its task. Printed when enqueued. `opCount` is
hexadecimal, per communicator, and shared by all calls of one group. Of Send and Recv `root` is the other end. The line
says no rank: host, process and communicator lead to it. Of a line that is cut before `[nranks=` operation and number are
read, if they are whole: it was enqueued, on a communicator that is not known.
"""

from collections.abc import Callable
from functools import partial

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


_BUFFERS = r"^[0-9a-f]{1,15} sendbuff [!-~]+ recvbuff [!-~]+$"
_END = (
    r"^(?P<elements>\d{1,18}) datatype (?P<dtype>\d{1,3}) op \d{1,12} root (?P<root>-?\d{1,9}) "
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\)) \[nranks=\d{1,9}$"
)
_STREAM = r"^(?:0x[0-9a-f]+|\(nil\))(?: task \d+ globalrank \d+)?\r?$"


class DenseCollectives:
    """Reads windows of such lines, as dense.DenseLines says.

    A line is cut in four: `<prefix> <op>`: opCount `<hex> sendbuff <p> recvbuff <p>` count `<n> …`] stream `<p>`. The
    first and the third part repeat: each becomes a category, and is read once. Only whole lines that hold one record are
    taken.
    """

    def __init__(self, decorate: Decorate) -> None:
        self._heads = _Parts(partial(_read_heads, decorate=decorate), "kind")
        self._ends = _Parts(_read_ends, "pointer")

    def read(self, window: pl.DataFrame) -> pl.DataFrame:
        """Columns line and text → columns line, seq, head, end of the lines that are taken; the last two are categories."""
        halves = pl.col("text").str.splitn(": opCount ", 2).struct.rename_fields(["head", "rest"])
        parts = pl.col("rest").str.splitn(" count ", 2).struct.rename_fields(["buffers", "end"])
        thirds = pl.col("end").str.splitn("] stream ", 2).struct.rename_fields(["end", "stream"])
        cut = window.select("line", halves).unnest("text").with_columns(parts).unnest("rest")
        cut = cut.with_columns(thirds).unnest("end")
        formed = pl.col("buffers").str.contains(_BUFFERS) & pl.col("stream").str.contains(_STREAM)
        number = pl.col("buffers").str.splitn(" ", 2).struct.field("field_0")
        read = cut.select(
            "line",
            number.str.to_integer(base=16, strict=False).alias("seq"),
            pl.when(formed).then("head").cast(pl.Categorical).alias("head"),
            pl.when(formed).then("end").cast(pl.Categorical).alias("end"),
        )
        heads, ends = self._heads.with_those(read["head"]), self._ends.with_those(read["end"])
        known = read.join(heads, on="head", how="semi", maintain_order="left")
        return known.join(ends, on="end", how="semi", maintain_order="left")

    def rows(self, kept: pl.DataFrame, tasks_are_ranks: bool) -> pl.DataFrame:
        """Narrow rows → columns of `operations`."""
        whole = kept.join(self._heads.read, on="head", how="left", maintain_order="left")
        whole = whole.join(self._ends.read, on="end", how="left", maintain_order="left")
        return whole.select(
            "host", "pid", "thread", "backend", "kind", "is_p2p", "time_created_ns", "input_sizes", "input_dtypes",
            "seq", "line",
            rank=pl.coalesce("rank", "task") if tasks_are_ranks else "rank",
            peer=pl.when("is_p2p").then("end_root"),
            root=pl.when("is_rooted").then("end_root"),
            comm=pl.col("process") + pl.col("pointer"),
            state=pl.lit("scheduled"),
        )  # fmt: skip


class _Parts:
    """The different texts of a part of lines in one file, each read once."""

    def __init__(self, understand: Callable[[pl.Series], pl.DataFrame], needed: str) -> None:
        self._understand, self._needed = understand, needed
        self._seen: set[str | None] = {None}
        self.read = pl.DataFrame()  # the texts that say what is needed, as categories, each with all that it says

    def with_those(self, parts: pl.Series) -> pl.DataFrame:
        """All that is known when the texts of `parts` are."""
        new = [text for text in parts.unique().to_list() if text not in self._seen]
        if new or not self.read.columns:
            self._seen.update(new)
            texts = pl.Series(parts.name, new, dtype=pl.String)
            made = self._understand(texts).insert_column(0, texts.cast(parts.dtype)).drop_nulls(self._needed)
            self.read = pl.concat([self.read, made]) if self.read.columns else made
        return self.read


def _read_heads(heads: pl.Series, decorate: Decorate) -> pl.DataFrame:
    """What the parts before the call say of who printed them, row by row; kind is null where that is not one record."""
    known = pl.concat(records(decorate(heads)))
    is_one = (pl.col("level") == "INFO") & ~pl.col("text").str.contains("\r") & (pl.len().over("line") == 1)
    op = pl.col("message")
    single = known.filter(is_one & op.str.contains(r"^[A-Za-z]\w*$")).select(
        "rank", "task", "host", "pid", "thread", "line",
        backend=pl.col("library").str.to_lowercase(),
        kind=op.replace_strict(OPS, default=op.str.to_lowercase(), return_dtype=pl.String()),
        is_p2p=op.is_in(["Send", "Recv"]),
        is_rooted=op.is_in(_ROOTED),
        process=pl.col("host").fill_null("") + ":" + pl.col("pid").cast(pl.String).fill_null("") + ":",
        time_created_ns=pl.col("time_ns"),
    )  # fmt: skip
    numbered = pl.int_range(heads.len(), eager=True).alias("line").to_frame()
    return numbered.join(single, on="line", how="left", maintain_order="left").drop("line")


def _read_ends(ends: pl.Series) -> pl.DataFrame:
    part = ends.to_frame("end").select(pl.col("end").str.extract_groups(_END)).unnest("end")
    dtype = pl.col("dtype").replace_strict({str(i): name for i, name in enumerate(_DTYPES)}, default=pl.col("dtype"))
    return part.select(
        end_root=pl.col("root").cast(pl.Int64, strict=False),
        pointer="comm",
        input_sizes="[[" + pl.col("elements") + "]]",
        input_dtypes='["' + dtype + '"]',
    )


DENSE = Dense(parser="nccl", name="operations", anchor=b": opCount ", start=DenseCollectives)
