"""The store that a rank waits for while it saves or loads a checkpoint, where its log says that it lies at no path of the host (hdfs://,
s3://): a look at the file systems of its host would show nothing of it. It names nobody and raises no status."""

import re

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.facts.rows.event_rows import detail, refs
from forensics.facts.waits.stacks import classify, to_frames
from forensics.model.causes.shared import STORES
from forensics.model.commands import store
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.names import ActionKind
from forensics.model.texts import ranks_text
from forensics.verdict.advice.runbook import with_look
from forensics.words import advice as words

_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]{1,20}://")


def with_store(case: Case, finding: Finding) -> Finding:
    """The finding with the store of the checkpoint that its ranks were at, where the last word of the job about one is that it lies there."""
    if finding.site not in STORAGE_SITES or not finding.ranks or not _is_at_checkpoint(case, finding.ranks[0]):
        return finding
    rows = case.events.filter(
        (pl.col("kind") == "checkpoint_save") & (pl.col("rank").is_null() | pl.col("rank").is_in(finding.ranks))
    )
    last = next(iter(rows.sort("time_ns", "line", descending=True, nulls_last=True).iter_rows(named=True)), None)
    said = detail(last) if last is not None else {}
    url = str(said.get("path") or "")
    if last is None or said.get("phase") != "begin" or not _SCHEME.match(url):
        return finding
    hosts = {case.host_of_rank.get(rank) for rank in finding.ranks}
    text = words.SAVES_TO(who=ranks_text(finding.ranks), url=url)
    host = hosts.pop() if len(hosts) == 1 else None
    command = store(host, url, case.around)
    kind: ActionKind = (
        "check_config" if command is None else "inspect_hardware"
    )  # without its tool, none of the host will do
    look = Action(kind=kind, target=words.STORE_OF(url=url), command=command, reason=words.NOT_ON_A_HOST)
    claims = (*finding.claims, Claim(text, "for", refs([last])))
    return replace(finding, claims=claims, actions=(with_look(look, STORES), *finding.actions))


def _is_at_checkpoint(case: Case, rank: int) -> bool:
    """Does a frame of its stack belong to what saves or loads one?"""
    rows = case.stacks.filter(pl.col("rank") == rank)["frames"].to_list()
    return any(classify([one]).site == "checkpoint_io" for frames in rows for one in to_frames(frames))
