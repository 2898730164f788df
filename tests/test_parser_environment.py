"""Variables and arguments of a job: what is set, and never what a sentence only mentions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.training.environment import PARSER
from tests.lines import lines

OLD = (
    "[Rank 3] ProcessGroupNCCL initialized with following options:\nNCCL_ASYNC_ERROR_HANDLING: 1\nTIMEOUT(ms): 1800000"
)
NEW = (
    "[rank3]:[I1121 02:07:08.4 ProcessGroupNCCL.cpp:1] [PG 0 Rank 3] ProcessGroupNCCL {}size: 16, global rank: 3, "
    "TIMEOUT(ms): 600000, USE_HIGH_PRIORITY_STREAM: 0"
)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("RuntimeError: CUDA error, pass CUDA_LAUNCH_BLOCKING=1 to debug", [], id="advice"),
        pytest.param("run with NCCL_DEBUG=INFO for details", [], id="advice of NCCL"),
        pytest.param("AWS_SECRET_ACCESS_KEY=x", [], id="a secret"),
        pytest.param("NCCL_IB_TIMEOUT=22", [("NCCL_IB_TIMEOUT", "22", "environment")], id="env"),
        pytest.param("NCCL_IB_TIMEOUT=22\r", [("NCCL_IB_TIMEOUT", "22", "environment")], id="CRLF"),
        pytest.param("NCCL_IB_TIMEOUT=", [("NCCL_IB_TIMEOUT", "", "environment")], id="set to nothing"),
        pytest.param("export NCCL_IB_HCA='mlx5_0,mlx5_1'", [("NCCL_IB_HCA", "mlx5_0,mlx5_1", "environment")], id="export"),
        pytest.param("+ export MCCL_DEBUG=WARN", [("MCCL_DEBUG", "WARN", "environment")], id="set -x"),
        pytest.param('declare -x OMP_NUM_THREADS="8"', [("OMP_NUM_THREADS", "8", "environment")], id="declare"),
        pytest.param("NCCL_DEBUG=INFO TORCH_NCCL_BLOCKING_WAIT=1 torchrun --nnodes=2 train.py",
                     [("NCCL_DEBUG", "INFO", "environment"), ("TORCH_NCCL_BLOCKING_WAIT", "1", "environment")],
                     id="before a command"),
        pytest.param("mpirun -np 16 -x NCCL_DEBUG=INFO -x PATH python", [("NCCL_DEBUG", "INFO", "environment")], id="mpirun"),
        pytest.param("docker run --env=HCCL_CONNECT_TIMEOUT=600 image", [("HCCL_CONNECT_TIMEOUT", "600", "environment")],
                     id="docker"),
        pytest.param(OLD, [("NCCL_ASYNC_ERROR_HANDLING", "1", "environment"),
                           ("process_group_timeout_ms", "1800000", "argument")], id="PyTorch 1.9"),
        pytest.param("ProcessGroupNCCL initialization options:NCCL_ASYNC_ERROR_HANDLING: 1, NCCL_DESYNC_DEBUG: 0, "
                     "TIMEOUT(ms): 1800000", [("NCCL_ASYNC_ERROR_HANDLING", "1", "environment"),
                                              ("NCCL_DESYNC_DEBUG", "0", "environment"),
                                              ("process_group_timeout_ms", "1800000", "argument")], id="PyTorch 2.0"),
        pytest.param("[PG 0 Rank 3] ProcessGroupNCCL environments: NCCL version: 2.20.5, TORCH_NCCL_BLOCKING_WAIT: 0, "
                     "TORCH_DISTRIBUTED_DEBUG: OFF", [("nccl", "2.20.5", "version"),
                                                      ("TORCH_NCCL_BLOCKING_WAIT", "0", "environment"),
                                                      ("TORCH_DISTRIBUTED_DEBUG", "OFF", "environment")], id="PyTorch 2.2"),
        pytest.param("[PG 3 Rank 0] ProcessGroupNCCL initialization options: size: 2, global rank: 3, TIMEOUT(ms): 9",
                     [], id="another group's timeout"),
        pytest.param("  tensor_model_parallel_size ...................... 8",
                     [("tensor_model_parallel_size", "8", "argument")], id="Megatron"),
        pytest.param("[2026-01-31 10:11:12,345] [INFO] [config.py:999:print]   zero_enabled ................. True",
                     [("zero_enabled", "True", "argument")], id="DeepSpeed"),
        pytest.param("    forward-backward ...............................: (26094.39, 26095.09)", [], id="a timer"),
        pytest.param("waiting ..... done", [], id="a sentence with dots"),
    ],
)  # fmt: skip
def test_settings(text: str, settings: list[tuple[str, str, str]]) -> None:
    found = PARSER.parse(lines(text))["settings"]
    assert found.select("name", "value", "scope").rows() == settings


@pytest.mark.parametrize("what", ["initialization options: ", "initialization options:"])
def test_the_global_rank_and_the_size_of_the_world(what: str) -> None:
    tables = PARSER.parse(lines(NEW.format(what), rank=3, host="n1"))
    [claim] = tables["ranks"].rows(named=True)
    assert (claim["rank"], claim["world_size"], claim["host"]) == (3, 16, "n1")
    assert ("process_group_timeout_ms", "600000", 3) in tables["settings"].select("name", "value", "rank").rows()


def test_a_smaller_group_says_nothing_of_the_world() -> None:
    text = "[PG 3 Rank 0] ProcessGroupNCCL initialization options: size: 2, global rank: 3, TIMEOUT(ms): 9"
    assert PARSER.parse(lines(text))["ranks"].select("rank", "world_size").rows() == [(3, None)]


@given(
    st.lists(
        st.sampled_from(
            ["NCCL_A_B=", "export ", '"', "x", " ", ": ", "-x ", "ProcessGroupNCCL environments: ", "....", "\n"]
        )
    )
)
def test_no_text_breaks_it(parts: list[str]) -> None:
    PARSER.parse(lines("".join(parts)))


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("[PG ID 1 PG GUID 4(dp) Rank 2]", (9, 1, "4", "dp", 4)),
        ("[PG 3 (tp) Rank 2]", (9, 3, None, "tp", 4)),
    ],
    ids=["with a name", "with a description"],
)
def test_each_member_says_of_which_group_it_is(prefix: str, expected: tuple[object, ...]) -> None:
    text = f"{prefix} ProcessGroupNCCL initialization options: size: 4, global rank: 9, TIMEOUT(ms): 9"
    tables = PARSER.parse(lines("a.log", text))
    assert tables["groups"].select("rank", "pg_id", "group", "desc", "size").rows() == [expected]
