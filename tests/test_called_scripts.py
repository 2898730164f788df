"""A script that computes ranks, and who calls it with what: whatever a record holds beside such a call is of that rank, in whatever form it is noted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("kiwi-11", "kiwi-12")
PIDS = (7044, 7018, 7091, 7027)  # by rank; of one host the first two
PARENTS = (7031, 7012, 7080, 7022)
WORDS = ("delta", "alpha", "omega", "kappa")
SCRIPTS = {
    "from one, by its place": ("one.sh", ["export WORLD_SIZE=4 RANK=$(( $1 - 1 ))", "python3 -u fit.py --part $2"], 1),
    "from one, by a name": ("one.sh", ["N=$1", "export WORLD_SIZE=4 RANK=$((N-1))", "python3 -u fit.py --part $2"], 1),
    "from zero": ("go.sh", ["N=$1", "export WORLD_SIZE=4 RANK=$((N+0))", "exec python3 -u fit.py --part $2"], 0),
}  # fmt: skip
Files = dict[str, list[str]]
Noted = Callable[[Callable[[int], str]], Files]


def of_each(name: str, line: Callable[[int, str], str], *head: str) -> Noted:
    """A file of each host."""
    return lambda call: {
        f"{host}/{name}": [*head, *(line(at, call(at)) for at in (2 * node, 2 * node + 1))]
        for node, host in enumerate(HOSTS)
    }


def of_all(name: str, line: Callable[[int, str], str], *head: str) -> Noted:
    """One file, with the host in each line."""
    return lambda call: {name: [*head, *(line(at, call(at)) for at in (2, 0, 3, 1))]}


def host(at: int) -> str:
    return HOSTS[at // 2]


# records that hold a call and a pid of its process
FORMS: dict[str, Noted] = {
    "ps of each host": of_each("ps.txt", lambda at, call: f"{PIDS[at]:>7} ?  S  01:40 bash {call}", "    PID TTY STAT TIME COMMAND"),
    "ps with parents": of_each("ps.txt", lambda at, call: f"{PIDS[at]:>7} {PARENTS[at]:>7} S  bash {call}", "    PID    PPID S COMMAND"),
    "lines with a host before them": of_all("ps.log", lambda at, call: f"{host(at)}:  pid {PIDS[at]} S  bash {call}"),
    "a table with marks": of_all("jobs.csv", lambda at, call: f"{host(at)},{PIDS[at]},{call}", "host,pid,command"),
    "a table with tabs": of_all("jobs.tsv", lambda at, call: f"{PIDS[at]}\t{host(at)}\t0\t{call}", "Pid\tHost\tExitval\tCommand"),
    "a table with bars": of_all("jobs.txt", lambda at, call: f"| {host(at)} | {PIDS[at]} | {call} |", "| node | pid | command |", "|---|---|---|"),
    "a log of starts": of_each("start.log", lambda at, call: f"10:00:0{at % 2} started '{call}' (pid {PIDS[at]})"),
    "a pid behind it": of_each("start.log", lambda at, call: f"+ ./{call} & pid={PIDS[at]}"),
    "a path before it": of_each("start.log", lambda at, call: f"pid {PIDS[at]}: /srv/run/{call}"),
    "with quotes": of_each("start.log", lambda at, call: f'spawn ["sh", "-c", "{call}"] pid={PIDS[at]}'),
    "sections": lambda call: {
        f"{host_}/proc.txt": [line for at in (2 * node, 2 * node + 1) for line in (f"== pid {PIDS[at]}", f"cmdline: bash {call(at)}", "State: S", "")]
        for node, host_ in enumerate(HOSTS)
    },
    "settings": of_each("units.txt", lambda at, call: f"MainPID={PIDS[at]}\nExecStart=/srv/{call}\n"),
    "systemd's status": of_each("units.txt", lambda at, call: f"   Main PID: {PIDS[at]} (bash)\n     CGroup: {PIDS[at]} bash ./{call}\n"),
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[tuple[str | None, int], int]:
    rows = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pid"])
    return {(place, pid): rank for place, pid, rank in rows.select("host", "pid", "rank").iter_rows()}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("form", FORMS)
def test_a_record_beside_a_call_is_of_the_rank_that_it_gets(form: str, script: str, tmp_path: Path) -> None:
    name, lines, first = SCRIPTS[script]
    files = FORMS[form](lambda at: f"{name} {at + first} {WORDS[at]}")
    files = {path: "\n".join(own).split("\n") for path, own in files.items()}
    assert told(tmp_path, files | {name: lines}) == {(host(at), PIDS[at]): at for at in range(4)}


def case(folder, form, script="from one, by its place"):
    name, lines, first = SCRIPTS[script]
    files = FORMS[form](lambda at: f"{name} {at + first} {WORDS[at]}")
    files = {path: "\n".join(own).split("\n") for path, own in files.items()}
    return told(folder, files | {name: lines})
