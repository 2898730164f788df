"""How containers ended, by the objects of pods."""

import json

import pytest

from parsers.scheduling.pod_status import PARSER
from tests.sources import source


def object_of(
    name: str, code: int | None, reason: str = "Error", state: str = "state", hostname: str | None = None
) -> dict[str, object]:
    ended = (
        {"running": {}}
        if code is None
        else {"terminated": {"exitCode": code, "reason": reason, "finishedAt": "2026-03-01T10:11:12Z"}}
    )
    spec = {"nodeName": "gpu-017"} | ({"hostname": hostname} if hostname else {})
    status = {"containerStatuses": [{"name": "main", state: ended}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": status}  # fmt: skip


def listed(*pods: dict[str, object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}, indent=1)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (listed(object_of("w-2-x7k2p", 137, "OOMKilled", hostname="w-2"), object_of("w-3-aaaaa", 1)), [("host_oom", "OOMKilled", "w-2"), ("exit", "1", "w-3-aaaaa")]),
        (json.dumps(object_of("w-2", 139), indent=2), [("exit", "139", "w-2")]),
        (listed(object_of("w-2", 0), object_of("w-3", None)), []),
        ("apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: w-1\n  status:\n    containerStatuses:\n    - name: a\n      lastState:\n        terminated:\n          exitCode: 137\n          reason: OOMKilled\nkind: List\n", [("host_oom", "OOMKilled", "w-1")]),
    ],
    ids=["a list", "one pod", "none ended", "YAML, of the run before"],
)  # fmt: skip
def test_rows(text: str, rows: list[tuple[str, str, str]]) -> None:
    assert PARSER.accepts("pods", text[:4096].encode())
    assert PARSER.parse(source(text))["events"].select("kind", "code", "host").rows() == rows


def test_place_time_and_containers() -> None:
    text = listed(object_of("w-9", 1), object_of("w-2", 137, "OOMKilled"))
    row = PARSER.parse(source(text))["events"].row(1, named=True)
    assert (row["names_hosts"], row["time_ns"], row["time_basis"]) == (["gpu-017"], 1772359872 * 10**9, "utc")
    assert text.splitlines()[row["line"] - 1].strip().startswith('"finishedAt"') and row["line"] > 20
    assert json.loads(row["detail"])["containers"] == 1


@pytest.mark.parametrize(
    "text", ['{"apiVersion": "apps/v1", "kind": "Deployment"}', "apiVersion: v1\nkind: ConfigMap\n", "kind of Pod\n"]
)
def test_others_are_none(text: str) -> None:
    assert not PARSER.accepts("x", text.encode())


@pytest.mark.parametrize("statuses", ['"none yet"', "[]", '["a"]', "{}", "null", "7"])
def test_statuses_that_are_no_list_of_containers_tell_nothing(statuses: str) -> None:
    whole = json.dumps(object_of("w-2", 137, "OOMKilled"))
    text = whole.replace(json.dumps(json.loads(whole)["status"]["containerStatuses"]), statuses)
    assert statuses in text and PARSER.parse(source(text))["events"].is_empty()
