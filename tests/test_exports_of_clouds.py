"""What a log store of a cloud exports as one document is read as the lines that were logged."""

import json

from parsers.archive.exports import lines_of, may_be


def test_events_of_streams_are_lines_of_their_hosts() -> None:
    events = [
        {"logStreamName": f"job-x/n-{n}-1774000694", "timestamp": 1774000000000 + at, "message": f"g0 it {at} nll 2.1"}
        for at, n in ((3, 2), (1, 1), (2, 2))
    ]
    data = json.dumps({"events": events, "searchedLogStreams": []}, indent=1).encode()
    assert may_be(data)
    read = [json.loads(line) for line in (lines_of(data) or b"").splitlines()]
    assert [(one["host"], one["log"]) for one in read] == [
        ("n-1", "g0 it 1 nll 2.1"),
        ("n-2", "g0 it 2 nll 2.1"),
        ("n-2", "g0 it 3 nll 2.1"),
    ]


def test_other_documents_stay_as_they_are() -> None:
    assert (
        lines_of(json.dumps({"items": [{"message": "a", "kind": "Event"}, {"message": "b", "kind": "Event"}]}).encode())
        is None
    )


def test_a_line_within_a_record_of_each_line_is_one_of_its_task() -> None:
    def record(at: int, **inner: object) -> bytes:
        told = {"jsonPayload": {"message": f"it {at}", **inner}, "resource": {"labels": {"task_name": f"w-{at % 2}"}}}
        return json.dumps(told | {"timestamp": f"2026-02-03T10:00:0{at}Z"}).encode()

    data = b"\n".join(record(at, levelname="INFO") for at in (1, 2, 3))
    assert may_be(data)
    assert [json.loads(line)["host"] for line in (lines_of(data) or b"").splitlines()] == ["w-1", "w-0", "w-1"]
    assert lines_of(b"\n".join(record(at, loss=2.5) for at in (1, 2, 3))) is None  # a record of figures


def test_a_record_of_a_stream_in_each_line_is_one_of_its_place() -> None:
    def records(**more: object) -> bytes:
        told = [
            {
                "timestamp": 1774000000000 + at,
                "logStreamName": f"ft/default/7d{at % 2}",
                "message": f"[p0] it {at}",
                **more,
            }
            for at in (2, 1, 3)
        ]
        return b"\n".join(json.dumps(one).encode() for one in told)

    read = [json.loads(line) for line in (lines_of(records()) or b"").splitlines()]
    assert [(one["host"], one["log"]) for one in read] == [
        ("7d1", "[p0] it 1"),
        ("7d0", "[p0] it 2"),
        ("7d1", "[p0] it 3"),
    ]
    assert (
        lines_of(records(rank=3)) is None and lines_of(records(host="n1")) is None
    )  # who tells it himself is read as he is
