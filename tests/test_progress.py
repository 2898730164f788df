"""What a person is told while the work is going on, and what is refused before it begins."""

import os
from contextlib import nullcontext
from pathlib import Path

import pytest

from forensics.cli.reading import Lines
from reports import outputs


def test_a_log_file_gets_a_line_each_ten_seconds() -> None:
    said: list[str] = []
    clock = iter([0.0, 3.0, 10.0, 12.0, 21.0])
    lines = Lines("reading", said.append, lambda: next(clock))
    for done in (100, 500, 600, 1_000_000_000):
        lines(done * 1_000_000 if done < 1000 else done, 1_000_000_000)
    assert said == [
        "reading: 500.0 MB of 1.0 GB, 50%, 50.0 MB/s, 10.0 s left",
        "reading: 1.0 GB of 1.0 GB, 100%, 47.6 MB/s, 0.0 s left",
    ]


@pytest.mark.parametrize(
    ("targets", "why"),
    [
        (["a.html", "b.json"], None),
        (["nowhere/a.html"], "there is no folder nowhere"),
    ],
)
def test_outputs_are_checked_before_the_work(
    targets: list[str], why: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(outputs.CannotWrite, match=why) if why else nullcontext():
        outputs.check(targets)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_closed_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(outputs.CannotWrite, match="may not be written to"):
        outputs.check([str(tmp_path / "a.html")])
