"""The storage that a rank waits for. What the kernel says of it: the server that does not answer is what is to be looked at, before any line of the
program. And where the job's log says that the checkpoint lies at no path of the host (hdfs://, s3://), a look at the file systems of the host
would show nothing of it. Neither names anybody or raises a status."""

import re

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.storage_waits import STORAGE_SITES
from forensics.facts.rows.event_rows import Row, detail, host_of, refs
from forensics.facts.waits.stacks import classify, to_frames
from forensics.model.causes.shared import STORES
from forensics.model.commands import file_server, store
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Action
from forensics.model.names import ActionKind
from forensics.model.texts import ranks_text
from forensics.verdict.advice.runbook import with_look
from forensics.words import advice
from forensics.words import verdict as words

_SITES = (*STORAGE_SITES, "data_loading")
_SCHEME = re.compile(r"(?!file:)[a-z][a-z0-9+.-]{1,20}://")


def with_file_server(case: Case, finding: Finding) -> Finding:
    """The finding with the file server that the kernel of its host complains of, where its ranks stand in storage."""
    if finding.site not in _SITES or not finding.subjects:
        return finding
    homes = (case.host_of_rank[rank] for rank in finding.subjects if rank in case.host_of_rank)
    own = {short_host(host) for host in (*homes, *finding.places)}
    told: dict[tuple[str, str], list[Row]] = {}
    for row in case.blocked:
        server, host = detail(row).get("server"), host_of(case.identity, row)
        if row["kind"] == "storage_error" and isinstance(server, str) and host:
            told.setdefault((server, host), []).append(row)
    # Where it runs is not known: then the one host that complains is its, if every rank may be there.
    there = {key: rows for key, rows in told.items() if (key[1] in own if own else {key[1]} >= case.job_hosts)}
    if len(there) != 1:
        return finding
    [((server, host), rows)] = there.items()
    look = Action(
        kind="inspect_hardware", target=words.FILE_SERVER(server=server, host=host),
        command=file_server(host, server), reason=words.DOES_NOT_ANSWER, look=advice.LOOK_AT_SERVER, then=advice.THEN_OF_SERVER,
        source="nfs(5), rpcinfo(8)",
    )  # fmt: skip
    text = words.SERVER_IS_SILENT(server=server, host=host)
    return replace(finding, claims=(*finding.claims, Claim(text, "for", refs(rows))), actions=(look, *finding.actions))


def with_store(case: Case, finding: Finding) -> Finding:
    """The finding with the store of the checkpoint that its ranks were at, where the last word of the job about one is that it lies there."""
    if finding.site not in STORAGE_SITES or not finding.ranks or not _is_at_checkpoint(case, finding.ranks[0]):
        return finding
    is_theirs = pl.col("rank").is_null() | pl.col("rank").is_in(finding.ranks)
    rows = case.events.filter((pl.col("kind") == "checkpoint_save") & is_theirs)
    last = next(iter(rows.sort("time_ns", "line", descending=True, nulls_last=True).iter_rows(named=True)), None)
    said = detail(last) if last is not None else {}
    url = str(said.get("path") or "")
    if last is None or said.get("phase") != "begin" or not _SCHEME.match(url):
        return finding
    hosts = {case.host_of_rank.get(rank) for rank in finding.ranks}
    text = advice.SAVES_TO(who=ranks_text(finding.ranks), url=url)
    host = hosts.pop() if len(hosts) == 1 else None
    command = store(host, url, case.around)  # without its own tool, no tool of the host will do
    kind: ActionKind = "check_config" if command is None else "inspect_hardware"
    look = Action(kind=kind, target=advice.STORE_OF(url=url), command=command, reason=advice.NOT_ON_A_HOST)
    claims = (*finding.claims, Claim(text, "for", refs([last])))
    return replace(finding, claims=claims, actions=(with_look(look, STORES), *finding.actions))


def _is_at_checkpoint(case: Case, rank: int) -> bool:
    """Does a frame of its stack belong to what saves or loads one?"""
    rows = case.stacks.filter(pl.col("rank") == rank)["frames"].to_list()
    return any(classify([one]).site == "checkpoint_io" for frames in rows for one in to_frames(frames))
