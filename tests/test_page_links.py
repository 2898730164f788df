"""Ranks and hosts in sentences are links; places open their lines; what only looks like one stays text."""

import msgspec
import pytest

from forensics.model.drawn import GridHost, StackClass, Views
from reports.html.links import Links
from tests import report_examples
from tests.report_checks import page_of

HANG = report_examples.hang().incidents[0]
HOSTS = [GridHost(host=name, ranks="0-7") for name in ("node0001", "head", "gpu-7.example", "<b>7")]
STACKS = [
    StackClass(
        site="other",
        count=count,
        ranks=str(count),
        top="",
        frames=["run (a b/loop.py:251)", f"main (main.py:{count})"],
        ref=None,
    )
    for count in (31, 1)
]
SEEN = msgspec.structs.replace(HANG, views=msgspec.structs.replace(HANG.views, hosts=HOSTS, stacks=STACKS))
DRAWN = Links(SEEN, lambda stack: f"class-{stack.count}")  # type: ignore[attr-defined]


def _links(text: str) -> list[tuple[str, str]]:
    """Address and text of each."""
    return [tuple(part.split("</a>")[0].split('">')) for part in str(DRAWN.text(text)).split('<a href="#')[1:]]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank 17 waits", [("rank=17", "rank 17")]),
        ("Rank 17: 31 ranks wait", [("rank=17", "Rank 17")]),
        ("ranks 0-3, 5 gave up", [("rank=0-3", "0-3"), ("rank=5", "5")]),
        ("ranks 9 and 14 never entered; 6 members wait", [("rank=9", "9"), ("rank=14", "14")]),
        ("rank 5, 7 members wait", [("rank=5", "rank 5")]),
        ("7 other ranks, step 5", []),
        ("rank 154: pid 42845, local rank 2, node rank 19", [("rank=154", "rank 154")]),
        ("Drain node0001.", [("host=node0001", "node0001")]),
        ("Rank 3 (node0001, GPU 1)", [("rank=3", "Rank 3"), ("host=node0001", "node0001")]),
        ("ssh gpu-7.example: no route", [("host=gpu-7.example", "gpu-7.example")]),
        ("the head of the queue", []),
        ("rank 3 on head ended", [("rank=3", "rank 3"), ("host=head", "head")]),
        ("node00012 and xnode0001", []),
        ("stuck at main (main.py:31); rank 3 waits", [("class-31", "main.py:31"), ("rank=3", "rank 3")]),
        ("b/loop.py:251, as in b/loop.py:2510", [("class-1", "b/loop.py:251")]),
    ],
)
def test_ranks_and_hosts_of_a_sentence(text: str, expected: list[tuple[str, str]]) -> None:
    assert _links(text) == expected


def test_text_around_links_is_cleaned_and_escaped() -> None:
    assert DRAWN.text("<i>\x1b rank 3 & <b>7") == '&lt;i&gt;␛ <a href="#rank=3">rank 3</a> &amp; &lt;b&gt;7'
    assert DRAWN.host("<b>7") == '<a href="#host=%3Cb%3E7">&lt;b&gt;7</a>'
    assert DRAWN.host("node9999") == "node9999"


def test_runs_of_ranks_are_links_each() -> None:
    assert str(DRAWN.ranks("0-2,4")) == 'ranks <a href="#rank=0-2">0-2</a>, <a href="#rank=4">4</a>'
    assert DRAWN.ranks("0,2,4,6,8").endswith(", … (5 in all)")


def test_nothing_is_linked_where_no_ranks_are_drawn() -> None:
    bare = Links(msgspec.structs.replace(HANG, views=Views()), str)
    assert bare.text("rank 3 on node0001") == "rank 3 on node0001" == Links(None, str).text("rank 3 on node0001")


def test_a_place_in_a_file_opens_its_lines() -> None:
    page = page_of("hang")
    assert '<details class="lines"><summary><code class="faint">sys/node0002.dmesg:2207</code></summary><pre' in page
