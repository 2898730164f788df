"""An example: rank 17 of 32 never entered, established."""

from forensics.model.drawn import (
    CollectiveRow,
    GraphEdge,
    GraphNode,
    GridCell,
    GridHost,
    HardwareRow,
    StackClass,
    TimelineItem,
    Views,
)
from forensics.model.incident import (
    Action,
    Alternative,
    BlastRadius,
    Code,
    Device,
    Evidence,
    FirstAnomaly,
    Incident,
    Lost,
    Verdict,
)
from forensics.model.ref import Ref
from forensics.report import Report
from tests.report_parts import coverage, report


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
