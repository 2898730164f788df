"""Rows of `parsers/knowledge/`: each understands its own example, is the first that does, and is no way to waste time."""

import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

from parsers import knowledge
from parsers.ambiguity import is_exponential
from parsers.knowledge import (
    FrameRow,
    MessageRow,
    contradiction,
    frame_of,
    innermost_waits,
    meaning,
    meanings,
    plain_name,
    waits,
)

FRAMES, MESSAGES = knowledge.rows()
FOLDER = Path(knowledge.__file__).parent
C10D = "/env/site-packages/torch/distributed/distributed_c10d.py"


@pytest.mark.parametrize("row", FRAMES, ids=lambda row: f"{row.printer}.{row.name}")
def test_a_frame_row_understands_its_example(row: FrameRow) -> None:
    place = frame_of(row.example)
    assert place is not None
    assert waits(*place) == ("wrapper" if row.waits == "none" else row.waits)
    assert not is_exponential(row.function) and not is_exponential(row.file)


@pytest.mark.parametrize("row", MESSAGES, ids=lambda row: f"{row.printer}.{row.name}")
def test_a_message_row_understands_its_example_and_is_the_first_to(row: MessageRow) -> None:
    found = meaning(row.example)
    assert found is not None
    assert (found.row, found.claim, found.about, found.own) == (
        f"{row.printer}.{row.name}",
        row.claim,
        row.about,
        row.own,
    )
    assert not is_exponential(row.pattern)


def test_names_of_rows_are_their_own_and_every_claim_has_rows_and_a_meaning() -> None:
    names = [f"{row.printer}.{row.name}" for row in MESSAGES]
    assert len(set(names)) == len(names)
    places = [f"{row.printer}.{row.name}" for row in FRAMES]
    assert len(set(places)) == len(places)
    assert {row.claim for row in MESSAGES} == set(knowledge.claims())


def test_files_are_short_enough_to_be_read() -> None:
    for path in FOLDER.glob("*.toml"):
        assert len(path.read_text().splitlines()) <= 500, path.name
        tomllib.loads(path.read_text())


def test_a_row_that_proves_its_printer_to_be_the_origin_speaks_of_it() -> None:
    """As `forensics knowledge check` says of a row that somebody brings."""
    assert [(row.name, told) for row in MESSAGES if (told := contradiction(row)) is not None] == []


@pytest.mark.parametrize(
    ("file", "function"),
    [
        ("/env/site-packages/torch/distributed/fsdp/_runtime_utils.py", "_all_gather_flat_param"),
        ("/env/site-packages/torch/distributed/checkpoint/state_dict_saver.py", "save"),
        ("/env/site-packages/torch/distributed/elastic/multiprocessing/errors/__init__.py", "wrapper"),
        ("/env/site-packages/torch/autograd/__init__.py", "backward"),
        ("/env/site-packages/torch/_tensor.py", "item"),
        ("/app/distributed_c10d.py", "all_reduce"),
        ("/app/train.py", "all_reduce"),
        ("/app/mytorch/distributed/distributed_c10d.py", "all_reduce"),
        (C10D, "get_rank"),
        (C10D, "_check_single_tensor"),
        (None, "main"),
    ],
)
def test_a_package_waits_for_nobody_nor_does_what_only_has_the_name(file: str | None, function: str) -> None:
    assert waits(file, function) is None


def test_a_decorator_counts_as_what_stands_outside_of_it() -> None:
    logger = ("/env/torch/distributed/c10d_logger.py", "wrapper")
    assert innermost_waits([(C10D, "all_reduce"), logger, ("/app/train.py", "step")]) == "ranks"
    assert innermost_waits([logger, (C10D, "all_reduce"), ("/app/train.py", "step")]) == "ranks"
    assert innermost_waits([logger, ("/app/train.py", "step")]) is None
    assert innermost_waits([("/app/data.py", "read"), (C10D, "all_reduce")]) is None
    assert innermost_waits([]) is None


@pytest.mark.parametrize(
    ("printed", "plain"),
    [
        ("DistributedDataParallel.forward", "forward"),
        ("timed.<locals>.wrapper", "wrapper"),
        ("void gloo::allreduce<float, 4>(gloo::AllreduceOptions&)", "gloo::allreduce"),
        ("c10d::(anonymous namespace)::wait(int)", "c10d::wait"),
        ("opal_progress.part.0", "opal_progress"),
        ("cudaStreamSynchronize@@libcudart.so.12", "cudaStreamSynchronize"),
        ("", ""),
    ],
)
def test_a_function_is_known_by_its_plain_name(printed: str, plain: str) -> None:
    assert plain_name(printed) == plain


def test_windows_paths_and_py_spys_short_paths_are_read() -> None:
    assert waits(r"C:\env\torch\distributed\distributed_c10d.py", "barrier") == "ranks"
    assert waits("torch/distributed/distributed_c10d.py", "barrier") == "ranks"


def test_fields_of_a_message_are_told_and_none_that_is_not() -> None:
    found = meaning("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x4 and 3x2)")
    assert found is not None and found.fields == {"one": "8x4", "two": "3x2"}
    found = meaning("OSError: [Errno 28] No space left on device")
    assert found is not None and found.fields == {}


@pytest.mark.parametrize(
    "text", ["", "RuntimeError: flux capacitor lost its phase", "step 12 | loss 2.1", "ValueError: rank 3 is not wise"]
)
def test_what_no_row_knows_means_nothing(text: str) -> None:
    assert meaning(text) is None


def test_a_column_of_texts_is_understood_as_each_of_them() -> None:
    texts = [row.example for row in MESSAGES[:40]] + [None, "nothing", "", MESSAGES[0].example]
    found = meanings(pl.Series(texts))
    assert found.schema == knowledge.MEANING
    each = [meaning(text) if text else None for text in texts]
    assert found.rows() == [(one.row, one.claim, one.about, one.own) if one else (None,) * 4 for one in each]
    assert meanings(pl.Series("text", [], dtype=pl.String)).height == 0


_GOOD = """
versions = "1"
source = "x"
[[message]]
name = "a"
claim = "crashed"
about = "printer"
anchor = "went"
example = "it went"
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('claim = "crashed"|claim = "sad"', "toy.toml: message 1 (a): no such claim: sad"),
        ('about = "printer"|about = "moon"', "toy.toml: message 1 (a): Invalid enum value 'moon'"),
        ('anchor = "went"|anchor = "gone"', "toy.toml: message 1 (a): the anchor does not stand in the example"),
        ('name = "a"\n|', "toy.toml: message 1 (no name): "),
        ('source = "x"|', "toy.toml: message 1 (a): name, versions, source and example must be told"),
        ('name = "a"|name = "a"\nwait = "x"', "toy.toml: message 1 (a): Object contains unknown field"),
        ("[[message]]|[[mesage]]", "toy.toml: Object contains unknown field"),
        ('versions = "1"|versions = ', "toy.toml: Invalid value"),
    ],
)
def test_a_mistake_in_a_row_names_file_and_row(change: str, said: str) -> None:
    knowledge.read({"toy": _GOOD})
    before, after = change.split("|")
    with pytest.raises(ValueError, match=re.escape(said)):
        knowledge.read({"toy": _GOOD.replace(before, after)})


def test_a_pattern_that_cannot_be_compiled_names_file_and_row() -> None:
    _, (row,) = knowledge.read({"toy": _GOOD + 'pattern = "("'})
    with pytest.raises(ValueError, match=re.escape("toy.toml: a: missing )")):
        knowledge.compiled(row)
