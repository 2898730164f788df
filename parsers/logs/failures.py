"""Failures that programs which no other parser knows tell in their logs: records of level ERROR or worse, and plain words
for how a process ended, for a wait that was given up, and for a loss that is no number.

    2026-01-31 10:11:12,689 ERROR trainer: could not open shard 7
    [2026-01-31 10:11:12,689][app][ERROR] - OSError: [Errno 5] Input/output error
    worker 3 (pid 4711) exited with exit code 1                     (and all that ends.py tells)
    2026-01-31 10:11:12 host rendezvous timed out after 600 s  |  heartbeat of worker 3 lost for 60 s
    loss is nan  |  grad_norm=nan  |  detected NaN in gradients

What a row of knowledge has in words (parsers/knowledge) is what the row says: an event of its kind; a remark (code = claim); or
nothing, and the line is claimed. Where a kernel printed it only the row is asked, and the address of its device is kept. Else
the level field decides, not the word ERROR in a sentence (parsers/forms/records.py). An error whose message begins with a class
(`OSError: …`) is an event `exception`; what it says of a device or a disk makes another event. Everything else of level ERROR or
FATAL is `other`. Only lines come here that no other parser has read.

Events by words: `exit` (code = exit code or signal) where a process, a rank or the like is its subject, unless a row says that
the line tells of a call or of others; `collective_timeout` and `store_timeout` where the record that says "timed out" speaks of a
collective or a store and no row knows it, else `other` with code timed_out; `heartbeat_lost`; `other` with code stalled; `nan_assert` with code loss or grad_norm where a value is NaN (a loss
that is Inf, too; a gradient norm that is Inf is `other`: a loss scaler skips such a step).

Printed by: any program.
Versions: none.
Source: the formats of Python's logging, loguru, glog, absl, log4j, slf4j, logfmt, Hydra and GNU programs.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from msgspec.structs import replace

from parsers import knowledge
from parsers.forms import framings
from parsers.forms.reading import pairs_of, whole
from parsers.forms.records import Record, record
from parsers.logs.ends import CUT, FOLLOWERS, each_end, end, joined, without_followers
from parsers.logs.known import columns_of
from parsers.numerics import bad_values
from parsers.pytorch.raised import derived, raised
from parsers.schema.lines import Row, claimed, event, is_of_kernel, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import LINE_CHARACTERS, pci
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.bars import BAR
from parsers.text.op_types import spoken
from parsers.text.patterns import regex
from parsers.training.step_figures import figures
from parsers.training.told_values import rows_of_lines

_CLASS = regex(
    r"(?:[\w.-]{1,60}: )?(?P<code>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception)|Exception)): (?P<message>.*)"
)
_FIELDS = regex(r"(?:ts|time|level|host)=\S")  # a record whose fields tell of whom its message speaks
_LABEL = regex(r"\[?(?i:rank)[ =_]?(\d{1,7})\]?: ")  # who speaks
_TIMED_OUT = regex(r"(?i)\btimed[ -]?out\b|\btime-?out (?:exceeded|expired|reached|occurred|elapsed|while|waiting)\b")
# The same of a wait whose end is not told: what was begun is not done after a time.
_NOT_DONE = regex(
    r"(?i)\bnot (?:yet )?(?:been )?(?:complet|finish|return|progress|respond)\w{0,4}\b[^\n]{0,30}?\b(?:after|for|in|within) \d{2,9}(?:\.\d{1,6})? ?(?:ms|s|secs?|seconds?|m|min|minutes?)\b"
)
_COLLECTIVE = regex(
    r"(?i)all[-_ ]?reduce|all[-_ ]?gather|reduce[-_ ]?scatter|all[-_ ]?to[-_ ]?all|broadcast|\bbarrier|\bcollective"
    r"|\b[A-Z]?CCL(?:\b|_)|\bgloo\b|process ?group|\bbatch_isend_irecv"
)
_STORE = regex(
    r"(?i)\b(?:tcp|kv|key[- ]value|c10d|file)[- ]?store\b|(?<!object )\bstore\b(?! (?:job|kv_request_id)\b)|\betcd\b"
)
# What no program can bring about, whoever made the device.
_UNCORRECTABLE = regex(
    r"(?i)\b(?:uncorrect(?:able|ed)|double[- ]bit|multi(?:ple)?[- ]bit)(?: \w{2,12}){0,2}? (?:error|fault)\b(?!s? (?:count|counter|rate|threshold))"
)
_FIGURES = 3  # its count, and more than one beside it
_OF_OPERATION = "OP_REQUIRES failed"  # TensorFlow's level is that of a warning, and the step ends
_WAITS = ("collective_timeout", "store_timeout")
_DEVICE = regex(r"(?i)\b(?:device|gpu|npu|dcu|mlu|hpu|xpu|chip|card|accelerator|die)[ #:=]{0,2}(\d{1,4})\b")
_ADDRESS = regex(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")  # of a device on a PCI bus
_STALLED = regex(r"(?i)\bstalled\b|\bhang (?:was |has been |is )?detected\b|\bdetected (?:a |the )?(?:job )?hang\b")
_HEARTBEAT = regex(
    r"(?i)\bheart-?beats?\b(?! (?:open|report|send\b|read\b|write\b|file\b)).{0,60}?\b(?:lost|missed|missing|timed? ?-?out|expired|not received|failed|stopped|stale|dead)\b"
    r"|\b(?:lost|missed|missing|no|without)\b.{0,30}?\bheart-?beats?\b(?! report)"
)


# What a line must hold to be looked at closely: a level that may be a field, or one of the words.
_LIKELY = (
    r"(?:^|[\s\[|<(_])(?:ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|SEVERE|EMERG[A-Z]*|PANIC|ALERT)(?:[\s\]|:>),]|$)|\[?[EF](?:20[0-9]{2})?[0-9]{3,4} [0-9]{2}:|\[[EF] |: [EF] "
    r"|^[EF] +\S+:[0-9]+\]|[\[<|=\" ](?i:error|fatal|critical)[\]>|\":, ]|^(?i:(?:\S{1,90}: )?(?:[0-9a-z_]+ )?(?:error|fatal|critical)(?: error)?: )"
    r"|(?i)exit|oom[- ]?kill|memory budget|: (?:killed|aborted|bus error|segmentation fault|terminated)|core dumped|retcode|退出码|信号|\brc=|return ?code|\(rc=|\breturned -|signal|\bSIG[A-Z]|\bkill(?:ing)? (?:-|pid|process|rank|member|worker|trainer|replica)|\bdelet(?:e|ing|ed) (?:the )?pod\b|timed?[ -]?out|stalled|hang (?:[a-z]{1,5} ){0,2}detected|detected (?:a |the )?(?:job )?hang|heart-?beat|\b(?:nan|inf)(?:s?\b|inity)|finite|^\^C"
)


def parse(lines: pl.DataFrame, learnt: Sequence[tuple[str, str]] = ()) -> Tables:
    """events other, exception and what it derives, exit, collective_timeout, store_timeout, heartbeat_lost, nan_assert, and what rows of
    knowledge make; ranks: of the local rank before a line, which rank the line says it is. `learnt`: a user's rows."""
    knowledge.learn(learnt)
    rows: list[dict[str, Any]] = []
    understood: list[tuple[str, int]] = []
    claims: dict[tuple[Any, ...], dict[str, Any]] = {}
    values: list[dict[str, Any]] = []
    if (
        lines["text"].str.contains("%|", literal=True).any()
    ):  # the bar's pattern takes longer to compile than all others
        lines = lines.with_columns(pl.col("text").str.replace(rf"^{BAR}(\S)", "$1"))
    is_likely = pl.col("text").str.contains(_LIKELY) | pl.col("raw").str.starts_with("{")
    anchors = pl.col("text").str.extract_many(list(knowledge.heard_anchors()), overlapping=True)
    marked = joined(without_followers(lines)).with_columns(anchors.alias("_anchors"))
    for row in marked.filter(is_likely | (pl.col("_anchors").list.len() > 0)).iter_rows(named=True):
        is_stamped = row["time_ns"] is not None or row["rank"] is not None
        found = record(row["text"], is_stamped, row["raw"])
        known = knowledge.heard(row["text"], row["_anchors"])
        if known is not None and known.event == knowledge.NOTHING:
            understood.append((row["file"], row["line"]))
        elif made := _events(row, found or Record("", row["text"][:2000]), known):
            if _is_record_of_step(row, found, made):
                continue
            rows += [_by(one, found) for one in made]
            if any(map(_is_one_of_many, made)):
                values += rows_of_lines([row])  # beside those of other ranks, of which it says the same
            claims |= {
                (row["file"], one["rank"], one["local_rank"]): reporter(row)
                | {"rank": one["rank"], "how": "bad value line"}
                for one in made
                if one["kind"] == "nan_assert"
                and one["rank"] is not None
                and row["rank"] is None
                and row["local_rank"] is not None
            }
    return tables_of(events=rows, values=values, ranks=list(claims.values()), claimed=claimed(understood))


def _is_record_of_step(row: Row, found: Record | None, made: Sequence[dict[str, Any]]) -> bool:
    """Does a line of bad values, in which no step is seen, count one all the same (`it 18: d_loss 9.6 d_gnorm nan`)? Then it is a record of that step,
    as those of numbers are, and for who reads these."""
    if any(one["kind"] != "nan_assert" or one.get("step") is not None for one in made):
        return False
    if (found is not None and found.severity in ("error", "fatal")) or len(row["text"]) > LINE_CHARACTERS:
        return False
    said = framings.record(row["text"])
    if said is None or len(said) < _FIGURES or "step" not in vocabulary.meanings(tuple(said)):
        return False
    told = figures(said, {"rank": None, "time_ns": None, "file": row["file"], "line": row["line"]})
    return told is not None and bool(told.steps)


_OF_PART = regex(
    r"(?:^|[\]|:>-] )\s{0,16}(?:[-*|]\s{0,4})?(?:[A-Za-z]{1,20} )?[A-Za-z_]\w{0,60}(?:\.\w{1,60}){1,12}[ \t:=|(\[]"
)  # its path, before anything else that the program says: what its logger puts there is none of it


def _is_one_of_many(made: dict[str, Any]) -> bool:
    """Is a bad value of a module, of a step or of a part of the model, of which others print lines of that form with numbers?"""
    is_of_part = _OF_PART.search(made["text"]) is not None
    if made["kind"] != "nan_assert":
        return is_of_part and made.get("code") == "grad_norm"  # its norm is Inf
    return is_of_part or made["code"] == "module" or made.get("step") is not None


def _events(row: Row, found: Record, known: knowledge.Message | None) -> list[dict[str, Any]]:
    is_error = found.severity in ("error", "fatal")
    said = columns_of(known, "" if _OF_OPERATION in row["text"] else found.severity) if known else None
    if said and is_of_kernel(row):  # what it says of a time-out or a code is of no process
        return [event(row, said.pop("kind"), **_of_device(row["text"]) | said)]
    if said and said["kind"] != "other":
        return [event(row, said.pop("kind"), **said)]
    if (listed := each_end(row, found.message)) and not _is_no_end(known):
        return [event(row, told.pop("kind"), **told) for told in listed]
    told = _words(row, found, is_error)
    if told and not (said and (told["kind"] in _WAITS or (told["kind"] == "exit" and _is_no_end(known)))):
        return [event(row, told.pop("kind"), **told)]
    if is_error and (named := _CLASS.match(found.message)) and not is_of_kernel(row):
        return raised(row, named["code"], named["message"], {"frames": []}, row["text"], found.severity)
    told = (is_error and (derived(found.message) or _uncorrectable(found.message))) or said
    if not (told or is_error):
        return []
    said = told or {"kind": "other"}
    return [event(row, said.pop("kind"), **{"severity": found.severity} | said)]


def _is_no_end(known: knowledge.Message | None) -> bool:
    """Does a row say of the line that the code in it ended no process of the job: of a call, or of what others decided?"""
    return known is not None and (known.claim == "call_failed" or known.own is False)


def _of_device(text: str) -> dict[str, Any]:
    """The device that a kernel names by its address."""
    named = _ADDRESS.search(text)
    return {"pci": pci(named[0])} if named else {}


def _uncorrectable(text: str) -> dict[str, Any] | None:
    fault = _UNCORRECTABLE.search(text)
    if fault is None:
        return None
    device = _DEVICE.search(text, fault.end()) or _DEVICE.search(text)
    index = int(device[1]) if device else None
    return {"kind": "gpu_error", "code": "uncorrectable", "text": text, "device_index": index}


def _by(made: dict[str, Any], found: Record | None) -> dict[str, Any]:
    """Time and rank as the record's own fields have them, where nothing before it told them."""
    if found is None:
        return made
    if made["time_ns"] is None:
        made["time_ns"], made["time_basis"] = found.stamp
    if made["rank"] is None and found.rank is not None:
        made |= {"rank": found.rank, "rank_space": "global"}
    if made.get("pid") is None and made["rank"] is None:
        made["pid"] = found.pid
    return made


def _words(row: Row, found: Record, is_error: bool) -> dict[str, Any] | None:
    text = found.message
    if ended := end(row, text) or (_FIELDS.match(row["text"]) and end(row, f"{text} {row['text']}")):
        return ended
    if bad := bad_values.printed(text):
        return bad if reporter(row)["rank"] is None else bad_values.by_its_printer(bad)
    severity = "error" if is_error else "warning"
    if found.severity == "info":
        return None
    if _HEARTBEAT.search(text):
        return {"kind": "heartbeat_lost", "severity": severity}
    if _TIMED_OUT.search(text) or (is_error and _NOT_DONE.search(text) and _COLLECTIVE.search(text)):
        is_collective = _COLLECTIVE.search(row["text"]) is not None
        if not (is_collective or _STORE.search(text)):
            return {"kind": "other", "severity": severity, "code": "timed_out"}
        label = _LABEL.match(row["text"]) if reporter(row)["rank"] is None else None
        made = {"kind": "collective_timeout", **_call(text)} if is_collective else {"kind": "store_timeout"}
        return made | {"severity": "error"} | ({"rank": int(label[1]), "rank_space": "global"} if label else {})
    if _STALLED.search(text):
        return {"kind": "other", "severity": severity, "code": "stalled"}
    return None


def _call(text: str) -> dict[str, Any]:
    """Operation and number of the call that a line says was given up."""
    told = vocabulary.told(pairs_of(text))
    number = whole(told.get("call_number"))
    op = spoken(text)
    return ({"op": op} if op is not None else {}) | ({"seq": number} if number is not None else {})


_BARE = tuple(
    f"{before}{value}".encode()
    for value in ("nan", "NaN", "NAN", "Nan", "inf", "Inf", "INF")
    for before in ("loss ", "loss: ", "loss=", "loss = ", "loss:", "loss': ", "loss': '", 'loss": ', 'loss": "', "norm ", "norm: ", "norm=", "norm = ", "norm:", " is ", "(",
                   "ound ", "etected ", "ncountered ", "ot ")
)  # fmt: skip
_COUNTED = tuple(
    f"{value}{between}{digit}".encode()
    for value in ("finite", "nans", "infs", "nan", "nan_count")
    for between in (" ", "=", ": ", ":")
    for digit in range(1, 10)
)
_OF_MODULE = tuple(
    f"{value} {word}".encode()
    for value in ("nan", "NaN", "NAN", "nans", "NaNs", "inf", "Inf", "INF", "infs", "finite", "finite values", "nan values", "NaN values")
    for word in ("in ", "at ", "from ", "after ", "inside ", "by ", "found ", "detected ", "was ", "were ", "seen ", "appeared ", "produced ")
) + tuple(
    f"{word}{value}".encode()
    for value in ("nan", "NaN", "inf", "Inf", "non")
    for word in ("has ", "contains ", "produced ", "returned ", "became ", "gave ", "a ", "an ")
)  # fmt: skip
PARSER = LineParser(
    name="failures",
    anchors=(
        b"ERROR", b"CRITICAL", b"FATAL", b"SEVERE", b"EMERG", b"PANIC", b"[E ", b": E ", b" E ", b"E external/", b"E tensorflow/",
        *(f"[E{digit}".encode() for digit in range(10)), *(f"E{month:02d}".encode() for month in range(1, 13)),
        b"rror: ", b"atal: ", b"error:", b"[error", b"[Error", b"<error", b"=error", b'"error"', b"error |",
        b"[fatal", b"=fatal", b'"fatal"', b"fatal error", b"critical: ", b"[critical", b"=critical", b'"critical"',
        b"exit code", b"^C", *FOLLOWERS, b" exit ", b" with code ", b" with status ", b"exitcode", b"exit status", b"xited", b"status code", b"OOMKilled", b"OOM-killed", b"OOM killer", b"memory budget", b"core dumped", b": Killed", b": Aborted", b": Bus error", b"retcode", b"return code", b"returncode", b"error code", b"illed by", b"(rc=", b" rc=", "退出码".encode(), "信号".encode(), b"xit codes", b"eturncodes", b"eturn codes", b"returned -", b"code=killed", b"code=exited", b"code=dumped", b"SIG", b"kill -", b"illing ", b"elete pod ", b"eleting pod ", b"eleted pod ", b"ignal ", b"Exit Code: ",
        b"imed out", b"imed-out", b"imeout exceeded", b"imeout expired", b"imeout reached", b"imeout occurred",
        b"imeout waiting", b"talled", b"ang detected", b"ang was detected", b"ang is detected", b"ang has been detected", b"etected hang", b"etected a hang",
        b"etected the hang", b"etected a job hang", b"eartbeat", b"eart beat", b"eart-beat", *_BARE, *_OF_MODULE, *_COUNTED,
        *map(str.encode, knowledge.heard_anchors()),
    ),
    parse=parse,
    after=1,  # of a line that is broken before it says which end it was
    leads=regex(CUT.encode()),
    leftover=True,
)  # fmt: skip


def taught(texts: Sequence[tuple[str, str]]) -> LineParser:
    """The same parser, which asks a user's rows first: (printer, text of its file). ValueError where one is not as it must be."""
    own = map(str.encode, knowledge.heard_anchors(texts))
    return replace(PARSER, anchors=(*PARSER.anchors, *own), parse=partial(parse, learnt=tuple(texts)))
