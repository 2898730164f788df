"""The JSON that torch's `record` writes of an exception, over several lines or in one, whole or cut."""

import json

import pytest

from parsers.pytorch.error_json import PARSER
from tests.lines import lines

STACK = 'Traceback (most recent call last):\\n  File \\"/job/x.py\\", line 3, in f\\n    g()\\nKeyError: 7\\n'
PRETTY = f"""ERROR:torch.distributed.elastic.multiprocessing.errors.error_handler:{{
  "message": {{
    "message": "KeyError: 7",
    "extraInfo": {{
      "py_callstack": "{STACK}",
      "timestamp": "1767225600"
    }}
  }}
}}"""
FLAT = f'{{"message": {{"message": "KeyError: 7", "extraInfo": {{"py_callstack": "{STACK}", "timestamp": "1"}}}}}}'


@pytest.mark.parametrize(("text", "line"), [(PRETTY, 3), (FLAT, 1), (PRETTY.replace("\n", "\r\n"), 3)])
def test_class_and_frames(text: str, line: int) -> None:
    [row] = PARSER.parse(lines(text, path_rank=3))["events"].rows(named=True)
    assert (row["kind"], row["code"], row["rank"], row["line"]) == ("exception", "KeyError", 3, line)
    assert row["text"] == "KeyError: 7" and json.loads(row["detail"])["frames"] == [["f", "/job/x.py", 3]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '    "message": "KeyError: 7"',
        '      "py_callstack": "Traceback',
        '"message": "a"\n' * 6 + '"py_callstack": "x"',
    ],
    ids=["empty", "another program's JSON", "cut before its end", "a sentence"],
)
def test_what_is_none(text: str) -> None:
    assert not PARSER.parse(lines(text))["events"].height


def test_memory_and_consequences_are_told_apart() -> None:
    def kinds(message: str) -> list[str]:
        rows = PARSER.parse(lines(PRETTY.replace("KeyError: 7", message)))["events"].rows(named=True)
        return [row["kind"] + (" of another" if "consequence" in (row["detail"] or "") else "") for row in rows]

    assert kinds("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB.") == ["exception", "gpu_oom"]
    assert kinds("RuntimeError: Connection closed by peer") == ["exception of another"]
