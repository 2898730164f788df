"""Files that were compressed one by one are read as what they are called without that ending, and cited as they lie in the bundle."""

import gzip
from pathlib import Path

import pytest
import zstandard

import parsers

STARTED = "".join(f"[rank{at}] pid 41{at:02} on box-{at // 2} ready\n" for at in range(4))
CURVE = "wall_time,step,value\n" + "".join(f"{at}.5,{at},{2.5 - at / 10}\n" for at in range(8))
FILES = {
    "start.log": STARTED,
    "logs/box-0.log": "10:02:03 step 7 loss 0.5\n" * 3,
    "logs/box-1.log": "10:02:03 step 7 loss 0.5\n" * 3,
    "curves/loss_rank3.csv": CURVE,
    "all.txt": "==> a.err <==\n10:02:03 step 7 loss 0.5\n==> b.err <==\nRuntimeError: no\n",
}


def written(folder: Path, ending: str) -> dict[str, list[dict[str, object]]]:
    """All rows of the tables, of files called without the ending."""
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress, "": bytes}[ending]
    for name, text in FILES.items():
        at = folder / f"bundle{ending}" / (name + ending)
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(pack(text.encode()))
    tables = parsers.read(folder / f"bundle{ending}").tables
    files = {"file": lambda path: path.replace(ending, "", 1) if ending else path}
    return {
        name: [
            {key: files.get(key, lambda told: told)(told) for key, told in row.items() if key != "bytes"}
            for row in own.to_dicts()
        ]
        for name, own in tables.items()
    }


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_give_the_same_rows(ending: str, tmp_path: Path) -> None:
    assert written(tmp_path, ending) == written(tmp_path, "")


def test_they_are_cited_as_they_lie_there(tmp_path: Path) -> None:
    (tmp_path / "loss_rank3.csv.gz").write_bytes(gzip.compress(CURVE.encode()))
    tables = parsers.read(tmp_path).tables
    assert tables["files"]["file"].to_list() == ["loss_rank3.csv.gz"]
    assert set(tables["steps"]["file"]) == {"loss_rank3.csv.gz"}


def test_a_file_that_lies_there_both_ways_keeps_both_names(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("10:02:03 step 7 loss 0.5\n")
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"10:02:03 step 6 loss 0.5\n"))
    assert parsers.read(tmp_path).tables["files"]["file"].to_list() == ["a.log", "a.log.gz"]
