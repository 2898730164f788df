"""Dumps of stacks that a collector took line by line are read from whatever it exports them to."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import py_spy_dump


def py_spy(rank: int, frame: str, line: int) -> str:
    return py_spy_dump(410 + rank, frame, line)


def faulthandler(_: int, frame: str, line: int) -> str:
    name, _, place = frame.rstrip(")").partition(" (")
    file, _, number = place.partition(":")
    return f"""Timeout (0:05:00)!
Thread 0x00007f1a2b3c4700 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait
  File "/usr/lib/python3.11/threading.py", line 975 in run

Thread 0x00007f1a2b3c4740 (most recent call first):
  File "/usr/lib/python3.11/site-packages/{file}", line {number} in {name}
  File "/job/fit.py", line {line} in step
  File "/job/fit.py", line 90 in <module>
"""


def at(number: int) -> str:
    return f"2026-11-30T10:11:{number % 60:02}.{number:03}456789Z"


def records(make: Callable[[int, int, str], object]) -> Callable[[int, Sequence[str]], str]:
    return lambda rank, lines: "".join(json.dumps(make(rank, number, line)) + "\n" for number, line in enumerate(lines))


def document(make: Callable[[int, Sequence[str]], object]) -> Callable[[int, Sequence[str]], str]:
    return lambda rank, lines: json.dumps(make(rank, lines))


def cells(rank: int, lines: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(
        [["Date", "Host", "Message"], *([at(n), f"gn{rank}", line] for n, line in enumerate(lines))]
    )
    return out.getvalue()


NS = 1796033472000000000
FORMS: dict[str, tuple[str, Callable[[int, Sequence[str]], str]]] = {
    "cri": ("log", lambda _, lines: "".join(f"{at(n)} stderr F {line}\n" for n, line in enumerate(lines))),
    "docker": ("jsonl", records(lambda _, n, line: {"log": f"{line}\n", "stream": "stderr", "time": at(n)})),
    "a record each": ("jsonl", records(lambda _, n, line: {"timestamp": at(n), "message": line})),
    "fluent bit": ("jsonl", records(lambda r, n, line: {"@timestamp": at(n), "log": line, "kubernetes": {"pod_name": f"fit-{r}"}})),
    "cells": ("csv", cells),
    "loki, newest first": ("json", document(lambda r, lines: [
        {"line": line, "timestamp": str(NS + n * 1000), "fields": {"pod": f"fit-{r}"}} for n, line in reversed([*enumerate(lines)])])),
    "loki's answer": ("json", document(lambda r, lines: {"status": "success", "data": {"resultType": "streams", "result": [
        {"stream": {"pod": f"fit-{r}"}, "values": [[str(NS + n * 1000), line] for n, line in enumerate(lines)]}]}})),
    "cloudwatch": ("json", document(lambda _, lines: {"events": [
        {"timestamp": NS // 10**6 + n, "message": line} for n, line in enumerate(lines)]})),
    "cloud logging": ("json", document(lambda r, lines: [
        {"textPayload": line, "timestamp": at(n), "resource": {"labels": {"pod_name": f"fit-{r}"}}} for n, line in enumerate(lines)])),
    "elasticsearch": ("json", document(lambda r, lines: {"hits": {"hits": [
        {"_source": {"@timestamp": at(n), "message": line, "host": {"name": f"gn{r}"}}} for n, line in enumerate(lines)]}})),
    "ts": ("log", lambda _, lines: "".join(f"Nov 30 10:11:{n % 60:02} {line}\n" for n, line in enumerate(lines))),
}  # fmt: skip


@pytest.mark.parametrize("dump", [py_spy, faulthandler])
@pytest.mark.parametrize("form", FORMS)
def test_who_stands_elsewhere_is_seen(form: str, dump: Callable[[int, str, int], str], tmp_path: Path) -> None:
    ending, write = FORMS[form]
    for rank in range(4):
        stands = (
            ("all_reduce (torch/distributed/distributed_c10d.py:2501)", 41) if rank != 2 else ("read (io.py:81)", 33)
        )
        (tmp_path / f"rank_{rank}.{ending}").write_text(write(rank, dump(rank, *stands).splitlines()))
    said = analyze(tmp_path, hung=True).verdict
    assert (said.kind, said.cause, said.ranks) == ("hang", "rank_absent", [2])
