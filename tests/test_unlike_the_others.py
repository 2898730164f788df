"""Of exceptions of processes that nobody can number, the words of who raised what no other did are shown."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

LOST = "loom.ring.PeerGone: 10.44.7.2{n}:4683{n} closed while 1 chunk was outstanding"
OWN = "ValueError: /srv/shards/train-0288.rec: record 1182 claims 48211 bytes, 20480 left"
NAMES = ("amber", "cobalt", "fawn", "jade", "ochre", "teal")


def trace(line: str, function: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "/opt/loom/run.py", line 88, in main',
        f"    {function}(batch)",
        f'  File "/opt/loom/part.py", line 41, in {function}',
        "    raise it",
        line,
    ]


def logs(odd: dict[str, str]) -> dict[str, list[str]]:
    step = [f"round {n} took 1.{n} s" for n in range(9)]
    return {
        f"{name}.log": [*step, *trace(odd.get(name, LOST.format(n=n)), "parse" if name in odd else "pull")]
        for n, name in enumerate(NAMES)
    }


@pytest.mark.parametrize("started_by", [[], ["a child failed; its traceback:", *trace(OWN, "parse")]])
def test_the_words_of_the_one(tmp_path: Path, started_by: list[str]) -> None:
    files = logs({"ochre": OWN}) | ({"launcher.out": started_by} if started_by else {})
    report = analyze(written(tmp_path, files))
    assert report.verdict.ranks == []
    assert "train-0288" in report.incidents[report.primary].evidence[0].claim


def test_where_two_are_unlike_the_others_none_stands_before_them(tmp_path: Path) -> None:
    files = logs({"ochre": OWN, "teal": "KeyError: 'QX-07'"})
    report = analyze(written(tmp_path, files))
    assert "PeerGone" in report.incidents[report.primary].evidence[0].claim
