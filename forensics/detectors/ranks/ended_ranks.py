"""Which process ended by itself, before anybody gave up waiting?

Method: facts/ends/failure_roles.py tells whose failure each end is, facts/ends/origins.py which of several was first. The launcher's "first
observed failure" is never taken for the origin.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from forensics.case import Case
from forensics.facts.ends.gpu_memory import filled
from forensics.facts.ends.origins import Origins, few
from forensics.facts.ends.process_ends import ProcessEnd
from forensics.facts.ends.shared_complaints import complained_alike
from forensics.facts.ends.storage_errors import StorageError, storage_error
from forensics.facts.ends.whose_memory import Holder, holder_of
from forensics.facts.rows.error_words import memory_sizes, users_code
from forensics.facts.rows.event_rows import detail, refs
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.facts.waits.stacks import classify, to_frames
from forensics.model.commands import file_in, file_there
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, BlastRadius, Code, FirstAnomaly, to_do
from forensics.model.names import ActionKind, Cause, Domain
from forensics.model.ref import Ref
from forensics.model.said import Said, did_all, sentence
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import ended as words

# What to do first: a restart repeats what memory, disks or the code do not allow.
_TO_DO: dict[str, ActionKind] = {
    "exception": "check_code",
    "gpu_oom": "check_config",
    "host_oom": "check_config",
    "disk_full": "check_config",
    "segfault": "check_code",
    "gpu_fault": "inspect_hardware",
    "killed": "collect_more",
    "stopped_by_hand": "restart_job",
    "None": "collect_more",
}
_UNEVEN = 2.0  # times the mean tokens of an expert
_WORDS_OF_LINE = 160  # characters of a message that stand for an error without a code


def _of_what(outcome: ProcessEnd) -> str:
    """What the rank died of, in brackets: the sizes of memory, else the code, else its line's words."""
    text = outcome.refs[0].text if outcome.refs else ""
    if outcome.cause == "gpu_oom" and (sizes := memory_sizes(text)):
        return sizes
    line = cut_middle(text, _WORDS_OF_LINE)
    whole = not outcome.code or text.startswith(outcome.code)
    said = (line if whole else outcome.code) or ""
    if said.isdigit():
        return words.EXIT_CODE(code=said)
    return words.AS_PRINTED(line=said) if said and (whole or " " in said) else said or words.NO_MORE


def _did(outcome: ProcessEnd) -> Said:
    """ "raised an exception (KeyError: 'x')"; a signal that the words name already is not repeated."""
    is_told_by = outcome.cause == "killed" and not outcome.code
    holder = _holder(outcome)
    by_cause = words.DID_AT[holder] if holder else words.DID[str(outcome.cause)]
    did = words.KILLED_BY_WORD if is_told_by else words.NO_STORAGE if _storage(outcome) else by_cause
    what = _of_what(outcome)
    return did if what in did else words.OF_WHAT(did=did, what=what)


def _rank_did(ranks: Sequence[int], outcome: ProcessEnd, code: Code | None) -> Said:
    """The same with the ranks, and where in the code."""
    text = words.RANK_DID(who=ranks_text(ranks), did=did_all(_did(outcome), len(ranks)))
    return words.AT(text=text, file=code.file, line=code.line) if code else text


def _holder(outcome: ProcessEnd) -> Holder | None:
    """Whose memory or disk was full, by the lines that tell of its end."""
    found = (holder_of(outcome.cause, outcome.code, ref.text) for ref in outcome.refs)
    return next((one for one in found if one), None)


def _storage(outcome: ProcessEnd) -> StorageError | None:
    """What its storage answered, where that is what it died of."""
    return storage_error(outcome.refs[0].text) if outcome.cause == "exception" and outcome.refs else None


def _code(case: Case, outcome: ProcessEnd) -> Code | None:
    """Where its traceback ends: the innermost line outside libraries, of the exception at the line that tells of its end; of a crash, where
    the interpreter shows the thread that crashed."""
    if not outcome.refs:
        return None
    if (crashed := _crashed(case, outcome)) is not None:
        frame = classify(to_frames(crashed["frames"])).user
        return None if frame is None else Code(file=frame.file or None, line=frame.line, function=frame.function)
    return next((code for row in _raised_at(case, outcome.refs[0]) if (code := users_code(row))), None)


def _raised_at(case: Case, place: Ref) -> Iterator[dict[str, Any]]:
    at = (pl.col("file") == place.file) & (pl.col("line") == place.line)
    return case.events.filter(at & (pl.col("kind") == "exception")).iter_rows(named=True)


def _crashed(case: Case, outcome: ProcessEnd) -> dict[str, Any] | None:
    """The stack of the thread that crashed, as the interpreter prints it below its last words; none where that ran no Python."""
    if outcome.cause != "segfault":
        return None
    of_rank, is_fatal = pl.col("rank") == outcome.rank, pl.col("text").str.contains("Fatal Python error")
    said = case.events.filter(of_rank & is_fatal & (pl.col("kind") == "segfault"))
    if not said.height:
        return None
    last = said.row(-1, named=True)
    below = (pl.col("file") == last["file"]) & (pl.col("line") > last["line"])
    is_current = (pl.col("source") == "faulthandler") & (pl.col("status") == "current")
    shown = case.tables["stacks"].filter(of_rank & below & is_current)
    return next(shown.sort("line").iter_rows(named=True), None)


def _child(case: Case, outcome: ProcessEnd) -> Ref | None:
    """What a process that it started raised, as the exception that ended it quotes: it says what the parent does not."""
    for row in _raised_at(case, outcome.refs[0]) if outcome.refs else ():
        told = detail(row).get("original")
        if isinstance(told, dict) and isinstance(told.get("line"), int):
            return Ref(file=str(row["file"]), line=told["line"], text=str(told["said"]))
    return None


def _of_file(case: Case, rank: int, child: Ref | None) -> tuple[Action, ...]:
    """The file that a worker of a loader could not use is looked at before the line that reads any."""
    path = file_in(child.text) if child is not None else None
    if child is None or path is None or storage_error(child.text) is not None:
        return ()
    host = case.host_of_rank.get(rank)
    target = words.FILE_OF(path=path, rank=rank) if host is None else path
    reason = words.ITS_WORKER_RAISED(line=cut_middle(child.text, _WORDS_OF_LINE))
    return (
        Action(
            kind="check_data", target=target, command=file_there(host, path), reason=reason, look=words.LOOK_AT_FILE,
            then=words.THEN_OF_FILE, source="ls(1)",
        ),
    )  # fmt: skip


def ended_ranks(case: Case) -> tuple[Finding, ...]:
    """Case → one finding over all origins."""
    return _finding(case, found) if (found := case.origins) is not None else ()


def _finding(case: Case, found: Origins) -> tuple[Finding, ...]:
    origins, tie = found.ends, found.why_not is not None
    first = min(origins, key=lambda outcome: (outcome.time_ns or 0, outcome.rank))
    shared = () if found.is_most else complained_alike(case.tables, origins)
    everybody = found.is_most or bool(shared)
    causes = {outcome.cause for outcome in origins}
    cause = first.cause if len(causes) == 1 and not found.others else None
    ranks = tuple(sorted(outcome.rank for outcome in origins))
    suspects = few({*ranks, *found.others}, case.expected or case.seen)
    victims = sorted(r for r, outcome in case.ends.items() if outcome.how in ("gave_up", "lost", "stopped"))
    code = _code(case, first)
    claims = [
        Claim(_rank_did([outcome.rank], outcome, code if outcome is first else None), "for", outcome.refs)
        for outcome in origins[:4]
    ]
    if victims:
        sample = case.ends[victims[0]]
        text = words.GAVE_UP_OR_STOPPED[len(victims) == 1](who=ranks_text(victims))
        claims.append(Claim(text, "for", sample.refs[-1:]))
    storage = _storage(first)
    child = _child(case, first)
    if child:
        claims.append(Claim(words.ITS_WORKER_RAISED(line=cut_middle(child.text, _WORDS_OF_LINE)), "for", (child,)))
    claims += [Claim(words.ALL_COMPLAINED, "for", shared)] if shared else []
    routed = _routed(case, first.rank) if cause == "gpu_oom" else None
    claims[1:1] = [routed] if routed else []
    if (crashed := _crashed(case, first)) is not None:
        # Frames stand below it.
        head = Ref(file=str(crashed["file"]), line=crashed["line"], text="(most recent call first)")
        claims.insert(1, Claim(words.CRASHED_AT(where=stack_ref(crashed).text), "for", (head,)))
    after = words.ENDED_AFTER(len(victims)) if victims else ""
    of_memory = _of_memory(case, first, ranks, is_routed=routed is not None) if cause == "gpu_oom" else ()
    at = None if _is_of_device(case, first) else code
    usual = _action(cause, ranks, at, storage, _holder(first) if cause else None)
    why = words.ALL_COMPLAINED if shared else words.ALL_ALIKE if everybody else _doubt(case, found) if tie else after
    return (
        Finding(
            cause=cause,
            ranks=() if everybody or tie else ranks,
            suspect_ranks=suspects if tie and not shared else (),
            undecided=(found.why_not,) if found.why_not is not None else (),
            site="storage_io" if storage is not None else None,
            domain=_domain(case, found, cause, storage),
            first_anomaly=FirstAnomaly(
                rank=None if everybody or tie else first.rank,
                step=case.step_in_progress(first.rank),
                signature=f"{cause}:{first.code}" if first.code else str(cause),
            ),
            claims=tuple(claims),
            time_ns=first.time_ns,
            actions=(*_of_file(case, first.rank, child), *(of_memory or (usual,))),
            code=None if tie else code,
            blast_radius=BlastRadius(ranks_waiting=len(victims)),
            summary=sentence(_rank_did(ranks, first, code), why),
        ),
    )


def _doubt(case: Case, found: Origins) -> Said:
    """Why none of them is named."""
    if all((role := case.failure_roles.get(end.rank)) is not None and role.is_link for end in found.ends):
        return words.LINK_HAS_TWO_ENDS
    if found.others:
        return words.OR_OTHERS(who=ranks_text(found.others))
    return words.CLOCKS_TIE if found.why_not == "clock_error_exceeds_gap" else words.ANY_OF_THEM


def _of_memory(case: Case, outcome: ProcessEnd, ranks: tuple[int, ...], *, is_routed: bool) -> tuple[Action, ...]:
    """Where the line says that the device was full of the process itself: no other is looked for, but what it keeps in reserve, and what it
    was given."""
    own = case.identity.filter(pl.col("rank") == outcome.rank) if case.identity.height else None
    pids = own["pid"].drop_nulls().to_list() if own is not None else []
    told = (filled(ref.text, pids) for ref in outcome.refs) if outcome.cause == "gpu_oom" else ()
    held = next((one for one in told if one), None)
    if held is None:
        return ()
    who = ranks_text(ranks)
    reserve = Action(
        kind="check_config", target=words.ALLOCATOR_OF(who=who), command="export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        reason=words.IN_RESERVE(spare=f"{held.spare:.2f}", asked=f"{held.asked:.2f}"), look=words.LOOK_AT_RESERVE, then=words.THEN_OF_RESERVE,
        source="PyTorch: CUDA semantics, Optimizing memory usage with PYTORCH_CUDA_ALLOC_CONF",
    )  # fmt: skip
    grown = Action(
        kind="check_config", target=who, command=None, reason=words.FULL_OF_ITSELF(own=f"{held.own:.2f}", capacity=f"{held.capacity:.2f}"),
        look=words.LOOK_AT_ROUTING if is_routed else words.LOOK_AT_GROWTH, then=words.THEN_OF_ROUTING if is_routed else words.THEN_OF_GROWTH,
        source="PyTorch: Understanding CUDA memory usage",
    )  # fmt: skip
    return (*([reserve] if held.is_spare else []), grown) if held.is_own else ()


def _routed(case: Case, rank: int) -> Claim | None:
    """The last that it printed of its experts' load, where one had much more than the mean."""
    rows = case.events.filter((pl.col("kind") == "expert_load") & (pl.col("rank") == rank)).sort("file", "line").tail(1)
    if not rows.height or (rows["value"][0] or 0) < _UNEVEN:
        return None
    row = rows.row(0, named=True)
    said = detail(row)
    return Claim(words.ROUTED(rank=rank, most=said.get("max"), mean=said.get("mean")), "for", refs([row]))


def _is_of_device(case: Case, outcome: ProcessEnd) -> bool:
    """Did the runtime of its device end it, which says nothing of the code?"""
    role = case.failure_roles.get(outcome.rank)
    return role is not None and role.is_device


def _domain(case: Case, found: Origins, cause: Cause | None, storage: StorageError | None) -> Domain:
    if storage is not None or cause == "gpu_fault":
        return "infrastructure"
    if any(_is_of_device(case, outcome) for outcome in found.ends):
        return "unknown"
    return "workload" if found.is_most or cause in ("exception", "gpu_oom") else "unknown"


def _action(
    cause: Cause | None, ranks: tuple[int, ...], code: Code | None, storage: StorageError | None, holder: Holder | None
) -> Action:
    """What to look at first, and why."""
    if storage is not None:
        return to_do("inspect_hardware", storage.holder, storage.why)
    kind = _TO_DO[str(cause)] if cause != "exception" or code is not None else "collect_more"
    target = f"{code.file}:{code.line}" if code and kind == "check_code" else ranks_text(ranks)
    target = words.LOGS_OF(who=target) if kind == "collect_more" else words.THE_JOB if kind == "restart_job" else target
    why = words.WHY_AT[holder] if holder and kind != "collect_more" else words.WHY[str(cause)]
    why = words.CRASHED_THERE if cause == "segfault" and code else why
    return to_do(kind, target, why)
