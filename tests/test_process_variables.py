"""Which rank a pid is, by a list of what variables processes were given."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

PIDS = (4703, 4811, 4822)
WORLD = "".join(f"rank {rank} of world size 3 is up\n" for rank in range(3))
LISTS = {
    "the first has none": "4703 LOCAL_RANK=\n4811 LOCAL_RANK=1\n4822 LOCAL_RANK=2\n",
    "all have one": "4811 LOCAL_RANK=1\n4703 LOCAL_RANK=0\n4822 LOCAL_RANK=2\n",
    "grep": "".join(f"/proc/{pid}/environ:RANK={rank}\n" for rank, pid in enumerate(PIDS)),
    "words": "".join(f"pid {pid}: LOCAL_RANK=0 RANK={rank}\n" for rank, pid in enumerate(PIDS)),
    "with what they began": "4703 RANK=0\n4811 RANK=1\n4822 RANK=2\n5101 RANK=0\n5102 RANK=1\n5103 RANK=2\n5104 RANK=0\n",
    "another framework's": "".join(f"pid {pid}: OMPI_COMM_WORLD_RANK={rank}\n" for rank, pid in enumerate(PIDS)),
}
OTHERS = {
    "two have none": "4703 LOCAL_RANK=\n4811 LOCAL_RANK=\n4822 LOCAL_RANK=2\n",
    "of one node": "4703 LOCAL_RANK=0\n4811 LOCAL_RANK=1\n",
    "two alike": "4703 RANK=1\n4811 RANK=1\n4822 RANK=2\n",
    "what they began between them": "4703 RANK=0\n4705 RANK=0\n4811 RANK=1\n4822 RANK=2\n",
    "beyond the world": "4703 LOCAL_RANK=1\n4811 LOCAL_RANK=2\n4822 LOCAL_RANK=3\n",
    "in a group": "4703 TP_RANK=0\n4811 TP_RANK=1\n4822 TP_RANK=2\n",
}


def told(tmp_path: Path, listed: str) -> dict[int, int]:
    claims = read(str(written(tmp_path, {"run.log": WORLD.splitlines(), "pids.txt": listed.splitlines()}))).tables[
        "ranks"
    ]
    return dict(claims.drop_nulls(["pid", "rank"]).select("pid", "rank").iter_rows())


@pytest.mark.parametrize("form", LISTS)
def test_a_list_of_variables_tells_ranks(tmp_path: Path, form: str) -> None:
    assert told(tmp_path, LISTS[form]) == dict(zip(PIDS, range(3), strict=True))


@pytest.mark.parametrize("form", OTHERS)
def test_what_does_not_count_all_of_the_world_tells_none(tmp_path: Path, form: str) -> None:
    assert told(tmp_path, OTHERS[form]) == {}
