"""The first screen of the page: what it says, where it counts time from, and what of a line it marks."""

import msgspec
import pytest

from forensics import analyze
from forensics.model.drawn import StackClass
from forensics.model.frames import is_own
from forensics.model.incident import Decision, Evidence, Incident, Place
from forensics.model.ref import Ref
from parsers.engine.context import passages
from reports import html
from reports.html import excerpts, first_screen
from reports.html.drawings import place, stacks, when
from reports.voice import ENGLISH
from tests import report_examples
from tests.report_checks import page_of
from tests.report_example_sizes import KINDS, sized

HANG = report_examples.hang()
INCIDENT = HANG.incidents[0]


def _with(**changes: object) -> Incident:
    return msgspec.structs.replace(INCIDENT, verdict=msgspec.structs.replace(INCIDENT.verdict, **changes))


# --- status bar and chips --------------------------------------------------------------------------------------------


def test_the_bar_says_ranks_time_step_and_cost() -> None:
    dear = msgspec.structs.replace(INCIDENT, decision=Decision(do="restart", lost_gpu_hours=16.0))
    bar = {item.name: str(item.text) for item in first_screen.status_bar(HANG, dear)}
    assert bar == {
        "read": "31 of 32 ranks read",
        "when": "2026-11-19 18:42:07 UTC",
        "step": "step 12,001",
        "cost": "16.0 rank hours lost",
    }


def test_a_time_of_a_local_clock_is_not_called_utc() -> None:
    items = [msgspec.structs.replace(item, basis="local") for item in INCIDENT.views.timeline]
    local = msgspec.structs.replace(INCIDENT, views=msgspec.structs.replace(INCIDENT.views, timeline=items))
    told = {item.name: item.text for item in first_screen.status_bar(HANG, local)}["when"]
    assert told == "2026-11-19 18:42:07, zone unknown" and told.zh.endswith("，时区未知")  # type: ignore[union-attr]


def test_what_is_not_known_is_not_in_the_bar() -> None:
    bare = msgspec.structs.replace(_with(first_anomaly=type(INCIDENT.verdict.first_anomaly)()), lost=type(INCIDENT.lost)(), decision=Decision())  # fmt: skip
    assert [item.name for item in first_screen.status_bar(HANG, bare)] == ["read"]


def test_chips_say_who_where_and_in_which_process() -> None:
    chips = [(chip.state, str(chip.text), chip.more, chip.address) for chip in first_screen.chips(INCIDENT)]
    assert chips[:3] == [
        ("culprit", "rank 17", "", "rank=17"),
        ("", "node0002", "", "host=node0002"),
        ("", "GPU 1", "0000:cb:00.0", ""),
    ]
    assert chips[-1] == ("", "next_batch", "train.py:585", "")


def test_many_ranks_are_one_chip_and_have_no_process_of_their_own() -> None:
    many = _with(ranks=[3, 4, 5, 6], places=[Place(rank=rank, pid=rank) for rank in (3, 4, 5, 6)], devices=[])
    chips = [str(chip.text) for chip in first_screen.chips(many)]
    assert chips[0] == "ranks 3-6" and not [text for text in chips if text.startswith(("pid", "GPU"))]


def test_suspects_are_called_so() -> None:
    undecided = report_examples.EXAMPLES["undecided"]().incidents[0]
    states = {chip.state for chip in first_screen.chips(undecided) if chip.address.startswith("rank=")}
    assert states == {"suspect"}


def test_a_row_that_bar_and_chips_have_said_is_not_said_again() -> None:
    facts = ENGLISH.facts(INCIDENT)
    kept = {row.label for row in first_screen.rows(INCIDENT, facts)}
    assert {row.label for row in facts} - kept == {"runs on", "first anomaly"} & {row.label for row in facts}
    other = _with(first_anomaly=msgspec.structs.replace(INCIDENT.verdict.first_anomaly, rank=2))
    assert "first anomaly" in {row.label for row in first_screen.rows(other, ENGLISH.facts(other))}


def test_a_headline_shows_the_end_of_a_path() -> None:
    page = html.render(analyze("samples/data_loader_stall/bundle"))
    head = page[page.index("<h1") : page.index("</h1>")]
    assert 'title="/srv/pretrain/xp/gen/a_dataload_stall.py:18">a_dataload_stall.py:18</span>' in head


# --- one time axis, one zero -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_axis_of_the_first_screen_has_one_zero_and_holds_everything(kind: str) -> None:
    incident = sized(kind, 512).incidents[0]
    drawn = when.when(incident)
    assert drawn is not None
    assert [tick.text for tick in drawn.ticks].count("0") == 1
    bars = [bar for lane in drawn.lanes for bar in lane.bars]
    assert all(bar.x >= 0 and bar.x + bar.width <= drawn.width for bar in bars)
    assert all(0 < mark.x < drawn.width for mark in drawn.marks)
    told = {step.text: step.relative for step in place.stop(incident)}
    assert all(told[step.text] == step.relative for _, step in drawn.moments)


def test_who_crashed_stops_at_zero() -> None:
    """Whatever it last did: its end is the stop, and there is no second one on the axis."""
    drawn = when.when(analyze("samples/rank_killed/bundle").incident)
    assert drawn is not None and drawn.zero == "exit SIGKILL"
    assert [lane.stopped for lane in drawn.lanes if lane.stopped is not None] == [drawn.at_zero]


def test_events_have_the_numbers_of_the_timeline() -> None:
    drawn = when.when(INCIDENT)
    assert drawn is not None
    assert all(INCIDENT.views.timeline[number - 1] is step.item for number, step in drawn.moments)


# --- evidence with its lines -----------------------------------------------------------------------------------------


def _fact(claim: str, text: str, line: int = 5) -> Evidence:
    return Evidence(id="e1", claim=claim, direction="for", refs=[Ref(file="a.log", line=line, text=text)])


@pytest.mark.parametrize(
    ("claim", "line", "read", "marked"),
    [
        ("rank 4 was killed by SIGKILL", "exitcode : -9 (pid: 7)  (SIGKILL)", "", ["SIGKILL"]),
        ("rank 5 never entered all_reduce #25 of dp", "rank 5: group dp", "", ["rank 5"]),
        ("rank 6: data_time takes 401 ms", "iter 6 data_time 0.401 loss 2", "data_time", ["data_time"]),
        ("it says “no space left”", "OSError: no space left on /data", "", ["no space left"]),
        ("rank 1 waits", "rank 10 waits", "", []),
        ("nothing in common", "another line", "", []),
    ],
)
def test_what_claim_and_line_share_is_marked(claim: str, line: str, read: str, marked: list[str]) -> None:
    assert [piece.text for piece in excerpts.marked(line, claim, read) if piece.is_marked] == marked


def test_a_line_stands_with_three_before_and_after() -> None:
    around = [(number, f"line {number} at step 9" if number == 5 else "x") for number in range(2, 9)]
    found = excerpts.excerpt(_fact("the step 9 of rank_3 at step_9", "line 5 at step 9"), {("a.log", 5): around})
    assert found is not None and found.read == ""
    assert [line.number for line in found.before] == [2, 3, 4] and [line.number for line in found.after] == [6, 7, 8]


def test_what_was_read_of_a_line_is_said_to_be_no_line() -> None:
    """A digest looks like a line of the log, and is none: both are shown."""
    around = [(5, '{"rank": 5, "op": "all_reduce", "state": "scheduled"}')]
    found = excerpts.excerpt(_fact("rank 5 waits in all_reduce", "rank 5: all_reduce, not completed"), {("a.log", 5): around})  # fmt: skip
    assert found is not None and found.read == "rank 5: all_reduce, not completed"
    assert [piece.text for piece in found.line if piece.is_marked] == ["all_reduce"]


def test_a_line_that_does_not_show_it_is_not_shown() -> None:
    found = excerpts.excerpt(_fact("rank 5 waits", "rank 5: all_reduce"), {("a.log", 5): [(5, "\x80\x02pickle")]})
    assert found is not None and found.before == [] and "".join(piece.text for piece in found.line) == "rank 5: all_reduce"  # fmt: skip


def test_the_page_of_a_bundle_holds_lines_around_its_evidence_and_that_of_a_file_does_not() -> None:
    report = analyze("samples/rank_killed/bundle")
    page = html.render(report)
    assert "exitcode  : -9 (pid: 2649)  (<mark>SIGKILL</mark>)" in page
    assert '<span class="no">49</span>   rank      : 4 (local_rank: 4)' in page
    again = msgspec.structs.replace(report)
    assert "<mark>" in html.render(again) and "local_rank: 4)" not in html.render(again)


def test_lines_are_read_again_only_where_that_costs_little(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle, place = "samples/rank_killed/bundle", ("agent.log", 50)
    assert [number for number, _ in passages(bundle, [place, ("no such", 1)], 1)[place]] == [49, 50, 51]
    assert passages("-", [place], 1) == passages("s3://a/b", [place], 1) == passages(bundle, [], 1) == {}
    monkeypatch.setattr("parsers.engine.context.BRIEF_BYTES", 100)
    assert passages(bundle, [place], 1) == {}


# --- the job's own code first ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "own"),
    [
        ("train (/home/a/pretrain/train.py:585)", True),
        ("train (train.py:585)", True),
        ("all_reduce (/venv/lib/python3.11/site-packages/torch/distributed.py:41)", False),
        ("select (/usr/lib/python3.11/selectors.py:415)", False),
        ("wait (torch/_dynamo/x.py:3)", False),
        ("poll (libc.so.6)", False),
        ("no place", False),
    ],
)
def test_whose_code_a_frame_is(frame: str, own: bool) -> None:
    assert is_own(frame) is own


def test_frames_of_libraries_are_folded_around_the_jobs_own() -> None:
    library = [f"f{at} (/v/site-packages/torch/x.py:{at})" for at in range(3)]
    found = stacks.runs(["main (train.py:9)", *library, "collate (data.py:4)", library[0]])
    assert [(len(run.frames), run.is_own, run.is_folded) for run in found] == [
        (1, True, False), (3, False, True), (1, True, False), (1, False, False),
    ]  # fmt: skip
    assert [run.is_folded for run in stacks.runs(library)] == [False]


def test_a_class_of_stacks_names_the_jobs_own_frame_first() -> None:
    frames = ["get (/v/site-packages/torch/data.py:7)", "train (train.py:18)"]
    told = StackClass(site="data_loading", count=1, ranks="5", top=frames[0], frames=frames, ref=None)
    assert stacks.own_first(told) == "train (train.py:18)"
    assert stacks.own_first(msgspec.structs.replace(told, top=frames[1])) == ""


def test_three_facts_and_what_is_against_stand_on_the_first_screen() -> None:
    page = page_of("hang")
    first = page[page.index('id="facts"') : page.index('class="rest"')]
    assert 1 <= first.count('class="for"') <= 3
    assert "Not recorded" in first
