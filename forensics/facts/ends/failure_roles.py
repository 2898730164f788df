"""Whose failure is what ended a process? By where and how it ended first, by words only where a row of knowledge has them.

Asked in this order, of each process that ended by an error of which its own lines tell (facts/ends/process_ends.py):

0. A line without a traceback, of a process whose end nobody else tells, is a *complaint* where the end of some process is shown, or
   its wait: by a traceback, an exit, a signal. It ended nothing.
1. *quoted*: its last traceback is another process's, of which it prints a copy (`(RANK 6)`): it belongs to that one.
2. A message that a row knows (parsers/knowledge, memory and disks included) says whether it is its printer's own.
3. An own flight record shows the process in an operation that waits for others: what it raised is how its wait ended, but for
   what its own code raised. Where there are no frames, the stack that it left tells.
4. The innermost frame (wrappers aside; of a child's error that of the child's traceback): in own code, `raise`, `assert` and the
   classes that Python itself raises are its *own*. In a library, such a class is, by its form, and one of a module of Python's where no
   frame asks anybody; in a call that waits for ranks, too,
   in groups above two. Clients of services are own, if they asked no host of the job, nor one that was lost. Everything else is *unclear*: native code raises RuntimeError, and foreign
   classes, without a frame.
5. What is unclear on most ranks alike *lost* others, by its form. So did what several raise alike, in a class of the program, of which one launcher
   saw that all ended after another had been killed; or where the pod of that one was evicted.
6. What a library raised on one rank alone, in no call that may wait for anybody and in words that tell of nobody else, is its *own*, by its
   form, where all other ranks of a job of more than two told in known words that they waited for others or lost them.

An own error that says what came from another rank of the job ("from rank 4") may be that one's: it is unclear, whoever raised it.
"""

import builtins
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from sys import stdlib_module_names
from typing import Any, Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.facts.ends.lost_hosts import asked_in_vain
from forensics.facts.ends.process_ends import How, ProcessEnd
from forensics.facts.rows.error_words import is_library, tells_of_others, without_numbers
from forensics.facts.rows.event_rows import detail
from forensics.model.hosts import short_host
from forensics.model.names import Cause
from forensics.model.said import Said
from forensics.words import facts as words
from parsers.forms.reading import integers
from parsers.knowledge import Message, innermost_waits, meaning, plain_name
from parsers.knowledge import waits as frame_waits
from parsers.text.connections import is_within_a_host
from parsers.text.patterns import regex

State = Literal["own", "lost", "unclear", "quoted", "complaint"]
_Frame = tuple[str | None, str]  # file, function
_Call = tuple[str, str, int]  # function, file, line
# What Python raises for what the program did: not the classes that tell of a connection, a time or an end of input.
_OF_OTHERS = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError, ChildProcessError, EOFError, Warning)
# Native code raises these, and programs that name nothing better.
_FOR_ANYTHING = (RuntimeError, Exception, SystemError)
_OF_PYTHON = frozenset(
    name
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, Exception) and not issubclass(one, _OF_OTHERS) and one not in _FOR_ANYTHING
)  # fmt: skip
# Modules of Python that speak with other processes: their classes may tell of these.
_BETWEEN_PROCESSES = frozenset(
    {"asyncio", "concurrent", "http", "multiprocessing", "queue", "select", "selectors", "signal", "socket", "ssl", "subprocess",
     "threading", "urllib", "xmlrpc"}
)  # fmt: skip
_NAMES = regex(r"[A-Za-z0-9_.-]+")
_OF_RUST = regex(r"^/rustc/|^library/|[/.]cargo/(?:registry|git)/|/rustlib/")
_RAISES = regex(r"^(?:raise|assert)\b")
_OF_STANDARD = regex(r"[\\/]lib[\\/]python3\.\d+[\\/](?!(?:site|dist)-packages[\\/])")  # Python's own library
# A file that an error names, none of those by which processes speak with each other.
_OF_FILE = regex(r"['\"](/(?!dev/|proc/|run/|tmp/|sys/)[^'\"\n]{1,500}\.\w{1,12})['\"]")
# What came from another process. Without the preposition "rank 4" may count the dimensions of a tensor.
_FROM_PEER = regex(
    r"\b(?:from|by|with|against|sent to)\s(?:(?:global|src|source|sender|peer|remote)[ _])?(?:rank|peer)[ :=#_]{0,2}(\d{1,7})\b",
    re.I,
)
# Calls in which an error of another process, or of what was launched before, may come to light.
_MAY_WAIT = regex(
    r"(?i)(?<![a-z])_?(?:\w{0,40}backward|synchroni[sz]e\w{0,20}|barrier|wait\w{0,20}|item|cpu|tolist|numpy|asnumpy|block_until_ready|i?recv\w{0,20}|i?send\w{0,20}|connect\w{0,20}|all_?reduce\w{0,20}|all_?gather\w{0,20}|broadcast\w{0,20}|step|join|result)\("
)
_EVICTIONS = ("killed", "Evicted")  # codes of a kubelet's words
_PROVEN = ("gpu_oom", "disk_full", "host_oom", "segfault", "gpu_fault")  # a row said so when the line was read
_BY_KERNEL = ("host_oom", "segfault", "gpu_fault")
_OF_LINK = "link_fault"  # claims of knowledge
_OF_DEVICE = ("device_error", "device_fault", _OF_LINK)
_HOW: Mapping[State, How] = {"unclear": "unclear", "quoted": "quoted"}


class FailureRole(msgspec.Struct, frozen=True):
    """`reason`: in words. `by_form`: neither a row nor the language says so. `template`: what processes share that failed alike.
    `by_row`: a row of knowledge says so."""

    state: State
    reason: Said
    template: str = ""
    by_form: bool = False
    by_row: bool = False
    is_device: bool = False  # the runtime of its device reported it, whichever device that prints
    # Out of a library, or native code, that a traceback shows, and not below what may wait for anybody.
    is_placed: bool = False
    in_call: bool = False  # some frame is a call among ranks
    is_wait: bool = False  # the innermost one is, or waits for a device, which may wait for ranks in turn
    is_link: bool = False  # of a link between devices, whose end at fault is not said
    asks: bool = False  # it asked a service, whose failure it may be
    between: frozenset[int] = frozenset()  # processes that it says differ: either may be wrong


def _asks_the_job(text: str, hosts: frozenset[str]) -> bool:
    """Does an error of a client name, as the one that it asked, a host of the job, or its own one? What answers there may be a process
    of the job."""
    named = [name.strip(".:") for name in _NAMES.findall(text)]
    return any(is_within_a_host(name) or short_host(name) in hosts for name in named if name)


def is_of_python(code: str | None) -> bool:
    """Is this a class that Python itself raises for what a program did?"""
    return (code or "").removeprefix("builtins.") in _OF_PYTHON


def _is_of_native_code(code: str, text: str, at: str, has_frames: bool) -> bool:
    """Did a binding translate an error of its own into OSError? Python gives one the number of the system's error, a program a line
    that raises it."""
    is_bare = code.removeprefix("builtins.") in ("OSError", "IOError", "EnvironmentError")
    return is_bare and has_frames and bool(at) and "Errno " not in text and _RAISES.match(at) is None


def _is_of_library_of_python(code: str) -> bool:
    """Is it a class of the standard library, of a module that speaks with nobody?"""
    module, dot, _ = code.partition(".")
    return bool(dot) and module.lstrip("_") in stdlib_module_names and module.lstrip("_") not in _BETWEEN_PROCESSES


def failure_roles(
    ends: Mapping[int, ProcessEnd],
    events: pl.DataFrame,
    stacks: pl.DataFrame,
    job: frozenset[int],
    held: frozenset[int],
    hosts: frozenset[str],
    lines: Mapping[str, int],
) -> dict[int, FailureRole]:
    """Ends by rank; `job`: its ranks; `held`: those whose own flight record shows them in an open operation; `hosts`: of the job; `lines` of each
    file → the role of each end that its process's own lines tell."""
    asked = {rank: end for rank, end in ends.items() if end.how == "died" and end.by == "process" and end.refs}
    if not asked:
        return {}
    raised = _raised(asked, events)
    left = _left_stacks(stacks) if any(not _frames(detail(row)) for row in raised.values()) else {}
    pair = len(job) <= 2
    has_traceback = any(map(_has_traceback, raised.values()))
    is_shown = has_traceback or any(rank not in asked for rank in ends)
    # With such a line a process may have ended only where all others are known to have ended, and none of them by a failure of its own.
    others = [end for rank, end in ends.items() if rank not in asked]
    is_told = has_traceback or not job <= ends.keys() or any(end.how in ("died", "failed") for end in others)
    bare = {
        rank
        for rank, end in asked.items()
        if is_shown and _is_bare(end, raised.get(rank), rank in left) and (is_told or not _is_last(end, lines))
    }
    found = dict.fromkeys(asked, FailureRole("complaint", words.ENDED_NOTHING))
    for rank in asked.keys() - bare:
        row, end = raised.get(rank, {}), asked[rank]
        told = row if row.get("text") else {"text": end.refs[0].text, "code": end.code, "detail": None}
        role = role_of(told, end.cause, left.get(rank, ()), rank in held, pair, hosts)
        found[rank] = _unless_of_a_peer(role, str(row.get("text") or ""), job - {rank})
    for rank in asked_in_vain(asked, events):
        if found[rank].state in ("own", "unclear") and not found[rank].is_device:
            found[rank] = replace(found[rank], state="lost", reason=words.ITS_SERVICE_WAS_LOST, by_form=False)
    found = _as_all_tell(found, asked, raised, job)
    found = _with_odd(found, asked, raised, events, job)
    unclear = Counter(role.template for role in found.values() if role.state == "unclear")
    most = {template for template, count in unclear.items() if count > 1 and 2 * count > len(job)}
    found = {
        rank: replace(role, state="lost", by_form=True, reason=words.MOST_RAISED_IT)
        if role.state == "unclear" and role.template in most
        else role
        for rank, role in found.items()
    }
    if not _was_killed_before(ends, found, events, job):
        return found
    alike = Counter(role.template for rank, role in found.items() if _is_of_program(role, asked[rank]))
    return {
        rank: replace(role, state="lost", by_form=True, reason=words.ONE_WAS_KILLED_BEFORE)
        if alike[role.template] > 1 and _is_of_program(role, asked[rank])
        else role
        for rank, role in found.items()
    }


def _as_all_tell(
    roles: dict[int, FailureRole],
    ends: Mapping[int, ProcessEnd],
    raised: Mapping[int, Mapping[str, Any]],
    job: frozenset[int],
) -> dict[int, FailureRole]:
    """Where all ranks of the job raise one error that lists who failed, by numbers among them all, it is these ranks' own."""
    told = {rank: _listed(_text(ends[rank], raised.get(rank))) for rank in roles}
    failed = next(iter(told.values()))
    if not failed or told.keys() != job or len({*told.values()}) > 1 or not failed < job or 2 * len(failed) > len(job):
        return roles
    return {
        rank: replace(role, state="own", reason=words.ALL_RANKS_TELL_IT, by_row=True)
        if rank in failed
        else replace(role, state="lost", reason=words.ITS_MESSAGE_TELLS_OF_OTHERS, by_row=True)
        for rank, role in roles.items()
    }


def _with_odd(
    roles: dict[int, FailureRole],
    ends: Mapping[int, ProcessEnd],
    raised: Mapping[int, Mapping[str, Any]],
    events: pl.DataFrame,
    job: frozenset[int],
) -> dict[int, FailureRole]:
    """Where ranks were compared, it is the end of the one that all others differ from: all raised it, each with its own value, and one alone says
    another thing than the rest. Or only few raised it, each against one reference, and most went past the line at which these were refused."""
    if len(job) <= 2:
        return roles
    texts = {rank: _text(ends[rank], raised.get(rank)) for rank in roles}
    apart = {rank for rank, text in texts.items() if (one := meaning(text)) and one.claim == "disagreement"}
    if not apart or not apart <= job:
        return roles
    references = frozenset[int]().union(*(roles[rank].between - {rank} for rank in apart))
    odd: set[int] = set()
    if apart == job:
        said = {rank: re.sub(rf"(?<!\d){rank}(?!\d)", "#", texts[rank], count=1) for rank in job}
        [(usual, count), *_] = Counter(said.values()).most_common(1)
        odd = {rank for rank, text in said.items() if text != usual} if count == len(job) - 1 else set()
    elif len(references) == 1 and not references & apart:
        others = events.filter((pl.col("kind") == "exception") & pl.col("rank").is_in(sorted(job - apart)))
        left = [_called(raised.get(rank) or {}) for rank in apart]
        past = {row["rank"] for row in others.iter_rows(named=True) if _is_past(_called(row), left)}
        odd = apart if past - references and 2 * len(past | references) > len(job) else set()
    if not odd:
        return roles
    differs: dict[str, Any] = {"state": "own", "reason": words.IT_DIFFERS_ALONE}
    refused: dict[str, Any] = {"state": "lost", "reason": words.ITS_MESSAGE_TELLS_OF_OTHERS}
    told = {rank: differs if rank in odd else refused for rank in apart}
    return roles | {rank: replace(roles[rank], **told[rank], by_row=True, by_form=False) for rank in apart}


def _is_past(own: Sequence[_Call], refused: Sequence[Sequence[_Call]]) -> bool:
    """Was it, where it ended, at a later line of the function in which each of these left its way?"""
    for other in refused:
        mine, its = next(((mine, its) for mine, its in zip(own, other, strict=False) if mine != its), (None, None))
        if mine is None or its is None or mine[:2] != its[:2] or mine[2] <= its[2]:
            return False
    return True


def _called(row: Mapping[str, Any]) -> list[_Call]:
    """The frames of an exception, outermost first."""
    listed = detail(row).get("frames") or [] if row else []
    told = [one for one in listed if isinstance(one, list) and len(one) > 2 and isinstance(one[2], int)]
    return [(str(name), str(file), line) for name, file, line in reversed(told)]


def _text(end: ProcessEnd, row: Mapping[str, Any] | None) -> str:
    """What a process said of its end: what it raised, else the line that tells of it."""
    return str((row or {}).get("text") or end.refs[0].text)


def _listed(text: str) -> frozenset[int]:
    said = meaning(text)
    is_list = said is not None and said.claim == "peer_failed" and "ranks" in said.fields
    return frozenset(integers(str(said.fields["ranks"]))) if said is not None and is_list else frozenset()


def _is_of_program(role: FailureRole, end: ProcessEnd) -> bool:
    return role.state == "own" and not role.by_row and not role.is_device and not is_of_python(end.code)


def _was_killed_before(
    ends: Mapping[int, ProcessEnd], roles: Mapping[int, FailureRole], events: pl.DataFrame, job: frozenset[int]
) -> bool:
    """Did one launcher see all ranks end, and those that were killed, of which no line of their own tells, before every other?"""
    killed = {rank for rank, end in ends.items() if end.how == "died" and end.cause == "killed" and rank not in roles}
    if killed and all(_was_evicted(ends[rank], events) for rank in killed):
        return True
    seen = events.filter((pl.col("kind") == "exit") & (pl.col("rank_space") == "global")).drop_nulls("time_ns")
    if not killed or not seen.height:
        return False
    for own in seen.partition_by("file", "time_basis"):
        times = dict(own.group_by("rank").agg(pl.col("time_ns").min()).iter_rows())
        if killed < times.keys() and times.keys() >= job and len(times) > len(killed) + 1:
            others = min(time for rank, time in times.items() if rank not in killed)
            return bool(max(times[rank] for rank in killed) < others)
    return False


def _was_evicted(end: ProcessEnd, events: pl.DataFrame) -> bool:
    """Does the file that tells of its end say that its pod was killed for what the node lacked? No launcher does that."""
    said = events.filter((pl.col("file") == end.refs[0].file) & pl.col("code").is_in(_EVICTIONS))["text"].drop_nulls()
    return any((one := meaning(text)) is not None and one.about == "pod" for text in said.unique())


def _is_foreign(file: str | None) -> bool:
    """Is it a library's code, or native code, of which no file is told?"""
    return file is None or is_library(file)


def _last(function: str) -> str:
    return plain_name(function).rsplit("::", 1)[-1]


def _unless_of_a_peer(role: FailureRole, text: str, others: frozenset[int]) -> FailureRole:
    if role.state != "own" or role.by_row or others.isdisjoint(map(int, _FROM_PEER.findall(text))):
        return role
    return replace(role, state="unclear", reason=words.SPEAKS_OF_A_PEER)


def sole_failure(roles: Mapping[int, FailureRole], ends: Mapping[int, ProcessEnd], job: frozenset[int]) -> int | None:
    """The one rank whose unclear end explains all others, which all lost somebody or waited by known words. `job`: its ranks, where
    its size is told."""
    unclear = [rank for rank, role in roles.items() if role.state == "unclear"]
    if len(unclear) != 1 or len(job) <= 2 or not roles[unclear[0]].is_placed or roles[unclear[0]].between:
        return None
    rest = job - set(unclear)
    waited = all(
        rank in ends and (ends[rank].how == "gave_up" if (role := roles.get(rank)) is None else role.state == "lost" and role.by_row)
        for rank in rest
    )  # fmt: skip
    return unclear[0] if waited and unclear[0] in job else None


def as_own(roles: Mapping[int, FailureRole], rank: int) -> dict[int, FailureRole]:
    """Roles → the same; the end of this rank is its own, by its form."""
    return {**roles, rank: replace(roles[rank], state="own", by_form=True, reason=words.ALL_OTHERS_WAITED)}


def with_roles(ends: Mapping[int, ProcessEnd], roles: Mapping[int, FailureRole]) -> dict[int, ProcessEnd]:
    """Ends by rank → the same, as their roles say: whose own failure it was not did not die of it; what was a complaint is no end."""
    told = ((rank, end, roles.get(rank)) for rank, end in ends.items())
    return {rank: _read(end, role) for rank, end, role in told if role is None or role.state != "complaint"}


def _read(end: ProcessEnd, role: FailureRole | None) -> ProcessEnd:
    if role is None or role.state == "own":
        return end
    if role.state == "lost":
        return replace(end, how="lost" if role.by_form else "gave_up", cause=None if role.by_form else end.cause)
    return replace(end, how=_HOW[role.state], cause=end.cause if role.state == "quoted" else None)


def _has_traceback(row: Mapping[str, Any]) -> bool:
    told = detail(row)
    return bool(told.get("frames")) or "from_line" in told


def _is_bare(end: ProcessEnd, row: Mapping[str, Any] | None, has_stack: bool) -> bool:
    """Is it a line alone: no traceback, and no launcher that tells of an end?"""
    alone = len(end.refs) == 1 and end.cause not in _BY_KERNEL
    return alone and not has_stack and (row is None or not _has_traceback(row))


def _is_last(end: ProcessEnd, lines: Mapping[str, int]) -> bool:
    """Does the file end with that line? Then the process may have, too."""
    at = end.refs[0]
    return at.line is not None and at.line == lines.get(str(at.file))


def _raised(ends: Mapping[int, ProcessEnd], events: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """Rank → the exception at the line that tells of its end."""
    places = {(end.refs[0].file, end.refs[0].line): rank for rank, end in ends.items()}
    rows = events.filter(pl.col("kind") == "exception").select("file", "line", "code", "text", "detail")
    wanted = pl.DataFrame(list(places), schema={"file": pl.String, "line": pl.Int64}, orient="row")
    rows = rows.join(wanted, on=["file", "line"], how="semi")
    return {places[row["file"], row["line"]]: row for row in rows.iter_rows(named=True)}


def _left_stacks(stacks: pl.DataFrame) -> dict[int, Sequence[_Frame]]:
    """Rank → frames of the stack that a traceback left, innermost first."""
    rows = stacks.filter((pl.col("source") == "traceback") & pl.col("rank").is_not_null()).select("rank", "frames")
    return {
        rank: [(frame["file"], frame["function"] or "") for frame in frames or ()] for rank, frames in rows.iter_rows()
    }


def _frames(told: Mapping[str, Any]) -> list[_Frame]:
    listed = told.get("frames") or []
    return [(frame[1], frame[0] or "") for frame in listed if isinstance(frame, list) and len(frame) > 1]


def _is_of_own_place(told: Mapping[str, Any], text: str) -> bool:
    """Does a program in Rust give up at a place of its own, in words that tell of nobody else? Its standard library and its packages are none."""
    place = told.get("place")
    return isinstance(place, str) and not _OF_RUST.search(place) and not is_library(place) and not tells_of_others(text)


def _between(said: Message | None) -> frozenset[int]:
    """The two that a row finds named where processes differ."""
    if said is None or said.claim != "disagreement" or not {"one", "other"} <= said.fields.keys():
        return frozenset()
    return frozenset(integers(f"{said.fields['one']} {said.fields['other']}"))


def role_of(
    row: Mapping[str, Any],
    cause: Cause | None = None,
    left: Sequence[_Frame] = (),
    is_held: bool = False,
    pair: bool = False,
    hosts: frozenset[str] = frozenset(),
) -> FailureRole:
    """The role of one failure: `row` of an exception, `cause` that its words proved, `left`: the stack that its process left; `is_held`:
    its record shows it in an open operation; `pair`: it is one of two; `hosts`: those of the job, first labels."""
    told, text, code = detail(row), str(row["text"] or ""), str(row["code"] or "")
    more = " ".join(map(str, told.get("more") or ()))  # what its first line announced
    template = f"{code.rsplit('.', 1)[-1]}:{without_numbers(more or text)}"
    text = f"{text} {more}" if more else text

    said = meaning(text)
    between = _between(said)

    def role(state: State, reason: Said, **more: bool) -> FailureRole:
        return FailureRole(state, reason, template, between=between, **more)

    if told.get("quoted") is not None:
        return role("quoted", words.QUOTES_ANOTHER)
    if said is not None and said.claim in _OF_DEVICE:
        is_link = said.claim == _OF_LINK
        return role("own", words.ITS_DEVICE_REPORTED_IT, by_row=True, is_device=True, is_link=is_link)
    if cause in _PROVEN:
        return role("own", words.ITS_MESSAGE_PROVES_IT, by_row=True)
    if said is not None and said.own is not None:
        reason = words.ITS_MESSAGE_PROVES_IT if said.own else words.ITS_MESSAGE_TELLS_OF_OTHERS
        return role("own" if said.own else "lost", reason, by_row=True)
    if between:  # wherever it was raised: of those two the one that compared
        return role("unclear", words.TWO_DIFFER)
    child = told.get("original")
    whole = child if isinstance(child, dict) and child.get("frames") else told
    frames = _frames(whole) or list(left)
    at = str(whole.get("at") or "")
    is_pythons = is_of_python(code) and not _is_of_native_code(code, text, at, bool(frames))
    if not frames:  # the class is all there is
        if is_pythons:
            return role("own", words.PYTHON_RAISES_IT)
        return role("unclear", words.CLASS_TELLS_NOTHING, is_placed=_is_of_own_place(told, text))
    waits = innermost_waits(frames)
    if waits == "service":
        asked = _asks_the_job(text, hosts)
        reason = words.ITS_SERVICE_IS_OF_THE_JOB if asked else words.ITS_SERVICE_FAILED
        return role("unclear" if asked else "own", reason, asks=True)
    file = frames[0][0] or ""
    is_own_code = waits is None and not is_library(file)
    if is_own_code and (_RAISES.match(at) or is_pythons or _is_of_library_of_python(code)):
        return role("own", words.OWN_CODE_RAISED_IT)
    # What only hands on what was raised below it, a loader or a future, asks nobody itself.
    asks_nobody = waits is None and all(frame_waits(*frame) in (None, "wrapper") for frame in frames)
    if is_held and not (is_pythons and asks_nobody):  # an operation may be on the way while its process reads data
        return role("lost", words.RECORD_SHOWS_IT_WAITED)
    if is_pythons and waits != "device" and not (waits == "ranks" and pair):
        is_raised = _RAISES.match(at) is not None and _OF_STANDARD.search(file) is not None
        is_seen = is_raised or _OF_FILE.search(text) is not None
        return role("own", words.PYTHON_RAISES_IT, by_form=not (asks_nobody and is_seen))
    if _is_of_library_of_python(code) and asks_nobody:
        # What it read; not what a peer sent. Python's own code that raises its own class, or calls native code that does, is seen to do it.
        module = code.rpartition(".")[0].replace(".", "/")
        raises = _RAISES.match(at) is not None or (f"/{module}." in file and at.endswith(")"))
        is_seen = raises and _OF_STANDARD.search(file) is not None
        return role("own", words.PYTHON_RAISES_IT, by_form=not is_seen)
    reason = words.RAISED_BY_A_WAIT if waits == "ranks" else words.RAISED_BY_A_LIBRARY
    in_call = any(frame_waits(*frame) == "ranks" for frame in frames)
    may_wait = any(
        frame_waits(*one) or (_is_foreign(one[0]) and _MAY_WAIT.match(f"{_last(one[1])}(")) for one in frames
    )
    is_placed = not (may_wait or _MAY_WAIT.search(at) or tells_of_others(text))
    return role("unclear", reason, is_wait=waits is not None, in_call=in_call, is_placed=is_placed)
