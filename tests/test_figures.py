"""Bad numbers in the forms in which people record them: own prints and assertions, hashes, learning rates, loss scales."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from parsers.numerics import bad_values

Line = Callable[[int, int], str]
LOST = """\
Traceback (most recent call last):
  File "/job/train.py", line 60, in main
    dist.all_reduce(grad)
  File "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 3252, in all_reduce
    work.wait()
RuntimeError: [pair.cc:537] Read error [10.0.0.4]:21414: Connection reset by peer"""
RAISED = """\
Traceback (most recent call last):
  File "/job/train.py", line 57, in main
    {source}
{message}"""


def job(folder: Path, line: Line, *, ranks: int = 4, steps: int = 12, last: dict[int, str] | None = None) -> Report:
    """One log a rank: a line a step, then its last words."""
    for rank in range(ranks):
        text = [line(rank, step) for step in range(steps)] + [(last or {}).get(rank, "")]
        (folder / f"rank_{rank}.log").write_text("\n".join(text) + "\n")
    return analyze(folder)


def trained(rank: int, step: int) -> str:
    return f"2026-03-01 10:00:{step:02}.{rank}00 step {step} loss {3 - step / 20 + rank / 100:.4f} grad_norm 0.7"


# --- assertions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [
        "FloatingPointError: [rank2] non-finite local loss nan at step 12, sample ids [1348]",
        "FloatingPointError: invalid value encountered in log",
        "AssertionError: local loss became inf in step 12",
        "ValueError: NaN in the loss of this batch",
        "RuntimeError: local_loss is not finite: tensor(nan)",
        "train.errors.BadLoss: loss=nan",
    ],
)
def test_an_exception_about_a_bad_number_is_numerics_of_its_rank(tmp_path: Path, message: str) -> None:
    raised = RAISED.format(source="check(loss)", message=message)
    verdict = job(tmp_path, trained, last={0: LOST, 1: LOST, 2: raised, 3: LOST}).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [2])


def test_a_norm_of_all_names_nobody(tmp_path: Path) -> None:
    raised = RAISED.format(
        source="clip(norm)", message="RuntimeError: The total norm of order 2.0 for gradients is non-finite"
    )
    verdict = job(tmp_path, trained, last={0: LOST, 1: LOST, 2: raised, 3: LOST}).verdict
    assert (verdict.kind, verdict.ranks) == ("numerics", [])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("ValueError", "expected 4 gradients, got 3"),
        ("RuntimeError", "info: the loss function needs a target"),
        ("ValueError", "could not convert string to float: 'nandrolone'"),
        ("FloatingPointError", "Minimum loss scale reached (0.0001). Your loss is probably exploding."),
    ],
)
def test_other_exceptions_tell_of_no_bad_number(code: str, message: str) -> None:
    assert bad_values.raised(code, message) is None


def test_one_that_was_caught_leaves_a_sound_run_sound(tmp_path: Path) -> None:
    caught = RAISED.format(source="check(loss)", message="FloatingPointError: non-finite loss nan")
    ended = "2026-03-01 10:01:00.000 INFO trainer: training finished"

    def line(rank: int, step: int) -> str:
        at = f"2026-03-01 10:00:{step:02}.000 INFO trainer: step {step} loss {3 - step / 20:.4f}"
        return f"{caught}\n{at}" if (rank, step) == (2, 5) else at

    assert job(tmp_path, line, last=dict.fromkeys(range(4), ended)).verdict.kind == "healthy"


def test_an_operator_of_jax_is_its_process_own_where_all_left_records(tmp_path: Path) -> None:
    raised = RAISED.format(source="x / y", message="FloatingPointError: invalid value (nan) encountered in {}")

    def line(rank: int, step: int) -> str:
        return f"step {step} loss {3 - step / 20:.4f} rank={rank} world_size=4"  # of all

    for name, ranks in (("mul", [2]), ("psum", []), ("jit(step)", []), ("pjit. Because", []), ("xla_pmap", [])):
        folder = tmp_path / name
        folder.mkdir()
        for rank in range(4):
            text = [line(rank, step) for step in range(8)] + [raised.format(name) if rank == 2 else ""]
            (folder / f"rank_{rank}.log").write_text("\n".join(text) + "\n")
        verdict = analyze(folder, expected_ranks=4).verdict
        assert (verdict.kind, verdict.ranks) == ("numerics", ranks), name


# --- prints of a program's own ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("nan in layer 1! step=13 rank=2 in_absmax=4.1", "layer 1"),
        ("NaN detected in moe.experts.6 output", "moe.experts.6"),
        ("inf values found in output of blocks.3.attn", "blocks.3.attn"),
        ("block 7: output contains nan at step 13", "block 7"),
        ("encoder.layers.2.mlp has nan", "encoder.layers.2.mlp"),
        ("[13] non-finite in the layer head.0", "head.0"),
        ("step 1 expert 3 output absmax 0 nonfinite 8192", "expert 3"),
        ("blocks.3.attn: absmax=0.2 nans=17", "blocks.3.attn"),
        ("layer 4 grad num_nan: 3", "layer 4"),
    ],
)
def test_a_print_about_a_module_says_which(text: str, module: str) -> None:
    said = bad_values.printed(text)
    assert said is not None and f'"module": "{module}"' in said["detail"]


@pytest.mark.parametrize(
    "text",
    [
        "no nan in layer 1",
        "nan in layer 1: False",
        "checking whether there is nan in layer 1",
        "found nan in shards.train.csv",
        "if you see nan in layer 3, lower the rate",
        "inference in layer 3",
        "step 1 expert 3 output absmax 0.81 nonfinite 0",
        "layer 4 grad num_nan: 0",
        "read shards.json: nans=12",
    ],
)
def test_what_denies_asks_or_speaks_of_files_is_none(text: str) -> None:
    assert bad_values.printed(text) is None


def _watched(rank: int, step: int) -> str:
    bad = step > 7 or (step == 7 and rank == 2)
    loss = "nan" if bad else f"{3 - step / 20 + rank / 100:.4f}"
    fed = "nan" if step > 7 else "4.1"
    watch = [
        f"[default{rank}]:nan in layer {at}! step={step} rank={rank} in_absmax={fed if at == 1 else 'nan'}"
        for at in (1, 2)
    ]
    return "\n".join([*(watch if bad else []), f"[default{rank}]:step {step} loss {loss}"])


def test_the_first_print_names_the_rank_its_step_and_its_module(tmp_path: Path) -> None:
    lines = [_watched(rank, step) for step in range(10) for rank in range(4)]
    (tmp_path / "job.out").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    first = verdict.first_anomaly
    assert (verdict.kind, verdict.ranks, first.step, first.module) == ("numerics", [2], 7, "layer 1")


def test_a_print_of_an_expert_is_suspected_and_not_named(tmp_path: Path) -> None:
    def line(rank: int, step: int) -> str:
        said = f"NaN detected in moe.experts.6 output step={step} rank={rank}\n" if (rank, step) == (2, 7) else ""
        return said + trained(rank, step)

    verdict = job(tmp_path, line).verdict
    assert (verdict.kind, verdict.ranks, verdict.suspects.ranks) == ("numerics", [], [2])


# --- replicas --------------------------------------------------------------------------------------------------------

HASHES = (
    "step {step} loss {loss} weights_crc32 {hash}",
    "step={step} loss={loss} lr=3e-4 param_hash={hash}",
    "iteration {step}: parameters sha256={hash}{hash}",
    "step {step} loss {loss} param_norm 12.{number:010}",
)


def _hashed(form: str, odd: dict[tuple[int, int], int]) -> Line:
    """`odd`: (rank, step) from which on it holds something else, and what."""

    def line(rank: int, step: int) -> str:
        other = max((what for (of, since), what in odd.items() if of == rank and since <= step), default=0)
        value = 0x10000000 + 7919 * step + 104729 * other
        return form.format(step=step, loss=f"{3 - step / 20 + rank / 100:.4f}", hash=f"{value:08x}", number=value)

    return line


@pytest.mark.parametrize("form", HASHES)
def test_who_left_the_others_is_named(tmp_path: Path, form: str) -> None:
    verdict = job(tmp_path, _hashed(form, {(2, 6): 1})).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [2])
    assert verdict.first_anomaly.step == 6


def test_rows_in_another_framing_say_the_same(tmp_path: Path) -> None:
    form = '{{"step": {step}, "loss": {loss}, "param_hash": "{hash}", "batch_hash": "{loss}aaaaaaa"}}'
    verdict = job(tmp_path, _hashed(form, {(2, 6): 1})).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [2], 6)


@pytest.mark.parametrize(
    ("ranks", "odd", "suspects"),
    [
        (2, {(1, 6): 1}, [0, 1]),
        (4, {(1, 6): 1, (2, 6): 1}, [0, 1, 2, 3]),
        (4, {(1, 6): 1, (2, 6): 2, (3, 6): 3}, [0, 1, 2, 3]),
        (4, {(1, 1): 1, (2, 1): 1}, []),
        (4, {(1, 0): 1}, []),
        (4, {(1, 1): 1}, [1]),
    ],
    ids=["of two", "halves", "each its own way", "halves after one step: a layout", "never agreed", "agreed once"],
)
def test_where_no_majority_is_sure_nobody_is_named(
    tmp_path: Path, ranks: int, odd: dict[tuple[int, int], int], suspects: list[int]
) -> None:
    verdict = job(tmp_path, _hashed(HASHES[1], odd), ranks=ranks).verdict
    assert (verdict.ranks, verdict.suspects.ranks) == ([], suspects)


@pytest.mark.parametrize(
    "form", ["step {step} loss {loss} batch_hash {hash}", "step {step} loss {loss} data sha256: {hash}"]
)
def test_hashes_of_data_are_no_replicas(tmp_path: Path, form: str) -> None:
    assert job(tmp_path, _hashed(form, {(2, 6): 1})).verdict.kind != "numerics"


def test_tensor_parallel_pairs_are_compared_within_their_replicas(tmp_path: Path) -> None:
    """Ranks 0, 2, 4, 6 hold one half of the model, the others the other."""

    def line(rank: int, step: int) -> str:
        return _hashed(HASHES[0], {(rank, 0): 5} if rank % 2 else {(4, 6): 9})(rank, step)

    assert job(tmp_path, line, ranks=8).verdict.ranks == [4]


@pytest.mark.parametrize("name", ["lr", "learning_rate", "LR"])
def test_a_rate_that_differs_after_a_restart_makes_a_suspect(tmp_path: Path, name: str) -> None:
    for attempt in (0, 1):
        folder = tmp_path / f"attempt_{attempt}"
        folder.mkdir()
        for rank in range(4):
            rate = "3e-03" if attempt and rank == 1 else "3e-04"
            text = [f"step {step + 10 * attempt} loss {3 - step / 99:.4f} {name}={rate}" for step in range(10)]
            (folder / f"rank_{rank}.log").write_text("\n".join(text) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.suspects.ranks) == ("config_drift", [], [1])


# --- loss scale ------------------------------------------------------------------------------------------------------


def _deepspeed(overflows: range, minimum: bool = True) -> str:
    lines, scale = [], 65536.0
    for step in range(1, 41):
        if step in overflows:
            lines.append(
                f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {scale:g}, reducing to {scale / 2:g}"
            )
            scale /= 2
        if step % 5 == 0:
            skipped = len([one for one in overflows if one <= step])
            lines.append(
                f"[logging.py:107:log_dist] [Rank 0] step={step}, skipped={skipped}, lr=[0.002], mom=[(0.9, 0.999)]"
            )
            lines.append(
                f"steps: {step} loss: {'nan' if step in overflows else 2.5} iter time (s): 0.021 samples/sec: 380.1"
            )
    end = "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."
    return "\n".join([*lines, *([end] if minimum else [])]) + "\n"


def test_a_scale_that_falls_to_the_end_says_more_than_the_losses_of_the_same_steps(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(_deepspeed(range(12, 41)))
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.first_anomaly.step) == ("loss_scale_collapse", 12)


def test_a_search_for_the_scale_is_no_collapse(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(_deepspeed(range(1, 7), minimum=False))
    assert analyze(tmp_path).verdict.cause != "loss_scale_collapse"


def test_a_scale_told_in_four_digits_does_not_rise(tmp_path: Path) -> None:
    """Apex prints the scale whole, the script's own line rounds it."""
    lines = [f"step {step} loss 5.07 loss_scale 65536.0" for step in range(100)]
    for step in range(100, 130):
        scale = 65536 / 2 ** (step - 99)
        lines.append(f"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {scale}")
        lines.append(f"step {step} loss 5.07 loss_scale {scale:.3e}")
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.first_anomaly.step) == ("loss_scale_collapse", 100)
