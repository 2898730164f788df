"""Several processes or threads give what one gives; one that dies costs nothing; nobody outlives the reading."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from math import inf
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import BinaryIO

import polars as pl
import pytest

import parsers
from parsers.engine import ledger, pool, sharing, threads
from parsers.schema.parser import Source
from parsers.schema.tables import Tables, table

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def several_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.engine.ledger.UNIT_FILES", 100)


def bundle(folder: Path, count: int = 300) -> str:
    for number in range(count):
        (folder / f"rank_{number}.log").write_text(f"[rank{number}]: started\nRuntimeError: boom {number}\n")
    return str(folder)


def test_the_same_tables_as_in_one_process(tmp_path: Path) -> None:
    one = parsers.read(bundle(tmp_path))
    several = parsers.read(str(tmp_path), map=lambda work, units: pool.in_processes(work, units, 2))
    assert one.tables["files"].height == 300
    for name, frame in one.tables.items():
        assert frame.equals(several.tables[name]), name


def test_the_same_tables_as_in_one_thread(tmp_path: Path) -> None:
    one = parsers.read(bundle(tmp_path))
    several = parsers.read(str(tmp_path), map=lambda work, units: threads.in_threads(work, units, 2))
    for name, frame in one.tables.items():
        assert frame.equals(several.tables[name]), name


def test_an_error_in_a_thread_is_one_of_the_reading() -> None:
    def work(unit: threads.Unit) -> Tables:
        raise MemoryError(unit[0].path)

    with pytest.raises(MemoryError, match="f0"):
        list(threads.in_threads(work, [(Source(f"f{number}", 1, open),) for number in range(3)], 2))  # type: ignore[arg-type]


def test_whoever_stops_asking_leaves_no_thread() -> None:
    began, may_go_on, opened = threading.Event(), threading.Event(), list[str]()

    def work(unit: threads.Unit) -> Tables:
        for source in unit:
            source.open()
        return {}

    def opener(name: str) -> BinaryIO:
        opened.append(name)
        began.set()
        may_go_on.wait(30)
        return BytesIO()

    units = [
        (),
        tuple(Source(name, 1, partial(opener, name)) for name in "ab"),
        (Source("c", 1, partial(opener, "c")),),
    ]
    before = threading.active_count()
    results = threads.in_threads(work, units, 2)
    assert next(results) == {} and began.wait(30)
    results.close()  # type: ignore[attr-defined]
    may_go_on.set()
    while threading.active_count() > before:
        time.sleep(0.01)
    assert "b" not in opened


@pytest.mark.parametrize(("cores", "given"), [(1, ["a", "bcdefg"]), (2, ["a", "bcd", "efg"])])
def test_the_rest_of_plain_logs_is_read_in_few_large_units(
    monkeypatch: pytest.MonkeyPatch, cores: int, given: list[str]
) -> None:
    asked: list[str] = []

    def work(unit: threads.Unit) -> Tables:
        asked.append("".join(source.path for source in unit))
        return {}

    monkeypatch.setattr(sharing, "_cores", lambda: cores)
    assert list(sharing.by_size(work, [(Source(name, 1, open),) for name in "abcdefg"])) == [{}] * 7  # type: ignore[arg-type]
    assert sorted(asked) == given


def test_of_a_large_bundle_a_few_files_are_read_first_and_all_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "UNIT_BYTES", (4, 100))
    sources = [Source(name, 4, open) for name in "abcdefghijklmnopqr"]  # type: ignore[arg-type]
    units = ["".join(source.path for source in unit) for unit in ledger._units(sources)]
    assert units == ["a", "bc", "de", "fg", "hi", "jk", "lm", "no", "pq", "r"]


def dies_elsewhere(unit: tuple[Source, ...]) -> Tables:
    if multiprocessing.parent_process() is not None:
        os._exit(9)
    return {"claimed": table("claimed", [{"file": unit[0].path, "line": 1}])}


def test_the_unit_of_a_process_that_died_is_read_by_the_parent() -> None:
    units = [(Source(f"f{number}", 1, open),) for number in range(3)]  # type: ignore[arg-type]
    found = list(pool.in_processes(dies_elsewhere, units, 2))
    assert pl.concat([one["claimed"] for one in found])["file"].to_list() == ["f0", "f1", "f2"]


def test_whoever_stops_asking_leaves_no_process(tmp_path: Path) -> None:
    def stop(work: threads.Work, units: list[threads.Unit]) -> object:
        results = pool.in_processes(work, units, 2)
        yield next(results)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parsers.read(bundle(tmp_path), map=stop)  # type: ignore[arg-type]
    assert not multiprocessing.active_children()


def sends_half(unit: tuple[Source, ...]) -> Tables:
    """Of the second unit, once the first is there, a result whose rest never comes."""
    folder = Path(unit[0].path)
    frame = sys._getframe()
    while folder.name != "first" and "result_queue" not in frame.f_locals and frame.f_back is not None:
        frame = frame.f_back
    if folder.name != "first":
        while not (folder / "go").exists():
            time.sleep(0.02)
        os.write(frame.f_locals["result_queue"]._writer.fileno(), (1000).to_bytes(4, "big") + b"half")
        (folder / "sent").touch()
        time.sleep(600)
    return {"claimed": table("claimed", [{"file": folder.name, "line": 1}])}


def test_nobody_waits_for_the_rest_of_a_result(tmp_path: Path) -> None:
    units = [(Source(str(path), 1, open),) for path in (tmp_path / "first", tmp_path)]  # type: ignore[arg-type]
    results = pool.in_processes(sends_half, units, 2)
    next(results)
    (tmp_path / "go").touch()
    while not (tmp_path / "sent").exists():
        time.sleep(0.02)
    ending = threading.Thread(target=results.close, daemon=True)  # type: ignore[attr-defined]
    ending.start()
    ending.join(30)
    assert not ending.is_alive()


@pytest.mark.parametrize("workers", ["pool.in_processes", "threads.in_threads"])
def test_an_interrupt_ends_the_command_and_leaves_no_process(tmp_path: Path, workers: str) -> None:
    program = (
        "import sys, parsers, parsers.engine.ledger\n"
        "from parsers.engine import pool, threads\n"
        "parsers.engine.ledger.UNIT_FILES = 1\n"
        f"several = lambda work, units: {workers}(work, units, 2)\n"
        "parsers.read(sys.argv[1], map=several, progress=lambda done, whole: print(done, flush=True))\n"
    )
    command = [sys.executable, "-c", program, bundle(tmp_path, 3000)]
    with Popen(command, stdout=PIPE, stderr=DEVNULL, start_new_session=True, cwd=ROOT) as running:
        assert running.stdout is not None and running.stdout.readline()  # two processes have read something
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(timeout=30) != 0
    with pytest.raises(ProcessLookupError):  # soon nobody is left in its session
        for _ in range(100):
            os.killpg(running.pid, 0)
            time.sleep(0.05)


def test_small_bundles_are_read_in_this_process() -> None:
    unit = (Source("f", sharing.LEAST_BYTES - 1, open),)  # type: ignore[arg-type]
    assert list(sharing.by_size(lambda _: {}, [unit])) == [{}]


@pytest.mark.parametrize(("seconds", "elsewhere"), [(0.0, 0), (100.0, 3)], ids=["short", "long"])
def test_others_are_called_where_the_rest_would_take_long(
    monkeypatch: pytest.MonkeyPatch, seconds: float, elsewhere: int
) -> None:
    clock, given = [0.0], []

    def work(_: threads.Unit) -> Tables:
        clock[0] += seconds
        return {}

    def in_processes(work: threads.Work, units: list[threads.Unit], _: int) -> Iterator[Tables]:
        given.extend(units)
        return map(work, units)

    monkeypatch.setattr(sharing, "SPARSE", inf)
    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    monkeypatch.setattr(pool, "in_processes", in_processes)
    units = [(Source(f"f{at}", sharing.LEAST_BYTES, open),) for at in range(4)]  # type: ignore[arg-type]
    assert list(sharing.by_size(work, units)) == [{}] * 4
    assert given == units[4 - elsewhere :]
