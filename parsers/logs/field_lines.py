"""Lines of a log that hold a record: an object, `key=value`, or pairs in prose, whoever wrote them and under whatever names.

    {"time": "2026-01-31T10:11:12.689Z", "rank": 3, "host": "n1", "step": 5, "data_ms": 3.1, "forward_ms": 210.0, "step_ms": 691.2}
    {"ts": 1769854272.689, "global_rank": 3, "iteration": 5, "dataloader_s": 0.0031, "step_s": 0.6912, "loss": 2.1}
    {"step": 5, "times_ms": {"fwd": 210.0, "bwd": 430.0}, "tokens": 8192}
    {"global_step": 5, "train/loss": 2.1, "time/step": 0.691, "time/data": 0.003}
    {"step": 5, "rank": 3, "metrics": {"local_loss": NaN, "grad_norm": 0.87}}
    {"log": "{\\"step\\": 5, \\"loss\\": 2.1}\\n", "stream": "stdout"}
    level=info rank=3 iteration=5 lm_loss=nan gnorm=nan
    trainer: lm loss 2.1, grad norm 0.9, iteration 5
    worker rank=3 pid=4711 exitcode=-9
    {"msg": "child exited", "rank": 3, "pid": 4711, "status": "signal: killed"}                  what Go says of a process
    {"step": 40, "event": "training_complete", "rank": 3}           the last words, an end where all say so (assemble/ends/closings.py)

What a name means is told by parsers/text/vocabulary.py and parsers/text/durations.py. The rank is the record's own, else that of the line or path. Only
lines come here that no other parser has read; a sentence that mentions figures is no record.

Printed by: timers that training programs bring along; trackers that log to a file; wrappers of processes.
Versions: any; the number of the step and a time, a loss or a norm, or a process and its exit, must stand in one record.
Source: this project's own samples.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.forms.reading import whole
from parsers.scheduling.exit_rows import exit_row
from parsers.schema.event_kinds import CLOSING, LAST_STEP
from parsers.schema.lines import claimed, event, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.counted_lines import counted
from parsers.training.progress import CLOSED
from parsers.training.step_figures import figures, is_unnamed


def parse(lines: pl.DataFrame) -> Tables:
    """timings: a row per time, level 0, `name` as printed; steps: a row per record; ranks: who runs where, once; events exit."""
    steps: list[dict[str, Any]] = []
    timings: list[dict[str, Any]] = []
    values: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    hosts: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row, said in counted(lines):
        who = reporter(row) | {"time_ns": row["time_ns"], "time_basis": row["time_basis"]}
        if any(isinstance(cell := said.get(name), str) and _CLOSED.fullmatch(cell) for name in _MESSAGES):
            told = vocabulary.told(said)
            step, rank = (whole(told.get(name)) for name in ("step", "rank"))
            whose = {} if rank is None else {"rank": rank, "rank_space": "global"}
            events.append(event(row, "job_end", severity="info", code=CLOSING, step=step, **whose))
        if (found := figures(said, who)) is not None and not is_unnamed(found):
            steps += found.steps
            timings += found.timings
            values += found.values
            last = [one for one in found.steps if _is_last(row["text"], one, said)]
            events += [event(row, "job_end", severity="info", code=LAST_STEP) for _ in last]
            for one in found.ranks:
                hosts.setdefault((one["file"], one["rank"], one["host"]), one)
        elif (ended := exit_row(said, row["text"])) is not None:
            stamp = {name: who[name] for name in ("time_ns", "time_basis") if who["time_ns"] is not None}
            events.append(event(row, **ended | stamp))
    known = claimed((row["file"], row["line"]) for row in steps)
    return tables_of(timings=timings, steps=steps, values=values, events=events, ranks=hosts.values(), claimed=known)


def _is_last(text: str, step: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    """`it 1000/1000`: the count of the record, and no other of it, is the last that was announced; counts of an epoch announce none."""
    return "epoch" not in vocabulary.meanings(said) and any(int(at[1]) == step["step"] for at in _LAST.finditer(text))


_LAST = regex(r"(?<![\d./:-])(\d{1,15}) ?/ ?\1(?![\d./:-])")
_CLOSED = regex(CLOSED)
_MESSAGES = ("msg", "message", "event")
_TIMES = ("ms", "s", "us", "sec", "secs", "seconds", "time", "dt")
_AFTER = ("=", ":", " ", "'", '"', '\\"')


def _before(word: str) -> tuple[str, ...]:
    """What stands before a name: a short one ends many words (`place`)."""
    return (" ", "_", "/", "'", '"', "(", "[", "{", "|", ",") if len(word) <= 2 else ("",)


PARSER = LineParser(
    name="field_lines",
    anchors=(
        *(f'_{unit}"'.encode() for unit in _TIMES), *(f"_{unit}=".encode() for unit in _TIMES), b'"dt"', b'"time', b'"timing', b"/time", b'Ms"', b'Time"',
        *(f"{before}{word}{after}".encode() for word in sorted(vocabulary.figure_words()) for before in _before(word) for after in _AFTER),
        *(f"{figure}{after}".encode() for figure in ("oss", "norm") for after in (*_AFTER, "(", "[")),
        *(f"{figure}_{word}".encode() for figure in ("oss", "norm") for word in sorted(vocabulary.whose())),
        b"ples/s", b"kens/s", b"ages/s", b"mgs/s", b"uences/s", b"ords/s", b"rames/s",
        *(f"{word}{after}".encode() for word in ("crc", "crc32", "sha256", "sha1", "md5", "hash", "hecksum", "igest") for after in _AFTER),
        b"complete", b"finished", b"essfully", b'done"', b'_end"', b'ended"',
        "损失".encode(), "梯度".encode(),
        b'xit_code', b'xitcode', b'eturncode', b'eturn_code', b'xit_status', b'exit status ', b'"signal: ', b'"signal"', b'signal=SIG',
    ),
    parse=parse,
    leftover=True,
)  # fmt: skip
