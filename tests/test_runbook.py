"""The runbooks of the causes: rows of data, and what the steps of a finding become."""

from typing import Any, get_args

import pytest

from forensics.model.causes import CAUSES
from forensics.model.commands import COMMANDS, CommandName, Surroundings, Target
from forensics.model.finding import Finding
from forensics.model.incident import Action, Code, Device, FirstAnomaly, Place
from forensics.model.said import zh
from forensics.verdict.advice.actions import Known, actions_of
from forensics.words.slow import TAKES_LONGER
from forensics.words.verdict import DEVICE_OF
from tests.advice import _TAKES_DOWN

SLURM = Surroundings("slurm", "nvidia", "881")
LOST = Finding(
    detector="x", cause="gpu_fault", ranks=(3,), devices=(Device(host="n1", pci="0000:3b:00.0", index=3),),
    first_anomaly=FirstAnomaly(signature="device:xid:79"),
)  # fmt: skip


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_steps_with_a_source_in_both_languages(cause: str) -> None:
    book = CAUSES[cause].runbook  # type: ignore[index]
    assert book
    for step in book:
        assert step.source and step.look and step.then
        assert zh(step.look) != step.look and zh(step.then) != step.then


def test_every_command_of_a_step_can_be_built() -> None:
    assert set(COMMANDS) == set(get_args(CommandName))
    used = {step.command for row in CAUSES.values() for step in row.runbook} - {None}
    assert used <= set(COMMANDS)


@pytest.mark.parametrize("name", get_args(CommandName))
@pytest.mark.parametrize("host", ["n1;id", "ALL", "a,b", None, "7635c25c81cd"])
def test_no_command_reaches_a_host_that_a_shell_would_read_otherwise(name: CommandName, host: str | None) -> None:
    at = Target(host, (7,), 3, "0000:3b:00.0; id", "/a b/c.py", 5, "/ckpt/$(id)", (), SLURM)
    built = COMMANDS[name](at)
    assert built is None or not any(word in built for word in ("n1", "ALL", "a,b", "id;", "$(", "; id"))


def test_a_device_off_the_bus_is_drained_first_and_looked_for_on_the_bus() -> None:
    places = [Place(rank=3, host="n1", pid=7)]
    told = actions_of(LOST, "supported", Known(places, dead=frozenset({3}), around=SLURM, has_ended=True))
    assert told[0].kind == "drain_node"
    commands = [action.command or "" for action in told]
    assert not any("dcgmi" in command or "--gpu-reset" in command for command in commands)  # nothing sees it there
    assert not any(_TAKES_DOWN.search(command) for command in commands)


def test_what_to_look_for_stands_with_the_command() -> None:
    code = Code(file="/srv/train/a.py", line=83, function="f")
    stuck = Finding(detector="x", cause="rank_absent", ranks=(3,), code=code, site="lock", hosts=("n1",))
    first, second, *_ = actions_of(stuck, "supported", Known([Place(rank=3, host="n1", pid=7)]))
    assert first.command == "sed -n '73,88p' /srv/train/a.py" and "waits for" in first.look
    assert second.command == "ssh n1 lslocks --notruncate" and second.source == "lslocks(8)"


def test_what_helps_against_a_cause_is_told_where_its_finding_asks_for_nothing() -> None:
    full = Finding(detector="x", cause="disk_full", ranks=(3,), domain="workload")
    first, *_ = actions_of(full, "supported")
    assert (first.kind, first.reason) == ("check_config", CAUSES["disk_full"].do)
    asked = Finding(detector="x", cause="disk_full", ranks=(3,), domain="workload", collect=("df -h",))
    assert actions_of(asked, "supported")[0].kind == "collect_more"
    assert not actions_of(full, "hypothesis")


def test_a_step_without_a_command_gets_none_that_answers_something_else() -> None:
    look = Action(kind="inspect_network", target="n1", command=None, reason="no way")
    away = Finding(
        detector="x", cause="network_fault", ranks=(3,), hosts=("n1",), actions=(look,),
        first_anomaly=FirstAnomaly(signature="connect:no_route"),
    )  # fmt: skip
    told = next(one for one in actions_of(away, "supported", Known([Place(rank=3, host="n1")])) if one.look)
    assert (told.kind, told.command) == ("inspect_network", None)


def test_nothing_but_collecting_follows_where_it_is_not_sure() -> None:
    unsure = Finding(detector="x", cause="rank_absent", suspect_ranks=(3,), site="lock", hosts=("n1",))
    assert {action.kind for action in actions_of(unsure, "hypothesis", Known())} <= {"collect_more", "check_code"}
    assert not any("lslocks" in (action.command or "") for action in actions_of(unsure, "hypothesis", Known()))


def test_a_rank_that_computes_slowly_has_its_host_looked_at_before_its_device() -> None:
    """Its times alone do not tell more work, a busy host and a slow device apart."""
    look = Action(kind="inspect_hardware", target="rank 3", command=None, reason=TAKES_LONGER)
    slow = Finding(detector="x", cause="straggler_compute", ranks=(3,), hosts=("n1",), actions=(look,))
    told = actions_of(slow, "supported", Known([Place(rank=3, host="n1")], around=Surroundings(None, "nvidia")))
    commands = [one.command or "" for one in told if one.kind == "inspect_hardware"]
    assert "iostat" in commands[0] and "-d CLOCK" in commands[1]
    assert "GPU" not in TAKES_LONGER + DEVICE_OF(ranks="rank 3")


@pytest.mark.parametrize(
    ("file", "is_shown"),
    [
        ("/srv/train/a.py", True),
        ("/opt/venv/lib/python3.10/site-packages/torch/_tensor.py", False),
        ("/usr/lib/python3.11/threading.py", False),
        ("/usr/local/lib/python3/dist-packages/megatron/training.py", False),
        ("ray/_private/worker.py", False),
        ("pyarrow/_hdfsio.pyx", False),
        ("train.py", False),
        ("/srv/train/a.py; id", False),
    ],
)
def test_a_source_is_shown_by_its_whole_path_and_no_librarys(file: str, is_shown: bool) -> None:
    built = COMMANDS["source"](Target(file=file, line=20))
    assert built == (f"sed -n '10,25p' {file}" if is_shown else None)


@pytest.mark.parametrize(
    ("held", "status", "cause", "asks_host"),
    [
        ({3}, "supported", "rank_absent", True),
        ({3}, "hypothesis", None, True),
        ({4}, "supported", "rank_absent", False),
        (set(), "hypothesis", None, False),
    ],
)
def test_a_stopped_process_is_looked_at_without_stopping_it(held: set[int], status: Any, cause: Any, asks_host: bool) -> None:  # fmt: skip
    """A sampler that stops a process for its look fails on one that is stopped already."""
    finding = Finding(detector="x", cause=cause, ranks=(3,), collect=("the stack",))
    known = Known([Place(rank=3, host="n1", pid=7), Place(rank=4, host="n2", pid=8)], held=frozenset(held))
    first = next(one for one in actions_of(finding, status, known) if "py-spy" in (one.command or ""))
    assert ("--nonblocking" in first.command and "TracerPid" in first.command) is asks_host  # type: ignore[operator]
    assert ("kill -CONT" in first.then and "State T" in first.look) is asks_host
    assert ("stopped" in first.target) is asks_host
