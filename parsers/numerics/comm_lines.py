"""What goes into a communication and what comes out of it, as training programs print it: a line for each side, with figures of the tensor.

    step 1331 bucket 2 (head) before all_reduce: absmax=87.6 nan=0 inf=0         it=40 r5 allreduce[3] out maxabs 0.28 nonfinite 3 xxh=e6863ba8
    step 71 fwd mb 0 RECV from r4 [2048,1,5120] nan=0 inf=0 absmax(finite)=7.67 crc=f91596a8     step 3 mb 1 | sent act -> stage 2 amax=2.7 nan=0
    [r2] it=24 mb=0 接收 act <- r0 n=768 amax=5.067 crc=f2673d37

Rows of `tensors`, phase comm: op, whether it is what went in (input) or came out (output), the peer of a send or a receive; `module` is what stands between the step
and the side, which tells one call of a step from the next. Whose a line is, it or who prints it says. Lines without a step, a count or a largest value are left, and
without a rank, but for a message with its digest.

Printed by: training scripts.
Versions: none.
Source: as users write them.
"""

from collections import Counter
from typing import Any

import polars as pl

from parsers.forms.reading import real, whole
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.step_marks import IN_LINE

_OPS = r"all[_-]?reduce|reduce[_-]?scatter|all[_-]?gather|all[_-]?to[_-]?all|broadcast|bcast|psum"
_IN, _OUT = r"before|pre|in(?:put)?s?|local|send(?:buf)?", r"after|post|out(?:put)?s?|reduced|recv(?:buf)?"
_BETWEEN = r"(?:\[\d{1,6}\])?[ _:#.-]{1,4}(?:the )?"
_TOWARDS = r"to|from|->|<-|=>|<=|→|←|(?:peer|dst|dest|src|rank)(?=[ =:])"  # and who is at the other end
_PASSED = r"(?![a-z]{0,20}[=\d])[a-z_][a-z_./-]{0,40}(?:\[[\d, x]{0,40}\])?"  # what goes over: act, grad of the input, hidden_states[2,8]
_SIDE = regex(
    rf"(?i)(?<![A-Za-z])(?:(?:(?P<in>{_IN})|(?P<out>{_OUT})){_BETWEEN}(?P<op>{_OPS})|(?P<op_>{_OPS}){_BETWEEN}(?:(?P<in_>{_IN})|(?P<out_>{_OUT})))(?![A-Za-z])"
    r"|(?<![A-Za-z])(?:(?P<send>i?send|sent)|(?P<recv>i?recv|receiv(?:e|ed)))(?:ing)?(?:_?(?:forward|backward|fwd|bwd|next|prev))?[ :]{1,2}"
    rf"(?:(?:{_PASSED}[ :,(]{{1,3}}){{1,3}}(?:{_TOWARDS})|(?:{_TOWARDS})?)[ (]{{0,2}}(?:(?:rank|peer|r|stage(?: rank)?|dst|dest|src|to|from)[ =#:_]{{0,2}})?(?P<peer>\d{{1,6}})(?![\w.]| [a-z]{{2,20}}s\b(?! ?[=:\d]))"
    r"|(?:(?P<to>->|=>|→)|(?P<from><-|←)) ?(?:rank|r)[ =#:_]?(?P<end>\d{1,6})(?![\w.])"  # whatever the words before an arrow
)
_RANK = regex(r"(?i)(?<![a-z_])(?:rank|r)[ =:#]{0,2}(?P<rank>\d{1,7})(?![\w.])")
_BATCH = regex(r"(?i)(?<![a-z])(?:u?mb|ubatch|micro(?:[ _-]?(?:batch|step))?)[ =:#_]{0,2}(?P<batch>\d{1,6})(?![\w.])")
_NUMBER = r"(?:\([a-z]{1,12}\))?\"? {0,2}[=: ] {0,2}\"?(?P<figure>[-+]?(?:\d[\d.e+-]{0,24}|nan|inf(?:inity)?))(?![\w.])"
_FIGURES = {
    "absmax": regex(rf"(?i)(?<![a-z])(?:abs_?max|max_?abs|amax){_NUMBER}"),
    "nan_count": regex(rf"(?i)(?<![a-z])(?:n_?)?(?:nans?|non[_-]?fin(?:ite)?)(?:_?count)?{_NUMBER}"),
    "inf_count": regex(rf"(?i)(?<![a-z])(?:n_?)?infs?(?:_?count)?{_NUMBER}"),
}
_SUM = regex(
    r"(?i)(?<![a-z])(?:crc(?:32c?)?|xxh(?:ash)?\d{0,3}|md5|sha\d{0,3}|hash|digest|sum|checksum)\"? {0,2}[=: ] {0,2}\"?(?:0x)?(?P<sum>[0-9a-f]{6,128})(?!\w)"
)
_DTYPE = regex(r"\b(?P<dtype>fp16|float16|bf16|bfloat16|fp32|float32|half)\b")
_NAMES = {"allreduce": "all_reduce", "psum": "all_reduce", "reducescatter": "reduce_scatter", "allgather": "all_gather", "alltoall": "all_to_all", "bcast": "broadcast", "broadcast": "broadcast"}  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """tensors, claimed."""
    rows: list[dict[str, Any]] = []
    dtypes: dict[str, str | None] = {}
    counts: Counter[str] = Counter()
    for row in lines.sort("file", "line").iter_rows(named=True):
        text = row["text"][:LINE_CHARACTERS]
        if (dtype := _DTYPE.search(text)) is not None:
            dtypes.setdefault(row["file"], dtype["dtype"])
        if (made := _row(row, text)) is not None:
            rows.append(made | {"dtype": dtypes.get(row["file"]), "record": counts[row["file"]]})
            counts[row["file"]] += 1
    return tables_of(tensors=rows, claimed=claimed((row["file"], row["line"]) for row in rows))


def _row(row: dict[str, Any], text: str) -> dict[str, Any] | None:
    """One side of a communication; None where the line lacks what tells it."""
    side, step = _SIDE.search(text), IN_LINE.search(text)
    if side is None or step is None or step.end() > side.start():
        return None
    cells = {name: found["figure"] for name, form in _FIGURES.items() if (found := form.search(text, side.end()))}
    figures = {name: real(cell) if name == "absmax" else whole(cell) for name, cell in cells.items()}
    between = text[step.end() : side.start()]
    labels = {int(one["rank"]) for one in _RANK.finditer(text[: side.start()])}
    who = reporter(row)
    rank = labels.pop() if len(labels) == 1 else who["rank"] if not labels else None
    told = side["peer"] or side["end"]
    peer, is_sent = told and int(told), bool(side["send"] or side["to"])
    digest = _SUM.search(text, side.end())
    is_told = rank is not None or (peer is not None and digest is not None)  # whose message it is, its digest may tell
    if not {name for name, figure in figures.items() if figure is not None} or not is_told:
        return None
    given = bool(side["in"] or side["in_"] or is_sent)
    op = ("send" if is_sent else "recv") if peer is not None else _NAMES["".join(filter(str.isalpha, (side["op"] or side["op_"]).lower()))]  # fmt: skip
    batch = _BATCH.search(between)
    return {
        **{name: who[name] for name in ("host", "file", "line")},
        **figures,
        "rank": rank,
        "step": int(step["step"]),
        "phase": "comm",
        "module": None if peer is not None else " ".join(_RANK.sub("", between).split()).strip(" :|,-") or None,
        "op": op,
        "tensor": "input" if given else "output",
        "peer": peer,
        "microbatch": None if batch is None else int(batch["batch"]),
        "checksum": None if digest is None else digest["sum"].lower(),
        "attempt": row["attempt"],
    }


PARSER = LineParser(
    name="comm_lines",
    anchors=(b"reduce", b"Reduce", b"REDUCE", b"gather", b"Gather", b"psum", b"to_all", b"toall", b"bcast", b"broadcast", b"SEND ", b"RECV ", b"send ", b"recv ", b"Send ", b"Recv ", b"send_", b"recv_", b"sent ", b"received ", *(f"{arrow}{space}r".encode() for arrow in ("->", "=>", "→", "<-", "←") for space in ("", " "))),
    holds=regex(rb"(?i)(?:step|iter|iteration|it|update)[ =:#_-]{1,4}\d|16|32|half"),  # or a type of data
    parse=parse,
)  # fmt: skip
