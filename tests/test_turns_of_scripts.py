"""Hosts on which a script begins a launcher one after another, with the number of the turn as that of the node."""

from pathlib import Path

import pytest

from parsers.who.lines.beginnings import begun_by
from parsers.who.scripts.loops import hosts_in_turn
from tests.sources import raised, source

LAUNCH = "torchrun --nnodes=3 --nproc_per_node=4 --node_rank"
SCRIPTS = {
    "places of an array": f'H=(n7 n2 n4)\nfor i in "${{!H[@]}}"; do\n  ssh "${{H[$i]}}" "{LAUNCH}=$i t.py" &\ndone\n',
    "a counter beside": f"k=0\nfor h in n7 n2 n4; do\n  ssh $h {LAUNCH} $k t.py &\n  k=$((k+1))\ndone\n",
    "a text": f'NODES="n7 n2 n4"\nk=0\nfor h in $NODES; do\n  pdsh -w $h "cd /w; \\\n  {LAUNCH}=$k t.py"\n  ((k++))\ndone\n',
    "an array of several lines": f'H=(n7\n  n2\n  n4)\nr=0\nfor h in "${{H[@]}}"; do\n  ssh -f "$h" "{LAUNCH}=${{r}} t.py"\n  let r++\ndone\n',
    "numbers": f"H=(n7 n2 n4)\nfor ((i=0;i<3;i++)); do\n  ssh ${{H[i]}} {LAUNCH}=$i t.py &\ndone\n",
    "Python": f'H = ["n7", "n2", "n4"]\nfor i, h in enumerate(H):\n    Popen(["ssh", h, f"{LAUNCH}={{i}} t.py"])\n',
}
FIRST = SCRIPTS["places of an array"]
OTHERS = {
    "the number is computed": FIRST.replace("=$i ", "=$((2-i)) "),
    "the list is given anew": FIRST.replace("for i", "H=(n4 n2 n7)\nfor i"),
    "it is begun here": FIRST.replace("ssh", "echo"),
    "it counts from 1": SCRIPTS["a counter beside"].replace("k=0", "k=1"),
    "another list is gone along as well": SCRIPTS["a counter beside"] + "for h in n4 n2; do\n  ssh $h date\ndone\n",
    "its number is what it was called with": FIRST.replace("=$i ", "=$1 "),
}


def _hosts(text: str) -> tuple[str, ...]:
    (said,) = begun_by([source(text, path="go.sh")], [])[0].values()
    return hosts_in_turn(said)


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_the_hosts_are_told_in_the_order_of_their_nodes(text: str) -> None:
    assert _hosts(text) == ("n7", "n2", "n4")


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_what_tells_no_order(text: str) -> None:
    assert _hosts(text) == ()


@pytest.mark.parametrize(("name", "rank"), [("places of an array", 5), ("Python", 5), ("the number is computed", None)])
def test_processes_of_a_host_are_ranks_by_its_turn(name: str, rank: int | None, tmp_path: Path) -> None:
    script = (SCRIPTS | OTHERS)[name].splitlines()
    log = [
        "[default0]:ready",
        "[default1]:ready",
        "[default1]:Traceback (most recent call last):",
        '[default1]:  File "t.py", line 3, in <module>',
        "[default1]:ValueError: bad",
    ]
    files = {"go.sh": script, "n2.log": log, "n7.log": log[:2], "n4.log": log[:2]}
    assert raised(tmp_path, files) == [rank]
