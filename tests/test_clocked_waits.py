"""All others gave up a call in which they waited for one rank, and that one alone tells, in whatever words, for how many seconds it has waited for
something of its own: it was there, and not in the call. Who only tells how long nothing moves, or is called by nobody, is not named for it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict
from tests.sources import written

RANKS, AWAY = 8, 5
BEGAN, LIMIT = 11 * 3600 + 21 * 60, 1800


def clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


Say = Callable[[int], str]  # seconds since it began → the line
FORMS: dict[str, Say] = {
    "MindSpore": lambda s: (
        f"[WARNING] MD(66415,fffe117fa120,python):2026-09-03-{clock(BEGAN + s)}.345.207 [mindspore/ccsrc/minddata/data_queue_op.cc:921] DetectPerBatchTime] Bad performance attention, it takes more than {s} seconds to fetch a batch of data from dataset pipeline."
    ),
    "logging": lambda s: (
        f"2026-09-03 {clock(BEGAN + s)},100 - reader - WARNING - still opening shard_02217.rec, {s}s so far"
    ),
    "logfmt": lambda s: (
        f'time=2026-09-03T{clock(BEGAN + s)}Z level=warn msg="slow read" path=/data/02217 elapsed_s={s}'
    ),
    "milliseconds": lambda s: f"2026-09-03T{clock(BEGAN + s)}Z WARN cache: fill of block 71 took {1000 * s} ms already",
    "JSON": lambda s: (
        f'{{"ts": "2026-09-03T{clock(BEGAN + s)}Z", "lvl": "warn", "msg": "fetch pending", "shard": 2217, "seconds": {s}}}'
    ),
    "glog": lambda s: f"W20260903 {clock(BEGAN + s)}.000100 66415 blob.cc:88] GET bucket/02217 outstanding for {s} s",
    "German": lambda s: f"2026-09-03 {clock(BEGAN + s)} WARNUNG Datei 02217 seit {s} s nicht lesbar",
    "Chinese": lambda s: f"2026-09-03 {clock(BEGAN + s)} 警告 读取分片 02217 已用 {s} 秒",
    "bare": lambda s: f"[2026-09-03 {clock(BEGAN + s)}] prefetch stalled ({s}/3600)",
    "words before": lambda s: (
        f"2026-09-03 {clock(BEGAN + s)} loader[3]: {s} seconds without an item from the queue 'train'"
    ),
}
EI = (
    "EI0002: [PID: {pid}] 2026-09-03-{at}.942.102 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify "
    "record from remote rank: [{called}]. base information: [streamID:[30], taskID[9010], taskType[Notify Wait], tag[AllReduce_hccl_world_group], AlgType(level "
    "0-1-2):[ring-NHR-NHR].]. task information: [notify id:[0x6d1d4954], stage:[0]]. group information: [group:[hccl_world_group], user define information[], "
    "rankSize[8], rankId[{rank}].]"
)


def job(
    folder: Path,
    say: Say | None,
    *,
    called: int | None = AWAY,
    monitor: int | None = None,
    every: Sequence[int] = range(155, 1861, 155),
) -> Verdict:
    """`called`: whom the others' lines call; `monitor`: a rank that tells how long nothing moves besides."""
    files: dict[str, list[str]] = {}
    for rank in range(RANKS):
        lines = [f"2026-09-03 08:02:40,980 - fit - INFO - rank_id: {rank}, device_num: {RANKS}, pid {66410 + rank}"]
        lines += [
            f"2026-09-03 {clock(BEGAN - 30 * at)},028 - fit - INFO - step {8840 - at} loss: 2.{193 + at}"
            for at in range(8, -1, -1)
        ]
        if rank == AWAY:
            lines += [say(second) for second in every] if say else []
            lines += ["Received signal 15, worker process exits."]
        else:
            lines += (
                [f"2026-09-03 {clock(BEGAN + s)} watch: no step for {s} s" for s in every] if rank == monitor else []
            )
            lines += [
                "Traceback (most recent call last):",
                '  File "/app/fit.py", line 906, in train',
                "    outputs = network(*inputs)",
                "RuntimeError: Run task for graph error! The details refer to 'Ascend Error Message'.",
                "",
                "- Ascend Error Message:",
            ]
            lines += [
                EI.format(
                    pid=66410 + rank,
                    at=clock(BEGAN + LIMIT + rank),
                    rank=rank,
                    called=called if called is not None else (rank + 1) % RANKS,
                )
            ]
        files[f"worker_{rank}.log"] = lines
    return analyze(written(folder, files)).verdict


@pytest.mark.parametrize("form", FORMS)
def test_who_tells_how_long_it_waited_for_something_of_its_own(tmp_path: Path, form: str) -> None:
    verdict = job(tmp_path, FORMS[form])
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("hang", "rank_absent", [AWAY]), verdict.summary


@pytest.mark.parametrize(
    ("say", "how"),
    [
        (None, {}),
        (FORMS["logging"], {"called": None}),
        (FORMS["logging"], {"called": 2}),
        (FORMS["logging"], {"every": (155, 310)}),
        (lambda s: f"2026-09-03 {clock(BEGAN + s)} WARN batch {7 * s} of 90000 read", {}),
        (lambda s: f"2026-09-03 {clock(BEGAN + s)} watch: no step for {s} s", {"monitor": 2}),
    ],
    ids=[
        "it told nothing",
        "they call each another",
        "they call somebody else",
        "twice",
        "a count of something else",
        "another rank tells it, too",
    ],
)
def test_else_it_is_not_named_for_it(tmp_path: Path, say: Say | None, how: dict[str, object]) -> None:
    assert not job(tmp_path, say, **how).ranks  # type: ignore[arg-type]
