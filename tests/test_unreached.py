"""Of a start at which nobody got through to one address, in words that nobody has taught."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

RANKS, HOLDS, TRIES = 6, 0, 12
AT = "10.4.0.7:29800"
Line = Callable[[int, int], str]  # rank, try → text

FORMS: dict[str, tuple[Line, Line]] = {  # who tries, who should hold it
    "German": (
        lambda rank, n: f"03/04 08:{n:02}:1{rank} [Platz {rank}/{RANKS}] Schalter {AT} stumm, noch einmal",
        lambda rank, n: f"03/04 08:{n:02}:1{rank} [Platz {rank}/{RANKS}] Schalter {AT} geht nicht auf",
    ),
    "Chinese": (
        lambda rank, n: f"08:{n:02}:1{rank} <进程 {rank}/{RANKS}> 连接 {AT} 无应答 (第 {n} 次)",
        lambda rank, n: f"08:{n:02}:1{rank} <进程 {rank}/{RANKS}> 打开 {AT} 失败",
    ),
}


def logs(form: str, tries: int = TRIES, silent: tuple[int, ...] = (HOLDS,)) -> dict[int, list[str]]:
    says, holds = FORMS[form]
    return {
        rank: [holds(rank, 0)] if rank in silent else [says(rank, n) for n in range(1, tries + 1)]
        for rank in range(RANKS)
    }


def verdict(folder: Path, lines: dict[int, list[str]], form: str) -> Verdict:
    head = FORMS[form][0](7, 0).split(" ")[0]
    for rank, own in lines.items():
        label = own[0][: own[0].index(f"/{RANKS}") + 3]
        (folder / f"platz_{rank}.log").write_text("\n".join([f"{label} {head} v1", *own, f"{label} 21"]) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("form", FORMS)
def test_it_never_started_and_who_does_not_try_is_a_suspect(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, logs(form), form)
    assert (found.kind, found.ranks, found.hosts, found.suspects.ranks) == ("launch", [], [], [HOLDS])


@pytest.mark.parametrize("form", FORMS)
def test_where_all_try_nobody_is_suspected(tmp_path: Path, form: str) -> None:
    found = verdict(tmp_path, logs(form, silent=()), form)
    assert (found.kind, found.ranks, found.suspects.ranks) == ("launch", [], [])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("tries", "silent"), [(3, (HOLDS,)), (TRIES, (0, 1, 2))], ids=["a few times", "half of them"])
def test_a_few_tries_or_those_of_half_say_nothing(
    tmp_path: Path, form: str, tries: int, silent: tuple[int, ...]
) -> None:
    assert verdict(tmp_path, logs(form, tries, silent), form).kind == "unknown"


@pytest.mark.parametrize("form", FORMS)
def test_who_does_something_else_again_and_again_had_begun(tmp_path: Path, form: str) -> None:
    """A service beside the job does not answer, and the job goes on in words that nobody knows."""
    lines = logs(form, silent=())
    for own in lines.values():
        label = own[0][: own[0].index(f"/{RANKS}") + 3]
        own[:] = [line for n, tried in enumerate(own) for line in (tried, f"{label} Runde {n} getan")]
    assert verdict(tmp_path, lines, form).kind == "unknown"


UNKNOWN = {
    "Go": 'time=2026-03-04T08:00:1{0}Z level=warn rank={0} msg="dial" err="dial tcp: lookup rdzv-0.train.svc on 10.4.0.10:53: no such host"',
    "glibc": "rank {0}: store rdzv-0.train.svc:29800: Name or service not known",
    "Java": "rank {0} java.net.UnknownHostException: rdzv-0.train.svc",
    "in words": "rank {0}: could not resolve host rdzv-0.train.svc",
}


def unknown(folder: Path, form: str, *, after: str = "", of: tuple[int, ...] = tuple(range(RANKS))) -> Verdict:
    for rank in range(RANKS):
        said = [UNKNOWN[form].format(rank)] * 2 if rank in of else [f"rank {rank} waits"]
        text = "\n".join([f"hello from rank {rank} of {RANKS}", *said, *([after] * 4 if after else ["leaving"])])
        (folder / f"p{rank}.log").write_text(text + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize("form", UNKNOWN)
def test_a_name_that_nobody_could_resolve_is_no_ranks_fault(tmp_path: Path, form: str) -> None:
    found = unknown(tmp_path, form)
    assert (found.kind, found.ranks, found.hosts, found.suspects.ranks) == ("launch", [], [], [])


@pytest.mark.parametrize("form", UNKNOWN)
def test_a_name_is_not_why_it_ended_where_more_was_done_or_most_could(tmp_path: Path, form: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert unknown(tmp_path / "a", form, after="round done").kind != "launch"
    assert unknown(tmp_path / "b", form, of=(0, 1, 2)).kind != "launch"
