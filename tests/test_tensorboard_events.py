"""TensorBoard's event files, written here after the format."""

import struct
from pathlib import Path

import polars as pl
import pytest

import parsers
from forensics import analyze
from parsers.training.tensorboard_events import masked_crc

START = 1_790_000_000.0


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


VALUES = {
    "simple": lambda value: b"\x15" + struct.pack("<f", value),
    "tensor content": lambda value: _bytes(8, b"\x08\x01" + _bytes(4, struct.pack("<f", value))),
    "packed floats": lambda value: _bytes(8, b"\x08\x01" + _bytes(5, struct.pack("<f", value))),
    "one float": lambda value: _bytes(8, b"\x08\x01\x2d" + struct.pack("<f", value)),
    "double": lambda value: _bytes(8, b"\x08\x02" + _bytes(6, struct.pack("<d", value))),
}


def scalar(step: int, tag: str, value: float, form: str = "simple") -> bytes:
    summary = _bytes(1, _bytes(1, tag.encode()) + VALUES[form](value))
    when = b"\x09" + struct.pack("<d", START + step)
    return _record(when + b"\x10" + _varint(step) + _bytes(5, summary))


FIRST = _record(b"\x09" + struct.pack("<d", START) + _bytes(3, b"brain.Event:2"))


def job(folder: Path, name: str, form: str = "simple", *, odd: int = 2, tag: str = "train/loss") -> None:
    """Four ranks, a file each; the loss of rank `odd` is NaN from step 14 on, of all from step 15 on."""
    for rank in range(4):
        told = [FIRST]
        for step in range(20):
            bad = step > 14 or (step == 14 and rank == odd)
            told.append(scalar(step, tag, float("nan") if bad else 3 - step / 20 + rank / 100, form))
            told.append(scalar(step, "train/lr", 3e-4, form))
        path = folder / name.format(rank=rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(told))


NAMES = (
    "runs/rank_{rank}/events.out.tfevents.1790000000.node7.471{rank}.0",
    "tb/rank{rank}/events.out.tfevents.1790000000.node7",
    "logs/rank-{rank}/lightning_logs/version_0/events.out.tfevents.1790000000.n1.99.0",
)


def test_the_sum_is_castagnolis() -> None:
    assert masked_crc(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("form", VALUES)
def test_every_way_to_hold_a_scalar_is_read(tmp_path: Path, form: str) -> None:
    job(tmp_path, NAMES[0], form)
    steps = parsers.read(str(tmp_path)).tables["steps"].filter(pl.col("rank") == 1)
    assert steps["step"].to_list() == list(range(20))
    assert steps["loss"][3] == pytest.approx(2.86) and steps["loss"].is_nan().sum() == 5
    assert steps["time_ns"][3] == (int(START) + 3) * 10**9 and steps["learning_rate"][3] == pytest.approx(3e-4)


@pytest.mark.parametrize("name", NAMES)
def test_whose_loss_went_bad_first_is_named(tmp_path: Path, name: str) -> None:
    job(tmp_path, name)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly.step) == ("numerics", [2], 14)


def test_a_curve_of_an_evaluation_names_nobody(tmp_path: Path) -> None:
    job(tmp_path, NAMES[0], tag="val/loss")
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.status, verdict.ranks) == ("numerics", "hypothesis", [])


def test_images_and_graphs_are_passed_over(tmp_path: Path) -> None:
    large = _record(b"\x10\x05" + _bytes(4, bytes(1 << 17)))
    (tmp_path / "events.out.tfevents.1.h").write_bytes(FIRST + large + scalar(7, "loss", 2.5))
    assert parsers.read(str(tmp_path)).tables["steps"]["step"].to_list() == [7]


def _losses(folder: Path, data: bytes) -> pl.DataFrame:
    (folder / "events.out.tfevents.1.h").write_bytes(data)
    (folder / "notes.log").write_text("2026-03-01 10:00:00 INFO trainer: step 3 loss 2.5\n")
    steps = parsers.read(str(folder)).tables["steps"]
    return steps.filter(pl.col("file") != "notes.log")


WHOLE = FIRST + b"".join(scalar(step, "loss", 2.5) for step in range(6))


@pytest.mark.parametrize("end", range(len(FIRST), len(WHOLE), 7))
def test_a_cut_file_says_what_it_holds(tmp_path: Path, end: int) -> None:
    steps = _losses(tmp_path, WHOLE[:end])
    size = len(scalar(0, "loss", 2.5))  # a varint of one byte for each step
    assert steps["step"].to_list() == list(range((end - len(FIRST)) // size))


@pytest.mark.parametrize("at", range(len(FIRST), len(WHOLE), 11))
def test_a_flipped_bit_invents_nothing(tmp_path: Path, at: int) -> None:
    data = bytearray(WHOLE)
    data[at] ^= 0x40
    assert set(_losses(tmp_path, bytes(data))["loss"].to_list()) <= {2.5}


@pytest.mark.parametrize(
    "data",
    [
        b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",  # a summary longer than anything
        b"\x2a\x80" * 40,
        b"\xff" * 30,
        _bytes(5, _bytes(1, _bytes(1, b"loss") + _bytes(8, b"\x08\x02" + _bytes(4, b"\x00\x00\x00")))),
        _bytes(5, _bytes(1, _bytes(1, b"\xff\xfe") + b"\x15\x00")),
        b"\x0b\x0c" * 20,
    ],
)
def test_messages_that_are_none_are_read_over(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "events.out.tfevents.1.h").write_bytes(FIRST + _record(data) + scalar(7, "loss", 2.5))
    assert parsers.read(str(tmp_path)).tables["steps"]["loss"].to_list() == [2.5]
