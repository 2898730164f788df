"""Communication that no record sees: who is in it by his stack, and which functions are waits."""

from collections.abc import Iterable

import pytest

from forensics.facts.waits.stacks import Frame, classify
from tests.hang_tables import Frames, Rows, idle, waiting

DISPATCH = (
    ("synchronize", "torch/cuda/streams.py", 105),
    ("dispatch", "deep_ep/buffer.py", 380),
    ("forward", "moe.py", 61),
)
FUSED = (
    ("cudaStreamSynchronize", "", 0),
    ("te::CommOverlapP2PBase::split_overlap_rs(long)", "", 0),
    ("step", "train.py", 9),
)
SYNC = (("synchronize", "torch/cuda/streams.py", 105), ("step", "train.py", 9))


@pytest.mark.parametrize(
    ("frames", "name"), [(DISPATCH, "DeepEP"), (FUSED, "Transformer Engine's user buffers")], ids=["DeepEP", "TE"]
)
def test_a_library_that_communicates_beside_the_groups_is_named_with_what_records_lack(
    frames: Frames, name: str
) -> None:
    job = Rows(8).placed()
    for rank in range(8):
        job.stack(rank, frames if rank < 6 else "communication")
    said = [one.claim for one in job.incident().evidence if "outside every process group" in one.claim]
    assert len(said) == 1
    assert said[0].startswith(f"ranks 0-5 are in {name}")
    assert said[0].endswith("so flight records hold no entry of it")


def recorded(open_ranks: Iterable[int]) -> Rows:
    """All ranks have records and wait for their devices; some have an operation open."""
    job = Rows(4).placed()
    waiting(job, open_ranks, "world", 7)
    idle(job, sorted(set(range(4)) - set(open_ranks)), "world", 6)
    for rank in range(4):
        job.stack(rank, SYNC)
    return job


def test_who_waits_for_the_device_with_nothing_open_is_held_by_what_no_group_launched() -> None:
    said = [one.claim for one in recorded((0, 1)).incident().evidence if "launched by no process group" in one.claim]
    assert [text.split(" are ")[0] for text in said] == ["ranks 2-3"]
    assert not [one for one in recorded(range(4)).incident().evidence if "launched by no process group" in one.claim]


def test_ordinary_communication_and_a_run_that_goes_on_lack_nothing() -> None:
    job = Rows(8).placed()
    for rank in range(8):
        job.stack(rank, "communication" if rank else "data_loading")
    assert not [one for one in job.incident().evidence if "process group" in one.claim]


TORCH = "/venv/lib/python3.11/site-packages/torch/"
COLLECTIVES = {
    "all_reduce": "Allreduce", "all_gather": "Allgatherv", "reduce_scatter": "Reduce_scatter_block", "all_to_all": "Alltoallw",
    "broadcast": "Bcast", "barrier": "Barrier", "gather": "Gather", "scatter": "Scatterv", "reduce": "Reduce",
}  # fmt: skip
PROGRESS = {
    "bare": [],
    "Open MPI": ["opal_progress", "ompi_request_default_wait"],
    "UCX": ["ucp_worker_progress", "opal_progress", "ompi_request_default_wait_all"],
    "UCX below": ["uct_dc_mlx5_iface_progress_ll", "ucp_worker_progress", "mca_pml_ucx_recv"],
}


@pytest.mark.parametrize("inner", PROGRESS)
@pytest.mark.parametrize("form", ["MPI_{}", "PMPI_{}", "PMPI_I{}"])
@pytest.mark.parametrize("op", COLLECTIVES)
def test_a_wait_of_mpi_is_communication_of_the_call_around_it(op: str, form: str, inner: str) -> None:
    name = COLLECTIVES[op] if "_I" not in form else COLLECTIVES[op].lower()
    native = [Frame(function, "libmpi.so.40", None) for function in (*PROGRESS[inner], form.format(name))]
    site = classify([Frame("epoll_wait", "libc.so.6", None), *native, Frame("get_batch", "dataset.py", 7)])
    assert (site.site, site.op) == ("communication", op)


@pytest.mark.parametrize(
    ("function", "site", "op"),
    [
        ("PMPI_Waitall", "communication", None),
        ("PMPI_Sendrecv", "communication", None),
        ("MPI_Isend", "communication", "send"),
        ("PMPI_Recv", "communication", "recv"),
        ("ompi_coll_base_allreduce_intra_ring", "communication", "all_reduce"),
        ("PMPI_File_write_at_all", "storage_io", None),
    ],
)
def test_functions_of_mpi(function: str, site: str, op: str | None) -> None:
    told = classify([Frame(function, "libmpi.so.40", None), Frame("save_checkpoint", "train.py", 7)])
    assert (told.site, told.op) == (site, op)


@pytest.mark.parametrize("coalesced", ["", "_coalesced"])
@pytest.mark.parametrize("file", [f"{TORCH}distributed/distributed_c10d.py", ""], ids=["with its file", "listed"])
def test_collectives_of_torch_2_13(file: str, coalesced: str) -> None:
    ops = [classify([Frame(f"{op}_single{coalesced}", file, 1)]).op for op in ("all_gather", "reduce_scatter")]
    assert ops == ["all_gather", "reduce_scatter"]


def test_jax_that_waits_for_its_device_may_wait_for_peers() -> None:
    frames = [Frame("block_until_ready", "/venv/site-packages/jax/_src/array.py", 606), Frame("train", "train.py", 7)]
    assert classify(frames).site == "gpu_sync"


@pytest.mark.parametrize(
    "wrapper",
    [
        ("_fn", "_dynamo/eval_frame.py"),
        ("compile_wrapper", "_dynamo/eval_frame.py"),
        ("nonrecursive_disable_wrapper", "_dynamo/external_utils.py"),
        ("__call__", "_inductor/output_code.py"),
    ],
)
def test_a_wrapper_around_code_that_runs_is_no_compilation(wrapper: tuple[str, str]) -> None:
    """What runs inside decides, with the wrapper as without it; what compiles inside compiles."""
    around = Frame(wrapper[0], TORCH + wrapper[1], 9)
    for inner in (
        Frame("zorb", "frobnicate.py", 3),
        Frame("item", f"{TORCH}_tensor.py", 3),
        Frame("transform", f"{TORCH}_dynamo/convert_frame.py", 3),
    ):
        assert classify([inner, around]).site == classify([inner]).site
