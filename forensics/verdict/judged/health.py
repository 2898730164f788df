"""Did the run end well, or is nothing wrong as far as proof goes?

Needs proof: completions are seen, all members agree, nothing is open, and no process of the job says that it failed. A run
whose every rank says that it ended well did, whatever else was printed. Quiet is not the same as well. What a run lost that
ended well, a part of a checkpoint or ranks that it went on without, is said first.
"""

from collections.abc import Collection, Iterable, Iterator

import polars as pl

from forensics.assemble.ends.closings import of_other_processes
from forensics.case import Case
from forensics.facts.ends.ended_agents import ended_steps
from forensics.facts.figures.lost_parts import left_behind, shown
from forensics.facts.rows.event_rows import Row, refs
from forensics.facts.waits.records import UNRECORDED_P2P
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.ref import Ref
from forensics.model.said import Said, capital, joined
from forensics.model.taxonomy import EVENTS
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import health as words
from parsers.schema.tables import spelled

_QUOTED = 120
_FAILURES = (
    *(kind for kind, row in EVENTS.items() if row.printer != "kernel" and {"failure", "victim"} & set(row.roles)),
    "desync", "fingerprint_mismatch", "heartbeat_lost", "completion_error", "nan_assert", "dump_signal", "closing_signal",
)  # fmt: skip


def healthy(case: Case) -> Finding | None:
    """A finding where it is proven."""
    if not case.ended_well and (_failed(case) or _is_held(case)):
        return None
    completed = _completions(case)
    if not completed:
        return None
    proof, lost = joined(list(completed)[:2], ", "), (*_parts(case), *_ranks(case))
    said = joined([capital(one.text) if not at else one.text for at, (one, _) in enumerate(lost)], "; ")
    return Finding(
        detector="health",
        claims=(*(claim for claim, _ in lost), *completed.values(), *_pace(case)),
        undecided=("no_hang",),
        actions=tuple(action for _, action in lost),
        summary=words.ENDED_WITH_LOSS(lost=said, proof=proof) if lost else words.NO_FAULT_FOUND(proof=proof),
    )


def _parts(case: Case) -> Iterator[tuple[Claim, Action]]:
    """Parts of checkpoints that were never stored, by their own writers' word."""
    parts = case.lost_parts
    if not parts:
        return
    step, ranks = shown(parts)
    rows = [part.row for part in parts if part.step == step]
    who = ranks_text(ranks) if ranks else words.A_WRITER
    form = words.PART_LOST_OF if step is not None else words.PART_LOST
    text = form(step=step, who=who, line=cut_middle(" ".join(str(rows[0]["text"]).split()), _QUOTED))
    target = words.CHECKPOINT_OF(step=step) if step is not None else words.NEWEST_CHECKPOINT
    action = Action(kind="check_data", target=target, command=None, reason=words.NOT_WHOLE)
    yield Claim(text, "for", refs(rows)), action


def _ranks(case: Case) -> Iterator[tuple[Claim, Action]]:
    """Ranks that the run went on without."""
    steps = case.tables["steps"].filter(pl.col("rank").is_not_null() & pl.col("step").is_not_null())
    last = steps.filter(pl.col("step") == pl.col("step").max())["rank"].unique().to_list()
    lost = left_behind(steps, [rank for rank, end in case.ends.items() if end.how == "ended"] or last)
    if not lost:
        return
    rows = steps.sort("file", "line").filter(pl.col("rank").is_in(list(lost)))
    rows = rows.unique("rank", keep="last", maintain_order=True).head(3)
    places = tuple(map(_step_ref, rows.iter_rows(named=True)))
    who = ranks_text(lost)
    text = words.WENT_ON_WITHOUT(who=who, step=max(lost.values()), last=steps["step"].max())
    action = Action(kind="collect_more", target=words.WHY_LOST(who=who), command=None, reason="")
    yield Claim(text, "for", places), action


def _step_ref(row: Row) -> Ref:
    return Ref(file=row["file"], line=row["line"], text=f"step {row['step']}")


def _pace(case: Case) -> list[Claim]:
    """Steps are equally long on all ranks whoever is slow: all wait for it."""
    times = case.phase_times
    whole = times.filter(pl.col("sort") == "whole").sort("rank", "step")
    if whole["rank"].n_unique() < 2 or times["sort"].n_unique() > 1:
        return []
    file, line, name = whole.select("file", "line", "name").row(0)
    return [Claim(words.PACE_UNKNOWN, "unseen", (Ref(file=file, line=line, text=name),))]


def _failed(case: Case) -> bool:
    failures = case.events.filter(
        pl.col("kind").is_in(_FAILURES) & (pl.col("severity").is_null() | (pl.col("severity") != "info"))
        & ~(pl.col("kind").is_in(["exit", "first_failure"]) & (pl.col("code") == "0"))
        & ~of_other_processes(case.tables["steps"], case.identity)
    )  # fmt: skip
    return failures.height > 0 or any(end.how != "ended" for end in case.ends.values())


def of_another(case: Case, ranks: Collection[int], told: Iterable[Ref]) -> bool:
    """Is what these places tell, of no rank, said of processes that are none of the job's?"""
    others = case.events.filter(of_other_processes(case.tables["steps"], case.identity)).select("file", "line")
    return not ranks and {(ref.file, ref.line) for ref in told} <= {*spelled(others).iter_rows()}


def _completions(case: Case) -> dict[Said, Claim]:
    """What proves that work was completed: in a few words, and in full."""
    claims = {}
    ended = [rank for rank, end in case.ends.items() if end.how == "ended"]
    ends = case.events.filter(pl.col("kind") == "job_end").sort("file", "line")
    if ended:
        places = [ref for rank in ended[:3] for ref in case.ends[rank].refs[:1]]
        who: str = words.PROCESSES(len(ended))
        if case.is_world_told and len(case.expected) > len(ended):
            who = words.PROCESSES_OF_ALL(some=len(ended), size=len(case.expected))
        text = words.REPORTED_NORMAL_END(processes=who)
        claims[words.ENDED_NORMALLY(processes=who)] = Claim(text, "for", tuple(places))
    elif agents := case.ended_agents:
        text = words.LAUNCHERS_SAW_NORMAL_END(launchers=words.LAUNCHERS_SAY(len(agents)))
        claims[text] = Claim(text, "for", refs(agents))
    elif told := ended_steps(case.events):
        which = words.ITS_STEP if len(told) == 1 else words.ALL_STEPS(number=len(told))
        text = words.SCHEDULER_SAW_STATUS_0(which=which)
        claims[text] = Claim(text, "for", refs(told))
    elif ends.height:
        lines = refs(ends.iter_rows(named=True), 3)
        claims[words.JOB_SAYS_IT_ENDED] = Claim(words.LINE_SAYS_JOB_ENDED, "for", lines)
    steps = case.tables["steps"].filter(pl.col("step").is_not_null()).sort("step", "file", "line")
    last = steps.group_by("rank").agg(pl.col("step").max())["step"]
    if len(last) and last.n_unique() == 1 and (ended or ends.height):
        text = words.ALL_COMPLETED_STEP(step=last[0])
        claims[words.LAST_STEP(step=last[0])] = Claim(text, "for", (_step_ref(steps.row(-1, named=True)),))
    if case.states.counters.height and not case.states.open.height:
        agree = case.states.counters.group_by("gid").agg(
            pl.col("completed").n_unique(), (pl.col("completed") == pl.col("enqueued")).all().alias("even")
        )
        if bool((agree["completed"] == 1).all()) and bool(agree["even"].all()):
            claims[words.SAME_OPERATIONS] = Claim(words.MEMBERS_AGREE, "for", _records(case))
    return claims


def _records(case: Case) -> tuple[Ref, ...]:
    recorded = case.tables["operations"].select("rank", "file", "record", "kind", "seq", "state")
    done = recorded.filter(pl.col("record").is_not_null() & (pl.col("state") == "completed"))
    last = done.sort("rank", "file", "record").unique("rank", keep="last", maintain_order=True).head(3)
    return tuple(
        Ref(file=file, line=record, text=f"rank {rank}: {kind} {seq}, {state}")
        for rank, file, record, kind, seq, state in last.iter_rows()
    )


def _is_held(case: Case) -> bool:
    """Whether a record shows that somebody waits. A stack in communication is a moment of a running job, unless the
    backend keeps no record of sends and receives."""
    blind = bool(case.states.groups["backend"].is_in(UNRECORDED_P2P).any())
    waiting = {rank for rank, status in case.waits.status.items() if status in ("held", "vague")}
    ended = any(end.how == "ended" for end in case.ends.values())
    return bool(waiting if blind and not ended else waiting - case.waits.by_stack)
