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


def given(form: Noted, script: str = "from one, by its place", numbers: tuple[int, ...] = (0, 1, 2, 3)) -> Files:
    name, lines, first = SCRIPTS[script]
    files = form(lambda at: f"{name} {numbers[at] + first} {WORDS[at]}")
    return {path: "\n".join(own).split("\n") for path, own in files.items()} | {name: lines}


@pytest.mark.parametrize("form", FORMS)
def test_a_record_beside_a_call_is_of_the_rank_that_it_gets(form: str, tmp_path: Path) -> None:
    assert told(tmp_path, given(FORMS[form])) == {(host(at), PIDS[at]): at for at in range(4)}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_count_from_one_or_from_zero(script: str, tmp_path: Path) -> None:
    files = given(FORMS["a table with tabs"], script, (2, 0, 3, 1))
    assert told(tmp_path, files) == {(host(at), PIDS[at]): rank for at, rank in enumerate((2, 0, 3, 1))}


CHILDREN = (7144, 7118, 7191, 7127)


def watched(at: int, call: str) -> str:
    own, child = (
        f"{PIDS[at]} {PARENTS[at]} S 5999 bash {call}",
        f"{CHILDREN[at]} {PIDS[at]} R 5998 python3 fit.py --part {WORDS[at]}",
    )
    return f"{host(at)}: {own}\n{host(at)}: {child}"


def test_a_child_is_of_the_rank_of_its_parent_though_no_column_has_a_name(tmp_path: Path) -> None:
    files = given(of_all("watch.log", watched))
    seen = {
        f"{host(at)}.log": [f"Jul 29 09:59:58 {host(at)} kernel: fit[{CHILDREN[at]}]: pid={CHILDREN[at]} trap"]
        for at in (1, 3)
    }
    found = told(tmp_path, files | seen)
    assert (found[host(1), CHILDREN[1]], found[host(3), CHILDREN[3]]) == (1, 3)


@pytest.mark.parametrize(
    ("word", "beside"),
    [(lambda at: WORDS[at], [*range(4)]), (lambda at: str(at + 1), [])],
    ids=["a word", "the number"],
)
def test_folders_are_called_as_what_the_calls_get(
    word: Callable[[int], str], beside: list[int], tmp_path: Path
) -> None:
    """A number may count anything where folders beside these are called otherwise."""
    logs = {f"out/{word(at)}/stderr": [f"mixing block {at}7", "flushed"] for at in range(4)}
    for folder, own, ranks in (("all", logs, [*range(4)]), ("more", logs | {"out/9/stderr": ["x"]}, beside)):
        files = read(str(written(tmp_path / folder, given(FORMS["a table with tabs"]) | own))).tables["files"]
        rows = files.drop_nulls("rank").sort("rank")
        assert [rank for path, rank in rows.select("file", "rank").iter_rows() if "stderr" in path] == ranks


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        (of_each("start.log", lambda at, call: f"watchdog pid 9001 saw bash {call}"), (0, 1, 2, 3)),
        (of_all("start.log", lambda at, call: f"pid {PIDS[at]}: bash {call}"), (0, 1, 1, 0)),
        (of_all("start.log", lambda at, call: f"pid {PIDS[at]}: cat {call.split()[0]}"), (0, 1, 2, 3)),
        (of_all("start.log", lambda at, call: f"pid {PIDS[at]}: {call}; {call.replace(' ', ' 1')}"), (0, 1, 2, 3)),
    ],
    ids=["one pid of all", "begun again", "shown, and not called", "two calls"],
)  # fmt: skip
def test_calls_that_tell_of_nobody(form: Noted, numbers: tuple[int, ...], tmp_path: Path) -> None:
    assert told(tmp_path, given(form, numbers=numbers)) == {}


def test_two_scripts_of_one_name_that_count_otherwise_tell_of_nobody(tmp_path: Path) -> None:
    files = given(FORMS["a table with tabs"])
    assert told(tmp_path, files | {"old/one.sh": ["N=$1", "export WORLD_SIZE=4 RANK=$((N+0))"]}) == {}
