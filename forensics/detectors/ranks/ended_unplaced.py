"""Did a process fail by itself whose rank is not known?

Memory, full disks, device errors and exceptions in lines without a rank: the cause is known, the culprit only as far as
host, device or local rank. Nobody is named by a local rank. A kernel that killed a process for memory names the rank if
that rank alone was killed on its host. What a kernel says of another program, of another time, or of a host all of whose
ranks waited afterwards, ended none of them. What all ranks of a job waited for in vain is in none of them: then a process of another number
that failed before explains it.
"""

from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.failure_roles import FailureRole, role_of
from forensics.facts.ends.process_ends import (
    BY_ITS_RUNTIME,
    OWN_CAUSES,
    in_thread,
    is_consequence,
    own_cause,
    without_echoes,
)
from forensics.facts.ends.storage_errors import StorageError, storage_error
from forensics.facts.ends.whose_memory import Holder, holder_of
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.error_words import may_be_rank
from forensics.facts.rows.event_rows import Row, detail, host_of, own_rank, refs, rows
from forensics.model.commands import COMMANDS, HERE, Target
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, Device, FirstAnomaly, to_do
from forensics.model.names import Cause, Domain
from forensics.model.said import Said, did_all, joined, sentence
from forensics.model.signals import signal_of
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import ended as words
from parsers.knowledge import meaning

_OF_PYTHON = ("py-spy", "faulthandler", "traceback")  # sources of stacks
_BY_KERNEL = ("host_oom", "segfault")
_RAISED: tuple[Cause, ...] = ("exception", "killed")  # the latter a worker, which its parent's exception tells
_SEEN_NS = 300 * 10**9  # until a launcher says that a process was killed
_CONTAINERS = ("kubepods", "docker", "containerd", "crio", "libpod", "garden")  # in the names of their control groups
_CLOCKS_NS = 600 * 10**9  # by which stamps of one kind may differ
_ZONES_NS = 14 * 3600 * 10**9
_FULL = 90  # % of shared memory
_TOLD = 2  # logs in which one exception stands: of who raised it, and of who started him
# What a process itself may say of its end; a kernel has a row of its own for each device of each host.
_OWN_WORDS = pl.col("kind").is_in(OWN_CAUSES.keys() - {"gpu_lost", *_BY_KERNEL}) | BY_ITS_RUNTIME


def _failures(case: Case) -> list[tuple[Cause, dict[str, Any]]]:
    """(cause, row) of every failure without a rank, by place; the kernel's only of hosts of the job."""
    result: list[tuple[Cause, dict[str, Any]]] = []
    lost: list[tuple[Cause, dict[str, Any]]] = []
    for row in without_echoes(case.events, _OWN_WORDS).iter_rows(named=True):
        if own_rank(row) is not None or in_thread(row):
            continue
        if row["kind"] == "gpu_error":
            if detail(row).get("library"):
                # Its own runtime says so, and ends it.
                result.append((own_cause(row["kind"], "", row["severity"]), row))
        elif not is_consequence(row["detail"]) and row["severity"] not in ("info", "warning"):
            cause = own_cause(row["kind"], f"{row['code'] or ''} {row['text'] or ''}")
            if cause != "exception" or _role(case, row).state != "lost":
                result.append((cause, row))
            else:
                lost.append((cause, row))
    killed = [one for one in case.hardware if one.kind in _BY_KERNEL and one.rank is None and one.counts]
    # The line that opens a kernel's report names whom memory failed, not whom it killed: the one that ends it does.
    told: dict[str, int] = {}
    for one in killed:
        if one.row["pid"] is not None:
            told[one.row["file"]] = max(told.get(one.row["file"], 0), one.row["line"])
    killed = [one for one in killed if one.row["pid"] is not None or told.get(one.row["file"], 0) < one.row["line"]]
    servers = {(one.row["file"], one.row["line"]) for one in case.killed_servers}
    for one in killed:
        is_server = (one.row["file"], one.row["line"]) in servers
        if one.on_job is not False and (is_server or not (_is_foreign(case, one) or _is_outlived(case, one.row))):
            result.append((own_cause(one.kind, ""), dict(one.row)))
    return result or ([] if case.ends or case.has_waited or _tells_of_others(case) else lost or _evicted(case))


def _evicted(case: Case) -> list[tuple[Cause, dict[str, Any]]]:
    """Pods that a node evicted for want of memory, where no file but the cluster's own is there, which may tell whether they are of the job."""
    told = [(row, said) for row in rows(case.events, "scheduler") if (said := meaning(row["text"] or "")) is not None]
    if case.seen or {*case.tables["files"].filter(pl.col("bytes") > 0)["file"]} > {row["file"] for row, _ in told}:
        return []
    return [
        ("host_oom", row)
        for row, said in told
        if (row["code"], said.claim, said.about) == ("Evicted", "killed", "pod")
        and "memory" in " ".join(said.fields.values()).lower()
    ]


def _tells_of_others(case: Case) -> bool:
    """Does anything tell of a process that waited for others or lost them?"""
    return any(EVENTS[kind].roles == ("victim",) for kind in case.events["kind"].unique())


def _role(case: Case, row: Row) -> FailureRole:
    return role_of(row, hosts=case.job_hosts)


def _is_alone(case: Case, same: Sequence[Row]) -> bool:
    """Is it all that anything tells of a failure, out of no call that may wait for anybody, in words that tell of nobody? Then it is why the job
    ended, whosever it is."""
    roles = [_role(case, row) for row in same]
    if case.has_waited or not all(role.is_placed for role in roles) or len({role.template for role in roles}) > 1:
        return False
    return not _tells_of_others(case) and all(end.how in ("failed", "stopped", "ended") for end in case.ends.values())


def _is_foreign(case: Case, one: Record) -> bool:
    """Did the kernel end a process that is none of the job's? Where the processes of all ranks of the host are known, and it is none
    of them: in a container they may count otherwise, which neither proves nor excludes it. Or another program, or where all of
    them waited until a time-out. Or on a host that nothing joins to the job, all of whose ranks left a dump: who is killed leaves none."""
    if one.on_job is None and case.is_world_told and case.expected <= _dumped(case):
        return True
    # A job that its scheduler could not place has no process that a kernel of nobody knows which host could end.
    if one.on_job is None and not case.has_begun and (case.events["code"] == "not_placed").any():
        return True
    # Another program than Python, which no limit of the job's own killed, where stacks show that this is what the job runs.
    is_other = one.row["code"] != "cgroup" and not may_be_rank(detail(one.row).get("task"))
    if is_other and case.tables["stacks"]["source"].is_in(_OF_PYTHON).any():
        return True
    is_placed = case.identity.height and one.host
    here = case.identity.filter(pl.col("host") == one.host) if is_placed else case.identity.clear()
    ends = [case.ends[rank] for rank in here["rank"].to_list() if rank in case.ends] if here.height else []
    known = here.height > 0 and here["pid"].null_count() == 0 and one.row["pid"] is not None
    killed = any(end.cause in ("killed", "segfault", "host_oom") for end in ends)
    if killed and not known:
        return not may_be_rank(detail(one.row).get("task"))
    waited = bool(ends) and len(ends) == here.height and all(end.how in ("gave_up", "ended") for end in ends)
    return known or waited


def _is_outlived(case: Case, row: Row) -> bool:
    """Did the job go on well after that, by more than clocks and zones differ? Then it was another's process."""
    steps = case.tables["steps"].filter(pl.col("time_ns").is_not_null() & pl.col("step").is_not_null())
    if row["time_ns"] is None or not steps.height:
        return False
    differ = pl.when(pl.col("time_basis") == (row["time_basis"] or "")).then(_CLOCKS_NS).otherwise(_ZONES_NS)
    return steps.filter(pl.col("time_ns") - row["time_ns"] > differ)["step"].n_unique() > 1


def _dumped(case: Case) -> set[int]:
    """Ranks whose living process wrote or showed where it stood."""
    flights = case.tables["operations"].filter(pl.col("record").is_not_null())
    shown = case.tables["stacks"].filter(pl.col("source") != "traceback")
    return {*flights["rank"].drop_nulls().unique(), *shown["rank"].drop_nulls().unique()}


def ended_unplaced(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the first cause among failures that no rank accounts for; an exception repeats what its words say."""
    found = _failures(case)
    if not found:
        return ()
    causes = [cause for cause, _ in _in_time(found)]
    cause = next((cause for cause in causes if cause not in _RAISED), causes[0])
    same = _odd_first([row for this, row in found if this == cause])
    is_of_device = any(one.is_its and one.is_device_error for one in case.hardware)
    if is_of_device and any(row["kind"] == "cuda_error" for row in same):
        return ()  # its device is why: a driver's record of it says more than what the program met
    killed = _killed(case, same) if cause == "host_oom" else ()
    named = _told(case, same) if cause == "gpu_fault" else killed
    if not killed and any(end.how == "died" for end in case.ends.values()):
        return ()
    is_own = any(row["kind"] in ("gpu_error", "cuda_error") or _role(case, row).state == "own" for row in same)
    unclear = cause == "exception" and not (is_own or _is_alone(case, same))
    places = tuple(sorted({host for row in same if (host := host_of(case.identity, row))}))
    after = cause in _RAISED and (unclear or len(places) > 1 or _may_follow(case, same))  # not all were the first
    hosts = () if after else places
    line = " ".join(str(same[0]["text"] or same[0]["code"] or "").split())
    storage = storage_error(str(same[0]["text"] or "")) if cause == "exception" else None
    holder = holder_of(cause, same[0]["code"], str(same[0]["text"] or ""))
    did = words.NO_STORAGE if storage else words.DID_AT[holder] if holder else _did(cause, same)
    claims = [Claim(words.SOMEBODY_DID(did=did, line=cut_middle(" ".join(line.split()), 120)), "for", refs(same))]
    if killed:
        claims.append(Claim(words.KILLED_THERE(who=ranks_text(killed)), "for"))
    if cause == "host_oom" and (ended := _with_it(case, same)):
        claims.append(Claim(words.KILLED_FOR_MEMORY(number=len(ended)), "for", refs(ended)))
    if not after and not killed and _is_of_no_rank(case, same):
        waits = rows(case.events, "collective_timeout")
        claims.append(Claim(words.ALL_RANKS_WAITED, "for", refs(waits, most=1)))
    text = words.RANK_DID(who=ranks_text(named) if named else _who(same, hosts), did=did_all(did, len(named)))
    domain: Domain = "workload" if cause == "gpu_oom" else "unknown"
    domain = "infrastructure" if cause == "gpu_fault" or storage is not None else domain
    target = ranks_text(named) if named != killed else joined(hosts, ", ")
    return (
        Finding(
            cause=None if unclear else cause,
            ranks=named,
            hosts=() if named else hosts,
            devices=_devices(case, same) if cause in ("gpu_fault", "gpu_oom") else (),
            site="storage_io" if storage is not None else None,
            domain=domain,
            undecided=("conflicting_evidence",) if after else () if named or hosts else ("membership_unknown",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(
                rank=named[0] if named else None,
                host=hosts[0] if len(hosts) == 1 else None,
                step=case.step_in_progress(),
                signature=f"{cause}:{same[0]['code']}" if same[0]["code"] else str(cause),
            ),
            time_ns=same[0]["time_ns"],
            actions=_unclear(case, same)
            if unclear and storage is None
            else _actions(case, same, cause, target, storage, holder),
            summary=sentence(text, words.NOT_ITS_OWN if unclear else words.MAY_HAVE_FOLLOWED if after else ""),
        ),
    )


def _odd_first(same: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Who raised what nobody else did, out of calls that are shown, stands before many who raised alike: these lost him, or each other. Its words may
    stand in a second log, of who started it."""
    counts = Counter(row["code"] for row in same)
    lines = Counter((row["code"], row["text"]) for row in same)
    few = [row for row in same if lines[row["code"], row["text"]] == counts[row["code"]] <= _TOLD]
    odd = [row for row in few if detail(row).get("frames")]
    is_clear = len({row["code"] for row in odd}) == 1 and max(counts.values()) > _TOLD
    return sorted(same, key=lambda row: row not in odd) if is_clear else same


def _is_of_no_rank(case: Case, same: list[dict[str, Any]]) -> bool:
    """Did all ranks of the job wait until a time-out, while these processes are none of them, by their numbers?"""
    job = case.expected if case.is_world_told else frozenset()
    if not job or not job <= case.waited_ranks or not case.identity.height:
        return False
    pids = case.identity.filter(pl.col("rank").is_in(sorted(job)))["pid"].drop_nulls()
    return len(pids) == len(job) and all(row["pid"] is not None and row["pid"] not in set(pids) for row in same)


def _in_time(found: list[tuple[Cause, dict[str, Any]]]) -> list[tuple[Cause, dict[str, Any]]]:
    """The first first, where all have stamps of one kind; else by place."""
    bases = {row["time_basis"] if row["time_ns"] is not None else None for _, row in found}
    when = itemgetter("time_ns") if len(bases) == 1 and None not in bases else lambda row: 0
    return sorted(found, key=lambda one: (when(one[1]), str(one[1]["file"]), one[1]["line"] or 0))


def _who(same: list[dict[str, Any]], hosts: tuple[str, ...]) -> Said:
    """A process without a rank, as far as its lines tell."""
    locals_ = sorted({row["local_rank"] for row in same if row["local_rank"] is not None})
    tasks = list({task for row in same if (task := detail(row).get("task")) is not None})
    if hosts:
        return words.ON_HOSTS(who=words.A_PROCESS, hosts=joined(hosts, ", "))
    if len(locals_) == 1:
        return words.WITH_LOCAL_RANK(rank=locals_[0])
    if len(tasks) != 1:
        return words.WITHOUT_RANK
    is_number = isinstance(tasks[0], int)  # a launcher's; a kernel prints a name
    return words.TASK_OF_LAUNCHER(task=tasks[0]) if is_number else words.CALLED_SO(name=tasks[0])


def _with_it(case: Case, same: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Processes of no known rank that ended with SIGKILL, where the scheduler says that the limit of the job's own step killed
    for memory: nothing else in the bundle does, and no rank is named."""
    if not any(row["code"] == "cgroup" and row["host"] is None for row in same):
        return []
    return [row for row in rows(case.events, "exit") if own_rank(row) is None and signal_of(row["code"]) == "SIGKILL"]


def _may_follow(case: Case, same: list[dict[str, Any]]) -> bool:
    """Did most ranks wait until a time-out, while nothing shows that any of these exceptions came before? Programs raise
    much when they are taken down."""
    waited = case.waited_ranks
    if 2 * len(waited) <= len(case.expected | case.seen):
        return False
    return all(case.anomaly_window.when(row) != "before" for row in same)


def _killed(case: Case, same: list[dict[str, Any]]) -> tuple[int, ...]:
    """Ranks that alone on their host were killed by SIGKILL, of the hosts whose kernel killed for memory: a process that may be theirs."""
    ranks: list[int] = []
    for host in {host_of(case.identity, row) for row in same} - {None}:
        here = case.identity.filter(case.identity["host"] == host) if case.identity.height else case.identity
        pids: dict[int, int | None] = dict(here.select("rank", "pid").iter_rows()) if here.height else {}
        killed = [rank for rank, end in case.ends.items() if rank in pids and end.cause == "killed"]
        there = [row for row in same if host_of(case.identity, row) == host]
        if len(killed) == 1 and any(_may_be(case, row, killed[0], pids[killed[0]]) for row in there):
            ranks += killed
    return tuple(sorted(ranks))


def _told(case: Case, same: list[dict[str, Any]]) -> tuple[int, ...]:
    """The one rank whose watchdog alone says what its device reported, by its number in the only group that the bundle knows."""
    told = {number: row for row in same if row["names_rank_space"] == "group" for number in row["names_ranks"] or ()}
    if len(told) != 1:
        return ()
    ((number, row),) = told.items()
    return tuple((case.memberships.to_global(row, [number], assume=True) or {}).values())


def _may_be(case: Case, row: Row, rank: int, pid: int | None) -> bool:
    """May a kernel have killed the process of this rank? One of another number may be a container's, where its control group is; else by
    time alone: what does not fit by it as printed may be an old kill of another job."""
    if pid is None or row["pid"] is None or any(word in (row["detail"] or "") for word in _CONTAINERS):
        return True
    end = case.ends[rank]
    is_old = row["time_basis"] == end.time_basis and (end.time_ns or 0) - (row["time_ns"] or 0) > _SEEN_NS
    return case.anomaly_window.when(row) == "before" and not is_old


def _devices(case: Case, same: list[dict[str, Any]]) -> tuple[Device, ...]:
    placed: set[tuple[str | None, str | None, int | None]] = {
        (host_of(case.identity, row), row["pci"], row["device_index"])
        for row in same
        if row["pci"] or (row["host"] and row["device_index"] is not None)
    }
    return tuple(Device(host=h, pci=p, index=i, uuid=None) for h, p, i in sorted(placed, key=str))


def _unclear(case: Case, same: Sequence[Row]) -> tuple[Action, ...]:
    """An exception that may be of whoever it waited for: not its line, but what the others did is to be looked at."""
    if any(row["kind"] == "cuda_error" for row in same):
        return _actions(case, same, "exception", "", None, None)
    return (to_do("collect_more", words.OTHERS_AT_THAT_TIME, words.MAY_BE_ANOTHERS),)


def _actions(
    case: Case, same: Sequence[Row], cause: Cause, target: str, storage: StorageError | None, holder: Holder | None
) -> tuple[Action, ...]:
    """A call to a device that failed for no known reason may be of the device as well as of the program: its driver's log tells."""
    is_shared = all(holder_of("disk_full", None, str(row["text"] or "")) == "shared" for row in same)
    if is_shared and (cause == "exception" or (cause == "disk_full" and not target)):
        return _of_shared_memory(case)
    own = _action(same, cause, target, storage, holder)
    if cause == "gpu_oom" and not case.has_begun and all("CCL error" in str(row["text"]) for row in same):
        return (replace(own, reason=words.WHILE_SET_UP),)
    is_of_device = any(row["kind"] in ("cuda_error", "gpu_error") for row in same)
    if cause != "exception" or storage is not None or not is_of_device:
        return (own,)
    log = to_do("collect_more", words.DRIVERS_LOG, words.CALL_TO_DEVICE_FAILED)
    return (log, own)


def _of_shared_memory(case: Case) -> tuple[Action, ...]:
    """What PyTorch guesses of a bus error; where its own `df` shows room, what else raises that signal is looked for first."""
    looks = [detail(row) for row in rows(case.events, "other") if "/dev/shm" in (row["text"] or "")]
    used = [int(look["percent"]) for look in looks if "percent" in look]
    size = Action(
        kind="check_config", target=words.SHARED_MEMORY, command="df -h /dev/shm", reason=words.WHY_AT["shared"], look=words.LOOK_AT_SHARED,
        then=words.THEN_OF_SHARED, source="docker run: --shm-size; PyTorch: DataLoader, num_workers; mmap(2): SIGBUS",
    )  # fmt: skip
    if not used or max(used) >= _FULL:
        return (size,)
    files = Action(
        kind="check_data", target=words.MAPPED_FILES, command="sudo dmesg -T", reason=words.ROOM_IN_SHARED(percent=max(used)), look=words.LOOK_AT_MAPPED,
        then=words.THEN_OF_MAPPED, source="mmap(2): SIGBUS",
    )  # fmt: skip
    return (files, replace(size, reason=words.WHILE_WORKERS_RUN))


def _did(cause: Cause, same: Sequence[Row]) -> Said:
    by_runtime = cause == "exception" and all(row["kind"] == "gpu_error" for row in same)
    return words.ENDED_BY_RUNTIME if by_runtime else words.DID_SOMEWHERE[cause]


def _action(
    same: Sequence[Row], cause: Cause, target: str, storage: StorageError | None, holder: Holder | None
) -> Action:
    if storage is not None:
        return to_do("inspect_hardware", storage.holder, storage.why)
    if cause == "segfault":
        return _core(same[0], target, words.A_PROCESS_DID(did=_did(cause, same)))
    kinds: dict[str, Any] = {"gpu_fault": "inspect_hardware", "exception": "check_code", "killed": "collect_more"}
    line = " ".join(str(same[0]["text"] or "").split())
    why = words.WHY_AT[holder] if holder else words.A_PROCESS_DID(did=_did(cause, same))
    if cause == "exception" and line and not holder:
        why = words.A_PROCESS_SAID(did=_did(cause, same), line=cut_middle(line, 120))
    return to_do(kinds.get(cause, "check_config"), target, why)


def _core(row: Row, target: str, did: Said) -> Action:
    """What was kept of a process that crashed."""
    library, pid = detail(row).get("library"), row["pid"]
    return Action(
        kind="check_code", target=target or words.CRASHED_PROCESS,
        command=COMMANDS["core"](Target(target or HERE, (pid,))) if pid is not None else None,
        reason=words.CRASHED_IN(library=library) if library else did, look=words.LOOK_AT_CORE,
        then=words.THEN_OF_CORE, source="coredumpctl(1)",
    )  # fmt: skip
