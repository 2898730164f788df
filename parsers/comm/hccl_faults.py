"""What the message of an error of HCCL says, wherever it is printed: which kind of failure, whom it waits for, its values.

A rank that a message names is one of the communicator (`remote rank:[24]`); who waits reports, the named one is a suspect at
most. Values stand in brackets after their name: `streamID:[87], taskID[52]`.
"""

import re
from typing import Any

import msgspec

from parsers.text.patterns import regex
from parsers.text.stamps import Stamp, parse_time

OWN_PORT = "own_port_in_use"  # on which a process listens for its peers: another one holds it
_FAMILIES: tuple[tuple[re.Pattern[str], str, str | None], ...] = (
    (regex(r"EI0005|inconsistent|not consistent|[Cc]heck.*\bmismatch"), "comm_warning", "collective_mismatch"),
    (regex(r"EI0007|out of memory|alloc.*(?:failed|fail)\b"), "gpu_oom", None),
    (regex(r"EI0004|rank ?table.*(?:invalid|error|failed)"), "config_error", "rank_table"),
    (regex(r"EI0001|EI0003|invalid (?:environment|parameter)|param(?:eter)? .*invalid"), "config_error", "invalid"),
    # HCCL_E_PARA, _PTR, _NOT_SUPPORT of hccl_types.h: a communicator was refused for what it was given
    (regex(r"errNo\[0x[0-9a-fA-F]{0,14}0[125]\]\w*CommInit\w*\s[Ff]ail|Comm(?:unicator)?Init\w* fail\w*, ?(?:error|ret)\w*: ?\[?[125]\b"), "config_error", "invalid"),
    (regex(r"EJ0003|[Ff]ail\w* to bind|\bbind\b.*(?:already|in use)"), "config_error", OWN_PORT),
    (regex(r"EJ0001|[Ff]ailed to initialize the HCCP"), "config_error", "device_in_use"),
    (regex(r"EI0008|version.*(?:mismatch|inconsist)"), "config_error", "version_mismatch"),
    (regex(r"EI0009|link.*down|port.*(?:down|error)", re.I), "link_down", None),
    (regex(r"cqe|retransmission|\broce\b.*error", re.I), "completion_error", None),
    (regex(r"[Rr]emote [Rr]ank did not send"), "collective_timeout", None),  # of EI0006: the link was there
    (regex(r"EI0006|[Ss]ocket.*tim(?:e ?out|ed out)|tim(?:e ?out|ed out).*[Ss]ocket|wait socket establish",),
     "connect_failed", "timeout"),
    (regex(r"[Ss]ocket.*(?:closed|reset|disconnect)"), "peer_closed", None),
    (regex(r"connect.*(?:fail|refused)", re.I), "connect_failed", None),
    (regex(r"EI0002|fftsplus task timeout|stuck notify|\[Timeout\]|[Nn]otify.*tim(?:e ?out|ed out)|tim(?:e ?out|ed out).*[Nn]otify"),
     "collective_timeout", None),
)  # fmt: skip
_REMOTE_RANK = regex(r"(?:remote|dst|peer)(?:[ _]?[Uu]ser)?[ _]?[Rr]ank\w*\s?[:=]?\s?\[?(\d{1,7})\b")
_REMOTE_ADDRESS = regex(
    r"(?:remote|dst|peer|server)[ _]?(?:[Ii][Pp]|[Aa]ddr\w*)\w*\s?[:=]?\s?\[?([0-9A-Fa-f][0-9A-Fa-f.:]{3,63}[0-9A-Fa-f])\b"
)
_PAIR = regex(r"\b([A-Za-z]\w{0,30})\s?:?\s?\[([^\[\]]{0,200})\]")
_CODE = regex(r"\bE[IJZ]\d{4}\b")

KINDS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Send": "send",
          "Recv": "recv", "Receive": "recv", "Broadcast": "broadcast", "Reduce": "reduce", "AlltoAll": "all_to_all",
          "AlltoAllV": "all_to_all", "Scatter": "scatter", "Barrier": "barrier",
          "BatchSendRecv": "coalesced"}  # fmt: skip
_TAG = regex(r"(?:Hcom|Hccl)?([A-Z][A-Za-z]{2,30}?)(?=[^a-zA-Z]|$)")
_OF_GROUP = regex(
    r"(?:Hcom|Hccl)?[A-Z][A-Za-z]{2,30}?_(?P<group>(?=\d*\D).{2,200})"
)  # `AllReduce_` and the communicator's name


class Fault(msgspec.Struct, frozen=True):
    """`family`: the code of our own for the kind of failure; `columns` of `events`: code, op, group, names_ranks, names_hosts."""

    kind: str
    family: str | None
    pairs: dict[str, str]
    columns: dict[str, Any]


def pairs_of(body: str) -> dict[str, str]:
    """`name:[value]` → name and value, the first thirty."""
    return dict(_PAIR.findall(body)[:30])


def when(stamp: str) -> Stamp:
    """`2026-01-31-10:11:12.123.456`, whose fraction may be shorter, or lacking."""
    day, clock = stamp[:10], stamp[11:]
    seconds, _, fraction = clock.partition(".")
    return parse_time(f"{day} {seconds}.{fraction.replace('.', '') or '0'}")


def fault(body: str) -> Fault:
    """A message without what stands before it → what it tells. What CANN advises after it is no evidence."""
    body = body.partition("Possible Cause")[0]
    kind, family = next(((kind, code) for words, kind, code in _FAMILIES if words.search(body)), ("comm_warning", None))
    catalogue = _CODE.search(body)
    rank, address = _REMOTE_RANK.search(body), _REMOTE_ADDRESS.search(body)
    pairs = pairs_of(body)
    op = _TAG.match(pairs.get("tag", ""))
    of_group = _OF_GROUP.fullmatch(pairs.get("tag", ""))
    columns = {
        "op": KINDS.get(op[1]) if op else None,
        "group": pairs.get("group") or (of_group["group"] if of_group else None),
        "code": family or (catalogue[0] if catalogue else None),
        "names_ranks": [int(rank[1])] if rank else None,
        "names_rank_space": "group",
        "names_hosts": [address[1]] if address else None,
    }
    return Fault(kind, family, pairs | ({"catalogue": catalogue[0]} if catalogue else {}), columns)
