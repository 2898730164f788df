"""TensorBoard's event files: scalars by step, whoever wrote them.

    runs/rank_2/events.out.tfevents.1790000000.node7.4711.0

A record is a length (uint64, little endian), the masked CRC-32C of these eight bytes, the bytes of an `Event`, and their masked
CRC-32C. An `Event` holds wall_time (1, double), step (2, varint) and a summary (5) of values (1): tag (1), simple_value (2, float) or
tensor (8: dtype 1, tensor_content 4, float_val 5, double_val 6). Scalars of one step that follow each other are one record of
parsers/training/step_figures.py; its `line` is the number of the first event. A record whose sums disagree ends the file, since the
next one cannot be found; images, graphs and histograms are passed over unread.

Printed by: TensorBoard's writers: PyTorch's SummaryWriter, tensorboardX, TensorFlow, Lightning, Megatron-LM, Hugging Face's Trainer.
Versions: brain.Event:2.
Source: tensorboard/compat/proto/{event,summary,tensor}.proto; tensorboard/summary/writer/record_writer.py.
"""

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO

from parsers.forms.reading import FILE_BYTES, opened
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Rows, Tables
from parsers.training.step_figures import figures

_FRAME = struct.Struct("<QI")
_EVENT_BYTES = 1 << 16  # of scalars; larger ones are images and graphs
_CHUNK = 1 << 20
_TENSOR_TYPES = {1: "<f", 2: "<d"}
_FIXED = {1: "<d", 5: "<f"}
_TAG_CHARACTERS = 200
_VARINT_BYTES = 10
Field = tuple[int, int | float | bytes]


def accepts(path: str, head: bytes) -> bool:
    """By the checksum of the first length, which no other file has by chance; the version of the first event stands behind it."""
    if len(head) < _FRAME.size or b"brain.Event:" not in head[:64]:
        return False
    return bool(_FRAME.unpack_from(head)[1] == masked_crc(head[:8]))


def parse(source: Source) -> Tables:
    """steps; timings, a row per part of a step, level 0; what is damaged or cut is told to the source."""
    steps, timings = Rows("steps"), Rows("timings")
    common = {"rank": source.rank, "local_rank": source.local_rank, "host": source.host, "file": source.path}
    for number, said in _records(source):
        found = figures(said, common | {"line": number}, source.labels.names)
        for row in found.steps if found else ():
            steps.append(row)
        for row in found.timings if found else ():
            timings.append(row)
    return {"steps": steps.table(), "timings": timings.table()}


def _records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number of its first event, step, wall_time and its tags) of each run of scalars of one step."""
    first, said = 0, dict[str, Any]()
    with opened(source) as stream:
        for number, data in _events(source, stream):
            when, step, scalars = _event(data)
            if said and (step != said["step"] or not said.keys().isdisjoint(scalars)):
                yield first, said
                said = {}
            if scalars and not said:
                first, said = number, {"step": step, "wall_time": when}
            if scalars:
                said |= {tag: value for tag, value in scalars.items() if tag not in ("step", "wall_time")}
    if said:
        yield first, said


def _events(source: Source, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """(1-based number, bytes) of the events that are short enough to be scalars and whose sums agree."""
    number, read = 0, 0
    try:
        while len(frame := stream.read(_FRAME.size)) == _FRAME.size:
            length, crc = _FRAME.unpack(frame)
            number, read = number + 1, read + length + 16
            if crc != masked_crc(frame[:8]) or read > FILE_BYTES:
                source.lose(f"not read beyond event {number}: its length is damaged or beyond what is read")
                return
            is_short = length <= _EVENT_BYTES
            data = stream.read(length) if is_short else _passed(stream, length)
            end = stream.read(4)
            if len(data) < length * is_short or len(end) < 4:
                source.lose(f"cut short in event {number}")
                return
            if is_short and struct.unpack("<I", end)[0] != masked_crc(data):
                source.lose(f"damaged in event {number}")
            elif is_short:
                yield number, data
        if frame:
            source.lose(f"cut short behind event {number}")
    except (OSError, EOFError) as error:
        source.lose(f"damaged or cut short: {error or type(error).__name__}")


def _passed(stream: BinaryIO, length: int) -> bytes:
    while length > 0 and (piece := stream.read(min(_CHUNK, length))):
        length -= len(piece)
    return b""


def _event(data: bytes) -> tuple[float, int, dict[str, float]]:
    """wall_time, step and the scalars of an event; none where its bytes are no such message."""
    when, step, found = 0.0, 0, dict[str, float]()
    for name, value in _fields(data):
        if name == 1 and isinstance(value, float):
            when = value
        elif name == 2 and isinstance(value, int):
            step = value
        elif name == 5 and isinstance(value, bytes):
            for inner, one in _fields(value):
                if inner == 1 and isinstance(one, bytes) and (scalar := _scalar(one)):
                    found[scalar[0]] = scalar[1]
    return when, step, found


def _scalar(data: bytes) -> tuple[str, float] | None:
    tag, value = "", None
    for name, told in _fields(data):
        if name == 1 and isinstance(told, bytes):
            tag = told[:_TAG_CHARACTERS].decode("utf-8", "replace")
        elif name == 2 and isinstance(told, float):
            value = told
        elif name == 8 and isinstance(told, bytes):
            value = _tensor(told)
    return (tag, value) if tag and value is not None else None


def _tensor(data: bytes) -> float | None:
    """The number of a tensor that holds one."""
    kind, held = 0, list[float]()
    for name, told in _fields(data):
        if name == 1 and isinstance(told, int):
            kind = told
        elif name in (5, 6) and isinstance(told, float):
            held.append(told)
        elif name in (4, 5, 6) and isinstance(told, bytes):
            form = _TENSOR_TYPES.get(kind, "<d" if name == 6 else "<f")
            held += [one for (one,) in struct.iter_unpack(form, told)] if len(told) == struct.calcsize(form) else []
    return held[0] if len(held) == 1 else None


def _fields(data: bytes) -> Iterator[Field]:
    """(number, value) of the fields of a message of protocol buffers, up to the first that is none."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            if at <= len(data):
                yield key >> 3, value
        elif kind in _FIXED and at + (size := struct.calcsize(_FIXED[kind])) <= len(data):
            yield key >> 3, struct.unpack_from(_FIXED[kind], data, at)[0]
            at += size
        elif kind == 2:
            length, at = _varint(data, at)
            if at + length > len(data):
                return
            yield key >> 3, data[at : at + length]
            at += length
        else:
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, where it ends); beyond the end of the data where it has no end."""
    value = 0
    for shift, byte in enumerate(data[at : at + _VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & (1 << 63) - 1, at + shift + 1
    return 0, len(data) + 1


@cache
def _crc_table() -> tuple[int, ...]:
    made = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        made.append(byte)
    return tuple(made)


def masked_crc(data: bytes) -> int:
    """CRC-32C (Castagnoli) of bytes, turned and shifted as records store it."""
    told, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = told[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


PARSER = FileParser(name="tensorboard_events", accepts=accepts, parse=parse)
