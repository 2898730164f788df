"""libfabric, its EFA and CXI providers, and the OFI plugin of NCCL: transfers and connections that failed.

    libfabric:4711:1769854272::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5, message: Invalid address My EFA addr:
        fi_addr_efa://[fe80::1]:0:77 My host id: i-0a1 Peer EFA addr: fi_addr_efa://[fe80::2]:0:80 Peer host id: i-0b2 (7)
    libfabric:4711:1769854272::core:core:fi_getinfo_():1368<warn> fi_getinfo: provider efa returned -61 (No data available)
    n7:4711:4790 [4] ofi_process_cq:196 NCCL WARN NET/OFI Request completed with error. RC: 107. Error: 4 (unresponsive …
    NET/OFI Couldn't open CQ. RC: -22, ERROR: Invalid argument           (an endpoint that cannot be made: config_error)
    NET/OFI Unable to register memory (type = 2) for device 0. RC: -12, Error: Cannot allocate memory
    MPIDI_OFI_handle_cq_error(1042): OFI poll failed (ofi_events.c:1042:MPIDI_OFI_handle_cq_error:Transport retry counter exceeded)      MPICH's netmod

libfabric's levels are warn, info, trace and debug: a failure is a warn that says `err` or `error`, and a transfer that failed is
an error, whatever the level says. A peer that did not answer
or was not reachable makes a `completion_error` (code = the error), names_hosts = the peer's host id or address; other errors
are `comm_warning`, as are the plugin's records that the library's own prefix does not precede.

Printed by: libfabric (fi_log), its EFA provider, aws-ofi-nccl, MPICH's netmod OFI (Cray and Intel MPI as well).
Versions: libfabric 1.10 to 2.3, aws-ofi-nccl 1.0 to 1.17.
Source: ofi_log of libfabric, prov/efa/src, ofi_process_cq of aws-ofi-nccl.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.lines import Row
from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_HEAD = (
    r"libfabric:(?P<pid>\d{1,10}):(?:(?P<at>[0-3]?\d{9}):)?:?(?:\w{0,20}:)?(?P<provider>[\w;-]{1,60}):(?P<subsystem>\w{1,20}):"
    r"(?P<function>\w{1,80})\(\):\d{1,6}(?:<(?P<level>\w{1,8})>|) "
)
_PEERS = (regex(r"[Pp]eer host id: ([\w.-]{1,80})"), regex(r"[Pp]eer (?:EFA )?addr(?:ess)?: (\S{1,120})"))
_OWN = regex(r"[Mm]y host id: ([\w.-]{1,80})")
_TRANSFER = regex(r"_(?:txe|rxe|rx_entry|tx_entry|ope|cq)\w*_?(?:handle_)?error|^err: ")


def _failed(groups: Mapping[str, str]) -> Mapping[str, Any]:
    what = groups["what"]
    peer = next((found[1] for pattern in _PEERS if (found := pattern.search(what))), None)
    made: dict[str, Any] = {"detail": {"at": None, "level": None, "what": None, "library": "libfabric"}}
    if "at" in groups:
        made |= {"time_ns": int(groups["at"]) * 10**9, "time_basis": "utc"}
    if peer:
        made["names_hosts"] = [peer]
    message = re.search(r"err: \d{1,5}, message: (.{1,120}?)(?= My EFA| \(|$)", what)
    if peer or (message and _TRANSFER.search(f"{groups['function']} {what}")):
        made |= {"kind": "completion_error", "severity": "error", "code": message[1] if message else None}
        made["detail"]["blames"] = "peer" if peer else None
        own = _OWN.search(what)
        made |= {"host": own[1]} if own else {}  # the other end of the transfer is the one that prints it
    return made


# What a call of MPICH's netmod ended by, behind the place in its source: of the program, by the other end, else of the way between.
_NETMOD = (
    r"\bOFI (?:poll|\w{1,20} ?(?:send|recv|read|write|inject|progress)\w{0,10}) failed \([\w.]{1,60}:\d{1,6}:\w{1,80}:"
)
_OF_PROGRAM = r"(?i:.{0,40}(?:truncat|too (?:long|small|big)|memory|invalid|no such|cancel))"
_CLOSED = r"(?i:.{0,40}(?:reset by peer|refused|closed|shutdown|broken pipe|not connected|abort))"


RULES = (
    Rule(
        regex(rf"{_HEAD}(?P<what>[^\n]{{0,60}}?(?:\berr(?:or|no)?\b|[Ff]ail|[Uu]nable|[Ii]nvalid|unreachable|timed out)[^\n]{{0,800}})"),
        "comm_warning", "warning", refine=_failed,
    ),
    Rule(regex(_HEAD), None),
    Rule(
        regex(r"(?:NET/OFI )?Request \S{0,20} ?completed with error\. RC: -?(?P<rc>\d{1,5})\.(?: Error: (?P<error>[^.\n]{1,160}))?"),
        "completion_error",
        refine=lambda groups: {"code": groups.get("error", "unknown").strip(), "detail": {"error": None, "library": "NET/OFI"}},
    ),
    Rule(
        regex(rf"{_NETMOD}(?!{_OF_PROGRAM}|{_CLOSED})(?P<error>[^\n)]{{1,160}})\)"),
        "completion_error", refine=lambda groups: {"code": groups["error"], "detail": {"error": None, "library": "MPICH"}},
    ),
    Rule(regex(rf"{_NETMOD}{_CLOSED}"), "peer_closed"),
    Rule(
        regex(r"NET/OFI (?P<what>(?:Couldn't|Could not|Unable to|Failed to) (?:open|create|allocate|bind|enable) [^.\n]{1,80})\.? RC: -?(?P<rc>[1-9]\d{0,4})"
                   r"(?:[,.] (?:Error|ERROR): (?P<error>[^\n]{1,160}))?"),
        "config_error", "error", "ofi", refine=lambda _: {"detail": {"library": "NET/OFI"}},
    ),
    Rule(
        regex(r"NET/OFI (?P<what>(?!Using|Selected|Initializing|Setting|Loaded|Creating|Configuring|Running)[^\n]{0,200}?\bRC: -?(?P<rc>[1-9]\d{0,4})"
                   r"(?:[,.] (?:Error|ERROR): (?P<error>[^\n]{1,160}))?)"),
        "comm_warning", "error", "ofi",
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events completion_error and comm_warning; a record of NCCL that holds the plugin's words is left to NCCL's parser."""
    own = [not _is_of_nccl(row) for row in lines.iter_rows(named=True)]
    return read_rules(lines.filter(pl.Series(own, dtype=pl.Boolean)), RULES)


def _is_of_nccl(row: Row) -> bool:
    return re.search(r"\b[NMR]CCL (?:WARN|INFO|ERROR) ", row["text"] or "") is not None


PARSER = LineParser(name="libfabric", anchors=(b"libfabric:", b"OFI ", b"completed with error. RC:"), parse=parse)
