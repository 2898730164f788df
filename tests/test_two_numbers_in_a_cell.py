"""Cells of two numbers, a group's and a place's in it, of which a bundle says what makes a rank of them."""

from pathlib import Path

import pytest

from parsers import read

GROUPS, EACH = 3, 4
SAYS = {
    "notes": ("NOTES.md", "- global rank = group * 4 + member, as our starter exports it\n"),
    "a script": ("start.sh", "export RANK=$((GROUP*4+MEMBER))\n"),
    "another script": ("start.py", "rank = box * 4 + slot\n"),
}
CELLS = {"a slash": "g{group}/{member}", "bare": "{group}:{member}", "words": "box{group}-w{member}"}
HEAD = "{name},step,module,op,tensor,absmax,nan_count"


def rows(cell: str, *, without: int | None = None, name: str = "proc") -> str:
    told = [HEAD.format(name=name)]
    for step in (7, 8):
        for rank in range(GROUPS * EACH):
            if rank != without:
                who = cell.format(group=rank // EACH, member=rank % EACH)
                told += [f"{who},{step},head,Linear,{tensor},{rank}.5,0" for tensor in ("input", "output")]
    return "\n".join(told) + "\n"


def whose(folder: Path, says: tuple[str, str], text: str) -> dict[float, int]:
    bundle = folder / "bundle"
    bundle.mkdir()
    (bundle / says[0]).write_text(says[1])
    (bundle / "stats.csv").write_text(text)
    return dict(read(str(bundle)).tables["tensors"].select("absmax", "rank").iter_rows())


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("says", SAYS)
def test_a_cell_of_two_numbers_is_what_is_made_of_them(tmp_path: Path, says: str, cell: str) -> None:
    found = whose(tmp_path, SAYS[says], rows(CELLS[cell]))
    assert found == {rank + 0.5: rank for rank in range(GROUPS * EACH)}


@pytest.mark.parametrize(
    "says",
    [
        ("NOTES.md", "- groups of 4 members, as our starter exports them\n"),
        ("NOTES.md", "- rank = group * 3 + member\n"),
        ("NOTES.md", "- rank = group * 4 + member\n- on the old boxes rank = group * 2 + member\n"),
    ],
    ids=["nothing is made of them", "another size", "two ways"],
)
def test_else_it_is_nobody(tmp_path: Path, says: tuple[str, str]) -> None:
    assert whose(tmp_path, says, rows(CELLS["a slash"])) == {}


def test_a_table_that_lacks_one_of_them_is_not_believed(tmp_path: Path) -> None:
    assert whose(tmp_path, SAYS["notes"], rows(CELLS["a slash"], without=0)) == {}
