"""How each rank's process ended, as far as records say: by itself, by giving up on others, or stopped by the launcher.

`process_ends` lists every statement side by side; `standing` reads them: which one the others leave standing.

Whoever times out or loses a connection is a victim; whoever the launcher stops was still alive. Only a signal that
nobody sent on purpose, or an exception that is no consequence of somebody else's failure, makes a rank the origin.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.facts.ends.whose_memory import lost_worker
from forensics.facts.rows.error_words import is_device_error
from forensics.facts.rows.event_rows import detail, reference
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.signals import VANISHED, signal_of
from forensics.model.told import has_kind, values
from parsers.schema.order import sort_if_needed
from parsers.text.signals import ASKING
from parsers.text.stamps import SECOND_NS

How = Literal[
    "died", "gave_up", "lost", "unclear", "quoted", "stopped", "ended", "bad_loss", "failed", "followed"
]  # fmt: skip

By = Literal["launcher", "process"]

# What a signal alone proves; SIGABRT has many causes.
SIGNAL_CAUSES: Mapping[str, Cause] = {
    "SIGKILL": "killed", "SIGSEGV": "segfault", "SIGBUS": "segfault", "SIGFPE": "segfault", "SIGILL": "segfault",
}  # fmt: skip
_EXITS = ("exit", "first_failure")
_CLOSED_NS = 5 * SECOND_NS  # a launcher's own kill comes no sooner behind what it calls the first failure
_VICTIM_KINDS = (
    "collective_timeout", "peer_closed", "remote_error", "store_timeout", "missing_members", "fingerprint_mismatch",
)  # fmt: skip
_BAD_LOSS = ("bad_loss", "nan_assert", "replica_mismatch")
_ABORTED = "Aborted"  # what Python says of its own process
_NO_SCALE_LEFT = ("loss_scale", "minimum")  # kind and code: a scaler gives up, and ends its process
# What a line may say besides being an exception: then the exception repeats it, and accuses nobody of its own.
_SAYS_MORE = (
    *_VICTIM_KINDS, *_BAD_LOSS, "loss_scale", "desync", "barrier_missing", "connect_failed", "completion_error", "config_error",
    "comm_abort", "comm_warning",
)  # fmt: skip
_OF_LINES = ("rank", "kind", "code", "severity", "detail", "time_ns", "time_basis", "file", "line", "record", "text")
# Kinds that a rank prints of itself, and the cause that they prove.
OWN_CAUSES: Mapping[str, Cause] = {
    "gpu_oom": "gpu_oom",
    "disk_full": "disk_full",
    "segfault": "segfault",
    "host_oom": "host_oom",
    "gpu_lost": "gpu_fault",
    "cuda_error": "exception",
    "exception": "exception",
}


# A runtime that ends its own process for what its device did, or, as ROCm's, for what it was asked to do; the driver's word of the same
# device is the kernel's.
BY_ITS_RUNTIME = (
    (pl.col("kind") == "gpu_error")
    & ((pl.col("severity") == "fatal") | pl.col("code").str.starts_with("hsa:").fill_null(False))
    & pl.col("detail").str.contains('"library"', literal=True)
).fill_null(False)


class ProcessEnd(msgspec.Struct, frozen=True):
    """how: died (by itself), gave_up (timed out or lost a peer), stopped (by the launcher), ended (exit 0, or it says so),
    bad_loss (stopped because a check found a bad value), failed (non-zero exit, reason unknown), followed (after others had given up their
    wait). Of what its own words do not tell (facts/ends/failure_roles.py): lost (most failed alike: it lost others), unclear, quoted (its
    words are another's failure). cause: for died and quoted. `was_stopped`: by its launcher, whatever its own lines
    say."""

    rank: int
    how: How
    cause: Cause | None
    code: str
    time_ns: int | None
    refs: tuple[Ref, ...]
    time_basis: str | None
    by: By
    was_stopped: bool = False

    @property
    def waited(self) -> bool:
        """Did it wait for others when it ended, by its own word or because others had given up before?"""
        return self.how in ("gave_up", "followed", "lost")


def end_of(
    rank: int, row: Mapping[str, Any], how: How, by: By, code: str = "", cause: Cause | None = None
) -> ProcessEnd:
    """The end of a rank as a row of events tells it."""
    return ProcessEnd(rank, how, cause, code, row["time_ns"], (reference(row),), row["time_basis"], by)


def as_stop(end: ProcessEnd) -> ProcessEnd:
    """The same, by an order from outside."""
    return replace(end, how="stopped", cause=None, was_stopped=True)


def is_stop(code: str | None) -> bool:
    """Does an exit code say that a launcher or a person stopped the process?"""
    return signal_of(code) in ASKING


def is_stopped_launcher() -> pl.Expr:
    """Does a row say that a launcher got a signal itself?"""
    own = pl.col("pid").is_null() & pl.col("rank").is_null() & (pl.col("severity") == "warning")
    return (pl.col("kind") == "closing_signal") & own & pl.col("code").is_not_null()


def stopped_launchers(events: pl.DataFrame) -> list[dict[str, Any]]:
    """What launchers say of a signal that they got themselves: of no process that they started."""
    if not has_kind(events, "closing_signal"):
        return []
    return list(events.filter(is_stopped_launcher()).sort("file", "line").iter_rows(named=True))


def is_consequence(told: str | None) -> bool:
    """Does an event's `detail` say that another failure caused it?"""
    return bool(detail({"detail": told}).get("consequence"))


def own_cause(kind: str, text: str, severity: str | None = "fatal") -> Cause:
    """Cause that a failure of a process proves, by its event's kind and text. A device's error that is not fatal to the device may be a program's."""
    if kind == "gpu_error" and severity != "fatal":
        return "exception"
    if kind == "gpu_error" or (kind in ("cuda_error", "exception") and is_device_error(text)):
        return "gpu_fault"
    if kind == "exception" and lost_worker(text):
        return "killed"
    return OWN_CAUSES[kind]


def in_thread(row: Mapping[str, Any]) -> bool:
    """Was it raised in another thread than the main one? Python ends no process for it; what is built to abort then says so."""
    return row["kind"] == "exception" and '"thread"' in (row["detail"] or "")


def _from_exit(rank: int, row: Mapping[str, Any], stopped: bool, vanished: bool) -> ProcessEnd:
    code = str(row["code"] or "")
    signal = signal_of(code)
    how: How = "failed"
    cause: Cause | None = None
    if code == "0":
        how = "ended"
    elif vanished:
        how = "stopped" if stopped else "died"
    elif signal in ASKING or (signal == "SIGKILL" and stopped):
        how = "stopped"
    elif code == "Out Of Memory":  # Slurm's word for a task that the kernel killed
        how, cause = "died", "host_oom"
    elif signal is not None and signal in SIGNAL_CAUSES:
        how, cause = "died", SIGNAL_CAUSES[signal]
    return end_of(rank, row, how, "launcher", signal or code, cause)


def without_echoes(events: pl.DataFrame, wanted: pl.Expr) -> pl.DataFrame:
    """Events without the exceptions that only repeat what the same line says more exactly (a time-out, a mismatch, an
    error of a collective library), and without tracebacks whose exception was cut off. `wanted`: no others than these."""
    if not has_kind(events, "exception") or not has_kind(events, *_SAYS_MORE):
        is_whole = (pl.col("kind") != "exception") | pl.col("code").is_not_null()
        return sort_if_needed(events.filter(wanted & is_whole), ("file", "line", "record"), nulls_last=False)
    wide = events  # rows are many and wide: they are put in order by their places, and copied once
    own = ("file", "line", "record", "kind", "code", "text", "rank")
    of_concern = pl.col("_wanted").fill_null(False) | pl.col("kind").is_in([*_SAYS_MORE, "exception"])
    events = wide.select(*own, wanted.alias("_wanted")).with_row_index("_at").filter(of_concern)
    # A library's error of nobody knows whom says no more of it than that it was raised.
    more = events.filter(
        pl.col("kind").is_in(_SAYS_MORE) & ((pl.col("kind") != "comm_warning") | pl.col("rank").is_not_null())
    )
    places = more.select("file", "line").unique()
    # A traceback's row stands at its first line, and its text is the last line.
    texts = more.select("file", "text").drop_nulls().unique()
    raised = pl.col("kind") == "exception"
    echo = events.filter(raised).select("file", "line", "text")
    echo = pl.concat(
        [echo.join(places, on=["file", "line"], how="semi"), echo.join(texts, on=["file", "text"], how="semi")]
    ).unique()
    is_echo = pl.col("_at").is_in(events.join(echo, on=["file", "line", "text"], how="semi")["_at"].implode())
    kept = events.filter(pl.col("_wanted") & (~raised | (~is_echo & pl.col("code").is_not_null())))
    kept = kept.select(
        "file", "line", "record", "_at", is_echo.alias("_more")
    )  # what says more comes last of its place
    return wide[kept.sort("file", "line", "record", "_more", maintain_order=True)["_at"]]


def stopped_rest(events: pl.DataFrame, job: frozenset[int]) -> frozenset[int]:
    """Ranks that a launcher stopped though no line joins them to a pid: it stops processes by pid, and tells of as many as the job
    has ranks, with those that it saw fail and whose ranks it knows; the rest were stopped. The size of the job need not be told: it is
    the least that the ranks seen allow, and the launcher's processes are as many."""
    signalled = events.filter((pl.col("kind") == "closing_signal") & pl.col("pid").is_not_null())
    if signalled["rank"].is_null().sum() == 0:
        return frozenset()
    is_failed = pl.col("kind").is_in(_EXITS) & pl.col("pid").is_not_null() & (pl.col("rank_space") == "global")
    failed = events.filter(is_failed & pl.col("file").is_in(signalled["file"].unique().implode()))
    pids = {*signalled.select("file", "pid").iter_rows(), *failed.select("file", "pid").iter_rows()}
    ranks = frozenset(values(failed["rank"]))
    return job - ranks if ranks and ranks < job and len(pids) == len(job) else frozenset()


def process_ends(events: pl.DataFrame, rest: frozenset[int]) -> dict[int, tuple[ProcessEnd, ...]]:
    """Events of one attempt, ranks global, without recovered errors → rank → every statement about how its process ended:
    launchers' exits first, then what its own lines say, then that it ended well. Ranks of which nothing is said are left
    out. `rest`: ranks that a launcher stopped by their pids alone (`stopped_rest`)."""
    # What deletes a pod may tidy up what has ended long before.
    closing = events.filter((pl.col("kind") == "closing_signal") & pl.col("code").ne_missing("DELETED"))
    stopped = {*closing["rank"].drop_nulls().to_list(), *rest, *_killed_behind_the_first(events)}
    # What a launcher had seen before it killed all; who ends a process by hand may do so because the job stands still (killed_running.py).
    by_hand = values(closing.filter(pl.col("detail").str.contains('"by": "person"', literal=True))["rank"])
    is_own = pl.col("rank").is_not_null() & (pl.col("rank_space") == "global")
    own = events.select(*_OF_LINES, "rank_space").filter(is_own)
    vanishings = own.filter(pl.col("kind").is_in(_EXITS) & pl.col("code").is_in(VANISHED))
    gone = set(vanishings["rank"].to_list())
    unplaced = bool(gone) and _fails_unplaced(events.join(vanishings, on="file", how="semi"))
    # Whoever gave up a collective had waited until then for another, whatever became of its process.
    waited = {*own.filter(pl.col("kind") == "collective_timeout")["rank"]}
    said: dict[int, list[ProcessEnd]] = defaultdict(list)
    for row in own.filter(pl.col("kind").is_in(_EXITS)).sort("rank", "kind", "file", "line").iter_rows(named=True):
        vanished = row["code"] in VANISHED and gone == {row["rank"]} and not unplaced
        is_stopped = row["rank"] in (stopped if '"polled"' not in (row["detail"] or "") else by_hand)
        end = _from_exit(row["rank"], row, is_stopped, vanished)
        said[row["rank"]].append(replace(end, how="stopped") if end.how == "died" and end.rank in waited else end)
    no_scale = (pl.col("kind") == _NO_SCALE_LEFT[0]) & (pl.col("code") == _NO_SCALE_LEFT[1])
    aborted = own.filter(BY_ITS_RUNTIME)["rank"].unique()
    if len(aborted) > 1:  # the reset of one device ends the processes of its neighbours with the same words
        own = own.filter(~BY_ITS_RUNTIME)
    aborts = (pl.col("kind") == "other") & (pl.col("code") == _ABORTED) & (pl.col("severity") == "fatal")
    is_said = pl.col("kind").is_in([*OWN_CAUSES, *_VICTIM_KINDS, *_BAD_LOSS]) | no_scale | BY_ITS_RUNTIME | aborts
    told = without_echoes(own, is_said)
    told = _decisive(sort_if_needed(told, ("rank", "file", "line"), nulls_last=False))
    lines = told.select(_OF_LINES).iter_rows(named=True)
    for rank, rows in groupby(lines, key=itemgetter("rank")):
        if (last := _from_lines(rank, list(rows))) is not None:
            said[last.rank].append(replace(last, was_stopped=last.rank in stopped))
    for row in own.filter(pl.col("kind") == "job_end").sort("rank", "file", "line").iter_rows(named=True):
        said[row["rank"]].append(end_of(row["rank"], row, "ended", "process"))
    return {rank: tuple(listed) for rank, listed in sorted(said.items())}


def _killed_behind_the_first(events: pl.DataFrame) -> list[int]:
    """Ranks that a launcher saw killed well after another's end, which it calls the first: it asks the rest to stop for that, and kills who
    does not (torch 2.x, torch/distributed/elastic/multiprocessing/api.py: SIGTERM, SIGKILL after 30 s)."""
    if not has_kind(events, "first_failure"):
        return []
    first = events.filter(pl.col("kind") == "first_failure").drop_nulls("time_ns")
    first = first.select("file", "time_basis", pl.col("rank").alias("_rank"), pl.col("time_ns").alias("_at"))
    killed = events.filter(pl.col("kind").is_in(_EXITS) & (pl.col("code") == "SIGKILL")).join(
        first, on=["file", "time_basis"]
    )
    is_behind = (pl.col("time_ns") > pl.col("_at") + _CLOSED_NS) & (pl.col("rank") != pl.col("_rank"))
    return killed.filter(is_behind)["rank"].to_list()


def _fails_unplaced(events: pl.DataFrame) -> bool:
    """Events of the files that tell of who vanished → does a process of which no line tells the rank say what ended it? It
    may be why another went without a word. An exception alone may be the caller's, or a victim's."""
    causes = [kind for kind in OWN_CAUSES if kind != "exception"]
    return bool((events["rank"].is_null() & events["kind"].is_in(causes)).any())


def _decisive(told: pl.DataFrame) -> pl.DataFrame:
    """Of lines alike but for place and time the first, and the earliest of each clock: no other decides anything."""
    alike = ["rank", "kind", "file", "detail", "time_basis", pl.col("time_ns").is_null()]
    is_first = pl.struct(alike).is_first_distinct()
    is_earliest = pl.col("time_ns").is_not_null() & (pl.col("time_ns") == pl.col("time_ns").min().over(alike))
    return told.filter(is_first | is_earliest)


def standing(said: Mapping[int, tuple[ProcessEnd, ...]]) -> dict[int, ProcessEnd]:
    """Statements → the one end of each rank that all of them leave standing.

    A signal that nobody sent, or exit 0, outranks what the log says before it; SIGABRT, a stop by the launcher and plain
    codes are explained by the log. That it ended well counts where nothing else is said."""
    return {rank: _standing(listed) for rank, listed in said.items()}


def _standing(said: tuple[ProcessEnd, ...]) -> ProcessEnd:
    exits = [end for end in said if end.by == "launcher"]
    own = next((end for end in said if end.by == "process" and end.how != "ended"), None)
    before = exits[0] if exits else None
    if before is None or own is None:
        return before or own or said[0]
    killed_for_memory = before.cause == "killed" and own.cause == "host_oom"
    unsaid = before.how == "died" and before.cause is None  # gone without a word, as far as the launcher knows
    if before.how in ("failed", "stopped") or killed_for_memory or unsaid:
        return replace(own, refs=own.refs + before.refs, was_stopped=own.was_stopped or before.how == "stopped")
    return replace(before, refs=before.refs + own.refs) if before.cause == own.cause else before


def _is_before(wait: Mapping[str, Any], raised: Mapping[str, Any], any_order: bool) -> bool:
    """Did a wait fail before an error, or, where `any_order`, may it have: a time-out in another file, unless the stamps
    say otherwise?"""
    if wait["file"] == raised["file"]:
        return (wait["line"] or 0) < (raised["line"] or 0)
    if wait["kind"] != "collective_timeout" or not any_order:
        return False
    stamped = wait["time_ns"] is not None and raised["time_ns"] is not None
    if stamped and wait["time_basis"] == raised["time_basis"]:
        return bool(wait["time_ns"] <= raised["time_ns"])
    return True


def _is_abort_after(row: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    is_later = row["file"] == said["file"] and (row["line"] or 0) > (said["line"] or 0)
    return is_later and row["kind"] == "other" and row["code"] == _ABORTED


def _from_lines(rank: int, listed: Sequence[Mapping[str, Any]]) -> ProcessEnd | None:
    """What one rank's own lines say: NaN stop, then its own error, then a wait that ended; None if nothing."""
    own = [
        row
        for row in listed
        if row["kind"] in (*OWN_CAUSES, "gpu_error")
        and not is_consequence(row["detail"])
        and (not in_thread(row) or any(_is_abort_after(later, row) for later in listed))
    ]
    waits = [row for row in listed if row["kind"] in _VICTIM_KINDS or is_consequence(row["detail"])]
    for row in listed:
        if row["kind"] in _BAD_LOSS or (row["kind"], row["code"]) == _NO_SCALE_LEFT:
            return end_of(rank, row, "bad_loss", "process", row["code"] or "")
    # A wait that failed before is the origin of what the same rank raised later.
    unnamed = all(row["kind"] == "exception" for row in own)
    if own and not any(_is_before(row, own[0], unnamed) for row in waits):
        specific = next((row for row in own if row["kind"] != "exception"), own[0])
        cause = own_cause(specific["kind"], specific["text"] or "", specific["severity"])
        died = end_of(rank, specific, "died", "process", specific["code"] or "", cause)
        elsewhere = next((row for row in own if row["file"] != specific["file"]), None)  # a kernel's word, and its own
        if specific["kind"] == "gpu_error":  # its runtime reports, then ends it
            elsewhere = next((row for row in listed if _is_abort_after(row, specific)), elsewhere)
        return died if elsewhere is None else replace(died, refs=(*died.refs, reference(elsewhere)))
    if waits:
        return end_of(rank, waits[0], "gave_up", "process", waits[0]["code"] or waits[0]["kind"])
    return None
