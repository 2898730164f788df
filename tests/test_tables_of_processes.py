"""Which process is which rank, as launchers, tools and schedulers print it in tables of their own, where a kernel names a process by its pid."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.analysed import cause_and_ranks

PROCESSES = [(0, "vc31", 0, 70211), (1, "vc31", 1, 70212), (2, "vc44", 0, 18840), (3, "vc44", 1, 18841)]
TURNED = {0: 2, 1: 0, 2: 3, 3: 1}
RUN = "".join(f"pass {number} mse 0.2{number % 7} rate {700 + number % 9}\n" for number in range(30))


def each(form: str) -> str:
    return "".join(
        form.format(rank=rank, host=host, local=local, pid=pid, turned=TURNED[rank])
        for rank, host, local, pid in PROCESSES
    )


def on(host: str, form: str) -> str:
    return "".join(
        form.format(rank=rank, host=host, local=local, pid=pid, turned=TURNED[rank])
        for rank, own, local, pid in PROCESSES
        if own == host
    )


def crashed(files: Mapping[str, str], tmp_path: Path, pid: int = 18840) -> list[int]:
    """The ranks that are named where the kernel of vc44 tells of a process that crashed."""
    kernel = f"Mar  4 04:18:21 vc44 kernel: solve[{pid}]: segfault at 10 ip 00007f3a0c41d2aa sp 00007ffd3a1b2c20 error 4 in libgrid.so[7f3a0c200000+41d000]\n"
    quiet = "Mar  4 03:11:00 {} kernel: perf: interrupt took too long (2511 > 2500)\n"
    logs = {"vc31/kern.log": quiet.format("vc31"), "vc44/kern.log": quiet.format("vc44") + kernel}
    return cause_and_ranks(tmp_path, {"job.out": RUN, **logs, **files})[1]


STARTUP = (
    "[0] MPI startup(): Intel(R) MPI Library, Version 2021.9\n[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n"
)
VARIABLES = "LANG=C DMLC_NUM_WORKER=2 DMLC_WORKER_ID={node} BYTEPS_LOCAL_RANK={local} HOME=/root\n"


@pytest.mark.parametrize(
    ("files", "rank"),
    [
        ({"job.out": STARTUP + each("[0] MPI startup(): {rank:<7} {pid:<8} {host:<10} {{{local}}}\n") + RUN}, 2),
        ({"job.out": each("[{host}:{pid}] MCW rank {rank} bound to socket {local}[core {local}[hwt 0]]: [B/.][./.]\n") + RUN}, 2),
        ({"job.out": each("[{host}:{pid}] Rank {turned} bound to package[{local}][core:0-7]\n") + RUN}, 3),
        ({"job.out": each("cpu-bind=MASK - {host}, task  {rank}  {local} [{pid}]: mask 0xff set\n") + RUN}, 2),
        ({"begun.jsonl": each('{{"event": "begun", "host": "{host}", "pid": {pid}, "rank": {turned}}}\n')}, 3),
        ({f"{host}/proc/{pid}/environ": f"PATH=/bin\0PMIX_RANK={TURNED[rank]}\0SLURM_NTASKS=4\0HOME=/root\0" for rank, host, _, pid in PROCESSES}, 3),
        ({f"{host}/ps.txt": "$ ps eww -o pid,args\n" + on(host, " {pid} python3 solve.py " + VARIABLES.replace("{node}", str(node)))
          for node, host in enumerate(("vc44", "vc31"))}, 0),
    ],
    ids=["Intel MPI", "Open MPI", "PRRTE", "srun", "objects a line each", "environments", "servers of parameters"],
)  # fmt: skip
def test_a_process_that_a_kernel_names_is_the_rank_that_a_table_gives_it(
    files: dict[str, str], rank: int, tmp_path: Path
) -> None:
    assert crashed(files, tmp_path) == [rank]
    assert crashed(files, tmp_path / "of another", pid=4242) == []


@pytest.mark.parametrize(
    "files",
    [
        {"job.out": each("[{host}:{pid}] connection {rank} to the store, {local} tries\n") + RUN},
        {"job.out": each("[0] pool: {rank:<7} {pid:<8} {host:<10} {{{local}}}\n") + RUN},
        {"said.jsonl": each('{{"level": "info", "message": "asks", "host": "{host}", "pid": {pid}, "peer_rank": {turned}}}\n')},
        {f"{host}/ps.txt": "$ ps eww -o pid,args\n" + on(host, " {pid} python3 solve.py LANG=C CACHE_WAYS=3 CACHE_ID=" + str(node) + " LOCAL_RANK={local}\n")
         for node, host in enumerate(("vc44", "vc31"))},
    ],
    ids=["connections", "no names above", "whom a line tells of", "numbers of nobody"],
)  # fmt: skip
def test_numbers_beside_processes_that_are_no_ranks_name_nobody(files: dict[str, str], tmp_path: Path) -> None:
    assert crashed(files, tmp_path) == []


GONE = "RuntimeError: [/b/gloo/transport/tcp/pair.cc:547] Connection closed by peer [10.3.4.23]:22981\n"


def logs(names: Mapping[int, str], rank: int) -> dict[str, str]:
    return {
        f"logs/{name}.log": RUN + ("" if one == rank else 'Traceback (most recent call last):\n  File "/a/t.py", line 9, in <module>\n    main()\n' + GONE)
        for one, name in names.items()
    }  # fmt: skip


def pods(rank: int, where: str, key: str) -> str:
    """Pods of an indexed job, whose ranks the pods take from what the controller writes on them."""
    variable = {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{where}['{key}']"}}}
    items = [
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"segm-{one}-x{one}k2p", where: {key: str(one)}},
            "spec": {"containers": [{"name": "main", "env": [variable, {"name": "WORLD_SIZE", "value": "4"}]}]},
            "status": {"containerStatuses": [{"name": "main", "state": {"terminated":
                {"exitCode": 137 if one == rank else 1, "reason": "OOMKilled" if one == rank else "Error", "finishedAt": "2026-02-03T04:12:10Z"}}}]},
        }
        for one in range(4)
    ]  # fmt: skip
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=2)


@pytest.mark.parametrize(
    ("where", "key"),
    [
        ("annotations", "batch.kubernetes.io/job-completion-index"),
        ("labels", "apps.kubernetes.io/pod-index"),
        ("labels", "training.kubeflow.org/replica-index"),
    ],
)
def test_a_pod_takes_its_rank_from_what_is_written_on_it(where: str, key: str, tmp_path: Path) -> None:
    names = {one: f"segm-{one}-x{one}k2p" for one in range(4)}
    assert cause_and_ranks(tmp_path, {"pods.json": pods(2, where, key), **logs(names, 2)}) == ("host_oom", [2])


def containers(code: int, killed: bool = False, state: str = "exited") -> str:
    found = [
        {
            "Id": f"{one}c0ffee{one}" * 8, "Name": f"/calm_bohr{one}",
            "State": {"Status": state, "ExitCode": code if one == 3 else 1, "OOMKilled": killed and one == 3, "FinishedAt": "2026-04-27T06:30:01.5Z"},
            "Config": {"Env": ["PATH=/bin", f"RANK={one}", "WORLD_SIZE=4"]},
        }
        for one in (2, 0, 3, 1)
    ]  # fmt: skip
    return json.dumps(found, indent=4)


@pytest.mark.parametrize(
    ("document", "cause", "ranks"),
    [
        (containers(139), "segfault", [3]),
        (containers(137, killed=True), "host_oom", [3]),
        (containers(139, state="running"), None, []),
        (containers(1), None, []),
    ],
    ids=["a signal", "for memory", "still runs", "all alike"],
)
def test_a_container_ended_as_its_engine_keeps_it(
    document: str, cause: str | None, ranks: list[int], tmp_path: Path
) -> None:
    files = {f"logs/calm_bohr{one}.log": RUN for one in range(4)}
    assert cause_and_ranks(tmp_path, {"inspect.json": document, **files}) == (cause, ranks)


DRIVER = "2026-06-04T02:47:31+0000 vc44 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
DEVICES = (
    "name, pci.bus_id, index, serial\n"
    + "".join(f"NVIDIA A100, 00000000:{bus}:00.0, {at}, 16503{at}\n" for at, bus in ((0, "1B"), (2, "43"), (1, "9B"), (3, "C3")))
)  # fmt: skip


def on_devices(nodes: str) -> dict[str, str]:
    lost = 'Traceback (most recent call last):\n  File "/a/t.py", line 9, in <module>\n    dist.all_reduce(x)\ntorch.distributed.DistBackendError: NCCL error in: P.cpp:268, remote process exited or there was a network error, NCCL version 2.21.5\n'
    fault = 'Traceback (most recent call last):\n  File "/a/t.py", line 7, in step\n    loss.backward()\nRuntimeError: CUDA error: unspecified launch failure\n'
    files = {f"log/train.{host}.{at}.txt": RUN + (fault if (host, at) == ("vc44", 1) else lost)
             for host, every in (("vc31", (0, 3)), ("vc44", range(4)), ("vc58", (1, 2))) for at in every}  # fmt: skip
    return files | {"nodes": nodes, "vc44/kern.log": DRIVER, "vc44/smi.csv": DEVICES}


def test_slots_of_hosts_count_ranks_and_files_of_places_are_theirs_where_some_were_lost(tmp_path: Path) -> None:
    nodes = "".join(f"{host}.lab.example 4 long.q@{host}.lab.example UNDEFINED\n" for host in ("vc31", "vc44", "vc58"))
    assert cause_and_ranks(tmp_path, on_devices(nodes)) == ("gpu_fault", [5])


def test_hosts_with_figures_beside_them_count_no_ranks(tmp_path: Path) -> None:
    nodes = "".join(f"{host}.lab.example 4 days up\n" for host in ("vc31", "vc44", "vc58"))
    assert cause_and_ranks(tmp_path, on_devices(nodes))[1] == []


def planets(broken: str = "") -> dict[str, str]:
    """Units of two hosts, whose ranks a file of variables gives each, as journals keep what they said."""
    names = {"ceres": (3, "vc31", 510), "pallas": (0, "vc31", 511), "juno": (1, "vc44", 512), "vesta": (2, "vc44", 513)}
    files = {
        f"etc/{name}.env": f"# by hand\nFIT_RANK={rank}\nFIT_WORLD=4\nFIT_STORE=vc31:7777\n{broken}"
        for name, (rank, *_) in names.items()
    }

    def said(at: int, name: str, message: str) -> str:
        _, host, pid = names[name]
        return (
            json.dumps(
                {
                    "__REALTIME_TIMESTAMP": str(1751330000000000 + at * 10**6),
                    "_HOSTNAME": host,
                    "SYSLOG_IDENTIFIER": "fit",
                    "MESSAGE": message,
                    "_SYSTEMD_UNIT": f"fit@{name}.service",
                    "_PID": str(pid),
                }
            )
            + "\n"
        )

    for host in ("vc31", "vc44"):
        own = [name for name, (_, at, _) in names.items() if at == host]
        text = "".join(said(at, name, f"step {at} loss 1.{at}") for at in range(100, 130) for name in own)
        text += "".join(said(200, name, "barrier save-130: arrived, waiting") for name in own if name != "juno")
        if host == "vc44":
            text += (
                json.dumps(
                    {
                        "__REALTIME_TIMESTAMP": "1751330330000000",
                        "_HOSTNAME": host,
                        "SYSLOG_IDENTIFIER": "kernel",
                        "MESSAGE": "INFO: task fit:512 blocked for more than 122 seconds.",
                        "_TRANSPORT": "kernel",
                    }
                )
                + "\n"
            )
        text += "".join(
            said(2000, name, "barrier save-130: gave up after 1800 s (3 of 4 arrived), leaving")
            for name in own
            if name != "juno"
        )
        files[f"{host}.journal.json"] = text
    return files  # fmt: skip


def test_units_are_called_after_files_of_variables_whatever_program_they_are_of(tmp_path: Path) -> None:
    assert cause_and_ranks(tmp_path, planets()) == ("rank_absent", [1])
    assert cause_and_ranks(tmp_path / "two numbers", planets("FIT_RANK=9\n"))[1] == []


@pytest.mark.parametrize("variable", ["TP_RANK", "LORA_RANK", "MAX_RANK", "FIT_RANKING"])
def test_variables_of_groups_and_adapters_are_no_ranks_of_processes(variable: str, tmp_path: Path) -> None:
    files = {name: text.replace("FIT_RANK", variable) for name, text in planets().items()}
    assert cause_and_ranks(tmp_path, files)[1] == []


def test_a_variable_of_ones_own_counts_only_where_no_known_one_does(tmp_path: Path) -> None:
    turned = {name: text.replace("FIT_RANK=", "RANK=", 1) for name, text in planets("FIT_RANK=0\n").items()}
    assert cause_and_ranks(tmp_path, turned) == ("rank_absent", [1])


def wrapped(rule: str, word: str = "procno") -> dict[str, str]:
    """What a wrapper on each of three nodes says of the two processes that it begins, and how they ended."""
    files = {"par.sub": f"machine_count = 3\n# two children each, {rule}\nqueue\n"}
    for node in range(3):
        pids = [4000 + 30 * node, 4007 + 30 * node]
        lines = [
            f"wrap: {word} {node} of 3 on 10.1.4.{27 + 5 * node}",
            *(f"wrap: slot {at} -> pid {pid}" for at, pid in enumerate(pids)),
        ]
        lines += [f"02:0{at}:00 [{pids[at % 2]}] net: ev {900 + at} bce 0.2{at}" for at in range(8)]
        if node == 2:
            lines += [
                f"wrap: 02:14:47 slot 1 (pid {pids[1]}): waitpid says ended by signal 9",
                f"wrap: 02:14:48 slot 0 (pid {pids[0]}): waitpid says ended by signal 15",
            ]
        else:
            lines += [
                f"[{pid}] mpi4py.MPI.Exception: MPI_ERR_OTHER: peer endpoint is unreachable (UCX: Connection reset by remote peer)\nwrap: slot {at} (pid {pid}): exit 1"
                for at, pid in enumerate(pids)
            ]
        files[f"out.{node}"] = "\n".join(lines) + "\n"
    return files  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "rank"),
    [
        ("their rank is 2*_CONDOR_PROCNO + slot", 5),
        ("the rank = slot + 2 * PROCNO", 5),
        ("no word of their ranks", None),
    ],
)
def test_a_number_that_a_rule_counts_nodes_by_is_no_rank(rule: str, rank: int | None, tmp_path: Path) -> None:
    assert cause_and_ranks(tmp_path, wrapped(rule))[1] == ([] if rank is None else [rank])


def test_a_table_may_call_a_place_as_the_rule_of_ranks_does(tmp_path: Path) -> None:
    """The process that a driver ends before it resets its device, by a list of processes under the number of their modules."""
    pids = {6: 31178, 2: 31148, 0: 31133, 3: 31155, 1: 31140, 4: 31161, 5: 31170, 7: 31187}
    listed = "by hand\n| module_id | PID | command |\n|---|---|---|\n" + "".join(
        f"| {at} | {pid} | python3 fit.py |\n" for at, pid in pids.items()
    )
    driver = "".join(
        f"[Thu Aug 21 03:18:44 2025] habanalabs 0000:b4:00.0: accel5: {said}\n"
        for said in (
            "HBM5_MC1_SEI_SEVERE: cause: ECC double-bit error on read",
            "Going to reset device (hard reset, device in use)",
            "Killing user process pid=31155",
        )
    )
    lost = "[03:18:{}.118] [HCL] socket to a peer closed by the other side, collective aborted\nRuntimeError: Collective call returned error 4 (remote side has gone).\n"
    files = {
        "run.yaml": 'nodes: [dv03, dv07]\nper_node: 8\nrank: "8 * node_rank + HLS_MODULE_ID"\n',
        "dv07/procs.txt": listed,
        "dv07/dmesg.txt": driver,
    }
    for at, pid in pids.items():
        files[f"dv03/out-{pid - 999}.log"] = RUN + lost.format(50 + at)
        files[f"dv07/out-{pid}.log"] = RUN + (
            "RuntimeError: synStatus=26 [Generic failure] device is in reset.\n" if at == 3 else lost.format(50 + at)
        )
    assert cause_and_ranks(tmp_path, files) == ("gpu_fault", [11])
    unruled = files | {"run.yaml": "nodes: [dv03, dv07]\nper_node: 8\n"}
    assert cause_and_ranks(tmp_path / "no rule", unruled)[1] == []  # fmt: skip
