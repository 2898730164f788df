"""Processes by their other names: rows that tell two of them, blocks of what was asked of one, labels of streams and lists of addresses."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from forensics import analyze
from parsers.archive.exports import lines_of
from parsers.archive.gathered import parts_of
from tests.analysed import cause_and_ranks
from tests.sources import written

FORMS = {
    "docker": ("CONTAINER ID   IMAGE          STATUS                     NAMES\n", "{id}   reg/x:1        Exited (9) 4 minutes ago   run7-{name}-1\n"),
    "podman": ("CONTAINER ID  IMAGE  COMMAND  PORTS   NAMES\n", "{id}  x      fit      {port}        {name}\n"),
    "marks": ("pane,command,service\n", "%{id},fit,{name}\n"),
    "drawn": ("| task | where | called |\n|---|---|---|\n", "| {id} | here | {name} |\n"),
}  # fmt: skip
SERVICES = {"sampler-a": 2, "sampler-b": 0, "sampler-c": 3, "sampler-d": 1}
IDS = {name: f"{at}f0c11ab77d{at}" for at, name in enumerate(SERVICES, 3)}


def composed(form: str, sums: Mapping[str, str]) -> dict[str, str]:
    """A compose file, a table of containers, and checksums of their weights under the ids of the table."""
    head, row = FORMS[form]
    services = "".join(
        f'  {name}:\n    environment:\n      RANK: "{rank}"\n      WORLD_SIZE: "4"\n' for name, rank in SERVICES.items()
    )
    table = head + "".join(
        row.format(id=IDS[name], name=name, port="80/tcp" if name[-1] == "a" else "      ") for name in SERVICES
    )
    mark = "%" if form == "marks" else ""
    documents = "".join(
        f"---\nstep: {step}\nfingerprints:\n" + "".join(f"  {mark}{IDS[name]}: {{weights: {'1f' * 7 if step < 300 else sums.get(name, '2c' * 7)}{step:02x}, loss: 1.2, finite: true}}\n" for name in SERVICES)
        for step in range(100, 600, 100)
    )  # fmt: skip
    return {"compose.yaml": f"services:\n{services}", "listed.txt": table, "sums.yaml": documents}


@pytest.mark.parametrize("form", [*FORMS])
def test_a_row_that_holds_two_names_of_a_process_gives_one_the_rank_of_the_other(form: str, tmp_path: Path) -> None:
    assert cause_and_ranks(tmp_path, composed(form, {"sampler-c": "9b" * 7})) == ("replica_divergence", [3])


def test_a_name_that_several_rows_hold_is_nobodys(tmp_path: Path) -> None:
    files = composed("docker", {"sampler-c": "9b" * 7})
    rows = files["listed.txt"].replace("run7-sampler-b-1", "run7-sampler-c-2")
    assert cause_and_ranks(tmp_path, {**files, "listed.txt": rows})[1] == []


def test_where_processes_run_is_no_name_of_theirs(tmp_path: Path) -> None:
    """Nodes of pods, one each: a kernel's kill of another program there is nobody's of the job."""
    files = composed("docker", {})
    rows = "NAME            STATUS   NODE\n" + "".join(
        f"{name}       Running  kx{at}\n" for at, name in enumerate(SERVICES)
    )
    kill = "[Tue Jun  3 11:29:58 2025] Out of memory: Killed process 977 (indexer) total-vm:310203332kB, anon-rss:240112344kB, file-rss:0kB\n"
    assert (
        cause_and_ranks(tmp_path, {"compose.yaml": files["compose.yaml"], "pods.txt": rows, "kx2/dmesg.txt": kill})[1]
        == []
    )


@pytest.mark.parametrize(
    "line", ["lost workers 10.9.4.21:2222, 10.9.4.15:2222", "etcd_endpoints=10.9.4.21:2222,10.9.4.15:2222", "workers: 10.9.4.21:2222, 10.9.4.15:2222 are late"]
)  # fmt: skip
def test_addresses_in_a_sentence_are_no_list_of_all(line: str, tmp_path: Path) -> None:
    found = {
        f"10.9.4.{at}:2222/out.log": f"at 10.9.4.{at}:2222 begin\n"
        + ("KeyError: 'shard'\n" if at == 15 else "ConnectionResetError: peer\n")
        for at in (15, 21)
    }
    assert cause_and_ranks(tmp_path, {"master.log": f"{line}\n", **found})[1] == []  # fmt: skip


NOTE = b"""$ ssh -o StrictHostKeyChecking=no ops@vk07 dmesg -T
[Wed May 14 01:00:00 2026] eth0: link is up
$ ssh vk09 "tail -n 2 /var/log/train/out.log"
pass 3
$ nomad alloc status 77e2c5d4
ID = 77e2c5d4-3b8f
$ nomad alloc status -verbose 0d71e3c8
ID = 0d71e3c8-0804
"""


def test_what_was_asked_of_a_host_or_an_allocation_is_a_part_of_its_own() -> None:
    found = [(part.name, part.host) for part in parts_of(NOTE)]
    assert found == [("vk07/dmesg", "vk07"), ("vk09/out.log", "vk09"), ("77e2c5d4", None), ("0d71e3c8", None)]


@pytest.mark.parametrize(
    "text", [b"$ ssh vk07\nWelcome\n$ ssh vk07\nWelcome\n", b"the ssh daemon of vk07 said no\nssh vk09 dmesg\n"]
)
def test_a_shell_that_is_only_opened_or_spoken_of_is_no_part(text: bytes) -> None:
    assert parts_of(text) == []


def allocations(code: str) -> dict[str, str]:
    """A job that takes its ranks from the places of its allocations, what is kept of each, and their logs by the ids."""
    ids = {"77e2c5d4": 2, "0d71e3c8": 0, "5c1e09b7": 1, "a90f4471": 3}
    asked = "".join(
        f'$ nomad alloc status {one}\nID   = {one}-3b8f-447c-b596-de9b35457bca\nName = fit.part[{rank}]\n\nRecent Events:\nTime                  Type            Description\n'
        f'2026-05-14T03:22:{10 if rank == 1 else 20 + rank}Z  Terminated      {code if rank == 1 else "Exit Code: 1, Exit Message: ended"}\n\n'
        for one, rank in ids.items()
    )  # fmt: skip
    job = 'job "fit" {\n  group "part" {\n    count = 4\n    task "t" {\n      env {\n        RANK = "${NOMAD_ALLOC_INDEX}"\n        WORLD_SIZE = "4"\n      }\n    }\n  }\n}\n'
    logs = {
        f"logs/{one}.t.stderr.0": "".join(f"05-14 03:2{at}:00 update {at} loss 0.{at}\n" for at in range(3))
        for one in ids
    }
    return {"status.txt": asked, "fit.nomad": job, **logs}  # fmt: skip


def test_an_allocation_has_the_rank_that_a_job_makes_of_its_place(tmp_path: Path) -> None:
    signal = 'Exit Code: 137, Signal: 9, Exit Message: "ended"'
    assert cause_and_ranks(tmp_path, allocations(signal)) == ("killed", [1])


@pytest.mark.parametrize(
    "code",
    [
        'Exit Code: 137, Exit Message: "OOM Killed"',
        'Exit Code: 137, Exit Message: "OOM killed by the node"',
        "Exit Code: 137, Oom: OOMKilled",
    ],
)
def test_a_record_of_an_allocation_needs_no_word_for_whom_it_is_of(tmp_path: Path, code: str) -> None:
    assert cause_and_ranks(tmp_path, allocations(code)) == ("host_oom", [1])


@pytest.mark.parametrize(
    "code",
    [
        'Exit Code: 1, Exit Message: "ended"',
        'Exit Code: 0, Exit Message: "OOM Killed"',
        "Restart Signaled  OOM score was read",
        "Driver Failure  could not read the exit code: 137",
    ],
    ids=["as all others", "it ended well", "nothing of an end", "what was not read"],
)
def test_a_record_of_an_allocation_that_ended_as_others_names_nobody(tmp_path: Path, code: str) -> None:
    assert cause_and_ranks(tmp_path, allocations(code))[1] == []


WORKERS = ["10.9.4.15:2222", "10.9.4.21:2223", "10.9.4.21:2222", "10.9.4.12:2222"]


def exported(label: str, cluster: Mapping[str, object]) -> bytes:
    """Newest first, as a download of Grafana: labels as an object in a cell."""
    lines = [(30, 2, "Traceback (most recent call last):"), (31, 2, "KeyError: 'shard'")]
    lines += [(at, at % 4, f"step={at} local_loss=4.{at}") for at in range(10, 26)]
    lines.append((1, 0, "TF_CONFIG=" + json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}})))

    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    rows = [
        f"2026-01-14 05:05:{at:02}.000,{quoted(json.dumps({label: WORKERS[who], 'level': 'unknown'}))},{quoted(text)},17368311{at:02}000000000"
        for at, who, text in sorted(lines, reverse=True)
    ]
    return ("\n".join(["Time,labels,Line,tsNs", *rows]) + "\n").encode()  # fmt: skip


@pytest.mark.parametrize("label", ["addr", "instance", "task_id"])
def test_labels_that_one_cell_holds_tell_streams_apart(label: str) -> None:
    said = [json.loads(line) for line in (lines_of(exported(label, {"worker": WORKERS})) or b"").splitlines()]
    assert [one["host"] for one in said[-2:]] == [WORKERS[2]] * 2
    assert said[0]["log"].startswith("TF_CONFIG=")


def test_labels_that_are_no_names_of_processes_tell_nothing() -> None:
    said = [json.loads(line) for line in (lines_of(exported("colour", {"worker": WORKERS})) or b"").splitlines()]
    assert not any("host" in one for one in said)


@pytest.mark.parametrize(
    ("cluster", "ranks"),
    [
        ({"worker": WORKERS}, [2]),
        ({"chief": ["10.9.4.9:2222"], "worker": WORKERS}, []),
        ({"ps": WORKERS, "worker": ["10.9.4.7:1", "10.9.4.8:1"]}, []),
    ],
    ids=["workers", "a chief before them", "servers"],
)
def test_a_list_of_all_workers_tells_whose_a_stream_is(
    cluster: Mapping[str, object], ranks: list[int], tmp_path: Path
) -> None:
    lines = exported("addr", cluster).decode().removesuffix("\n").split("\n")
    verdict = analyze(written(tmp_path, {"Explore-logs.csv": lines})).verdict
    assert [*verdict.ranks] == ranks


PODS = {"fit-master-0": 0, "fit-worker-0": 1, "fit-worker-1": 2, "fit-worker-2": 3}
UIDS = {pod: f"9a3c{at}f0e-7b1d-4c2e-8f60-1d2e3f4a5b6{at}" for at, pod in enumerate(PODS)}
LONG = {pod: f"{at}7e19ac4" * 8 for at, pod in enumerate(PODS)}
NOTES = {
    "markdown": ("# OPS-1\n\n| | |\n|---|---|\n| Reporter | I. K. |\n| Kind | PyTorchJob, 4 pods |\n\nState of the pods:\n\n| pod | node | uid | container id |\n|:---|:---|:---|:---|\n", "| {pod} | n{at} | {uid} | containerd://{long} |\n"),
    "without names": ("$ kubectl get pods -o json | jq -r …\n", "{pod}\t{uid}\tcri-o://{long}\n"),
    "below a prompt": ("cluster eu, look of 21:30, all green\n\n$ docker ps --no-trunc\nCONTAINER ID                                                       IMAGE   NAMES\n", "{long}   fit:3   {pod}\n"),
    "other words": ("今晚的状态：\n\n| 容器ID | 节点 | Pod |\n|---|---|---|\n", "| {long} | n{at} | {pod} |\n"),
}  # fmt: skip


def killed_in(tmp_path: Path, note: str, cgroup: str) -> list[int]:
    """Logs called after pods, each of which tells its rank, and a kernel that killed in a control group."""
    head, row = NOTES[note]
    table = head + "".join(
        row.format(pod=pod, at=at, uid=UIDS[pod], long=LONG[pod]) for at, pod in enumerate(reversed(PODS))
    )
    logs = {
        f"logs/{pod}.log": f"rank {rank} of 4\n"
        + "".join(f"step {at} loss 2.{at}\n" for at in range(8))
        + ("Killed\n" if pod == "fit-worker-1" else "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error\n")
        for pod, rank in PODS.items()
    }  # fmt: skip
    kernel = (
        f"Oct 21 21:52:26 n2 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg={cgroup},task_memcg={cgroup},task=python,pid=99418,uid=0\n"
        "Oct 21 21:52:26 n2 kernel: Memory cgroup out of memory: Killed process 99418 (python) total-vm:214338212kB, anon-rss:88122340kB, file-rss:0kB, shmem-rss:0kB, UID:0\n"
    )
    found = cause_and_ranks(tmp_path, {"ticket.md": table, "n2.txt": kernel, **logs})
    return found[1] if found[0] == "host_oom" else [-1]


@pytest.mark.parametrize("note", [*NOTES])
def test_the_id_of_a_control_group_is_told_in_a_note(note: str, tmp_path: Path) -> None:
    assert killed_in(tmp_path, note, f"/system.slice/x-{LONG['fit-worker-1']}.scope") == [2]


def test_the_uid_of_a_pod_is_told_in_a_note(tmp_path: Path) -> None:
    assert killed_in(tmp_path, "without names", f"/kubepods/pod{UIDS['fit-worker-1'].replace('-', '_')}.slice") == [2]


def test_the_id_of_another_container_is_nobodys(tmp_path: Path) -> None:
    assert killed_in(tmp_path, "markdown", f"/system.slice/x-{'5d' * 32}.scope") in ([], [-1])
