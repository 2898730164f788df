"""A host whose processors are taken: what top says of it, and when that is why its ranks are slow."""

from typing import Any

import pytest

from forensics.detectors.slow import straggler
from parsers.device.top import PARSER
from tests.log_cases import Judged, case, judged
from tests.slow_tables import Timed
from tests.sources import source

HEAD = "top - 10:11:12 up 61 days,  2:10,  1 user,  load average: 41.3, 39.0, 30.7\nTasks: 21 total,   4 running\n"
LIST = "\n    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   3300 root      20   0   9.2g   1.9g   2.1g R 47.0   1.2 812:10.40 python\n"


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        ("%Cpu(s): 93.1 us,  6.7 sy,  0.0 ni,  0.1 id,  0.0 wa,  0.0 hi,  0.1 si,  0.0 st", [0.1]),
        ("Cpu(s):  2.1%us,  1.0%sy,  0.0%ni, 96.9%id,  0.0%wa", [96.9]),
        ("%Cpu(s):100.0 us,  0.0 sy", []),
    ],
    ids=["procps-ng", "procps", "cut"],
)
def test_the_idle_share(line: str, idle: list[float]) -> None:
    text = f"{HEAD}{line}\n{LIST}"
    assert PARSER.accepts("top.txt", text.encode())
    rows = PARSER.parse(source(text, host="n3"))["devices"]
    assert rows.select("host", "metric", "value").rows() == [("n3", "top/cpu_idle", one) for one in idle]


@pytest.mark.parametrize("text", ["", "top - level\n", "the top - 10:11:12 up\n", "%Cpu(s): 3 us, 9 id\n"])
def test_other_files(text: str) -> None:
    assert not PARSER.accepts("top.txt", text.encode())


def slow(ranks: range, *idle: float, **more: Any) -> Judged:
    """Sixteen ranks on four hosts; these take longer at their forward and backward; the idle share of each host."""
    job = Timed(16)
    job.by(lambda rank, step, phase: 1.4 if rank in ranks and step >= 20 and phase in ("forward", "backward") else 1)
    rows = [row | {"host": f"n{row['rank'] // 4}"} for row in job.rows()]
    places = [
        {"rank": rank, "host": f"n{rank // 4}", "local_rank": rank % 4, "device_index": rank % 4} for rank in range(16)
    ]
    tops = [{"host": f"n{host}", "metric": "top/cpu_idle", "value": share} for host, share in enumerate(idle)]
    return judged(case(timings=rows, ranks=places, devices=[*tops, *more.get("devices", ())]), straggler.DETECTOR)


def test_its_ranks_are_slow_by_their_host() -> None:
    found = slow(range(8, 12), 80.0, 81.0, 0.2, 79.0)
    assert (found.cause, found.ranks) == ("straggler_host", (8, 9, 10, 11))
    assert "the CPUs of n2: idle share 0.2 %" in found.finding.summary


def clocks(low: int) -> list[dict[str, Any]]:
    return [
        {"host": f"n{rank // 4}", "device_index": rank % 4, "metric": "clocks.sm", "value": 1200.0 if rank == low else 1980.0}
        for rank in range(16)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ranks", "idle", "devices"),
    [
        (range(8, 12), (80.0, 0.2, 81.0, 79.0), []),
        (range(8, 12), (3.0, 1.0, 0.2, 2.0), []),
        (range(8, 12), (80.0, 81.0, 0.2), []),
        (range(8, 9), (80.0, 81.0, 0.2, 79.0), []),
        (range(8, 12), (80.0, 81.0, 0.2, 79.0), clocks(9)),
    ],
    ids=["another host", "every host", "too few hosts are known", "one rank of it", "a device of it is held back"],
)
def test_what_leaves_it_the_work_of_the_device(
    ranks: range, idle: tuple[float, ...], devices: list[dict[str, Any]]
) -> None:
    found = slow(ranks, *idle, devices=devices)
    assert (found.cause, found.ranks) == ("straggler_compute", tuple(ranks))
