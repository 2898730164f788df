"""What has to be explained: who waits, whose process ended, which values went bad, who is slow, who never started.

Records of hardware, settings and warnings are evidence and never symptoms. A symptom counts once per operation, process
or step, however many ranks show it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import polars as pl

from forensics.case import Case
from forensics.facts.ends.cut_off import cut_off
from forensics.facts.ends.process_ends import in_thread, is_consequence, is_stop, stopped_launchers, without_echoes
from forensics.facts.ends.stopped_pods import stopped_objects
from forensics.facts.ends.storage_waits import live_stacks, storage_waits
from forensics.facts.ends.taken_places import NODE_FAILED
from forensics.facts.rows.event_rows import detail, reference
from forensics.facts.waits.counted_calls import numbered
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.graph.hang.outside import places
from forensics.graph.hang.waits import OpNode
from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.hosts import short_host
from forensics.model.names import SymptomKind
from forensics.model.ref import Ref
from forensics.model.taxonomy import CONSEQUENCES, EVENTS
from forensics.model.told import has_kind, values
from forensics.verdict.judged.observers import Observers
from parsers.schema.event_kinds import MISMATCH, STILL
from parsers.schema.order import sort_if_needed

_REFS = 3  # lines that a symptom cites
SHOWN = 20  # rows of symptoms in the document
_UNPLACED = (
    "exception", "gpu_oom", "cuda_error", "disk_full", "segfault", "host_oom", "exit", "bad_loss", "config_error",
)  # fmt: skip
_WAITS = (
    "store_timeout", "missing_members", "barrier_missing", "desync", "fingerprint_mismatch", "size_mismatch", "ras_status",
    "heartbeat_lost",
)  # fmt: skip
_BROKEN = ("peer_closed", "remote_error", "completion_error", "connect_failed", "comm_abort", "port_error")
STOPS = ("time_limit", "preemption", "cancelled", "Preempted", "Preempting")
STOPPED = "job, stopped from outside"
_BEFORE_IT_RAN = ("connect_failed", "store_timeout", "missing_members", "config_error")
HOSTS_ALONE = "hosts, whose logs alone were gathered"  # a question, and nothing that went wrong
UNEVEN_CALLS = "calls that not all members made"
IN_COMMUNICATION, IN_WAITS = "stacks in communication", "stacks that wait"
NO_FAILURES = frozenset((IN_COMMUNICATION, IN_WAITS, HOSTS_ALONE))  # so stand the ranks of a running job, too


class Symptom(msgspec.Struct, frozen=True):
    """`key`: one per operation, process or step. `ranks`: who shows it. `node`: the operation in the wait-for graph.

    `count` operations that the same ranks gave up, and of which no finding cites a line, are explained by the same findings:
    they are one symptom, `keys` the first of their names."""

    kind: SymptomKind
    key: str
    ranks: frozenset[int] = frozenset()
    refs: tuple[Ref, ...] = ()
    node: OpNode | None = None
    step: int | None = None
    hosts: frozenset[str] = frozenset()
    count: int = 1
    keys: tuple[str, ...] = ()


def counted(found: Iterable[Symptom]) -> int:
    """How many there are."""
    return sum(one.count for one in found)


def symptoms(
    case: Case, findings: Sequence[Finding], observers: Observers, about: Callable[[Finding], SymptomKind | None]
) -> tuple[Symptom, ...]:
    """Everything that this attempt shows, in a fixed order. `about`: the question that a finding's detector asks."""
    slow = [one for one in findings if about(one) == "slow"]
    found = [*_values(findings, observers), *_slow(slow, observers)]
    if not case.ended_well:
        found += [*_open(case), *_timed_out(case, observers), *_victims(case), *_in_stacks(case), *_ended(case)]
        found += [*_unplaced(case), *_never_started(case), *_hosts_alone(case), *_stopped(case), *_connections(case)]
        found += _in_calls(case)
        found += _by_word(case, found)
        found += _lost_nodes(case) if not any(one.ranks or one.node for one in found) else ()
        found += _cut_off(case) if not found else ()
    return tuple(sorted(found, key=lambda one: (one.kind, one.key)))


def _open(case: Case) -> Iterator[Symptom]:
    """Operations that flight records show as open."""
    graph = case.waits.graph
    for node in graph:
        if node[0] == "op" and (inside := frozenset(rank for _, rank in graph.predecessors(node))):
            yield Symptom("waiting", f"operation {node[1]}", inside, node=node)


def _held(case: Case) -> frozenset[int]:
    return frozenset(case.states.open["rank"].to_list())


def _timed_out(case: Case, observers: Observers) -> Iterator[Symptom]:
    """Operations that watchdogs gave up, of ranks whose records do not show them in one."""
    if not has_kind(case.events, "collective_timeout"):
        return
    asked = case.events.select("kind", "rank", "rank_space", "op", "seq", "group", "file", "line", "record", "text")
    rows = _placed(asked.filter(pl.col("kind") == "collective_timeout"))
    rank = pl.when(pl.col("rank_space") == "global").then("rank")
    op = pl.when(pl.col("op") != "").then("op").otherwise(pl.lit("a collective"))
    words = (op, pl.col("seq").cast(pl.String).fill_null("None"), pl.col("group").fill_null("None"))
    key, place = pl.format("timeout in {} {} of {}", *words), pl.coalesce("line", "record")
    found = rows.select(key.alias("key"), rank.alias("rank"), "file", place.alias("line"), "text")
    found = found.filter(~pl.col("rank").is_in(list(_held(case))).fill_null(False))
    alike = _alike(found, observers)
    lines = _first_lines(found, alike["key"].explode())
    for ranks, count, keys in alike.iter_rows():
        cited = lines.filter(pl.col("key").is_in(keys)).sort("key", maintain_order=True)
        refs = tuple(map(reference, cited.iter_rows(named=True)))
        yield Symptom("waiting", keys[0], frozenset(ranks), refs, count=count, keys=tuple(keys) if count > 1 else ())


def _first_lines(found: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    """The first lines of each of these operations."""
    own = found.filter(pl.col("key").is_in(keys.implode()))
    return own.filter(pl.int_range(pl.len()).over("key") < _REFS)


def _alike(found: pl.DataFrame, observers: Observers) -> pl.DataFrame:
    """Lines by `key` → a row for each operation, or for all that the same ranks show where no finding cites one of the first
    lines: ranks, how many, and the first names."""
    cited = pl.DataFrame(list(observers.cited), schema={"file": pl.String, "line": pl.Int64}, orient="row")
    told = found.join(cited, on=["file", "line"], how="semi")["key"].unique()
    alone = _first_lines(found, told).join(cited, on=["file", "line"], how="semi")["key"].unique()
    # A row for each rank of an operation: what a log says of a hundred thousand is not sorted operation by operation.
    shown = found.select("key", "rank").unique().sort("key", "rank")
    keys = shown.group_by("key", maintain_order=True).agg("rank").with_columns(pl.col("rank").list.drop_nulls())
    keys = keys.with_columns(who=pl.col("rank").cast(pl.List(pl.String)).list.join(" "))
    is_alone = pl.col("key").is_in(alone.implode())
    is_few = pl.len().over("who", is_alone) <= SHOWN
    keys = keys.with_columns(pl.when(is_alone | is_few).then("key").alias("apart"))
    return keys.group_by("who", "apart", maintain_order=True).agg(
        pl.col("rank").first(), pl.len().alias("count"), pl.col("key").head(SHOWN)
    ).drop("who", "apart")  # fmt: skip


def _refs(rows: pl.DataFrame, most: int) -> tuple[Ref, ...]:
    return tuple(map(reference, rows.head(most).iter_rows(named=True)))


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    return sort_if_needed(rows, ("file", "line"), nulls_last=False)


def _victims(case: Case) -> Iterator[Symptom]:
    """Waits for a store, a barrier or a group, and reports of members that did not come."""
    begun = case.has_begun
    kinds = [kind for kind in _WAITS if begun or kind not in _BEFORE_IT_RAN]
    told = pl.col("kind").is_in(kinds) | ((pl.col("kind") == "comm_warning") & (pl.col("code") == MISMATCH))
    rows = case.events.filter(told.fill_null(False) & pl.col("severity").is_in(["warning", "error", "fatal"]))
    if not begun and case.events["kind"].is_in(_BEFORE_IT_RAN).any():  # that nothing moved is that it did not begin
        rows = rows.filter(~pl.col("code").eq_missing(pl.lit(STILL)))
    rows = _before_own_end(case, rows)
    for (kind,), part in rows.sort("kind", "file", "line").partition_by(["kind"], as_dict=True).items():
        own = part.filter(pl.col("rank_space") == "global")["rank"].drop_nulls().to_list()
        yield Symptom("waiting", f"{kind}", frozenset(own), _refs(part, 2))


def _before_own_end(case: Case, rows: pl.DataFrame) -> pl.DataFrame:
    """Without what a process whose own failure ended it says below that in its log: on its way out it asks the others once more."""
    ends = [
        (rank, ref.file, ref.line)
        for rank, end in case.ends.items()
        if end.how in ("died", "bad_loss") and end.by == "process"
        for ref in end.refs[:1]
    ]
    if not ends:
        return rows
    at = pl.DataFrame(ends, schema={"rank": pl.Int64, "file": pl.String, "_at": pl.Int64}, orient="row")
    told = rows.with_columns(pl.col("file").cast(pl.String), pl.col("rank").cast(pl.Int64))
    told = told.join(at, on=["rank", "file"], how="left", maintain_order="left")
    return rows.filter((told["line"] <= told["_at"]).fill_null(True))


def _in_stacks(case: Case) -> Iterator[Symptom]:
    """Processes that stand in communication, where no record of operations tells more."""
    if _held(case) or not case.stacks.height or any(end.how == "ended" for end in case.ends.values()):
        return
    live = live_stacks(case.stacks)
    waiting = live.filter(pl.col("site") == "communication")
    seen = places(case.stacks, case.waited_ranks, case.expected)
    if int(waiting["count"].sum() or 0) > 1:
        yield _of_stacks(IN_COMMUNICATION, waiting.sort("rank", "file", "line"), 1)
    elif seen.waiters > 1 and (seen.outside.height or seen.waiting.height == seen.live.height):
        yield _of_stacks(IN_WAITS, seen.waiting.sort("rank", "file", "line"), 1)
    storage = storage_waits(case.stacks, case.blocked)
    if storage.height:
        first = storage.sort("rank", "host", "pid", "file", "line", nulls_last=True)
        yield _of_stacks("stacks that wait for storage", first, _REFS)


def _of_stacks(key: str, stacks: pl.DataFrame, most: int) -> Symptom:
    refs = tuple(stack_ref(row) for row in stacks.head(most).iter_rows(named=True))
    return Symptom("waiting", key, frozenset(values(stacks["rank"])), refs)


def _by_word(case: Case, found: Sequence[Symptom]) -> Iterator[Symptom]:
    """The person says that the job stood still, and no record shows who waits."""
    if case.hung and not any(one.kind == "waiting" for one in found):
        yield Symptom("waiting", "job, by the person's word")


def lost_nodes(case: Case) -> pl.DataFrame:
    """What launchers and schedulers say of nodes of the job that they lost for good."""
    of_rows = (pl.col("kind") == "other") & (pl.col("code") == "node_lost")
    of_scheduler = (pl.col("kind") == "scheduler") & pl.col("code").is_in(NODE_FAILED)
    is_lost = (of_rows | of_scheduler) & pl.col("severity").is_in(["error", "fatal"])
    lost = case.events.filter(is_lost & (pl.col("names_hosts").list.len() > 0))
    of_job = [any(short_host(host) in case.job_hosts for host in hosts) for hosts in lost["names_hosts"].to_list()]
    return lost.filter(pl.Series(of_job, dtype=pl.Boolean))


def _lost_nodes(case: Case) -> Iterator[Symptom]:
    """A node that was lost ends the job, also where no process says a word of it."""
    rows = lost_nodes(case).sort("file", "line")
    if rows.height:
        hosts = frozenset(short_host(host) for host in rows["names_hosts"].explode())
        yield Symptom("ended", "nodes that were lost", refs=_refs(rows, _REFS), hosts=hosts)


def _cut_off(case: Case) -> Iterator[Symptom]:
    """A log that ends within a traceback, where nothing else says how the job ended."""
    if rows := cut_off(case.events, case.tables["files"]):
        yield Symptom("ended", "a traceback that is cut off", refs=tuple(map(reference, rows[:_REFS])))


def _in_calls(case: Case) -> Iterator[Symptom]:
    """Communicators whose members printed different numbers of calls, where nothing shows that the job ended."""
    wanted = ("rank", "comm", "group", "seq", "kind", "input_dtypes", "is_p2p", "file", "line")
    calls = case.tables["operations"].select(wanted).drop_nulls(["comm", "line", "rank"])
    lines = calls.filter(~pl.col("is_p2p").fill_null(False))
    if not lines.height or case.ends or _held(case):
        return
    lines = numbered(lines.with_columns(job=True), "job")
    last = lines.group_by("comm", "group", "rank").agg(pl.col("seq").max()).drop_nulls("seq")
    newest = lines.sort("seq").unique(["rank", "comm"], keep="last")
    kinds = newest.group_by("seq").agg(pl.struct("kind", "input_dtypes").n_unique().alias("kinds"))["kinds"]
    uneven = last["seq"].n_unique() > 1 or bool((kinds > 1).any())
    if uneven and last["rank"].n_unique() > 1:
        front = last.filter(pl.col("seq") == last["seq"].max())["rank"].to_list()
        yield Symptom("waiting", UNEVEN_CALLS, frozenset(front))


def _connections(case: Case) -> Iterator[Symptom]:
    """Connections and transfers that broke while the job ran: somebody's process, or the way to it, ended."""
    if not has_kind(case.events, *_BROKEN):
        return
    rows = case.events.select("kind", "severity", "detail", "file", "line", "record", "text")
    rows = rows.filter(pl.col("kind").is_in(_BROKEN) & pl.col("severity").is_in(["error", "fatal"]))
    rows = rows.filter((pl.col("kind") != "connect_failed") | pl.lit(case.has_begun))
    rows = rows.filter((pl.col("kind") != "port_error") | pl.col("detail").fill_null("").str.contains('"library"'))
    if rows.height:
        yield Symptom("ended", "connections", frozenset(), _refs(_placed(rows), _REFS))


def _ended(case: Case) -> Iterator[Symptom]:
    """Processes that ended, unless it was the consequence of their own wait, or of their launcher's stop
    (taxonomy.CONSEQUENCES)."""
    reasons = {kind for kinds in CONSEQUENCES.values() for kind in kinds}
    if not case.ends:
        return
    own = (pl.col("rank_space") == "global") & pl.col("kind").is_in(list(reasons))
    said = set(case.events.select("rank", "rank_space", "kind").filter(own).select("rank", "kind").unique().iter_rows())
    held, unclear = _held(case), ("unclear", "lost", "quoted")
    for rank, end in case.ends.items():
        follows = any((rank, kind) in said for kind in CONSEQUENCES.get(end.code, ()))
        follows |= end.code == "SIGABRT" and rank in held
        if (
            end.how in ("died", "bad_loss")
            or (end.how in unclear and case.origins is None)
            or (end.how == "failed" and not follows)
            or (end.how == "gave_up" and rank in case.asked_in_vain)
        ):
            yield Symptom("ended", f"process of rank {rank}", frozenset((rank,)), end.refs[:2])


def _unplaced(case: Case) -> Iterator[Symptom]:
    """Failures of processes whose rank is not known; what a kernel says only of hosts that are known to be the job's."""
    rows = without_echoes(
        case.events,
        pl.col("kind").is_in(_UNPLACED) & (pl.col("rank").is_null() | (pl.col("rank_space") != "global"))
        & pl.col("severity").is_in(["error", "fatal"]),
    )  # fmt: skip
    seen, stops = set(), first_stops(case.events)
    pods = stopped_objects(case.events, case.expected or case.seen)
    servers = {(one.row["file"], one.row["line"]) for one in case.killed_servers}
    alike = ["file", "pid", "local_rank", "host", "kind", "code", "detail"]
    for row in rows.sort("file", "line").unique(alike, keep="first", maintain_order=True).iter_rows(named=True):
        is_no_failure = row["kind"] == "exit" and (row["code"] in (None, "0") or is_stop(row["code"]))
        if (
            is_no_failure
            or in_thread(row)
            or is_consequence(row["detail"])
            or is_below(stops, row["file"], row["line"])
            or detail(row).get("object") in pods
        ):
            continue
        is_server = (row["file"], row["line"]) in servers
        is_elsewhere = bool(row["host"]) and short_host(row["host"]) not in case.job_hosts and not is_server
        if EVENTS[row["kind"]].printer == "kernel" and is_elsewhere:
            continue
        key = f"process {row['pid'] or row['local_rank'] or ''} in {row['file']}"
        if key not in seen:
            seen.add(key)
            yield Symptom("ended", key, frozenset(), (reference(row),), hosts=frozenset({row["host"]} - {None}))


def first_stops(events: pl.DataFrame) -> dict[str, int]:
    """File → the first line in which a scheduler stops the job: what ends below it follows from that."""
    is_stop = (pl.col("kind") == "scheduler") & pl.col("code").is_in(STOPS) & pl.col("line").is_not_null()
    return dict(events.filter(is_stop).group_by("file").agg(pl.col("line").min()).iter_rows())


def is_below(stops: Mapping[str, int], file: str, line: int | None) -> bool:
    """Does a line stand below the one with which a scheduler, in the same log, stopped the job?"""
    return file in stops and line is not None and line > stops[file]


def _never_started(case: Case) -> Iterator[Symptom]:
    if case.has_begun:
        return
    checked = case.events.filter((pl.col("kind") == "node_check") & (pl.col("severity") == "error"))
    if checked.height and not case.seen:
        yield Symptom("never_started", "check of nodes", frozenset(), _refs(checked.sort("file", "line"), 2))
    kinds = case.events["kind"]
    begun, done = (kinds == "comm_init_start").any(), (kinds == "comm_init_complete").any()
    failed = case.events.filter(pl.col("kind").is_in(_BEFORE_IT_RAN) & (pl.col("severity") != "info"))
    if failed.height or (begun and not done):
        yield Symptom("never_started", "job", frozenset(), _refs(failed.sort("file", "line"), 2))


def _stopped(case: Case) -> Iterator[Symptom]:
    """Somebody or something outside ended the job."""
    scheduler = (pl.col("kind") == "scheduler") & pl.col("code").is_in(STOPS)
    by_hand = (pl.col("kind") == "exit") & (pl.col("code") == "SIGINT")
    rows = [*case.events.filter(scheduler | by_hand).sort("file", "line").iter_rows(named=True)]
    if rows := rows or stopped_launchers(case.events):
        yield Symptom("ended", STOPPED, frozenset(), tuple(map(reference, rows[:2])))


def _hosts_alone(case: Case) -> Iterator[Symptom]:
    """Whoever gathers logs of hosts and nothing of a job asks what these say."""
    if case.is_only_about_hosts and case.events.height:
        yield Symptom("ended", HOSTS_ALONE)


def _values(findings: Sequence[Finding], observers: Observers) -> Iterator[Symptom]:
    """Steps at which tensors, losses or scales went bad: what numeric findings point to, if these are figures."""
    steps = set()
    for one in findings:
        if one.cause is not None and CAUSES[one.cause].holds != "value":
            continue
        if one.severity not in (None, "minor") and observers.shows_values(one):
            steps.add(observers.step(one))
    for step in sorted(steps, key=lambda value: (value is None, value or 0)):
        yield Symptom("bad_value", f"step {step}" if step is not None else "a value", step=step)


def _slow(findings: Sequence[Finding], observers: Observers) -> Iterator[Symptom]:
    """What detectors of slowness found, if they point to times."""
    timed = [one for one in findings if observers.shows_times(one)]
    if timed:
        yield Symptom("slow", "steps take longer", frozenset().union(*(one.ranks for one in timed)))
