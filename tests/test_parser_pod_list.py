"""Rows of `kubectl get pods`, and lines that look alike."""

import json

import pytest

from parsers.scheduling.pod_list import PARSER
from tests.lines import lines

_PLAIN = """\
NAME           READY   STATUS      RESTARTS      AGE
sft-master-0   0/1     Error       0             3h41m
sft-worker-2   0/2     OOMKilled   1 (2m ago)    5d
"""
_ALL = """\
NAMESPACE   NAME           READY   STATUS      RESTARTS   AGE     IP          NODE
research    sft-master-0   0/1     Error       0          3h41m   10.8.7.20   gpu-017
vision      sft-worker-2   0/2     OOMKilled   1          5d      <none>      <none>
"""


def _read(text: str) -> list[tuple[object, ...]]:
    given = lines(text)
    events = PARSER.parse(given.with_columns(hit=given["raw"].str.contains("RESTARTS"))).get("events")
    told = [json.loads(one) for one in events.filter(code="pod_listed")["detail"]] if events is not None else []
    names = ("listed", "namespace", "status", "restarts", "age", "containers_of_pod", "list")
    return [tuple(one[name] for name in names) for one in told]


@pytest.mark.parametrize(("text", "spaces"), [(_PLAIN, (None, None)), (_ALL, ("research", "vision"))])
def test_a_row_is_of_its_pod(text: str, spaces: tuple[str | None, str | None]) -> None:
    assert _read(text) == [
        ("sft-master-0", spaces[0], "Error", 0, "3h41m", 1, 1),
        ("sft-worker-2", spaces[1], "OOMKilled", 1, "5d", 2, 1),
    ]


def test_a_list_ends_where_its_form_ends() -> None:
    assert len(_read(_PLAIN.replace("sft-worker-2", "\nsft-worker-2"))) == 1
    assert len(_read(_PLAIN + _ALL)) == 4


@pytest.mark.parametrize(
    "text",
    [
        "sft-worker-2   0/1     OOMKilled   0   5d\n",
        "NAME   READY   STATUS   RESTARTS   AGE\n",
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb   0/1   1   1   5d\n",
        "NAME   READY   STATUS   RESTARTS   AGE\nthe pod sft-worker-2 was OOMKilled 5d ago\n",
        "NAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\nsft-worker-2   0/1     OOMKilled   0   5d\n",
    ],
)
def test_what_looks_alike_is_no_list(text: str) -> None:
    assert _read(text) == []
