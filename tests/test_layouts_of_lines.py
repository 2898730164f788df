"""Who speaks in lines of any layout: a name that nothing sets off, told by introductions or by a document; whose a traceback is below such lines."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import raised, written

HOSTS = ("cn-a17", "gn05")
PIDS = (30211, 2204, 8127, 41877)  # by rank, in no order; two ranks on each host
NAMES = ("gil", "eve", "cat", "bob")
BAD = 2
# t: a moment, i: the place of a line in the log, h: a host, p: a process number, w: a name
WITH_PIDS = (
    "{h} {p} INFO loop {m}",
    "[{h} {p}] {m}",
    "2026-07-11 10:00:{i:02d} INFO train.py:118 {h}({p}) - {m}",
    "07-11 10:00:{i:02d}.120 | INFO    | {h}:{p} | train.loop - {m}",
    "{h}[{p}] :: {m}",
    "11/Jul/2026:10:00:{i:02d} | {h}/{p} | {m}",
    "<info> 2026-07-11T10:00:{i:02d}Z {p}@{h} (loop) {m}",
    "I train:step:88 {h} {p} {m}",
    "20260711-10:00:{i:02d}: [info    ]: {h}:{p}: {m}",
    "1784000{i:03d}.331 lvl=info [trainer] PID {p} | {m}",
)
WITH_NAMES = (
    "{w} INFO loop {m}",
    "10:00:{i:02d} {w} train.py:118 {m}",
    "2026-07-11 10:00:{i:02d},120 lvl=info app.train.loop <{w}> | {m}",
    "Jul 11 10:00:{i:02d}: [{w}]: INFO: [trainer]: {m}",
    "[10:00:{i:02d}.331] :: I :: loop :: {w} :: {m}",
)


def line(layout: str, rank: int, words: str, at: int = 0) -> str:
    return layout.format(h=HOSTS[rank // 2], p=PIDS[rank], w=NAMES[rank], m=words, i=at % 60)


def worked(layout: str, *, tells: bool = True) -> Iterator[str]:
    """A log that all write: they say who they are, and take steps."""
    for rank in (3, 0, 2, 1):
        yield line(layout, rank, "starting up, python 3.11")
    for rank in (1, 3, 0, 2):
        yield line(layout, rank, f"initialized as rank {rank} of 4" if tells else "data ready, 18211 shards", 1)
    for step in range(1, 9):
        yield from (
            line(layout, rank, f"step {step} loss {2.3 - step / 50 + rank / 900:.4f}", step) for rank in range(4)
        )


FAILED = [
    "Traceback (most recent call last):",
    '  File "fit.py", line 88, in <module>',
    "    x = table[key]",
    "KeyError: 'user_481'",
]
LOST = [*FAILED[:2], "    dist.all_reduce(g)", "RuntimeError: [pair.cc:534] Connection closed by peer [10.0.0.7]:4471"]


def told(kind: str, called: Callable[[int], str]) -> dict[str, list[str]]:
    """A document that tells who is who."""
    return {
        "table": {
            "ps.txt": [f"{'WORKER':20} TRAINER_ID STATE", *(f"{called(n):20} {n:<10} Running" for n in (2, 0, 3, 1))]
        },
        "map": {"ranks.yaml": ["ranks:", *(f'  "{called(n)}": {n}' for n in (1, 3, 2, 0))]},
        "list": {
            "note.txt": ["Placement as of this morning:", "", *(f"- {called(n)} is rank {n}" for n in (3, 1, 0, 2))]
        },
        "arrows": {"map.txt": [f"{called(n)} -> rank {n}" for n in (2, 3, 1, 0)]},
    }[kind]


@pytest.mark.parametrize("layout", (*WITH_PIDS, *WITH_NAMES))
def test_who_says_its_rank_speaks_in_all_its_lines(tmp_path: Path, layout: str) -> None:
    failed = [line(layout, BAD, words, 9) for words in FAILED]
    steps = read(str(written(tmp_path, {"job.log": [*worked(layout), *failed]}))).tables["steps"]
    assert steps.group_by("rank").len().sort("rank").rows() == [(rank, 8) for rank in range(4)]
    assert raised(tmp_path, {"job.log": [*worked(layout), *failed]}) == [BAD]


@pytest.mark.parametrize("kind", ["table", "map", "list", "arrows"])
@pytest.mark.parametrize("layout", (WITH_PIDS[0], WITH_PIDS[2], WITH_PIDS[4], *WITH_NAMES[:3]))
def test_whom_a_document_names_speaks_in_all_its_lines(tmp_path: Path, layout: str, kind: str) -> None:
    called = (lambda rank: NAMES[rank]) if "{w}" in layout else (lambda rank: f"{HOSTS[rank // 2]}:{PIDS[rank]}")
    failed = [line(layout, BAD, words, 9) for words in FAILED]
    assert raised(tmp_path, told(kind, called) | {"job.log": [*worked(layout, tells=False), *failed]}) == [BAD]


@pytest.mark.parametrize("layout", (*WITH_PIDS[:6], *WITH_NAMES[:4]))
def test_tracebacks_are_theirs_whose_lines_announce_them(tmp_path: Path, layout: str) -> None:
    ends = [line(layout, BAD, "uncaught exception", 9), *FAILED]
    for rank in (0, 3, 1):
        ends += [line(layout, rank, "uncaught exception", 14), *LOST]
    verdict = analyze(written(tmp_path, {"job.log": [*worked(layout), *ends]})).incidents[0].verdict
    assert (verdict.kind, verdict.ranks) == ("crash", [BAD])


@pytest.mark.parametrize(
    "above",
    [
        ("step 9 loss 2.1", "step 9 loss 2.2"),  # records of the work stand above anything
        ("uncaught exception", "retrying the request"),  # other words
        ("uncaught exception", ""),  # nobody announces the second one
    ],
)
def test_else_a_traceback_may_be_anybodys(tmp_path: Path, above: tuple[str, str]) -> None:
    layout = WITH_PIDS[2]
    ends = [
        text
        for rank, words in zip((BAD, 1), above, strict=True)
        for text in (*([line(layout, rank, words, 9)] if words else []), *FAILED)
    ]
    assert raised(tmp_path, {"job.log": [*worked(layout), *ends]}) == [None, None]


@pytest.mark.parametrize(
    "words",
    [
        "{w} lost rank {n}",  # a list of whom each lost
        "rank {n} waits for {w}",
        "{w} is local rank {n}",
        "{w} has rank {n} in the group of experts",
    ],
)
def test_what_is_said_of_others_names_nobody(tmp_path: Path, words: str) -> None:
    layout = WITH_NAMES[0]
    note = [words.format(w=NAMES[rank], n=rank) for rank in range(4)]
    failed = [line(layout, BAD, text, 9) for text in FAILED]
    assert raised(tmp_path, {"note.txt": note, "job.log": [*worked(layout, tells=False), *failed]}) == [None]


def test_a_word_that_several_ranks_have_is_no_name(tmp_path: Path) -> None:
    layout = "10:00:{i:02d} {h} {m}"
    failed = [line(layout, BAD, words, 9) for words in FAILED]
    assert raised(tmp_path, {"job.log": [*worked(layout), *failed]}) == [None]


def test_numbers_of_ports_are_no_processes(tmp_path: Path) -> None:
    """Addresses where processes listen: their numbers go on by one, and come again on each host."""
    note = [f"{HOSTS[rank // 2]}:{29500 + rank % 2} is rank {rank}" for rank in range(4)]
    stack = [f"Process {29501}: python serve.py", "", f'Thread {29501} (idle): "MainThread"', "    read (shards.py:12)"]
    stacks = read(str(written(tmp_path, {"note.txt": note, f"{HOSTS[0]}.stacks": stack}))).tables["stacks"]
    assert stacks["rank"].to_list() == [None]


def test_below_what_all_print_again_and_again_a_traceback_may_be_anybodys(tmp_path: Path) -> None:
    layout = WITH_PIDS[2]
    beats = [line(layout, rank, "keepalive sent", at) for at in range(9) for rank in range(4)]
    ends = [*FAILED, line(layout, 1, "keepalive sent", 9), *FAILED]
    assert raised(tmp_path, {"job.log": [*worked(layout), *beats, *ends]}) == [None, None]


def test_nor_where_the_launcher_saw_another_one_fail(tmp_path: Path) -> None:
    layout = WITH_PIDS[2]
    ends = [text for rank in (BAD, 1) for text in (line(layout, rank, "retrying the request", 9), *FAILED)]
    seen = "worker rank=3 exited with code 1"
    verdict = (
        analyze(written(tmp_path, {"job.log": [*worked(layout), *ends], "launcher.log": [seen]})).incidents[0].verdict
    )
    assert not {1, BAD} & {*verdict.ranks}


@pytest.mark.parametrize("does", ["merging", "scraping", "fetch"])
def test_who_does_something_to_all_of_them_is_none_of_them(tmp_path: Path, does: str) -> None:
    seen = [f"10:00:{at:02d} INFO {does} {name} part {at}" for at in range(6) for name in NAMES]
    failed = [f"10:00:09 ERROR {does} {NAMES[BAD]} {text}" for text in FAILED]
    documents = told("map", lambda rank: NAMES[rank])
    assert raised(tmp_path, documents | {"hub.log": [*seen, *failed]}) == [None]


def test_nor_who_tells_of_those_that_have_logs_of_their_own(tmp_path: Path) -> None:
    logs = {f"logs/{name}.log": [f"10:00:{at:02d} INFO step {at} loss 2.{at}" for at in range(6)] for name in NAMES}
    seen = [f"10:00:{at:02d} INFO hub.py:12 {name} part {at} is here" for at in range(6) for name in NAMES]
    failed = [f"10:00:09 ERROR hub.py:12 {NAMES[BAD]} {text}" for text in FAILED]
    documents = told("map", lambda rank: NAMES[rank])
    assert raised(tmp_path, documents | logs | {"hub.log": [*seen, *failed]}) == [None]


@pytest.mark.parametrize(
    "states",
    [("forward", "backward", "idle", "waiting"), ("node1", "node2", "node3", "node4")],
    ids=["phases", "nodes of eight"],
)
def test_how_ranks_are_and_where_is_no_name_of_theirs(tmp_path: Path, states: tuple[str, ...]) -> None:
    note = [f"rank {rank}: {state}" for rank, state in enumerate(states)]
    start = ["world_size=8"] if states[0] == "node1" else []
    log = [f"10:00:{at:02d} {state} step {at} is done" for at in range(6) for state in states]
    failed = [f"10:00:09 {states[BAD]} {text}" for text in FAILED]
    assert raised(tmp_path, {"status.txt": [*start, *note], "job.log": [*log, *failed]}) == [None]


def test_two_documents_that_differ_name_nobody(tmp_path: Path) -> None:
    layout = WITH_NAMES[0]
    other = {"old.txt": [f"{NAMES[(rank + 1) % 4]} -> rank {rank}" for rank in range(4)]}
    failed = [line(layout, BAD, text, 9) for text in FAILED]
    log = {"job.log": [*worked(layout, tells=False), *failed]}
    assert raised(tmp_path, told("map", lambda rank: NAMES[rank]) | other | log) == [None]


TWO_LISTS = {
    "blocks": [text for rank, name in enumerate(NAMES) for text in (f"== {name}", f"RANK={rank}", "WORLD_SIZE=4", "")],
    "a table": ["NAME     RANK   STATE", *(f"{name:8} {rank}      Running" for rank, name in enumerate(NAMES))],
    "an INI file": [text for rank, name in enumerate(NAMES) for text in (f"[{name}]", f"rank = {rank}", "")],
    "CSV": ["name,rank", *(f"{name},{rank}" for rank, name in enumerate(NAMES))],
}


@pytest.mark.parametrize(
    "called", [lambda rank: NAMES[rank], lambda rank: f"w-{rank}f3a", lambda rank: f"gn{rank // 2}:{4100 + rank}"]
)
@pytest.mark.parametrize("form", TWO_LISTS)
def test_two_lists_that_differ_name_nobody(tmp_path: Path, form: str, called: Callable[[int], str]) -> None:
    now = "\n".join(TWO_LISTS[form])
    for rank, name in enumerate(NAMES):
        now = now.replace(name, called(rank))
    other = {"old.txt": [f"{called((rank + 1) % 4)} -> rank {rank}" for rank in range(4)]}
    log = [f"10:00:{at:02d} [{called(rank)}] step {at} loss {3 - at / 9:.4f}" for at in range(9) for rank in range(4)]
    log += [f"10:00:09 [{called(BAD)}] {text}" for text in FAILED]
    alone = raised(tmp_path / "alone", {"list.txt": now.splitlines(), "job.log": log})
    assert alone == [BAD]
    assert raised(tmp_path / "both", {"list.txt": now.splitlines(), "job.log": log} | other) == [None]


@pytest.mark.parametrize("form", ["{} sends to rank {}", "{}: next rank {}", "{}: checkpoint copy held by rank {}"])
def test_whom_each_is_beside_moves_nobody(tmp_path: Path, form: str) -> None:
    now = [text for rank in range(4) for text in (f"== w-{rank}f3a", f"RANK={rank}", "WORLD_SIZE=4", "")]
    ring = [form.format(f"w-{(rank + 1) % 4}f3a", rank) for rank in range(4)]
    log = [f"10:00:{at:02d} [w-{rank}f3a] step {at} loss {3 - at / 9:.4f}" for at in range(9) for rank in range(4)]
    log += [f"10:00:09 [w-{BAD}f3a] {text}" for text in FAILED]
    [incident] = analyze(written(tmp_path, {"list.txt": now, "ring.txt": ring, "job.log": log})).incidents
    assert incident.verdict.ranks == [BAD]
    assert {*incident.verdict.hosts} <= {f"w-{BAD}f3a"}


@pytest.mark.parametrize(
    "name", ["gn10_4100.log", "gn1_2026-03-12.log", "gn1_agent_0902.log"], ids=["a longer name", "a day", "an hour"]
)
def test_a_file_is_of_a_process_by_its_whole_host_and_its_number(tmp_path: Path, name: str) -> None:
    placement = ["host,pid,rank", "gn1,4100,0", "gn1,12,1", "gn2,902,2", "gn1,902,3"]
    assert raised(tmp_path, {"placement.csv": placement, name: ["10:00:00 agent is up", *FAILED]}) == [None]


@pytest.mark.parametrize(
    "says", ["node {n} spawns 4, first global rank {r}, world 16", "initialized as rank {r} of 16"]
)
def test_who_speaks_for_all_of_a_node_is_not_whose_error_it_is(tmp_path: Path, says: str) -> None:
    log = [f"10:00:00 algo-{node} INFO {says.format(n=node, r=4 * node)}" for node in (2, 0, 3, 1)]
    log += [f"10:00:{at:02d} algo-{node} INFO step {at} is done" for at in range(1, 9) for node in range(4)]
    assert raised(tmp_path, {"all.log": [*log, *(f"10:00:09 algo-2 ERROR {text}" for text in FAILED)]}) == [None]


@pytest.mark.parametrize("field", ['"ctx": {"peer": "eve"}', '"ctx": {"src": "eve"}', '"next": {"name": "eve"}'])
def test_whom_a_record_points_at_does_not_speak(tmp_path: Path, field: str) -> None:
    record = (
        '{"time": "2026-03-17T09:00:20.000Z", "level": "ERROR", "message": "KeyError: \'user_481\'", ' + field + "}"
    )
    events = read(
        str(written(tmp_path, told("map", lambda rank: NAMES[rank]) | {"app.jsonl": [record, record]}))
    ).tables["events"]
    assert events["rank"].drop_nulls().to_list() == []
