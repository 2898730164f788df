"""Reports made by hand for the tests of `reports`: one per kind of answer, and one hostile everywhere."""

from typing import Any

import msgspec

from forensics.model.incident import (
    Bundle,
    Clock,
    Coverage,
    EnvironmentRow,
    FileRow,
    FindingRow,
    Incident,
    Lines,
    SourceCoverage,
    Tool,
    Unreadable,
)
from forensics.report import Report

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><!-- </style> ]]>",
    "\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x07 \x9b2J",
    "left\u202etfel\u2066\u200b\ufeff",
    "[red]rich[/red] {{7*7}} {% raw %} ${1+1}",
    "| pipe \\| `tick` ``` @someone [a](javascript:alert(1)) http://evil.example #1\n# heading\n/close",
)


def coverage(ranks: str = "0-31", expected: int = 32, missing: tuple[str, ...] = ()) -> Coverage:
    return Coverage(
        ranks_expected=expected,
        ranks_seen=ranks.split(","),
        ranks_missing=list(missing),
        hosts_seen=[f"node{index:04}" for index in range(4)],
        sources={
            "flight_recorder": SourceCoverage(files=32, records=64_000, ranks=ranks.split(","), errors=0),
            "stacks": SourceCoverage(files=4, records=160, ranks=ranks.split(","), errors=1),
            "kernel": SourceCoverage(files=4, records=9, ranks=[], errors=0),
        },
        lines=Lines(total=1_204_332, recognised=1_200_700, unrecognised=3_632),
        unreadable=[Unreadable(file="logs/node0002-3.out.gz", reason="cut off after 81,920 bytes")],
        clock=Clock(skew_bound_s=0.041),
        attempts=1,
    )


def report(incident: Incident, cover: Coverage | None = None, **changes: Any) -> Report:
    whole = Report(
        tool=Tool(name="forensics", version="0.1.0"),
        bundle=Bundle(name="job-88213.tar.zst", files=44, bytes=412_000_000),
        coverage=cover or coverage(),
        primary=0,
        incidents=[incident],
        findings=[
            FindingRow(
                detector="never_entered", kind="hang", cause="rank_absent", ranks="17", hosts=[], summary="rank 17"
            ),
            FindingRow(
                detector="tensor_taint",
                kind="unknown",
                cause=None,
                ranks="",
                hosts=[],
                summary="no tensor statistics in the bundle",
                ran=False,
            ),
        ],
        environment=[
            EnvironmentRow(
                name="NCCL_SOCKET_IFNAME", values={"eth0": "0-23,25-31", "docker0": "24"}, note="odd one out"
            ),
        ],
        limits=["Clocks were aligned to 41 ms; events closer than that have no order."],
        files=[
            FileRow(
                file=f"logs/node{index // 8:04}-{index % 8}.out",
                bytes=1_200_000,
                parsers=["nccl", "watchdog"],
                ranks=str(index),
                lines=20_000,
                recognised=19_940,
                time_first_utc="2026-11-19T17:02:11.004Z",
                time_last_utc="2026-11-19T19:12:10.233Z",
                errors=[],
                templates=["12 × step # took # ms"],
            )
            for index in range(32)
        ],
    )
    return msgspec.structs.replace(whole, **changes)
