"""A kubelet's word that it killed a container or a pod: of the ranks that run there, if they fell silent and others waited for them."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

import forensics
from forensics.model.incident import Verdict
from samples.situations.job import Job, s

PROBE = "Container trainer failed liveness probe, will be restarted"
SHIPPER = "Container shipper failed liveness probe, will be restarted"
EVICTED = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 91Mi."
Event = tuple[float, str, str, str]  # seconds after the last step, pod, reason, message


def _job(events: list[Event], silent: list[int], as_json: bool = False) -> Job:
    job = Job("llm-7b", [f"llm-7b-worker-{i}" for i in range(4)], 1, "2026-10-04T09:00:00", "flat", "2.6")
    job.start()
    end = job.steps(47, 50, job.t0 + s(15))

    def at(seconds: float) -> str:
        return f"{end + dt.timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"

    if as_json:
        items = [
            {"kind": "Event", "type": "Normal", "reason": reason, "message": text, "lastTimestamp": at(after), "involvedObject": {"kind": "Pod", "name": pod}}
            for after, pod, reason, text in events
        ]  # fmt: skip
        job.file("events.json", json.dumps({"kind": "List", "items": items}))
    else:
        rows = [f"{at(after)}   Normal    {reason}     pod/{pod}   {text}\n" for after, pod, reason, text in events]
        job.file("events.txt", "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n" + "".join(rows))
    job.all_timeout(end + s(602), 204, [rank for rank in job.ranks if rank not in silent])
    return job


def _verdict(folder: Path, events: list[Event], silent: list[int], **how: Any) -> Verdict:
    _job(events, silent, **how).write(folder / "bundle")
    return forensics.analyze(folder / "bundle").verdict


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("reason", "text"), [("Killing", PROBE), ("Evicted", EVICTED)])
def test_whose_pod_was_killed_and_who_fell_silent_is_named(
    tmp_path: Path, reason: str, text: str, as_json: bool
) -> None:
    verdict = _verdict(tmp_path, [(5, "llm-7b-worker-3", reason, text)], [3], as_json=as_json)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [3])


@pytest.mark.parametrize(
    ("events", "silent"),
    [
        pytest.param([(5, "shop-cart-0", "Killing", PROBE)], [3], id="another pod"),
        pytest.param([(5, "llm-7b-worker-2", "Killing", PROBE)], [3], id="of a rank that gave up later"),
        pytest.param([(5, "llm-7b-worker-3", "Killing", SHIPPER), (-30, "llm-7b-worker-3", "Started", "Started container trainer")], [3], id="one of several containers"),
        pytest.param([(-90, "llm-7b-worker-3", "Killing", PROBE)], [3], id="outlived by later steps"),
        pytest.param([(700, "llm-7b-worker-3", "Killing", PROBE)], [3], id="after the others had given up"),
        pytest.param([(5, "llm-7b-worker-3", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500")], [3], id="not killed for it"),
        pytest.param([(5, "llm-7b-worker-3", "Killing", PROBE)], [], id="nobody is silent"),
    ],
)  # fmt: skip
def test_what_was_not_the_end_of_a_rank_names_nobody(tmp_path: Path, events: list[Event], silent: list[int]) -> None:
    verdict = _verdict(tmp_path, events, silent)
    assert (verdict.cause, verdict.ranks) == (None, [])


def _by_files(folder: Path, name: str) -> tuple[str | None, list[int]]:
    """A killed pod of which nothing but the name of a file says whose it is; the others lose their connections."""
    for rank in range(4):
        pod = f"sft-w-{rank + 7}"
        lost = "2026-10-04 09:05:02 RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.3.9]:4711\n"
        steps = "".join(
            f"2026-10-04 09:04:{5 * step:02} rank={rank} world_size=4 step={step} loss=2.{step}\n" for step in range(9)
        )
        path = folder / name.format(pod)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(steps + ("" if rank == 2 else lost))
    row = f"2026-10-04T09:05:00Z   Normal    Killing     pod/sft-w-9   {PROBE}\n"
    (folder / "events.txt").write_text("LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n" + row)
    found = forensics.analyze(folder).verdict
    return found.cause, found.ranks


@pytest.mark.parametrize("name", ["pods/{}.log", "{}/trainer/0.log", "{}.previous.txt"])
def test_a_log_that_is_called_as_a_pod_is_that_pods(tmp_path: Path, name: str) -> None:
    assert _by_files(tmp_path, name) == ("killed", [2])


@pytest.mark.parametrize("name", ["x{}.log", "log/{}0.txt"])
def test_a_log_that_is_called_nearly_so_is_not(tmp_path: Path, name: str) -> None:
    assert _by_files(tmp_path, name) == (None, [])
