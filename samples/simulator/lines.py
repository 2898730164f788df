"""A printed line, where it stands in the bundle, and who a rank is on its host: shared by all that print."""

from dataclasses import dataclass
from typing import Any

from parsers.schema.tables import TableName
from samples.simulator.job import Job

RUN = "pretrain_4711"
MERGED = "logs/train.log"
SECOND = 1_000_000_000
KINDS = {  # as the tables name what the recorder names otherwise
    "_all_gather_base": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "all_reduce_barrier": "barrier",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line, or a block of them. `row` is its row of `table`, where it makes one; `more` holds others. `ns`:
    when it was printed, by the true clock; 0 = before the simulated steps."""

    path: str
    text: str
    table: TableName = "events"
    row: dict[str, Any] | None = None
    more: tuple[tuple[TableName, dict[str, Any]], ...] = ()
    ns: int = 0


def pid(job: Job, rank: int) -> int:
    return 41_000 + job.host_index(rank) * 97 % 9000 + rank % job.gpus_per_host


def path(job: Job, rank: int, stream: str) -> str:
    return f"hosts/{job.host(rank)}/logs/{RUN}/attempt_0/{rank % job.gpus_per_host}/{stream}.log"
