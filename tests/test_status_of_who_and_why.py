"""Two words: how sure it is who is named, and how sure it is why (contract 1.2). Who gave up knows who is missing, not why."""

import json

import pytest

from forensics.model.incident import Verdict
from reports.language import Language
from reports.voice import voice_of
from tests.hang_tables import Rows


def job_of(kind: str, code: str, *, exit_code: str | None = None, waits: bool = True) -> Rows:
    """Rank 2 of four fails by its own log; the launcher tells a code, and the others time out."""
    job = Rows(4)
    traceback = json.dumps({"frames": [["step", "/job/train.py", 40]], "at": "labels = batch[key]", "from_line": 1})
    job.event(kind, rank=2, code=code, text=f"{code}: words", line=1, detail=traceback)
    if exit_code is not None:
        job.event("exit", rank=2, code=exit_code, file="launcher.log")
    for rank in (0, 1, 3) if waits else ():
        job.timeout(rank, "world", 7)
    return job


def crashed(kind: str, code: str, *, exit_code: str | None = None, waits: bool = True) -> Verdict:
    return job_of(kind, code, exit_code=exit_code, waits=waits).verdict(hung=False)


@pytest.mark.parametrize("exit_code", [None, "1"])
def test_peers_and_a_plain_code_agree_who_failed_and_know_no_reason(exit_code: str | None) -> None:
    verdict = crashed("exception", "KeyError", exit_code=exit_code)
    assert (verdict.ranks, verdict.cause) == ([2], "exception")
    assert (verdict.status_who, verdict.status_why, verdict.status) == ("established", "supported", "supported")
    assert verdict.status_rule.startswith("who: established; why: supported; ")
    assert verdict.status_rule.zh.startswith("责任方：已证实；原因：单一来源；")  # type: ignore[attr-defined]


def test_a_signal_that_launcher_and_process_tell_is_established_both_ways() -> None:
    verdict = crashed("segfault", "SIGSEGV", exit_code="SIGSEGV")
    assert (verdict.cause, verdict.status_who, verdict.status_why) == ("segfault", "established", "established")
    assert verdict.status == "established" and not verdict.status_rule.startswith("who")


def test_one_witness_supports_both() -> None:
    verdict = crashed("exception", "KeyError", waits=False)
    assert (verdict.status_who, verdict.status_why, verdict.status) == ("supported", "supported", "supported")


def test_what_is_not_claimed_has_no_word() -> None:
    gone = Rows(4)
    gone.event("exit", rank=2, code="SYSTEM_ERROR", file="driver.log")
    for rank in (0, 1, 3):
        gone.event("peer_closed", rank=rank)
    verdict = gone.verdict(hung=False)
    assert (verdict.ranks, verdict.cause, verdict.status_why) == ([2], None, None)
    assert verdict.status_who == verdict.status
    nobody = Rows(4).event("gpu_oom", text="out of memory", file="job.log").verdict(hung=False)
    assert (nobody.cause, nobody.ranks, nobody.status_who) == ("gpu_oom", [], None)
    assert nobody.status_why == nobody.status


@pytest.mark.parametrize(
    ("kind", "code", "exit_code", "waits"),
    [("exception", "KeyError", None, True), ("exception", "KeyError", "1", True), ("exception", "KeyError", None, False),
     ("segfault", "SIGSEGV", "SIGSEGV", True), ("gpu_oom", "CUDA out of memory", None, True)],
)  # fmt: skip
@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_word_stands_before_a_rule_that_tells_both(
    kind: str, code: str, exit_code: str | None, waits: bool, language: Language
) -> None:
    job = job_of(kind, code, exit_code=exit_code, waits=waits)
    incident = job.incident(hung=False)
    told, rule = voice_of(language).why(incident), voice_of(language).rule(incident.verdict)
    assert (told == rule) is rule.startswith(("who: ", "责任方：")) and told.endswith(rule)


@pytest.mark.parametrize(
    ("codes", "word"),
    [
        (["SIGTERM"], "supported"),
        (["SIGINT"], "supported"),
        (["1"], "supported"),
        (["SIGTERM", "1"], "supported"),
        ([], "supported"),
    ],
    ids=["a stop", "an interrupt", "a plain code", "both", "no launcher"],
)
def test_a_launcher_that_stopped_others_knows_no_reason(codes: list[str], word: str) -> None:
    """Most raise alike, so nobody is named: the cause alone is claimed, and the stop of the rest tells nothing of it."""
    job = Rows(8).placed()
    for rank in range(5):
        detail = json.dumps({"frames": [["save", "/job/save.py", 9]], "at": "raise Full(n)", "from_line": 1})
        job.event("exception", rank=rank, code="Full", text="job.Full: 9", line=1, detail=detail)
    for rank, code in zip((5, 6, 7), codes * 3, strict=False):
        job.event("exit", rank=rank, code=code, file="launcher.log", line=rank)
    verdict = job.verdict(hung=False)
    assert (verdict.ranks, verdict.cause, verdict.status_why) == ([], "exception", word)
