"""Which host a log is from, where a note pairs the files with hosts whose numbers documents tell."""

from pathlib import Path

import pytest

from parsers import read

EACH = 2
NODES = {"thyme": 1, "sorrel": 0}  # host → number of its node
FROM = {"pane0": "thyme", "pane1": "sorrel"}
NOTES = {
    "a chat": "[10:02] Kim: left one (pane0) is the ssh to thyme, right one (pane1) sorrel\n[10:03] Lee: sorrel lost its peers only\n",
    "lines": "pane0: thyme\npane1: sorrel\n",
    "a listing": "thyme = pane0, sorrel = pane1\n",
    "sentences": "pane1 is the log of host sorrel\npane0 is from thyme\n",
}


def files(note: str) -> dict[str, str]:
    made = {"notes.txt": note}
    for host, node in NODES.items():
        made[f"conf/{host}.yaml"] = f"distributed_type: MULTI_GPU\nmachine_rank: {node}\nnum_machines: 2\nnum_processes: 4\n"  # fmt: skip
    for file, host in FROM.items():
        rows = (f"[default{at}]:step {step} loss {step}.{NODES[host]}{at}\n" for step in range(1, 6) for at in (1, 0))
        made[f"tmux/{file}.txt"] = "$ accelerate launch --config_file acc.yaml --tee 3 fit.py\n" + "".join(rows)
    return made


def ranks(folder: Path, note: str) -> dict[float, int | None]:
    bundle = folder / "bundle"
    for name, text in files(note).items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_text(text)
    return dict(read(str(bundle)).tables["steps"].select("loss", "rank").iter_rows())


@pytest.mark.parametrize("form", NOTES)
def test_a_note_pairs_files_with_hosts(tmp_path: Path, form: str) -> None:
    expected = {step + node / 10 + at / 100: EACH * node + at for step in range(1, 6) for node in (0, 1) for at in (0, 1)}  # fmt: skip
    assert {round(loss, 2): rank for loss, rank in ranks(tmp_path, NOTES[form]).items()} == {
        round(loss, 2): rank for loss, rank in expected.items()
    }


@pytest.mark.parametrize(
    "note",
    [
        "pane0 and pane1 are thyme and sorrel\n",
        "pane0 lost its connection to sorrel, pane1 lost thyme\n",
        "pane0: thyme\n",
        "pane0: thyme\npane1: thyme\n",
        "pane0: thyme\npane1: sorrel\npane1: thyme\n",
    ],
    ids=["not in turns", "a failure", "one of two", "one host for both", "two hosts for one"],
)
def test_else_nobody_is_named(tmp_path: Path, note: str) -> None:
    assert {*ranks(tmp_path, note).values()} == {None}
