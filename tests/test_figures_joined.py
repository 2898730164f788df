"""Figures that stand apart and belong together: answers of two queries, lists behind a check, what a rank was given and gave."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import parsers
from forensics import Report, analyze
from parsers.text.layouts import sizes
from parsers.training.told_values import of_line

RANKS, STEPS, FIRST, ODD = 4, 12, 7, 2
_NAN = float("nan")


def _said(report: Report) -> tuple[str, list[int], int | None]:
    verdict = report.verdict
    return verdict.kind, verdict.ranks, verdict.first_anomaly.step if verdict.first_anomaly else None


def _own(rank: int, step: int) -> float:
    return 2 + rank / 10 + step / 100


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("step 3 act absmax=5.20 nan=0 inf=0", None),
        ("step 3 act absmax=nan nan=18 inf=0", "0=nan 1=18"),
        ("step 3 act absmax inf nan: 4 inf: 1", "0=inf 1=4 2=1"),
        ("step 3 loss nan: see above 1.5", "0=nan"),
    ],
)
def test_what_a_number_follows_is_its_name(text: str, bad: str | None) -> None:
    told = of_line(text)[1]
    assert told is not None
    assert told["bad"] == bad


# --- gauges of one moment in two answers ------------------------------------------------------------------------------


def _answer(path: Path, name: str, value: Callable[[int, int, int], float], each: int) -> None:
    series = [
        {
            "metric": {"__name__": name, "rank": str(rank), "job": "train"},
            "values": [
                [1770000000 + 15 * (step * each + part), str(value(rank, step, part)).replace("nan", "NaN")]
                for step in range(STEPS)
                for part in range(each)
            ],
        }
        for rank in range(RANKS)
    ]
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}))


@pytest.mark.parametrize(
    "names", [("train_step", "train_local_loss"), ("global_step", "loss"), ("iteration", "trainer_loss")]
)
def test_the_step_of_a_figure_is_told_by_another_answer(tmp_path: Path, names: tuple[str, str]) -> None:
    _answer(tmp_path / "a.json", names[0], lambda _, step, __: step, 2)
    _answer(
        tmp_path / "b.json", names[1],
        lambda rank, step, _: _NAN if step > FIRST or (step == FIRST and rank == ODD) else _own(rank, step), 2,
    )  # fmt: skip
    assert _said(analyze(tmp_path)) == ("numerics", [ODD], FIRST)


@pytest.mark.parametrize("each", [1, 2])
def test_a_scrape_between_two_settings_accuses_nobody(tmp_path: Path, each: int) -> None:
    """The loss of the next step is there already, its number is not."""
    _answer(tmp_path / "a.json", "train_step", lambda _, step, __: step, each)
    _answer(
        tmp_path / "b.json", "train_loss",
        lambda rank, step, part: _NAN if step > FIRST or (step == FIRST and rank == ODD and part == each - 1) else _own(rank, step),
        each,
    )  # fmt: skip
    assert _said(analyze(tmp_path))[1] == []


# --- a shard that was loaded bad, in a line that ends otherwise -------------------------------------------------------

_SHARDS = {
    "verify": ("verify {name}.weight numel=4096 nonfinite=0 absmax=0.51", "verify {name}.weight numel=4096 nonfinite=12 (nan=12 inf=0, offset 17..29)"),
    "loaded": ("loaded shard {name}: bad 0 of 4096, std 0.02", "loaded shard {name}: bad 7 of 4096 !! first at 12.5"),
    "state": ("exp_avg {name} nans: 0 l2 1.25", "exp_avg {name} nans: 3 rows 4-6, keeping 1.25"),
}  # fmt: skip


def _shards(folder: Path, form: str, odd: str | None, others: Callable[[int, str], str]) -> Report:
    for rank in range(RANKS):
        lines = [f"rank {rank} of {RANKS} world_size={RANKS} started"]
        lines += [others(rank, f"layers.{layer}.proj") for layer in range(3)]
        if rank == ODD and odd is not None:
            lines[-1] = odd.format(name="layers.2.proj")
        lines += [f"step {step} loss nan (reduced) grad_norm nan" for step in range(5, 9)]
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


@pytest.mark.parametrize("form", _SHARDS)
def test_a_line_about_a_bad_shard_may_end_otherwise(tmp_path: Path, form: str) -> None:
    fine, bad = _SHARDS[form]
    verdict = _shards(tmp_path, form, bad, lambda _, name: fine.format(name=name)).verdict
    assert (verdict.cause, verdict.ranks) == ("bad_state", [ODD])


@pytest.mark.parametrize("form", _SHARDS)
def test_who_always_says_it_otherwise_says_something_else(tmp_path: Path, form: str) -> None:
    """One rank alone tells what all hold together, and never what the others tell."""
    fine, bad = _SHARDS[form]
    report = _shards(tmp_path, form, None, lambda rank, name: (bad if rank == ODD else fine).format(name=name))
    assert report.verdict.ranks == []


# --- lists behind a check that failed --------------------------------------------------------------------------------

_CHECK = "FloatingPointError: Fatal error: gradients are inconsistent between workers."
_HASHES = "AssertionError: Parameter hashes not matching across DP replicas"
_LISTS = {
    "fairseq": (_CHECK, "grad_norm across the workers:", "rank{rank:4d} = {value:.8f}"),
    "colon": (_HASHES, "l2 of the weights by rank:", "rank {rank}: {value}"),
    "bare": (_HASHES, "hash on each replica:", "Rank {rank}: a{value}"),
}


def _listed(
    folder: Path, form: str, values: dict[int, float], *, check: bool = True, world: int = RANKS, other: float = 0.0
) -> Report:
    head, title, row = _LISTS[form]
    for rank in range(world):
        shown = {k: v + (other if rank == 1 and k == 0 else 0) for k, v in values.items()}
        rows = "".join(row.format(rank=k, value=v) + "\n" for k, v in shown.items())
        said = (
            f'Traceback (most recent call last):\n  File "/w/t.py", line 4, in <module>\n    check()\n{head}\n----\n'
            if check
            else ""
        )
        steps = "".join(f"step {step} loss {2 - step / 100:.3f}\n" for step in range(6))
        (folder / f"rank{rank}.log").write_text(f"rank {rank} world_size={world} started\n{steps}{said}{title}\n{rows}")
    return analyze(folder)


@pytest.mark.parametrize("form", _LISTS)
def test_who_had_another_value_than_most(tmp_path: Path, form: str) -> None:
    verdict = _listed(tmp_path, form, {0: 1.5, 1: 1.5, 2: 2.25, 3: 1.5}).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [ODD])


@pytest.mark.parametrize("form", _LISTS)
@pytest.mark.parametrize(
    "told",
    [
        {"values": {0: 1.5, 1: 1.5, 2: 2.25, 3: 2.25}},
        {"values": {0: 1.5, 1: 1.7, 2: 2.25, 3: 2.0}},  # each its own
        {"values": {0: 1.5, 1: 1.5, 2: 2.25}},  # not of all: places in a group
        {"values": {0: 1.5, 1: 1.5, 2: 2.25, 3: 1.5}, "world": 8},
        {"values": {0: 1.5, 1: 1.5, 2: 2.25, 3: 1.5}, "other": 0.5},  # the printers do not agree
        {"values": {0: 1.5, 1: 1.5, 2: 2.25, 3: 1.5}, "check": False},
    ],
)
def test_a_list_that_names_nobody(tmp_path: Path, form: str, told: dict[str, object]) -> None:
    assert _listed(tmp_path, form, **told).verdict.ranks == []  # type: ignore[arg-type]


# --- a loss of all that is bad beside good own ones ------------------------------------------------------------------

_LINES = {
    "logfmt": "rank={rank} step={step} local_loss={own:.4f} mean_loss={mean:.4f}",
    "prose": "rank={rank} step {step} | loss {own:.4f} | loss (avg) {mean:.4f}",
    "json": '{{"rank": {rank}, "step": {step}, "loss_local": {own:.4f}, "loss_avg": {mean:.4f}}}',
}


def _reduced(
    folder: Path, form: str, gathered: range, told: Callable[[int, int], tuple[float, float]], last: int = STEPS
) -> Report:
    for rank in gathered:
        rows = [f"rank={rank} world=4 ready tp=1 pp=1 dp=4", f"init rank={rank} world_size=4"]
        for step in range(STEPS if rank else last):
            own, mean = told(rank, step)
            rows.append(_LINES[form].format(rank=rank, step=step, own=own, mean=mean))
        (folder / f"rank{rank}.log").write_text("\n".join(rows) + "\n")
    return analyze(folder)


def _from_outside(rank: int, step: int) -> tuple[float, float]:
    return (_NAN if step > FIRST else _own(rank, step)), (_NAN if step >= FIRST else 2.1)


@pytest.mark.parametrize("form", _LINES)
def test_the_step_is_that_of_the_loss_of_all(tmp_path: Path, form: str) -> None:
    verdict = _reduced(tmp_path, form, range(3), _from_outside).verdict
    assert (verdict.ranks, verdict.first_anomaly and verdict.first_anomaly.step) == ([], FIRST)
    assert verdict.suspects.ranks == [3]


@pytest.mark.parametrize("form", _LINES)
@pytest.mark.parametrize(("gathered", "last"), [(range(4), STEPS), (range(3), FIRST)])
def test_nobody_is_suspected_for_records_that_end_before_or_lack_nobody(
    tmp_path: Path, form: str, gathered: range, last: int
) -> None:
    verdict = _reduced(tmp_path, form, gathered, _from_outside, last).verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], [])


# --- statistics in documents ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_a_document_of_a_step_holds_statistics(tmp_path: Path, indent: int | None) -> None:
    for rank in range(RANKS):
        (tmp_path / f"rank{rank}").mkdir()
        for step in range(4, 9):
            bad = step > 7 or (step == 7 and rank == ODD)
            acts = [
                {"where": f"blocks.{at}.fc", "dir": "fwd.out", "amax": "inf" if bad and at == 2 else "nan" if bad and at > 2 else f"{3.5 + at + rank}",
                 "n_inf": 8 * (bad and at == 2), "n_nan": 8 * (bad and at > 2)}
                for at in range(5)
            ]  # fmt: skip
            told = {"rank": rank, "step": step, "dp": RANKS, "acts": acts}
            (tmp_path / f"rank{rank}" / f"s{step}.json").write_text(json.dumps(told, indent=indent) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("overflow", [ODD])


# --- what a rank was given and gave -----------------------------------------------------------------------------------

_PASSED = {
    "prose": "step={step} mb={mb} {way} act absmax={top} nan={count} inf=0",
    "words": "step {step} | micro {mb} | hidden {way} | amax {top} bad {count}",
    "json": '{{"step": {step}, "mb": {mb}, "way": "{way}", "what": "hidden", "amax": "{top}", "n_bad": {count}}}',
}
_WAYS = {"prose": ("recv", "send"), "words": ("in", "out"), "json": ("received", "sent")}
_STAGES = 4


def _pipeline(
    folder: Path,
    form: str,
    bad: Callable[[int, str], bool],
    *,
    files: int = _STAGES,
    note: str = "",
    steps: range = range(5, 8),
) -> Report:
    """One pipeline of four ranks; `bad(rank, way)` in the last of the steps."""
    taken, given = _WAYS[form]
    for rank in range(files):
        lines = [f"rank {rank} world_size={_STAGES} started {note}"]
        for step in steps:
            for mb in range(2):
                for way in (taken, given):
                    is_bad = step == 7 and mb == 1 and bad(rank, "taken" if way == taken else "given")
                    lines.append(
                        _PASSED[form].format(
                            step=step,
                            mb=mb,
                            way=way,
                            top="nan" if is_bad else f"{4.5 + rank}",
                            count=64 if is_bad else 0,
                        )
                    )
        (folder / f"rank{rank}.log").write_text("\n".join(lines) + "\n")
    return analyze(folder)


def _born_in_one(rank: int, way: str) -> bool:
    return rank > 1 or (rank == 1 and way == "given")


@pytest.mark.parametrize("form", _PASSED)
def test_who_was_given_numbers_and_gave_none(tmp_path: Path, form: str) -> None:
    verdict = _pipeline(tmp_path, form, _born_in_one).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly and verdict.first_anomaly.step) == ("numerics", [1], 7)


@pytest.mark.parametrize("form", _PASSED)
def test_nobody_is_named_for_what_may_have_come_from_others(tmp_path: Path, form: str) -> None:
    cases: dict[str, Callable[[Path], Report]] = {
        "mates": lambda at: _pipeline(at, form, lambda rank, way: rank > 1 or way == "given"),
        "a rank without a record": lambda at: _pipeline(at, form, _born_in_one, files=3),
        "experts": lambda at: _pipeline(at, form, _born_in_one, note="\nmoe router z 0.5 nan=0"),
        "all were given it": lambda at: _pipeline(at, form, lambda rank, _: rank > 0),
        "over in the next step": lambda at: _pipeline(at, form, _born_in_one, steps=range(5, 12)),
    }
    for name, made in cases.items():
        (at := tmp_path / name).mkdir()
        assert made(at).verdict.ranks == [], name


# --- and the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "world"),
    [
        ("World size = 8, sharding_parallel_degree = 1, tensor_parallel_degree = 1", 8),
        ("world size: 8 | tensor parallel: 2 | pipeline parallel: 4", 8),
        ("tensor parallel world size = 8, group = 1", None),
        ("world size = 8 must be divisible by tensor parallel = 3", None),
    ],
)
def test_a_world_beside_sizes_of_other_things(tmp_path: Path, text: str, world: int | None) -> None:
    (tmp_path / "out.log").write_text(text + "\n")
    told = parsers.read(str(tmp_path)).tables["ranks"]["world_size"].to_list()
    assert told == ([] if world is None else [world])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "strategy: ddp_find_unused_parameters_false",
            {"tensor_model_parallel_size": "1", "pipeline_model_parallel_size": "1"},
        ),
        ("strategy: ddp_sharded_by_me", {}),
        ("rank=3 stage=1/4 dp=1 tp=0", {}),
    ],
)
def test_layouts(text: str, told: dict[str, str]) -> None:
    assert sizes(text) == told


@pytest.mark.parametrize(("last", "kind"), [(40, "healthy"), (38, "unknown")])
def test_what_a_tracker_keeps_of_the_whole_run_is_no_log(tmp_path: Path, last: int, kind: str) -> None:
    lines = [f"step {step}/40 loss {3 - step / 50:.3f}" for step in range(0, last + 1, 2)]
    (tmp_path / "output.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "summary.json").write_text('{"step": 40, "loss": 2.2, "grad_norm": 0.8}\n')
    assert analyze(tmp_path).verdict.kind == kind


@pytest.mark.parametrize(
    ("said", "kind"), [("....Training Over!....", "healthy"), ("training over 5 more epochs", "unknown")]
)
def test_training_over(tmp_path: Path, said: str, kind: str) -> None:
    for rank in range(2):
        lines = [f"step {step} loss {3 - step / 50:.3f}" for step in range(9)]
        (tmp_path / f"rank{rank}.log").write_text("\n".join([f"rank {rank} world_size=2 started", *lines, said]) + "\n")
    assert analyze(tmp_path).verdict.kind == kind
