"""The rules of the house, over the syntax tree: who may import whom, registration, size, no loose ends."""

import ast
import gc
import importlib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

import parsers
from forensics.detectors import DETECTORS
from forensics.facts.ends.process_ends import OWN_CAUSES, SIGNAL_CAUSES
from forensics.model.causes import CAUSES
from forensics.model.names import Cause
from forensics.model.taxonomy import EVENTS
from parsers.schema.event_kinds import EVENT_KINDS
from parsers.schema.parser import FileParser, LineParser

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("parsers", "forensics", "reports")
MODULES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "node_modules" not in path.parts
)
SIMULATOR = sorted((ROOT / "samples" / "simulator").rglob("*.py"))
READING = ("text", "schema", "forms", "archive", "who", "engine")  # imports only to the left
FORMATS = [
    path
    for path in MODULES
    if path.parts[-3] == "parsers" and path.name != "__init__.py" and path.parts[-2] not in READING
]
LINES_AT_MOST = 500


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class _Source(NamedTuple):
    """What is asked of a file. `tops`: names that are given something outside functions and classes."""

    text: str
    doc: str | None
    imports: frozenset[str]
    tops: frozenset[str]


@cache
def _source(path: Path) -> _Source:
    text = path.read_text()
    with _uncollected():
        tree = ast.parse(text)
    tops = {
        target.id
        for node in tree.body
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Name)
    }
    return _Source(text, ast.get_docstring(tree), _imported(path, tree), frozenset(tops))


@contextmanager
def _uncollected() -> Iterator[None]:
    """A tree is made of so many objects that the collector would look at all of the process a dozen times a second."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements, those within others too: what is imported is imported by one."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, field, ()):
            yield inner
            yield from _statements(inner)


def _imported(path: Path, tree: ast.Module) -> frozenset[str]:
    """Modules that a file imports; `from a import b` counts as a.b where that is a module."""
    found: set[str] = set()
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                file = ROOT / inner.replace(".", "/")
                found.add(inner if file.is_dir() or file.with_suffix(".py").is_file() else str(node.module))
    return frozenset(found)


def _of(path: Path, package: str) -> set[str]:
    return {name for name in _source(path).imports if name == package or name.startswith(package + ".")}


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_imports_go_one_way(path: Path) -> None:
    own = _name(path)
    assert own == "forensics.__main__" or own.startswith("forensics.cli") or not _of(path, "forensics.cli")
    if own.startswith("parsers"):
        assert not _of(path, "forensics") | _of(path, "reports")
    elif own.startswith("reports"):
        assert all(name.startswith("forensics.model.") for name in _of(path, "forensics"))
        assert not _of(path, "parsers")
    elif not own.startswith("forensics.cli") and own not in ("forensics", "forensics.report"):
        assert not _of(path, "reports")


def test_the_whole_house_has_no_circle() -> None:
    """Imports inside functions count; those of the command line, which asks for everything, aside."""
    graph = {
        _name(path): {name for package in PACKAGES for name in _of(path, package)} - {_name(path)}
        for path in MODULES
        if path.name != "__init__.py"
    }
    TopologicalSorter({name: {one for one in of if one in graph} for name, of in graph.items()}).prepare()


def test_nothing_that_is_installed_imports_samples_or_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert sorted(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == sorted(PACKAGES)
    assert [_name(path) for path in MODULES if _of(path, "samples") | _of(path, "tests")] == []


def test_the_simulator_knows_no_reader_of_its_evidence() -> None:
    assert [_name(path) for path in SIMULATOR if _of(path, "forensics") | _of(path, "reports")] == []


def test_the_simulator_has_no_import_cycle() -> None:
    """Imports for types alone and inside functions count, too."""
    graph = {_name(path): _of(path, "samples.simulator") for path in SIMULATOR}
    assert len(graph) > 15
    TopologicalSorter(graph).prepare()  # raises CycleError, which shows the cycle


@pytest.mark.parametrize("path", FORMATS, ids=_name)
def test_formats_never_import_each_other(path: Path) -> None:
    areas = {f"parsers.{found.parent.name}" for found in FORMATS}
    for name in _of(path, "parsers"):
        imported = ROOT / (name.replace(".", "/") + ".py")
        if any(name.startswith(area + ".") for area in areas):
            assert not _is_registered_form(imported), f"{_name(path)} imports the format {name}"
    assert not _of(path, "parsers") & {
        "parsers",
        "parsers.engine.ledger",
        "parsers.archive.bundle",
        "parsers.engine.scan",
    }


@pytest.mark.parametrize("room", READING)
def test_a_room_of_readers_knows_only_rooms_to_its_left(room: str) -> None:
    """Imports for types alone and inside functions count, too."""
    paths = sorted((ROOT / "parsers" / room).rglob("*.py"))
    allowed = {"parsers", *(f"parsers.{own}" for own in READING[: READING.index(room) + 1])}
    assert [
        name for path in paths for name in _of(path, "parsers") if ".".join(name.split(".")[:2]) not in allowed
    ] == []
    TopologicalSorter({_name(path): _of(path, f"parsers.{room}") - {_name(path)} for path in paths}).prepare()


def _is_registered_form(path: Path) -> bool:
    """Whether a module defines PARSER or PARSERS at its top."""
    return bool(_source(path).tops & {"PARSER", "PARSERS"})


def test_every_parser_is_registered_once() -> None:
    registered = [id(parser) for parser in parsers.PARSERS]
    missing = []
    for path in FORMATS:
        if _is_registered_form(path):
            module = importlib.import_module(_name(path))
            own = getattr(module, "PARSERS", None) or (module.PARSER,)
            missing += [f"{_name(path)}: {parser.name}" for parser in own if registered.count(id(parser)) != 1]
    assert missing == []


def test_parsers_have_names_of_their_own_and_file_parsers_come_first() -> None:
    names = [parser.name for parser in parsers.PARSERS]
    assert len(set(names)) == len(names)
    kinds = [isinstance(parser, FileParser) for parser in parsers.PARSERS]
    assert kinds == sorted(kinds, reverse=True)
    assert all(parser.anchors or parser.ends for parser in parsers.PARSERS if isinstance(parser, LineParser))


@pytest.mark.parametrize("path", [*MODULES, *SIMULATOR], ids=_name)
def test_a_module_is_small_says_what_it_is_and_leaves_nothing_open(path: Path) -> None:
    text = _source(path).text
    assert len(text.splitlines()) <= LINES_AT_MOST
    assert "TO" + "DO" not in text and "FIX" + "ME" not in text
    assert not text.strip() or _source(path).doc, "no docstring"
    assert path.stem not in ("utils", "manager", "helpers", "base", "common", "misc")


def test_parsers_are_found_where_the_rules_look() -> None:
    assert len(FORMATS) > 5
    assert len(MODULES) > 20


_SAID = ("Printed by: ", "Versions: ", "Source: ")


@pytest.mark.parametrize("path", [path for path in FORMATS if _is_registered_form(path)], ids=_name)
def test_a_parser_says_who_prints_its_lines_in_which_versions_how_they_look_and_whence_it_knows(path: Path) -> None:
    lines = (_source(path).doc or "").splitlines()
    assert [word for word in _SAID if not any(line.startswith(word) and len(line) > len(word) for line in lines)] == []
    assert any(line.startswith("    ") for line in lines), "no sample lines"


# --- the rooms of forensics/ -----------------------------------------------------------------------------------------

ROOMS = (
    "model",
    "words",
    "assemble",
    "facts",
    "graph",
    "case",
    "detectors",
    "verdict",
    "views",
)  # imports only to the left
AT_THE_TOP = {"report", "__init__", "__main__", "analyze", "case", "case_of"}
DETECTIVES = [path for path in MODULES if path.is_relative_to(ROOT / "forensics" / "detectors")]
# Causes of the contract that no detector gives yet. As of 2026-11-22; this set may only shrink.
CAUSES_TO_COME: set[str] = set()


def _room(name: str) -> str | None:
    """forensics.facts.hosts.hardware → facts; None outside the rooms."""
    room = name.split(".")[1] if "." in name else ""
    return room if room in ROOMS else None


def _is_detector(path: Path) -> bool:
    return "DETECTOR" in _source(path).tops


@pytest.mark.parametrize("path", [path for path in MODULES if _room(_name(path))], ids=_name)
def test_a_room_knows_only_rooms_to_its_left(path: Path) -> None:
    """Imports for types alone and inside functions count, too."""
    own = ROOMS.index(str(_room(_name(path))))
    allowed = {*ROOMS[: own + 1], "data"} if ROOMS[own] != "case" else {*ROOMS[:own]}
    assert [name for name in _of(path, "forensics") if name.split(".")[1:2] and name.split(".")[1] not in allowed] == []
    assert not {"forensics"} & _of(path, "forensics")


# Rooms of many files, in groups by what is asked. A group imports only itself and those to its left; the last of a room may be its door.
GROUPS = {
    "parsers.who": ("lines", "scripts", "told", "labels", "places", "linked", "processes", "learnt", "speakers"),
    "forensics.assemble": ("figures", "who", "starts", "runs", "ends"),
    "forensics.facts": ("rows", "durations", "settings", "figures", "hosts", "ends", "waits"),
    "forensics.verdict": ("judged", "advice", "told", "past", "conclude"),
}


@pytest.mark.parametrize("room", GROUPS)
def test_a_group_knows_only_groups_to_its_left(room: str) -> None:
    place = len(room.split("."))
    names = {_name(path): _of(path, room) for path in MODULES if _name(path).startswith(f"{room}.")}
    assert {name.split(".")[place] for name in names} == set(GROUPS[room]), "a module stands in no group"
    order = {group: at for at, group in enumerate(GROUPS[room])}
    later = [
        (name, other)
        for name, others in names.items()
        for other in others - {room}
        if order[other.split(".")[place]] > order[name.split(".")[place]]
    ]
    assert later == []


@pytest.mark.parametrize("room", [*ROOMS, "probe"])
def test_within_a_room_nothing_runs_in_a_circle(room: str) -> None:
    paths = [path for path in MODULES if _name(path).startswith(f"forensics.{room}")]
    TopologicalSorter({_name(path): _of(path, f"forensics.{room}") - {_name(path)} for path in paths}).prepare()


def test_only_the_road_stands_at_the_top() -> None:
    assert {path.stem for path in (ROOT / "forensics").glob("*.py")} == AT_THE_TOP


def test_graphs_of_waits_and_of_tensors_know_nothing_of_each_other() -> None:
    kinds = ("forensics.graph.hang", "forensics.graph.numerics")
    mixed = [
        _name(path) for path in MODULES for a, b in (kinds, kinds[::-1]) if _name(path).startswith(a) and _of(path, b)
    ]
    assert mixed == []


def test_the_probe_knows_nothing_of_the_analysis() -> None:
    probe = [path for path in MODULES if _name(path).startswith("forensics.probe")]
    assert [_name(path) for path in probe if _of(path, "forensics") - _of(path, "forensics.probe")] == []


def test_records_are_structs_of_msgspec_as_a_dataclass_takes_a_millisecond_to_declare() -> None:
    """A hundred of them were a third of what it costs to begin. The probe's job may have no msgspec."""
    outside = [path for path in MODULES if not _name(path).startswith("forensics.probe")]
    assert [
        _name(path) for path in outside if "dataclasses.dataclass" in _source(path).text.replace(" import ", ".")
    ] == []


def test_no_detector_imports_a_detector_and_helpers_stay_in_their_room() -> None:
    detectors = {_name(path) for path in DETECTIVES if _is_detector(path)}
    assert len(detectors) > 30
    for path in DETECTIVES:
        if path.name != "__init__.py":
            others = _of(path, "forensics.detectors")
            assert not others & detectors, f"{_name(path)} imports another detector"
            room = _name(path).rpartition(".")[0]
            assert all(name.startswith(room + ".") for name in others), f"{_name(path)} imports from another room"


def test_every_detector_is_registered_once() -> None:
    registered = [id(detector) for detector in DETECTORS]
    own = [importlib.import_module(_name(path)).DETECTOR for path in DETECTIVES if _is_detector(path)]
    assert [detector.name for detector in own if registered.count(id(detector)) != 1] == []
    assert len(DETECTORS) == len(own) == len({detector.name for detector in DETECTORS})


def test_detectors_read_columns_and_no_text() -> None:
    assert {_name(path) for path in DETECTIVES if _source(path).imports & {"re", "json"}} == set()


def test_every_kind_of_event_and_every_cause_has_its_row() -> None:
    assert set(EVENTS) == set(EVENT_KINDS)
    assert set(CAUSES) == set(get_args(Cause))


def _words(node: ast.AST) -> set[str]:
    return {one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _causes_of(tree: ast.Module) -> set[str]:
    """Words that can only mean a cause: no event's kind shares them, or they stand where a cause is told."""
    told = _words(tree) - set(EVENTS)
    for node in ast.walk(tree):
        is_cause = isinstance(node, ast.keyword) and node.arg == "cause"
        if is_cause or (isinstance(node, ast.AnnAssign) and "Cause" in ast.unparse(node.annotation)):
            told |= _words(node)
    return told


def test_every_cause_is_given_by_a_detector_or_is_still_to_come() -> None:
    """What a line or a signal alone proves stands in two tables."""
    given = {*OWN_CAUSES.values(), *SIGNAL_CAUSES.values()}
    given = given.union(*(_causes_of(ast.parse(path.read_text())) for path in DETECTIVES))
    assert set(CAUSES) - given == CAUSES_TO_COME
