"""Sentences in two languages: one form, both texts; nobody writes a sentence beside the catalogue."""

import ast
import importlib
import pickle
import re
from functools import cache
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from forensics.model.said import Form, Noun, Said, encoded, joined, sentence, zh
from forensics.model.texts import first_of, group_text, listed, ranks_text
from forensics.words.views import EVENT
from parsers.schema.event_kinds import EVENT_KINDS

ROOT = Path(__file__).resolve().parent.parent
CATALOGUE = sorted(path for path in (ROOT / "forensics" / "words").glob("*.py") if path.stem != "__init__")
SPEAKERS = sorted(
    path
    for room in ("analyze.py", "assemble", "facts", "graph", "detectors", "verdict", "views")
    for path in ((ROOT / "forensics" / room).rglob("*.py") if "." not in room else [ROOT / "forensics" / room])
)
REACHED = Form("{who} reached {call}", "{who} 已到达 {call}")


def test_a_form_is_said_in_both_languages_and_so_are_its_fields() -> None:
    said = REACHED(who=ranks_text([1, 2, 3, 7]), call="all_reduce #5")
    assert said == "ranks 1-3, 7 reached all_reduce #5"
    assert said.zh == "rank 1-3、7 已到达 all_reduce #5"


def test_no_blank_is_left_where_chinese_meets_chinese() -> None:
    nobody = REACHED(who=Said("a process", "某进程"), call=Said("its call （x）", "该调用（x）"))
    assert nobody.zh == "某进程已到达该调用（x）"
    assert REACHED(who="中文", call="a 中 b").zh == "中文已到达 a 中 b", "what a field holds stays as it is"


@pytest.mark.parametrize(
    ("said", "english", "chinese"),
    [
        (ranks_text([5]), "rank 5", "rank 5"),
        (ranks_text([2, 6]), "ranks 2 and 6", "rank 2、6"),
        (ranks_text(range(0, 40, 2)), "ranks 0, 2, 4, 6, 8, 10, 12, 14, … (20 in all)", "rank 0、2、4、6、8、10、12、14…（共 20 个）"),
        (first_of(["a", "b", "c"], 2), "a, b and 1 more", "a、b（另有 1 个）"),
        (listed([3, 5, 6]), "3, 5-6", "3、5-6"),
        (group_text("an unnamed group"), "an unnamed group", "未命名的进程组"),
        (group_text("group 9"), "group 9", "进程组 9"),
        (group_text("communicator 0x1f"), "communicator 0x1f", "通信域 0x1f"),
        (group_text("communicator of all ranks"), "communicator of all ranks", "全部 rank 的通信域"),
        (group_text("dp_2 (5)"), "dp_2 (5)", "dp_2 (5)"),
        (Noun("rank", "ranks", "个 rank")(1), "1 rank", "1 个 rank"),
        (Noun("rank", "ranks", "个 rank")(2005), "2,005 ranks", "2,005 个 rank"),
        (joined(["a", "", Said("b", "乙")], "; "), "a; b", "a；乙"),
        (joined([Said("It waits.", "它在等待。"), Said("Why?", "为何？")], " "), "It waits. Why?", "它在等待。为何？"),
        (sentence(Said("it waits", "它在等待"), Said("nobody knows why", "原因未知")), "It waits; nobody knows why.", "它在等待；原因未知。"),
    ],
)  # fmt: skip
def test_how_parts_are_put_together(said: str, english: str, chinese: str) -> None:
    assert (str(said), zh(said)) == (english, chinese)


def test_it_is_the_english_text_to_all_that_do_not_ask() -> None:
    said = REACHED(who="rank 1", call="x")
    assert said == "rank 1 reached x" and hash(said) == hash("rank 1 reached x")
    assert msgspec.json.encode({"claim": said}, enc_hook=encoded) == b'{"claim":"rank 1 reached x"}'
    assert pickle.loads(pickle.dumps(said)).zh == said.zh
    assert zh("a name") == "a name"
    with pytest.raises(TypeError):
        msgspec.json.encode({"claim": object()}, enc_hook=encoded)


def _entries(path: Path) -> dict[str, object]:
    module = importlib.import_module(f"forensics.words.{path.stem}")
    return {name: value for name, value in vars(module).items() if name.isupper()}


def _forms(value: object) -> list[Form | Noun | Said]:
    if isinstance(value, Form | Noun | Said):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [form for one in inner for form in _forms(one)]


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_both_languages_of_a_form_have_the_same_fields(path: Path) -> None:
    entries = _entries(path)
    assert entries and all(_forms(value) for value in entries.values())
    for name, value in entries.items():
        for form in _forms(value):
            if isinstance(form, Form):
                assert _fields(form.en) == _fields(form.zh) and "" not in _fields(form.en), name


@pytest.mark.parametrize("path", CATALOGUE, ids=lambda path: path.stem)
def test_every_sentence_of_the_catalogue_is_said_by_somebody(path: Path) -> None:
    own = re.sub(r"^from .*$", "", path.read_text(), flags=re.M)  # what is passed on is said by the room, too
    said = {*re.findall(rf"\b(?:words|words_of_{path.stem}|{path.stem})(?=\.(\w+))", _text_of_rooms() + own)}
    assert [name for name in _entries(path) if name not in said and own.count(name) < 2] == []


@cache
def _text_of_rooms() -> str:
    """The text of all rooms but the catalogue's."""
    rooms = (ROOT / "forensics").rglob("*.py")
    return "\n".join(other.read_text() for other in rooms if other.parent.name != "words")


def test_every_kind_of_event_has_a_name_for_the_timeline() -> None:
    assert set(EVENT) == set(EVENT_KINDS)


# --- nobody speaks beside the catalogue ------------------------------------------------------------------------------

_SPOKEN = {"text", "summary", "reason", "collect", "why_not", "refuted_by", "status_rule", "claims", "limits", "notes"}


def _spoken(tree: ast.Module) -> list[int]:
    """Lines on which a sentence is written where it is said: a text of several words, or an f-string, as a claim or as a
    spoken field."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name == "Ref":
                continue  # what a record holds, as it is cited
            told = [word.value for word in node.keywords if word.arg in _SPOKEN] + (
                node.args[:1] if name == "Claim" else []
            )
            found += [value.lineno for value in told if _is_written(value)]
    return found


def _is_written(value: ast.expr) -> bool:
    if isinstance(value, ast.JoinedStr):
        return True
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str) and " " in value.value
    if isinstance(value, ast.IfExp):
        return _is_written(value.body) or _is_written(value.orelse)
    if isinstance(value, ast.Tuple | ast.List):
        return any(map(_is_written, value.elts))
    return isinstance(value, ast.BinOp) and (_is_written(value.left) or _is_written(value.right))


@pytest.mark.parametrize("path", SPEAKERS, ids=lambda path: path.stem)
def test_sentences_stand_in_the_catalogue_alone(path: Path) -> None:
    assert _spoken(ast.parse(path.read_text())) == []
