"""Debug logs of NCCL and of what keeps its words: RCCL, MCCL of Moore Threads and of MetaX. NCCL 2.2 to 2.30.

    node1:84:91 [3] NCCL INFO ncclCommInitRank comm 0x55d0 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 5d000
        commId 0x1f2e - Init COMPLETE
    node1:84:84 [3] NCCL INFO AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0
        comm 0x55d0 [nranks=8] stream 0x9
    [2026-01-31 10:11:12] node1:84:99 [3] transport/net_ib/p2p.cc:93 (ncclIbTest) NCCL WARN NET/IB: Got completion from
        peer 10.0.0.7<4321> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=… vendor_err=129 hca mlx5_3
    node1:84:91 [0] include/socket.h:360 WARN Call to connect failed : Connection refused       (2.2, 2.3)
    NCCL_DEBUG set by environment to INFO

The prefix is `host:pid:thread [device]` and is searched for anywhere, because launchers put theirs before it and
processes cut each other's lines (nccl_records). The number behind a pid is a thread, not a rank; the device is the
thread's current one. Families: nccl_setup, nccl_collectives, nccl_links, nccl_complaints. Records that none of them
knows are claimed.

Printed by: NCCL (NVIDIA), RCCL (AMD), MCCL of Moore Threads and MCCL of MetaX, where NCCL_DEBUG or its kin asks.
Versions: NCCL 2.2 to 2.30.7; RCCL and MCCL as far as they keep NCCL's words.
Source: the NCCL repository, 2.3.5 to 2.30.7; MetaX' and Moore Threads' public documents.
"""

import polars as pl

from parsers.comm.nccl_collectives import cut_operations, is_collective, is_cut, operations
from parsers.comm.nccl_complaints import complaints
from parsers.comm.nccl_links import is_link, links, names_communicator
from parsers.comm.nccl_records import records
from parsers.comm.nccl_setup import SetupReader, is_likely
from parsers.schema.order import sort_if_needed
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, table, tables_of

_MOST_CHARACTERS = 8192  # of one record that is searched: those of a few families are far shorter


def parse(lines: pl.DataFrame) -> Tables:
    """ranks and groups from Init lines, operations from COLL lines, links, settings, timings, and events."""
    reader = SetupReader()
    connected, claimed = [], []
    calls, complained = [table("operations", [])], [table("events", [])]
    for every in records(lines):
        known = every.filter("hit")  # others tell names of hosts
        is_dense = is_collective()
        rest = known.filter(~is_dense)
        parts = operations(known.filter(is_dense)), cut_operations(rest.filter(is_cut()))
        calls += [part for part in parts if part.height]
        complained.append(complaints(_without_setup(rest, reader)))
        connected.append(rest.filter(is_link() | names_communicator()))
        claimed.append(rest.filter(pl.col("library").is_not_null()).select("file", "line"))
    said = table("events", reader.events)
    return tables_of(
        operations=pl.concat(calls),
        ranks=reader.claims(),
        groups=reader.groups,
        links=links(pl.concat(connected)),
        events=sort_if_needed(pl.concat([said, *complained]), ("file", "line")),
        settings=reader.settings,
        timings=reader.timings,
        claimed=pl.concat(claimed, rechunk=True).filter(pl.struct("file", "line").rle_id().diff().ne_missing(0)),
    )


def _without_setup(records: pl.DataFrame, reader: SetupReader) -> pl.DataFrame:
    """What is left of the library's records, connections aside, when `reader` has taken what is about the setup."""
    rare = records.filter(~is_link()).with_columns(pl.col("message", "text").str.slice(0, _MOST_CHARACTERS))
    likely = rare.select(is_likely().alias("is"))["is"]
    setup = likely.scatter(likely.arg_true(), [reader.read(row) for row in rare.filter(likely).iter_rows(named=True)])
    return rare.filter(~setup & rare["library"].is_not_null())


PARSER = LineParser(
    name="nccl",
    anchors=(b"CL INFO ", b"CL WARN ", b"NCCL version", b"NCCL CALL", b"CL TRACE", b"CCL ERROR", b"MCCL version", b"RCCL version", b" set by environment to ",
             b": opCount ", b"] INFO NET/", b"] INFO comm 0x", b"] INFO Ring ", b"] INFO Using network", b" WARN NET/",
             b" WARN Call to ", b" WARN Cuda failure", b" WARN Connect", b" WARN Net : "),
    parse=parse,
)  # fmt: skip
