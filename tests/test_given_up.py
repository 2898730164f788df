"""Waits that were given up, in words of programs that nobody has taught: heard by the time that a line tells and by what stood there so long
before; and what is no such wait."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read

Write = Callable[[int, str, str], list[str]]


def clock(seconds: float, form: str) -> str:
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    return form.format(time=f"{int(hours):02d}:{int(minutes):02d}:{left:06.3f}")


# Stamps, heads, and how a program says that it begins, reports and gives up a call.
FORMS: Mapping[str, tuple[str, str, str, str]] = {
    "numbers": (
        "2026-01-31T{time}+00:00 r{rank} ",
        "comm  | #{number} post {op} grp=dp n=1024",
        "mon   | alive rss={rank}1.0GiB",
        "mon   | #{number} on dp outstanding 900s (limit 900s), leaving",
    ),
    "prose": (
        "2026-01-31 {time} [r{rank}] ",
        "entering {op} (call {number}) of group=dp",
        "still in {op}, call {number}",
        "call {number} {op}: no answer after 15 min, giving in",
    ),
    "time alone": (
        "{time} torrent rank {rank}: ",
        "{op} seq={number} issued",
        "pulse",
        "{op} seq={number} blocked 900 s -> abort",
    ),
}
STEPS = 5
START = 36_000.0


def log(form: str, rank: int, op: str = "AllReduce", end: bool = True, world: int = 4) -> str:
    """A process that makes some steps, enters call 40, and gives it up 900 s later, unless it ends there."""
    head, begin, report, gave_up = FORMS[form]

    def line(at: float, text: str) -> str:
        return clock(at, head.replace("{rank}", str(rank))) + text.format(rank=rank, op=op, number=40)

    lines = [line(START, f"up, rank {rank} of world_size={world} pid={4000 + rank}")]
    lines += [line(START + 5 * step, f"step {step} loss=2.{9 - step}") for step in range(1, STEPS)]
    if end:
        lines += [line(START + 60 + rank / 10, begin)]
        lines += [line(START + 60 + more, report) for more in (200, 400, 600, 800)]
        lines += [line(START + 960.5 + rank / 10, gave_up)]
    return "\n".join(lines) + "\n"


def write(folder: Path, texts: Mapping[int, str]) -> Path:
    for rank, text in texts.items():
        (folder / f"rank{rank}.log").write_text(text)
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_all_give_up_and_nobody_is_named(tmp_path: Path, form: str) -> None:
    report = analyze(write(tmp_path, {rank: log(form, rank) for rank in range(4)}))
    assert (report.verdict.kind, report.verdict.ranks) == ("hang", [])
    assert (report.verdict.first_anomaly.op, report.verdict.first_anomaly.seq) == ("all_reduce", 40)


@pytest.mark.parametrize("form", FORMS)
def test_who_did_not_give_up_is_a_suspect(tmp_path: Path, form: str) -> None:
    report = analyze(write(tmp_path, {rank: log(form, rank, end=rank != 2) for rank in range(4)}))
    assert (report.verdict.kind, report.verdict.ranks, report.verdict.suspects.ranks) == ("hang", [], [2])


@pytest.mark.parametrize("form", FORMS)
def test_half_that_brought_another_call_names_nobody(tmp_path: Path, form: str) -> None:
    ops = {0: "AllReduce", 1: "AllReduce", 2: "ReduceScatter", 3: "ReduceScatter"}
    report = analyze(write(tmp_path, {rank: log(form, rank, op) for rank, op in ops.items()}))
    assert (report.verdict.kind, report.verdict.ranks) == ("hang", [])


MESHES: Mapping[str, str] = {
    "listed": "mesh: dp=[0-3] tp=1\n",
    "in words": "created group dp with ranks [0, 1, 2, 3]\n",
    "beside others": "groups: dp=[0,1,2,3] tp0=[0,1] tp1=[2,3]\n",
}


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("form", FORMS)
def test_who_alone_brought_another_call_is_named_where_the_members_are_told(
    tmp_path: Path, form: str, mesh: str
) -> None:
    texts = {rank: log(form, rank, "reduce_scatter" if rank == 1 else "AllReduce") for rank in range(4)}
    (write(tmp_path, texts) / "setup.txt").write_text(MESHES[mesh])
    verdict = analyze(tmp_path).verdict
    # "time alone" tells no group: whose calls these are is not known
    named = [1] if form != "time alone" else []
    assert (verdict.kind, verdict.ranks) == ("hang", named)
    assert verdict.cause == ("collective_mismatch" if named else None) or form == "time alone"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mesh", ["", "mesh: dp=[0-1]\nmesh: dp=[2-3]\n", "layout of layers dp=[0-3]\n"])
def test_nobody_is_where_they_are_not(tmp_path: Path, form: str, mesh: str) -> None:
    texts = {rank: log(form, rank, "ReduceScatter" if rank == 1 else "AllReduce") for rank in range(4)}
    (write(tmp_path, texts) / "setup.txt").write_text(mesh)
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks) == ("hang", [])


def test_who_goes_on_has_outlived_the_wait(tmp_path: Path) -> None:
    more = "".join(f"2026-01-31 10:17:{step:02d}.000 [r{{0}}] step {step} loss=2.1\n" for step in range(5, 20))
    texts = {rank: log("prose", rank) + more.format(rank) for rank in range(4)}
    assert analyze(write(tmp_path, texts)).verdict.kind not in ("hang", "crash")


HEAD = "2026-01-31 10:{:02d}:00.000 {}\n"


@pytest.mark.parametrize(
    "lines",
    [
        [
            (0, "exporter up"),
            (1, "scrape failed, again in 60s"),
            (2, "scrape failed, again in 60s"),
        ],  # it repeats itself
        [(0, "job up"), (1, "upload of shard 7 begins"), (11, "upload of shard 7 took 600s")],  # it was completed
        [(0, "job up"), (1, "upload of shard 7 begins"), (11, "upload of shard 7 done after 600 s")],
        [(0, "job up"), (1, "cache warm"), (2, "tuning"), (12, "rate over the last 600 s: 12 MB")],  # nothing in common
        [
            (0, "job up with limit 600s"),
            (1, "shard 7 opened"),
            (5, "shard 7 has a limit of 600s"),
        ],  # counts from nothing
        [(0, "job up"), (1, "shard 7 opened"), (2, "shard 7: slow for 60s")],  # of nobody, and short
    ],
)
def test_what_is_no_wait(tmp_path: Path, lines: list[tuple[int, str]]) -> None:
    (tmp_path / "tool.log").write_text("".join(HEAD.format(*line) for line in lines))
    assert read(tmp_path).tables["events"].height == 0


def test_nobody_s_wait_is_a_witness_of_time(tmp_path: Path) -> None:
    lines = [
        (0, "master up"),
        (5, "round 57 open"),
        (6, "round 57: a came"),
        (35, "round 57: 3/4 for 1800 s, giving in"),
    ]
    (tmp_path / "tool.log").write_text("".join(HEAD.format(*line) for line in lines))
    events = read(tmp_path).tables["events"]
    assert events.select("kind", "code", "rank", "value").rows() == [("heartbeat_lost", "stood_still", None, 1800.0)]


MESSAGE = "2026-01-31 10:{:02d}:{:02d} p{} "


def exchange(rank: int, peer: int, world: int, way: str = "<-") -> str:
    """A process that gives up a message with a peer."""
    lines = [
        f"{MESSAGE.format(0, 0, rank)}up, rank {rank} of world_size={world} pid={4000 + rank}",
        *(f"{MESSAGE.format(0, 5 * step, rank)}step {step} loss 2.{step}" for step in range(1, 4)),
        f"{MESSAGE.format(1, 0, rank)}step 4 halo {way} {peer} tag 7",
        f"{MESSAGE.format(11, 0, rank)}halo {way} {peer} tag 7: nothing for 600s, stop",
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("world", [3, 4])
@pytest.mark.parametrize("way", ["<-", "->", "from rank", "peer="])
def test_messages_in_a_circle_are_a_deadlock(tmp_path: Path, world: int, way: str) -> None:
    verdict = analyze(
        write(tmp_path, {rank: exchange(rank, (rank + 1) % world, world, way) for rank in range(world)})
    ).verdict
    if way in ("<-", "->"):
        assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "deadlock_cycle", [])
        assert verdict.cycle == list(range(world))
    else:
        assert (verdict.kind, verdict.ranks) == ("hang", [])


def test_a_pair_of_a_send_and_a_receive_is_no_circle(tmp_path: Path) -> None:
    texts = {0: exchange(0, 1, 2, "->"), 1: exchange(1, 0, 2, "<-")}
    verdict = analyze(write(tmp_path, texts)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks, verdict.cycle) == ("hang", None, [], [])


@pytest.mark.parametrize("last", [3, 2])
def test_a_chain_leads_to_a_suspect_and_names_nobody(tmp_path: Path, last: int) -> None:
    texts = {rank: exchange(rank, rank + 1, last + 1) for rank in range(last)}
    texts[last] = "\n".join(exchange(last, 0, last + 1).splitlines()[:4]) + "\n"
    verdict = analyze(write(tmp_path, texts)).verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("hang", [], [last])


def test_a_start_that_stood_still_is_a_failed_launch(tmp_path: Path) -> None:
    lines = [(0, "RANK=0 WORLD_SIZE=4 MASTER_ADDR=n0 MASTER_PORT=29400"), (1, "store: client rank 0 joined (1/4)")]
    lines += [(2, "store: client rank 3 joined (3/4)"), (7, "store: still 3/4 joined after 300s")]
    lost = "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.\n"
    (tmp_path / "rank0.log").write_text("".join(HEAD.format(*line) for line in lines) + lost)
    assert analyze(tmp_path).verdict.kind == "launch"


def still(tmp_path: Path, lines: list[tuple[int, str]]) -> list[float]:
    text = "\n".join(clock(START + at, "{time} ") + said for at, said in lines) + "\n"
    events = read(str(write(tmp_path, {0: text}))).tables["events"]
    kinds = ["collective_timeout", "heartbeat_lost"]
    return sorted(float(value) for kind, value in events.select("kind", "value").iter_rows() if kind in kinds)


CYCLES = [(at, f"cycle {at // 20} skill 0.{at}") for at in range(0, 100, 20)]


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ([(380, "nothing came for 300 s"), (680, "nothing came for 600 s")], 600.0),
        ([(380, "kein Schritt seit 300 Sek"), (680, "kein Schritt seit 600 Sek")], 600.0),
        ([(684, "all_reduce #9 が 600 秒")], 600_000.0),
        ([(684, "reduce_scatter #9 10 分")], 600_000.0),
    ],
)
def test_a_wait_counts_from_the_last_of_records_that_come_no_more(
    tmp_path: Path, last: list[tuple[int, str]], value: float
) -> None:
    assert still(tmp_path, [*CYCLES, *last]) == [value]


@pytest.mark.parametrize(
    "last",
    [
        [(300, "awake 300 s"), (600, "awake 600 s")],
        [(380, "rows taken in 300 s")],
        [(380, "nothing came for 300 s"), (400, "cycle 20 skill 0.4"), (680, "nothing came for 600 s")],
        [(684, "all_reduce done in 600 s")],
    ],
    ids=["since the start", "once, of no operation", "they came again", "it was done"],
)
def test_what_counts_otherwise_is_no_wait(tmp_path: Path, last: list[tuple[int, str]]) -> None:
    assert still(tmp_path, [*CYCLES, *last]) == []


@pytest.mark.parametrize(
    ("begin", "end", "peers"),
    [
        ("recv <- 2", "recv <- 2 blocked 900 s -> abort", [2]),
        ("recv from rank 2", "recv from rank 2: no answer after 900 s, giving in", [2]),
        ("GET http://scorer:8000/v1", "GET http://scorer:8000/v1 -> 2 open 900 s, giving in", None),
        ("POST /v1/score", "POST /v1/score <- 2 blocked 900 s -> abort", None),
    ],
)
def test_an_arrow_before_the_answer_of_a_service_shows_no_rank(
    tmp_path: Path, begin: str, end: str, peers: list[int] | None
) -> None:
    head = "2026-01-31 {}:00 [r0] {}\n"
    said = [("10:00", "up, rank 0 of world_size=4 pid=4000"), ("10:01", begin)]
    said += [(f"10:{minute:02d}", f"still in {begin}") for minute in (4, 8, 12)]
    (tmp_path / "rank0.log").write_text("".join(head.format(*one) for one in [*said, ("10:16", end)]))
    events = read(tmp_path).tables["events"]
    assert [row["names_ranks"] for row in events.to_dicts()] == [peers]
