"""Which ranks run on which host, as launchers, scripts and people list it; which processes these are, their places there tell: one fact, one answer."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written
from tests.test_records_with_a_pid_column import BORN, HOSTS, PIDS, by_pid, of_nodes, with_commas

FORMS = {
    "a launcher's mapping": [
        "[INFO] [launch.py:163:main] global_rank_mapping=defaultdict(<class 'list'>, {'mira-a': [0, 1, 2, 3], 'mira-c': [4, 5, 6, 7]})"
    ],
    "an object": ['16:49:01 ranks by host: {"mira-a": [0, 1, 2, 3], "mira-c": [4, 5, 6, 7]}'],
    "pairs": ["rank map: mira-a=0,1,2,3 mira-c=4,5,6,7"],
    "ranges": ["ranks: mira-a:0-3;mira-c:4-7"],
    "arrows": ["mira-a -> ranks 0-3", "mira-c -> ranks 4-7"],
    "a line each": ["node mira-c: ranks [4..7]", "node mira-a: ranks [0..3]"],
    "sentences": ["16:49:02 mira-a hosts ranks 0, 1, 2, 3", "16:49:05 mira-c hosts ranks 4, 5, 6, 7"],
    "a table": ["host     ranks", "mira-a   0-3", "mira-c   4-7"],
    "in Chinese": ["节点 mira-a：rank 0-3", "节点 mira-c：rank 4-7"],
    "ranks first": ["ranks 0-3 @ mira-a, ranks 4-7 @ mira-c"],
    "in brackets": ["global ranks (mira-a: 0 1 2 3) (mira-c: 4 5 6 7)"],
    "braces": ["ranks mira-a{0..3} mira-c{4..7}"],
    "lists first": ["ranks [0, 1, 2, 3] on mira-a, [4, 5, 6, 7] on mira-c"],
    "a document": ["ranks:", "  mira-a: [0, 1, 2, 3]", "  mira-c: [4, 5, 6, 7]"],
    "a layout": ["rank layout mira-a(0-3) mira-c(4-7)"],
}
OTHERS = {
    "devices of each": ["ranks' devices: {'mira-a': [0, 1, 2, 3], 'mira-c': [0, 1, 2, 3]}"],
    "of a group": ["tp ranks: {'mira-a': [0, 1, 2, 3], 'mira-c': [4, 5, 6, 7]}"],
    "nobody says of what": ["{'mira-a': [0, 1, 2, 3], 'mira-c': [4, 5, 6, 7]}"],
    "a hole in it": ["rank map: mira-a=0,1,2,3 mira-c=8,9,10,11"],
    "two that contradict": ["rank map: mira-a=0-3 mira-c=4-7", "later", "rank map: mira-c=0-3 mira-a=4-7"],
    "one name for both": ["ranks mira-c{0..3} mira-c{4..7}"],
}


def born(folder: Path, listed: list[str]) -> set[int | None]:
    spawned = [
        f"{HOSTS[rank // 4]}: 2026-06-15 16:49:1{rank} process {PIDS[rank]} spawned with command: ['python', 'a.py', '--local_rank={rank % 4}']"
        for rank in range(8)
    ]
    files = of_nodes("probe/{host}.csv", with_commas, by_pid())
    tensors = read(str(written(folder, {"run.log": [*listed, "", *spawned]} | files))).tables["tensors"]
    return {rank for rank, bad in tensors.select("rank", "nan_count").iter_rows() if bad}


@pytest.mark.parametrize("form", FORMS)
def test_which_ranks_a_host_has(form: str, tmp_path: Path) -> None:
    assert born(tmp_path, FORMS[form]) == {BORN}


def test_ranks_in_turns(tmp_path: Path) -> None:
    assert born(tmp_path, ["rank map {'mira-a': [0, 2, 4, 6], 'mira-c': [1, 3, 5, 7]}"]) == {5}


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_no_such_list(case: str, tmp_path: Path) -> None:
    assert born(tmp_path, OTHERS[case]) == set()
