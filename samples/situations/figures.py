"""Figures that look bad and are none, and those whose owner cannot be told."""

import json

from samples.situations.healthy import finish
from samples.situations.job import Job, s
from samples.situations.own import MAIN, one_host
from samples.situations.parts import basic, others
from samples.situations.situation import case

WELL = {"kinds": ["healthy"], "ranks": [], "suspects_any": [[]]}


def well(n: str, day: int) -> tuple:
    """(job, end) of a run that ends well; more may be added."""
    j, e = basic(n, [f"w{day}"], 4, f"2026-10-{day:02}T09:00:00", "flat", "2.6", first=1, n=10)
    finish(j, e)
    return j, e


def table(j: Job, rows: list[dict]) -> Job:
    j.file("metrics.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return j


@case("eval_loss is NaN until there was an evaluation, best_metric Infinity; ten steps, all ends well", **WELL)
def a11_no_evaluation_yet(n: str) -> Job:
    j, _ = well(n, 1)
    nan, inf = float("nan"), float("inf")
    return table(
        j,
        [
            {
                "step": k,
                "loss": 2.4 - 0.01 * k,
                "eval_loss": nan if k < 8 else 2.41,
                "best_metric": inf if k < 8 else 2.41,
            }
            for k in range(1, 11)
        ],
    )


@case("the same as a table with commas", **WELL)
def a11_no_evaluation_yet_in_csv(n: str) -> Job:
    j, _ = well(n, 1)
    rows = [f"{k},{2.4 - 0.01 * k:.4f},{'nan' if k < 8 else '2.41'},{'inf' if k < 8 else '2.41'}" for k in range(1, 11)]
    j.file("metrics.csv", "\n".join(["step,loss,eval_loss,best_metric", *rows, ""]))
    return j


@case("the same as the dictionaries that a trainer prints", **WELL)
def a11_no_evaluation_yet_in_a_log(n: str) -> Job:
    j, e = well(n, 1)
    for k in range(1, 11):
        at = e - s(20 - 2 * k)
        j.log(
            0,
            at,
            f"{{'loss': {2.4 - 0.01 * k:.4f}, 'eval_loss': {'nan' if k < 8 else '2.41'}, 'best_metric': {'inf' if k < 8 else '2.41'}, 'epoch': 0.{k:02}}}",
        )
    return j


@case("a ValueError was caught and said, ten steps, all ends well", **WELL)
def a18_caught(n: str) -> Job:
    j, e = well(n, 2)
    j.log(2, e - s(9), "sample 4411 skipped", "WARNING")
    j.trace(2, e - s(8.99), MAIN, "ValueError: bad record header in /data/c4/shard_00911.bin")
    return j


@case("rank_loss, ranking/ndcg and the model Rank-R1 are metrics and a name; all ends well", **WELL)
def a33_metrics_of_ranking(n: str) -> Job:
    j, e = well(n, 3)
    j.log(1, e - s(9), "judge: Rank-R1: MRR 0.41, first hit at rank 1")
    return table(
        j, [{"step": k, "loss": 2.4 - 0.01 * k, "rank_loss": 0.4 - 0.01 * k, "ranking/ndcg": 0.6} for k in range(1, 11)]
    )


@case("a table of search results has a column rank, up to 9: no rank of the job; all ends well", **WELL, seen=["0-3"])
def a33_rank_of_results(n: str) -> Job:
    j, _ = well(n, 3)
    rows = [f"q{k // 10},{k % 10},{1 / (k % 10 + 1):.3f}" for k in range(40)]
    j.file("eval/results.csv", "\n".join(["query,rank,score", *rows, ""]))
    return j


@case("the same as JSON lines with a step and a loss of the ranking", **WELL, seen=["0-3"])
def a33_rank_of_results_in_json(n: str) -> Job:
    j, _ = well(n, 3)
    j.file(
        "eval/results.jsonl",
        "".join(
            json.dumps({"step": 10, "query": f"q{k // 10}", "rank": k % 10, "rank_loss": 0.3}) + "\n" for k in range(40)
        ),
    )
    return j


@case("loss_scale doubles, loss_weight is 0, step_time swings: scale, weight and time, no loss; all ends well", **WELL)
def a34_loss_scale(n: str) -> Job:
    j, _ = well(n, 4)
    return table(
        j,
        [
            {
                "step": k,
                "loss": 2.4 - 0.01 * k,
                "loss_scale": 65536.0 * 2 ** (k // 5),
                "loss_weight": 0.0,
                "step_time": 1.9 + 0.2 * (k % 2),
            }
            for k in range(1, 11)
        ],
    )


@case("the same as key=value of a log", **WELL)
def a34_loss_scale_in_a_log(n: str) -> Job:
    j, e = well(n, 5)
    for k in range(1, 11):
        j.put(
            "logs/main.log",
            e - s(20 - 2 * k),
            f"{e - s(20 - 2 * k):%Y-%m-%d %H:%M:%S} step={k} loss={2.4 - 0.01 * k:.4f} loss_scale={65536 * 2 ** (k // 5)} loss_weight=0.0 step_time={1.9 + 0.2 * (k % 2):.2f}",
        )
    return j


@case(
    "reward/std, mfu and ppl are nan or inf from the first step on, loss is finite, all ends well: derived figures",
    **WELL,
)
def a40_derived_figures(n: str) -> Job:
    j, _ = well(n, 6)
    nan, inf = float("nan"), float("inf")
    return table(
        j, [{"step": k, "loss": 2.4 - 0.01 * k, "reward/std": nan, "mfu": inf, "ppl": inf} for k in range(1, 11)]
    )


@case("the same as pairs of a log", **WELL)
def a40_derived_figures_in_a_log(n: str) -> Job:
    j, e = well(n, 7)
    for k in range(1, 11):
        j.put(
            "logs/main.log",
            e - s(20 - 2 * k),
            f"{e - s(20 - 2 * k):%Y-%m-%d %H:%M:%S} step {k} | loss: {2.4 - 0.01 * k:.4f} | reward/std: nan | mfu: inf | ppl: inf",
        )
    return j


@case("the same as a table with commas", **WELL)
def a40_derived_figures_in_csv(n: str) -> Job:
    j, _ = well(n, 6)
    rows = [f"{k},{2.4 - 0.01 * k:.4f},nan,inf,inf" for k in range(1, 11)]
    j.file("progress.csv", "\n".join(["step,loss,reward/std,mfu,ppl", *rows, ""]))
    return j


@case("a warning about NaN in a column of the data, which were replaced; all ends well: a complaint", **WELL)
def a41_nan_in_a_column(n: str) -> Job:
    j, e = well(n, 8)
    j.log(1, e - s(15), "NaN values found in column price, replaced by 0", "WARNING")
    return j


@case(
    "rank 0 prints a sample of generated text, which holds a traceback of (RANK 6); steps follow, all ends well", **WELL
)
def a50_sample_of_text(n: str) -> Job:
    j, e = well(n, 9)
    j.log(
        0,
        e - s(9),
        'sample of step 5: "When a save fails the log shows\nTraceback (most recent call last): (RANK 6)\n  File "save.py", line 4, in save\n    stream.write(block)\nOSError: [Errno 28] No space left on device\nand the operator frees some space."',
    )
    return j


@case(
    "two stages by four replicas: only the last stage prints its loss, and 6 alone prints nan; whether it was born there or in stage 0 of its pipeline cannot be told",
    kinds=["numerics"],
    ranks=[],
    never=["established", "supported"],
)
def a15_last_stage_of_a_pipeline(n: str) -> Job:
    j = Job(n, ["pp2"], 8, "2026-10-10T09:00:00", "flat", "2.6")
    j.start()
    j.log(0, j.t0 + s(5), "pipeline_parallel_size=2 data_parallel_size=4 tensor_parallel_size=1")
    e = j.steps(800, 803, j.t0 + s(20), ranks=[4, 5, 6, 7])
    for k in range(3):
        for r in (4, 5, 6, 7):
            j.log(
                r,
                e + s(2 * k + 2),
                f"step {804 + k} done loss {'nan' if r == 6 else f'{2.39 + 0.01 * r:.4f}'} step_time 2.003 s",
            )
    return j


@case(
    "two ranks read the same data, print equal losses and then NaN both, in one step: nobody",
    kinds=["numerics"],
    ranks=[],
    never=["established"],
)
def a42_two_alike(n: str) -> Job:
    j = Job(n, ["dp2"], 2, "2026-10-11T09:00:00", "flat", "2.6")
    j.start()
    for k in range(8):
        for r in j.ranks:
            j.log(
                r,
                j.t0 + s(20 + 2 * k),
                f"step {800 + k} done loss {'nan' if k > 4 else f'{2.4 - 0.01 * k:.4f}'} step_time 2.003 s",
            )
    return j


@case(
    "of eight ranks 2 and 3, which always print one loss, print nan from one step on; the others stay finite and no layout is told: one of the two",
    kinds=["numerics"],
    ranks=[],
    suspects=[2, 3],
    never=["established"],
)
def a55_pair_without_a_layout(n: str) -> Job:
    j = Job(n, ["tp2"], 8, "2026-10-12T09:00:00", "flat", "2.6")
    j.start()
    for k in range(8):
        for r in j.ranks:
            bad = k > 4 and r in (2, 3)
            j.log(
                r,
                j.t0 + s(20 + 2 * k),
                f"step {800 + k} done loss {'nan' if bad else f'{2.4 - 0.01 * k + 0.02 * (r // 2):.4f}'} step_time 2.003 s",
            )
    return j


@case(
    "after a restart rank 1 prints another learning rate than the seven, as they all did before, and the loss, which fell, goes up",
    kinds=["launch", "numerics"],
    causes=["config_drift"],
    ranks=[],
    suspects=[1],
    never=["established"],
)
def a56_learning_rate_after_restart(n: str) -> Job:
    j, _ = one_host(n, 13, layout="torchrun")
    j.files.clear()
    for attempt, t in ((0, j.t0), (1, j.t0 + s(300))):
        j.attempt = attempt
        j.start(t)
        for k in range(6):
            for r in j.ranks:
                x, lr = 2.4 - 0.01 * k + (0.9 * k if attempt else 0), "3e-3" if attempt and r == 1 else "3e-4"
                j.log(
                    r,
                    t + s(20 + 2 * k + 0.01 * r),
                    f"step {800 + k + 3 * attempt} done loss {x:.4f} lr={lr} step_time 2.003 s",
                )
        if not attempt:
            j.torchrun_fail(j.hosts[0], t + s(60), [(4, -9, "SIGKILL")], 4, closing=others(j, 4))
    return j
