"""The timeline for trace viewers: what they demand of a Trace Event file, and what of it is drawn."""

import itertools
from collections import defaultdict
from typing import Any

import msgspec
from click.testing import CliRunner

from forensics.cli import cli
from forensics.model.drawn import Span, TimelineItem, Track, Views
from forensics.report import Report
from reports import trace
from tests.report_checks import EXAMPLES, assert_harmless, every_example, example
from tests.test_samples import SAMPLES


def _events(report: Report) -> list[dict[str, Any]]:
    document = msgspec.json.decode(trace.render(report))
    assert set(document) == {"displayTimeUnit", "otherData", "traceEvents"}
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def _check(events: list[dict[str, Any]]) -> None:
    """Each phase has its fields, times are microseconds from zero on, and spans of a thread nest."""
    named = {(event["pid"], event["tid"]) for event in events if event["ph"] == "M"}
    threads: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        assert event["ph"] in "XiM" and isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert event["name"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name", "process_sort_index") and event["args"]
            continue
        assert isinstance(event["ts"], int) and event["ts"] >= 0
        assert (event["pid"], 0) in named or (event["pid"], event["tid"]) in named
        if event["ph"] == "i":
            assert event["s"] in "gpt"
        else:
            assert isinstance(event["dur"], int) and event["dur"] > 0
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for spans in threads.values():
        spans.sort(key=lambda span: (span[0], -span[1]))
        for (_, end), (start, later) in itertools.pairwise(spans):
            assert start >= end or later <= end, "spans overlap without nesting"


@every_example
def test_every_report_makes_a_trace(name: str) -> None:
    raw = trace.render(example(name))
    assert raw == trace.render(EXAMPLES[name]())
    assert_harmless(raw.decode())
    _check(_events(example(name)))


def test_operations_are_spans_and_events_are_instants() -> None:
    def span(seq: int, start: str, end: str | None) -> Span:
        return Span(
            start_utc=f"2026-11-20T10:00:{start}Z", end_utc=end and f"2026-11-20T10:00:{end}Z", label=f"all_reduce #{seq} of dp",
            is_open=end is None,
        )  # fmt: skip

    views = Views(
        timeline=[TimelineItem(time_utc="2026-11-20T10:00:09Z", basis="utc", lane="peers", label="exit SIGABRT", count=7, ranks="0-6", ref=None)],
        tracks=[
            Track(state="culprit", ranks="7", of=7, held="", spans=[], stopped_utc="2026-11-20T10:00:01Z"),
            Track(state="waiting", ranks="0-6", of=0, held="all_reduce of dp", stopped_utc=None,
                  spans=[span(1, "00.5", "01.5"), span(2, "02", None)]),
        ],
    )  # fmt: skip
    base = EXAMPLES["hang"]()
    report = msgspec.structs.replace(base, incidents=[msgspec.structs.replace(base.incidents[0], views=views)])
    events = _events(report)
    _check(events)
    assert [(one["name"], one["ts"], one["dur"]) for one in events if one["ph"] == "X"] == [
        ("all_reduce #1 of dp", 0, 1_000_000),
        ("all_reduce #2 of dp", 1_500_000, 7_000_000),  # never completed: to the end
    ]
    assert [(one["name"], one["ts"], one["s"]) for one in events if one["ph"] == "i"] == [
        ("exit SIGABRT", 8_500_000, "t"),
        ("last step or operation completed", 500_000, "p"),
    ]


def test_analyze_writes_the_trace_of_a_sample() -> None:
    result = CliRunner().invoke(cli, ["analyze", str(SAMPLES / "data_loader_stall" / "bundle"), "--trace", "-"])
    assert result.exit_code == 0
    events = msgspec.json.decode(result.stdout)["traceEvents"]
    _check(events)
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"events", "rank 5: at fault", "ranks 0-4, 6-7: waiting for others"}
    assert sum(event["ph"] == "X" for event in events) > 20
