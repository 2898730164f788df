"""Whom Kubernetes speaks of: the ranks that run, or should have run, in the pod of an event, as processes know themselves by their pod's name, or whose log is
called after the pod. And whom a cloud speaks of that tells a machine itself that it will be taken: the ranks there."""

from collections import defaultdict

import polars as pl

from forensics.assemble.starts.apart import own_logs
from forensics.model.hosts import hosts_of_ranks, short_host
from forensics.model.told import has_kind
from parsers.schema.event_kinds import POD_LISTED
from parsers.schema.tables import TableName, Tables
from parsers.text.unanimous import unanimous

_OF_PRINTER = '"of": "printer"'
_POD = r'"object": "pod/([^"]{1,253})"'
_NOWHERE = r'"pod": "([^"]{1,253})"'
_LISTED = r'"listed": "([^"]{1,253})"'


def with_named_pods(tables: Tables, identity: pl.DataFrame) -> dict[TableName, pl.DataFrame]:
    """Tables of one attempt → the same; `names_ranks` of what is said of a pod of the job."""
    events = tables["events"]
    is_listed = (pl.col("code") == POD_LISTED).fill_null(False)
    has_list = events.select(is_listed.any()).item()
    if not (has_list or has_kind(events, "scheduler", "missing_members")):
        return dict(tables)
    if has_list:  # whoever printed a list tells nothing of itself
        of_list = pl.col("detail").str.contains(_LISTED).fill_null(False)
        of_whom = (pl.when(~of_list).then(name).alias(name) for name in ("rank", "rank_space"))
        events = events.with_columns(of_whom)
    is_of_printer = (pl.col("kind") == "scheduler") & pl.col("detail").str.contains(_OF_PRINTER, literal=True)
    is_own = (is_of_printer & pl.col("rank").is_not_null()).fill_null(False)
    events = events.with_columns(
        names_ranks=pl.when(is_own).then(pl.concat_list("rank")).otherwise("names_ranks"),
        names_rank_space=pl.when(is_own).then("rank_space").otherwise("names_rank_space"),
    )
    tables = {**tables, "events": events}
    machine = pl.when(pl.col("detail").str.contains(_OF_PRINTER, literal=True)).then("host")
    told_pod = pl.coalesce(pl.col("detail").str.extract(_POD, 1), machine)
    listed = pl.when(is_listed).then(pl.col("detail").str.extract(_LISTED, 1))
    nowhere = pl.when(pl.col("kind") == "missing_members").then(pl.col("detail").str.extract(_NOWHERE, 1))
    pod = pl.when(pl.col("kind") == "scheduler").then(told_pod).otherwise(pl.coalesce(listed, nowhere))
    named = events.select(pod.alias("pod"))["pod"]
    if named.null_count() == len(named):
        return dict(tables)
    ranks: defaultdict[str, list[int]] = defaultdict(list)
    for rank, host in sorted(hosts_of_ranks(identity).items()):
        ranks[host].append(rank)
    pods = named.drop_nulls().unique().to_list()
    called = _told(tables["ranks"], frozenset(pods)) | _called(own_logs(tables), frozenset(pods))
    of_pod = {name: own for name in pods if (own := ranks.get(short_host(name)) or called.get(name))}
    if not of_pod:
        return dict(tables)
    told = pl.DataFrame({"_pod": list(of_pod), "_ranks": list(of_pod.values())}).cast({"_ranks": pl.List(pl.Int64)})
    joined = events.with_columns(named.alias("_pod")).join(told, on="_pod", how="left", maintain_order="left")
    is_new = pl.col("_ranks").is_not_null() & pl.col("names_ranks").is_null()
    filled = joined.with_columns(
        pl.when(is_new).then("_ranks").otherwise("names_ranks").alias("names_ranks"),
        pl.when(is_new).then(pl.lit("global")).otherwise("names_rank_space").alias("names_rank_space"),
    )
    return {**tables, "events": filled.select(events.columns).cast(events.schema)}


def _told(claims: pl.DataFrame, pods: frozenset[str]) -> dict[str, list[int]]:
    """Pod → the one rank that documents tell by that name, though nothing of it ran."""
    named = claims.filter(pl.col("rank").is_not_null()).select("name", "rank").drop_nulls().iter_rows()
    return {name: [rank] for name, rank in unanimous((name, rank) for name, rank in named if name in pods).items()}


def _called(files: pl.DataFrame, pods: frozenset[str]) -> dict[str, list[int]]:
    """Pod → the ranks of files of one rank each that are called as it is, a file or the folder that it lies in."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for file, rank in files.filter(pl.col("rank").is_not_null()).select("file", "rank").iter_rows():
        *folders, name = file.split("/")
        for pod in {name.partition(".")[0], *folders} & pods:
            found[pod].add(rank)
    return {pod: sorted(ranks) for pod, ranks in found.items()}
