"""The mesh of links inside hosts: which pair is not linked as on the others. It accuses nobody."""

from pathlib import Path
from typing import Any

import pytest

from forensics.analyze import analyze
from forensics.case import Case
from forensics.detectors.hardware import odd_telemetry
from reports import html
from tests.log_cases import case

GPUS = 4
Mesh = dict[tuple[int, int], str | float]


def matrix(what: str, usual: str | float, odd: dict[int, Mesh], hosts: int = 6) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for host in range(hosts):
        for a in range(GPUS):
            for b in range(a + 1 if what == "link" else 0, GPUS):
                value = odd.get(host, {}).get((a, b), usual)
                told = {"text": value} if isinstance(value, str) else {"value": value, "text": str(value)}
                if a != b:
                    rows.append({"host": f"n{host}", "metric": f"pair/GPU{a}-GPU{b}/{what}", **told})
    return rows


def told(whole: Case) -> list[str]:
    return [one.text for one in whole.pair_links.odd]


def test_a_pair_that_goes_round_by_the_processors() -> None:
    whole = case(devices=matrix("link", "MX", {3: {(0, 1): "SYS"}}))
    assert told(whole) == ["GPU0–GPU1 of n3: SYS, at 5 like pairs MX"]
    (found,) = odd_telemetry.DETECTOR.detect(whole)
    assert (found.ranks, found.hosts, found.suspect_hosts, found.cause) == ((), (), (), None)


def test_a_pair_that_bears_less_than_on_other_hosts() -> None:
    assert told(case(devices=matrix("gb_per_s", 240.0, {3: {(0, 1): 41.0}}))) == [
        "GPU0–GPU1 of n3: 41 GB/s, at 5 like pairs 240 GB/s"
    ]


def test_of_one_host_pairs_of_like_links_are_compared() -> None:
    far: Mesh = {(0, 2): "SYS", (0, 3): "SYS", (1, 2): "SYS", (1, 3): "SYS"}
    links = matrix("link", "NV4", {0: far}, hosts=1)
    slow: Mesh = {pair: 20.0 for a, b in far for pair in ((a, b), (b, a))}
    assert told(case(devices=[*links, *matrix("gb_per_s", 80.0, {0: slow}, hosts=1)])) == []
    slow[0, 1] = 12.0
    assert told(case(devices=[*links, *matrix("gb_per_s", 80.0, {0: slow}, hosts=1)])) == [
        "GPU0–GPU1 of n0: 12 GB/s, at 3 like pairs 80 GB/s"
    ]


@pytest.mark.parametrize(
    "rows",
    [
        matrix("link", "NV18", {}),
        matrix("link", "NV18", {host: {(0, 1): "SYS"} for host in range(3)}),
        matrix("link", "NV18", {1: {(0, 1): "SYS"}}, hosts=3),
        matrix("gb_per_s", 240.0, {3: {(0, 1): 200.0}}),
        matrix("gb_per_s", 240.0, {host: {(0, 1): 240.0 - 40 * host} for host in range(6)}),
        matrix("gb_per_s", 240.0, {0: {(0, 1): 20.0}}, hosts=1),
    ],
    ids=["all alike", "half and half", "few hosts", "a little less", "spread out", "one host without names"],
)
def test_what_tells_nobody_apart(rows: list[dict[str, Any]]) -> None:
    assert told(case(devices=rows)) == []


def test_hosts_of_another_build_are_no_peers() -> None:
    others = [row for row in matrix("link", "PHB", {}) if "GPU3" not in str(row["metric"])]
    named = [{**row, "host": f"small-{row['host']}"} for row in others]
    assert told(case(devices=[*matrix("link", "NV18", {}), *named])) == []


def test_the_page_has_the_mesh(tmp_path: Path) -> None:
    for host in range(5):
        away = "SYS" if host == 4 else "MX"
        (tmp_path / f"n{host}").mkdir()
        (tmp_path / f"n{host}" / "topo.txt").write_text(
            f"\tGPU0\tGPU1\tNode Affinity\nGPU0\tX\t{away}\t0-31\nGPU1\t{away}\tX\t0-31\n".encode().decode(
                "unicode_escape"
            )
        )
        (tmp_path / f"n{host}" / "train.log").write_text(
            f"n{host}:100:100 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.{host}<0>\n".encode().decode("unicode_escape")
        )
    report = analyze(tmp_path)
    first, second = report.incident.views.links
    assert (first.hosts, first.links, first.odd) == (["n4"], [["", "SYS"], ["SYS", ""]], ["GPU0–GPU1"])
    assert (second.size, second.odd) == (4, [])
    page = html.render(report)
    assert "Links between devices" in page
    assert "GPU0–GPU1 not as on the others" in page
