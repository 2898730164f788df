"""What a person typed at a prompt, and what it printed: whose host it is of, who is told by the prompt or by the command."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("lark7", "lark2", "lark5")
EACH = 2
PROMPTS = {
    "ssh": "[kim@portal1 ~]$ ssh {host} scontrol listpids 77",
    "its own prompt": "kim@{host}:~$ scontrol listpids 77",
    "exec": "$ kubectl exec {host} -c main -- scontrol listpids 77",
    "as another": "# ssh -q root@{host} 'scontrol listpids 77 | sort'",
}
HEADS = {
    "tasks": "PID      JOBID    STEPID   LOCALID GLOBALID",
    "ids": "PID      JOB      PART     SLOT    ID",
}
Told = dict[tuple[str, int], int]


def table(head: str, prompt: str) -> list[str]:
    """Tasks given out in turn to the hosts."""
    lines = []
    for node, host in enumerate(HOSTS):
        lines += [prompt.format(host=host), head]
        lines += [f"{4000 + 9 * node + at:<8} 77       0        {at:<7} {at * len(HOSTS) + node}" for at in (1, 0)]
    return lines


def told(folder: Path, lines: list[str], script: str) -> Told:
    stacks = [f"Process {4000 + 9 * node + at}: python fit.py" for node in range(3) for at in range(EACH)]
    files = {"pids.txt": lines, "job.sh": ["#SBATCH --nodes=3", script], "st/all.txt": stacks}
    ranks = read(str(written(folder, files))).tables["ranks"].drop_nulls(["host", "rank", "pid"])
    return {(host, pid): rank for host, pid, rank in ranks.select("host", "pid", "rank").iter_rows()}


PLAIN = "srun bash -c 'RANK=$SLURM_PROCID python fit.py'"


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("head", HEADS)
def test_a_table_is_of_the_host_that_the_command_was_sent_to(tmp_path: Path, prompt: str, head: str) -> None:
    found = told(tmp_path, table(HEADS[head], PROMPTS[prompt]), PLAIN)
    assert found == {
        (host, 4000 + 9 * node + at): at * len(HOSTS) + node for node, host in enumerate(HOSTS) for at in range(EACH)
    }


def test_tasks_are_no_ranks_where_a_script_computes_them_otherwise(tmp_path: Path) -> None:
    script = "srun bash -c 'RANK=$((SLURM_NODEID * 2 + SLURM_LOCALID)) python fit.py'"
    found = told(tmp_path, table(HEADS["tasks"], PROMPTS["ssh"]), script)
    assert (
        found.items()
        <= {(host, 4000 + 9 * n + at): 2 * n + at for n, host in enumerate(HOSTS) for at in range(2)}.items()
    )


def test_commands_that_name_two_hosts_head_nothing(tmp_path: Path) -> None:
    lines = table(HEADS["tasks"], "[kim@portal1 ~]$ ssh -J lark9 {host} scontrol listpids 77")
    lines += ["[kim@portal1 ~]$ ssh lark9 uptime", "up 3 days"]
    assert not told(tmp_path, lines, PLAIN)


def test_a_remark_that_names_a_host_heads_nothing(tmp_path: Path) -> None:
    lines = table(HEADS["tasks"], "# look at {host} first")
    assert not told(tmp_path, [*lines, "$ ssh lark7 uptime", "$ ssh lark2 uptime", "$ ssh lark5 uptime"], PLAIN)
