"""The effect does not outweigh the cause: what a launcher does to all after one ended by itself, and whose error it is that nobody signs."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

SIZE, WHO = 6, 3


def verdict(tmp_path: Path, text: str) -> Verdict:
    (tmp_path / "job.out").write_text(text)
    return analyze(tmp_path).verdict


def kestrel(error: str, after: str = "") -> str:
    """A launcher that tells of each end in its order, behind a program that writes without names."""
    begun = "".join(f"kestrel: rank {rank} of {SIZE} on k{rank // 2}, pid {700 + rank}\n" for rank in range(SIZE))
    ends = [f"rank {WHO} exited with code 2"]
    ends += [f"rank {rank} was killed by signal 9" for rank in range(SIZE) if rank not in (WHO, 5)]
    return f"{begun}{error}\n{after}" + "".join(f"kestrel: {end}\n" for end in ends)


def hydra(error: str, after: str = "") -> str:
    begun = "".join(
        f" Rang {rank} von {SIZE}, rank={rank} world_size={SIZE} pid={700 + rank}\n" for rank in range(SIZE)
    )
    ends = [(WHO, "6 (Aborted)"), *((rank, "9 (Killed)") for rank in (0, 1, 4))]
    told = "".join(
        f"\n{'=' * 83}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {rank} PID {700 + rank} RUNNING AT k{rank // 2}\n"
        f"=   KILLED BY SIGNAL: {how}\n{'=' * 83}\n"
        for rank, how in ends
    )
    return f"{begun}{error}\n{after}{told}"


def counted(error: str, after: str = "") -> str:
    """All ends in one line, where those that were killed are none that an error of their own ends."""
    begun = "".join(f"[{rank}/{SIZE}] k{rank} pid {700 + rank} 启动\n" for rank in range(SIZE))
    codes = ", ".join("1" if rank == WHO else "-15" for rank in range(SIZE))
    return f"{begun}{error}\n{after}launcher: exit codes: [{codes}]\n"


FORMS: Mapping[str, Callable[..., str]] = {"kestrel": kestrel, "hydra": hydra, "counted": counted}
FULL = "OSError: [Errno 28] No space left on device: '/scratch/part.bin'"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "error", [f"ERROR {FULL}", "forrtl: No space left on device", "write(2) of a part: No space left on device"]
)
def test_an_error_of_nobody_is_of_the_one_that_ended_by_itself(tmp_path: Path, form: str, error: str) -> None:
    found = verdict(tmp_path, FORMS[form](error))
    assert (found.kind, found.cause, found.ranks) == ("crash", "disk_full", [WHO])


@pytest.mark.parametrize("form", FORMS)
def test_what_the_job_went_on_after_ended_nobody(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, FORMS[form](f"ERROR {FULL}", "step 41 loss 2.5\nstep 42 loss 2.4\n"))
    assert (found.cause, found.ranks) != ("disk_full", [WHO])


@pytest.mark.parametrize("form", FORMS)
def test_of_two_that_ended_by_themselves_either_may_have_printed_it(tmp_path: Path, form: str) -> None:
    text = FORMS[form](f"ERROR {FULL}")
    text = text.replace("rank 4 was killed by signal 9", "rank 4 exited with code 2").replace("-15]", "1]")
    text = text.replace("9 (Killed)", "6 (Aborted)", 1)
    assert verdict(tmp_path, text).ranks == []


def test_kills_that_a_launcher_tells_of_before_are_no_effect(tmp_path: Path) -> None:
    lines = kestrel(f"ERROR {FULL}").splitlines(keepends=True)
    at = next(place for place, line in enumerate(lines) if "exited with code" in line)
    lines.append(lines.pop(at))
    assert WHO not in verdict(tmp_path, "".join(lines)).ranks or "killed" not in str(
        verdict(tmp_path, "".join(lines)).cause
    )
