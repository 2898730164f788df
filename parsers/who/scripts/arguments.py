"""What a command line, or the variables before it, tells of the process that it began: its rank, its local rank, the world.

    python train.py --process-id 2 --num-processes 4           /usr/bin/env RANK=3 WORLD_SIZE=8 python train.py
    python -m pkg.main --global_rank=3 --local_rank 1           Process 4711: python train.py --rank 3

`--rank 16` of a low-rank adapter is alike in every process of a job: who joins processes by this asks for two numbers at least,
each of one process (assemble/who/told_arguments.py). Variables are surely of the process, also as a dictionary prints them
(`'PADDLE_GLOBAL_RANK': '5'`).
"""

from typing import Any

from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

CHARACTERS = 4000
_OPTION = regex(
    r"(?:^|\s)(?:--(?P<option>[A-Za-z][\w-]{1,40})[ =]|(?P<variable>[A-Z][A-Z_]{2,40})=)(?P<number>\d{1,7})(?=\s|$)"
)
_VARIABLE = regex(r"(?<![\w-])['\"]?(?P<name>[A-Z][A-Z_]{2,40})['\"]?(?:=|: ?)['\"]?(?P<number>\d{1,7})(?![\w.])")
_MEANING = {
    "rank": "rank", "global_rank": "rank", "world_rank": "rank", "process_id": "rank", "process_index": "rank",
    "PADDLE_TRAINER_ID": "rank", "PADDLE_GLOBAL_RANK": "rank", "PADDLE_TRAINERS_NUM": "world_size", "PADDLE_LOCAL_RANK": "local_rank",
    "HOROVOD_RANK": "rank", "HOROVOD_LOCAL_RANK": "local_rank", "HOROVOD_SIZE": "world_size",
    "RANK": "rank", "OMPI_COMM_WORLD_RANK": "rank", "PMI_RANK": "rank", "PMIX_RANK": "rank", "JAX_PROCESS_ID": "rank",
    "local_rank": "local_rank", "LOCAL_RANK": "local_rank", "OMPI_COMM_WORLD_LOCAL_RANK": "local_rank",
    "world_size": "world_size", "num_processes": "world_size", "WORLD_SIZE": "world_size",
    "OMPI_COMM_WORLD_SIZE": "world_size", "PMI_SIZE": "world_size", "JAX_NUM_PROCESSES": "world_size",
}  # fmt: skip
HOW = "arguments"


def told(command: str) -> dict[str, Any]:
    """Columns rank, local_rank, world_size of `ranks` and `how`; none where the rank is not told, or told twice differently."""
    found: dict[str, Any] = {}
    for option in _OPTION.finditer(command[:CHARACTERS]):
        name = _MEANING.get((option["option"] or "").lower().replace("-", "_") or option["variable"])
        if name is None:
            continue
        if found.setdefault(name, int(option["number"])) != int(option["number"]):
            return {}
    world = found.get("world_size")
    if "rank" not in found or not found["rank"] < (RANKS if world is None else world) <= RANKS:
        return {}
    return found | {"how": HOW}


def of_variables(text: str) -> dict[str, Any]:
    """Columns rank, local_rank, world_size that the variables of a process tell, as `RANK=3` or `'RANK': '3'`; none where no rank is
    told, or a name twice differently."""
    found: dict[str, Any] = {}
    for variable in _VARIABLE.finditer(text[:CHARACTERS]):
        name = _MEANING.get(variable["name"])
        if name is not None and found.setdefault(name, int(variable["number"])) != int(variable["number"]):
            return {}
    return found if "rank" in found and found["rank"] < found.get("world_size", RANKS) <= RANKS else {}
