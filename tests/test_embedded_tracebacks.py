"""Tracebacks in a form of their own: drawn boxes, indented under a record, in the fields of JSON and logfmt."""

import json

import pytest

from parsers.pytorch.traceback import PARSER
from tests.lines import lines

BOX = """╭──────────────── Traceback (most recent call last) ─────────────────╮
│ /job/train.py:214 in <module>                                      │
│                                                                    │
│   212 if __name__ == "__main__":                                   │
│ ❱ 214 │   main()                                                   │
│                                                                    │
│ /job/data/collate.py:61 in __call__                                │
│                                                                    │
│    59 │   │   n = len(x)                                           │
│ ❱  61 │   │   raise ValueError(n)                                  │
│ ╭──── locals ────╮                                                 │
│ │ n = 0          │                                                 │
│ ╰────────────────╯                                                 │
╰────────────────────────────────────────────────────────────────────╯
ValueError: no tokens"""
PLAIN = """Traceback (most recent call last):
  File "/job/train.py", line 214, in <module>
    main()
  File "/job/data/collate.py", line 61, in __call__
    raise ValueError(n)
ValueError: no tokens"""
FRAMES = [{"filename": "/job/train.py", "lineno": 214, "name": "<module>"}, {"filename": "/job/data/collate.py", "lineno": 61, "name": "__call__"}]  # fmt: skip
ASCII = BOX.translate(str.maketrans("╭╮╰╯─│❱", "++++-|>"))


def _before(label: str, text: str) -> str:
    return "\n".join(label + line for line in text.split("\n"))


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (BOX, None),
        (ASCII, None),
        (BOX.partition("\n")[2], None),  # pasted from within
        (BOX.replace("/job/data/collate.py:61 in __call__   ", "/job/data/collate.py:61  │\n│ in __call__ "), None),
        (BOX.replace("/job/data/collate.py:61 in __call__   ", "/job/data/coll │\n│ ate.py:61 in  │\n│ __call__ "), None),
        (BOX.replace("/job/train.py:214 in <module>", "in <module>:214").replace("/job/data/collate.py:61 in __call__", "in __call__:61"), None),
        ("[02:00:10] ERROR    failed             train.py:142\n" + _before(" " * 20, BOX), None),
        ("[02:00:10] ERROR    failed             train.py:142\n" + _before(" " * 4, PLAIN), None),
        (PLAIN.replace('  File "/job/data', '> File "/job/data'), None),  # loguru's mark
        (json.dumps({"level": "error", "rank": 3, "msg": "failed", "exc_info": PLAIN}), 3),
        (json.dumps({"severity": "ERROR", "global_rank": 3, "traceback": PLAIN, "message": "uncaught"}), 3),
        (json.dumps({"event": "crash", "rank": 3, "error": {"kind": "ValueError", "stack": PLAIN}}), 3),
        (json.dumps({"message": "training failed\n" + PLAIN, "rank": 3}), 3),
        (json.dumps({"rank": 3, "traceback": PLAIN.split("\n")}), 3),
        (json.dumps({"rank": 3, "exc_info": BOX}), 3),
        (json.dumps({"rank": 3, "exception": [{"exc_type": "ValueError", "exc_value": "no tokens", "frames": FRAMES}]}), 3),
        ('level=error rank=3 msg="failed" err="' + PLAIN.replace('"', '\\"').replace("\n", "\\n") + '"', 3),
    ],
)  # fmt: skip
def test_a_traceback_in_a_form_of_its_own_is_one(text: str, rank: int | None) -> None:
    found = PARSER.parse(lines(f"{text}\nthe next line"))["events"].filter(kind="exception")
    assert found.select("code", "rank").rows() == [("ValueError", rank)]
    assert [frame[0] for frame in json.loads(found["detail"][0])["frames"]] == ["__call__", "<module>"]


def test_a_box_that_is_cut_ends_where_it_ends() -> None:
    cut = "\n".join(BOX.split("\n")[:6])
    found = PARSER.parse(lines(f"{cut}\nstep 5 loss 2.1\nKeyError: 'x'\n"))["events"].filter(kind="exception")
    assert found["code"].to_list() in ([None], ["KeyError"])


@pytest.mark.parametrize("text", ['{"exc_type": "ValueError"}', '{"a": "Traceback (most recent call last):\\n', "x" * 9 + " Traceback (most recent call last) " + "y"])  # fmt: skip
def test_pieces_of_one_are_no_failure_of_the_reader(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].height <= 1


WITHIN = """\
│   60 │   │   n = len(x)                 │
│                                          │
│ /job/lib/python3.9/site-packages/q.py:61 │
│ in pull                                  │
│                                          │
│ ❱ 61 │   │   raise Gone(f"{n} left        │
│   62 │   │   return x                   │
"""
LOGGED = "(w7 pid=71) ERROR 06-11 09:03:27 [run.py:932] "
CARETS = """  File "/job/a.py", line 40, in step
    loss = model(batch)
           ^^^^^^^^^^^^
  File "/job/b.py", line 7, in model
"""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(WITHIN, id="a box"),
        pytest.param(CARETS, id="carets"),
        pytest.param(_before(LOGGED, CARETS), id="a logger's"),
        pytest.param(CARETS.replace("           ^^^^^^^^^^^^\n", "") + '    raise Gone("all")\n', id="a raise"),
    ],
)
def test_what_begins_and_ends_within_a_traceback_was_raised(text: str) -> None:
    found = PARSER.parse(lines(text))["events"].filter(kind="exception")
    assert found.select("code", "rank").rows() == [(None, None)]
    assert json.loads(found["detail"][0])["frames"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(CARETS.replace("           ^^^^^^^^^^^^\n", ""), id="a stack that was printed"),
        pytest.param("│ /data/a.py:7 │ 40 │\n│ /data/b.py:9 │ 41 │\n", id="a table"),
    ],
)
def test_what_may_be_no_traceback_raised_nothing(text: str) -> None:
    assert PARSER.parse(lines(text))["events"].filter(kind="exception").is_empty()
