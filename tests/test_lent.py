"""Bytes lent to polars: held as long as anything that was made of them, and no longer."""

import gc
from collections.abc import Callable

import polars as pl
import pytest

from parsers.engine.stretch import Stretch
from parsers.text import lent
from parsers.text.lent import Block

LINES = [f"line {number} of a text that is no short one {number * 7919}" for number in range(5000)]
OFFSETS = pl.Series([0, *(len(line) + 1 for line in LINES)], dtype=pl.UInt32).cum_sum()


def made() -> bytes:
    return "".join(line + "\n" for line in LINES).encode()


def texts(block: Block, is_utf8: bool = True) -> pl.Series:
    return lent.texts(block, 0, OFFSETS.clone(), is_utf8)


MADE: dict[str, Callable[[Block], pl.Series]] = {
    "texts": texts,
    "bytes": lambda block: texts(block, is_utf8=False).cast(pl.String),
    "filtered": lambda block: texts(block).filter(pl.repeat(True, len(LINES), eager=True)),
    "put together": lambda block: pl.concat([texts(block)[:9], texts(block)[9:]]),
    "a part of a frame": lambda block: texts(block).to_frame("a").with_columns(b=pl.col("a").str.slice(0))["b"],
    "parts of a stretch": lambda block: Stretch(block, 0, len(block)).as_text().parts(((1, True),))["part"],
}


@pytest.mark.parametrize("block", [bytes, bytearray])
@pytest.mark.parametrize("how", MADE)
def test_what_is_made_of_a_block_holds_it(how: str, block: type[Block]) -> None:
    column = MADE[how](block(made()))
    gc.collect()
    others = [b"\xff" * len(made()) for _ in range(8)]  # where the block was, if nobody holds it
    assert "".join(column.to_list()).replace("\n", "") == "".join(LINES) and others


def test_numbers_of_bytes_hold_them() -> None:
    numbers = lent.numbers(bytearray(made()), 5, 25).slice(2)
    gc.collect()
    others = [b"\xff" * len(made()) for _ in range(8)]
    assert bytes(numbers.to_list()) == made()[7:25] and others


def test_a_block_is_free_when_nothing_of_it_is_left() -> None:
    block = bytearray(made())
    columns = [make(block) for make in MADE.values()] + [lent.numbers(block, 0, len(block))]
    with pytest.raises(BufferError):
        block.append(0)
    columns.clear()
    gc.collect()
    block.append(0)
    assert len(block) == len(made()) + 1
