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
        ("MPT ERROR: Rank 2(g:5) received signal SIGBUS(7).\n\tProcess ID: 4711, Host: n07, Program: /opt/py", [("SIGBUS", 5, 4711, "n07")]),
        ("MPT ERROR: Rank 3(g:3) received signal SIGSEGV(11).\n\tMPT Version: 2.25", [("SIGSEGV", 3, None, None)]),
        ("MPT ERROR: Rank 3(g:3) received signal SIGSEGV(11).", [("SIGSEGV", 3, None, None)]),
        ("Process ID: 4711, Host: n07, Program: /opt/py", []),
        ("the RANK 3 PID 4711 RUNNING AT n07", []),
        ("", []),
    ],
)  # fmt: skip
def test_ends(text: str, expected: list[tuple[Any, ...]]) -> None:
    events = PARSER.parse(lines(text))["events"]
    assert events.select("code", "rank", "pid", "host").rows() == expected
    assert set(events["kind"]) <= {"exit"}


ABORT = "Abort({code}) on node 5 (rank 5 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, {code}) - process 5"
OLD_ABORT = "application called MPI_Abort(MPI_COMM_WORLD, {code}) - process 5"


@pytest.mark.parametrize("words", [ABORT, OLD_ABORT])
@pytest.mark.parametrize(("end", "is_stopped"), [("KILLED BY SIGNAL: 9 (Killed)", True), ("KILLED BY SIGNAL: 15 (Terminated)", True),
                                                 ("KILLED BY SIGNAL: 11 (Segmentation fault)", False), ("EXIT CODE: 7", False)])  # fmt: skip
def test_whom_hydra_kills_behind_an_abort_was_told_to_stop(words: str, end: str, is_stopped: bool) -> None:
    events = PARSER.parse(lines(f"{words.format(code=1)}\n{HYDRA.format(end)}"))["events"]
    assert events.filter(events["kind"] == "exit")["rank"].to_list() == [5, 3]
    assert events.filter(events["kind"] == "closing_signal")["rank"].to_list() == ([3] if is_stopped else [])


def test_a_kill_before_the_abort_has_its_own_cause() -> None:
    text = f"{HYDRA.format('KILLED BY SIGNAL: 9 (Killed)')}\n{ABORT.format(code=1)}"
    assert set(PARSER.parse(lines(text))["events"]["kind"]) == {"exit"}


def test_whom_open_mpi_kills_behind_an_abort_was_told_to_stop() -> None:
    abort = "MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD"
    killed = "mpirun noticed that process rank 3 with PID 4711 on node n07 exited on signal 9 (Killed)."
    events = PARSER.parse(lines(f"{abort}\n{killed}"))["events"]
    assert events.filter(events["kind"] == "closing_signal")["rank"].to_list() == [3]
    assert "closing_signal" not in PARSER.parse(lines(f"{killed}\n{abort}"))["events"]["kind"]
