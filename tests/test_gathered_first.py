"""What dies with the processes is gathered before anybody stops them; what comes too late is called so."""

import pytest

from forensics.model.causes import CAUSES
from forensics.model.commands import Surroundings, Torch
from forensics.model.finding import Finding
from forensics.model.incident import Action, Place
from forensics.model.names import Cause, EvidenceKind
from forensics.model.said import Said, zh
from forensics.verdict.advice.actions import Known, actions_of

AROUND = Surroundings(torch=Torch())
PLACES = [Place(rank=rank) for rank in range(4)]
GATHER = "forensics setup --gather --output gather.sh"
WHILE_IT_RUNS: tuple[EvidenceKind, ...] = ("dump", "stack", "comm", "ras", "port")
# Of what was stopped from outside nothing is asked of the next run.
CAUSES_LEFT: list[Cause | None] = [None, *(cause for cause, row in CAUSES.items() if not row.from_outside)]


def _asked(*kinds: EvidenceKind, ended: bool, cause: Cause | None = None, twice: bool = False) -> list[Action]:
    what = [Said("what was seen", "所见", *kinds)] + [Said("more of it", "更多", *kinds)] * twice
    finding = Finding(
        detector="x", cause=cause, suspect_ranks=(1, 2), undecided=("culprit_among_missing",), collect=tuple(what)
    )
    known = Known(PLACES, around=AROUND, has_ended=ended, gone=frozenset(range(4)) if ended else frozenset())
    told = actions_of(finding, "hypothesis", known)
    return [one for one in told if one.kind == "collect_more" and "Flight Recorder dumps in the next" not in one.target]


@pytest.mark.parametrize("cause", CAUSES_LEFT)
@pytest.mark.parametrize("kind", WHILE_IT_RUNS)
def test_while_nothing_says_that_it_ended_it_is_gathered_now(kind: EvidenceKind, cause: Cause | None) -> None:
    told = [one for one in _asked(kind, ended=False, cause=cause) if "what was seen" in one.target]
    assert [one.command for one in told] == [GATHER]
    assert "before anything is stopped" in told[0].target and "停止" in zh(told[0].target)
    assert "gather.sh" in told[0].look and zh(told[0].look) != told[0].look


@pytest.mark.parametrize("cause", CAUSES_LEFT)
@pytest.mark.parametrize("kind", [kind for kind in WHILE_IT_RUNS if kind != "port"])
def test_after_its_end_the_sentence_says_that_it_is_for_the_next_run(kind: EvidenceKind, cause: Cause | None) -> None:
    told = [one for one in _asked(kind, ended=True, cause=cause) if "what was seen" in one.target]
    assert [one.command for one in told] == [f"forensics setup {kind}"]
    assert told[0].target == "in the next run: what was seen" and zh(told[0].target) == "下次运行时：所见"


@pytest.mark.parametrize("kinds", [("log",), ("log", "kernel"), ("port",)])
def test_what_outlives_its_processes_is_gathered_before_it_is_overwritten(kinds: tuple[EvidenceKind, ...]) -> None:
    one = next(one for one in _asked(*kinds, ended=True) if "what was seen" in one.target)
    assert one.target == "what was seen, before it is overwritten" and zh(one.target) == "所见（在被覆盖之前）"
    assert one.command == GATHER


def test_what_no_script_gathers_of_what_is_left_is_kept_in_the_next_run() -> None:
    one = next(one for one in _asked("launcher", ended=True) if "what was seen" in one.target)
    assert one.target.startswith("what was seen (what is still there")
    assert one.command == "forensics setup launcher"


@pytest.mark.parametrize("kind", ["tensors", "times"])
def test_what_no_script_can_gather_is_for_the_next_run_even_if_it_runs(kind: EvidenceKind) -> None:
    (one,) = _asked(kind, ended=False)
    assert (one.target, one.command) == ("in the next run: what was seen", f"forensics setup {kind}")


def test_one_script_gathers_all_and_nothing_that_is_asked_for_is_lost() -> None:
    first, second = _asked("stack", ended=False, twice=True)
    assert (first.command, second.command) == (GATHER, None)
    assert second.target == "more of it"
