"""Advised commands: one host or none, whatever the bundle calls it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import forensics
from forensics.detectors.hardware.device_fault import DETECTOR
from forensics.facts.hosts.link_sorts import link_sort
from forensics.facts.hosts.surroundings import surroundings
from forensics.model import commands
from forensics.model.commands import NOWHERE, Surroundings, Torch, drain_node
from forensics.model.finding import Finding
from forensics.model.incident import Action, Device, FirstAnomaly, Place
from forensics.model.names import ActionKind, Status
from forensics.model.ref import Ref
from forensics.verdict.advice.actions import Known, actions_of
from parsers.schema.tables import TABLE_NAMES, TableName, table
from tests.log_cases import case, judged

MASTER = Surroundings("dlrover", pods={"w-0": None})
SLURM = Surroundings("slurm", "moore_threads", "881", link="mtlink")
POD = Surroundings("kubernetes", "metax", pods={"w-0": "gpu-3", "w-1": "gpu-4", "w-2": "gpu-4"}, link="infiniband")


@pytest.mark.parametrize("host", ["node17", "gpu-045.rack2", "10.0.0.7", "n_1", "allnode"])
def test_a_host_is_drained_by_its_name(host: str) -> None:
    assert drain_node(host, "gpu_fault", SLURM) == f"scontrol update nodename={host} state=drain reason=gpu_fault"


@pytest.mark.parametrize(
    "host",
    [
        "x;touch y",
        "$(id)",
        "`id`",
        "a*",
        "~root",
        "ALL",
        "all",
        "node[01-99]",
        "a,b",
        "a b",
        "-a",
        "n1\n",
        "ñ1",
        "",
        None,
    ],
)
def test_what_a_shell_or_scheduler_reads_otherwise_stands_in_no_command(host: str | None) -> None:
    assert drain_node(host, "gpu_fault", SLURM) is None


@pytest.mark.parametrize("command", [commands.link_test("n1", "10.0.0.2"), commands.pci_state("0000:17:00")])
def test_what_a_shell_has_to_do_stands_in_one_word(command: str) -> None:
    outside = re.sub(r"'[^']*'", "", command)
    assert command and not re.search(r"[;&|<>$`*?~\[\]{}!#\\]|\s-\w", outside)


@pytest.mark.parametrize(("host", "has_command"), [("n1", True), ("n1;id", False), ("ALL", False)])
def test_the_action_stays_without_its_command(host: str, has_command: bool) -> None:
    lost = {
        "kind": "gpu_error",
        "code": "xid:79",
        "host": host,
        "pci": "0000:2b:00",
        "text": "GPU has fallen off the bus.",
    }
    found = judged(case([lost]), DETECTOR)
    known = Known(around=SLURM)
    drains = [action for action in actions_of(found.finding, found.status, known) if action.kind == "drain_node"]
    assert [action.target for action in drains] == [host]
    assert [action.command is not None for action in drains] == [has_command]


@pytest.mark.parametrize("word", ["nodename=", "ssh {", "kubectl ", "py-spy dump --pid"])
def test_commands_are_written_in_one_place(word: str) -> None:
    root = Path(forensics.__file__).parent
    assert [path.name for path in root.rglob("*.py") if word in path.read_text()] == ["commands.py"]


def test_a_slow_host_that_nobody_knows_is_found_by_halves() -> None:
    known = Known(hosts=48)
    [first, *_] = actions_of(Finding(detector="x", cause="throughput_drop"), "supported", known)
    assert "at most 6 rounds for 48 hosts" in first.reason
    named = actions_of(Finding(detector="x", cause="throughput_drop", hosts=("n1",)), "supported", known)
    assert not any("half" in action.reason for action in named)


@pytest.mark.parametrize(("hosts", "asked"), [(("n1", "n2"), False), (("n1", "n2", "n3"), True)])
def test_what_hosts_share_that_fail_at_once_is_asked(hosts: tuple[str, ...], asked: bool) -> None:
    found = actions_of(Finding(detector="x", cause="rank_died", hosts=hosts), "supported")
    assert any("rack" in action.target for action in found) == asked


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (commands.stacks("n1", [7]), "ssh -t n1 sudo py-spy dump --pid 7"),
        (commands.stacks("n1", [7], SLURM), "srun --jobid=881 --overlap -w n1 py-spy dump --pid 7"),
        (commands.stacks("w-0", [7], POD), "kubectl exec w-0 -- py-spy dump --pid 7"),
        (commands.stacks("n1", [7, 8]), "ssh -t n1 \"sudo sh -c 'for p in 7 8; do py-spy dump --pid \\$p; done'\""),
        (commands.kernel_log("n1"), "ssh -t n1 sudo dmesg -T"),
        (commands.kernel_log("n1", SLURM), "ssh -t n1 sudo dmesg -T"),
        (commands.kernel_log("w-0", POD), "kubectl describe pod w-0"),
        (commands.device("n1", 3, SLURM), "ssh n1 mthreads-gmi -q -i 3"),
        (commands.device("w-0", None, POD), "kubectl exec w-0 -- mx-smi"),
        (commands.device("n1", 3), None),  # whose GPU it is, is not known
        (commands.ports("n1"), "ssh n1 ip -s link"),  # whatever its links run over
        (commands.ports("n1", NOWHERE._replace(link="infiniband")), "ssh n1 ibstat"),
        (commands.ports("n1", SLURM), "ssh n1 mthreads-gmi -q"),
        (commands.ports("n1", NOWHERE._replace(link="ethernet")), "ssh n1 ip -s link"),
        (commands.drain_node("n1", "x"), None),  # no line shows a scheduler
        (commands.drain_node("w-0", "x", POD), "kubectl cordon $(kubectl get pod w-0 -o jsonpath='{.spec.nodeName}')"),
        (commands.drain_node("gpu-3", "x", POD), "kubectl cordon gpu-3"),
        (commands.drain_node("gpu-9", "x", POD), None),  # neither a pod nor a node by any line
        (commands.drain_node("w-0;id", "x", MASTER), None),
        (commands.stacks("gpu-3", [7], POD), "kubectl exec w-0 -- py-spy dump --pid 7"),  # numbered within its pod
        (commands.stacks("gpu-4", [7], POD), None),  # of which of two
        (commands.kernel_log("gpu-4", POD), "ssh -t gpu-4 sudo dmesg -T"),
        (commands.ports("gpu-3", POD), "ssh gpu-3 ibstat"),
        (commands.kernel_log("7635c25c81cd"), None),  # a container's name for itself
        (commands.kernel_log("i-0b35f8d2190ce47a6"), None),  # a number of EC2, no name
        (commands.kernel_log("i-node-17"), "ssh -t i-node-17 sudo dmesg -T"),
        (commands.kernel_log("localhost"), "sudo dmesg -T"),  # a name that leads nowhere
        (commands.stacks("127.0.0.1", [7]), "sudo py-spy dump --pid 7"),
        (commands.restart_job("n1", SLURM), "scontrol requeue 881"),
        (commands.restart_job("n1", SLURM._replace(job=None)), None),
        (commands.restart_job("w-0", POD), "kubectl delete pod w-0"),
        (commands.restart_job("gpu-3", POD), None),  # a host is no pod
        (commands.restart_job("w-0", MASTER), "kubectl delete pod w-0"),
        (commands.restart_job("$(id)", POD), None),
        (commands.restart_job("n1"), None),
        (commands.stacks("n1;id", [7]), None),
        (commands.kernel_log("a,b", POD), None),
        (commands.stacks("n1", []), None),
    ],
)
def test_a_command_goes_by_launcher_and_vendor(command: str | None, text: str | None) -> None:
    assert command == text


def _files(*parsers: str, launch: str | None = None, events: Sequence[Mapping[str, Any]] = ()) -> Surroundings:
    rows = [{"file": name, "parsers": [name], "launch": launch} for name in parsers]
    whole = {name: table(name, []) for name in TABLE_NAMES}
    return surroundings({**whole, "files": table("files", rows), "events": table("events", events)})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (_files("nccl"), NOWHERE),
        (_files("slurm", "xid", launch="881"), Surroundings("slurm", "nvidia", "881")),
        (_files("slurm", launch="run_b"), Surroundings("slurm")),
        (_files("slurm", launch="²"), Surroundings("slurm")),  # a digit to Unicode, and none to a shell
        (_files("pod_description", "mx_smi", launch="3"), Surroundings("kubernetes", "metax")),
        (
            _files("dlrover", "kubernetes", "xid"),
            Surroundings("dlrover", "nvidia", torch=Torch()),
        ),  # it runs upon Kubernetes
        (_files("sacct", "kubernetes", "metax", "xid"), NOWHERE),  # two of each: neither is believed
    ],
)
def test_launcher_and_vendor_are_known_where_one_alone_speaks(found: Surroundings, expected: Surroundings) -> None:
    assert found == expected


def test_a_pod_is_what_kubernetes_calls_one() -> None:
    told = [
        {"kind": "scheduler", "detail": '{"node": "gpu-3", "object": "pod/w-0"}'},
        {"kind": "scheduler", "detail": '{"object": "node/gpu-7"}', "host": "gpu-7", "names_hosts": ["gpu-7"]},
        {"kind": "exit", "detail": '{"object": "pod/w-1"}', "host": "w-1", "names_hosts": ["gpu-4"]},
        {"kind": "membership", "detail": '{"new": null, "old": "w-2"}'},
        {"kind": "exception", "detail": '{"object": "x"}', "host": "gpu-9"},
    ]
    assert _files("kubernetes", events=told).pods == {"w-0": "gpu-3", "w-1": "gpu-4", "w-2": None}
    assert _files("slurm", events=told).pods == {}


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("MTGPU: mtlink: local link ID:2 remote link ID:5 link down", "mtlink"),
        ("mlx5_core 0000:41:00.0 ib0: Link down", "infiniband"),
        ("n1:7:9 [0] NCCL WARN NET/IB: Got completion from peer 10.0.0.2 with status=12", "infiniband"),
        ("bnxt_en 0000:41:00.0 eth0: NIC Link is Down", "ethernet"),
        ("n1:7:9 [0] NCCL WARN Connect to 10.1.0.3<56821> failed : Connection refused", "ethernet"),
        ("libfabric:4:17::efa:cq:efa_rdm_txe_handle_error():737<warn> err: 5", "efa"),
        ("port 3 of the fabric failed", None),
    ],
)
def test_the_tool_for_a_link_goes_by_its_sort(text: str, sort: str | None) -> None:
    rows = [{"kind": "link_down", "file": "k.log", "line": 4, "text": text}]
    tables: dict[TableName, pl.DataFrame] = {"events": table("events", rows), "links": table("links", [])}
    assert link_sort(tables, [Ref(file="k.log", line=4, text="")]) == sort
    assert link_sort(tables, [Ref(file="k.log", line=5, text="")]) is None
    tables["links"] = table("links", [{"transport": "P2P/CUMEM"}, {"transport": "NET/Socket/0"}])
    assert link_sort(tables, []) == "ethernet"


def test_an_undecided_wait_asks_for_stacks_by_host_and_process() -> None:
    places = [Place(rank=rank, host=f"n{rank % 2}", pid=100 + rank) for rank in range(4)]
    finding = Finding(detector="x", suspect_ranks=(0, 1, 2), undecided=("tied_explanations",))
    got = actions_of(
        finding, "hypothesis", Known(places, frozenset([2]), Surroundings(torch=Torch()), has_records=False)
    )
    assert [(action.target, action.command) for action in got] == [
        ("the stack of rank 0 on n0 (pid 100), if the job still runs", "ssh -t n0 sudo py-spy dump --pid 100"),
        ("the stack of rank 1 on n1 (pid 101), if the job still runs", "ssh -t n1 sudo py-spy dump --pid 101"),
        ("the kernel log of n0", "ssh -t n0 sudo dmesg -T"),
        ("Flight Recorder dumps in the next run, with these settings", commands.recorder(Surroundings(torch=Torch()))),
    ]


def test_nobody_is_asked_for_the_stack_of_a_process_that_has_ended() -> None:
    """By its own end, by the launcher's or the scheduler's word on the job, or because the run is well and done."""
    places = [Place(rank=rank, host="n0", pid=100 + rank) for rank in range(2)]
    named = Finding(detector="x", cause="rank_absent", ranks=(0,))
    both = Finding(detector="x", suspect_ranks=(0, 1), undecided=("tied_explanations",))
    well = Finding(detector="health", undecided=("no_hang",))

    def asked(finding: Finding, known: Known) -> list[str]:
        return [action.target for action in actions_of(finding, "supported", known) if "stack" in action.target]

    assert asked(both, Known(places, gone=frozenset([0]))) == [
        "the stack of rank 1 on n0 (pid 101), if the job still runs"
    ]
    all_gone = Known(places, gone=frozenset([0, 1]))
    assert asked(both, all_gone) == asked(well, Known(places)) == []
    next_time = "the stack of rank 0 when it hangs the next time, before the watchdog ends the job"
    assert asked(named, all_gone) == [next_time]


def test_a_command_is_for_the_host_that_its_action_names() -> None:
    """And for no other one, though the finding is about two, or its rank runs elsewhere."""
    around = Surroundings("slurm", "nvidia", link="infiniband")
    places = [Place(rank=0, host="n0", pid=7), Place(rank=8, host="n1", pid=8)]

    def given(kind: ActionKind, target: str, **about: Any) -> str | None:
        action = Action(kind=kind, target=target, command=None, reason="x")
        finding = Finding(detector="x", cause="network_fault", actions=(action,), **about)
        return actions_of(finding, "supported", Known(places, around=around))[0].command

    assert given("inspect_network", "n1", hosts=("n0", "n1")) == "ssh n1 ibstat"
    assert given("inspect_network", "n1", hosts=("n0",)) is None
    assert given("inspect_hardware", "rank 0", ranks=(0,)) == "ssh n0 nvidia-smi -q"
    assert given("inspect_hardware", "n1", ranks=(0,)) is None
    assert given("drain_node", "n1", hosts=("n0",)) == "scontrol update nodename=n1 state=drain reason=network_fault"


@pytest.mark.parametrize(
    ("code", "status", "first"),
    [
        ("xid:79", "established", "drain_node"),
        ("xid:79", "hypothesis", "inspect_hardware"),
        ("xid:94", "established", "inspect_hardware"),
    ],
)
def test_a_device_that_a_restart_does_not_bring_back_is_taken_out_first(code: str, status: Status, first: str) -> None:
    look = Action(kind="inspect_hardware", target="n1", command=None, reason="x")
    anomaly = FirstAnomaly(signature=f"device:{code}")
    gone = Finding(
        detector="x", cause="gpu_fault", devices=(Device(host="n1"),), actions=(look,), first_anomaly=anomaly
    )
    kinds = [action.kind for action in actions_of(gone, status)]
    assert kinds[0] == first
    assert sorted({*kinds} - {"collect_more"}) == ["drain_node", "inspect_hardware"]
