"""What was looked at and found clean, for a run that is well or of which nobody knows: each sort of evidence that the bundle
holds, how much of it there is, and what it shows. What is not clean is no part of it: symptoms, claims and complaints say that.
"""

from collections.abc import Collection, Iterator

import polars as pl

from forensics.case import Case
from forensics.facts.hosts.checks import host_checks
from forensics.facts.rows.event_rows import of_kinds
from forensics.graph.numerics.tensor_ops import read_rows
from forensics.graph.numerics.tensor_rules import EQUAL_OUTPUTS
from forensics.model.hosts import short_host
from forensics.model.incident import Checked
from forensics.model.names import Kind
from forensics.model.said import Said
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import ranks_text
from forensics.verdict.told.complaints import complaints
from forensics.words import checked as words

_OF_KERNELS = ("kernel_log", "bug_report")  # parsers of whole logs of kernels
_PEERS = 3  # ranks, and steps, that can be compared
_OF_ROUNDING = 2.0  # ms, where all figures are whole
_FAR, _PART = 0.1, 0.05  # of the others' time; of all phases of a step
_FAILURES = [kind for kind, row in EVENTS.items() if {"failure", "victim"} & set(row.roles)]
_GRAVE = pl.col("severity").is_in(["error", "fatal"])


def checked(case: Case, found: Collection[Kind]) -> list[Checked]:
    """`found`: the kinds of incident that any finding of this attempt speaks of; what speaks of one is not clean."""
    clean = [*(_numbers(case) if "numerics" not in found else ()), *(_times(case) if "slow" not in found else ())]
    return [*clean, *_waits(case), *_told(case), *_hardware(case), *_checkpoints(case), *_lines(case)]


def _row(what: words.What, scope: Said, result: Said) -> Checked:
    return Checked(what=words.WHAT[what], scope=scope, result=result)


def _numbers(case: Case) -> Iterator[Checked]:
    tensors = case.tables["tensors"]
    if tensors.height:
        rows = read_rows(tensors).frame
        told = rows.filter(pl.col("bad").is_not_null())
        ranks, steps = words.RANKS(told["rank"].n_unique()), words.STEPS(told["step"].n_unique())
        scope = words.WITH(all=words.TIMES(one=ranks, other=steps), more=words.TENSORS(told.height))
        bad = told.filter(pl.any_horizontal("nan", "inf", "bad").fill_null(False)).height  # masks may hold -Inf
        if told.height:
            yield _row("tensors", scope, words.NONE_PASSED_ON(number=f"{bad:,}") if bad else words.FINITE)
        yield from _replicas(rows)
    logged = case.tables["steps"]
    values = pl.concat([logged["loss"], logged["grad_norm"]]).drop_nulls()
    hidden = logged.filter((pl.col("nan_iterations") > 0).fill_null(False) | (~pl.col("loss_seen")).fill_null(False))
    is_told_bad = hidden.height or of_kinds(case.events, "bad_loss", "nan_assert").height
    if len(values) and bool(values.is_finite().all()) and not is_told_bad:
        left_out = logged.filter(pl.col("skipped") > 0)
        last = left_out["step"].max()
        found = words.FINITE if last is None else words.LEFT_OUT(finite=words.FINITE, step=last)
        yield _row("steps", _up_to(logged), found)


def _replicas(rows: pl.DataFrame) -> Iterator[Checked]:
    """Outputs of one call that must be equal; the detector that compares them said nothing."""
    same = rows.filter(
        pl.col("kind").is_in(list(EQUAL_OUTPUTS)) & pl.col("group_ranks").is_not_null() & ~pl.col("inferred")
        & (pl.col("absmax").is_not_null() | pl.col("checksum").is_not_null())
    )  # fmt: skip
    calls = same.group_by("step", "kind", "group_ranks", "module", "call").agg(pl.col("rank").n_unique())
    if number := calls.filter(pl.col("rank") > 1).height:
        yield _row("replicas", words.CALLS(number), words.EQUAL)


def _up_to(steps: pl.DataFrame) -> Said:
    ranks = steps["rank"].drop_nulls().unique().to_list()
    who, last = ranks_text(ranks) if ranks else words.LINES(steps.height), steps["step"].max()
    return who if last is None else words.UP_TO(who=who, step=last)


def _times(case: Case) -> Iterator[Checked]:
    times, slow = case.phase_times, case.slow_phases
    parts = times.filter(pl.col("sort") != "whole")  # steps are equally long whoever is slow
    compared = min(parts["rank"].n_unique(), parts["step"].n_unique()) >= _PEERS
    if compared and not (slow.slower or slow.late or slow.waits or slow.whole):
        scope = words.TIMES(one=words.RANKS(parts["rank"].n_unique()), other=words.STEPS(parts["step"].n_unique()))
        result = _apart(parts) or words.NOBODY_STANDS_OUT
        yield _row("phases", words.WITH(all=scope, more=words.PHASES(parts["phase"].n_unique())), result)
    devices = case.tables["devices"].filter(pl.col("quantity").is_not_null())
    if devices.height and not case.apart:
        known = devices.select("host", "pci", "device_index", "uuid").unique().height
        scope = words.TIMES(one=words.DEVICES(known), other=words.QUANTITIES(devices["quantity"].n_unique()))
        yield _row("devices", scope, words.NO_DEVICE_STANDS_OUT)


def _apart(parts: pl.DataFrame) -> Said | None:
    """Who differs most from the others, though no detector says what that means; null where all are alike."""
    is_rounded = (pl.col("ms") == pl.col("ms").round()).all().over("phase").alias("rounded")
    by_rank = parts.with_columns(is_rounded).group_by("phase", "rank")
    own = by_rank.agg(pl.col("ms").median(), pl.col("rounded").first(), n=pl.len()).filter(pl.col("n") >= _PEERS)
    own = own.filter(pl.col("rank").n_unique().over("phase") >= _PEERS)
    own = own.with_columns(most=pl.col("ms").median().over("phase"))
    own = own.with_columns(by=pl.col("ms") - pl.col("most"))
    step = float(own.group_by("phase").agg(pl.col("most").first())["most"].sum())
    far = own.filter((pl.col("by").abs() > _FAR * pl.col("most")) & (pl.col("by").abs() > _PART * step))
    far = far.filter(~pl.col("rounded") | (pl.col("by").abs() > _OF_ROUNDING))
    if not far.height:
        return None
    lead = far.sort(pl.col("by").abs(), "phase", "rank", descending=[True, False, False]).row(0, named=True)
    is_as_far = (pl.col("ms") - lead["ms"]).abs() <= _FAR * abs(lead["by"])
    who = sorted(far.filter((pl.col("phase") == lead["phase"]) & is_as_far)["rank"].to_list())
    form = words.STANDS_OUT if len(who) == 1 else words.STAND_OUT_ALIKE
    return form(who=ranks_text(who), phase=lead["phase"], own=f"{lead['ms']:.4g}", most=f"{lead['most']:.4g}")


def _waits(case: Case) -> Iterator[Checked]:
    operations = case.tables["operations"].select("rank", "state", "retired")
    recorded = operations["rank"].drop_nulls().unique().to_list()
    is_open = (pl.col("state") != "completed").fill_null(True) & ~pl.col("retired").fill_null(False)
    if recorded and not operations.filter(is_open).height and not case.states.open.height and not _are_uneven(case):
        yield _row("records", ranks_text(recorded), words.NOTHING_OPEN)
    sampled = case.stacks.filter(pl.col("source") != "traceback")["rank"].drop_nulls().unique().to_list()
    if len(sampled) > 1 and not {rank for rank, status in case.waits.status.items() if status in ("held", "vague")}:
        yield _row("stacks", ranks_text(sampled), words.NOBODY_WAITS)


def _are_uneven(case: Case) -> bool:
    """Do some members of a group show a later call than others? Then something is open, or was not recorded."""
    calls = case.tables["operations"].drop_nulls(["rank", "seq"])
    last = calls.group_by("group", "rank").agg(pl.col("seq").max())
    return last.group_by("group").agg(pl.col("seq").n_unique())["seq"].max() not in (None, 1)


def _told(case: Case) -> Iterator[Checked]:
    """What tools, launchers' counters and schedulers say, where none of it is trouble."""
    counters = case.tables["progress"].drop_nulls("rank")
    newest = counters.group_by("pg_id", "group", "rank").agg(pl.col("last_enqueued", "last_completed").max())
    is_even = (newest["last_enqueued"] == newest["last_completed"]).fill_null(False).all()
    groups = newest.group_by("pg_id", "group").agg(pl.col("last_completed").n_unique())
    if newest.height and is_even and bool((groups["last_completed"] == 1).all()):
        yield _row("counters", ranks_text(newest["rank"].to_list()), words.ALL_ALIKE)
    sources: tuple[tuple[words.What, str], ...] = (("ras", "ras_status"), ("scheduler", "scheduler"))
    for what, kind in sources:
        rows = case.tables["events"].filter(pl.col("kind") == kind)
        if rows.height and bool((rows["severity"].fill_null("warning") == "info").all()):
            yield _row(what, words.ENTRIES(rows.height), words.NO_TROUBLE_TOLD)


def _hardware(case: Case) -> Iterator[Checked]:
    files, events = case.tables["files"], case.tables["events"]
    logs = files.filter(pl.col("parsers").list.set_intersection(list(_OF_KERNELS)).list.len() > 0)["file"].to_list()
    printed = [kind for kind, row in EVENTS.items() if row.printer == "kernel"]
    hosts = {short_host(host) for host in files.filter(pl.col("file").is_in(logs))["host"].drop_nulls()}
    hosts |= {short_host(host) for host in events.filter(pl.col("file").is_in(logs))["host"].drop_nulls()}
    bad = events.filter(pl.col("kind").is_in(printed) & _GRAVE)
    failed = {short_host(host) if host else None for host in bad["host"]}
    if clean := sorted(hosts - failed) if None not in failed else []:
        job = case.job_hosts | hosts
        yield _row("kernel", words.OF_HOSTS(some=len(clean), hosts=words.HOSTS(len(job))), words.NOTHING_GRAVE)
    checks = host_checks(events)
    if checks and not any(one.failed for one in checks.values()):
        yield _row("checks", words.HOSTS(len(checks)), words.PASSED)


def _checkpoints(case: Case) -> Iterator[Checked]:
    known = case.checkpoints
    if known.complete and not known.saved.unfinished and not known.stored.unfinished and not case.lost_parts:
        last = max(one.step for one in known.complete)
        yield _row("checkpoints", words.UP_TO_STEP(step=last), words.COMPLETE(number=len(known.complete)))


def of_no_form(case: Case) -> tuple[int, int, int]:
    """Files of lines, their lines, and how many of these no parser has read."""
    files = case.tables["files"].filter(pl.col("lines") > 0)
    lines = int(files["lines"].sum())
    return files.height, lines, max(lines - int(files["recognised"].sum()), 0)


def _lines(case: Case) -> Iterator[Checked]:
    files, lines, unknown = of_no_form(case)
    failed = case.tables["events"].filter(pl.col("kind").is_in(_FAILURES) & _GRAVE)
    if not lines or failed.height or complaints(case):
        return
    scope = words.WITH(all=words.LINES(lines), more=words.FILES(files))
    yield _row("lines", scope, words.BUT_UNKNOWN(unknown=f"{unknown:,}") if unknown else words.NO_FAILURE_LINE)
