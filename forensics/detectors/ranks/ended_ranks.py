"""Which process ended by itself, before anybody gave up waiting?

Method: facts/process_ends.py. A signal that nobody sent, or an exception that is no consequence of another rank's failure. Time
orders several only beyond the clock error; the launcher's "first observed failure" is never taken for the origin.
"""

import polars as pl

from forensics.case import Case
from forensics.facts.error_words import memory_sizes, users_code, without_numbers
from forensics.facts.process_ends import ProcessEnd
from forensics.facts.progress import step_in_progress
from forensics.facts.storage_errors import StorageError, storage_error
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, BlastRadius, Code, FirstAnomaly
from forensics.model.names import ActionKind, Cause
from forensics.model.said import Said, sentence
from forensics.model.texts import ranks_text
from forensics.words import ended as words

_RANK_ORDER: tuple[Cause, ...] = ("host_oom", "gpu_fault", "killed", "segfault", "gpu_oom", "disk_full", "exception")
_ALIKE_NS = 1_000_000_000
# What to do first: a restart repeats what memory, disks or the code do not allow.
_TO_DO: dict[str, ActionKind] = {
    "exception": "check_code",
    "gpu_oom": "check_config",
    "host_oom": "check_config",
    "disk_full": "check_config",
    "segfault": "check_code",
    "gpu_fault": "inspect_hardware",
    "killed": "collect_more",
    "None": "collect_more",
}
_WORDS_OF_LINE = 100  # characters of a message that stand for an error without a code


def _of_what(outcome: ProcessEnd) -> str:
    """What the rank died of, in brackets: the sizes of memory, else the code, else its line's words."""
    text = outcome.refs[0].text if outcome.refs else ""
    if outcome.cause == "gpu_oom" and (sizes := memory_sizes(text)):
        return sizes
    line = text if len(text) <= _WORDS_OF_LINE else text[:_WORDS_OF_LINE].rsplit(" ", 1)[0] + " …"
    whole = not outcome.code or text.startswith(outcome.code)
    said = (line if whole else outcome.code) or ""
    if said.isdigit():
        return words.EXIT_CODE(code=said)
    return words.AS_PRINTED(line=said) if said and (whole or " " in said) else said or words.NO_MORE


def _did(outcome: ProcessEnd) -> Said:
    """ "raised an exception (KeyError: 'x')"; a signal that the words name already is not repeated."""
    did = words.NO_STORAGE if _storage(outcome) else words.DID[str(outcome.cause)]
    what = _of_what(outcome)
    return did if what in did.replace(",", "").split() else words.OF_WHAT(did=did, what=what)


def _rank_did(who: str, outcome: ProcessEnd, code: Code | None) -> Said:
    """The same with the rank, and where in the code."""
    text = words.RANK_DID(who=who, did=_did(outcome))
    return words.AT(text=text, file=code.file, line=code.line) if code else text


def _storage(outcome: ProcessEnd) -> StorageError | None:
    """What its storage answered, where that is what it died of."""
    return storage_error(outcome.refs[0].text) if outcome.cause == "exception" and outcome.refs else None


def _code(case: Case, outcome: ProcessEnd) -> Code | None:
    """Where its traceback ends: the innermost line outside libraries, of the exception at the line that tells of its end."""
    if not outcome.refs:
        return None
    place = outcome.refs[0]
    told = case.events.filter(
        (pl.col("kind") == "exception") & (pl.col("file") == place.file) & (pl.col("line") == place.line)
    )
    return next((code for row in told.iter_rows(named=True) if (code := users_code(row))), None)


def _gravity(outcome: ProcessEnd) -> int:
    """By cause; an exit without a reason comes last."""
    return _RANK_ORDER.index(outcome.cause) if outcome.cause is not None else len(_RANK_ORDER)


def _same(outcome: ProcessEnd) -> str:
    text = outcome.refs[-1].text if outcome.refs else ""
    return f"{outcome.cause}:{outcome.code}:{without_numbers(text)}"


def _origin(case: Case, died: list[ProcessEnd]) -> tuple[list[ProcessEnd], bool]:
    """(origins, everybody): the ranks that failed first or hardest; `everybody` where most ranks failed alike."""
    job = len(case.expected or case.seen) or len(died)
    kinds: dict[str, list[ProcessEnd]] = {}
    for outcome in died:
        kinds.setdefault(_same(outcome), []).append(outcome)
    if len(kinds) == 1 and len(died) > 1 and 2 * len(died) > job:
        return died, True
    best = min(map(_gravity, died))
    hardest = [outcome for outcome in died if _gravity(outcome) == best]
    if hardest[0].cause != "exception":
        return hardest, False
    if len(hardest) > 1 and all(outcome.time_ns is not None for outcome in hardest):
        return _earliest(case, hardest), False
    return hardest, False


def _earliest(case: Case, stamped: list[ProcessEnd]) -> list[ProcessEnd]:
    """Those that no other provably precedes, and what followed within a second by the same clock."""
    hosts = case.host_of_rank
    by_clock: dict[tuple[str | None, str | None], list[ProcessEnd]] = {}
    for outcome in stamped:
        by_clock.setdefault((hosts.get(outcome.rank), outcome.time_basis), []).append(outcome)
    heads = [min(listed, key=lambda outcome: (outcome.time_ns or 0, outcome.rank)) for listed in by_clock.values()]
    first = [one for one in heads if not any(_precedes(case, other, one) for other in heads)]
    return [
        outcome
        for listed in by_clock.values()
        for outcome in listed
        if any(one in listed and (outcome.time_ns or 0) - (one.time_ns or 0) < _ALIKE_NS for one in first)
    ]


def _precedes(case: Case, one: ProcessEnd, other: ProcessEnd) -> bool:
    hosts = case.host_of_rank
    return one is not other and bool(
        case.clocks.precedes(
            one.time_ns or 0,
            hosts.get(one.rank),
            other.time_ns or 0,
            hosts.get(other.rank),
            basis_a=one.time_basis,
            basis_b=other.time_basis,
        )
    )


def _is_tie(case: Case, origins: list[ProcessEnd]) -> bool:
    """Whether several failed, by clocks that cannot say who was first."""
    hosts = case.host_of_rank
    clocks = {(hosts.get(outcome.rank), outcome.time_basis) for outcome in origins}
    stamped = all(outcome.time_ns is not None for outcome in origins)
    return len(clocks) > 1 and stamped and all(outcome.cause == "exception" for outcome in origins)


def ended_ranks(case: Case) -> tuple[Finding, ...]:
    """Case → one finding over all origins."""
    died = [outcome for outcome in case.ends.values() if outcome.how == "died"]
    if not died:
        return ()
    origins, everybody = _origin(case, died)
    tie = not everybody and _is_tie(case, origins)
    first = min(origins, key=lambda outcome: (outcome.time_ns or 0, outcome.rank))
    cause = first.cause
    ranks = tuple(sorted(outcome.rank for outcome in origins))
    victims = sorted(r for r, outcome in case.ends.items() if outcome.how in ("gave_up", "stopped"))
    code = _code(case, first)
    claims = [
        Claim(_rank_did(ranks_text([outcome.rank]), outcome, code if outcome is first else None), "for", outcome.refs)
        for outcome in origins[:4]
    ]
    if victims:
        sample = case.ends[victims[0]]
        text = words.GAVE_UP_OR_STOPPED[len(victims) == 1](who=ranks_text(victims))
        claims.append(Claim(text, "for", sample.refs[-1:]))
    storage = _storage(first)
    after = words.ENDED_AFTER(len(victims)) if victims else ""
    return (
        Finding(
            detector="process_ended",
            cause=cause,
            ranks=() if everybody or tie else ranks,
            suspect_ranks=ranks if tie else (),
            undecided=("clock_error_exceeds_gap",) if tie else (),
            site="storage_io" if storage is not None else None,
            domain="infrastructure"
            if storage is not None
            else "workload"
            if everybody or cause in ("exception", "gpu_oom")
            else "infrastructure"
            if cause == "gpu_fault"
            else "unknown",
            first_anomaly=FirstAnomaly(
                rank=None if everybody or tie else first.rank,
                step=step_in_progress(case.tables["steps"], first.rank),
                signature=f"{cause}:{first.code}" if first.code else str(cause),
            ),
            claims=tuple(claims),
            time_ns=first.time_ns,
            actions=(_action(cause, ranks, code, storage),),
            code=None if tie else code,
            blast_radius=BlastRadius(ranks_waiting=len(victims)),
            summary=sentence(
                _rank_did(ranks_text(ranks), first, code),
                words.ALL_ALIKE if everybody else words.CLOCKS_TIE if tie else after,
            ),
        ),
    )


def _action(cause: Cause | None, ranks: tuple[int, ...], code: Code | None, storage: StorageError | None) -> Action:
    """What to look at first, and why."""
    if storage is not None:
        return Action(kind="inspect_hardware", target=storage.holder, command=None, reason=storage.why)
    kind = _TO_DO[str(cause)]
    target = f"{code.file}:{code.line}" if code and kind == "check_code" else ranks_text(ranks)
    target = words.LOGS_OF(who=target) if kind == "collect_more" else target
    return Action(kind=kind, target=target, command=None, reason=words.WHY[str(cause)])
