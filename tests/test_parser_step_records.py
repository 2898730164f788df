"""A row per rank and step with a column per part, as CSV."""

import pytest

from parsers.timing.step_records import PARSER
from tests.sources import source

CSV = "rank,host,step,loss,loader_s,compute_us,iter_time,avg_step_s\n3,w0,7,2.5,0.0118,331000,0.428,0.4\n4,w1,7,2.6,0.01,,0.4,0.4\n"


def test_parts() -> None:
    assert PARSER.accepts("x", CSV.encode())
    rows = PARSER.parse(source(CSV))["timings"].select("rank", "step", "phase", "value_ms").rows()
    expected = [
        (3, 7, "loader", 11.8),
        (3, 7, "compute", 331.0),
        (3, 7, "iter", 428.0),
        (4, 7, "loader", 10.0),
        (4, 7, "iter", 400.0),
    ]
    assert rows == [(*row[:3], pytest.approx(row[3])) for row in expected]


def test_steps_and_who_runs_where() -> None:
    read = PARSER.parse(source(CSV))
    assert read["steps"].select("rank", "step", "loss", "elapsed_ms").rows() == [(3, 7, 2.5, 428.0), (4, 7, 2.6, 400.0)]
    assert read["ranks"].select("rank", "host").rows() == [(3, "w0"), (4, "w1")]


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"hello\n",
        b"{}",
        b'{"step": 1, "data_ms": 2.0, "step_ms": 3}\n',
        b"rank,step,phase,ms\n",
        b"step,epoch,lr\n",
    ],
)
def test_foreign(foreign: bytes) -> None:
    assert not PARSER.accepts("x", foreign)
    PARSER.parse(source(b"\xff\xfe" + CSV.encode()[:60] + foreign))


def test_records_of_several_lines_between_the_lines_of_a_log() -> None:
    text = b"torchrun train.py\n{'rank': 1,\n 'load': {0: 0.5},\n 'loss_local': nan,\n 'step': 7}\nsaved [3] {}\n{'rank': 0,\n 'loss_local': 2.5,\n 'step': 7}\n{'rank': 3,\n"
    assert PARSER.accepts("console.log", text)
    found = PARSER.parse(source(text, "console.log"))
    assert found["steps"].select("rank", "step").rows() == [(1, 7), (0, 7)]
    assert {2, 3, 4, 5, 7, 8, 9} - {*found["claimed"]["line"], *found["steps"]["line"]} == set()
    assert 6 not in found["claimed"]["line"]


@pytest.mark.parametrize(
    ("form", "kept"),
    [("rank={rank} step={step} loss={loss}\n", True), ("{rank},{step},{loss}\n", False)],
    ids=["a record of its own says what it was", "an export of a table says NaN where nothing was logged"],
)
def test_a_loss_that_was_nan_for_one_step(form: str, kept: bool) -> None:
    steps = [
        (rank, step, "nan" if (rank, step) == (2, 3) else 2.5 - step / 10) for step in (1, 2, 3, 4) for rank in (1, 2)
    ]
    text = "".join(form.format(rank=rank, step=step, loss=loss) for rank, step, loss in steps)
    rows = PARSER.parse(source(text if kept else f"rank,step,loss\n{text}"))["steps"]
    assert rows["loss"].is_nan().any() is kept
