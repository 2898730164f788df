"""The level of a log record stands in a field of its own; the word in a sentence is none."""

import pytest

from parsers.forms.records import record

AT = "2026-01-31 10:11:12"


@pytest.mark.parametrize(
    ("text", "severity", "message", "rank"),
    [
        (f"{AT},689 ERROR trainer: no shard", "error", "trainer: no shard", None),
        (f"{AT},689 - app - CRITICAL - model.py:489 - no shard", "fatal", "no shard", None),
        (f"{AT}.689 | ERROR    | app:main:12 - no shard", "error", "app:main:12 - no shard", None),
        (f"[{AT},689][app][ERROR] - no shard", "error", "no shard", None),
        (f"[{AT},689] [ERROR] [launch.py:32:main] ['x'] is gone", "error", "['x'] is gone", None),
        ("01-31 10:11:12 [TRAIN] [Rank 7] [ERROR] [train.py:5] no shard", "error", "no shard", 7),
        ("[rank3] ERROR no shard", "error", "no shard", 3),
        ("ERROR 01-31 10:11:12 [engine.py:7] no shard", "error", "no shard", None),
        ("ERROR:root:no shard", "error", "no shard", None),
        ("ERROR: no shard", "error", "no shard", None),
        ("prog: fatal error: no shard", "fatal", "no shard", None),
        ("prog: error: no shard", "error", "no shard", None),
        ("E0131 10:11:12.689000 4711 file.cc:12] no shard", "error", "no shard", None),
        ("[E1120 21:56:07.458194651 file.cc:12] no shard", "error", "no shard", None),
        ("E external/xla/file.cc:1170] no shard", "error", "no shard", None),
        (f"[{AT}.066232: F horovod/common/x.cc:588] no shard", "fatal", "no shard", None),
        (f'time="{AT}Z" level=error msg="no \\"shard\\"" x=1', "error", 'no \\"shard\\"', None),
        ('{"level": "error", "msg": "no shard", "rank": 3}', "error", "no shard", 3),
        ("[ERROR] 2026-01-31-10:11:12 (PID:63, Device:0, RankID:5) ERR1 no shard", "error", "ERR1 no shard", 5),
        (f"{AT} node1 app[12]: ERROR: no shard", "error", "no shard", None),
        (f"{AT} WARNING trainer: ERROR: no shard", "warning", "trainer: ERROR: no shard", None),
        (f"{AT} INFO trainer: last state was [ERROR]", "info", "trainer: last state was [ERROR]", None),
    ],
)  # fmt: skip
def test_level(text: str, severity: str, message: str, rank: int | None) -> None:
    found = record(text, raw=text)
    assert found is not None
    assert (found.severity, found.message, found.rank) == (severity, message, rank)


@pytest.mark.parametrize(
    "text",
    [
        "", "the ERROR rate was 3", "ERROR in the data", "Training ERROR: x", "step 5 ERROR: x", "0 ERROR, 3 WARN",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "ERROR_HANDLING: 1", "ERROR=3", "level 3 error", "see ERROR-17: x",
        f"{AT} the run ended ERROR", "no level=error here", '{"level": "error"}', "loss 0.1 | ERROR | 3", "E = mc2",
        "Evaluate: x] y", "[Errno 5] Input/output error", "�",
    ],
)  # fmt: skip
def test_no_level(text: str) -> None:
    assert record(text, raw=text) is None


def test_a_level_right_after_decoration_needs_no_separator() -> None:
    assert record("ERROR no shard") is None
    found = record("ERROR no shard", is_stamped=True)
    assert found is not None and found.message == "no shard"


@pytest.mark.parametrize("text", [f"{AT} ERROR x", "[ERROR] 2026-01-31-10:11:12 x", f"[{AT}: E a/b.cc:1] x"])
def test_time(text: str) -> None:
    found = record(text)
    assert found is not None and found.stamp == (1769854272_000000000, "local")
