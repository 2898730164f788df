"""Conversations in documents: what was pasted into them is read line by line, and logs are none."""

import json
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.archive.exports import lines_of

LISTED = "here they are\n" + "\n".join(f"pid {7100 + 7 * rank}: RANK={rank} WORLD_SIZE=4" for rank in range(4))
SAID = "\n".join(
    ["node c says", "launcher: Worker process 7114 exit with exception.", "RuntimeError: CUDA out of memory"]
)
LOG = "\n".join(
    ["[WARNING] MD(7114,ffff,python):2026-07-11-00:52:24.343.706 [a.cc:250] Build] up"]
    + [f"2026-07-11 00:53:{step:02} step {step} loss 2.{step}1" for step in range(12)]
    + [
        "[ERROR] MD(7114,ffff,python):2026-07-11-00:54:10.343.706 [mem.cc:39] Alloc] no block",
        "Traceback (most recent call last):",
        '  File "fit.py", line 7, in <module>',
        "    step(batch)",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    ]
)


def of(form: str, *texts: str) -> Any:
    match form:
        case "Slack":
            return [{"type": "message", "user": "U07", "ts": "1777629600.000200", "text": text} for text in texts]
        case "comments":
            return {
                "title": "t",
                "comments": [
                    {"author": {"login": "ana"}, "createdAt": "2026-07-11T01:00:00Z", "body": text} for text in texts
                ],
            }
    return {"群": "训练", "消息": [{"发送人": "陈", "时间": "2026-07-11 01:00:00", "内容": text} for text in texts]}  # fmt: skip


@pytest.mark.parametrize("form", ["Slack", "comments", "in Chinese"])
def test_what_was_pasted_tells_whose_log_it_is(tmp_path: Path, form: str) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(of(form, "hm", LISTED, SAID), ensure_ascii=False))
    (tmp_path / "a1f3.log").write_text(LOG)
    found = analyze(tmp_path).verdict
    assert (found.kind, found.cause, found.ranks) == ("crash", "gpu_oom", [2])


def test_a_file_of_two_processes_is_of_neither(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(json.dumps(of("Slack", LISTED, "a\nb")))
    (tmp_path / "a1f3.log").write_text(LOG.replace("[ERROR] MD(7114", "[ERROR] MD(7107"))
    assert analyze(tmp_path).verdict.ranks == []


@pytest.mark.parametrize(
    "document",
    [
        {"items": [{"name": "a", "text": "one\ntwo"}, {"name": "b", "text": "one\ntwo"}]},
        {"messages": [{"sender": "Ana", "body": "one"}, {"sender": "Ben", "body": "two"}]},
        {"messages": [{"sender": "Ana", "body": "one\ntwo"}, {"body": "one\ntwo"}]},
    ],
)
def test_other_documents_stay_as_they_are(document: dict[str, Any]) -> None:
    assert lines_of(json.dumps(document).encode()) is None


def test_a_message_of_one_line_has_its_moment() -> None:
    document = {
        "messages": [
            {"sender": "bot", "sent_at": "2026-07-11 01:00:00", "body": text} for text in ("x\ny", "z", "v\nw")
        ]
    }
    document["messages"].append({"sender": "Ana", "body": "", "file": "a.log", "host": "n1"})
    said = (lines_of(json.dumps(document).encode()) or b"").decode().splitlines()
    assert said == ["2026-07-11 01:00:00 bot:", "x", "y", "2026-07-11 01:00:00 bot: z", "2026-07-11 01:00:00 bot:", "v", "w", "Ana: sender=Ana file=a.log host=n1"]  # fmt: skip
