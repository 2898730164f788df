"""The training log alone: NaN that shows or hides, assertions, spikes, and the loss scale of fp16."""

from typing import Any

import pytest
from msgspec.structs import replace

from forensics.analyze import about
from forensics.case import Case
from forensics.detectors.numerics import loss_log, loss_scale
from forensics.verdict.conclude import choose
from parsers.schema.tables import empty, table
from tests.log_cases import case as rank_cases
from tests.log_cases import judged
from tests.tensor_rows import Job, case_of

NAN, INF = float("nan"), float("inf")


def log(rows: list[dict[str, Any]], events: list[dict[str, Any]] | None = None) -> Case:
    lines = [
        {"step": at, "phase": "train", "loss_seen": row.get("loss") is not None, "file": "train.log", "line": at} | row
        for at, row in enumerate(rows, 1)
    ]
    made = [{"file": "train.log", "line": 1000 + at} | row for at, row in enumerate(events or [])]
    return case_of(empty("tensors"), steps=table("steps", lines), events=table("events", made))


@pytest.mark.parametrize(
    ("last", "value"),
    [
        ({"loss": NAN}, "nan"),
        ({"loss": float("inf")}, "inf"),
        ({"grad_norm": NAN, "skipped": 0}, "nan"),
        ({"skipped": 0}, "nan"),
        ({}, "nan"),
        ({"loss": 0.0, "grad_norm": NAN}, "nan"),
        ({"loss": 2.0, "grad_norm": NAN, "skipped": 0}, "nan"),
    ],
    ids=["loss nan", "loss inf", "T30 vanished with norm nan", "T30 vanished", "T30 cut line", "T31 zero", "norm"],
)
def test_nan_is_seen_at_its_step(last: dict[str, Any], value: str) -> None:
    found = judged(log([{"loss": 2.0}, {"loss": 2.1}, last]), loss_log.DETECTOR)
    anomaly = found.finding.first_anomaly
    assert (found.kind, anomaly.step, anomaly.value) == ("numerics", 3, value)
    assert (found.ranks, found.is_proven) == ((), False)


@pytest.mark.parametrize(
    "last",
    [
        {"skipped": 1},
        {"skipped": 1, "grad_norm": NAN, "loss": 2.0},
        {"skipped": 1, "grad_norm": float("inf"), "loss_scale": 32768.0},
        {"loss": 2.2},
    ],
    ids=["skipped step", "skipped step with norm", "overflow that halves the loss scale", "well"],
)
def test_no_nan(last: dict[str, Any]) -> None:
    assert loss_log.DETECTOR.detect(log([{"loss": 2.0}, {"loss": 2.1}, last])) == ()


def test_a_log_that_never_prints_a_loss_says_nothing() -> None:
    assert loss_log.DETECTOR.detect(log([{}, {}, {}])) == ()


def test_assertions_make_suspects_and_name_nobody() -> None:
    check = {"kind": "nan_assert", "names_ranks": [11], "names_rank_space": "global", "text": "found NaN"}
    (found,) = loss_log.DETECTOR.detect(log([], [check]))
    assert (found.ranks, found.suspect_ranks, found.cause) == ((), (11,), "nan_birth")


def _own(rank: int, step: int) -> float:
    return 2.0 + 0.01 * rank - 0.001 * step


def _paired(rank: int, step: int) -> float:
    return _own(rank // 2, step)


def _ranks(loss: Any, first_nan: dict[int, int]) -> dict[str, list[dict[str, Any]]]:
    """Progress lines of 8 ranks; from the step in `first_nan` (9 for all others) their loss is NaN."""
    return {
        "steps": [
            {"rank": rank, "step": step, "loss": loss(rank, step) if step < first_nan.get(rank, 9) else NAN,
             "file": f"{rank}.log", "line": step}
            for rank in range(8) for step in range(1, 12)
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "first_nan", "ranks"),
    [
        (_own, {3: 8}, (3,)),
        (_own, {3: 8, 5: 8}, (3, 5)),
        (_own, {}, ()),
        (_paired, {2: 8, 3: 8}, ()),
        (_paired, {3: 8}, ()),
    ],
    ids=["one first", "two first", "all at once", "tensor-parallel pair", "one of a pair printed first"],
)
def test_whose_own_loss_was_bad_first_is_named_where_ranks_share_nothing(
    loss: Any, first_nan: dict[int, int], ranks: tuple[int, ...]
) -> None:
    (found,) = loss_log.DETECTOR.detect(rank_cases(expected=8, **_ranks(loss, first_nan)))
    assert (found.ranks, found.first_anomaly.step) == (ranks, 8 if first_nan else 9)


@pytest.mark.parametrize("apart", [False, True], ids=["in the line of the loss", "in a line of its own, before it"])
@pytest.mark.parametrize(("first_nan", "ranks"), [({3: 8}, (3,)), ({}, ())], ids=["one lost its loss", "none did"])
def test_a_gradient_norm_that_is_nan_on_all_ranks_names_nobody(
    first_nan: dict[int, int], ranks: tuple[int, ...], apart: bool
) -> None:
    """It is of what all have summed: NaN on every rank in the step in which one rank's loss is."""
    steps: list[dict[str, Any]] = []
    for row in _ranks(_own, first_nan)["steps"]:
        norm = {"grad_norm": NAN if row["step"] >= 8 else 1.0 + 0.1 * row["step"]}
        steps += [row | norm | {"loss": None}, row | {"line": 100 + row["line"]}] if apart else [row | norm]
    (found,) = loss_log.DETECTOR.detect(rank_cases(expected=8, steps=steps))
    assert (found.ranks, found.suspect_ranks, found.first_anomaly.step) == (ranks, (), 8)


@pytest.mark.parametrize(("loss", "named"), [(_own, (5,)), (_paired, ())])
def test_the_anomaly_mode_of_one_rank_names_it_where_ranks_share_nothing(loss: Any, named: tuple[int, ...]) -> None:
    text = "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output."
    check = {"kind": "nan_assert", "code": "anomaly_mode", "rank": 5, "names_ranks": [5], "text": text}
    steps = [row for row in _ranks(loss, {})["steps"] if row["step"] < 9]
    (found,) = loss_log.DETECTOR.detect(rank_cases([check], expected=8, steps=steps))
    assert found.ranks == named


@pytest.mark.parametrize(
    ("code", "rank", "named"),
    [("grad_norm", 0, ()), ("grad_norm", 5, ()), ("loss", 0, ()), ("loss", 5, (5,))],
    ids=["the norm of all", "a norm on one rank", "rank 0 prints the loss of all", "another rank's own loss"],
)
def test_a_bare_value_in_a_line_names_whom_it_is_of(code: str, rank: int, named: tuple[int, ...]) -> None:
    line = {"kind": "nan_assert", "code": code, "rank": rank, "step": 9, "text": f"{code}=nan"}
    steps = [row for row in _ranks(_own, {})["steps"] if row["step"] < 9]
    (found,) = loss_log.DETECTOR.detect(rank_cases([line], expected=8, steps=steps))
    assert (found.ranks, found.suspect_ranks) == (named, () if named else (rank,))


def test_a_scale_that_cannot_fall_any_more_did_not_find_its_level() -> None:
    rows = [{"loss": 2.0, "loss_scale": 65536.0, "skipped": 0}] * 60
    rows += [{"loss_scale": max(1.0, 65536.0 / 2**at), "skipped": 1} for at in range(40)]
    (found,) = loss_scale.DETECTOR.detect(log(rows))
    assert (found.cause, found.first_anomaly.step) == ("loss_scale_collapse", 62)


def test_anomaly_mode_tells_the_operator() -> None:
    text = "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output."
    (found,) = loss_log.DETECTOR.detect(log([], [{"kind": "exception", "text": text, "rank": 2}]))
    assert (found.first_anomaly.op, found.ranks) == ("SqrtBackward0", ())


def test_other_exceptions_are_left_alone() -> None:
    assert loss_log.DETECTOR.detect(log([], [{"kind": "exception", "text": "ValueError: nan"}])) == ()


CALM = [{"loss": 2.0 + 0.01 * (at % 3), "grad_norm": 0.2} for at in range(10)]


def test_spike_begins_where_the_gradient_grows() -> None:
    rows = [*CALM, {"loss": 2.0, "grad_norm": 2.0}, {"loss": 2.1, "grad_norm": 40.0}, {"loss": 5.0, "grad_norm": 900.0}]
    (found,) = loss_log.DETECTOR.detect(log([*rows, *CALM]))
    assert (found.cause, found.first_anomaly.step, found.severity) == ("loss_spike", 11, "severe")


@pytest.mark.parametrize(
    "rows",
    [
        [{"loss": 11.0 - at} for at in range(9)],
        [*CALM, {"loss": 2.4}, *CALM],
        [*CALM, {"loss": 5.0, "grad_norm": 0.2}, *CALM],
        [{"loss": 0.18}, {"loss": 0.17}, {"loss": 0.31}, {"loss": 0.19}],
    ],
    ids=["early descent", "small", "one line that left no trace", "noise of a small run"],
)
def test_no_spike(rows: list[dict[str, Any]]) -> None:
    assert loss_log.DETECTOR.detect(log(rows)) == ()


def test_few_noisy_losses_make_no_spike() -> None:
    """A small model: batches of four differ by a factor of ten. Later, the same rise is one."""
    noise = [0.05, 0.002, 0.004]
    rise = [0.035, 0.037, 0.11, 0.038]
    assert loss_log.DETECTOR.detect(log([{"loss": loss} for loss in noise + rise])) == ()
    (found,) = loss_log.DETECTOR.detect(log([{"loss": loss} for loss in [0.002, 0.004, 0.003] * 4 + rise]))
    assert (found.cause, found.first_anomaly.step) == ("loss_spike", 13)


def test_a_calm_gradient_long_before_does_not_move_the_onset() -> None:
    norms = [0.5, 1.2, 1.1, 0.05, 0.8, 0.6, 19.0, 20.0]
    losses = [0.1] * 6 + [50.0, 70.0]
    rows = [{"loss": loss, "grad_norm": norm} for loss, norm in zip(losses, norms, strict=True)]
    (found,) = loss_log.DETECTOR.detect(log(rows))
    assert found.first_anomaly.step == 7


@pytest.mark.parametrize(("peaks", "told"), [((60,), None), ((60, 90, 140), "3 such spikes, step 60 to step 140")])
def test_further_spikes_are_counted(peaks: tuple[int, ...], told: str | None) -> None:
    rows = [
        {
            "loss": 6.0 - 0.1 * (at % 3) if any(0 <= at - peak < 5 for peak in peaks) else 2.0 + 0.01 * (at % 3),
            "grad_norm": 0.5,
        }
        for at in range(1, 180)
    ]
    (found,) = loss_log.DETECTOR.detect(log(rows))
    assert [claim.text for claim in found.claims[1:]] == ([told] if told else [])


def test_t35_a_restart_is_a_series_of_its_own() -> None:
    rows = [{"loss": 2.0, "step": step} for step in range(10)] + [
        {"loss": 8.0 - step, "step": step} for step in range(5)
    ]
    assert loss_log.DETECTOR.detect(log(rows)) == ()


def _resumed(before: int, now: list[float], first: int) -> Case:
    """An attempt that printed losses near 2 up to step `before`; this one's, from step `first` on."""
    old = table("steps", [{"step": n, "loss": 2 + n % 3 / 10, "file": "old.log", "line": n} for n in range(1, before)])
    case = log([{"loss": loss, "step": first + n} for n, loss in enumerate(now)])
    return replace(case, steps_before=old)


@pytest.mark.parametrize(
    ("before", "now", "first", "step"),
    [
        pytest.param(40, [10.8, 10.7, 10.6, 10.7], 40, 40, id="it goes on with a loss far above"),
        pytest.param(40, [2.1, 2.0, 2.2, 2.1], 40, None, id="it goes on"),
        pytest.param(40, [10.8, 2.1, 2.0, 2.1], 40, None, id="one bad batch"),
        pytest.param(40, [10.8, 10.7, 10.6, 10.7], 1, None, id="it begins from scratch"),
        pytest.param(40, [10.8, 10.7, 10.6, 10.7], 90, None, id="others between are not in the bundle"),
        pytest.param(5, [10.8, 10.7, 10.6, 10.7], 5, None, id="too few to tell"),
    ],
)
def test_a_loss_that_leaps_over_a_restart(before: int, now: list[float], first: int, step: int | None) -> None:
    found = loss_log.detect(_resumed(before, now, first))
    assert [(one.cause, one.ranks, one.first_anomaly.step) for one in found] == (
        [("bad_state", (), step)] if step is not None else []
    )


@pytest.mark.parametrize(
    ("bad", "good_again", "loaded", "now", "cause"),
    [
        pytest.param(12, None, 20, [NAN, NAN], "bad_state", id="saved while it was bad"),
        pytest.param(12, None, 10, [2.0, NAN], "nan_birth", id="saved before, and it is born again"),
        pytest.param(
            12, None, 10, [NAN, NAN], "bad_state", id="saved before, and bad at once, in a step that was well"
        ),
        pytest.param(12, 15, 20, [NAN, NAN], "bad_state", id="the attempt before had come back"),
        pytest.param(12, None, 20, [2.0, NAN], "nan_birth", id="the first step went well"),
        pytest.param(12, None, None, [NAN, NAN], "nan_birth", id="nothing says what was loaded"),
        pytest.param(99, None, 20, [NAN, NAN], "bad_state", id="the attempt before was well"),
    ],
)
def test_a_state_that_was_bad_when_it_was_saved(
    bad: int, good_again: int | None, loaded: int | None, now: list[float], cause: str
) -> None:
    was_bad = range(bad, good_again or 30)
    old = [
        {"step": n, "loss": NAN if n in was_bad else 2.0, "loss_seen": True, "file": "old.log", "line": n}
        for n in range(1, 25)
    ]
    load = [] if loaded is None else [{"kind": "checkpoint_load", "step": loaded}]
    first = (loaded or 20) + 1
    case = log([{"loss": loss, "step": first + n} for n, loss in enumerate(now)], load)
    (found,) = loss_log.detect(replace(case, steps_before=table("steps", old)))
    assert (found.cause, found.ranks, found.first_anomaly.step) == (cause, (), first + (0 if now[0] != now[0] else 1))


@pytest.mark.parametrize(
    ("norms", "bad"),
    [
        pytest.param([INF, INF, 0.5, 0.6, 0.5, 0.4], None, id="while the scale is looked for"),
        pytest.param([0.5, 0.6, INF, 0.5, 0.4, 0.5], None, id="one step left out without a word"),
        pytest.param([0.5, 0.6, 0.5, INF, 0.4, 0.5], 4, id="too few lines after it"),
        pytest.param([0.5, 0.6, INF, INF, INF, INF], 3, id="to the end"),
        pytest.param([0.5, 0.6, NAN, 0.5, 0.4, 0.5], 3, id="NaN is none of that"),
    ],
)
def test_an_infinite_norm_that_was_left_out(norms: list[float], bad: int | None) -> None:
    found = loss_log.DETECTOR.detect(log([{"loss": 2.0, "grad_norm": norm} for norm in norms]))
    assert [one.first_anomaly.step for one in found] == ([] if bad is None else [bad])


def test_of_a_spike_and_a_nan_the_earlier_wins() -> None:
    spike = [{"loss": 9.0, "grad_norm": 90.0}, {"loss": 9.0, "grad_norm": 90.0}]
    (found,) = loss_log.DETECTOR.detect(log([*CALM, *spike, {"loss": NAN}]))
    assert found.cause == "loss_spike"
    (found,) = loss_log.DETECTOR.detect(log([*CALM, {"loss": NAN}, *spike]))
    assert found.cause == "nan_birth"


SPIKE = [{"loss": 9.0, "grad_norm": 90.0}, {"loss": 8.0, "grad_norm": 90.0}]


@pytest.mark.parametrize(
    "end",
    [
        [{"loss": NAN}],
        [{"loss": NAN}, {"loss": NAN}],
        [{"loss": 0.0, "grad_norm": NAN}] * 3,
        [{"grad_norm": NAN, "skipped": 0}],
    ],
    ids=["its last line", "to the end", "Hugging Face's zeros", "Megatron's field is gone"],
)
@pytest.mark.parametrize("apart", [0, 4, 40], ids=["at once", "a few steps after", "long after"])
def test_a_spike_that_was_over_hides_no_nan(end: list[dict[str, Any]], apart: int) -> None:
    """What ended the run is the verdict; the spike is an incident before it. Where nothing shows that it was over, it is the onset."""
    case = log([*CALM, *SPIKE, *(CALM * 4)[:apart], *end])
    chosen = choose(case, [*loss_log.DETECTOR.detect(case)], about([loss_log.DETECTOR])).chosen
    told = [(one.finding.cause, one.finding.first_anomaly.step) for one in chosen]
    spike = ("loss_spike", 11)
    assert told == ([("nan_birth", 13 + apart), spike] if apart else [spike])


def test_a_nan_that_passed_hides_no_spike_before_it() -> None:
    (found,) = loss_log.detect(log([*CALM, *SPIKE, *CALM, {"loss": NAN}, *CALM]))
    assert found.cause == "loss_spike"


def test_a_log_that_begins_with_no_scale_at_all_is_read() -> None:
    (found,) = loss_scale.DETECTOR.detect(
        log([{"loss_scale": 0.0, "skipped": 1, "step": 9_040 + at} for at in range(12)])
    )
    assert (found.cause, found.first_anomaly.step) == ("loss_scale_collapse", 9_040)


def scales(start: float, halvings: int, stable: int, first_step: int = 1) -> Case:
    values = [start / 2**at for at in range(halvings + 1)]
    values += [values[-1]] * stable
    return log([{"loss": 2.0, "loss_scale": value, "step": first_step + at} for at, value in enumerate(values)])


def test_t28_warm_up_is_minor_and_explains_nothing() -> None:
    found = judged(scales(2.0**24, 8, 20), loss_scale.DETECTOR)
    assert (found.kind, found.finding.severity, found.candidate.explained) == ("numerics", "minor", frozenset())


def test_collapse_late_in_training() -> None:
    (found,) = loss_scale.DETECTOR.detect(scales(2.0**20, 5, 0, first_step=17_000))
    assert (found.cause, found.severity, found.first_anomaly.step) == ("loss_scale_collapse", "severe", 17_001)


def test_t29_minimum_is_fatal() -> None:
    fall = [{"kind": "loss_scale", "value": 65536.0 / 2**at} for at in range(17)]
    last = {"kind": "loss_scale", "text": "Current loss scale already at minimum - cannot decrease scale anymore."}
    (found,) = loss_scale.DETECTOR.detect(log([], [*fall, last]))
    assert (found.cause, found.severity) == ("loss_scale_collapse", "fatal")


@pytest.mark.parametrize("halvings", [0, 1, 3])
def test_few_halvings_say_nothing(halvings: int) -> None:
    assert loss_scale.DETECTOR.detect(scales(65536.0, halvings, 3, first_step=900)) == ()


def test_growth_between_falls_is_normal() -> None:
    values = [65536.0, 32768.0, 65536.0, 32768.0, 65536.0, 32768.0] * 5
    rows = [{"loss": 2.0, "loss_scale": value, "step": 500 + at} for at, value in enumerate(values)]
    assert loss_scale.DETECTOR.detect(log(rows)) == ()


def overflows(rows: list[dict[str, Any]], count: int = 7) -> Case:
    """DeepSpeed's lines, which say the rank and no step, and then lines of steps, which say neither rank nor scale."""
    fallen = [{"kind": "loss_scale", "rank": 0, "line": at + 1, "value": 2.0 ** (16 - at)} for at in range(count)]
    return log([{"line": 100 + at, "loss": 2.0} | row for at, row in enumerate(rows)], fallen)


@pytest.mark.parametrize(
    ("rows", "severity"),
    [
        ([{"step": 900 + at, "loss_scale": 1024.0} for at in range(20)], "minor"),
        ([{"step": 900 + at} for at in range(20)], "minor"),
        ([{"step": None} for _ in range(20)], "minor"),
        ([{"step": 9 + at} for at in range(3)], "minor"),
        ([{"step": 900 + at} for at in range(3)], "severe"),
        ([{"step": 900, "rank": rank} for rank in range(20)], "severe"),
        ([], "severe"),
    ],
    ids=[
        "scale stays",
        "steps go on",
        "steps without number",
        "the first steps",
        "few",
        "one step, many ranks",
        "none",
    ],
)
def test_steps_after_the_last_overflow_end_a_warm_up(rows: list[dict[str, Any]], severity: str) -> None:
    (found,) = loss_scale.DETECTOR.detect(overflows(rows))
    assert found.severity == severity


def reports(where: str, *ranks: int, step: int = 7) -> list[dict[str, Any]]:
    return [
        {
            "kind": "nan_assert",
            "code": where,
            "names_ranks": [rank],
            "names_rank_space": "global",
            "step": step,
            "text": "found NaN",
        }
        for rank in ranks
    ]


LAYOUT = {"tp": 2, "dp": 2, "pp": 4}  # rank = tp + 2 * dp + 4 * stage


@pytest.mark.parametrize(
    ("events", "suspects"),
    [
        (reports("grad_norm", 2, 6, 10), (10, 11)),
        (reports("grad_norm", 2, 3, 6, 7, 10, 11), (10, 11)),
        (reports("forward_loss", 14), (2, 3, 6, 7, 10, 11, 14, 15)),
        (reports("forward_loss", 14) + reports("grad_norm", 2, 6), (2, 3, 6, 7, 10, 11, 14, 15)),
        (reports("grad_norm", 2, 6, 10) + reports("grad_norm", 1, step=8), (10, 11)),
    ],
    ids=["T32 stage 2", "T32 with mates", "T33 loss", "T33 loss outranks gradients", "followers do not count"],
)
def test_reporters_tell_the_stage_by_the_layout(events: list[dict[str, Any]], suspects: tuple[int, ...]) -> None:
    case = replace(log([], events), topology=LAYOUT, expected=frozenset(range(16)))
    (found,) = loss_log.DETECTOR.detect(case)
    assert (found.ranks, found.suspect_ranks) == ((), suspects)


def test_without_a_layout_reporters_are_the_suspects() -> None:
    (found,) = loss_log.DETECTOR.detect(log([], reports("grad_norm", 2, 6, 10)))
    assert found.suspect_ranks == (2, 6, 10)


@pytest.mark.parametrize(
    ("code", "world", "silent", "waited", "named", "undecided"),
    [
        ("grad_norm", 4, (), (0, 1, 3), (2,), ()),
        ("grad_norm", 4, (), (), (2,), ("tied_explanations",)),
        ("grad_norm", 4, (3,), (0, 1), (), ("tied_explanations",)),
        ("forward_loss", 4, (), (0, 1, 3), (), ("tied_explanations",)),
        ("grad_norm", None, (), (0, 1, 3), (), ("tied_explanations",)),
    ],
    ids=["the others passed it", "the others are silent", "one left nothing", "of a stage before", "size unknown"],
)
def test_a_lone_reporter_of_its_own_value(
    code: str,
    world: int | None,
    silent: tuple[int, ...],
    waited: tuple[int, ...],
    named: tuple[int, ...],
    undecided: tuple[str, ...],
) -> None:
    spoke = [{"kind": "other", "rank": rank, "severity": "info"} for rank in range(4) if rank not in silent]
    gave_up = [{"kind": "collective_timeout", "rank": rank, "seq": 7} for rank in waited]
    rows = [row | {"rank_space": "global"} for row in [*spoke, *gave_up]]
    case = log([], [*rows, *reports(code, 2)])
    seen = frozenset(range(4)) - set(silent)
    (found,) = loss_log.DETECTOR.detect(replace(case, expected=frozenset(range(world or 0)), seen=seen))
    assert (found.ranks, found.undecided) == (named, undecided)
    assert named or found.suspect_ranks == (2,)


@pytest.mark.parametrize(
    ("bad", "clean", "told"),
    [
        (3, None, 0),
        (2, None, 0),  # they end there: the loss of step 3 goes by what was bad
        (2, 3, 1),  # it was gone in step 3
        (1, None, 1),
    ],
)
def test_statistics_of_the_step_or_of_the_last_one_before_it_outrank_its_line(
    bad: int, clean: int | None, told: int
) -> None:
    lines = log([{"loss": 2.0}, {"loss": 2.0}, {"loss": NAN}])
    job = Job()
    job.op(0, "fc", "ok", "nan", step=bad)
    if clean is not None:
        job.op(0, "fc", "ok", "ok", step=clean)
    case = replace(lines, tables={**lines.tables, "tensors": job.case().tables["tensors"]})
    assert len(loss_log.DETECTOR.detect(case)) == told


@pytest.mark.parametrize("times", [1, 2])
def test_a_spike_in_lines_without_steps_says_no_step(times: int) -> None:
    calm, high = [{"loss": 2.0, "step": None}] * 20, [{"loss": 9.0, "step": None}] * 5
    [found] = loss_log.DETECTOR.detect(log([*calm, *[*high, *calm] * times]))
    assert found.cause == "loss_spike"
    told = [found.summary, *(claim.text for claim in found.claims), *(action.target for action in found.actions)]
    assert not [text for text in told if "None" in text]
