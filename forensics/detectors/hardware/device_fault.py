"""Did a device of the job fail, by the driver's word?

Every gate is in facts/hosts/hardware.py: an error of the device (not of the program that ran on it), on a host of the job, before
the trouble, rarer than the fleet's rate. A driver's record names host and device; the rank where it is known to run there and
nothing of its own shows that it waited for others, or where all members of the call that never ended are in it: then one
device may have stopped inside. Where the bundle holds kernel logs alone, they are all there is to say.
"""

from collections import defaultdict
from collections.abc import Sequence

import polars as pl
from msgspec.structs import replace

from forensics.case import Case, Detector
from forensics.facts.ends.waiting import is_silence_elsewhere
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.error_words import driver_words
from forensics.facts.rows.event_rows import Row, detail, own_rank, refs, rows
from forensics.graph.hang.roots import all_entered
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Device, FirstAnomaly, to_do
from forensics.model.said import Said, joined
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import hardware as words
from parsers.catalogues import printed

_WORDS = 100


def _may_be_its(case: Case, rank: int) -> bool:
    """Nothing shows that this rank waited for others, or everybody waits in the same calls, or all others gave up and it did not."""
    end = case.ends.get(rank)
    if end is not None and end.how not in ("died", "failed", "followed", "unclear"):
        return end.how == "gave_up" and _everybody_waits(case)
    held = case.waits.status.get(rank) in ("held", "vague")
    is_waited_for = end is None and len(case.expected) > 2 and case.expected - {rank} <= case.waited_ranks
    return not held or is_waited_for or all_entered(case.roots) or (rank in case.roots.stuck)


def _everybody_waits(case: Case) -> bool:
    """Did all ranks of the job time out?"""
    return all_entered(case.roots) or bool(case.expected and case.expected <= case.waited_ranks)


def _counted(case: Case, alone: bool) -> list[Record]:
    """Records that count; of a device that others of its host suffered from, and of these, only the first; beside an error
    none that follows from one."""
    found = _countable(case, alone)
    sources = [one for one in found if one.victims]
    hosts = {one.host for one in sources}
    kept = [one for one in found if one.host not in hosts or one.victims]
    own = {one.host for one in kept if not one.follows}
    return [one for one in kept if one.host not in own or not one.follows]


def _countable(case: Case, alone: bool) -> list[Record]:
    faults = [one for one in case.hardware if one.is_device_error]
    if alone:
        return [one for one in faults if not _is_of_switch(one)]
    counting = [one for one in faults if one.counts and not one.common and one.on_job is not False]
    found = [one for one in counting if one.host or one.is_its]
    if case.job_hosts or any(one.is_its for one in found):
        return found
    if not found and (own := _of_the_one_host(counting)):
        return own
    # A log of a host that nothing says to be of the job counts by its time, and only if no other host says the same.
    timed = [one for one in found if one.when == "before"]
    return timed if len({one.host for one in timed}) == 1 else []


def _is_of_switch(one: Record) -> bool:
    """Does a switch tell of an error that ends nothing? Beside no job that failed it accuses no GPU."""
    return str(one.row["code"]).startswith("sxid:") and not one.ends_device


def _of_the_one_host(counting: list[Record]) -> list[Record]:
    """Where no host has a name, all is of one: what one process alone says of its device, if the kernel says that before of one
    device alone. The driver's own word comes first."""
    by_kernel = [one for one in counting if "library" not in detail(one.row) and one.when == "before"]
    own = [one for one in counting if "library" in detail(one.row) and own_rank(one.row) is not None]
    if len({one.row["pci"] for one in by_kernel}) != 1 or len({one.rank for one in own}) != 1:
        return []
    return [replace(one, rank=own[0].rank) for one in by_kernel] + own


def _told_apart(found: list[Record]) -> list[Record]:
    """Where several devices of a host report only what follows from an error, none of them is known to have had it."""
    devices: dict[str | None, set[str | None]] = defaultdict(set)
    for one in found:
        devices[one.host].add(one.row["pci"])
    own = {one.host for one in found if not one.follows}
    return [
        one if one.host in own or len(devices[one.host]) == 1
        else replace(one, rank=None, row={**one.row, "pci": None, "device_index": None})
        for one in found
    ]  # fmt: skip


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding over all devices."""
    alone = case.is_only_about_hosts
    found = _counted(case, alone)
    if not found or not (alone or _has_failed(case, found)):
        return ()
    found = _told_apart(found)
    at = {one.rank for one in found if one.rank is not None}
    ranks = tuple(sorted(rank for rank in at if _may_be_its(case, rank)))
    if at and not ranks and not alone:
        # The ranks on these devices waited for somebody else: only what ends a device still speaks of its host.
        found = [one for one in found if one.ends_device and one.when == "before"]
    hosts = tuple(sorted({one.host for one in found if one.host}))
    is_open = not alone and not ranks and not all(one.ends_device for one in found)
    if not found or (is_open and is_silence_elsewhere(case.waited_ranks, case.expected, case.identity, hosts)):
        return ()
    kept = [one for one in found if one.rank in ranks] if ranks else found
    return (_finding(case, kept, ranks),)


def _has_failed(case: Case, found: Sequence[Record]) -> bool:
    """Did anything of the job go wrong? Beside a device that is gone, it is enough that a watchdog says so, or anything else that time shows."""
    went_wrong = case.has_waited or any(end.how != "ended" for end in case.ends.values()) or _failed_nameless(case)
    stood = case.time_witness.stood or any(row["code"] == "stalled" for row in rows(case.events, "other"))
    return went_wrong or (any(one.ends_device for one in found) and bool(stood))


def _failed_nameless(case: Case) -> bool:
    """Does a process that nobody knows the rank of say that it failed, or lost others?"""
    ended = case.events.filter(pl.col("rank").is_null() & pl.col("severity").is_in(["error", "fatal"]))
    roles = [EVENTS[kind].roles for kind in ended["kind"].unique()]
    return any("hardware" not in one and not {"failure", "victim"}.isdisjoint(one) for one in roles)


def _line(record: Record) -> str:
    """What the driver calls it: its line without what stands before the words, at most _WORDS characters."""
    return cut_middle(driver_words(record.row["text"] or ""), _WORDS)


def _finding(case: Case, found: Sequence[Record], ranks: tuple[int, ...]) -> Finding:
    hosts = tuple(sorted({one.host for one in found if one.host}))
    devices = {Device(host=one.host, pci=one.row["pci"], index=one.row["device_index"], uuid=None) for one in found}
    code, line = found[0].row["code"], _line(found[0])
    said = words.DRIVER_REPORTED_LINE(line=line) if line else words.DRIVER_REPORTED
    claims = [Claim(said, "for", refs(one.row for one in found))]
    waited = case.waited_ranks
    if ranks and waited and not waited & set(ranks):
        rest = [row for row in rows(case.events, "collective_timeout") if own_rank(row) in waited]
        text = words.TIMED_OUT_OTHERS_NOT(waited=ranks_text(waited), ranks=ranks_text(ranks))
        claims.append(Claim(text, "for", refs(rest)))
    names = joined(hosts, ", ")
    who = words.GPU_OF_RANKS if ranks else words.GPU_OF_HOSTS
    what = joined((printed(code), words.QUOTED(line=line) if line else ""), ", ") or words.ITS_DRIVER_REPORTED
    return Finding(
        cause="gpu_fault",
        ranks=ranks,
        hosts=hosts,
        devices=tuple(sorted(devices, key=str)),
        domain="infrastructure",
        claims=tuple(claims),
        first_anomaly=FirstAnomaly(
            rank=ranks[0] if ranks else None,
            host=hosts[0] if len(hosts) == 1 else None,
            step=case.step_in_progress(),
            signature=f"device:{code}",
        ),
        actions=(to_do("inspect_hardware", names or _unplaced(found[0].row), words.OF_A_DRIVER),),
        summary=who(ranks=ranks_text(ranks), hosts=names or words.UNNAMED_HOST, what=what),
    )


def _unplaced(row: Row) -> Said:
    """A device whose host no line names: by its address, and the file that tells of it."""
    return words.GPU_OF_LOG(pci=row["pci"], file=row["file"]) if row["pci"] else words.THE_DEVICE


DETECTOR = Detector("device_fault", ("events",), detect, "ended")
