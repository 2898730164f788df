"""Reports of jobs of any size, with as much of everything as the analysis ever hands on: for the sizes of the page."""

import msgspec

from forensics.model.drawn import (
    CollectiveRow,
    FirstBad,
    GraphEdge,
    GraphNode,
    GridCell,
    GridHost,
    HardwareRow,
    MeshAxis,
    Series,
    Span,
    StackClass,
    TensorRow,
    TimelineItem,
    Track,
    Views,
    Votes,
)
from forensics.model.incident import (
    Alternative,
    Candidate,
    Decision,
    EnvironmentRow,
    Evidence,
    FileRow,
    Incident,
    SourceCoverage,
    Verdict,
)
from forensics.model.names import Kind, RankState
from forensics.model.ref import Ref
from forensics.model.texts import ranges
from forensics.report import Report
from tests import report_examples
from tests.report_parts import coverage

KINDS = ("hang", "deadlock", "numerics", "slow", "crash", "undecided", "healthy")
_PER_HOST = 8
_SUMMARIES: dict[str, tuple[Kind, str]] = {
    "slow": ("slow", "Slow: rank 5 is slower than its peers at forward_time, from step 4 on."),
    "crash": ("crash", "Rank 5 was killed because the host ran out of memory; all other ranks ended after it."),
}


def sized(kind: str, world: int) -> Report:
    """A report of one of KINDS for a job of `world` ranks."""
    incident = _incident(kind, world)
    base = report_examples.hang()
    hosts = world // _PER_HOST
    everyone = [f"0-{world - 1}"]
    cover = msgspec.structs.replace(
        coverage(f"0-{world - 1}", world),
        hosts_seen=[f"node{host:04}" for host in range(hosts)],
        sources={
            name: SourceCoverage(files=world, records=world * 2_000, ranks=everyone, errors=0)
            for name in ("flight_recorder", "nccl", "stacks", "kernel", "steps", "watchdog", "launcher", "settings")
        },
    )
    environment = [
        EnvironmentRow(name=f"NCCL_{number}", values={"0": f"0-{world - 2}", "1": str(world - 1)}, note="odd one out")
        for number in range(12)
    ]
    return msgspec.structs.replace(
        base, incidents=[incident], coverage=cover, files=_files(world), environment=environment
    )


def _incident(kind: str, world: int) -> Incident:
    examples = {
        "hang": "hang",
        "deadlock": "cycle",
        "numerics": "numerics",
        "undecided": "undecided",
        "healthy": "healthy",
    }
    base = report_examples.EXAMPLES[examples.get(kind, "hang")]().incidents[0]
    verdict = base.verdict
    if kind in _SUMMARIES:
        told, summary = _SUMMARIES[kind]
        verdict = Verdict(kind=told, status="supported", ranks=[5], hosts=["node0000"], summary=summary)
    evidence = [
        Evidence(
            id=f"E{number}",
            claim=f"rank {number} enqueued and completed 120049 of DATA_PARALLEL_GROUP ({number}); {world - 1:,} peers wait",
            direction="for",
            refs=[Ref(file=f"hosts/node{at:04}/fr/nccl_trace_rank_{at}", line=at, text="all_reduce #120050 " * 6) for at in range(8)],
        )
        for number in range(8)
    ]  # fmt: skip
    rivals = [
        Alternative(kind="hang", cause="network_fault", ranks=[number], hosts=[], why_not="3 symptoms stay unexplained")
        for number in range(12)
    ]
    weighed = Candidate(
        kind=verdict.kind, cause=verdict.cause, subjects=[5], refuted_by=None, left_over=0, basis="own_record",
        detectors=["never_entered"], summary=verdict.summary,
    )  # fmt: skip
    return msgspec.structs.replace(
        base, verdict=verdict, evidence=evidence, alternatives=rivals, choice=[weighed],
        decision=Decision(do="restart", reason="its host failed", lost_gpu_hours=world * 0.5), views=_views(kind, world),
    )  # fmt: skip


def _views(kind: str, world: int) -> Views:
    named: RankState = {"undecided": "suspect", "crash": "dead", "healthy": "ok"}.get(kind, "culprit")  # type: ignore[assignment]
    stopped = kind in ("hang", "deadlock", "crash", "undecided")
    others: RankState = "waiting" if stopped else "ok"
    lost = {17, 901, 902, 7730} & set(range(world))
    rest = ranges(set(range(world)) - {5} - lost)
    views = Views(
        timeline=_timeline(world),
        grid=[
            GridCell(state=others, ranks=rest),
            GridCell(state=named, ranks="5"),
            *([GridCell(state="no_data", ranks=",".join(map(str, sorted(lost))))] if lost else []),
        ],
        hosts=[
            GridHost(host=f"node{host:04}", ranks=f"{host * _PER_HOST}-{host * _PER_HOST + _PER_HOST - 1}")
            for host in range(world // _PER_HOST)
        ],
        mesh=[
            MeshAxis(name="tensor model parallel", size=2, stride=1),
            MeshAxis(name="data parallel", size=world // 4, stride=2),
            MeshAxis(name="pipeline model parallel", size=2, stride=world // 2),
        ],
        tracks=_tracks(named, others, world),
        hardware=_hardware(world),
        stacks=_stacks(world) if stopped else [],
    )
    if stopped:
        nodes, edges = _graph(world)
        views = msgspec.structs.replace(views, nodes=nodes, edges=edges, collectives=_collectives(world))
    if kind == "slow":
        views = msgspec.structs.replace(
            views,
            votes=[
                Votes(
                    rank=at // 4 * 7 % world,
                    phase=("forward_time", "backward_time", "reduce_scatter of DATA_PARALLEL_GROUP", "step")[at % 4],
                    sort=("slower", "slower", "late", "whole")[at % 4],  # type: ignore[arg-type]
                    votes=30 - at // 3,
                    steps=30,
                    excess_ms=-47.6 if at % 4 == 2 else 47.6,
                    level_ms=11.5,
                    peers=f"0-{world - 1}",
                )
                for at in range(60)
            ],
        )
    if kind == "numerics":
        views = msgspec.structs.replace(
            views, tensors=_tensors(world), first_bad=_first_bad(world), series=[_series(at) for at in range(8)]
        )
    return views


def _timeline(world: int) -> list[TimelineItem]:
    lanes = ("system", "peers", "culprit")
    return [
        TimelineItem(
            time_utc=f"2026-11-19T18:{40 + at // 4:02}:{at % 4 * 13:02}.113004Z", basis="utc", lane=lanes[at % 3],
            label=f"collective timeout {at}", count=world - 1, ranks="5" if at % 3 == 2 else f"0-4,6-{world - 1}",
            ref=Ref(file=f"hosts/node{at:04}/logs/pretrain/attempt_0/{at}/stderr.log", line=at, text="timeout"),
        )
        for at in range(40)
    ]  # type: ignore[misc]  # fmt: skip


def _tracks(named: RankState, others: RankState, world: int) -> list[Track]:
    spans = [
        Span(start_utc=f"2026-11-19T18:42:{at:02}.1Z", end_utc=None if at == 19 else f"2026-11-19T18:42:{at:02}.7Z",
             label=f"reduce_scatter #{at} of DATA_PARALLEL_GROUP", is_open=at == 19)
        for at in range(20)
    ]  # fmt: skip
    held = "reduce_scatter of TENSOR_MODEL_PARALLEL_GROUP"
    waiting = [
        Track(state=others, ranks=f"{at}-{world - 1}", of=at, held=held, spans=spans, stopped_utc=None)
        for at in range(6, 13)
    ]
    return [
        Track(state=named, ranks="5", of=5, held="", spans=spans[:10], stopped_utc="2026-11-19T18:42:09.7Z"),
        *waiting,
    ]


def _graph(world: int) -> tuple[list[GraphNode], list[GraphEdge]]:
    """The most classes of the coarse picture: pairs of ranks and operations in a chain, beside each other, and one named."""
    scattered = ",".join(map(str, range(0, world, 2)))[:40_000].rpartition(",")[0] or "0"
    nodes = [GraphNode(id="c", kind="ranks", label="rank 5", ranks="5", state="culprit", detail="culprit")]
    edges = []
    for at in range(6):
        nodes.append(
            GraphNode(
                id=f"r{at}", kind="ranks", label=f"{world} ranks", ranks=scattered, state="waiting", detail="waiting"
            )
        )
        nodes.append(GraphNode(id=f"o{at}", kind="operation", label=f"64 × all_gather on DATA_PARALLEL_GROUP ({at})", ranks=scattered,
                               state="open", detail="all_gather #5; all_gather #6"))  # fmt: skip
        edges.append(GraphEdge(source=f"r{at}", target=f"o{at}", label="in", certain=True))
        edges.append(GraphEdge(source=f"o{at}", target="c", label="absent", certain=at % 2 == 0))
        if at > 1:
            edges.append(GraphEdge(source=f"o{at}", target=f"r{at - 2}", label="enqueued", certain=True))
    return nodes, edges


def _stacks(world: int) -> list[StackClass]:
    shared = [f"frame_{at} (training/loop.py:{at})" for at in range(6)]
    own = [
        ["get_batch (training/data.py:61)", "__next__ (torch/utils/data/dataloader.py:725)"],
        ["step (training/optimizer.py:290)"],
    ]
    return [
        StackClass(site="data_loading" if at == 0 else "compute", count=(1, world - 1)[at], ranks=("5", f"0-4,6-{world - 1}")[at],
                   top=own[at][-1], frames=[*reversed(shared + own[at])], ref=Ref(file="stacks/rank_5.txt", line=4, text="get"))
        for at in range(2)
    ]  # fmt: skip


def _collectives(world: int) -> list[CollectiveRow]:
    return [
        CollectiveRow(group=f"TENSOR_MODEL_PARALLEL_GROUP ({at})", members=f"0-{world - 1}", seq=4285, ranks=f"{at % world}",
                      last_enqueued=4285, last_completed=4284, open_op="reduce_scatter 4285", mark="behind" if at < 4 else None)
        for at in range(200)
    ]  # fmt: skip


def _hardware(world: int) -> list[HardwareRow]:
    return [
        HardwareRow(
            time_utc=f"2026-11-19T18:41:{at % 60:02}.000000Z", host=f"node{at * 7 % max(1, world // _PER_HOST):04}", pci="0000:cb:00",
            ranks=f"{at % world}", code="xid:94", text="NVRM: Xid (PCI:0000:cb:00): 94, pid=4711, contained ECC error on channel 3",
            relation="on a named or suspected host" if at < 3 else "on a host whose ranks are not in question",
            ref=Ref(file=f"hosts/node{at:04}/dmesg.txt", line=at, text="NVRM"),
        )
        for at in range(200)
    ]  # fmt: skip


def _tensors(world: int) -> list[TensorRow]:
    return [
        TensorRow(rank=at % world, step=812, microbatch=3, phase="forward", module=f"model.layers.{at}.mlp.down_proj", op="Linear",
                  tensor="output", value="nan (3 of 4,194,304)", role="infected" if at else "root")
        for at in range(200)
    ]  # fmt: skip


def _first_bad(world: int) -> list[FirstBad]:
    return [
        FirstBad(module=f"model.decoder.layers.{at}.self_attention.linear_proj", step=812 + late, phase="forward", value="nan",
                 ranks="5" if late == 0 else f"0-4,6-{world - 1}", origin=at == late == 0)
        for at in range(40)
        for late in range(2)
    ]  # fmt: skip


def _series(number: int) -> Series:
    values: list[float | str] = [round(2.5 + step % 7 / 10, 3) for step in range(190)]
    return Series(
        what=("absmax", "loss", "grad_norm", "loss_scale")[number % 4], who="culprit" if number < 4 else "peers",
        rank=5 if number < 4 else None, module="model.layers.3.mlp" if number % 4 == 0 else None, tensor="output", phase="forward",
        steps=list(range(700, 900)), values=[*values, *["NaN"] * 10], onset=890, limit=65504.0 if number % 4 == 0 else None, ref=None,
    )  # type: ignore[arg-type]  # fmt: skip


def _files(world: int) -> list[FileRow]:
    return [
        FileRow(file=f"hosts/node{rank // _PER_HOST:04}/{kind}/rank_{rank}.{kind}", bytes=1_200_000, parsers=[kind], ranks=str(rank),
                lines=20_000, recognised=19_940, time_first_utc="2026-11-19T17:02:11.004Z", time_last_utc="2026-11-19T19:12:10.233Z",
                errors=[], templates=["12 × step # took # ms"])
        for kind in ("log", "fr")
        for rank in range(world)
    ]  # fmt: skip
