"""Stacks as JSON of services of one's own: whatever their fields are called, whoever stands elsewhere in both looks is named."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from parsers import read

RANKS, OUT = 8, 5
Stack = list[tuple[str, str, int]]  # innermost first: function, file, line
WAITS: Stack = [("readinto", "socket.py", 704), ("all_reduce", "comm/ring.py", 155), ("step", "train/main.py", 311), ("main", "train/main.py", 9)]  # fmt: skip
LOCKED: Stack = [("__lll_lock_wait", "libc.so.6", 0), ("encode", "tok/tok.cc", 52), ("next_batch", "data/data.cc", 120), ("main", "train/main.cc", 9)]  # fmt: skip
LOGS: Stack = [("send", "logging/handlers.py", 687), ("emit", "logging/handlers.py", 661), ("step", "train/main.py", 287), ("main", "train/main.py", 9)]  # fmt: skip
BEATS: Stack = [("nanosleep", "libc.so.6", 0), ("beat", "obs/hb.py", 9)]


def short(rank: int, stack: Stack) -> Any:
    frames = [[f"{file}:{line} {function}" for function, file, line in one] for one in (stack, BEATS)]
    return {"r": rank, "h": f"n{rank // 4}", "p": 900 + rank, "th": [{"n": "MainThread", "fr": frames[0]}, {"n": "hb", "fr": frames[1]}]}  # fmt: skip


def fields(rank: int, stack: Stack) -> Any:
    frames = [{"function": function, "file": file, "line": line} for function, file, line in stack]
    return {"rank": rank, "pid": 900 + rank, "threads": [{"name": "main", "state": "S", "frames": frames}]}


def numbered(rank: int, stack: Stack) -> Any:
    return {"global_rank": rank, "stack": [f"#{at} {function} at {file}:{line}" for at, (function, file, line) in enumerate(stack)]}  # fmt: skip


def turned(rank: int, stack: Stack) -> Any:
    return {"rank": rank, "bt": [f"{function} ({file}:{line})" for function, file, line in stack[::-1]]}


FORMS: dict[str, Callable[[int, Stack], Any]] = {
    "short": short,
    "fields": fields,
    "numbered": numbered,
    "outermost first": turned,
}


def looks(folder: Path, form: str, odd: Stack, ways: str = "lines", *, ranks: int = RANKS, count: int = 2) -> Verdict:
    for look in range(count):
        records = [FORMS[form](rank, odd if rank == OUT else WAITS) for rank in reversed(range(ranks))]
        if ways == "lines":
            head = json.dumps({"svc": "stacks", "t": f"2026-03-04T10:{10 * (look + 1)}:00Z"})
            (folder / f"look_{look}.jsonl").write_text("\n".join([head, *map(json.dumps, records)]) + "\n")
        elif ways == "one document":
            (folder / f"look_{look}.json").write_text(json.dumps({"taken": look, "processes": records}, indent=1))
        else:
            for rank, record in enumerate(reversed(records)):
                here = folder / f"look_{look}"
                here.mkdir(exist_ok=True)
                (here / f"rank{rank}.json").write_text(json.dumps(record))
    lines = [f"10:0{n}:00 step {n} loss 2.{n}" for n in range(1, 5)]
    (folder / "train.log").write_text("\n".join([*lines, "10:25:00 rank 0: step 5 is not done after 900 s"]) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ways", ["lines", "one document", "a file for each"])
@pytest.mark.parametrize(("odd", "site"), [(LOCKED, "lock"), (LOGS, "logging")])
def test_who_stands_elsewhere_in_both_looks(tmp_path: Path, form: str, ways: str, odd: Stack, site: str) -> None:
    if (form, ways) == ("short", "a file for each"):
        pytest.skip("one number under a name that nobody knows tells no rank")
    found = looks(tmp_path, form, odd, ways)
    assert (found.kind, found.cause, found.ranks, found.site) == ("hang", "rank_absent", [OUT], site)


@pytest.mark.parametrize("form", FORMS)
def test_where_all_stand_alike_nobody_is_named(tmp_path: Path, form: str) -> None:
    assert looks(tmp_path, form, WAITS).ranks == []


@pytest.mark.parametrize("form", FORMS)
def test_frames_stand_innermost_first(tmp_path: Path, form: str) -> None:
    looks(tmp_path, form, LOCKED)
    stacks = read(str(tmp_path)).tables["stacks"]
    own = [
        row["frames"][0]["function"] for row in stacks.iter_rows(named=True) if row["rank"] == OUT and row["is_main"]
    ]
    assert own == ["__lll_lock_wait"] * 2


@pytest.mark.parametrize(
    "document",
    [
        {"rank": 3, "files": ["/data/a.bin", "/data/b.bin"], "hosts": ["n1:22", "n2:22"]},
        {"name": "job", "layers": [{"name": "conv", "size": 3}, {"name": "relu", "size": 1}]},
        [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.9}],
    ],
)
def test_other_lists_are_no_stacks(tmp_path: Path, document: Any) -> None:
    (tmp_path / "note.json").write_text(json.dumps(document))
    (tmp_path / "train.log").write_text("10:00:00 step 1 loss 2.0\n")
    assert not read(str(tmp_path)).tables["stacks"].height
