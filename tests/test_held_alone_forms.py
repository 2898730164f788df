"""One process of a job that its host shows held, whatever tool prints it and wherever it stands; and looks that accuse nobody."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.stacks.process_table import bare
from tests import sources


def written(folder: Path, files: dict[str, str]) -> Path:
    return sources.written(folder, {name: text.split("\n") for name, text in files.items()})


HOSTS = ("n1", "n2")
PIDS = {"n1": (3001, 3002, 3003, 4103), "n2": (4101, 4102, 4103, 4104)}  # a number may be on both
ODD = ("n2", 4103)
RUN = "python -u train.py --conf a.ini"
WAITS = "\n".join(f"10:1{at}:00 node n{at} no step finished for 600 s" for at in (1, 2)) + "\n"
Held = dict[str, str]
STOPPED = {"state": "Tl", "wchan": "do_signal_stop", "word": "T (stopped)"}
LOCKED = {"state": "Sl", "wchan": "locks_lock_inode_wait", "word": "S (sleeping)"}
RUNS = {"state": "Rl", "wchan": "-", "word": "R (running)"}


def rows(held: Held, form: str, host: str | None = None) -> str:
    said = ""
    for place in HOSTS:
        for pid in PIDS[place]:
            own = held if (place, pid) == ODD else RUNS
            if host in (None, place):
                said += form.format(host=place, pid=pid, parent=pid // 100 * 100, run=RUN, **own) + "\n"
    return said


def ps(held: Held, host: str, names: str, form: str) -> str:
    return f"{names}\n{rows(held, form, host)}"


LONG = "    PID    PPID STAT WCHAN                  COMMAND"
ROW = "{pid:7d} {parent:7d} {state:4} {wchan:22} {run}"
AUX = "trainer   {pid} 99.0  4.2 8212340 51034 ?   {state}   08:12  95:12 {run}"


def looks(held: Held, form: str) -> dict[str, str]:
    """Name of a file → what is in it."""
    each = {host: ps(held, host, LONG, ROW) for host in HOSTS}
    bare = {host: rows(held, "{pid} {parent} {state} 03:25:46 43.7G {wchan} {run}", host) for host in HOSTS}
    match form:
        case "a file of each host":
            return {f"hosts/{host}/ps.txt": text for host, text in each.items()}
        case "prompts of bash":
            return {
                "look.txt": "".join(
                    f"op@{host}:~$ ps -eo pid,ppid,stat,wchan:22,args\n{text}" for host, text in each.items()
                )
            }
        case "prompts in brackets":
            return {
                "look.txt": "".join(
                    f"[{host}] $ ps -eo pid,ppid,stat,wchan:22,args  # 10:13\n{text}\n" for host, text in each.items()
                )
            }
        case "prompts of root":
            return {
                "look.txt": "".join(
                    f"[root@{host} ~]# ps -eo pid,ppid,stat,wchan:22,args\n{text}" for host, text in each.items()
                )
            }
        case "headings":
            return {"look.txt": "".join(f"--- {host} ---\n{text}\n" for host, text in each.items())}
        case "headings in Chinese":
            return {"look.txt": "".join(f"主机 {host}：\n{text}\n" for host, text in each.items())}
        case "before each row":
            return {"look.txt": rows(held, "{host}: {pid} {parent} {state} 03:25:46 {wchan} {run}")}
        case "before each row, no function":
            return {"look.txt": rows(held, "{host}:  {pid}  {parent} {state}  5999 {run}")}
        case "no header":
            return {
                "look.txt": "".join(
                    f"op@{host}:~$ docker top trainer -o pid,ppid,stat | tail -n +2\n{text}"
                    for host, text in bare.items()
                )
            }
        case "in the middle of notes":
            return {
                "notes.md": "# shift\n\nnobody logged in\n" * 8
                + "".join(
                    f"```\nop@{host}:~$ ps -eo pid,ppid,stat,wchan:22,args\n{text}```\n" for host, text in each.items()
                )
            }
        case "ps aux":
            return {
                "look.txt": "".join(f"op@{host}:~$ ps aux | grep train\n" + rows(held, AUX, host) for host in HOSTS)
            }
        case "ansible":
            return {"look.txt": "".join(f"{host} | CHANGED | rc=0 >>\n{text}" for host, text in each.items())}
        case "another order":
            text = {
                host: ps(
                    held,
                    host,
                    "STAT     PID WCHAN                 ELAPSED COMMAND",
                    "{state}  {pid} {wchan:20} 10:11 {run}",
                )
                for host in HOSTS
            }
            return {
                f"ps_{host}.txt": f"op@{host}:~$ ps -eo stat,pid,wchan:20,etime,args\n{own}"
                for host, own in text.items()
            }
        case "/proc/PID/status":
            status = "Name:\tpython\nState:\t{word}\nTgid:\t{pid}\nPid:\t{pid}\n{wait}\n"
            told = {host: "".join(_status(status, held, host, pid) for pid in PIDS[host]) for host in HOSTS}
            return {f"hosts/{host}/status.txt": text for host, text in told.items()}
        case "some of a status, below the number":
            status = "== {pid}\nState:\t{word}\nThreads:\t18\n{wait}\n"
            told = {
                host: f"op@{host}:~$ for p in ...\n" + "".join(_status(status, held, host, pid) for pid in PIDS[host])
                for host in HOSTS
            }
            return {
                f"walk_{host}.txt": f"{text}op@{host}:~$ ps -eo pid,ppid,stat,args\n"
                + rows(held, "{pid} {parent} {state} {run}", host)
                for host, text in told.items()
            }
    raise AssertionError(form)


def _status(form: str, held: Held, host: str, pid: int) -> str:
    own = held if (host, pid) == ODD else RUNS
    wait = f"==> /proc/{pid}/wchan <==\n{own['wchan']}" if own["wchan"].startswith("locks") else ""
    return form.format(pid=pid, word=own["word"], wait=wait)


FORMS = ("a file of each host", "prompts of bash", "prompts in brackets", "prompts of root", "headings", "headings in Chinese", "before each row",
         "before each row, no function", "no header", "in the middle of notes", "ps aux", "ansible", "another order", "/proc/PID/status",
         "some of a status, below the number")  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_one_that_is_stopped_is_found_on_its_host(tmp_path: Path, form: str) -> None:
    verdict = analyze(written(tmp_path, looks(STOPPED, form) | {"monitor.log": WAITS})).verdict
    assert (verdict.kind, verdict.cause, verdict.site, verdict.hosts) == (
        "hang",
        "rank_absent",
        "unresponsive",
        [ODD[0]],
    )
    assert str(ODD[1]) in verdict.summary and verdict.ranks == []


@pytest.mark.parametrize(
    "form",
    [
        form
        for form in FORMS
        if form not in ("before each row, no function", "ps aux", "some of a status, below the number")
    ],
)
def test_the_one_that_waits_for_a_lock_is_found_on_its_host(tmp_path: Path, form: str) -> None:
    verdict = analyze(written(tmp_path, looks(LOCKED, form) | {"monitor.log": WAITS})).verdict
    assert (verdict.kind, verdict.cause, verdict.site, verdict.hosts) == ("hang", "rank_absent", "lock", [ODD[0]])


def test_who_waits_by_the_table_of_locks(tmp_path: Path) -> None:
    locks = "1: POSIX  ADVISORY  WRITE 1733 00:1a:1187 0 EOF\n2: FLOCK  ADVISORY  WRITE 40112 00:31:91 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 4103 00:31:91 0 EOF\n"
    text = (
        "op@n2:~$ ps -eo pid,ppid,stat,args\n"
        + rows(RUNS | {"state": "Sl"}, "{pid} {parent} Sl {run}", "n2")
        + f"op@n2:~$ cat /proc/locks\n{locks}"
    )
    verdict = analyze(written(tmp_path, {"look.txt": text, "monitor.log": WAITS})).verdict
    assert (verdict.cause, verdict.site, verdict.hosts) == ("rank_absent", "lock", ["n2"])


def test_the_dead_one_left_by_its_brothers(tmp_path: Path) -> None:
    text = f"op@n2:~$ ps -eo pid,ppid,stat,args\n{rows(RUNS, '{pid} {parent} {state} {run}', 'n2')}"
    text = text.replace(f"4103 4100 Rl {RUN}", "4103 4100 Z [python] <defunct>")
    verdict = analyze(written(tmp_path, {"look.txt": text, "monitor.log": WAITS})).verdict
    assert (verdict.cause, verdict.hosts) == ("rank_died", ["n2"])


ALL = "{host}: {pid} {parent} Tl 03:25:46 do_signal_stop {run}"
QUIET = "{host}: {pid} {parent} {state} 03:25:46 {wchan} {run}"
NOTHING: dict[str, dict[str, str]] = {
    "all were stopped": {"look.txt": rows(STOPPED, ALL), "monitor.log": WAITS},
    "another program is stopped": {"look.txt": rows(RUNS, QUIET) + "n2: 9001 9000 T 00:01:00 do_signal_stop vim a.ini\n", "monitor.log": WAITS},
    "a shell is stopped": {"look.txt": rows(RUNS, QUIET) + "n2: 9001 9000 T 00:01 do_signal_stop -bash\nn1: 9001 9000 S 00:01 do_wait -bash\n", "monitor.log": WAITS},
    "a tracer looks once": {"look.txt": rows({"state": "tl", "wchan": "ptrace_stop"}, QUIET), "monitor.log": WAITS},
    "it sleeps for a disk, and nothing shows that the job stood": {"look.txt": rows({"state": "Dl", "wchan": "nfs4_wait"}, QUIET)},
    "half wait for locks": {"look.txt": rows(RUNS, QUIET).replace("n2: ", "n2: ").replace("n2: 4101 4100 Rl 03:25:46 -", "n2: 4101 4100 Sl 03:25:46 flock_lock_inode_wait").replace("n2: 4102 4100 Rl 03:25:46 -", "n2: 4102 4100 Sl 03:25:46 flock_lock_inode_wait").replace("n2: 4103 4100 Rl 03:25:46 -", "n2: 4103 4100 Sl 03:25:46 flock_lock_inode_wait").replace("n2: 4104 4100 Rl 03:25:46 -", "n2: 4104 4100 Sl 03:25:46 flock_lock_inode_wait"), "monitor.log": WAITS},
    "a worker of one is stopped": {"look.txt": rows(RUNS, QUIET) + f"n2: 4203 4103 Tl 03:25:46 do_signal_stop {RUN}\n", "monitor.log": WAITS},
    "a dead worker of a loader": {"look.txt": rows(RUNS, QUIET) + "n2: 4203 4103 Z 00:00:00 - [python] <defunct>\n", "monitor.log": WAITS},
}  # fmt: skip


@pytest.mark.parametrize("situation", NOTHING)
def test_a_look_that_accuses_nobody(tmp_path: Path, situation: str) -> None:
    verdict = analyze(written(tmp_path, NOTHING[situation])).verdict
    assert (verdict.ranks, verdict.hosts) == ([], [])


def test_where_steps_went_on_a_stopped_process_is_none_of_the_job(tmp_path: Path) -> None:
    log = "".join(f"2026-01-31 10:{at:02d}:00 step {at} loss 2.{90 - at} lr 0.0001\n" for at in range(10, 50))
    verdict = analyze(written(tmp_path, looks(STOPPED, "before each row") | {"train.log": log})).verdict
    assert verdict.ranks == [] and verdict.status != "established"


def test_ordinary_lines_hold_no_processes() -> None:
    assert not any(map(bare, ("step 12 took 5 R units of it", "1 2 3 4 5", "loss 0.4 after 3 S", "4711 S 5 6 7")))


def test_what_a_process_forks_is_not_it_where_stacks_tell_the_jobs_own(tmp_path: Path) -> None:
    """A loader's worker that sleeps for storage runs the program of the process that forked it; without a column of parents only its number tells."""
    stacks = "".join(
        f'Process {pid}: {RUN}\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} (active): "MainThread"\n    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    <module> (train.py:9)\n\n'
        for pid in PIDS["n2"]
    )
    table = "op@n2:~$ ps -eo pid,stat,wchan:22,args\n" + rows(RUNS, "{pid} {state} {wchan} {run}", "n2")
    workers = "".join(f"{pid} Dl rpc_wait_bit_killable {RUN}\n" for pid in (4301,))
    more = "".join(f"{pid} Sl futex_wait_queue {RUN}\n" for pid in range(4302, 4309))
    forked = "op@n2:~$ ps -o pid,stat,wchan:22,args --ppid 4103\n" + workers + more
    assert (
        analyze(
            written(tmp_path / "a", {"n2/n2.txt": stacks, "n2/look.txt": forked, "monitor.log": WAITS})
        ).verdict.hosts
        == []
    )
    verdict = analyze(written(tmp_path, {"n2.txt": stacks, "look.txt": table + workers, "monitor.log": WAITS})).verdict
    assert (verdict.ranks, verdict.hosts) == ([], []) and "4301" not in verdict.summary
