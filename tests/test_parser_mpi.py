"""How MPI's launchers tell that a process ended."""

from typing import Any

import pytest

from parsers.scheduling.mpi import PARSER
from tests.lines import lines

HYDRA = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK 3 PID 4711 RUNNING AT n07\n=   {}\n=   CLEANING UP REMAINING PROCESSES"

MPICH = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 4711 RUNNING AT n07\n=   EXIT CODE: {}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun noticed that process rank 3 with PID 4711 on node n07 exited on signal 9 (Killed).", [("SIGKILL", 3, 4711, "n07")]),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD with errorcode 1.", [("1", 3, None, None)]),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", [("MPI_ABORT", 3, None, None)]),
        ("MPI_ABORT was invoked on rank 3 in communicator MPI COMMUNICATOR 4 with errorcode 1.", []),
        ("[n07:04711] *** Process received signal ***\n[n07:04711] Signal: Segmentation fault (11)\n[n07:04711] Signal code: Address (1)",
         [("SIGSEGV", None, 4711, "n07")]),
        (HYDRA.format("KILLED BY SIGNAL: 9 (Killed)"), [("SIGKILL", 3, 4711, "n07")]),
        (HYDRA.format("EXIT CODE: 7"), [("7", 3, 4711, "n07")]),
        (MPICH.format(9), [("SIGKILL", None, 4711, "n07")]),
        (MPICH.format(139), [("SIGSEGV", None, 4711, "n07")]),  # with a core
        (MPICH.format(15), [("SIGTERM", None, 4711, "n07")]),
        (MPICH.format(1), [("1", None, 4711, "n07")]),
        (MPICH.format(65280), [("65280", None, 4711, "n07")]),
        ("the RANK 3 PID 4711 RUNNING AT n07", []),
        ("", []),
    ],
)  # fmt: skip
def test_ends(text: str, expected: list[tuple[Any, ...]]) -> None:
    events = PARSER.parse(lines(text))["events"]
    assert events.select("code", "rank", "pid", "host").rows() == expected
    assert set(events["kind"]) <= {"exit"}
