"""What the page draws, computed from a case and the finding that became the verdict: timeline, grid, graph, stacks,
collectives, hardware. Reports only lay it out."""

from typing import Any, Literal

import polars as pl

from forensics.case import Case
from forensics.coverage import iso
from forensics.facts.process_ends import reference
from forensics.graph.operations import Operation, describe, group_name
from forensics.graph.stacks import classify, to_frames
from forensics.model.finding import Finding
from forensics.model.incident import (
    CollectiveRow,
    GraphEdge,
    GraphNode,
    GridCell,
    GridHost,
    HardwareRow,
    RankState,
    Ref,
    StackClass,
    TimelineItem,
    Views,
    ranges,
)

_TIMELINE, _NODES, _ROWS = 40, 30, 200
_QUIET = ("comm_init_start", "comm_init_complete", "comm_destroy", "job_start", "other", "link_up")
_SYSTEM = (
    "gpu_error",
    "gpu_lost",
    "port_error",
    "link_down",
    "link_up",
    "pcie_error",
    "memory_error",
    "soft_lockup",
    "hung_task",
    "host_oom",
    "storage_error",
    "segfault",
)


def _state(case: Case, finding: Finding, rank: int) -> RankState:
    if rank in finding.ranks or rank in finding.cycle:
        return "dead" if rank in case.ends and case.ends[rank].how == "died" else "culprit"
    if rank in finding.suspect_ranks:
        return "suspect"
    if rank not in case.seen:
        return "no_data"
    if case.waits is not None and case.waits.status.get(rank) in ("held", "vague"):
        return "waiting"
    return "ok"


def _grid(case: Case, finding: Finding) -> tuple[list[GridCell], list[GridHost]]:
    everyone = sorted(case.expected | case.seen | set(finding.ranks) | set(finding.suspect_ranks))
    by_state: dict[RankState, list[int]] = {}
    for rank in everyone:
        by_state.setdefault(_state(case, finding, rank), []).append(rank)
    cells = [GridCell(state=state, ranks=ranges(ranks)) for state, ranks in sorted(by_state.items())]
    hosts: dict[str, list[int]] = {}
    for rank, host in case.identity.select("rank", "host").iter_rows() if case.identity.height else ():
        if host:
            hosts.setdefault(host, []).append(rank)
    return cells, [GridHost(host=host, ranks=ranges(ranks)) for host, ranks in sorted(hosts.items())]


def _timeline(case: Case, finding: Finding) -> list[TimelineItem]:
    """Events with a time, equal ones folded, the earliest of each shown; last training step first."""
    events = _each_line_once(case.tables["events"]).filter(
        pl.col("time_ns").is_not_null() & ~pl.col("kind").is_in(_QUIET) & (pl.col("time_basis") != "boot")
    )
    folded = (
        events.sort("time_ns", "file", "line")
        .group_by("kind", "code", maintain_order=True)
        .agg(
            pl.len().alias("count"),
            pl.col("rank").alias("ranks"),
            pl.first("time_ns", "time_basis", "text", "file", "line", "record"),
        )
        .sort("time_ns", "kind", "code")
    )
    items = [_last_steps(case)] if case.tables["steps"]["time_ns"].drop_nulls().len() else []
    culprits = {*finding.ranks, *finding.cycle}
    for row in folded.head(_TIMELINE - 1).iter_rows(named=True):
        ranks = {rank for rank in row["ranks"] if rank is not None}
        lane: Literal["culprit", "peers", "system"] = (
            "system" if row["kind"] in _SYSTEM else "culprit" if ranks and ranks <= culprits else "peers"
        )
        label = row["kind"].replace("_", " ") + (f" {row['code']}" if row["code"] else "")
        items.append(
            TimelineItem(
                time_utc=iso(row["time_ns"]) or "",
                basis=row["time_basis"],
                lane=lane,
                label=label,
                count=row["count"],
                ranks=ranges(ranks),
                ref=reference(row),
            )
        )
    return sorted(items, key=lambda item: (item.time_utc, item.label))


def _each_line_once(events: pl.DataFrame) -> pl.DataFrame:
    """Events without the second one of a host's line that means two things: an error, and a device that is lost."""
    twice = pl.col("kind").is_in(_SYSTEM) & pl.col("line").is_not_null() & pl.col("text").is_not_null()
    once = events.filter(twice).unique(["file", "line", "text", "pci", "pid"], keep="first", maintain_order=True)
    return pl.concat([events.filter(~twice.fill_null(False)), once])


def _last_steps(case: Case) -> TimelineItem:
    steps = case.tables["steps"].filter(pl.col("time_ns").is_not_null() & pl.col("step").is_not_null())
    last = steps.filter(pl.col("step") == pl.col("step").max()).sort("time_ns", "file", "line")
    row = last.row(-1, named=True)
    text = f"step {row['step']} completed"
    return TimelineItem(
        time_utc=iso(row["time_ns"]) or "",
        basis=row["time_basis"],
        lane="peers",
        label=text,
        count=last.height,
        ranks=ranges(last["rank"].drop_nulls().to_list()),
        ref=Ref(file=row["file"], line=row["line"], text=text),
    )


def _base(label: str) -> str:
    return label.split(" (")[0]


def _graph(case: Case, finding: Finding) -> tuple[list[GraphNode], list[GraphEdge], list[str]]:
    """Classes of ranks and of operations: operations alike in kind, group description and the roots that they need."""
    if case.waits is None or case.states is None or not case.states.open.height:
        return [], [], []
    graph = case.waits.graph
    roots = {*finding.ranks, *finding.cycle, *finding.suspect_ranks}
    operations = describe(case.states, case.states.open["op"].unique().to_list())
    op_class: dict[str, str] = {}
    classes: dict[str, list[Operation]] = {}
    for op, operation in sorted(operations.items()):
        needs = ranges(rank for _, rank in graph.successors(("op", op)) if rank in roots)
        kind = "send/recv" if op.startswith("p2p:") else operation.kind
        key = f"{kind} on {_base(operation.group)}|{needs if len(needs) < 60 else 'many'}"
        op_class[op] = key
        classes.setdefault(key, []).append(operation)
    rank_class: dict[int, str] = {}
    members: dict[str, list[int]] = {}
    for node in graph:
        if node[0] != "rank":
            continue
        rank = node[1]
        state = _state(case, finding, rank)
        held = ",".join(sorted({op_class[op] for _, op in graph.successors(node)}))
        if state in ("ok", "no_data") and not graph.degree(node):
            continue
        key = f"{state}|{held}"
        rank_class[rank] = key
        members.setdefault(key, []).append(rank)
    edges: dict[tuple[str, str], tuple[str, bool]] = {}
    for a, b, data in graph.edges(data=True):
        source = rank_class[a[1]] if a[0] == "rank" else op_class[a[1]]
        target = rank_class[b[1]] if b[0] == "rank" else op_class[b[1]]
        label, certain = edges.get((source, target), (data["state"], True))
        edges[(source, target)] = (label, certain and data["certain"])
    nodes = [_rank_node(key, ranks) for key, ranks in sorted(members.items())] + [
        _op_node(key, ops) for key, ops in sorted(classes.items())
    ]
    notes = [f"showing {_NODES} of {len(nodes)} classes in the graph"] if len(nodes) > _NODES else []
    order = sorted(
        nodes, key=lambda node: (node.state not in ("culprit", "suspect", "dead"), node.kind, -len(node.ranks), node.id)
    )
    kept = {node.id for node in order[:_NODES]}
    drawn = [
        GraphEdge(source=s, target=t, label="in" if label == "in" else label, certain=certain)
        for (s, t), (label, certain) in sorted(edges.items())
        if s in kept and t in kept
    ]
    return [node for node in nodes if node.id in kept], drawn, notes


def _rank_node(key: str, ranks: list[int]) -> GraphNode:
    state = key.split("|")[0]
    label = ("rank " if len(ranks) == 1 else f"{len(ranks)} ranks: ") + ranges(ranks)
    return GraphNode(
        id=key,
        kind="ranks",
        label=label if len(label) < 40 else f"{len(ranks)} ranks",
        ranks=ranges(ranks),
        state=state,
        detail=state,
    )


def _op_node(key: str, operations: list[Operation]) -> GraphNode:
    first = operations[0]
    mismatch = any(len({call.signature for call in op.calls}) > 1 for op in operations)
    label = (
        f"{first.kind} {first.group} #{first.seq}"
        if len(operations) == 1
        else f"{len(operations)} × {key.split('|')[0]}"
    )
    everyone = ranges(rank for op in operations for rank in op.all_ranks)
    return GraphNode(
        id=key,
        kind="operation",
        label=label,
        ranks=everyone,
        state="mismatch" if mismatch else "open",
        detail="; ".join(op.label for op in operations[:4]),
    )


def _stacks(case: Case) -> list[StackClass]:
    """Equal stacks of main threads, rarest first."""
    if not case.stacks.height:
        return []
    classes: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in case.stacks.sort("rank", "host", "pid", "file", "line").iter_rows(named=True):
        key = tuple(frame.text() for frame in to_frames(row["frames"]))
        classes.setdefault(key, []).append(row)
    result = []
    for key, rows in sorted(classes.items(), key=lambda item: (sum(int(row["count"]) for row in item[1]), item[0]))[
        :_ROWS
    ]:
        site = classify(to_frames(rows[0]["frames"]))
        top = site.frame.text() if site.frame else key[0]
        place = rows[0]["line"] if rows[0]["line"] is not None else rows[0]["record"]
        result.append(
            StackClass(
                site=str(rows[0]["site"]) + (f": {site.op}" if site.op else ""),
                count=sum(int(row["count"]) for row in rows),
                ranks=ranges(row["rank"] for row in rows if row["rank"] is not None),
                top=top,
                frames=list(key),
                ref=Ref(file=str(rows[0]["file"]), line=place, text=top),
            )
        )
    return result


def _collectives(case: Case) -> list[CollectiveRow]:
    """Per group: classes of ranks by how far they came, groups with disagreement or open operations first."""
    states = case.states
    if states is None or not states.counters.height:
        return []
    names = {
        row["gid"]: (group_name(row["group"], row["desc"]), ranges(row["members"]))
        for row in states.groups.iter_rows(named=True)
    }
    held = states.open.select(
        "rank",
        "gid",
        pl.concat_str([pl.col("kind"), pl.lit(" "), pl.col("seq").cast(pl.String)]).alias("open_op"),
        "seq",
    ).unique(["rank", "gid"], keep="first")
    rows = states.counters.join(held, on=["rank", "gid"], how="left")
    classes = rows.group_by("gid", "enqueued", "completed", "open_op", "seq").agg(pl.col("rank").sort())
    width = classes.group_by("gid").agg(
        pl.len().alias("classes"),
        pl.col("open_op").is_not_null().any().alias("is_open"),
        pl.col("enqueued").max().alias("front"),
    )
    joined = classes.join(width, on="gid").sort(
        ["is_open", "classes", "gid", "enqueued"], descending=[True, True, False, False]
    )
    return [
        CollectiveRow(
            group=names[row["gid"]][0],
            members=names[row["gid"]][1],
            seq=row["seq"],
            ranks=ranges(row["rank"]),
            last_enqueued=row["enqueued"],
            last_completed=row["completed"],
            open_op=row["open_op"],
            mark="behind" if (row["enqueued"] or 0) < (row["front"] or 0) else None,
        )
        for row in joined.head(_ROWS).iter_rows(named=True)
    ]


def _hardware(case: Case, finding: Finding) -> list[HardwareRow]:
    events = _each_line_once(case.tables["events"]).filter(pl.col("kind").is_in(_SYSTEM))
    events = events.sort("time_ns", "file", "line", nulls_last=True)
    by_host: dict[str, list[int]] = {}
    for rank, host in case.identity.select("rank", "host").iter_rows() if case.identity.height else ():
        by_host.setdefault(host, []).append(rank)
    culprits = {*finding.ranks, *finding.suspect_ranks, *finding.cycle}
    blamed = {*finding.hosts, *finding.suspect_hosts}
    rows = []
    for row in events.head(_ROWS).iter_rows(named=True):
        ranks = [row["rank"]] if row["rank"] is not None else by_host.get(row["host"], [])
        if row["host"] is not None and row["host"] in blamed:
            relation = "on a named or suspected host"
        elif not ranks:
            relation = "on a host that holds no rank of this job, as far as records tell"
        elif set(ranks) & culprits:
            relation = "on the host of a named or suspected rank"
        else:
            relation = "on a host whose ranks are not in question"
        rows.append(
            HardwareRow(
                time_utc=iso(row["time_ns"]) if row["time_basis"] != "boot" else None,
                host=row["host"],
                pci=row["pci"],
                ranks=ranges(ranks),
                code=row["code"],
                text=row["text"] or "",
                relation=relation,
                ref=reference(row),
            )
        )
    return rows


def views(case: Case, finding: Finding) -> Views:
    """Case and the chosen finding → everything that the page draws."""
    cells, hosts = _grid(case, finding)
    nodes, edges, notes = _graph(case, finding)
    return Views(
        timeline=_timeline(case, finding),
        grid=cells,
        hosts=hosts,
        nodes=nodes,
        edges=edges,
        stacks=_stacks(case),
        collectives=_collectives(case),
        tensors=list(finding.tensors),
        hardware=_hardware(case, finding),
        notes=notes,
    )
