"""Who stands behind a finding: follows from where its claims point, and is never typed by hand.

An observer is who could have been wrong alone: a process (its log, records and watchdog are one), the kernel of a host, a
launcher or scheduler, a sampler that looked from outside, a monitor of devices, a tool that asked the members. Told from
the subject of a finding, all other processes of the job are one: 63 flight records are not 63 observers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.process_ends import is_consequence, is_stop, without_echoes
from forensics.model.causes import CAUSES
from forensics.model.finding import Finding
from forensics.model.hosts import short_host
from forensics.model.ref import Ref
from forensics.model.signals import signal_of
from forensics.model.taxonomy import EVENTS, RAN_OUT
from forensics.model.told import has_kind
from forensics.words import verdict as words
from parsers.schema.tables import TableName, spelled

Role = Literal["process", "kernel", "launcher", "sampler", "monitor", "tool"]
Basis = Literal["own_record", "graph", "others_record", "coincidence", "hint"]
BASES: Sequence[Basis] = ("own_record", "graph", "others_record", "coincidence", "hint")
_SAMPLERS = ("traceback", "faulthandler", "interrupt")  # these print their own stack
_TABLES: tuple[TableName, ...] = (
    "operations", "progress", "transfers", "stacks", "tensors", "steps", "values", "timings", "events", "settings", "devices",
)  # fmt: skip
_COLUMNS = ("rank", "rank_space", "host", "pid", "kind", "code", "source", "names_ranks", "detail", "step")
_OF_GROUPS = ("group", "names_rank_space", "text")
_OPERATIONS = ("operations", "progress", "transfers", "stacks")
_WAITED = (*RAN_OUT, "desync")
_OF_THE_CALL = ("collective_mismatch", "kernel_stuck")
_OF_THE_WAY = ("config_drift", "network_fault", "store_timeout")
_NUMERIC = ("nan", "nan_assert", "bad_loss", "loss_scale", "replica_mismatch")
_VICTIMS = 2
_TABLE = 0.8  # of the lines of a table are rows: the rest are its header and what could not be read
Place = tuple[str, int | None]


class Observer(msgspec.Struct, frozen=True):
    """`who`: rank of a process, host of a kernel; null where not told. `table`, `kind`: what it printed. `names`: ranks that
    the row is about besides its printer."""

    role: Role
    who: int | str | None
    table: TableName
    kind: str = ""
    names: frozenset[int] = frozenset()
    host: str | None = None
    is_serious: bool = True  # of a kernel's record: it counts, is an error, and of this time
    has_victims: bool = False  # of a kernel's record: several devices of its host say that another one made them suffer
    is_of_victim: bool = False  # it says that its printer waited for others or lost them, and nothing of its own part
    step: int | None = None
    is_its: bool = False  # a kernel's word of a process that is the job's by its control group
    tells_cause: bool = True  # of a launcher's word: more than the code that any failure of a program ends with


class Observers:
    """Observers of all places that findings point to: one pass over each table."""

    def __init__(self, case: Case, findings: Iterable[Finding]) -> None:
        tables, self._memberships = case.tables, case.memberships
        self.cited = {(ref.file, ref.line) for f in findings for claim in f.claims for ref in claim.refs}
        of_ranks: tuple[TableName, ...] = ("ranks", "operations", "stacks", "events")
        self._has_ranks = any(tables[name]["rank"].count() for name in of_ranks)
        self._records = {(one.row["file"], one.row["line"], one.kind): one for one in case.hardware}
        self._echoes = _echoes(tables["events"])
        self._collected = _collected(tables)
        self._at: dict[Place, set[Observer]] = defaultdict(set)
        wanted = pl.DataFrame(sorted(self.cited, key=str), schema={"file": pl.String, "_at": pl.Int64}, orient="row")
        for name in _TABLES if self.cited else ():
            if tables[name].height:
                self._look(name, tables[name], wanted)

    def _look(self, name: TableName, frame: pl.DataFrame, wanted: pl.DataFrame) -> None:
        columns = [c for c in (*_COLUMNS, *(_OF_GROUPS if name == "events" else ())) if c in frame.columns]
        is_cited = pl.col("file").is_in(sorted({file for file, _ in self.cited}))
        frame = spelled(frame.select("file", "line", "record", *columns).filter(is_cited))
        for place in (one for one in ("line", "record") if frame[one].count()):
            rows = frame.join(wanted, left_on=["file", place], right_on=["file", "_at"], how="semi")
            for row in rows.iter_rows(named=True):
                seen = self._observer(name, row)
                self._at[row["file"], row[place]].add(replace(seen, step=row.get("step")))

    def of(self, refs: Iterable[Ref]) -> frozenset[Observer]:
        """Everybody whom these places show."""
        return frozenset(one for ref in refs for one in self._at.get((ref.file, ref.line), ()))

    def backing(self, finding: Finding, direction: str = "for") -> frozenset[Observer]:
        """Everybody behind the claims of one direction."""
        return frozenset(one for claim in finding.claims if claim.direction == direction for one in self.of(claim.refs))

    def categories(self, finding: Finding, direction: str = "for", of: Literal["who", "why"] = "who") -> list[str]:
        """How many that could have disagreed stand behind a finding, told from its subject, ascending. Of its cause fewer do. What
        one collector wrote of all ranks is one of them, however many of its rows are read."""
        subjects, places = finding.subjects, finding.places
        within = finding.cause is not None and CAUSES[finding.cause].holds == "device"
        by_writer: dict[Place, set[str]] = defaultdict(set)
        for file, line in {(r.file, r.line) for c in finding.claims if c.direction == direction for r in c.refs}:
            asked = {one for one in self._at.get((file, line), ()) if of == "who" or _knows_why(one, subjects, within)}
            told = {_category(one, subjects, places) for one in asked} - {""}
            by_writer[file, None if file in self._collected else line] |= told
        shown = list(by_writer.values())
        named = {category for there in shown if len(there) == 1 for category in there}
        for there in sorted(map(sorted, shown)):  # one line has one printer, also where it was read into two tables
            if there and not named & {*there}:
                named.add(there[0])
        return sorted(named)

    def basis(self, finding: Finding) -> Basis:
        """What the claims for a finding rest on, at best."""
        found = [self._basis(one, finding) for one in self.backing(finding)]
        return min(found, key=BASES.index, default="hint")

    def _basis(self, one: Observer, finding: Finding) -> Basis:
        subjects, places = finding.subjects, finding.places
        holds = CAUSES[finding.cause].holds if finding.cause is not None else "process"
        if one.role == "process" and one.who is not None and one.who in subjects:
            # It tells what the subject brought to the call, or that it stands in an earlier one.
            if one.kind == "collective_timeout" and finding.cause in _OF_THE_CALL:
                return "own_record"
            if one.kind == "connect_failed" and finding.cause in _OF_THE_WAY:
                return "own_record"  # it tells whom the subject tried to reach
            if one.is_of_victim:  # whoever waited may be suspected, but is not named for that
                return "hint" if finding.ranks else "others_record"
            return "others_record" if holds == "value" and one.table == "events" else "own_record"
        if one.role == "kernel":
            if not one.is_serious:
                return "hint"
            if one.has_victims and one.host in places and holds == "device" and finding.devices:
                return "others_record"
            own = one.names & subjects or (one.host in places and holds == "link")
            is_told = one.host in places and (one.is_its or not self._has_ranks)
            return "own_record" if own or is_told else "coincidence"
        if one.table in _OPERATIONS:
            return "graph"
        if one.role == "tool" or one.names & subjects:
            return "others_record"
        if one.role == "launcher":  # what it says of somebody else, or of nobody, names nobody
            return "hint" if finding.ranks else "others_record"
        if one.role == "monitor":  # a slower device makes its rank slow; why somebody waits, it does not tell
            return "others_record" if finding.cause and CAUSES[finding.cause].kinds == ("slow",) else "hint"
        # That others waited proves the wait, of which suspects are what is left; a name needs more.
        told = not subjects or (one.is_of_victim and not finding.is_named)
        return "others_record" if one.role == "process" and told else "hint"

    def _named(self, row: Mapping[str, Any]) -> frozenset[int]:
        """Whom a row is about; numbers in a group are ranks of the job where it is known which."""
        numbers = row.get("names_ranks") or ()
        if numbers and row.get("names_rank_space") == "group" and (known := self._memberships.to_global(row, numbers)):
            return frozenset(known.values())
        return frozenset(numbers)

    def _observer(self, name: TableName, row: Mapping[str, Any]) -> Observer:
        rank = row.get("rank") if row.get("rank_space", "global") in ("global", None) else None
        host = short_host(row["host"]) if row.get("host") else None
        names = self._named(row)
        kind = str(row.get("kind") or "")
        if name == "stacks" and row.get("source") not in _SAMPLERS:
            return Observer("sampler", rank, name, kind, frozenset(() if rank is None else (rank,)), host)
        if name == "devices":
            return Observer("monitor", rank, name, kind, names, host)
        if name != "events" or kind not in EVENTS:
            return Observer("process", rank, name, kind, names, host)
        role: Role = EVENTS[kind].printer
        is_own = rank is not None and row.get("pid") is None
        by_library = '"library"' in (row.get("detail") or "")
        if role == "kernel" and (is_own or by_library):
            role = "process"
        if role == "kernel":
            record = self._records.get((row["file"], row["line"], kind))
            known = rank if rank is not None else record.rank if record is not None else None
            serious = record is not None and record.counts and record.on_job is not False and not record.common
            serious = serious and record is not None and record.severity in ("error", "fatal", "warning", None)
            place = host if host is not None else record.host if record is not None else None
            victims = record is not None and record.victims >= _VICTIMS
            ranks = frozenset(() if known is None else (known,))
            is_its = record is not None and record.is_its
            return Observer("kernel", place, name, kind, ranks, place, serious, has_victims=victims, is_its=is_its)
        if role == "launcher" and kind == "exit" and signal_of(row.get("code")) == "SIGINT":
            role = "process"  # its own traceback of Ctrl-C
        if role == "launcher":
            whom = names | frozenset(() if rank is None else (rank,))
            code = str(row.get("code") or "")  # whom it stopped had not ended by itself
            says_no_more = code.isdigit() or (rank is not None and is_stop(code))
            return Observer(role, None, name, kind, whom, host, tells_cause=not says_no_more)
        waited = EVENTS[kind].roles == ("victim",) or is_consequence(row.get("detail"))
        waited |= kind == "exception" and (row["file"], row["line"]) in self._echoes
        return Observer(role, rank, name, kind, names, host, is_of_victim=waited)

    def shows_values(self, finding: Finding) -> bool:
        """Does it point to figures of tensors, losses or scales, or to a check of them?"""
        backing = self.backing(finding)
        return any(one.table in ("tensors", "steps", "values") or one.kind in _NUMERIC for one in backing)

    def step(self, finding: Finding) -> int | None:
        """The step of its first anomaly, if the rows that it points to are of that step; else the first step of these."""
        told = finding.first_anomaly.step
        shown = {one.step for one in self.backing(finding) if one.step is not None}
        return told if not shown or (told is not None and shown & {told - 1, told, told + 1}) else min(shown)

    def measures(self, finding: Finding) -> bool:
        """Does it point to a monitor, a kernel or a tool, and not only to what processes of the job timed?"""
        return any(one.role != "process" for one in self.backing(finding))

    def shows_times(self, finding: Finding) -> bool:
        """Does it point to timings, steps, timed calls, stacks that moved, or a tool's word on slow ranks?"""
        backing = self.backing(finding)
        tables = ("timings", "steps", "operations", "stacks")
        return any(one.table in tables or one.kind == "straggler" for one in backing)


def _collected(tables: Mapping[TableName, pl.DataFrame]) -> frozenset[str]:
    """Files in which somebody put the times of several ranks together: nearly all their lines are such figures, where a log
    of all ranks has lines of its own."""
    times = tables["timings"].drop_nulls("rank").group_by("file").agg(pl.col("rank").n_unique(), pl.len()).iter_rows()
    lines = dict(tables["files"].select("file", "lines").iter_rows())
    return frozenset(file for file, ranks, rows in times if ranks > 1 and rows >= _TABLE * (lines.get(file) or 0))


def _echoes(events: pl.DataFrame) -> set[Place]:
    """Places of exceptions that only repeat what a line says of a wait."""
    if not has_kind(events, "exception"):
        return set()
    raised = pl.col("kind") == "exception"
    told = without_echoes(events, raised).select("file", "line")
    return set(events.filter(raised).select("file", "line").join(told, on=["file", "line"], how="anti").rows())


def _knows_why(one: Observer, subjects: frozenset[int], within_device: bool) -> bool:
    """Could it have disagreed about the cause? Whoever gave up on others knows who is missing, a launcher the code, and nobody but
    its own process and its kernel what a device did."""
    if one.role == "launcher":
        return one.tells_cause and (not subjects or bool(one.names & subjects))
    if one.role == "process" and one.who not in subjects:
        return not one.is_of_victim and not (within_device and bool(subjects))
    return True


def _category(one: Observer, subjects: frozenset[int], places: frozenset[str]) -> str:
    if one.role == "process":
        if not subjects and (one.table in _OPERATIONS or one.kind in _WAITED):
            return ""  # that somebody waits says nothing of a host or a link
        own = one.who in subjects or (not subjects and one.host is not None and one.host in places)
        return words.ITSELF if own else words.ITS_PEERS if subjects or places else words.SOME_PROCESSES
    return words.SOURCE.get(one.role, words.A_TOOL)
