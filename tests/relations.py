"""What must hold between the verdicts on two bundles: bundles as files in memory, and how verdicts are compared."""

import os
import random
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from forensics import analyze
from forensics.model.incident import Verdict
from forensics.model.names import Status
from forensics.model.said import encoded
from forensics.report import Report
from parsers.schema.tables import TableName
from samples.simulator import Fault, Incident, Job, LogForm, Noise, Settings, simulate
from tests import analysed
from tests.analysed import SAMPLES
from tests.relation_additions import Files, Known, stamps

WHOLE = bool(os.environ.get("RELATIONS_WHOLE"))  # `make relations`: all pairs, where the suite takes some
_A = TypeVar("_A")
_B = TypeVar("_B")
_STATUS: tuple[Status, ...] = ("unknown", "hypothesis", "supported", "established")
_JOBS = (
    Job(tp=2, pp=1, dp=2, microbatches=2, steps=2, gpus_per_host=2),
    Job(tp=1, pp=1, dp=6, schedule="zero3", microbatches=1, steps=2, gpus_per_host=2),
    Job(tp=1, pp=2, dp=2, microbatches=2, steps=2, gpus_per_host=1),
    Job(tp=2, pp=2, dp=2, microbatches=2, layers=1, steps=2, gpus_per_host=2),
    Job(tp=1, pp=2, dp=4, ep=2, microbatches=2, layers=1, steps=1, gpus_per_host=4),
)
_FAULTS = (
    "rank_absent", "rank_died", "collective_mismatch", "gpu_fault", "deadlock_cycle", "network_fault", "kernel_stuck",
    "all_entered", "none", "rank_absent", "rank_died", "store_timeout", "slow",
)  # fmt: skip
INCIDENTS = len(_JOBS) * len(_FAULTS)  # each fault in each job once


def pairs(some: Iterable[_A], others: Iterable[_B]) -> list[tuple[_A, _B]]:
    """Each of these with each of those."""
    return [(one, other) for one in some for other in others]


def in_turn(some: Sequence[_A], others: Sequence[_B]) -> list[tuple[_A, _B]]:
    """Each of these and each of those once at least, the same pairs each time: the shorter list goes round. `make relations` takes
    all pairs."""
    if WHOLE:
        return pairs(some, others)
    return [(some[at % len(some)], others[at % len(others)]) for at in range(max(len(some), len(others)))]


@dataclass(frozen=True)
class Outcome:
    """What a bundle comes to: the verdict, and whom any incident of the same attempt names."""

    verdict: Verdict
    named: frozenset[int | str]

    @property
    def suspects(self) -> frozenset[int | str]:
        return frozenset((*self.verdict.suspects.ranks, *self.verdict.suspects.hosts))


def outcome(report: Report) -> Outcome:
    """Report → what is compared."""
    primary = report.incidents[report.primary]
    same = [one.verdict for one in report.incidents if one.attempt == primary.attempt]
    return Outcome(primary.verdict, frozenset(one for verdict in same for one in named(verdict)))


def named(verdict: Verdict) -> set[int | str]:
    """Ranks (numbers) and hosts (names) that a verdict names in any way."""
    devices = {device.host for device in verdict.devices if device.host}
    return {*verdict.ranks, *verdict.cycle, *verdict.hosts, *devices, *(end for link in verdict.links for end in link)}


def broken(base: Outcome, now: Outcome) -> list[str]:
    """How a harmless addition moved the verdict: nobody new is named, whoever was named stays or becomes a suspect, the kind
    stays, the status does not rise."""
    found = newly_named(base, now)
    ranks = {one for one in named(base.verdict) if isinstance(one, int)}
    if gone := ranks - named(now.verdict) - now.suspects:
        found.append(f"neither named nor suspect any more: {sorted(gone)}")
    if base.verdict.kind != now.verdict.kind:
        found.append(f"{base.verdict.kind} becomes {now.verdict.kind}")
    if _STATUS.index(now.verdict.status) > _STATUS.index(base.verdict.status):
        found.append(f"{base.verdict.status} rises to {now.verdict.status}")
    return found


def newly_named(base: Outcome, now: Outcome) -> list[str]:
    """Whom the second names and the first does not."""
    new = now.named - base.named
    return [f"newly named: {sorted(map(str, new))} ({now.verdict.kind}/{now.verdict.cause})"] if new else []


def essence(verdict: Verdict, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """All that a verdict says but for words; hosts renamed by `names`, lists without order."""
    text = msgspec.json.encode(msgspec.structs.replace(verdict, summary="", status_rule=""), enc_hook=encoded).decode()
    return dict(_sorted(msgspec.json.decode(renamed(text, names or {}))))


def renamed(text: str, names: Mapping[str, str]) -> str:
    return re.sub("|".join(map(re.escape, names)), lambda match: names[match[0]], text) if names else text


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    return sorted(map(_sorted, value), key=repr) if isinstance(value, list) else value


# --- bundles -----------------------------------------------------------------------------------------------------------


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a bundle on disk, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def write(files: Files, folder: Path) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def look(files: Files) -> Outcome:
    """What these files come to."""
    return outcome(report_of(files))


def report_of(files: Files) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return analyze(write(files, Path(folder) / "bundle"))


@dataclass(frozen=True)
class Example:
    """A bundle, what it comes to, and what additions may know of it. `incident`: where it is simulated."""

    name: str
    files: Files
    base: Outcome
    known: Known
    incident: Incident | None = None


def example(name: str, files: Files, report: Report, incident: Incident | None = None) -> Example:
    base, printed = outcome(report), stamps(files)
    told = {one for one in named(base.verdict) | base.suspects if isinstance(one, int)}
    seen = sorted(_numbers(report.coverage.ranks_seen))
    when = base.verdict.first_anomaly.time_utc
    at = datetime.fromisoformat(when) if when else printed[-1] if printed else datetime(2026, 3, 2, 4, 5, tzinfo=UTC)
    known = Known(
        tuple(sorted(told)), tuple(rank for rank in seen if rank not in told), tuple(report.coverage.hosts_seen), at,
        printed[0] if printed else None,
    )  # fmt: skip
    return Example(name, files, base, known, incident)


def _numbers(ranges: Iterable[str]) -> set[int]:
    ends = [part.partition("-")[::2] for part in ranges]
    return {rank for first, last in ends for rank in range(int(first), int(last or first) + 1)}


@cache
def sample(name: str) -> Example:
    """A recorded bundle."""
    return example(name, files_of(SAMPLES / name / "bundle"), analysed.sample(name))


@cache
def simulated(number: int) -> Example:
    """A simulated one: four to eight ranks on two to four hosts, every fault and much noise in turn."""
    incident = made(number)
    name, files = f"#{number} {incident.plan.fault.kind} {incident.job.world} ranks", dict(incident.files())
    return example(name, files, report_of(files), incident)


def made(number: int) -> Incident:
    """The incident of this number; where a job has no place for a fault, the next job."""
    rng = random.Random(number)
    lost = rng.choice((0.0, 0.0, 0.2))
    noise = Noise(
        lost_recorders=rng.choice((lost, lost, 1.0)), lost_stacks=rng.choice((0.0, lost, 1.0)), lost_logs=rng.choice((0.0, lost)),
        skew_s=rng.choice((0.0, 3.0)), recorder=Settings(timing=rng.random() < 0.3),
        form=LogForm(told=rng.choice(("world", "groups")), signals=rng.random() < 0.5, counters=rng.random() < 0.5),
    )  # fmt: skip
    for turn in range(len(_JOBS)):
        try:
            return simulate(_JOBS[(number + turn) % len(_JOBS)], Fault(_FAULTS[number % len(_FAULTS)]), number, noise)
        except ValueError:
            continue
    raise LookupError(f"no job has a place for {_FAULTS[number % len(_FAULTS)]}")


def shifted(incident: Incident, hosts: Iterable[str], seconds: float) -> Incident:
    """The same incident, the clocks of these hosts set wrong."""
    skew = {**incident.draw.skew_ns, **{host: int(seconds * 1e9) for host in hosts}}
    return replace(incident, draw=replace(incident.draw, skew_ns=skew))


_RANK_TEXT = re.compile(r"(?<=rank)\d+|(?<=rank_)\d+")


def renumbered(tables: Mapping[TableName, pl.DataFrame], numbers: Mapping[int, int]) -> dict[TableName, pl.DataFrame]:
    """Simulated tables with other global ranks: in columns, in what is printed of them, in names of files."""
    swap = {"old": list(numbers), "new": list(numbers.values())}

    def of(column: str) -> pl.Expr:
        return pl.col(column).replace_strict(swap["old"], swap["new"], default=pl.col(column))

    def told(column: str) -> pl.Expr:
        return pl.col(column).map_elements(lambda text: _RANK_TEXT.sub(_number, text), return_dtype=pl.String)

    def _number(match: re.Match[str]) -> str:
        return str(numbers.get(int(match[0]), int(match[0])))

    result: dict[TableName, pl.DataFrame] = {}
    for name, frame in tables.items():
        texts = [column for column in ("file", "text", "detail") if column in frame.columns]
        changed = [told(column).cast(frame.schema[column]) for column in texts]
        if "rank" in frame.columns:
            is_global = pl.col("rank_space").fill_null("global") == "global" if name == "events" else pl.lit(True)
            changed.append(pl.when(is_global).then(of("rank")).otherwise("rank").alias("rank"))
        if name == "groups":
            members = pl.col("members").list.eval(
                pl.element().replace_strict(swap["old"], swap["new"], default=pl.element())
            )
            changed.append(
                pl.when(pl.col("members_space") == "global").then(members).otherwise("members").alias("members")
            )
        if name == "events":
            names = pl.col("names_ranks").list.eval(
                pl.element().replace_strict(swap["old"], swap["new"], default=pl.element())
            )
            changed.append(
                pl.when(pl.col("names_rank_space") == "global")
                .then(names)
                .otherwise("names_ranks")
                .alias("names_ranks")
            )
        result[name] = frame.with_columns(changed)
    return result
