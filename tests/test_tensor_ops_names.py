"""Which operators are communications, by their names."""

import pytest

from forensics.graph.numerics.tensor_ops import kind_of
from tests.first_anomaly_answers import answer
from tests.tensor_rows import Job


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        ("all_reduce", "all_reduce"),
        ("torch.distributed.all_reduce", "all_reduce"),
        ("Distributed.all_reduce.0.forward", "all_reduce"),
        ("tp_all_reduce", "all_reduce"),
        ("allreduce_", "all_reduce"),
        ("ncclAllReduce", "all_reduce"),
        ("NCCLAllReduce", "all_reduce"),
        ("c10d::allreduce_", "all_reduce"),
        ("_c10d_functional.all_reduce.default", "all_reduce"),
        ("all_reduce_coalesced", "all_reduce"),
        ("reduce_from_tensor_model_parallel_region", "all_reduce"),
        ("_ReduceFromModelParallelRegion", "all_reduce"),
        ("gather_from_sequence_parallel_region", "all_gather"),
        ("all_gather_into_tensor", "all_gather"),
        ("_all_gather_base", "all_gather"),
        ("reduce_scatter_to_sequence_parallel_region", "reduce_scatter"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("reduce_scatter_tensor_coalesced", "reduce_scatter"),
        ("all_to_all_single", "all_to_all"),
        ("AllToAll", "all_to_all"),
        ("alltoallv", "all_to_all"),
        ("isend", "send"),
        ("pp_recv", "recv"),
        ("recv_from_prev_pipeline_rank", "recv"),
        ("broadcast", "broadcast"),
        ("tp_broadcast", "broadcast"),
        ("ncclBcast", "broadcast"),
        ("fused_all_gather_matmul", "other"),
        ("send_forward_recv_backward", "other"),
    ],
)
def test_a_name_that_holds_a_collective(op: str, kind: str) -> None:
    assert kind_of(op) == kind


@pytest.mark.parametrize(
    "op",
    [
        "Linear", "scatter_add", "Tensor.scatter_add_", "masked_scatter", "scatter_reduce", "index_reduce", "reduce_sum",
        "broadcast_to", "broadcast_tensors", "gather_nd", "ReduceLROnPlateau", "scatter_to_tensor_model_parallel_region",
        "copy_to_tensor_model_parallel_region", "sender", "allocate", "overall_reduced",
    ],
)  # fmt: skip
def test_a_local_operator(op: str) -> None:
    assert kind_of(op) is None


@pytest.mark.parametrize("op", ["tp_all_reduce", "_c10d_functional.all_reduce.default", "fused_all_reduce_rmsnorm"])
def test_a_receiver_is_not_named_beside_the_culprit(op: str) -> None:
    """Rank 0's input of the call was clean, its output is what rank 1 sent."""
    job = Job()
    for rank in range(2):
        job.op(rank, "fc", "ok", "nan" if rank == 1 else "ok")
    for rank in range(2):
        job.op(rank, "mlp", "nan" if rank == 1 else "ok", "nan", op=op, group="tp", group_ranks="0-1")
    assert answer(job).ranks == (1,)
