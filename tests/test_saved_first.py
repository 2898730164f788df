"""Evidence is read before what takes it away, by those whom the host shows it, and each sentence has its own command."""

import re

import pytest

from forensics.model import commands
from forensics.model.causes import CAUSES
from forensics.model.commands import Surroundings, Target
from forensics.model.finding import Finding
from forensics.model.incident import Action, Device, FirstAnomaly, Place
from forensics.model.names import Cause, Status
from forensics.model.said import Said
from forensics.verdict.advice.actions import Known, actions_of
from forensics.words import hardware

NVIDIA = Surroundings("slurm", "nvidia", "881")
DESTROYS = re.compile(r"lspci|--gpu-reset|power-cycle")  # commands, and what they lead to


def _lost(code: str, status: Status = "established", vendor: commands.Vendor | None = "nvidia") -> list[Action]:
    device = Device(host="n1", pci="0000:3b:00.0", index=3)
    look = Action(kind="inspect_hardware", target="n1", command=None, reason="")
    finding = Finding(
        detector="x", cause="gpu_fault", ranks=(3,), hosts=("n1",), devices=(device,), actions=(look,),
        first_anomaly=FirstAnomaly(signature=f"device:{code}"),
    )  # fmt: skip
    known = Known([Place(rank=3, host="n1", pid=7)], frozenset([3]), NVIDIA._replace(vendor=vendor), has_ended=True)
    return actions_of(finding, status, known)


@pytest.mark.parametrize("code", ["xid:79", "xid:119", "xid:95", "xid:48", "sxid:20034"])
def test_the_kernel_and_the_driver_are_asked_before_a_reset_or_a_power_cycle(code: str) -> None:
    told = _lost(code)
    taking = [
        at for at, one in enumerate(told) if DESTROYS.search(f"{one.command} {one.then}") and one.kind != "collect_more"
    ]
    reading = [at for at, one in enumerate(told) if re.search(r"dmesg|nvidia-bug-report", one.command or "")]
    assert len(reading) == 2
    assert all(max(reading) < at for at in taking)
    assert taking or "reset" not in code


def test_no_host_is_power_cycled_and_no_device_reset_while_others_may_run_there() -> None:
    """Whatever a step leads to: the other devices of its host may do another job's work."""
    told = [step.then for cause in CAUSES for step in CAUSES[cause].runbook] + [
        one for one in vars(hardware).values() if isinstance(one, Said)
    ]
    taking = [str(one) for one in told if re.search(r"power-cycle|\breset (?:it|the)\b", one)]
    assert len(taking) >= 4
    for then in taking:
        first = re.search(r"power-cycle|\breset (?:it|the)\b", then)
        assert first is not None
        assert re.search(r"\bdrain|no job runs|nothing runs", then[: first.end() + 30])


@pytest.mark.parametrize("vendor", ["metax", "moore_threads", "amd", None])
def test_no_report_of_nvidias_driver_from_another_vendor(vendor: commands.Vendor | None) -> None:
    assert not any("nvidia" in (one.command or "") for one in _lost("xid:79", vendor=vendor))


@pytest.mark.parametrize("cause", CAUSES)
def test_no_book_takes_away_what_a_later_step_of_it_reads(cause: Cause) -> None:
    book = CAUSES[cause].runbook
    first = next((at for at, step in enumerate(book) if step.destroys), len(book))
    late = [step.command for step in book[first:] if step.do == "collect_more" and step.command != "next_run"]
    assert late == []


def test_of_a_host_that_failed_the_boot_before_is_read() -> None:
    finding = Finding(
        detector="x", cause="rank_died", hosts=("n1",), first_anomaly=FirstAnomaly(signature="node_failure"),
        collect=(Said("kernel and console logs of n1", "n1 的日志", "kernel"),),
    )  # fmt: skip
    given = [one.command for one in actions_of(finding, "established", Known(around=Surroundings("slurm")))]
    assert "ssh -t n1 sudo journalctl -k -b -1 --no-pager" in given
    assert "ssh -t n1 sudo ipmitool sel list" in given
    assert not any("dmesg" in (command or "") for command in given)


def test_of_a_process_that_died_the_boot_is_the_same() -> None:
    finding = Finding(detector="x", cause="rank_died", ranks=(3,), hosts=("n1",))
    known = Known([Place(rank=3, host="n1", pid=7)], frozenset([3]))
    given = [one.command or "" for one in actions_of(finding, "established", known)]
    assert not any("journalctl -k -b -1" in command or "ipmitool" in command for command in given)


@pytest.mark.parametrize("asks", ["dump", "stack", "ras"])
def test_the_kernel_log_is_a_step_of_its_own_beside_what_else_is_asked_for(asks: str) -> None:
    finding = Finding(
        detector="x", cause="rank_died", ranks=(3,), hosts=("n1",), collect=(Said("what it was in", "所在位置", asks),),  # type: ignore[arg-type]
    )  # fmt: skip
    known = Known([Place(rank=3, host="n1", pid=7)], frozenset([3]))
    told = [one for one in actions_of(finding, "established", known) if one.kind == "collect_more"]
    by_kernel = [one.target for one in told if "dmesg" in (one.command or "")]
    assert by_kernel == ["the kernel log of n1"]
    assert "what it was in" in told[1].target


@pytest.mark.parametrize("cause", [None, "killed", "rank_died", "exception"])
def test_whoever_asks_for_a_kernels_log_says_what_to_look_for(cause: Cause | None) -> None:
    finding = Finding(detector="x", cause=cause, ranks=(3,), collect=(Said("its kernel log", "其内核日志", "kernel"),))
    known = Known([Place(rank=3, host="n1", pid=7)], frozenset([3]))
    logs = [one for one in actions_of(finding, "supported", known) if "dmesg" in (one.command or "")]
    assert logs and all(one.look and one.then for one in logs)


@pytest.mark.parametrize(("suspects", "says"), [((3,), "the whole log of rank 3 first"), ((), "logs of all ranks")])
def test_of_a_run_that_is_over_the_log_of_who_is_suspected_comes_first(suspects: tuple[int, ...], says: str) -> None:
    wanted = (Said("dumps of all ranks", "转储", "dump"),)
    finding = Finding(detector="x", suspect_ranks=suspects, undecided=("culprit_among_missing",), collect=wanted)
    told = actions_of(finding, "hypothesis", Known(has_ended=True))
    assert says in told[0].target and told[0].setup == ("log", "kernel", "port")


ROOT_ONLY = re.compile(r"\b(?:dmesg|py-spy dump|lspci -vv|--gpu-reset|nvidia-bug-report|journalctl -k|ipmitool)")


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_what_only_root_is_shown_is_asked_as_root(name: commands.CommandName) -> None:
    at = Target("n1", (7,), 3, "0000:3b:00.0", around=Surroundings(None, "nvidia"))
    built = commands.COMMANDS[name](at)
    assert built is None or bool(ROOT_ONLY.search(built)) <= ("sudo " in built and built.startswith("ssh -t "))


def test_within_a_pod_or_a_step_of_the_job_one_is_who_the_job_is() -> None:
    pod = Surroundings("kubernetes", pods={"w-0": "n1"})
    assert commands.stacks("w-0", [7], pod) == "kubectl exec w-0 -- py-spy dump --pid 7"
    assert commands.stacks("n1", [7], NVIDIA) == "srun --jobid=881 --overlap -w n1 py-spy dump --pid 7"
    assert commands.kernel_log("localhost") == "sudo dmesg -T"
