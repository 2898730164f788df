"""Entries that repeat a form: read by it, they give the same tables as read one by one."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import parsers
from parsers.pytorch import flight_columns, flight_recorder, flight_rows
from parsers.pytorch.flight_columns import OPERATION_KEYS
from parsers.schema.merging import merge
from parsers.schema.parser import Source
from tests.flight_dumps import dump, entry, pickled

FRAMES = [{"name": name, "filename": "train.py", "line": 7} for name in ("step", "main")]


def rows(entries: list[dict[str, Any]]) -> flight_rows.Rows:
    return flight_rows.read(pickled(dump(entries)), OPERATION_KEYS, 1_000)


def ring(change: Callable[[int], dict[str, Any]], count: int = 40) -> list[dict[str, Any]]:
    same = {"input_sizes": [[4]], "output_sizes": [[4]], "frames": list(FRAMES)}
    return [entry(at, **{**same, **change(at)}) for at in range(count)]


def tables(data: bytes, monkeypatch: pytest.MonkeyPatch, by_forms: bool) -> dict[Any, Any]:
    with monkeypatch.context() as patch:
        patch.setattr(flight_recorder, "SMALL", 0)
        if not by_forms:
            patch.setattr(flight_recorder, "_by_forms", lambda *_: None)

        return dict(flight_recorder.parse(Source("nccl_trace_rank_3", len(data), lambda: BytesIO(data))))


SAME = {
    "numbers alone differ": lambda at: {"collective_seq_id": at * 300, "op_id": at << 20},
    "the last is not completed": lambda at: {"time_discovered_completed_ns": None if at == 39 else (1 << 60) + at},
    "two calls in turn": lambda at: {"profiling_name": f"nccl:{('all_reduce', 'broadcast')[at % 2]}"},
    "a key that comes and goes": lambda at: {"duration_ms": at / 7} if at % 2 else {},
    "sends": lambda at: {"is_p2p": at % 3 == 0, "p2p_seq_id": at, "profiling_name": f"nccl:send 0->{at % 3}"},
    "counts that outgrow their bytes one after the other": lambda at: {
        "collective_seq_id": 236 + at if at % 4 else at,
        "op_id": 65_520 + at,
        "is_p2p": at % 4 == 0,
    },
    "a round of calls of different lengths, and one that is new": lambda at: {
        "input_sizes": [[9 if at == 37 else 7, 300][: 1 + at % 3 // 2]],
        "record_id": at * 9,
    },
    "an unknown key that counts": lambda at: {"new_counter": at * 1_000},
    "other sizes": lambda at: {"input_sizes": [[at % 3, 7], [at % 2]], "output_sizes": []},
    "a number beyond 64 bits as text": lambda at: {"op_id": "9" * 30 if at == 7 else at},
    "true for a number": lambda at: {"collective_seq_id": True if at == 7 else at},
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_the_same_tables_as_one_by_one(
    change: Callable[[int], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickled(dump(ring(change)))
    flight_rows.read(data, OPERATION_KEYS, 1_000)  # it is one that this way reads
    quick, slow = (tables(data, monkeypatch, by_forms) for by_forms in (True, False))
    assert quick.keys() == slow.keys()
    for name in quick:
        assert quick[name].equals(slow[name]), name


def test_a_row_takes_a_hundred_bytes_at_most(tmp_path: Path) -> None:
    for rank in range(3):
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(pickled(dump(ring(lambda number: {}, 500))))
    operations = parsers.read(str(tmp_path)).tables["operations"]
    assert operations.height == 1500 and operations["rank"].n_unique() == 3
    assert operations.estimated_size() <= 100 * operations.height


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["by forms", "one by one"])
def test_dumps_together_are_read_as_each_alone(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_recorder, "SMALL", small)
    data = [pickled(dump(ring(change))) for change in SAME.values()] + [b"", pickled(dump([entry(0)]))[:-9], pickled(5)]
    sources = [Source(f"nccl_trace_rank_{at}", len(one), partial(BytesIO, one)) for at, one in enumerate(data)]
    whole = merge([flight_recorder.together(sources)])
    alone = merge([flight_recorder.parse(source) for source in sources])
    for name, expected in alone.items():
        assert whole[name].equals(expected), name


@pytest.mark.parametrize("most", [3, 4])
def test_frames_beyond_the_limit_are_left_out_and_it_is_said(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flight_columns, "MAX_FRAMES", most)
    frames = [[{"name": "f", "filename": "a.py", "line": 1}] * count for count in (2, 0, 2)]
    columns, notes = flight_columns.operation_columns([{"state": "completed", "frames": each} for each in frames])
    assert [stack is not None for stack in columns["stack"]] == [True, False, most == 4]
    assert bool(notes) == (most == 3)


def test_lists_that_only_look_alike_stay_apart() -> None:
    sizes = [[[1]], [[True]], [[1.0]], [["a"]], ["a"], [], None, [[1], [2]], [[1]]]
    columns, _ = flight_columns.operation_columns([{"state": "completed", "input_sizes": each} for each in sizes])
    assert columns["input_sizes"].to_list() == ["[[1]]", None, None, None, '["a"]', "[]", None, "[[1],[2]]", "[[1]]"]


def test_forms_are_few_and_numbers_apart() -> None:
    found = rows(ring(lambda at: {"profiling_name": f"nccl:{('all_reduce', 'broadcast')[at % 2]}"}))
    assert [form["profiling_name"] for form in found.forms[:2]] == ["nccl:all_reduce", "nccl:broadcast"]
    assert len(found.forms) < 5 and len(found.picks) == 40
    assert found.numbers["op_id"] == list(range(1, 41))


def test_rounds_of_calls_are_not_matched_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    matched: list[int] = []
    plain = flight_rows._Form._matches
    monkeypatch.setattr(flight_rows._Form, "_matches", lambda *of: (matched.append(len(one := plain(*of))), one)[1])
    found = rows(ring(lambda at: {"output_sizes": [[4] * (1 + at % 5)], "op_id": at}, 900))
    assert found.numbers["op_id"] == list(range(900)) and sum(matched) < 300


UNFIT = {
    "a new text in every entry": pickled(dump([entry(at, state=f"s{at}") for at in range(600)])),
    "more entries than are read": pickled(dump(ring(lambda at: {}, 1_001))),
    "cut": pickled(dump(ring(lambda at: {})))[:-40],
    "an entry that is no dict": pickled(dump([*ring(lambda at: {}), 5])),  # type: ignore[list-item]
    "an entry without name and state": pickled(dump([*ring(lambda at: {}), {"op_id": 1}])),
    "a class": b"\x80\x02cos\nsystem\n.",
    "no entries": pickled({"version": "2.9"}),
    "a slot filled twice": pickled(dump(ring(lambda at: {}))).replace(b"q\x05", b"q\x04", 1),
}


@pytest.mark.parametrize("data", UNFIT.values(), ids=UNFIT.keys())
def test_what_is_out_of_the_ordinary_goes_the_general_way(data: bytes) -> None:
    with pytest.raises(flight_rows.Unfit):
        flight_rows.read(data, OPERATION_KEYS, 1_000)


@given(st.data())
def test_damaged_bytes_are_read_alike_or_not_at_all(data: st.DataObject) -> None:
    whole = bytearray(pickled(dump(ring(lambda at: {"duration_ms": 1.0} if at % 2 else {}))))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(2, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = flight_rows.read(bytes(whole), OPERATION_KEYS, 1_000)
    except flight_rows.Unfit:
        return
    assert len(found.picks) == len(found.numbers["op_id"]) and set(found.picks) <= set(range(len(found.forms)))
    with pytest.MonkeyPatch.context() as patch:
        quick, slow = (tables(bytes(whole), patch, by_forms) for by_forms in (True, False))
    if "unread" not in quick:
        assert quick["operations"].equals(slow["operations"])


@pytest.mark.parametrize("suffix", ["", "_coalesced"])
@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_names_of_torch_2_13_are_the_same_collectives(backend: str, suffix: str) -> None:
    for new, old in (("all_gather_single", "all_gather"), ("reduce_scatter_single", "reduce_scatter")):
        assert flight_columns.split_name(f"{backend}:{new}{suffix}") == (backend, old, None)
