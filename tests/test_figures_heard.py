"""Figures in forms that nobody has taught: whose they are, of which step, and what of them is bad; and their nearest neighbours, of which nothing is said."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import analyze
from forensics.facts.figures.loss_spikes import spikes
from parsers.forms.counting import step_column
from parsers.text.layouts import world
from parsers.text.quantities import bare_numbers
from parsers.training.told_values import of_line

RANKS, STEPS, FIRST, ODD = 4, 10, 6, 2
LAYOUT = "world 4 dp 4, every rank a replica"
PARTS = ("stem", "mixer", "tail")


def _lost(rank: int, step: int, part: int) -> bool:
    return step > FIRST or (step == FIRST and rank == ODD and part > 0)


def _written(folder: Path, name: str, lines: Callable[[int], list[str]]) -> None:
    for rank in range(RANKS):
        (folder / name.format(r=rank)).write_text("\n".join(lines(rank)) + "\n")


def _each(form: str, lost: Callable[[int, int, int], bool] = _lost) -> Callable[[int], list[str]]:
    """A line for each step and part."""

    def lines(rank: int) -> list[str]:
        return [
            form.format(
                r=rank,
                s=step + 40,
                p=part,
                n=7 * lost(rank, step, at),
                v="nan" if lost(rank, step, at) else f"0.{rank}{step}5",
                k=at,
            )
            for step in range(STEPS)
            for at, part in enumerate(PARTS)
        ]

    return lines


# --- of which step ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form",
    [
        "[info] probe amax={v} bad={n} site={p} step={s}",
        "out of {p}: largest {v}, {n} invalid (iteration {s})",
        "peak {v} broken {n} unit {p} it {s}",
    ],
)
def test_a_line_that_ends_with_its_step(tmp_path: Path, form: str) -> None:
    _written(tmp_path, "rank_{r}.log", lambda rank: [LAYOUT, *_each(form)(rank)])
    verdict = analyze(tmp_path).verdict
    assert (verdict.kind, verdict.ranks, verdict.first_anomaly and verdict.first_anomaly.step) == (
        "numerics",
        [ODD],
        FIRST + 40,
    )


def test_what_stands_behind_the_step_is_what_is_compared() -> None:
    step, found = of_line("host n3 pid 77 step 5 amax 2.5 bad 3")
    assert (step, found) == (5, {"of": "amax # bad #", "fine": "0", "bad": "1=3"})


@pytest.mark.parametrize(
    ("name", "head", "form"),
    [
        ("probe_{r}.csv", "nth,part,broken,low", "{s},{p},{n},0.25"),
        ("t.{r}.jsonl", "", '{{"k": {s}, "unit": "{p}", "n_bad": {n}, "top": 0.5}}'),
    ],
)
def test_a_column_that_counts_blocks_alike_counts_the_steps(tmp_path: Path, name: str, head: str, form: str) -> None:
    _written(tmp_path, name, lambda rank: [*([head] if head else []), *_each(form)(rank)])
    (tmp_path / "run.yaml").write_text("parallel: {data: 4, tensor: 1, pipeline: 1}\n")
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.first_anomaly and verdict.first_anomaly.step) == ([ODD], FIRST + 40)


@pytest.mark.parametrize(
    "rows",
    [
        [{"size": at // 2, "what": f"w{at}"} for at in range(12)],  # no part comes again
        [{"uid": 7 * (at // 2) ** 2, "what": "ab"[at % 2]} for at in range(12)],  # not by one stride
        [{"gpu": at % 4, "what": "ab"[at % 2]} for at in range(12)],  # falls
        [{"a": at // 2, "b": at // 2, "what": "ab"[at % 2]} for at in range(12)],  # two of them
        [{"layer": at // 2, "step": 5, "what": "ab"[at % 2]} for at in range(12)],  # the step is told
    ],
)
def test_what_does_not_count_blocks_alike_is_no_step(rows: list[dict[str, object]]) -> None:
    assert step_column(rows) is None


# --- through a reduction ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scaler", "named"),
    [("", [ODD]), ("gradient overflow detected, ignoring gradient, setting loss scale to: 64.0", [])],
)
def test_all_lose_it_in_the_same_step_behind_one(tmp_path: Path, scaler: str, named: list[int]) -> None:
    def lines(rank: int) -> list[str]:
        made = [LAYOUT]
        for step in range(STEPS):
            made += [
                f"step {step} own gradient amax 0.{rank}5 bad {5 * (step == FIRST and rank == ODD)}",
                f"step {step} summed gradient amax 0.25 bad {5 * (step == FIRST)}",
            ]
            made += [scaler] if scaler and step == FIRST else []
        return made

    _written(tmp_path, "rank_{r}.log", lines)
    assert analyze(tmp_path).verdict.ranks == named


# --- who speaks ------------------------------------------------------------------------------------------------------

SHARDED = "parameters sharded over 4 ranks"
AXES = "mesh: data-parallel size 4, tensor 1, pipeline 1"


@pytest.mark.parametrize(
    ("label", "told", "named"),
    [
        ("(global {r})", SHARDED, [ODD]),
        ("[dp {r}/4]", AXES, [ODD]),
        ("[replica {r}/4]", AXES, [ODD]),
        ("10:11:12,rank{r} INFO", "", [ODD]),
        ("[dp {r}/4]", "mesh: data-parallel size 4, tensor 2, pipeline 1", []),
        ("[fold {r}/4]", AXES, []),
    ],
)
def test_a_label_of_the_whole_world_is_a_rank(tmp_path: Path, label: str, told: str, named: list[int]) -> None:
    head = [f"{label.format(r=rank)} {told}" for rank in range(RANKS)] if told else []
    rows = [
        f"{label.format(r=rank)} step {step} loss {'nan' if step > FIRST or (step, rank) == (FIRST, ODD) else f'{1 + rank / 10 + step / 100:.4f}'}"
        for step in range(STEPS)
        for rank in range(RANKS)
    ]
    (tmp_path / "all.log").write_text("\n".join([*head, *rows]) + "\n")
    assert analyze(tmp_path).verdict.ranks == named


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("worker {r} of 4 started", [ODD]),
        ("dp rank {r} of 4", [ODD]),
        ("worker 0 of 2 started\nworker 1 of 2 started", []),
    ],
)
def test_files_that_answer_a_roll(tmp_path: Path, said: str, named: list[int]) -> None:
    def lines(rank: int) -> list[str]:
        steps = [
            f"step {step} loss {'nan' if step > FIRST or (step, rank) == (FIRST, ODD) else f'{1 + rank / 10 + step / 100:.4f}'}"
            for step in range(STEPS)
        ]
        return [said.format(r=rank), *steps]

    _written(tmp_path, "trainer-{r}.out", lines)
    assert analyze(tmp_path).verdict.ranks == named


def test_one_rank_that_was_started_anew_keeps_its_file(tmp_path: Path) -> None:
    def lines(rank: int) -> list[str]:
        first = [
            f"step {step} loss {2 + rank / 10 - step / 100:.4f} weight_sum 18{step}.1234567{step}"
            for step in range(10, 20)
        ]
        odd = 5 * (rank == ODD)
        again = [
            f"step {step} loss {1 + rank / 10 - step / 100:.4f} weight_sum 28{step}.{odd}234567{step}"
            for step in range(15, 25)
        ]
        start = "start rank {r}/4 pid {p}"
        return [start.format(r=rank, p=4000 + rank), *first, start.format(r=rank, p=5000 + rank), *again]

    _written(tmp_path, "n{r}_p.log", lines)
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [ODD])


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("initialized data parallel with size 4, tensor 2, pipeline 3", 24),
        ("fully sharded across 8 GPUs", 8),
        ("data parallel size 4, tensor 1", None),
        ("data=4 tensor=2 pipeline=1 context=2", None),
        ("all-reduce over 4 ranks", None),
    ],
)
def test_the_world_that_a_layout_tells(said: str, size: int | None) -> None:
    assert world(said) == size


# --- forms of numbers, pages, ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "bare"),
    [
        ("loss=np.float32(3.5) n=np.int64(7)", "loss=3.5 n=7"),
        ("loss=tensor(nan, device='cuda:0', grad_fn=<Mean>)", "loss=nan"),
        ("x Array(-1.5e-3, dtype=float32)", "x -1.5e-3"),
        ("retry(3) loss(2.5)", "retry(3) loss(2.5)"),
    ],
)
def test_a_number_without_its_type(said: str, bare: str) -> None:
    assert bare_numbers(said) == bare


@pytest.mark.parametrize("odd", [ODD, None])
def test_a_page_of_several_tables_and_a_shard_that_was_loaded_bad(tmp_path: Path, odd: int | None) -> None:
    def lines(rank: int) -> list[str]:
        shard = [f"| w{rank}.{at} | 0.{at}5 | {3 * (rank == odd and at == 1)} |" for at in range(3)]
        steps = [f"| {step} | {'nan' if odd is not None and step > 1 else '0.5'} |" for step in range(1, 6)]
        return [f"# report, dp rank {rank} of 4", "", "| tensor | moment max | moment NaN |", "|---|---|---|", *shard, "",
                "## steps", "", "| step | loss |", "|---|---|", *steps]  # fmt: skip

    _written(tmp_path, "page_dp{r}.md", lines)
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.cause) == (([odd], "bad_state") if odd is not None else ([], None))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("训练完成", "healthy"),
        ("训练已结束, 共 9 步", "healthy"),
        ("等待训练完成", "unknown"),
        ("训练完成率 90", "unknown"),
    ],
)
def test_a_training_that_says_in_chinese_that_it_is_done(tmp_path: Path, said: str, kind: str) -> None:
    _written(tmp_path, "rank_{r}.log", lambda rank: [*(f"step {step} loss 1.{rank}{step}" for step in range(5)), said])
    assert analyze(tmp_path).verdict.kind == kind


# --- a loss that leaps ------------------------------------------------------------------------------------------------


def _rows(losses: list[float]) -> list[dict[str, object]]:
    return [{"step": at, "loss": loss, "grad_norm": None, "line": at, "file": "t"} for at, loss in enumerate(losses)]


FALLS = [4.0 - at * 0.07 for at in range(40)]


def test_a_loss_above_all_that_came_before_is_a_spike_however_much_it_fell() -> None:
    back = [9.0, 8.5, 8.0, 6.0, 4.0, 2.0, 1.3, 1.2, 1.2, 1.1]
    assert [spike.outlier["step"] for spike in spikes(_rows([*FALLS, *back]), 1.0)] == [40]


@pytest.mark.parametrize("tail", [[4.5, 1.2, 4.3, 1.2], [9.0, 1.2, 1.2, 1.1]])
def test_a_noisy_loss_is_none(tail: list[float]) -> None:
    assert not [*spikes(_rows([*FALLS, *tail, 1.2, 1.2]), 1.0)]


# --- replicas by what they share --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "named"), [("0.6{s}71234567{s}", [ODD]), ("0.6{s}7{r}234567{s}", [])])
def test_who_reduces_with_all_and_holds_something_else(tmp_path: Path, norm: str, named: list[int]) -> None:
    def lines(rank: int) -> list[str]:
        odd = 4 if rank == ODD else 1
        return [
            f"step {step} loss {2 + rank / 10 - step / 100:.5f} reduced_norm {norm.format(s=step, r=rank)} wsum 70.{odd}2345678{step}"
            for step in range(10, 20)
        ]

    _written(tmp_path, "rank_{r}.log", lines)
    assert analyze(tmp_path).verdict.ranks == named


@pytest.mark.parametrize(
    ("title", "column", "index", "named"),
    [
        ("In [3]: pnorm  # one column for each rank", "r{r}", "step", [ODD]),
        (">>> weight_norm", "rank{r}", "iteration", [ODD]),
        ("In [3]: pnorm  # one column for each run", "r{r}", "step", []),
        ("In [3]: pnorm  # one column for each rank", "layer{r}", "step", []),
    ],
)
def test_a_frame_with_a_column_for_each_rank(
    tmp_path: Path, title: str, column: str, index: str, named: list[int]
) -> None:
    head = "".join(f"{column.format(r=rank):>20}" for rank in range(RANKS))
    rows = [
        f"{step:<4}"
        + "".join(f"   40.123456{step}7{3 if step >= FIRST and rank == ODD else 1}" for rank in range(RANKS))
        for step in range(STEPS)
    ]
    (tmp_path / "cell.txt").write_text("\n".join([title, "Out[3]:", f"    {head}", index, *rows]) + "\n")
    assert analyze(tmp_path).verdict.ranks == named


def test_a_log_that_shows_a_frame_is_read_as_a_log(tmp_path: Path) -> None:
    frame = ["       rank0   rank1", "step", "1  0.25  0.25"]
    _written(
        tmp_path,
        "rank_{r}.log",
        lambda rank: [*frame, *(f"step {step} loss 1.{rank}{step}" for step in range(9)), "training completed"],
    )
    assert analyze(tmp_path).verdict.kind == "healthy"


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("INFO | __main__:update:31 - iter=14 reward mean=0.25", 14),
        ("ppo.core:step:120 - step 7 gain 0.25", 7),
        ("<module>:batch:9 | update 3 gain 0.25", 3),
        ("__main__:update:31 - reward mean=0.25", None),
        ("[rank0]:step:5 gain 0.25", 5),  # whoever speaks is no module
        ("step:5 gain 0.25", 5),
        ("train: step:5 gain 0.25", 5),
    ],
)
def test_a_line_of_a_program_is_no_step(line: str, step: int | None) -> None:
    assert of_line(line)[0] == step


@pytest.mark.parametrize(("odd", "suspects"), [((2,), [2]), ((1, 2), []), ((0, 1, 2, 3), [])])
def test_figures_below_the_line_of_a_program_are_of_their_step(
    tmp_path: Path, odd: tuple[int, ...], suspects: list[int]
) -> None:
    def lines(rank: int) -> list[str]:
        told = [f"worker rank {rank} of 4, world 4"]
        for step in range(FIRST + 1):
            value = "inf" if step == FIRST and rank in odd else f"0.{rank}{step}5"
            told.append(f"INFO | __main__:update:31 - iter={step} gain mean={value} max={value} spread={value}")
        return told

    _written(tmp_path, "actor_{r}.log", lines)
    verdict = analyze(tmp_path).verdict
    assert (list(verdict.ranks), list(verdict.suspects.ranks)) == ([], suspects)
