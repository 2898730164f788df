"""Whose log it is, as who began the processes told it: the number in its name counts something else."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.who.lines.beginnings import Said
from parsers.who.lines.collected import Line
from parsers.who.lines.introductions import introduction
from parsers.who.told.numbered_files import introduced_files

FORMS = {
    "a script": "[go] 10:00:0{at} started rank {rank} on card {card} pid {pid} log out/card{card}.log",
    "a sentence": "10:00:0{at} pid {pid} is rank {rank} of 4, it writes to /srv/run/out/card{card}.log",
    "fields": "t=10:00:0{at} event=spawn rank={rank} pid={pid} stdout='out/card{card}.log'",
}


def bundle(folder: Path, form: str) -> list[int]:
    """Ranks 0 and 1 are on cards 2 and 3; card 0, of rank 2, ran out of memory."""
    (folder / "out").mkdir()
    rows = [form.format(at=rank, rank=rank, card=(rank + 2) % 4, pid=7100 + rank) for rank in range(4)]
    (folder / "begin.txt").write_text("\n".join(["[go] WORLD_SIZE=4", *rows]) + "\n")
    for card in range(4):
        last = (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
            if not card
            else "lost: Connection closed by peer"
        )
        beats = [f"10:{minute:02}:00 it={minute} loss=2.{minute}1" for minute in range(20)]
        (folder / "out" / f"card{card}.log").write_text("\n".join(["> init", *beats, last]) + "\n")
    return list(analyze(folder).verdict.ranks)


@pytest.mark.parametrize("form", FORMS)
def test_the_log_that_was_told_with_the_rank(tmp_path: Path, form: str) -> None:
    assert bundle(tmp_path, FORMS[form]) == [2]


def test_a_file_told_for_two_is_of_neither() -> None:
    said = [("begin.txt", text) for text in ("rank 0 of 2 pid 7100 log a/x.log", "rank 1 of 2 pid 7101 log a/x.log")]
    lines = [
        Said(file, at, text, Line(text), introduction(text), [], [], None) for at, (file, text) in enumerate(said, 1)
    ]
    first = Said("a/x.log", 1, "up", Line("up"), None, [], [], None)
    assert introduced_files({"begin.txt": lines, "a/x.log": [first]}, [])["a/x.log"] == [first]
