"""How many processes a job has: what launchers and frameworks say, and what is only said of a group."""

import pytest

from parsers.training.world import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("using world size: 16, data-parallel size: 2, tensor-model-parallel size: 4", [(None, 16)]),
        ("Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16", [(3, 16)]),
        ("Num processes: 16", [(None, 16)]),
        ("rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1, EP rank 1", [(1, 2)]),
        (
            "[WARNING] DISTRIBUTED(32018,ffff9a7c,python):2026-01-31-10:11:12 [c.cc:9] F] This node 1 rank id: 1",
            [(1, None)],
        ),
        ("env {'PWD': '/x', 'PADDLE_TRAINERS_NUM': '4', 'PADDLE_TRAINER_ID': '3'}", [(3, 4)]),
        (
            "Training in distributed mode with multiple processes, 1 device per process.Process 3, total 16, device cuda:3.",
            [(3, 16)],
        ),
        ("Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 16 nodes.", [(3, 16)]),
        ("Rank 3: Completed store-based barrier for key:store_based_barrier_key:2 with 4 nodes.", []),
        (
            "Waiting in store based barrier to initialize process group for 600 seconds, rank: 3, key: store_based_barrier_key:1 "
            "(world_size=16, num_workers_joined=12, timeout=0:30:00)",
            [(3, 16)],
        ),
        ("Setting up process group for: env:// [rank=3, world_size=16]", [(3, 16)]),
        ("- (node_id=1a2b, ip=10.0.0.7, pid=4711) world_rank=3, local_rank=1, node_rank=0", [(3, None)]),
        ("init done rank=3 world_size=16 backend=nccl", [(3, 16)]),
        ("distributed init world=16 rank=3", [(3, 16)]),
        ("export WORLD_SIZE=16", [(None, 16)]),
        ("torchrun --nnodes 2 --nproc-per-node=8 a.py", [(None, 16)]),
        ("torchrun --nproc_per_node=8 --nnodes=2 a.py", [(None, 16)]),
        ("torchrun --nnodes=1:4 --nproc-per-node=8 a.py", []),
        ("torchrun --nnodes=$N --nproc-per-node=8 a.py", []),
        ("mpirun -np 16 -x A=b python a.py", [(None, 16)]),
        ("2026-01-31 INFO train: world size 16, model has 24736 parameters", [(None, 16)]),
        ("tensor parallel group with world size 4", []),
        ("init group pg=2 rank=3 world_size=4", []),
        ("init rank=16 world_size=16", []),
        ("rank=3 world_size=16 died", []),
        ("the world size: unknown", []),
        ("AssertionError: train_batch_size is not equal to micro_batch * world_size 256 != 4 * 8 * 16", []),
        ("expected world_size 8 >= 4", []),
        ("initialized host n2 as rank 8", [(8, None)]),
        ("starting p2p channel on n2 towards next stage (rank 2)", []),
        ("a member joined as rank 2", []),
        ("peer: distributed init (rank 2)", []),
        ("launching loader on n2 (rank 2)", []),
        ("fit --distributed-world-size 16 -x", [(None, 16)]),
        ("fit --teacher-world-size 16 -x", []),
        ("", []),
    ],
)
def test_line(text: str, expected: list[tuple[int | None, int | None]]) -> None:
    assert PARSER.parse(lines(text))["ranks"].select("rank", "world_size").rows() == expected


def test_ray_tells_of_another_process() -> None:
    text = "- (node_id=1a2b, ip=10.0.0.7, pid=4711) world_rank=3, local_rank=1, node_rank=0"
    [row] = PARSER.parse(lines(text, host="driver"))["ranks"].rows(named=True)
    assert (row["address"], row["pid"], row["local_rank"], row["host"]) == ("10.0.0.7", 4711, 1, None)


def test_a_pod_says_its_node() -> None:
    [row] = PARSER.parse(lines('export NODE_NAME="gpu-7"'))["ranks"].rows(named=True)
    assert (row["host"], row["rank"], row["how"]) == ("gpu-7", None, "node name")
    assert PARSER.parse(lines("NODE_NAME=$HOST\nset NODE_NAME=gpu-7 first"))["ranks"].is_empty()


def test_a_line_of_another_rank_is_not_believed() -> None:
    assert PARSER.parse(lines("init done rank=3 world_size=16", rank=5))["ranks"].is_empty()


def test_who_says_it_of_itself_has_a_process() -> None:
    text = "rank 3 in world size 4 is assigned as DP rank 0, PP rank 1, TP rank 1"
    said = PARSER.parse(lines(text, process=612))["ranks"]
    assert said.select("pid", "tp", "pp", "dp").row(0) == (612, 1, 1, 0)
    said = PARSER.parse(lines("[INFO] DISTRIBUTED(32018,ff,python):x [c.cc:9] F] This node 1 rank id: 1"))["ranks"]
    assert said["pid"].to_list() == [32018]
