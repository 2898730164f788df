"""Where the workers stand that a rank waits for: a loader's rank stands at the line that asks for a batch, and what holds that up is in the process
that makes it. It names nobody else and raises no status."""

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.waits.stacks import own_line, to_frames
from forensics.model.commands import COMMANDS, Target
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.ref import Ref
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import advice as words

_PLACES = 2  # that are told; workers that all stand elsewhere are at work


def with_workers(case: Case, finding: Finding) -> Finding:
    """The finding with the job's own innermost lines of the worker processes of its one rank, where it stands in its loader."""
    ranks = finding.ranks or finding.suspect_ranks
    if finding.cause != "rank_absent" or finding.site != "data_loading" or len(ranks) != 1:
        return finding
    is_worker = pl.col("parent_pid").is_not_null() & pl.col("is_main").fill_null(False)
    rows = case.tables["stacks"].filter((pl.col("rank") == ranks[0]) & is_worker)
    at: dict[str, tuple[Ref, Action]] = {}
    for row in rows.sort("file", "line", "pid").iter_rows(named=True):
        own = own_line(row["frames"])
        if own is None or f"{own.file}:{own.line}" in at:
            continue
        file = _whole(case, ranks[0], own.file)
        text = words.WORKER_AT(pid=row["pid"], function=own.function, file=file, line=own.line)
        action = Action(
            kind="check_code", target=f"{file}:{own.line}", command=COMMANDS["source"](Target(file=file, line=own.line)), reason=text,
            look=words.WHAT_LINE_WAITS_FOR, then=words.SET_IT_FREE, source="py-spy README: dump --subprocesses",
        )  # fmt: skip
        at[f"{own.file}:{own.line}"] = Ref(file=str(row["file"]), line=row["line"], text=str(text)), action
    if not 0 < len(at) <= _PLACES:
        return finding
    told = words.ITS_WORKERS(who=ranks_text(ranks), what=joined([action.reason for _, action in at.values()], "; "))
    return replace(
        finding,
        claims=(*finding.claims, Claim(told, "for", tuple(ref for ref, _ in at.values()))),
        actions=(*(action for _, action in at.values()), *finding.actions),
    )


def _whole(case: Case, rank: int, file: str) -> str:
    """The whole path of a file that a sampler cut short, where another stack of that rank has one that ends so."""
    stacks = case.tables["stacks"].filter(pl.col("rank") == rank)
    known = {frame.file for frames in stacks["frames"].to_list() for frame in to_frames(frames) if frame.file}
    found = {path for path in known if path.startswith("/") and path.endswith(f"/{file}")}
    return found.pop() if len(found) == 1 else file
