"""Of very many entries of flight records the newest are kept, and what stands for the others."""

from pathlib import Path
from typing import Any

import pytest

import parsers
from parsers import newest
from tests.flight_dumps import dump, entry, pickled

DONE = {"state": "completed", "retired": True}


def kept(folder: Path, entries: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    monkeypatch.setattr(newest, "ROWS", 8)
    monkeypatch.setattr(newest, "LEAST", 4)
    (folder / "nccl_trace_rank_0").write_bytes(pickled(dump(entries)))
    (folder / "nccl_trace_rank_1").write_bytes(pickled(dump(entries)))
    tables = parsers.read(str(folder)).tables
    assert [reason.split(" entries")[0] for reason in tables["unread"]["reason"]] in ([], [f"of {2 * len(entries)}"])
    each = tables["operations"].group_by("rank", maintain_order=True).agg("record")["record"].to_list()
    assert each[0] == each[1]
    return list(each[0])


KEPT = {
    "the first and the newest": (lambda at: DONE, [0, 16, 17, 18, 19]),
    "what is open, however old": (lambda at: DONE if at != 7 else {}, [0, 7, 16, 17, 18, 19]),
    "retired and never completed": (lambda at: DONE if at != 7 else {"retired": True}, [0, 7, 16, 17, 18, 19]),
    "ends of what came early": (
        lambda at: {**DONE, "pg_id": 2 if at in (3, 5, 8) else 1}, [0, 3, 8, 16, 17, 18, 19],
    ),
    "a batch of transfers as a whole": (
        lambda at: {"is_p2p": True, "p2p_seq_id": at // 3, **(
            {"profiling_name": "nccl:coalesced", **DONE} if at % 3 == 2 else {"profiling_name": f"nccl:send 0->{at % 3}"}
        )} if at < 6 else DONE, [0, 1, 2, 3, 4, 5, 6, 16, 17, 18, 19],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "records"), KEPT.values(), ids=KEPT.keys())
def test_what_is_kept(change: Any, records: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(tmp_path, [entry(at, **change(at)) for at in range(20)], monkeypatch) == records


def test_few_are_all_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(tmp_path, [entry(at, **DONE) for at in range(4)], monkeypatch) == [0, 1, 2, 3]
