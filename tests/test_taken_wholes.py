"""A scheduler takes a whole of pods away: a workload, a job, a group. Who is missed behind that is no fault's; and what it takes of another job stops none."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

KUEUE = "Preempted to accommodate a workload (UID: 8b2f-13, JobUID: 2cc2-40) due to prioritization in the ClusterQueue"

_POD = "fit-w-{}"


Form = Callable[[Sequence[tuple[int, str, str, str]]], list[str]]


def _stamp(second: int) -> str:
    return f"2026-03-01T10:{second // 60:02}:{second % 60:02}Z"


def _table(rows: Sequence[tuple[int, str, str, str]], head: bool = True) -> list[str]:
    own = [f"{_stamp(at)}   Normal   {reason}   {what}   {text}" for at, reason, what, text in rows]
    return [*(["LAST SEEN   TYPE   REASON   OBJECT   MESSAGE"] if head else []), *own]


def _wide(rows: Sequence[tuple[int, str, str, str]]) -> list[str]:
    return ["$ kubectl -n lab get events", *_table(rows)]


def _bare(rows: Sequence[tuple[int, str, str, str]]) -> list[str]:
    return _table(rows, head=False)


def _json(rows: Sequence[tuple[int, str, str, str]]) -> list[str]:
    def item(at: int, reason: str, what: str, text: str) -> dict[str, object]:
        kind, _, name = what.partition("/")
        about = {"kind": kind.capitalize(), "name": name}
        return {
            "kind": "Event",
            "type": "Normal",
            "reason": reason,
            "message": text,
            "involvedObject": about,
            "lastTimestamp": _stamp(at),
        }

    return [json.dumps({"kind": "List", "items": [item(*row) for row in rows]})]


def _ages(rows: Sequence[tuple[int, str, str, str]]) -> list[str]:
    own = [f"{9 - at // 300}m   Normal   {reason}   {what}   {text}" for at, reason, what, text in rows]
    return ["LAST SEEN   TYPE   REASON   OBJECT   MESSAGE", *own]


def _logs(number: int, missed: int, noticed: bool = True) -> dict[str, list[str]]:
    """Each rank's log: some miss one of them, who left first."""
    logs: dict[str, list[str]] = {}
    for rank in range(number):
        at = "2026-03-01 10:09:"
        own = [f"2026-03-01 10:00:0{rank % 10} process {rank} of {number} starting on {_POD.format(rank)}"]
        own += [f"2026-03-01 10:0{step}:00 step {step} loss 2.{9 - step}" for step in range(1, 8)]
        if rank == missed:
            own += [f"{at}06 WARNING Received SIGTERM"] if noticed else []
        elif rank % 2 == 0:
            own += [
                "E0301 10:09:17.100000     128 coordination_service.cc:1154] Use error polling to propagate the following error to all tasks: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):",
                f"/job:jax_worker/replica:0/task:{missed}",
            ]
        logs[f"logs/{_POD.format(rank)}.log"] = own
    return logs


def _taken(whole: str, number: int, reason: str = "Preempted", said: str = KUEUE) -> list[tuple[int, str, str, str]]:
    rows = [(0, "Started", f"pod/{_POD.format(rank)}", "Started container main") for rank in range(number)]
    rows += [(544, reason, whole, said)]
    return rows + [(546, "Killing", f"pod/{_POD.format(rank)}", "Stopping container main") for rank in range(number)]


def _verdict(folder: Path, files: Mapping[str, Sequence[str]]) -> Verdict:
    return analyze(str(written(folder, files))).verdict


@pytest.mark.parametrize(
    ("whole", "number", "missed", "form"),
    [
        ("workload/jobset-fit-7ac01", 8, 3, _wide),
        ("workload/job-fit-w-1f9b2", 4, 1, _table),
        ("workload/pytorchjob-fit-0aa12", 6, 5, _bare),
        ("workload/fit-w", 4, 3, _json),
        ("podgroup/fit-w-8c1d2f30", 4, 1, _table),
        ("podgroup/fit-3f2a9b1c-0d4e-4b6a-9c2d-71e0a5b3c8d9", 8, 7, _wide),
        ("job/fit-w", 4, 1, _json),
        ("jobset/fit", 8, 5, _bare),
        ("rayjob/fit-w", 4, 3, _ages),
        ("workload/run-20260301-77", 4, 1, _table),  # called otherwise; its pods were stopped with it
        ("queuejob/w9", 6, 3, _json),
        ("mpijob/fit", 16, 3, _ages),
    ],
)
def test_who_is_missed_behind_it_was_taken(tmp_path: Path, whole: str, number: int, missed: int, form: Form) -> None:
    found = _verdict(tmp_path, {"events.txt": form(_taken(whole, number)), **_logs(number, missed)})
    assert (found.kind, found.cause, found.ranks, found.suspects.ranks) == ("crash", "preempted", [], [])


def test_what_is_taken_of_another_job_stops_none(tmp_path: Path) -> None:
    rows = [(0, "Started", f"pod/{_POD.format(rank)}", "Started container main") for rank in range(8)]
    found = _verdict(tmp_path, {"e.txt": _table([*rows, (544, "Preempted", "workload/job-eval-1f9b2", KUEUE)]), **_logs(8, 3)})  # fmt: skip
    assert found.cause != "preempted"


def test_one_pod_that_was_stopped_before_is_not_taken(tmp_path: Path) -> None:
    rows = [(0, "Started", f"pod/{_POD.format(rank)}", "Started container main") for rank in range(8)]
    rows += [(60, "Killing", "pod/fit-w-3", "Stopping container main")]
    found = _verdict(tmp_path, {"e.txt": _table([*rows, (544, "Preempted", "workload/job-eval-1f9b2", KUEUE)]), **_logs(8, 3)})  # fmt: skip
    assert found.cause != "preempted"


def test_a_container_that_failed_its_probe_is_not_taken(tmp_path: Path) -> None:
    rows = [(0, "Started", f"pod/{_POD.format(rank)}", "Started container main") for rank in range(8)]
    rows += [(544, "Preempted", "workload/job-eval-1f9b2", KUEUE)]
    rows += [(546, "Killing", "pod/fit-w-3", "Container main failed liveness probe, will be restarted")]
    assert _verdict(tmp_path, {"e.txt": _table(rows), **_logs(8, 3)}).cause != "preempted"


def test_words_alike_at_the_beginning_of_names_join_no_job(tmp_path: Path) -> None:
    rows = [(0, "Started", f"pod/{_POD.format(rank)}", "Started container main") for rank in range(8)]
    rows += [(544, "Preempted", "workload/job-fit-eval-1f9b2", KUEUE)]
    assert _verdict(tmp_path, {"e.txt": _table(rows), **_logs(8, 3)}).cause != "preempted"
