"""What the processes, the launcher and the kernels of a simulated job print."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from forensics.simulate.job import Job
from parsers.tables import TableName

if TYPE_CHECKING:
    from forensics.simulate.outcome import Incident


def pid(job: Job, rank: int) -> int:
    return 41_000 + job.host_index(rank) * 97 % 9000 + rank % job.gpus_per_host


def files(incident: "Incident") -> Iterator[tuple[str, bytes]]:
    yield from ()


def tables(incident: "Incident") -> dict[TableName, pl.DataFrame]:
    return {}
