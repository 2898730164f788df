"""Which child of Lightning's launcher ended."""

import pytest

from parsers.scheduling.lightning_launcher import PARSER
from tests.lines import lines

_MORE = "Forcefully terminating all other processes to avoid zombies 🧟"


@pytest.mark.parametrize(
    ("status", "code", "severity"), [("-9", "SIGKILL", "error"), ("1", "1", "error"), ("0", "0", "info")]
)
def test_the_rank_that_ended_not_the_one_that_prints(status: str, code: str, severity: str) -> None:
    text = f"[rank: 2] Child process with PID 4711 terminated with code {status}. {_MORE}"
    [row] = PARSER.parse(lines(text))["events"].rows(named=True)
    assert (row["kind"], row["rank"], row["pid"], row["code"], row["severity"]) == ("exit", 2, 4711, code, severity)
