"""Flight recorder dumps: rows of every schema, cut files, and pickles made to harm."""

import importlib.util
import io
import json
import os
import pickle
import resource
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.pytorch import safe_pickle
from parsers.pytorch.flight_recorder import PARSER
from parsers.pytorch.safe_pickle import Cut, Refused, loads
from parsers.schema.parser import HEAD_BYTES, Source
from parsers.schema.tables import SCHEMAS, Tables, stack_frames

_ROOT = Path(__file__).resolve().parent
_SPEC = importlib.util.spec_from_file_location("flight_dumps", _ROOT / "flight_dumps.py")
assert _SPEC is not None and _SPEC.loader is not None
_DUMPS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_DUMPS)
dump, entry, pickled = _DUMPS.dump, _DUMPS.entry, _DUMPS.pickled
CASES = Path(os.environ.get("FORENSICS_CASES", _ROOT.parent.parent / "shared" / "cases"))
NAME = "job/nccl_trace_rank_3"
GIGABYTE = 1 << 30


def read(data: bytes, path: str = NAME, rank: int | None = 3) -> Tables:
    tables = PARSER.parse(Source(path, len(data), lambda: io.BytesIO(data), rank=rank))
    for name, frame in tables.items():
        assert dict(frame.schema) == dict(SCHEMAS[name]), name
    return tables


def reasons(tables: Tables) -> list[str]:
    return tables["unread"]["reason"].to_list() if "unread" in tables else []


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


FORMS = pytest.mark.parametrize(
    "write",
    [pickled, as_json, pickle.dumps, lambda value: pickle.dumps(value, protocol=2)],
    ids=["torch", "json", "python", "python2"],
)


@FORMS
def test_every_column_of_an_entry(write: Any) -> None:
    frame = {"name": "step", "filename": "train.py", "line": 7}
    tables = read(write(dump([entry(0, frames=[frame, {**frame, "name": "main"}], duration_ms=1.5)])))
    assert reasons(tables) == []
    assert tables["operations"].to_dicts() == [
        {
            **dict.fromkeys(SCHEMAS["operations"]),
            "rank": 3,
            "pg_id": 1,
            "group": "5",
            "desc": "TP",
            "backend": "nccl",
            "seq": 1,
            "op_id": 1,
            "is_p2p": False,
            "kind": "all_reduce",
            "state": "scheduled",
            "retired": False,
            "timeout_ms": 600_000,
            "input_sizes": "[[4,2]]",
            "input_dtypes": '["Float"]',
            "output_sizes": "[[4,2]]",
            "output_dtypes": '["Float"]',
            "time_created_ns": 1_700_000_000_000_000_000,
            "duration_ms": 1.5,
            "thread": "139748020489088",
            "file": NAME,
            "record": 0,
            "stack": '[["step","train.py",7],["main","train.py",7]]',
        }
    ]


@FORMS
def test_groups_progress_settings_and_rank(write: Any) -> None:
    tables = read(write(dump([entry()])))
    group, progress = tables["groups"].row(0, named=True), tables["progress"].row(0, named=True)
    assert (group["pg_id"], group["group"], group["members"], group["members_space"], group["size"]) == (
        *(1, "5", [0, 1], "global"),
        2,
    )
    assert (progress["group"], progress["scope"], progress["last_enqueued"]) == ("5", "all", 8)
    assert (progress["last_started"], progress["last_completed"]) == (None, 7)
    versions = dict(tables["settings"].select("name", "value").rows())
    assert versions == {"flight_recorder_version": "2.9", "nccl_version": "2.27.3"}
    assert tables["ranks"].select("rank", "how").rows() == [(3, "flight recorder file name")]


@pytest.mark.parametrize(
    ("name", "backend", "kind", "peer"),
    [
        ("nccl:all_reduce", "nccl", "all_reduce", None),
        ("nccl:_all_gather_base", "nccl", "all_gather", None),
        ("mccl:_reduce_scatter_base", "mccl", "reduce_scatter", None),
        ("nccl2:all_to_all", "nccl2", "all_to_all", None),
        ("nccl:send 0->1", "nccl", "send", 1),
        ("nccl:recv 1<-0", "nccl", "recv", 0),
        ("nccl:recv 12<-345", "nccl", "recv", 345),
        ("gloo:barrier", "gloo", "barrier", None),
        ("nccl:coalesced", "nccl", "coalesced", None),
        ("nccl:something_new", "nccl", "something_new", None),
        ("plain", None, "plain", None),
        ("", None, None, None),
        (5, None, None, None),
    ],
)
def test_names_of_operations(name: Any, backend: str | None, kind: str | None, peer: int | None) -> None:
    row = read(as_json(dump([entry(profiling_name=name)])))["operations"].row(0, named=True)
    assert (row["backend"], row["kind"], row["peer"]) == (backend, kind, peer)


@pytest.mark.parametrize(
    ("changes", "column", "value"),
    [
        ({"is_p2p": True, "p2p_seq_id": 9}, "seq", 9),
        ({"collective_seq_id": None, "seq_id": 4}, "seq", 4),
        ({"is_p2p": True, "p2p_seq_id": None, "seq_id": 4}, "seq", 4),
        ({"time_discovered_started_ns": 0}, "time_started_ns", None),
        ({"time_discovered_completed_ns": 5}, "time_completed_ns", 5),
        ({"input_sizes": "[[1, 2]]"}, "input_sizes", "[[1,2]]"),
        ({"input_dtypes": "Float"}, "input_dtypes", '["Float"]'),
        ({"input_sizes": []}, "input_sizes", "[]"),
        ({"input_sizes": [[[[]]]]}, "input_sizes", None),
        ({"input_sizes": [[1], [2, 3]]}, "input_sizes", "[[1],[2,3]]"),
        ({"op_id": "7"}, "op_id", 7),
        ({"op_id": True}, "op_id", None),
        ({"op_id": 1 << 70}, "op_id", None),
        ({"retired": 1}, "retired", None),
        ({"duration_ms": 2}, "duration_ms", 2.0),
        ({"thread_id": None}, "thread", "python3"),
        ({"process_group": ["", ""]}, "group", None),
        ({"process_group": "5"}, "group", None),
        ({"state": "x" * 5_000}, "state", "x" * 1_000),
        ({"frames": [5, {"name": 1, "line": "a"}]}, "stack", "[[null,null,null],[null,null,null]]"),
    ],
    ids=str,
)
def test_values_of_other_versions_and_of_wrong_types(changes: dict[str, Any], column: str, value: Any) -> None:
    tables = read(as_json(dump([entry(0), entry(1, **changes)])))
    assert tables["operations"][column].to_list()[1] == value


@pytest.mark.parametrize("minor", range(1, 11))
def test_versions(minor: int) -> None:
    one = entry()
    if minor < 6:
        one = {key: value for key, value in one.items() if not key.startswith("thread")}
    tables = read(pickled(dump([one], version=f"2.{minor}")))
    assert tables["operations"].height == 1 and reasons(tables) == []


def test_ids_align_with_names_unless_an_entry_contradicts() -> None:
    config = {name: {"name": name, "desc": f"d{name}", "ranks": "[0, 1]"} for name in ("10", "9", "0")}
    status = {str(number): {"last_enqueued_collective": number} for number in (0, 4, 11)}
    aligned = read(pickled(dump([], pg_config=config, pg_status=status)))["progress"]
    assert dict(aligned.select("pg_id", "group").rows()) == {0: "0", 4: "9", 11: "10"}
    wrong = read(pickled(dump([entry(pg_id=4, process_group=("10", "x"))], pg_config=config, pg_status=status)))
    assert dict(wrong["progress"].select("pg_id", "group").rows()) == {0: None, 4: "10", 11: None}
    fewer = {key: status[key] for key in ("0", "4")}
    assert set(read(pickled(dump([], pg_config=config, pg_status=fewer)))["progress"]["group"]) == {None}


def test_gloo_has_one_nameless_group_in_its_own_numbering() -> None:
    config = {"": {"name": "", "desc": "", "ranks": "[0, 1]"}}
    one = entry(profiling_name="gloo:all_reduce")
    tables = read(pickled(dump([one], pg_config=config, comm_lib_version="", nccl_version="")))
    assert tables["groups"].select("group", "members_space", "backend").rows() == [(None, "group", "gloo")]
    assert tables["progress"].select("group", "scope").rows() == [("5", "collective")]


@pytest.mark.parametrize("ranks", ["[0, 1, ...]", "", "[-1]", 7, "[0, 99999999999999]", ["a"]], ids=str)
def test_members_that_cannot_be_read_are_null(ranks: Any) -> None:
    tables = read(as_json(dump([], pg_config={"5": {"name": "5", "ranks": ranks}})))
    assert tables["groups"].select("members", "size").rows() == [(None, None)]


@pytest.mark.parametrize(
    ("path", "head", "accepted"),
    [
        ("a/nccl_trace_rank_0", b"", True),
        ("a/job_dump_12", b"\x00garbage", True),
        ("mccl_trace_rank_7.json", b"", True),
        ("x", pickled(dump([entry()]))[:HEAD_BYTES], True),
        ("x.json", as_json(dump([])), True),
        ("x.json", b" \n" + as_json(dump([])), True),
        ("x.json", b'{"version": 1, "entries": []}', False),
        ("x.pkl", pickle.dumps({"a": 1}), False),
        ("x.log", b"pg_config entries version", False),
        ("x", b"", False),
    ],
)
def test_accepts(path: str, head: bytes, accepted: bool) -> None:
    assert PARSER.accepts(path, head) is accepted


@pytest.mark.parametrize("data", [b"", b"  \n"], ids=["zero bytes", "blank"])
def test_empty_file(data: bytes) -> None:
    assert reasons(read(data)) == ["empty file"]


def test_a_file_that_cannot_be_opened() -> None:
    def fail() -> Any:
        raise OSError("no such member")

    assert reasons(PARSER.parse(Source(NAME, 5, fail))) == ["cannot be read: no such member"]


@FORMS
def test_a_cut_dump_keeps_whole_entries_and_says_so(write: Any) -> None:
    whole = write(dump([entry(number) for number in range(40)]))
    complete, most = read(whole)["operations"], 0
    for end in range(1, len(whole) - 1, 1 + len(whole) // 60):
        tables = read(whole[:end])
        assert reasons(tables), end
        if "operations" in tables:
            rows = tables["operations"]
            assert any(reason.startswith("cut: ") for reason in reasons(tables))
            assert rows.equals(complete.head(rows.height)), end
            most = max(most, rows.height)
    assert most >= 38


def test_broken_json_in_the_middle_keeps_what_stands_before() -> None:
    data = as_json(dump([entry(0), entry(1)])).replace(b'"record_id": 1,', b'"record_id": \xff,')
    tables = read(data)
    assert tables["operations"]["record"].to_list() == [0]
    assert reasons(tables)[0].startswith("cut: ")


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("echo harmed",)


def _laughs() -> bytes:
    """Lists that hold their predecessor twice, thirty deep, as the sizes of an entry."""
    return (
        b"\x80\x02}(X\x07\x00\x00\x00entries](}(X\x05\x00\x00\x00stateX\x01\x00\x00\x00sX\x0b\x00\x00\x00input_sizes]q\x00"
        + b"".join(b"](h" + bytes([n]) + b"h" + bytes([n]) + b"eq" + bytes([n + 1]) for n in range(60))
        + b"0ueu."
    )


def _key_of_tuples() -> bytes:
    return b"\x80\x02}NN\x86q\x00" + b"".join(b"h\x00h\x00\x86q\x00" for _ in range(60)) + b"Ns."


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def _memoised_tuples(levels: int, put: Callable[[int], bytes], get: Callable[[int], bytes]) -> bytes:
    """Tuples of tuples as a key, by opcodes that a recorder writes: an append of nothing stands before each slot."""
    parts = [b"\x80\x02}(" + _text("a") + _text("b") + b"\x86(e" + put(0)]
    parts += [get(n - 1) + get(n - 1) + b"\x86(e" + put(n) for n in range(1, levels)]
    return b"".join(parts) + b"}" + get(levels - 1) + b"Ns" + _text("version") + _text("2.4") + b"u."


def _colliding_keys(count: int) -> bytes:
    """Numbers that all have the hash 0."""
    numbers = (n * ((1 << 61) - 1) for n in range(1, count))
    keys = b"".join(b"\x8a\x0a" + number.to_bytes(10, "little") + b"N" for number in numbers)
    return b"\x80\x02}(" + keys + _text("version") + _text("2.4") + b"u."


HOSTILE = {
    "tuples in short slots as key": _memoised_tuples(60, lambda n: b"q%c" % n, lambda n: b"h%c" % n),
    "tuples in long slots as key": _memoised_tuples(
        200_000, lambda n: b"r" + struct.pack("<I", n), lambda n: b"j" + struct.pack("<I", n)
    ),
    "tuples in slots, dict ends": _memoised_tuples(60, lambda n: b"(uq%c" % n, lambda n: b"h%c" % n),
    "tuples in slots, nested ends": _memoised_tuples(60, lambda n: b"((eeq%c" % n, lambda n: b"h%c" % n),
    "tuples in slots of slots": _memoised_tuples(60, lambda n: b"h%c(eq%c" % (n, n), lambda n: b"h%c" % n),
    "colliding keys": _colliding_keys(120_000),
    "class": pickle.dumps(Evil()),
    "class, protocol 2": pickle.dumps(Evil(), protocol=2),
    "class, protocol 0": pickle.dumps(Evil(), protocol=0),
    "global": b"\x80\x02cos\nsystem\n.",
    "stack global": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "persistent": b"\x80\x02X\x01\x00\x00\x00aQ.",
    "extension": b"\x80\x02\x82\x01.",
    "memo bomb": b"\x80\x02]r" + struct.pack("<I", 1 << 30) + b".",
    "memo bomb, two texts": b"\x80\x02X\x01\x00\x00\x00ar" + struct.pack("<I", (1 << 32) - 1) + b".",
    "length of text": b"\x80\x02X" + struct.pack("<I", (1 << 32) - 1) + b"a.",
    "length of bytes": b"\x80\x03B" + struct.pack("<I", (1 << 31) - 1) + b"a.",
    "length of 8 bytes": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"a.",
    "byte array": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"a.",
    "long number": b"\x80\x02\x8b" + struct.pack("<I", (1 << 31) - 1) + b"a.",
    "frame": b"\x80\x04\x95" + struct.pack("<Q", 1 << 62) + b"N.",
    "nested lists": b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".",
    "nested tuples as key": b"\x80\x02}N" + b"\x85" * 200_000 + b"Ns.",
    "shared tuples as key": _key_of_tuples(),
    "shared lists": _laughs(),
    "marks": b"\x80\x02" + b"(" * 5_000_000,
    "memo slots": b"\x80\x04N" + b"\x94" * 5_000_000,
    "lists": b"\x80\x02(" + b"]" * 20_000_000 + b"t.",
    "no stack": b"\x80\x02e.",
    "empty": b"\x80\x02.",
    "json nesting": b'{"entries": ' + b"[" * 200_000,
    "json lists": b'{"entries": [' + b"[]," * 9_000_000,
}


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in HOSTILE.items()])
def test_hostile_files_are_unread_or_harmless(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tables = read(data)
    assert reasons(tables)
    assert tables.get("operations", pl.DataFrame()).height <= 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20  # kilobytes
    assert capfd.readouterr().out == ""


def test_bombs_stay_below_a_limit_of_the_process() -> None:
    """The real limit, in a process of its own: what is refused must not even be asked of the system."""
    script = (
        "import sys, resource; import parsers.pytorch.safe_pickle as s; data = sys.stdin.buffer.read()\n"
        "limit = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + (256 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try: print(type(s.loads(data)))\nexcept s.Refused as error: print(error)"
    )
    for name in ("memo bomb", "length of text", "byte array", "nested tuples as key"):
        done = subprocess.run(
            [sys.executable, "-c", script], input=HOSTILE[name], capture_output=True, check=True, cwd=_ROOT.parent
        )
        assert done.stdout and b"MemoryError" not in done.stdout, name


def test_shared_rows_and_texts_are_bounded() -> None:
    one = entry(profiling_name="nccl:" + "x" * 100_000, frames=[{"name": "f", "filename": "a", "line": 1}] * 3_000)
    tables = read(pickle.dumps(dump([dict(one) for _ in range(2_000)])))
    rows = tables["operations"]
    assert rows["kind"].cast(pl.String).str.len_chars().max() <= 1_000  # type: ignore[operator]
    stacks = rows["stack"].drop_nulls()
    assert len(stacks) * len(stack_frames(stacks[0])) <= 2_000_000
    assert any("frames" in reason for reason in reasons(tables))


def test_one_entry_written_once_is_one_however_often_it_is_referred_to() -> None:
    tables = read(pickle.dumps(dump([entry(), *[entry(collective_seq_id=2)] * 100_000])))
    assert tables["operations"]["seq"].to_list() == [1, 2]
    assert reasons(tables) == ["cut: 99999 entries that stand for one before"]


def test_a_text_that_stands_for_many_groups_is_spelled_out_as_far_as_the_dump_is_long() -> None:
    ranks = str(list(range(8_000)))
    config = {str(n): {"name": str(n), "desc": "x", "ranks": ranks} for n in range(500)}
    members = read(pickle.dumps(dump([entry()], pg_config=config)))["groups"]["members"]
    assert members[0].to_list() == list(range(8_000))
    assert members.null_count() > 400


def test_keys_that_collide_in_the_quick_reader_are_stopped_by_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = b"\x80\x02}(" + b"".join(b"J" + struct.pack("<i", n) + b"N" for n in range(50_000)) + b"u."
    assert len(loads(quick)) == 50_000
    monkeypatch.setattr(safe_pickle, "SECONDS", 0.0)
    with pytest.raises(Refused, match="seconds of work"):
        loads(quick)


def test_what_a_recorder_writes_goes_the_quick_way() -> None:
    slots = b"".join(_text(f"t{n}") + b"q%c" % n for n in range(2))
    listed = b"]q\x02(h\x00h\x01\x86h\x00h\x01\x86e"
    written = b"\x80\x02}q\x03(" + slots + _text("e") + b"r\x04\x00\x00\x00" + listed + b"u."
    assert safe_pickle._is_plain(written)
    assert loads(written) == {"t0": "t1", "e": [("t0", "t1"), ("t0", "t1")]}


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 62), 1 << 62) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(plain)
@settings(max_examples=150, deadline=None)
def test_plain_data_survives_both_ways(value: Any) -> None:
    assert loads(pickled(value)) == value
    assert loads(pickle.dumps(value)) == value


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x80\x02", b"\x80\x04", b'{"entries": [']))
@settings(max_examples=200, deadline=None)
def test_no_bytes_raise(tail: bytes, head: bytes) -> None:
    read(head + tail)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_damaged_dumps_never_raise(data: Any) -> None:
    whole = bytearray(pickled(dump([entry(0), entry(1)])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(whole))
    try:
        loads(bytes(whole))
    except Refused as refusal:
        assert isinstance(refusal, Cut) or str(refusal)


@given(plain, plain, plain)
@settings(max_examples=100, deadline=None)
def test_any_values_make_tables(entries: Any, status: Any, config: Any) -> None:
    document = {"version": "2.9", "entries": [{"state": entries, "pg_id": status, "input_sizes": config}]}
    read(pickle.dumps({**document, "pg_status": status, "pg_config": {"a": config}}))


@pytest.mark.skipif(not (CASES / "megatron_nccl_flight_recorder").is_dir(), reason="no real cases here")
def test_real_dumps_join_every_group() -> None:
    for path in sorted((CASES / "megatron_nccl_flight_recorder").glob("_dump_*")):
        tables = read(path.read_bytes(), path.name, rank=None)
        assert reasons(tables) == []
        assert tables["progress"]["group"].null_count() == 0 and tables["groups"]["pg_id"].null_count() == 0
        assert tables["ranks"]["rank"].to_list() == [int(path.name.rpartition("_")[2])]
        if path.name in {"_dump_9", "_dump_14"}:
            assert dict(tables["progress"].select("pg_id", "group").rows())[11] == "72"
            assert "operations" not in tables


@pytest.mark.skipif(not (CASES / "gloo").is_dir(), reason="no real cases here")
def test_real_pickle_and_json_agree() -> None:
    pairs = [(path, path.parent.parent / "fr_json" / f"{path.name}.json") for path in CASES.glob("gloo/*/fr/*")]
    assert pairs
    for one, other in pairs:
        first, second = (read(path.read_bytes(), NAME)["operations"].drop("stack") for path in (one, other))
        assert first.equals(second), one
