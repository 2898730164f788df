"""Reports made by hand for the tests of `reports`: one per kind of answer, and one hostile everywhere."""

from collections.abc import Callable
from typing import Any

import msgspec

from forensics.model.drawn import GraphEdge, GraphNode, GridCell, GridHost, TensorRow, Views
from forensics.model.incident import (
    Action,
    Alternative,
    BlastRadius,
    Device,
    Evidence,
    FirstAnomaly,
    Incident,
    Lost,
    Suspects,
    Verdict,
)
from forensics.model.ref import Ref
from forensics.report import Report
from tests.report_example_hang import hang
from tests.report_parts import HOSTILE, report


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
            "do",
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
