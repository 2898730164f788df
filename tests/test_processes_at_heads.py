"""A number of its process before a line, in whatever form: whose rank it is, start lines and launchers tell (parsers/who/lines/heads.py, rows_alike.py,
parsers/schema/labels.py)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import raised, written

HOSTS = ("nx31", "nx12", "nx25")  # in the order of their ranks
EACH = 2
PIDS = {("nx31", 0): 4417, ("nx31", 1): 4402, ("nx12", 0): 931, ("nx12", 1): 940, ("nx25", 0): 4403, ("nx25", 1): 4411}
CULPRIT = 3  # 940 of nx12
PLACES = [(host, g) for host in sorted(HOSTS) for g in range(EACH)]
ERROR = [
    "Traceback (most recent call last):",
    '  File "/srv/fit/train.py", line 88, in <module>',
    "    main()",
    "KeyError: 'ids'",
]
Say = Callable[[str, int, str], str]


def rank(host: str, g: int) -> int:
    return HOSTS.index(host) * EACH + g


def log(say: Say, first: Callable[[str, int], str] | None = None) -> dict[tuple[str, int], list[str]]:
    """The lines of each process; one raises."""
    found = {}
    for host, g in PLACES:
        lines = [first(host, g)] if first else []
        lines += [f"it {step} nll 2.{step}{g}" for step in (10, 20, 30)]
        lines += ERROR if rank(host, g) == CULPRIT else []
        found[host, g] = [say(host, PIDS[host, g], line) for line in lines]
    return found


def mixed(lines: Mapping[tuple[str, int], Sequence[str]]) -> list[str]:
    most = max(map(len, lines.values()))
    return [own[at] for at in range(most) for own in lines.values() if at < len(own)]


def of_hosts(lines: Mapping[tuple[str, int], Sequence[str]]) -> dict[str, list[str]]:
    return {
        f"out/{host}.log": mixed({key: own for key, own in lines.items() if key[0] == host}) for host in sorted(HOSTS)
    }


def says_rank(host: str, g: int) -> str:
    return f"up: rank={rank(host, g)} size=6"


def says_slot(host: str, g: int) -> str:
    return f"uses cuda:{g} (LOCAL_RANK {g})"


BOTH: dict[str, Say] = {
    "a stamp": lambda host, pid, text: f"07:12:31.204 {host}/{pid} {text}",
    "a stamp and a level behind": lambda host, pid, text: f"07:12:31.204 {host}:{pid} E {text}",
    "a day, a stamp and a level": lambda host, pid, text: f"2026-04-02 07:12:31,204 INFO {host}/{pid} {text}",
    "a stamp in brackets": lambda host, pid, text: f"[2026-04-02 07:12:31] {host}@{pid} {text}",
}

ALONE: dict[str, Say] = {
    "p": lambda _, pid, text: f"2026-04-02 07:12:31,204 p{pid} fit: {text}",
    "pid in brackets": lambda _, pid, text: f"[pid {pid}] {text}",
    "pid=": lambda _, pid, text: f"[04-02 07:12:31] pid={pid} {text}",
    "pid:": lambda _, pid, text: f"07:12:31.204 PID:{pid} {text}",
    "a bare number": lambda _, pid, text: f"07:12:31.204 {pid} {text}",
}


@pytest.mark.parametrize("form", BOTH)
def test_a_host_and_a_process_behind_stamps(tmp_path: Path, form: str) -> None:
    assert raised(tmp_path, {"run.log": mixed(log(BOTH[form], says_rank))}) == [CULPRIT]


LAUNCHED: dict[str, list[str]] = {
    "commands": [
        f"{host}: + torchrun --nnodes=3 --node_rank={node} --nproc_per_node=2 t.py" for node, host in enumerate(HOSTS)
    ],
    "a hostfile": ["$ cat hostfile", *(f"{host} slots=2" for host in HOSTS), f"global_rank_mapping={ {host: [2 * n, 2 * n + 1] for n, host in enumerate(HOSTS)} }"],
}  # fmt: skip


@pytest.mark.parametrize("launch", LAUNCHED)
@pytest.mark.parametrize("form", ALONE)
def test_a_process_that_said_its_place_in_the_log_of_its_host(tmp_path: Path, form: str, launch: str) -> None:
    files = of_hosts(log(ALONE[form], says_slot))
    assert raised(tmp_path, {"launch.log": LAUNCHED[launch], **files}) == [CULPRIT]


def test_names_of_hosts_in_a_document_above_lines_are_no_headings(tmp_path: Path) -> None:
    files = of_hosts(log(ALONE["p"], says_slot))
    for at, path in enumerate(files):
        listed = (["env:", "{", '  "hosts": [', *(f'    "{host}",' for host in HOSTS[:2]), f'    "{HOSTS[2]}"', "  ]", "}"],
                  ["hosts:", *(f"  - {host}" for host in HOSTS)], ["nodes = [", *(f"  '{host}'," for host in HOSTS), "]"])  # fmt: skip
        files[path] = [*listed[at], *files[path]]
    assert raised(tmp_path, {"launch.log": LAUNCHED["commands"], **files}) == [CULPRIT]


@pytest.mark.parametrize("form", [form for form in ALONE if "pid" in form])
def test_one_process_that_is_called_by_its_pid_once(tmp_path: Path, form: str) -> None:
    """Nobody else prints it: the launcher has told which place each pid has."""
    spawned = [
        f"{host}: process {pid} spawned with command: ['python', 't.py', '--local_rank={g}']"
        for (host, g), pid in PIDS.items()
    ]
    error = [f"nx12: {ALONE[form]('nx12', 940, line)}" for line in ERROR]
    assert raised(tmp_path, {"launch.log": LAUNCHED["a hostfile"], "run.log": [*spawned, *error]}) == [CULPRIT]


SILENT: dict[str, Mapping[str, Sequence[str]]] = {
    "nobody says whose they are": of_hosts(log(ALONE["pid="])),
    "another process than those": {
        "launch.log": [
            *LAUNCHED["commands"],
            *(
                f"{host}: process {pid} spawned with command: ['python', 't.py', '--local_rank={g}']"
                for (host, g), pid in PIDS.items()
            ),
            *(f"nx12: [pid 941] {line}" for line in ERROR),
        ]
    },
    "the number of an epoch": of_hosts(
        log(lambda host, _, text: f"07:12:31 epoch{HOSTS.index(host)} {text}", says_slot)
    ),
}


@pytest.mark.parametrize("form", SILENT)
def test_numbers_of_nobody_who_is_known(tmp_path: Path, form: str) -> None:
    assert raised(tmp_path, SILENT[form]) == [None]


def test_who_tells_that_another_process_died_is_not_that_process(tmp_path: Path) -> None:
    """The parent of a pid speaks of it once; whose line it is, it does not say."""
    lines = mixed(log(BOTH["a stamp"], says_rank))
    lines += ["07:12:40.001 nx31/4417 worker (pid 940) died, leaving", "07:12:40.002 nx31/4417 KeyError: 'peer'"]
    events = read(str(written(tmp_path, {"run.log": lines}))).tables["events"]
    told = [rank for text, rank in events.select("text", "rank").iter_rows() if "peer" in text]
    assert told == [0]


# --- lists of processes in the order of their ranks


def in_order(sep: str, mark: str = ":", order: Sequence[tuple[str, int]] = ()) -> str:
    order = order or [(host, g) for g in range(EACH) for host in HOSTS]  # a launcher that deals the ranks out in turn
    return sep.join(f"{host}{mark}{PIDS[host, g]}" for host, g in order)


TURNS = {(host, g): g * len(HOSTS) + HOSTS.index(host) for host, g in PLACES}
ORDERED: dict[str, Sequence[str]] = {
    "a tool of the scheduler": ["$ flux job hostpids f9Xq", in_order(",")],
    "a comment": ["# processes in rank order", in_order(" ")],
    "a line of words": ["tasks started, by rank:", in_order(", ", "/")],
}
UNORDERED: dict[str, Sequence[str]] = {
    "nobody says in which order": ["$ pids of the job", in_order(",")],
    "in another order than ranks": ["sorted by start time", in_order(",")],
    "two processes of one number": ["# processes in rank order", f"{in_order(',')},{HOSTS[0]}:{PIDS[HOSTS[0], 0]}"],
    "no places": ["# blocks in rank order", "a1:4417,b2:931,a1:4402"],
}


@pytest.mark.parametrize("form", ORDERED)
def test_a_list_of_processes_in_the_order_of_ranks(tmp_path: Path, form: str) -> None:
    files = of_hosts(log(ALONE["pid="]))
    assert raised(tmp_path, {"cmds.txt": ORDERED[form], **files}) == [TURNS[HOSTS[CULPRIT // EACH], CULPRIT % EACH]]


@pytest.mark.parametrize("form", UNORDERED)
def test_other_lists_of_processes(tmp_path: Path, form: str) -> None:
    assert raised(tmp_path, {"cmds.txt": UNORDERED[form], **of_hosts(log(ALONE["pid="]))}) == [None]


def test_a_list_that_contradicts_what_processes_say(tmp_path: Path) -> None:
    lines = mixed(log(BOTH["a stamp"], says_rank))
    assert raised(tmp_path, {"cmds.txt": ORDERED["a comment"], "run.log": lines}) in ([CULPRIT], [None])


def test_an_executor_of_hosts_counts_no_ranks(tmp_path: Path) -> None:
    said = "30.0s: job.exception type=exec severity=0 rank 1 task exited with exit code 1"
    events = read(str(written(tmp_path, {"attach.err": [said, "rank 2 exited with exit code 1"]}))).tables["events"]
    assert [rank for kind, rank in events.select("kind", "rank").iter_rows() if kind == "exit"] == [None, 2]
