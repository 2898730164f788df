"""TorchComms' log of collectives."""

from pathlib import Path

import parsers

HEAD = "V|1|base_timestamp=1769854272.890\nnew_comm|comm=world|rank=3|world_size=8\nsplit|parent=world|child=tp|ranks=2,3\n"
SIGNATURES = (
    "C1|sig|all_reduce|in_count=1024|out_count=1024|dtype=f32|red_op=sum|async_op=f|comm=world\n"
    "C2|sig|all_gather_single|in_count=8|out_count=64|dtype=bf16|async_op=t|comm=tp\n"
    "C3|sig|send|in_count=8|out_count=0|dtype=f32|peer=1|async_op=f|comm=world\n"
)


def test_calls(tmp_path: Path) -> None:
    events = "C1|Q|work_id=1|+0.001\nC1|S|+0.002\nC1|E|+0.005\nC1|Q|work_id=2|+1.000\nC2|Q|work_id=3|+1.001\nC1|S|+1.002\nC3|Q|work_id=4|+1.5\n"
    (tmp_path / "a.log").write_text(HEAD + SIGNATURES + events + "G4|R1|C1|S|+2.0\nWARN|no pre-hook\nfoo\n")
    tables = parsers.read(str(tmp_path)).tables
    assert tables["operations"].select("rank", "group", "kind", "seq", "state", "is_p2p", "peer").rows() == [
        (3, "world", "all_reduce", 1, "completed", False, None),
        (3, "world", "all_reduce", 2, "started", False, None),
        (3, "tp", "all_gather", 1, "scheduled", False, None),
        (3, "world", "send", 1, "scheduled", True, 1),
    ]  # fmt: skip
    first = tables["operations"].row(0, named=True)
    assert (first["time_created_ns"], first["time_completed_ns"]) == (1769854272_891_000_000, 1769854272_895_000_000)
    assert (first["input_sizes"], first["input_dtypes"]) == ("[[1024]]", '["Float"]')
    assert tables["ranks"].select("rank", "world_size").unique().rows() == [(3, 8)]
    assert tables["groups"].select("group", "size", "members").rows() == [("world", 8, None), ("tp", 2, [2, 3])]
    assert tables["events"].select("kind", "code").rows() == [("other", "clog")]
    assert tables["unread"].height == 1


def test_without_lifecycle_no_state_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(HEAD + SIGNATURES + "C1|Q|work_id=1|+0.001\n")
    assert parsers.read(str(tmp_path)).tables["operations"]["state"].to_list() == [None]
