"""Pods and the nodes they run on: a kernel's record is about the one pod of the job that runs on its node."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.analysed import cause_and_ranks
from tests.log_cases import case


def scheduled(pod: str, node: str) -> dict[str, Any]:
    told = json.dumps({"object": f"pod/{pod}", "node": node})
    return {"kind": "scheduler", "code": "Scheduled", "severity": "info", "detail": told, "file": "events.txt"}


LOST = {
    "kind": "gpu_lost",
    "code": "xid:79",
    "severity": "fatal",
    "host": "gn42",
    "pci": "0000:52:00",
    "file": "kern.log",
}
RANKS = [{"rank": rank, "host": f"w{rank}", "pci": "0000:52:00.0", "how": "init"} for rank in range(3)]


@pytest.mark.parametrize(
    ("pods", "rank", "on_job"),
    [
        pytest.param([("w1", "gn42"), ("w2", "gn43")], 1, True, id="its only pod"),
        pytest.param([("w1", "gn42.cluster")], 1, True, id="with the node's domain"),
        pytest.param([("w1", "gn42"), ("w2", "gn42")], None, False, id="two pods of the job on the node"),
        pytest.param([("w1", "gn42"), ("other", "gn42")], 1, True, id="a pod of somebody else beside it"),
        pytest.param([("other", "gn42")], None, False, id="a pod of somebody else"),
        pytest.param([("w1", "gn42"), ("w1", "gn43")], None, False, id="a pod that was moved"),
        pytest.param([], None, False, id="nothing tells"),
    ],
)
def test_whose_device_a_node_speaks_of(pods: list[tuple[str, str]], rank: int | None, on_job: bool) -> None:
    (record,) = case([*(scheduled(*one) for one in pods), LOST], ranks=RANKS).hardware
    assert (record.host, record.rank, record.on_job) == ("gn42", rank, on_job)


LOST_PEER = "RuntimeError: [../gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.8.0.4]:40211. This is typically caused by a remote worker crashing."


def listed(*rows: str, last_words: str = "") -> dict[str, str]:
    """A job of four pods of one process each, of which three lost a peer, and what a list of pods says. `last_words`: of the third."""
    steps = "".join(f"05:0{at}:00 step {at} loss 2.{at}\n" for at in range(1, 4))
    logs = {
        f"mt-trainer-{at}.log": steps
        + (last_words if at == 2 else f"[rank{at}]: Traceback (most recent call last):\n[rank{at}]: {LOST_PEER}\n")
        for at in range(4)
    }
    pods = "".join(
        f"---\nkind: Pod\nmetadata:\n  name: mt-trainer-{at}\nspec:\n  nodeName: box-{at}\n  containers:\n  - name: main\n    env:\n"
        f'    - name: RANK\n      value: "{at}"\n    - name: WORLD_SIZE\n      value: "4"\n'
        for at in range(4)
    )
    return logs | {"pods.yaml": pods, "pods.txt": "\n".join(rows) + "\n"}


@pytest.mark.parametrize(
    "rows",
    [
        ("NAME           READY   STATUS      RESTARTS   AGE", "mt-trainer-1   0/1     Error       0          3h", "mt-trainer-2   0/1     OOMKilled   0          3h"),
        ("NAMESPACE   NAME           READY   STATUS      RESTARTS   AGE", "nlp         mt-trainer-2   0/1     OOMKilled   0          3h", "nlp         mt-trainer-3   0/1     Error       0          3h"),
        ("mt-trainer-2 0/1 OOMKilled 1 (4m ago) 3h 10.8.0.4 box-2 <none> <none>",),
        ("NAME\tREADY\tSTATUS", "mt-trainer-2\t0/1\tOOMKilled"),
    ],
    ids=["a list", "with namespaces", "wide, without its head", "tabs"],
)  # fmt: skip
def test_a_list_of_pods_says_who_was_killed_for_memory(tmp_path: Path, rows: tuple[str, ...]) -> None:
    assert cause_and_ranks(tmp_path, listed(*rows)) == ("host_oom", [2])


@pytest.mark.parametrize(
    ("rows", "last_words"),
    [
        (("mt-trainer-2   1/2     OOMKilled   0          3h",), ""),
        (("mt-trainer-2   0/2     OOMKilled   0          3h",), ""),
        (("mt-eval-2      0/1     OOMKilled   0          3h",), ""),
        (("mt-trainer-12  0/1     OOMKilled   0          3h",), ""),
        (("log-shipper-x7   box-2   0/2   OOMKilled",), ""),
        (("box-2   log-shipper-x7   0/1   OOMKilled",), ""),
        (("mt-trainer-2   1/1     Running     4          3h",), ""),
        (("mt-trainer-2   0/1     OOMKilled   0          3h",), f"[rank2]: Traceback (most recent call last):\n[rank2]: {LOST_PEER}\n"),
    ],
    ids=["a container beside it", "one of two", "another pod", "beyond the job", "a node behind a pod", "a node before a pod", "it runs", "it lost others itself"],
)  # fmt: skip
def test_of_others_a_list_of_pods_names_nobody(tmp_path: Path, rows: tuple[str, ...], last_words: str) -> None:
    assert cause_and_ranks(tmp_path, listed("NAME           READY   STATUS", *rows, last_words=last_words))[1] == []
