"""How many replicas a job trains, as programs say it: sizes of axes, places among replicas, and what tells neither."""

import pytest

from parsers.text.layouts import sizes
from parsers.training import layout_words
from tests.lines import lines

DP, TP, PP = "data_parallel_size", "tensor_model_parallel_size", "pipeline_model_parallel_size"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("using world size: 4, data-parallel size: 4, tensor-model-parallel size: 1, pipeline-model-parallel size: 1", {DP: "4", TP: "1", PP: "1"}),
        ("parallel layout dp=8 tp=2 pp=1 zero=0", {DP: "8", TP: "2", PP: "1"}),
        ("layout: data-parallel 6, group world=[0..5]", {DP: "6"}),
        ("parallel: {data: 8, tensor: 1, pipeline: 1}", {DP: "8", TP: "1", PP: "1"}),
        ("world=8 (data parallel x8, replicas)", {DP: "8"}),
        ("rank=2 backend=nccl pure data parallel", {TP: "1", PP: "1"}),
        ("strategy=ddp(dp=4) amp=bf16", {DP: "4", TP: "1", PP: "1"}),
        ("note: gradients are averaged over the 6 ranks before the update", {DP: "6"}),
        ("grads all-reduced across all 8 workers", {DP: "8"}),
        ("Gradients were synchronized among 5 processes", {DP: "5"}),
        ("dp=2 tp=4 gradients averaged over 2 ranks", {DP: "2", TP: "4"}),
        ("tp=4 gradients averaged over 2 ranks", {}),
        ("gradient norms averaged over 6 ranks", {}),
        ("gradients averaged over 6 steps", {}),
        ("activations all-reduced across 4 ranks", {}),
        ("loss averaged over 4 ranks", {}),
        ("tp=4 pp=2", {}),
        ("read data: 8 GB", {}),
        ("no data parallel here", {}),
    ],
)  # fmt: skip
def test_sizes(text: str, told: dict[str, str]) -> None:
    assert sizes(text) == told


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        ("[dp 1/4] mesh: data=4 model=1", 1),
        ("data rank 3/4, data-parallel size 4, tensor-parallel size 1", 3),
        ("[dp 1/4] mesh: data=4 model=2", None),
        ("[dp 1/4] mesh: data=8 model=1", None),
        ("[dp 1/4] mesh: data=4", None),
    ],
)
def test_a_place_among_replicas_is_the_rank_where_nothing_else_divides_the_job(text: str, rank: int | None) -> None:
    claims = layout_words.PARSER.parse(lines(text))["ranks"]
    assert claims["rank"].to_list() == ([] if rank is None else [rank])


def test_a_line_of_a_step_is_somebody_elses() -> None:
    assert layout_words.PARSER.parse(lines("step 5 loss 2.1 dp=4"))["settings"].is_empty()
