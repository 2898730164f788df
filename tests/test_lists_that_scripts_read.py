"""A script begins a process on each host of a list that it reads from a file: the list's order is that of the ranks, however the file is written."""

from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

TRACE = [
    "Traceback (most recent call last):",
    '  File "/job/fit.py", line 61, in <module>',
    "    run()",
    '  File "/job/words.py", line 12, in cut',
    "    raise KeyError(key)",
    "KeyError: 'bos'",
]
STEPS = [f"2026-03-04 05:06:{at:02} step {at} loss 2.1" for at in range(10, 16)]
LOGS = {"panes/finch.txt": STEPS, "panes/heron.txt": STEPS, "panes/kite.txt": STEPS, "panes/wren.txt": STEPS + TRACE}
LISTS = {
    "names": ["kite", "heron", "wren", "finch"],
    "a remark": ["kite", "#stork  power supply", "heron", "wren", "finch"],
    "remarks beside names": ["kite  # head", "heron", "", "wren", "finch # new"],
    "slots": [f"{name} slots=1" for name in ("kite", "heron", "wren", "finch")],
    "several settings": [f"{name} slots=1 max_slots=1" for name in ("kite", "heron", "wren", "finch")],
    "counts": [f"{name}:1" for name in ("kite", "heron", "wren", "finch")],
}
READ = ("$(grep -v '^#' hosts.txt)", "$(cat hosts.txt)", "$(< hosts.txt)")


def script(read: str) -> list[str]:
    begin = "torchrun --nnodes 4 --nproc_per_node 1 --master_addr kite --node_rank $i fit.py"
    return ["#!/bin/bash", "i=0", f"for h in {read}; do", f'  ssh $h "cd job && {begin}" > panes/$h.txt &', "  i=$((i+1))", "done"]  # fmt: skip


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("form", LISTS)
def test_the_list_tells_the_ranks(form: str, read: str, tmp_path: Path) -> None:
    files = LOGS | {"hosts.txt": LISTS[form], "go.sh": script(read)}
    said = analyze(written(tmp_path, files)).verdict
    assert (said.kind, said.ranks, said.hosts) == ("crash", [2], ["wren"])


@pytest.mark.parametrize("form", ["names", "a remark"])
def test_a_list_that_nobody_reads_tells_nothing(form: str, tmp_path: Path) -> None:
    files = LOGS | {"old_hosts.txt": LISTS[form], "go.sh": script("$(cat hosts.txt)")}
    assert analyze(written(tmp_path, files)).verdict.ranks == []
