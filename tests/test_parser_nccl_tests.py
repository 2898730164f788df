"""Tables of nccl-tests: times, participants and wrong values."""

from parsers.timing.nccl_tests import PARSER
from tests.lines import lines

ROW = "           8             2     float     sum      -1    17.65    0.00    0.00      {}    16.87    0.00    0.00      0"


def test_a_row_has_two_times() -> None:
    tables = PARSER.parse(lines(ROW.format(0)))
    assert tables["timings"].select("name", "level", "value_ms", "phase").rows() == [
        ("float sum 8 B", 1, 0.01765, "comm"), ("float sum 8 B", 2, 0.01687, "comm"),
    ]  # fmt: skip
    assert tables["events"].is_empty()


def test_wrong_values_are_an_error() -> None:
    [row] = PARSER.parse(lines(ROW.format(3)))["events"].rows(named=True)
    assert (row["code"], row["severity"], row["value"]) == ("wrong_result", "error", 3.0)
    for harmless in ("N/A", "0e+00", "5e-07"):
        assert PARSER.parse(lines(ROW.format(harmless)))["events"].is_empty()


def test_who_took_part() -> None:
    text = "#  Rank  3 Group  0 Pid   4711 on    gpu-017 device  5 [0000:5D:00] NVIDIA H100 80GB HBM3"
    ranks = PARSER.parse(lines(text))["ranks"]
    assert ranks.select("rank", "pid", "host", "device_index", "pci").rows() == [(3, 4711, "gpu-017", 5, "0000:5d:00")]


def test_other_tables_are_left_alone() -> None:
    tables = PARSER.parse(lines("layer 3 float sum 8 16 0.1 0.2\n  8 2 float sum"))
    assert all(frame.is_empty() for frame in tables.values())
