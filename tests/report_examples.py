"""Reports made by hand for the tests of `reports`: one per kind of answer, and one hostile everywhere."""

from collections.abc import Callable
from typing import Any

import msgspec

from forensics.incident import (
    Action,
    Alternative,
    BlastRadius,
    Bundle,
    Clock,
    Code,
    CollectiveRow,
    Coverage,
    Device,
    EnvironmentRow,
    Evidence,
    FileRow,
    FindingRow,
    FirstAnomaly,
    GraphEdge,
    GraphNode,
    GridCell,
    GridHost,
    HardwareRow,
    Incident,
    Lines,
    Lost,
    Ref,
    Report,
    SourceCoverage,
    StackClass,
    Suspects,
    TensorRow,
    TimelineItem,
    Tool,
    Unreadable,
    Verdict,
    Views,
)

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><!-- </style> ]]>",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x07 \x9b2J",
    "left\u202etfel\u2066\u200b\ufeff",
    "[red]rich[/red] {{7*7}} {% raw %} ${1+1}",
    "| pipe \\| `tick` ``` @someone [a](javascript:alert(1)) http://evil.example #1\n# heading\n/close",
)


def coverage(ranks: str = "0-31", expected: int = 32, missing: tuple[str, ...] = ()) -> Coverage:
    return Coverage(
        ranks_expected=expected,
        ranks_seen=ranks.split(","),
        ranks_missing=list(missing),
        hosts_seen=[f"node{index:04}" for index in range(4)],
        sources={
            "flight_recorder": SourceCoverage(files=32, records=64_000, ranks=ranks.split(","), errors=0),
            "stacks": SourceCoverage(files=4, records=160, ranks=ranks.split(","), errors=1),
            "kernel": SourceCoverage(files=4, records=9, ranks=[], errors=0),
        },
        lines=Lines(total=1_204_332, recognised=1_200_700, unrecognised=3_632),
        unreadable=[Unreadable(file="logs/node0002-3.out.gz", reason="cut off after 81,920 bytes")],
        clock=Clock(skew_bound_s=0.041),
        attempts=1,
    )


def report(incident: Incident, cover: Coverage | None = None, **changes: Any) -> Report:
    whole = Report(
        tool=Tool(name="forensics", version="0.1.0"),
        bundle=Bundle(name="job-88213.tar.zst", files=44, bytes=412_000_000),
        coverage=cover or coverage(),
        primary=0,
        incidents=[incident],
        findings=[
            FindingRow(
                detector="never_entered", kind="hang", cause="rank_absent", ranks="17", hosts=[], summary="rank 17"
            ),
            FindingRow(
                detector="tensor_taint",
                kind="unknown",
                cause=None,
                ranks="",
                hosts=[],
                summary="no tensor statistics in the bundle",
                ran=False,
            ),
        ],
        environment=[
            EnvironmentRow(
                name="NCCL_SOCKET_IFNAME", values={"eth0": "0-23,25-31", "docker0": "24"}, note="odd one out"
            ),
        ],
        limits=["Clocks were aligned to 41 ms; events closer than that have no order."],
        files=[
            FileRow(
                file=f"logs/node{index // 8:04}-{index % 8}.out",
                bytes=1_200_000,
                parsers=["nccl", "watchdog"],
                ranks=str(index),
                lines=20_000,
                recognised=19_940,
                time_first_utc="2026-11-19T17:02:11.004Z",
                time_last_utc="2026-11-19T19:12:10.233Z",
                errors=[],
                templates=["12 × step # took # ms"],
            )
            for index in range(32)
        ],
    )
    return msgspec.structs.replace(whole, **changes)


def hang() -> Report:
    """Rank 17 never entered; established."""
    ref = Ref(file="logs/node0002-1.out", line=918_233, text="last enqueued work: 120049, last completed work: 120049")
    verdict = Verdict(
        kind="hang",
        cause="rank_absent",
        status="established",
        status_rule="three independent witnesses name rank 17, none contradicts",
        ranks=[17],
        hosts=["node0002"],
        devices=[Device(host="node0002", pci="0000:cb:00.0", index=1)],
        site="data_loading",
        code=Code(file="train.py", line=585, function="next_batch"),
        domain="infrastructure",
        first_anomaly=FirstAnomaly(
            time_utc="2026-11-19T18:42:07.113Z",
            rank=17,
            host="node0002",
            step=12_001,
            op="ALLREDUCE",
            group="dp_1",
            group_ranks="1,5,9,13,17,21,25,29",
            seq=120_050,
            signature="Xid 94 contained ECC error",
            device="0000:cb:00.0",
        ),
        summary="Rank 17 never entered ALLREDUCE 120050 on dp_1; it was still loading data after an ECC error.",
    )
    evidence = [
        Evidence(
            id="e1",
            claim="rank 17 enqueued and completed 120049; its 7 peers enqueued 120050",
            direction="for",
            refs=[ref],
        ),
        Evidence(
            id="e2",
            claim="rank 17 only observed the dump signal; its own watchdog did not fire",
            direction="for",
            refs=[Ref(file="logs/node0002-1.out", line=918_240, text="Received a dump signal from another rank")],
        ),
        Evidence(
            id="e3",
            claim="stack class of rank 17 alone: data loader; the 31 others wait in all_reduce",
            direction="for",
            refs=[Ref(file="stacks/node0002.txt", line=44, text="get (queue.py:171)")],
        ),
        Evidence(
            id="e4",
            claim="Xid 94 on the same device 31 s earlier",
            direction="for",
            refs=[Ref(file="sys/node0002.dmesg", line=2_207, text="NVRM: Xid (PCI:0000:cb:00): 94, pid=4711")],
        ),
        Evidence(
            id="e5",
            claim="rank 30 left no flight record; the verdict holds for any value of its",
            direction="unseen",
            refs=[],
        ),
    ]
    actions = [
        Action(
            kind="drain_node",
            target="node0002",
            reason="a contained ECC error precedes the stall",
            command="scontrol update nodename=node0002 state=drain reason='Xid94 gpu1 job88213'",
        ),
        Action(
            kind="restart_job",
            target="job 88213",
            command="sbatch --exclude=node0002 train.sbatch",
            reason="resume from step 12000",
        ),
        Action(
            kind="inspect_hardware",
            target="node0002 gpu1",
            command="dcgmi diag -r 3 -i 1",
            reason="shows whether the error comes back",
        ),
    ]
    views = Views(
        timeline=[
            TimelineItem(
                time_utc="2026-11-19T18:42:07.113Z",
                basis="utc",
                lane="system",
                label="Xid 94 contained ECC error",
                count=1,
                ranks="17",
                ref=evidence[3].refs[0],
            ),
            TimelineItem(
                time_utc="2026-11-19T18:42:09.020Z",
                basis="utc",
                lane="culprit",
                label="last completed ALLREDUCE 120049",
                count=1,
                ranks="17",
                ref=ref,
            ),
            TimelineItem(
                time_utc="2026-11-19T18:42:09.913Z",
                basis="utc",
                lane="peers",
                label="enqueued ALLREDUCE 120050",
                count=7,
                ranks="1,5,9,13,21,25,29",
                ref=None,
            ),
            TimelineItem(
                time_utc="2026-11-19T19:12:10.020Z",
                basis="utc",
                lane="peers",
                label="watchdog timeout",
                count=31,
                ranks="0-16,18-31",
                ref=Ref(file="logs/node0000-0.out", line=7, text="timeout"),
            ),
            TimelineItem(
                time_utc="2026-11-19T19:12:10.233Z",
                basis="utc",
                lane="system",
                label="launcher ended the job",
                count=4,
                ranks="",
                ref=None,
            ),
        ],
        grid=[
            GridCell(state="waiting", ranks="0-16,18-29,31"),
            GridCell(state="culprit", ranks="17"),
            GridCell(state="no_data", ranks="30"),
        ],
        hosts=[GridHost(host=f"node{index:04}", ranks=f"{8 * index}-{8 * index + 7}") for index in range(4)],
        nodes=[
            GraphNode(
                id="c0",
                kind="ranks",
                label="24 ranks",
                ranks="0,2-4,6-8,10-12",
                state="waiting",
                detail="dp_0, dp_2, dp_3",
            ),
            GraphNode(
                id="o0",
                kind="operation",
                label="BROADCAST 881 on world",
                ranks="0-31",
                state="open",
                detail="24 of 32 entered",
            ),
            GraphNode(
                id="c1",
                kind="ranks",
                label="7 ranks of dp_1",
                ranks="1,5,9,13,21,25,29",
                state="waiting",
                detail="entered",
            ),
            GraphNode(
                id="o1",
                kind="operation",
                label="ALLREDUCE 120050 dp_1",
                ranks="1,5,9,13,17,21,25,29",
                state="open",
                detail="7 of 8 entered",
            ),
            GraphNode(id="c2", kind="ranks", label="rank 17", ranks="17", state="culprit", detail="loading data"),
        ],
        edges=[
            GraphEdge(source="c0", target="o0", label="in", certain=True),
            GraphEdge(source="o0", target="c1", label="waits for", certain=True),
            GraphEdge(source="c1", target="o1", label="in", certain=True),
            GraphEdge(source="o1", target="c2", label="absent", certain=True),
        ],
        stacks=[
            StackClass(
                site="communication",
                count=31,
                ranks="0-16,18-31",
                top="all_reduce (distributed_c10d.py:2501)",
                frames=[
                    "all_reduce (distributed_c10d.py:2501)",
                    "sync_gradients (train.py:640)",
                    "main (train.py:702)",
                ],
                ref=Ref(file="stacks/node0000.txt", line=3, text="Thread 0x7f (active): MainThread"),
            ),
            StackClass(
                site="data_loading",
                count=1,
                ranks="17",
                top="get (queue.py:171)",
                frames=["get (queue.py:171)", "next_batch (train.py:585)", "main (train.py:698)"],
                ref=evidence[2].refs[0],
            ),
        ],
        collectives=[
            CollectiveRow(
                group="dp_1",
                members="1,5,9,13,17,21,25,29",
                seq=120_050,
                ranks="1,5,9,13,21,25,29",
                last_enqueued=120_050,
                last_completed=120_049,
                open_op="ALLREDUCE",
                mark=None,
            ),
            CollectiveRow(
                group="dp_1",
                members="1,5,9,13,17,21,25,29",
                seq=120_050,
                ranks="17",
                last_enqueued=120_049,
                last_completed=120_049,
                open_op=None,
                mark="absent",
            ),
        ],
        hardware=[
            HardwareRow(
                time_utc="2026-11-19T18:42:07.113Z",
                host="node0002",
                pci="0000:cb:00.0",
                ranks="17",
                code="Xid 94",
                text="Contained memory error",
                relation="same device, 2 s before the stall: counts",
                ref=evidence[3].refs[0],
            )
        ],
    )
    return report(
        Incident(
            attempt=0,
            verdict=verdict,
            evidence=evidence,
            alternatives=[
                Alternative(
                    kind="hang",
                    cause="network_fault",
                    ranks=[],
                    hosts=["node0002"],
                    why_not="no link event on any host, and rank 17 never reached the network",
                )
            ],
            blast_radius=BlastRadius(ranks_waiting=31, groups=["dp_1", "pp_0", "world"]),
            severity=None,
            lost=Lost(last_completed_step=12_000, last_saved_step=12_000, last_persisted_step=11_500, stalled_s=1800.1),
            actions=actions,
            views=views,
        ),
        coverage("0-29,31", 32, ("30",)),
    )


def undecided() -> Report:
    """All members entered and nobody can be told apart."""
    verdict = Verdict(
        kind="hang",
        status="unknown",
        status_rule="all members of the open operation look alike",
        suspects=Suspects(ranks=[3, 7], hosts=["node0000"]),
        undecided=["two_member_mismatch", "single_snapshot"],
        summary="Ranks 3 and 7 call different operations; nothing tells which of the two is wrong.",
        first_anomaly=FirstAnomaly(op="ALLGATHER", group="tp_3", group_ranks="3,7", seq=91),
    )
    return report(
        Incident(
            attempt=0,
            verdict=verdict,
            evidence=[
                Evidence(
                    id="e1",
                    claim="rank 3 is in ALLGATHER 91, rank 7 in REDUCE_SCATTER 91",
                    direction="for",
                    refs=[Ref(file="fr/rank_3.pickle", line=90, text="all_gather")],
                ),
                Evidence(id="e2", claim="one stack snapshot only", direction="unseen", refs=[]),
            ],
            alternatives=[
                Alternative(kind="hang", cause="collective_mismatch", ranks=[3], hosts=[], why_not="a second snapshot"),
                Alternative(kind="hang", cause="collective_mismatch", ranks=[7], hosts=[], why_not=""),
            ],
            blast_radius=BlastRadius(ranks_waiting=32, groups=["tp_3"]),
            severity=None,
            lost=Lost(stalled_s=600),
            actions=[
                Action(kind="check_code", target="ranks 3, 7", command=None, reason="they took different branches"),
                Action(
                    kind="collect_more",
                    target="next run",
                    command="export TORCH_NCCL_TRACE_BUFFER_SIZE=20000",
                    reason="keeps the entries before the split",
                ),
            ],
        )
    )


def cycle() -> Report:
    """Four ranks wait for each other."""
    nodes = [
        GraphNode(
            id=f"r{rank}", kind="ranks", label=f"rank {rank}", ranks=str(rank), state="suspect", detail=f"in p2p_{rank}"
        )
        for rank in range(4)
    ]
    edges = [
        GraphEdge(source=f"r{rank}", target=f"r{(rank + 1) % 4}", label="recv from", certain=rank != 2)
        for rank in range(4)
    ]
    verdict = Verdict(
        kind="hang",
        cause="deadlock_cycle",
        status="supported",
        status_rule="the waits close a circle",
        cycle=[0, 1, 2, 3],
        domain="workload",
        summary="Ranks 0 to 3 each wait to receive from the next.",
    )
    return report(
        Incident(
            attempt=0,
            verdict=verdict,
            evidence=[
                Evidence(
                    id=f"e{rank}",
                    claim=f"rank {rank} waits in recv from rank {(rank + 1) % 4}",
                    direction="for",
                    refs=[Ref(file=f"fr/rank_{rank}.json", line=12, text="nccl:recv")],
                )
                for rank in range(4)
            ],
            alternatives=[],
            blast_radius=BlastRadius(ranks_waiting=32, groups=["pp_0"]),
            severity=None,
            lost=Lost(),
            actions=[
                Action(kind="check_code", target="pipeline schedule", command=None, reason="order of send and recv")
            ],
            views=Views(
                nodes=nodes,
                edges=edges,
                grid=[GridCell(state="suspect", ranks="0-3"), GridCell(state="ok", ranks="4-31")],
            ),
        )
    )


def numerics() -> Report:
    """NaN made on rank 5."""
    row = {"step": 812, "microbatch": 3, "phase": "forward", "module": "layers.17.mlp.down_proj"}
    verdict = Verdict(
        kind="numerics",
        cause="nan_birth",
        status="supported",
        status_rule="inputs and weights were finite, the output is not",
        ranks=[5],
        hosts=["node0000"],
        devices=[Device(host="node0000", index=5)],
        domain="unknown",
        first_anomaly=FirstAnomaly(
            rank=5,
            host="node0000",
            step=812,
            microbatch=3,
            phase="forward",
            value="nan",
            module="layers.17.mlp.down_proj",
            op="Linear",
            tensor="output",
            after="input of layers.17.mlp.down_proj, rank 5, step 812",
        ),
        summary="NaN was made on rank 5 in layers.17.mlp.down_proj: inputs and weights finite, output not.",
    )
    tensors = [
        TensorRow(rank=5, op="Linear", tensor="output", value="nan (3 of 4,194,304)", role="root", **row),  # type: ignore[arg-type]
        *(
            TensorRow(
                rank=rank,
                step=812,
                microbatch=None,
                phase="grad_sync",
                module="layers.17",
                op="all_reduce",
                tensor="output",
                value="nan",
                role="infected",
            )
            for rank in range(8)
        ),
    ]
    return report(
        Incident(
            attempt=0,
            verdict=verdict,
            evidence=[
                Evidence(
                    id="e1",
                    claim="all inputs and weights of the operation were finite",
                    direction="for",
                    refs=[Ref(file="stats/rank_5.jsonl", line=90_112, text='{"rank":5,"step":812,"nan_count":0}')],
                ),
                Evidence(
                    id="e2",
                    claim="its output holds 3 NaN of 4,194,304 values",
                    direction="for",
                    refs=[Ref(file="stats/rank_5.jsonl", line=90_113, text='{"rank":5,"step":812,"nan_count":3}')],
                ),
                Evidence(id="e3", claim="step 812 of rank 1 was not sampled", direction="unseen", refs=[]),
            ],
            alternatives=[
                Alternative(
                    kind="numerics",
                    cause="overflow",
                    ranks=[5],
                    hosts=[],
                    why_not="absmax of the input is 41, far from the limit of bf16",
                )
            ],
            blast_radius=BlastRadius(ranks_waiting=0, groups=[]),
            severity="severe",
            lost=Lost(last_completed_step=811, last_saved_step=800),
            actions=[
                Action(
                    kind="rollback",
                    target="step 800",
                    command="python train.py --resume 800",
                    reason="last clean state",
                ),
                Action(
                    kind="check_code",
                    target="layers.17.mlp.down_proj",
                    reason="replay the operation on another device",
                    command="python replay.py --step 812 --rank 5",
                ),
            ],
            views=Views(
                tensors=tensors,
                grid=[
                    GridCell(state="ok", ranks="8-31"),
                    GridCell(state="culprit", ranks="5"),
                    GridCell(state="waiting", ranks="0-4,6-7"),
                ],
            ),
        )
    )


def healthy() -> Report:
    """Proof of a run that ended well."""
    return report(
        Incident(
            attempt=0,
            verdict=Verdict(
                kind="healthy",
                status="established",
                status_rule="all members completed the same operations",
                summary="The run ended well at step 20000.",
            ),
            evidence=[
                Evidence(
                    id="e1",
                    claim="all 32 ranks completed ALLREDUCE 240112",
                    direction="for",
                    refs=[Ref(file="fr/rank_0.pickle", line=1999, text="completed")],
                )
            ],
            alternatives=[],
            blast_radius=BlastRadius(),
            severity=None,
            lost=Lost(last_completed_step=20_000),
            actions=[],
        )
    )


def empty() -> Report:
    """A bundle without an incident."""
    return msgspec.structs.replace(
        report(healthy().incidents[0]), incidents=[], files=[], findings=[], environment=[], limits=[]
    )


def hostile() -> Report:
    """The hang, with every free text replaced by one that attacks a page, a terminal or a Markdown renderer."""
    numbers = iter(range(1_000_000))
    plain: Any = msgspec.to_builtins(hang())
    tensors: Any = msgspec.to_builtins(numerics().incidents[0].views.tensors)
    plain["incidents"][0]["views"]["tensors"] = tensors
    closed = frozenset(
        [
            "kind",
            "cause",
            "status",
            "direction",
            "site",
            "domain",
            "state",
            "lane",
            "basis",
            "ranks",
            "members",
            "group_ranks",
            "ranks_seen",
            "ranks_missing",
            "source",
            "target",
            "id",
            "schema_version",
        ]
    )

    def attack(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {
                (HOSTILE[next(numbers) % len(HOSTILE)] + name if key in ("values", "sources") else name): attack(
                    item, name
                )
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [attack(item, key) for item in value]
        if isinstance(value, str) and key not in closed:
            return f"{HOSTILE[next(numbers) % len(HOSTILE)]} {next(numbers)}"
        return value

    attacked = attack(plain)
    attacked["incidents"][0]["actions"][0]["target"] = HOSTILE[0]
    attacked["incidents"][0]["views"]["notes"] = list(HOSTILE)
    return msgspec.convert(attacked, Report)


def crowded() -> Report:
    """10,240 ranks and more of everything than fits."""
    base = hang()
    incident = base.incidents[0]
    ranks = ",".join(str(rank) for rank in range(0, 10_240, 2))
    long = "a very long claim about many ranks and groups " * 8
    many = [
        Evidence(
            id=f"e{index}", claim=f"{index} {long}", direction=direction, refs=list(incident.evidence[0].refs) * 12
        )
        for index in range(40)
        for direction in ("for", "against", "unseen")
    ]
    views = msgspec.structs.replace(
        incident.views,
        grid=[
            GridCell(state="waiting", ranks="0-16,18-900,903-4710,4712-7729,7731-10239"),
            GridCell(state="culprit", ranks="4711"),
            GridCell(state="no_data", ranks="17,901-902,7730"),
        ],
        hosts=[GridHost(host=f"node{index:04}", ranks=f"{8 * index}-{8 * index + 7}") for index in range(1280)],
        timeline=list(incident.views.timeline) * 20,
        nodes=[msgspec.structs.replace(incident.views.nodes[0], id=f"n{index}", ranks=ranks) for index in range(60)],
        edges=[GraphEdge(source=f"n{index}", target=f"n{index + 1}", label="in", certain=True) for index in range(59)],
    )
    verdict = msgspec.structs.replace(
        incident.verdict, ranks=list(range(0, 10_240, 2)), summary=long, undecided=["single_snapshot", "no_baseline"]
    )
    action = Action(
        kind="drain_node", target="x", command="echo " + "word " * 200 + "'" + "q " * 100 + "'", reason=long
    )
    changed = msgspec.structs.replace(incident, verdict=verdict, evidence=many, views=views, actions=[action] * 9)
    files = list(base.files) * 400
    return msgspec.structs.replace(base, incidents=[changed, changed], files=files)


EXAMPLES: dict[str, Callable[[], Report]] = {
    "hang": hang,
    "undecided": undecided,
    "cycle": cycle,
    "numerics": numerics,
    "healthy": healthy,
    "empty": empty,
    "hostile": hostile,
    "crowded": crowded,
}
