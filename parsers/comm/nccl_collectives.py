"""NCCL's lines of collectives (`NCCL_DEBUG_SUBSYS=COLL`) → operations. Expressions only: these lines are dense.

    AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] stream 0x9

Unchanged from 2.4 to 2.30; RCCL adds `acc 0x0` and, at the end, its task. Printed when enqueued. `opCount` is
hexadecimal, per communicator, and shared by all calls of one group. Of Send and Recv `root` is the other end. The line
says no rank: host, process and communicator lead to it. Of a line that is cut before `[nranks=` operation and number are
read, if they are whole: it was enqueued, on a communicator that is not known.
"""

from collections.abc import Callable

import polars as pl

from parsers.comm.nccl_records import before_pointer, name_at_begin, records
from parsers.engine.dense import Decorate, Dense
from parsers.engine.stretch import Cuts
from parsers.schema.tables import conform
from parsers.text.lent import places

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
_NAMES = ("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64", "bfloat16", "float8_e4m3",
          "float8_e5m2")  # fmt: skip
_DTYPES = {str(number): name for number, name in enumerate(_NAMES)}
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
    dtype = pl.col("dtype").replace(_DTYPES)
    return conform(
        "operations",
        part.select(
            "rank", "host", "pid", "file", "line", "thread", "seq",
            comm=before_pointer() + pl.col("comm"),
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


_OPENING = ": opCount "  # ends what stands before a call's number
_WORDS = 20  # of a call, from its name to its stream
_PARTS = 8
_NUMBER = r"^[0-9a-f]{1,15}$"
_POINTER = r"^ [!-~]+$"
_END = (
    r"^ count (?P<elements>[0-9]{1,18}) datatype (?P<dtype>[0-9]{1,3}) op [0-9]{1,12} root (?P<root>-?[0-9]{1,9}) "
    r"comm (?P<comm>0x[0-9a-f]+|\(nil\)) \[nranks=[0-9]{1,9}\] stream $"
)
_STREAM = r"^(?:0x[0-9a-f]+|\(nil\))(?: task [0-9]+ globalrank [0-9]+)?\r?\n$"


class DenseCollectives:
    """Reads windows of such lines, as dense.DenseLines says.

    A line is cut at its spaces: `<prefix> <op>: opCount `, `<hex>`, ` sendbuff`, ` <p>`, ` recvbuff`, ` <p>`, ` count <n> …
    stream `, `<p>`. The first and the last part but one repeat: each has a number, and is read once. Only whole lines that
    hold one record are taken.
    """

    def __init__(self, decorate: Decorate) -> None:
        self._decorate = decorate
        self.beginnings: list[str] = []
        self._names: set[str] = set()  # of hosts, that these begin with
        self._others: dict[
            int, tuple[str, str]
        ] = {}  # by the number of heads that begin with another one: it, and they
        self._heads = _Parts(self._read_heads, "kind")
        self._ends = _Parts(_read_ends, "pointer")

    def cuts(self, line: str) -> Cuts | None:
        """Where lines like this one are cut; None: it is no call, or one of another form."""
        words = line.split(" ")
        at = words.index("opCount") if "opCount" in words else len(words)
        if words[at + 2 : at + 7 : 2] != ["sendbuff", "recvbuff", "count"] or "stream" not in words[at:-1]:
            return None
        stream = words.index("stream", at)
        return ((at + 1, True), *((at + word, False) for word in range(2, 7)), (stream + 1, True))

    def read(self, parts: pl.DataFrame, is_plain: bool) -> tuple[pl.Series, pl.DataFrame]:
        """The parts of lines → which are taken, and their columns seq, head, end; the last two are numbers of texts."""
        head, number, sendbuff, sent, recvbuff, received, end, stream = (
            pl.col("part").gather_every(_PARTS, at) for at in range(_PARTS)
        )
        formed = (sendbuff == " sendbuff") & (recvbuff == " recvbuff")
        formed &= number.str.contains(_NUMBER) & stream.str.contains(_STREAM)
        for pointer in (sent, received):
            formed &= pointer.str.len_bytes() > 1 if is_plain else pointer.str.contains(_POINTER)
        seq = number.str.to_integer(base=16, strict=False)
        few = parts.select(taken=formed, seq=seq, head=head, end=end)
        taken = few["taken"]
        few = few if taken.all() else few.filter(taken)
        heads, is_head = self._heads.numbers(few["head"])
        ends, is_end = self._ends.numbers(few["end"])
        rows = pl.DataFrame([few["seq"], heads.alias("head"), ends.alias("end")])
        known = is_end if is_head is None else is_head if is_end is None else is_head & is_end
        return (taken, rows) if known is None else (taken.scatter(places(taken), known), rows.filter(known))

    def kept(self, rows: pl.DataFrame) -> None:
        """These rows are kept: the line parser, which has not seen their lines, will know the names that they begin with."""
        if not self._others:
            return
        known = rows["head"].filter(rows["head"].is_in(list(self._others))).unique()
        for name, head in map(self._others.__getitem__, known.sort().to_list()):
            if name not in self._names:
                self._names.add(name)
                self.beginnings.append(head)
        self._others = {number: named for number, named in self._others.items() if named[0] not in self._names}

    def _read_heads(self, heads: pl.Series) -> pl.DataFrame:
        """What the parts before the call say. Where lines begin with names of hosts, what another one has before its host may
        be the rest of something: it is no line of this form then."""
        said = _said_by(heads, self._decorate)
        pairs = zip(said["named"].to_list(), heads.to_list(), strict=True)
        for number, named in enumerate(pairs, self._heads.read.height):
            if named[0] is not None and named[0] not in self._names:
                self._others[number] = named
        are_named = bool(self._names or self._others)
        sure = pl.col("nccl_host").is_null() | (pl.col("nccl_host") == pl.col("named")).fill_null(not are_named)
        return said.with_columns(pl.when(sure).then("kind").alias("kind")).drop("nccl_host", "named")

    def rows(self, kept: pl.DataFrame, tasks_are_ranks: bool) -> tuple[pl.DataFrame, pl.Series]:
        """Narrow rows → the different rows of `operations` that they are, line and seq aside, and which each one is."""
        count = self._ends.read.height
        pairs = kept["head"].cast(pl.UInt64) * count + kept["end"]
        different = pairs.unique().sort()
        of_head, of_end = self._heads.read[different // count], self._ends.read[different % count]
        whole = pl.concat([of_head, of_end], how="horizontal").select(
            "host", "pid", "thread", "backend", "kind", "is_p2p", "time_created_ns", "input_sizes", "input_dtypes",
            rank=pl.coalesce("rank", "task") if tasks_are_ranks else "rank",
            peer=pl.when("is_p2p").then("end_root"),
            root=pl.when("is_rooted").then("end_root"),
            comm=pl.col("process") + pl.col("pointer"),
            state=pl.lit("scheduled"),
        )  # fmt: skip
        return whole, different.search_sorted(pairs)


class _Parts:
    """The different texts of a part of lines in one file, each numbered and read once."""

    def __init__(self, understand: Callable[[pl.Series], pl.DataFrame], needed: str) -> None:
        self._understand, self._needed = understand, needed
        # Of this file alone, so that numbers begin at 0; and a column of it, for without any they would begin anew.
        self._kind = pl.Categorical(pl.Categories.random())
        self._holds = pl.Series([], dtype=self._kind)
        self.read = pl.DataFrame()  # what each text says, in the order of their numbers
        self._says = pl.Series([], dtype=pl.Boolean)  # whether it says what is needed

    def numbers(self, texts: pl.Series) -> tuple[pl.Series, pl.Series | None]:
        """The number of each text, and whether it says what is needed; None: all do."""
        named = texts.cast(self._kind)
        numbers = named.to_physical()
        if len(texts) and numbers.max() >= self.read.height:  # type: ignore[operator]
            new = named.filter(numbers >= self.read.height).unique()
            made = self._understand(new.gather(new.to_physical().arg_sort()).cast(pl.String))
            self.read = pl.concat([self.read, made]) if self.read.height else made
            self._says = self.read[self._needed].is_not_null()
        return numbers, None if self._says.all() else self._says.gather(numbers)


def _said_by(heads: pl.Series, decorate: Decorate) -> pl.DataFrame:
    """What the parts before the call say of who printed them, row by row; kind is null where that is not one record."""
    known = pl.concat(records(decorate(heads.str.strip_suffix(_OPENING))))
    is_one = (pl.col("level") == "INFO") & ~pl.col("raw").str.contains("\r") & (pl.len().over("line") == 1)
    op = pl.col("message")
    single = known.filter(is_one & op.str.contains(r"^[A-Za-z0-9_]+$")).select(
        "rank", "task", "host", "nccl_host", "pid", "thread", "line",
        named=name_at_begin(),
        backend=pl.col("library").str.to_lowercase(),
        kind=op.replace_strict(OPS, default=op.str.to_lowercase(), return_dtype=pl.String()),
        is_p2p=op.is_in(["Send", "Recv"]),
        is_rooted=op.is_in(_ROOTED),
        process=before_pointer(),
        time_created_ns=pl.col("time_ns"),
    )  # fmt: skip
    numbered = pl.int_range(heads.len(), eager=True).alias("line").to_frame()
    return numbered.join(single, on="line", how="left", maintain_order="left").drop("line")


def _read_ends(ends: pl.Series) -> pl.DataFrame:
    part = ends.to_frame("end").select(pl.col("end").str.extract_groups(_END)).unnest("end")
    return part.select(
        end_root=pl.col("root").cast(pl.Int64, strict=False),
        pointer="comm",
        input_sizes="[[" + pl.col("elements") + "]]",
        input_dtypes='["' + pl.col("dtype").replace(_DTYPES) + '"]',
    )


DENSE = Dense(parser="nccl", name="operations", anchor=b": opCount ", words=_WORDS, start=DenseCollectives)
