"""Settings, programs, pods and rules in words that tell who is who."""

import json
from pathlib import Path

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written
from tests.test_told_names import LOG, known, names


def test_settings_one_below_the_other_introduce_their_process(tmp_path: Path) -> None:
    ids = (
        "0a1b2c3d-aaaa-bbbb-cccc-0123456789ab",
        "ffeeddcc-1111-2222-3333-abcdefabcdef",
        "12345678-9abc-def0-aaaa-000000000000",
    )
    files = {
        f"out-{name}.log": f"Distributed environment: MULTI_GPU\nNum processes: 3\nProcess index: {rank}\nLocal process index: 0\n{LOG}"
        for name, rank in zip(ids, (2, 0, 1), strict=True)
    }
    assert known(tmp_path, files).ranks == {f"out-{name}.log": rank for name, rank in zip(ids, (2, 0, 1), strict=True)}


def shards(rank: int, other: int, form: str) -> list[str]:
    return [form.format(name=name, rank=number) for name, number in (("lark", rank), ("wren", other))]


FORMS_OF_PROGRAMS = {
    "supervisord.conf": '[program:{name}]\ncommand=/srv/t\nenvironment=RANK="{rank}",WORLD_SIZE="4"\n',
    "compose.yml": "{name}:\n  environment:\n    - WORLD_SIZE=4\n    - RANK={rank}\n",
}


@pytest.mark.parametrize("document", FORMS_OF_PROGRAMS)
def test_programs_that_hosts_call_alike_are_of_the_folder_that_tells_them(document: str, tmp_path: Path) -> None:
    form = FORMS_OF_PROGRAMS[document]
    logs = {f"n{host}/log/{name}.log": [LOG] for host in (1, 2) for name in ("lark", "wren")}
    told = {f"n1/{document}": shards(3, 0, form), f"n2/{document}": shards(1, 2, form)}
    ranks = dict(read(str(written(tmp_path, told | logs))).tables["files"].select("file", "rank").iter_rows())
    assert [ranks[path] for path in logs] == [3, 0, 1, 2]


@pytest.mark.parametrize("document", FORMS_OF_PROGRAMS)
def test_folders_that_tell_one_rank_twice_are_runs_and_no_hosts(document: str, tmp_path: Path) -> None:
    form = FORMS_OF_PROGRAMS[document]
    logs = {f"n{run}/log/{name}.log": [LOG] for run in (1, 2) for name in ("lark", "wren")}
    told = {f"n1/{document}": shards(0, 1, form), f"n2/{document}": shards(1, 0, form)}
    ranks = dict(read(str(written(tmp_path, told | logs))).tables["files"].select("file", "rank").iter_rows())
    assert [ranks[path] for path in logs] == [None] * len(logs)


def test_an_end_is_of_the_program_of_its_own_host(tmp_path: Path) -> None:
    form = FORMS_OF_PROGRAMS["supervisord.conf"]
    told = {"n1/supervisord.conf": shards(3, 0, form), "n2/supervisord.conf": shards(1, 2, form)}
    told["n2/supervisord.log"] = [
        "2026-03-01 10:00:02,120 WARN exited: lark (terminated by SIGKILL; not expected)",
        "2026-03-01 10:00:05,310 WARN exited: wren (exit status 1; not expected)",
    ]
    assert analyze(str(written(tmp_path, told))).verdict.ranks == [1]


def pods(worker: str, index: str = "SLOT_NO") -> dict[str, str]:
    """A master and two workers, whose commands tell who they are."""

    def pod(name: str, said: str, number: int) -> dict[str, object]:
        env = [{"name": "WORLD_SIZE", "value": "3"}, {"name": index, "value": str(number)}]
        return {
            "metadata": {
                "name": name,
                "uid": f"{number}{name[0].encode().hex()}c0ffe-0000-4000-8000-00000000000{number}",
            },
            "spec": {"command": ["sh", "-c", said], "env": env},
        }

    told = [pod("boss-0", "export RANK=0; exec python t.py", 0), *(pod(f"hand-{at}", worker, at) for at in (1, 0))]
    return {
        "pods.json": json.dumps({"items": told}),
        **{f"logs/{name}.txt": LOG for name in ("boss-0", "hand-0", "hand-1")},
    }


@pytest.mark.parametrize(
    ("worker", "index"),
    [
        ("export RANK=$((SLOT_NO+1)); exec python t.py", "SLOT_NO"),
        ("RANK=$((1 + TASK_INDEX)) python t.py", "TASK_INDEX"),
        ("python t.py --rank $((ORD+1))", "ORD"),
    ],
)
def test_a_command_makes_a_rank_of_its_own_variable(worker: str, index: str, tmp_path: Path) -> None:
    found = names(tmp_path, pods(worker, index))
    assert [found.rank(name) for name in ("boss-0", "hand-0", "hand-1")] == [0, 1, 2]


@pytest.mark.parametrize("worker", ["export RANK=$(who-am-i); exec python t.py", "exec python t.py"])
def test_the_one_of_a_list_who_tells_his_rank_tells_nothing_of_the_others(worker: str, tmp_path: Path) -> None:
    found = names(tmp_path, pods(worker))
    assert {found.rank(name) for name in ("hand-0", "hand-1", "WORLD_SIZE", "SLOT_NO")} == {None}


def test_a_kernel_kills_in_the_group_of_a_pod_that_a_document_tells(tmp_path: Path) -> None:
    files = pods("export RANK=$((SLOT_NO+1)); exec python t.py")
    uid = json.loads(files["pods.json"])["items"][1]["metadata"]["uid"].replace("-", "_")
    files["kern.log"] = (
        f"Mar  1 10:00:03 ip-7 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/kubepods.slice/kubepods-pod{uid}.slice,task_memcg=/kubepods.slice/kubepods-pod{uid}.slice/c,task=python,pid=4711,uid=0\n"
        "Mar  1 10:00:03 ip-7 kernel: Memory cgroup out of memory: Killed process 4711 (python) total-vm:9kB, anon-rss:9kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:9kB oom_score_adj:0\n"
    )
    found = analyze(str(written(tmp_path, {name: text.splitlines() for name, text in files.items()})))
    assert (found.verdict.cause, found.verdict.ranks) == ("host_oom", [2])


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("# the global number is NODE_NO * 2 + slot\n", "NODE_NO"),
        ('ts=2026-03-01T10:00:00Z msg="attached" rule="NODE_ID*2+gpu ordinal"\n', "NODE_ID"),
        ('[rank]\nformula = "HOST_INDEX * 2 + lane"\n', "HOST_INDEX"),
        ("; process p of a node is rank NODE*2+p and takes GPU p\n", "NODE"),
    ],
)
def test_a_rule_in_words_tells_where_nodes_begin(said: str, numbers: str, tmp_path: Path) -> None:
    files = {
        "rule.txt": said,
        **{f"ax{at}/node.env": f"{numbers}={number}\nNODES=3\n" for at, number in ((4, 1), (5, 0), (6, 2))},
    }
    found = names(tmp_path, files | {f"ax{at}/train.log": LOG for at in (4, 5, 6)})
    assert [found.places.get((host, 1)) for host in ("ax4", "ax5", "ax6")] == [3, 1, 5]


@pytest.mark.parametrize(
    "said",
    [
        "# the rule for the rate is base * 2 + warm\n",
        "# id of a port: 29500 + NODE_NO * 2 + slot\n",
        "# number of shards = NODE_NO * 2 + slot * 3\n",
    ],
)
def test_a_rule_of_something_else_is_none(said: str, tmp_path: Path) -> None:
    files = {"rule.txt": said, **{f"ax{at}/node.env": f"NODE_NO={at - 4}\nNODES=3\n" for at in (4, 5, 6)}}
    assert names(tmp_path, files | {f"ax{at}/train.log": LOG for at in (4, 5, 6)}).places == {}
