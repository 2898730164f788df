"""How containers ended, by `kubectl describe pod`."""

import json

import pytest

from parsers.scheduling.pod_description import PARSER
from tests.sources import source

POD = """Name:             worker-3
Namespace:        research
Node:             gpu-017/10.20.0.17
Labels:           app=train
                  role=worker
Containers:
  trainer:
    Image:          registry/train:1
    State:          {state}
      Reason:       {reason}
      Exit Code:    {code}
      Started:      Sun, 01 Mar 2026 09:00:00 +0000
      Finished:     Sun, 01 Mar 2026 11:11:12 +0100
    Ready:          False
Conditions:
  Type              Status
  Ready             False
Events:             <none>
"""


def described(state: str = "Terminated", reason: str = "OOMKilled", code: str = "137") -> str:
    return POD.format(state=state, reason=reason, code=code)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (described(), [("host_oom", "OOMKilled", "fatal", 10)]),
        (described().replace("\n", "\r\n"), [("host_oom", "OOMKilled", "fatal", 10)]),
        (described(reason="Error", code="1"), [("exit", "1", "error", 10)]),
        (described(reason="Completed", code="0"), []),
        (described(state="Running"), []),
        (described().replace("    State:", "    Last State:"), [("host_oom", "OOMKilled", "fatal", 10)]),
        (described() + "\n\n" + described(), [("host_oom", "OOMKilled", "fatal", 10), ("host_oom", "OOMKilled", "fatal", 30)]),
        (described()[: POD.index("Started")], [("host_oom", "OOMKilled", "fatal", 10)]),
        (described().replace("Containers:\n  trainer:\n", ""), [("host_oom", "OOMKilled", "fatal", 8)]),
    ],
    ids=["killed", "CRLF", "failed", "completed", "running", "the run before", "two pods", "cut", "a part"],
)  # fmt: skip
def test_rows(text: str, rows: list[tuple[str, str, str, int]]) -> None:
    assert PARSER.accepts("describe.txt", text.encode())
    found = PARSER.parse(source(text))
    assert found["events"].select("kind", "code", "severity", "line").rows() == rows
    assert found["claimed"].height == len(text.splitlines())


def test_pod_node_and_time() -> None:
    (row,) = PARSER.parse(source(described()))["events"].rows(named=True)
    assert (row["host"], row["names_hosts"], row["rank"]) == ("worker-3", ["gpu-017"], None)
    assert (row["time_ns"], row["time_basis"]) == (1772359872 * 10**9, "utc")
    assert row["text"] == "container trainer of pod worker-3: OOMKilled, exit code 137"


@pytest.mark.parametrize(
    "text",
    ["", "step 3\n", "Name: x\nstep 3\n", "Name:  worker\nNamespace:  a\n", "log\n" + described()],
    ids=["empty", "log", "a name", "no containers", "in a log"],
)
def test_what_is_none(text: str) -> None:
    assert not PARSER.accepts("a.log", text.encode())


def test_a_log_that_follows_is_left_to_others() -> None:
    claimed = PARSER.parse(source(described() + "iteration 7 | loss 2.0\n"))["claimed"]
    assert PARSER.shared
    assert claimed["line"].max() == len(described().splitlines())


def test_how_many_containers_a_pod_has_and_which_run_it_was() -> None:
    volumes = "Volumes:\n  scratch:\n    Type:  EmptyDir\n"
    sidecar = "  shipper:\n    State:          Running\nConditions:"
    texts = (
        described() + volumes,
        described().replace("Conditions:", sidecar),
        described().replace("State:", "Last State:"),
    )
    told = [json.loads(PARSER.parse(source(text))["events"]["detail"][0]) for text in texts]
    assert [(one["containers"], one["is_earlier"]) for one in told] == [(1, False), (2, False), (1, True)]
