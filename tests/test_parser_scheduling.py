"""What schedulers, launchers and checkpoint writers say."""

import json

import pytest

from parsers.scheduling import checkpoint, dlrover, kubernetes, sacct, shell, slurm
from parsers.schema.parser import LineParser
from tests.lines import lines
from tests.sources import source

Rows = list[tuple[str | int | None, ...]]

SRUN = "srun: error: gpu-017: task 13: Exited with exit code 1"
CANCEL = "slurmstepd: error: *** JOB 4711 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 DUE TO TIME LIMIT ***"
SAVED = "  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/2, p 1/8 ]"
EVENT = '[2025-04-22T00:42:46.143943] [426] [abb4c809] [AtorchTrainerV2] [#save] [END] {"global_step": 177215}'

BASH = "/opt/jobs/run.sh: line 31: 4711 Killed                  python -u pretrain.py --config big.yaml"
BASH_CORE = "run.sh: line 8: 4711 Segmentation fault      (core dumped) RANK=3 /env/bin/torchrun pretrain.py"

CASES = [
    pytest.param(shell.PARSER, "", [], id="shell_empty"),
    pytest.param(shell.PARSER, "quote.txt: line 4: 12 Killed in action", [], id="shell_foreign"),
    pytest.param(shell.PARSER, BASH, [("exit", "SIGKILL", "error", None)], id="shell_killed"),
    pytest.param(shell.PARSER, BASH + "\r", [("exit", "SIGKILL", "error", None)], id="shell_crlf"),
    pytest.param(shell.PARSER, BASH[:50], [], id="shell_cut"),
    pytest.param(shell.PARSER, BASH_CORE, [("exit", "SIGSEGV", "error", None)], id="shell_core"),
    pytest.param(shell.PARSER, "run.sh: line 3: 77 Killed   ./watch_gpus.sh --loop", [], id="shell_of_a_monitor"),
    pytest.param(
        shell.PARSER,
        "x.sh: line 9: 5 Terminated   python3 t.py",
        [("exit", "SIGTERM", "info", None)],
        id="shell_stopped",
    ),
    pytest.param(
        shell.PARSER, "Segmentation fault (core dumped)", [("exit", "SIGSEGV", "error", None)], id="shell_dash"
    ),
    pytest.param(shell.PARSER, "Aborted (core dumped)", [("exit", "SIGABRT", "error", None)], id="shell_aborted"),
    pytest.param(shell.PARSER, "Killed by a shell", [], id="shell_words_in_a_sentence"),
    pytest.param(slurm.PARSER, "", [], id="slurm_empty"),
    pytest.param(slurm.PARSER, "srun: hello", [], id="slurm_foreign"),
    pytest.param(slurm.PARSER, SRUN, [("exit", "1", "error", None)], id="srun"),
    pytest.param(slurm.PARSER, SRUN + "\r", [("exit", "1", "error", None)], id="srun_crlf"),
    pytest.param(
        slurm.PARSER, "srun: error: n1: tasks 8-11,15: Killed", [("exit", "SIGKILL", "error", None)], id="killed"
    ),
    pytest.param(
        slurm.PARSER,
        "srun: error: n1: task 2: Segmentation fault (core dumped)",
        [("exit", "SIGSEGV", "error", None)],
        id="core",
    ),
    pytest.param(
        slurm.PARSER, "srun: error: n1: task 2: Terminated", [("exit", "SIGTERM", "info", None)], id="stopped"
    ),
    pytest.param(slurm.PARSER, CANCEL, [("scheduler", "time_limit", "error", None)], id="cancel"),
    pytest.param(
        slurm.PARSER,
        CANCEL.replace("DUE TO TIME LIMIT", "DUE to SIGNAL Terminated"),
        [("scheduler", "cancelled", "error", None)],
        id="cancel_by_signal",
    ),
    pytest.param(
        slurm.PARSER,
        "[2026-03-01T10:11:12.000] error: *** STEP 4711.0 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 ***",
        [("scheduler", "cancelled", "error", None)],
        id="cancel_new",
    ),
    pytest.param(
        slurm.PARSER, "srun: error: Node failure on gpu-019", [("scheduler", "node_failure", "fatal", None)], id="node"
    ),
    *(
        pytest.param(
            slurm.PARSER,
            f"[2026-03-01T10:11:12.000] {text}",
            [("scheduler", "node_failure", "fatal", None)],
            id=text[:12],
        )
        for text in (
            "Killing JobId=4711 on failed node gpu-019",
            "requeue job JobId=4711 due to failure of node gpu-019",
            "error: Nodes gpu-[019,021] not responding, setting DOWN",
        )
    ),
    pytest.param(
        slurm.PARSER,
        "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.",
        [("host_oom", "cgroup", "fatal", None)],
        id="oom",
    ),
    pytest.param(
        slurm.PARSER,
        "PULSE: pretrain is running for 1-07:27:33",
        [("scheduler", "pulse:running", "info", None)],
        id="pulse",
    ),
    pytest.param(slurm.PARSER, SRUN[:30], [], id="srun_cut"),
    pytest.param(
        slurm.PARSER,
        SRUN + CANCEL,
        [("exit", "1", "error", None), ("scheduler", "time_limit", "error", None)],
        id="srun_glued",
    ),
    pytest.param(slurm.PARSER, "\ufffd" + SRUN, [("exit", "1", "error", None)], id="srun_not_utf8"),
    pytest.param(checkpoint.PARSER, "", [], id="ckpt_empty"),
    pytest.param(checkpoint.PARSER, "no checkpoint at all", [], id="ckpt_foreign"),
    pytest.param(checkpoint.PARSER, SAVED, [("checkpoint_save", None, "info", 500)], id="megatron_saved"),
    pytest.param(
        checkpoint.PARSER,
        "saving checkpoint at iteration     500 to /ckpt in torch_dist format",
        [("checkpoint_save", None, "info", 500)],
        id="megatron_saving",
    ),
    pytest.param(
        checkpoint.PARSER,
        " successfully loaded checkpoint from /ckpt [ t 1/2, p 1/8 ] at iteration 500",
        [("checkpoint_load", None, "info", 500)],
        id="megatron_loaded",
    ),
    pytest.param(
        checkpoint.PARSER,
        "[Torch] Checkpoint global_step500 is ready now!",
        [("checkpoint_save", None, "info", 500)],
        id="deepspeed",
    ),
    pytest.param(
        checkpoint.PARSER,
        "[Torch] Saving /ckpt/global_step500/mp_rank_00_model_states.pt...",
        [("checkpoint_save", None, "info", 500)],
        id="deepspeed_saving",
    ),
    pytest.param(
        checkpoint.PARSER,
        "Finished saving the checkpoint in 49.27 seconds.",
        [("checkpoint_save", None, "info", None)],
        id="torchtitan",
    ),
    pytest.param(
        checkpoint.PARSER,
        "Async checkpoint save for step 500 (/ckpt/step=500.ckpt) finalized successfully.",
        [("checkpoint_persist", None, "info", 500)],
        id="nemo",
    ),
    pytest.param(checkpoint.PARSER, SAVED + SAVED, [("checkpoint_save", None, "info", 500)] * 2, id="ckpt_glued"),
    pytest.param(checkpoint.PARSER, SAVED[:40], [], id="ckpt_cut"),
    pytest.param(dlrover.PARSER, "", [], id="dlrover_empty"),
    pytest.param(dlrover.PARSER, "] [BEGIN] of a song", [], id="dlrover_foreign"),
    pytest.param(dlrover.PARSER, EVENT, [("checkpoint_save", None, "info", 177215)], id="dlrover_save"),
    pytest.param(
        dlrover.PARSER,
        "Fault nodes: [3, 5] Straggler nodes: [7]",
        [("node_check", "failed", "error", None), ("straggler", None, "warning", None)],
        id="dlrover_check",
    ),
    pytest.param(dlrover.PARSER, "Fault nodes: []", [("node_check", "ok", "info", None)], id="dlrover_ok"),
    pytest.param(dlrover.PARSER, EVENT[:70], [], id="dlrover_cut"),
    pytest.param(dlrover.PARSER, EVENT[:-5], [("checkpoint_save", None, "info", None)], id="dlrover_cut_json"),
]


@pytest.mark.parametrize(("parser", "text", "rows"), CASES)
def test_lines(parser: LineParser, text: str, rows: Rows) -> None:
    assert parser.parse(lines(text))["events"].select("kind", "code", "severity", "step").rows() == rows


@pytest.mark.parametrize(
    ("text", "node", "pods"),
    [
        ("Relaunch node worker-3", 3, {"old": "worker-3"}),
        ("Relaunch node my-job-worker-13 to 21", 13, {"old": "my-job-worker-13", "new": "my-job-worker-21"}),
        ("Relaunching the node 5", 5, {"old": "node 5"}),
    ],
)
def test_who_is_launched_anew_and_as_what(text: str, node: int, pods: dict[str, str]) -> None:
    [row] = dlrover.PARSER.parse(lines(text))["events"].iter_rows(named=True)
    assert (row["kind"], row["code"], row["names_ranks"], json.loads(row["detail"])) == (
        "membership", "relaunch", [node], pods,
    )  # fmt: skip


def test_srun_tasks_are_not_ranks() -> None:
    events = slurm.PARSER.parse(lines("srun: error: n1: tasks 8-11,15: Killed", rank=0))["events"]
    assert events["rank"].to_list() == [None]
    assert json.loads(events["detail"][0])["tasks"] == [8, 9, 10, 11, 15]
    assert events["names_hosts"].to_list() == [["n1"]]
    assert slurm.PARSER.parse(lines("srun: error: n1: tasks 0-99999999999: Killed"))["events"].height == 1


def test_begin_and_end_of_a_save_differ() -> None:
    text = "saving checkpoint at iteration     500 to /ckpt in torch_dist format\n" + SAVED
    events = checkpoint.PARSER.parse(lines(text, rank=[0, 3]))["events"]
    assert [json.loads(detail)["phase"] for detail in events["detail"]] == ["begin", "end"]
    assert events["rank"].to_list() == [0, 3]


def test_dlrover_steps() -> None:
    text = (
        '[2025-04-21T23:53:58.605964] [426] [17b6c6ef] [AtorchTrainerV2] [#log] [INSTANT] {"global_step": 7, "logs": '
        '{"elapsed time per iteration (ms)": 1374.5, "loss scale": 1.0, "number of nan iterations": 2}}'
    )
    steps = dlrover.PARSER.parse(lines(text, path_rank=1))["steps"]
    assert steps.select("rank", "step", "elapsed_ms", "nan_iterations", "loss", "time_basis").rows() == [
        (1, 7, 1374.5, 2, None, "local")
    ]


SACCT = """JobID|JobName|State|ExitCode|End|NodeList
4711|train|CANCELLED by 1000|0:0|2026-03-01T10:11:12|gpu-[016-017]
4711.0|python|FAILED|1:0|2026-03-01T10:11:12|gpu-017
4711.1|python|RUNNING|0:0|Unknown|gpu-017
4711.2|cut
"""
COLUMNS = """JobID           JobName      State ExitCode
------------ ---------- ---------- --------
4711.0           python     FAILED      0:9
"""


def test_sacct() -> None:
    assert sacct.PARSER.accepts("x", SACCT.encode())
    read = sacct.PARSER.parse(source(SACCT.replace("\n", "\r\n")))
    assert read["events"].select("code", "severity", "time_ns", "line").rows() == [
        ("cancelled", "error", 1772359872 * 10**9, 2),
        ("failed", "fatal", 1772359872 * 10**9, 3),
        ("running", "info", None, 4),
    ]
    assert read["unread"]["line"].to_list() == [5]
    columns = sacct.PARSER.parse(source(COLUMNS))["events"]
    assert json.loads(columns["detail"][0])["signal"] == "SIGKILL"
    assert not sacct.PARSER.accepts("x", b"JobID is a word\n")


KUBECTL = """LAST SEEN   TYPE      REASON      OBJECT              MESSAGE
5m          Warning   Evicted     pod/worker-3        The node was low on resource.
2m10s       Normal    Pulled      pod/worker-3        Container image present
1s          Warning   NodeNotReady   node/gpu-017     Node is not ready
"""


def test_kubernetes() -> None:
    assert kubernetes.PARSER.accepts("x", KUBECTL.encode())
    events = kubernetes.PARSER.parse(source(KUBECTL))["events"]
    assert events.select("kind", "code", "severity", "host", "line").rows() == [
        ("scheduler", "Evicted", "fatal", None, 2),
        ("scheduler", "Pulled", "info", None, 3),
        ("scheduler", "NodeNotReady", "fatal", "gpu-017", 4),
    ]
    assert events["time_ns"].null_count() == 3  # ages
    bare = KUBECTL.strip().split("\n", 1)[1]
    assert kubernetes.PARSER.accepts("x", bare.encode()) and kubernetes.PARSER.parse(source(bare))["events"].height == 3
    assert not kubernetes.PARSER.accepts("x", b"train.py: a Warning was raised\n" + bare.encode())  # a log
    moments = kubernetes.PARSER.parse(source(KUBECTL.replace("5m ", "2026-03-01T10:11:12Z ")))["events"]
    assert moments.select("time_ns", "time_basis").row(0) == (1772359872 * 10**9, "utc")
    item = {"type": "Warning", "reason": "OOMKilling", "message": "m", "involvedObject": {"kind": "Node", "name": "n1"}}
    text = json.dumps({"kind": "List", "items": [item | {"lastTimestamp": "2026-03-01T10:11:12Z"}, 3]})
    assert kubernetes.PARSER.accepts("x", text.encode())
    found = kubernetes.PARSER.parse(source(text))["events"]
    assert found.select("kind", "host", "time_ns", "record").rows() == [("host_oom", "n1", 1772359872 * 10**9, 0)]
    assert kubernetes.PARSER.parse(source(text[:-4]))["unread"].height == 1


@pytest.mark.parametrize(
    ("reason", "message", "code"),
    [
        ("PreemptScheduled", "Instance gpu-017 was preempted by the provider", "preemption"),
        ("SpotReclaimed", "Node gpu-017 is being preempted", "preemption"),
        ("TerminationNotice", "Spot instance interruption notice: i-0a1 will be terminated", "preemption"),
        ("Killing", "Preempted in order to admit critical pod", "preemption"),
        ("Evict", "Pod is evicted, because of gangreclaim", "preemption"),
        ("Preempted", "Preempted by pod 7c21 on node gpu-017", "Preempted"),
        ("NodeNotReady", "Node gpu-017 status is now: NodeNotReady", "NodeNotReady"),
        ("FailedScheduling", "preemption: 0/4 nodes are available: no victims found", "FailedScheduling"),
    ],
)
def test_what_an_event_says_is_a_preemption_whatever_its_reason(reason: str, message: str, code: str) -> None:
    head = "LAST SEEN   TYPE      REASON      OBJECT     MESSAGE\n"
    table = f"{head}52s   Normal   {reason}   node/gpu-017   {message}\n"
    assert kubernetes.PARSER.parse(source(table))["events"]["code"].to_list() == [code]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("Killing JobId=4711 on failed node gpu-019", ["gpu-019"]),
        ("error: Nodes gpu-019 not responding, setting DOWN", ["gpu-019"]),
        ("error: Nodes gpu-[019,021] not responding, setting DOWN", None),
    ],
)
def test_the_controller_of_slurm_names_the_node_and_is_not_it(text: str, hosts: list[str] | None) -> None:
    events = slurm.PARSER.parse(lines(f"[2026-03-01T10:11:12.000] {text}", host="head"))["events"]
    assert events.select("host", "names_hosts").row(0) == (None, hosts)
