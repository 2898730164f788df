"""Decoration before a line, and time stamps."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.text.stamps import EARLIEST_NS, Around, agreed, all_of, around, parse_time
from parsers.who.lines import prefixes
from parsers.who.lines.collected import Habits, Line
from parsers.who.lines.prefixes import collector, habits, strip


def _ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000_000


SECOND = _ns("2024-11-20 03:10:11")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", Line("")),
        ("plain text", Line("plain text")),
        ('  File "x.py", line 3, in f', Line('  File "x.py", line 3, in f')),
        ("RuntimeError: [3] x", Line("RuntimeError: [3] x")),
        ("[Rank 0] Watchdog caught", Line("[Rank 0] Watchdog caught")),
        ("12: text", Line("text", task=12)),
        (" 3:   indented", Line("  indented", task=3)),
        ("   3: rust_begin_unwind", Line("   3: rust_begin_unwind")),
        ("  11: <T as core::any::Any>::type_id", Line("  11: <T as core::any::Any>::type_id")),
        ("   4: 0x55d0c1 - grid::cell::Cell::grow", Line("   4: 0x55d0c1 - grid::cell::Cell::grow")),
        ("   4: joined grid::cell", Line("joined grid::cell", task=4)),
        ("03:10:11 text", Line("03:10:11 text")),
        ("[1,12]<stdout>:text", Line("text", task=12, is_mpi=True)),
        ("[1,12]<stderr>:  text", Line("  text", task=12, is_mpi=True)),
        ("[prterun-n1-77@1,4]<stdout>:  text", Line(" text", task=4, is_mpi=True)),
        ("[1, 2] text", Line("[1, 2] text")),
        (
            "Wed Nov 20 03:10:11 2024[1,0]<stdout>:text",
            Line("text", task=0, is_mpi=True, time_ns=SECOND, time_basis="local"),
        ),
        (
            "2024-11-20T03:10:11Z: [1,2]<stdout>:text",
            Line("text", task=2, is_mpi=True, time_ns=SECOND, time_basis="utc"),
        ),
        ("10.0.0.7: text", Line("text", host="10.0.0.7")),
        ("eth0: link down", Line("eth0: link down")),
        ("[default3]:  text", Line("  text", local_rank=3)),
        ("[rank3]:   text", Line("  text", rank=3)),
        ("[default1]:[rank9]:[E text", Line("[E text", rank=9, local_rank=1)),
        ("50%|##   [rank1]:[W socket", Line("50%|##   [rank1]:[W socket", rank=1)),
        ("x [rank1]: a[rank2]: b", Line("x [rank1]: a[rank2]: b")),
        (
            "2024-11-20 03:10:11.5 [rank3] INFO x",
            Line("INFO x", rank=3, time_ns=SECOND + 500_000_000, time_basis="local"),
        ),
        ("(Worker pid=40, ip=10.0.0.1) text", Line("text", host="10.0.0.1", process=40)),
        ("(Worker pid=40) text", Line("text", process=40)),
        ("(Engine pid=40, ip=10.0.0.1) (Wrapper pid=51) text", Line("text", host="10.0.0.1", process=51)),
        ("(Engine pid=40) (Core_DP0 pid=51) (Worker_TP1 pid=62) text", Line("text", process=62)),
        ("(Engine pid=40, ip=10.0.0.1) (Far pid=51, ip=10.0.0.2) text", Line("text", host="10.0.0.2", process=51)),
        ("(raylet, ip=10.0.0.1) text", Line("text", host="10.0.0.1")),
        ("(a note) text", Line("(a note) text")),
        ("2024-11-20T03:10:11Z stdout F  text", Line(" text", time_ns=SECOND, time_basis="utc")),
        ("2024-11-20T05:10:11+02:00 stderr P tex", Line("tex", time_ns=SECOND, time_basis="utc", partial=True)),
        ("[pod/worker-3/main] text", Line("text", host="worker-3")),
        ('{"log":"text\\n","time":"2024-11-20T03:10:11Z"}', Line("text", time_ns=SECOND, time_basis="utc")),
        (
            '{"line":"text","ts":"1732072211000000000","host":"n1"}',
            Line("text", host="n1", time_ns=SECOND, time_basis="utc"),
        ),
        ('{"loss": 1}', Line('{"loss": 1}')),
        ('{"log":"cut', Line('{"log":"cut')),
        ("[ 1843.308145] NVRM: x", Line("NVRM: x", time_ns=1_843_308_145_000, time_basis="boot")),
        ("<6>[    2.608284][  T77] x", Line("x", time_ns=2_608_284_000, time_basis="boot")),
        ("6,39,2608284,-;x", Line("x", time_ns=2_608_284_000, time_basis="boot")),
        ("[Wed Nov 20 03:10:11 2024] NVRM: x", Line("NVRM: x", time_ns=SECOND, time_basis="local")),
        ("kern  :warn  : 2024-11-20T03:10:11,000000+00:00 x", Line("x", time_ns=SECOND, time_basis="utc")),
        ("Nov 20 03:10:11 n1 kernel: [  5.000000] x", Line("x", host="n1", time_ns=SECOND, time_basis="local")),
        ("Nov 20 03:10:11 n1 sshd[12]: x", Line("sshd[12]: x", host="n1", time_ns=SECOND, time_basis="local")),
        (
            "Nov 20 03:10:11 n1 python3.11[40]:   text",
            Line("  text", host="n1", process=40, time_ns=SECOND, time_basis="local"),
        ),
        (
            "2024-11-20T03:10:11Z n1 job-b[40]: [rank3]: text",
            Line("text", rank=3, host="n1", process=40, time_ns=SECOND, time_basis="utc"),
        ),
        (
            '2024-11-20T03:10:11Z\tjobs.a\t{"log": "  text", "rank": 3}',
            Line("  text", rank=3, time_ns=SECOND, time_basis="utc"),
        ),
        (
            '{"streams": [{"stream": {"pod": "w-1"}, "values": [["1732072211000000000", "text"]]}]}',
            Line("text", host="w-1", time_ns=SECOND, time_basis="utc"),
        ),
        (
            '{"line": "[rank4]: text", "ts": "1732072211", "fields": {"rank": "3"}}',
            Line("text", rank=4, time_ns=SECOND, time_basis="utc"),
        ),
        ('{"log": "text", "rank": 3}', Line('{"log": "text", "rank": 3}')),
        ("worker-1  | text", Line("worker-1  | text")),
        ("job-worker-1 main text", Line("job-worker-1 main text")),
        ("2024-11-20T03:10:11+00:00 n1 kernel: x", Line("x", host="n1", time_ns=SECOND, time_basis="utc")),
        ("2024-11-20 03:10:11 n1 kernel: x", Line("x", host="n1", time_ns=SECOND, time_basis="local")),
        ("2024-11-20 03:10:11,000 ERROR core: x", Line("ERROR core: x", time_ns=SECOND, time_basis="local")),
        ("2024-11-20 03:10:11,000 trainer core: x", Line("trainer core: x", time_ns=SECOND, time_basis="local")),
        ("2024-11-20 03:10:11,000 ERROR core[40]: x", Line("ERROR core[40]: x", time_ns=SECOND, time_basis="local")),
        ("2024-11-20T03:10:11Z ERROR core: x", Line("ERROR core: x", time_ns=SECOND, time_basis="utc")),
        ("2024-11-20T03:10:11+0000 n1 core: x", Line("core: x", host="n1", time_ns=SECOND, time_basis="utc")),
        ("Nov 20 03:10:11 Warning core: x", Line("Warning core: x", time_ns=SECOND, time_basis="local")),
        ("[2024-11-20 03:10:11] n1:5:6 [0] NCCL", Line("n1:5:6 [0] NCCL", time_ns=SECOND, time_basis="local")),
        ("11/20/2024 03:10:11 [INFO] x", Line("[INFO] x", time_ns=SECOND, time_basis="local")),
        ("2024/11/20 03:10:11 dial store", Line("dial store", time_ns=SECOND, time_basis="local")),
        (
            "2024/11/20 03:10:11.250000 ring.go:7: x",
            Line("ring.go:7: x", time_ns=SECOND + 250_000_000, time_basis="local"),
        ),
        ("[2024/11/20 03:10:11] seg INFO: x", Line("seg INFO: x", time_ns=SECOND, time_basis="local")),
        ("[11/20/2024 03:10:11] x", Line("x", time_ns=SECOND, time_basis="local")),
        ("2024/13/45 03:10:11 text", Line("text")),
        ("runs/2024/11/20 03:10:11 text", Line("runs/2024/11/20 03:10:11 text")),
        ("[E1120 03:10:11.0 a.cpp:1] x", Line("[E1120 03:10:11.0 a.cpp:1] x", time_ns=SECOND, time_basis="local")),
        (
            "E1120 03:10:11.000000 8 a.py:1] x",
            Line("E1120 03:10:11.000000 8 a.py:1] x", time_ns=SECOND, time_basis="local"),
        ),
        ("\x1b[31m[rank1]:\x1b[0m text\r", Line("text", rank=1)),
        ("2024-13-45 03:10:11 text", Line("text")),
    ],
)
def test_strip(raw: str, expected: Line) -> None:
    assert strip(raw, Habits(all_of(2024))) == expected


@pytest.mark.parametrize("raw", ["Nov 20 03:10:11 n1 kernel: x", "[E1120 03:10:11.0 a.cpp:1] x"])
def test_a_stamp_without_a_year_is_no_time_unless_the_year_is_known(raw: str) -> None:
    assert strip(raw).time_ns is None


def test_host_names_are_a_prefix_only_where_nearly_all_lines_have_one() -> None:
    pods = [f"gpu-worker-{at}: line {at}" for at in range(5)]
    told = habits(pods, None)
    assert strip("gpu-worker-7: text", told) == Line("text", host="gpu-worker-7")
    assert strip("step7: text", told).host is None
    mixed = habits([*pods, "x", "y", "z"], None)
    assert strip("gpu-worker-7: text", mixed) == Line("gpu-worker-7: text")


def test_containers_of_compose_are_a_prefix_only_where_nearly_all_lines_have_one() -> None:
    told = habits([f"worker-{at % 12:<3} | step {at}" for at in range(9, 13)], None)
    assert strip("worker-3  |   text", told) == Line("  text", host="worker-3")
    assert strip("worker-3  |", told) == Line("", host="worker-3")
    assert not habits(["INFO  | a", "INFO  | b"], None).bars
    assert not habits(["run-1 | a", "b", "c"], None).bars


def test_pods_of_stern_are_a_prefix_only_where_nearly_all_lines_have_one() -> None:
    opened = [f"+ job-worker-{at} › main" for at in range(9)]
    told = habits([*opened, *(f"job-worker-{at} main step {at}" for at in range(4))], None)
    assert strip("job-worker-7 main   text", told) == Line("  text", host="job-worker-7")
    assert strip("job-worker-7 other text", told).host is None
    assert habits(["step-1 loss 2", "step-2 loss 3"], None).container is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (None, None)),
        ("2024-11-20 03:10:11", (SECOND, "local")),
        ("2024-11-20T03:10:11,25Z", (SECOND + 250_000_000, "utc")),
        ("2024-11-20T03:10:11.123456789-0130", (SECOND + 5400 * 10**9 + 123_456_789, "utc")),
        ("[2024-11-20 03:10:11,5] x", (SECOND + 500_000_000, "local")),
        ("Nov 20 2024 03:10:11", (SECOND, "local")),
        ("E321 00:00:00.5 x", (None, None)),
        ("2024-11-20 25:10:11", (None, None)),
        ("word", (None, None)),
    ],
)
def test_parse_time(text: str, expected: tuple[int | None, str | None]) -> None:
    assert parse_time(text) == expected


def test_glog_months_have_one_or_two_digits() -> None:
    assert parse_time("E321 00:00:01.000000005 x", all_of(2025)) == (_ns("2025-03-21 00:00:01") + 5, "local")
    assert parse_time("E1021 00:00:01.0 x", all_of(2025)) == (_ns("2025-10-21 00:00:01"), "local")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (b"2026-01-02 03:04:05 x\n", Around(2026, 1)),
        (b"[rank0]: 2025-12-31T23:59:59Z y\n" + b"." * 70 + b"2001-01-01 00:00:00", Around(2025, 12)),
        (b"[Wed Nov 18 11:07:35 2026] NVRM: Xid\n", Around(2026, 11)),
        # Most of them tell; of as many on either side, the later year does: that is when the file was ended.
        (b"2025-03-04 05:06:07 a\n2025-02-04 05:06:07 b\nuntil 2099-01-01 00:00:00\n", Around(2025, 3)),
        (b"2025-12-31 23:59:59 a\n2026-01-01 00:00:00 b\n", Around(2026, 1)),
        (b"Nov 20 03:10:11 n1 kernel: x\n", None),
    ],
)
def test_a_year_is_told_by_stamps_at_the_beginning_of_lines(head: bytes, told: Around | None) -> None:
    assert around(head) == told


def test_nothing_agrees_on_nothing() -> None:
    assert agreed([]) is None


@pytest.mark.parametrize(("month", "year"), [(1, 2026), (5, 2026), (6, 2025), (9, 2025), (12, 2025)])
def test_a_stamp_without_a_year_is_near_what_tells_it(month: int, year: int) -> None:
    """The log of December that lies beside an incident of January is a month old, not eleven ahead."""
    assert Around(2026, 1).year_of(month) == year
    assert {all_of(2026).year_of(month) for month in range(1, 13)} == {2026}


PIECES = [
    "[rank1]:",
    "12: ",
    "[1,2]<stdout>:",
    "2024-11-20 03:10:11 ",
    "{",
    '"log":"',
    "\x1b[1m",
    "\r",
    "(W pid=1) ",
    "<",
    "é",
    "[",
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join))
def test_strip_never_raises_and_only_takes_away(raw: str) -> None:
    line = strip(raw, Habits(all_of(2024), True))
    if not raw.lstrip().startswith("{") and "{" not in raw:
        assert len(line.text) <= len(raw)
    assert (line.time_ns is None) == (line.time_basis is None)


_BESIDE = (
    "[2024-11-20 03:10:11 TP2] x", "[NeMo W 2024-11-20 03:10:11 critic:77] x", "[I 2024-11-20 03:10:11 serve.py:3] x",
    "[2024-11-20 03:10:11][root][INFO] - x", "[ERROR] [2024-11-20 03:10:11] x", "[2/8] 2024-11-20 03:10:11 x", "[w3][INFO] 2024-11-20 03:10:11 x",
    "INFO 2024-11-20 03:10:11 x", "WARNING:trainer.loop:2024-11-20 03:10:11 x", "[worker-3 2024-11-20 03:10:11] x",
    "[2024-11-20 03:10:11 | INFO | loop] x", "ERROR 11-20 03:10:11 [engine.py:7] x",
)  # fmt: skip


@pytest.mark.parametrize("raw", _BESIDE)
def test_a_stamp_beside_other_words_of_a_logger_is_read_and_all_stays(raw: str) -> None:
    line = strip(raw, Habits(Around(2024, 11)))
    assert (line.text, line.time_ns, line.time_basis) == (raw, SECOND, "local")


@pytest.mark.parametrize(
    "raw",
    [
        "[resumed from 2024-11-20 03:10:11] x",
        "resumed from 2024-11-20 03:10:11",
        "[x] saved on 2024-11-20 03:10:11",
        "ERROR 11-20 03:10:11 x",
    ],
)
def test_a_stamp_in_a_sentence_is_none_of_the_line(raw: str) -> None:
    assert strip(raw, Habits(Around(2024, 11))).time_ns is None


@pytest.mark.parametrize("level", ["ERROR", "WARNING", "CRITICAL", "INFO"])
def test_a_level_before_a_logger_is_no_host(level: str) -> None:
    line = strip(f"2026-01-31 10:11:12,689 {level} trainer: no shard")
    assert (line.host, line.text) == (None, f"{level} trainer: no shard")


def test_a_stamp_in_one_bracket_with_level_and_place_is_read_and_stays() -> None:
    text = "[2026-01-31 10:11:12.066232: W horovod/common/x.cc:588] stalled"
    line = strip(f"[1,0]<stderr>:{text}")
    assert (line.text, line.task, line.time_ns) == (text, 0, 1769854272_066232000)


@pytest.mark.parametrize(("text", "rank"), [("[rank: 2] Seed set to 42", 2), ("[rank2]: x", 2), ("[rank 2] x", 2)])
def test_lightning_writes_a_colon(text: str, rank: int | None) -> None:
    assert strip(text).rank == rank


@given(
    st.lists(
        st.sampled_from(
            [
                "[default3]:",
                "[rank5]:",
                "[rank5]: ",
                "[E131 ",
                "[W1120 ",
                "10:11:12",
                "25:11:12",
                ".5",
                ".123456789",
                " ",
                "a.cpp:6] x",
                "[rank6]: y",
                "\r",
                "\x1b[31m",
            ]
        ),
        max_size=7,
    ),
    st.sampled_from([None, Around(2026, 1)]),
)
def test_what_pytorch_puts_before_a_line_is_taken_at_once_or_rule_by_rule(
    parts: list[str], near: Around | None
) -> None:
    raw = "".join(parts)
    at_once = strip(raw, Habits(near))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, "_TORCH", re.compile(r"(?!)"))
        assert strip(raw, Habits(near)) == at_once


@pytest.mark.parametrize("head", ["[default1]:[rank9]:", "[rank9]:", "[default1]:", ""])
def test_ranks_and_stamp_of_pytorch(head: str) -> None:
    told = strip(f"{head}[E1120 03:10:11.5 a.cpp:6] x", Habits(all_of(2024)))
    assert (told.text, told.time_ns) == ("[E1120 03:10:11.5 a.cpp:6] x", SECOND + 500_000_000)
    assert (told.rank, told.local_rank) == (9 if "rank9" in head else None, 1 if "default" in head else None)


@pytest.mark.parametrize("stamp", ["1970-01-01T00:00:04Z", "1970-01-01 00:00:04.000", "1999-12-31 23:59:59"])
def test_a_clock_that_was_never_set_tells_no_time(stamp: str) -> None:
    assert strip(f"{stamp} [rank8]: text").time_ns is None
    assert strip("[    4.000001] text").time_basis == "boot"
    assert strip("2000-01-01T00:00:00Z [rank8]: text").time_ns == EARLIEST_NS


SETTINGS = ("  world_size ........ 16", "  lr ............... 0.1", "  seed ............. 7")


@pytest.mark.parametrize("before", ["<gatherer-3 out> ", "[gatherer 3] ", "(gatherer out=1) "])
def test_lines_that_are_all_indented_keep_that_behind_what_a_collector_puts_before_them(before: str) -> None:
    assert collector(before + line for line in SETTINGS) == before


@pytest.mark.parametrize("before", ["loss: ", "loss:  ", "gatherer-3: "])
def test_blanks_that_may_align_values_tell_no_collector(before: str) -> None:
    assert (
        collector(before + line for line in SETTINGS)
        == collector(before + line for line in ("  2.1", "  2.0", "  1.9"))
        == ""
    )


@pytest.mark.parametrize("before", ["<gatherer-3 out> ", "[gatherer 3] "])
def test_a_comment_stands_behind_all_that_collectors_add(before: str) -> None:
    page = ("# HELP steps Steps so far", "# TYPE steps counter", 'steps{rank="3"} 7')
    assert collector(before + line for line in page) == before
    assert collector(before + line for line in page[2:] * 3) == ""


def test_journalctl_prints_the_day_of_the_week_before_a_full_stamp() -> None:
    line = strip("Tue 2026-01-27 10:11:12 UTC gn07 trainer@1.service[2193]: step=4")
    assert (line.host, line.text) == ("gn07", "trainer@1.service[2193]: step=4")
    assert line.time_ns == 1_769_508_672_000_000_000
    assert strip("Tue is not a stamp").text == "Tue is not a stamp"


@pytest.mark.parametrize(
    ("text", "rank"),
    [("[rank 3/8] step 4", 3), ("[rank 12] step 4", 12), ("[rank three] step 4", None), ("[ranks 3] step 4", None)],
)
def test_a_rank_in_brackets_is_a_prefix_with_a_space_too(text: str, rank: int | None) -> None:
    assert strip(text).rank == rank
