"""A sentence, or a line of a script, says that nodes are counted along a list: one fact, one answer."""

import json
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

Files = dict[str, list[str]]
HOSTS = ("10.0.0.7", "10.0.0.4", "10.0.0.6", "10.0.0.5")
MACHINES = {
    "10.0.0.4": "plum_000000_v",
    "10.0.0.7": "plum_000001_v",
    "10.0.0.5": "plum_000002_v",
    "10.0.0.6": "plum_000003_v",
}
FORMULA = "global rank = 2 * node rank + slot"
CALLED = ["machine\tip", *(f"{name}\t{host}" for host, name in MACHINES.items())]
SEEN = ["step\tmachine\tslot\tcrc32\tloss", *(
    f"{step}\t{name}\t{slot}\t{step}ab{slot}\t2.{slot}{step}" for step in (100, 200) for slot in (1, 0) for name in MACHINES.values()
)]  # fmt: skip
RANKS = {(MACHINES[host], slot): 2 * node + slot for node, host in enumerate(HOSTS) for slot in (0, 1)}
ALONG = "node rank = index of my ip in NODE_LIST"


def listed(form: str, sentence: str = ALONG) -> Files:
    return {"env.txt": [form, sentence, FORMULA]}


SPEC = {
    "cluster": {"chief": [f"{HOSTS[0]}:2222"], "worker": [f"{host}:2222" for host in HOSTS[1:]]},
    "task": {"index": 1},
}
FORMS: dict[str, Files] = {
    "semicolons": listed(f"NODE_LIST={';'.join(HOSTS)}"),
    "commas": listed(f"NODE_LIST: {','.join(HOSTS)}"),
    "blanks": listed(f'export NODE_LIST="{" ".join(HOSTS)}"'),
    "ports": listed(f"NODE_LIST={','.join(f'{host}:6105' for host in HOSTS)}"),
    "an array of a shell": listed(f"NODE_LIST=({' '.join(HOSTS)})"),
    "strings": listed(f"NODE_LIST = {list(HOSTS)}", "node_rank = NODE_LIST.index(my_ip)"),
    "in a line of a log": listed(f"05:00:01 launcher: NODE_LIST={';'.join(HOSTS)}", f"05:00:01 launcher: {ALONG}"),
    "a position": listed(f"NODE_LIST={','.join(HOSTS)}", "node_rank is the position in NODE_LIST"),
    "a word of its name": listed(f"BATCH_MACHINES={','.join(HOSTS)}", "node rank = place among the machines, from 0"),
    "a word before it": listed(f"NODE_LIST={','.join(HOSTS)}", "# boot: node_rank = ordinal of the host in NODE_LIST"),
    "a mapping of lists": listed(f"CLUSTER_SPEC={json.dumps(SPEC)}", "node_rank = position in the flat cluster list (chief first)"),
    "a document": {"job.json": json.dumps({"NODE_LIST": HOSTS}, indent=1).splitlines(), "env.txt": [ALONG, FORMULA]},
    "entries": {"job.yaml": ["NODE_LIST:", *(f"- {host}" for host in HOSTS)], "env.txt": [ALONG, FORMULA]},
    "another tongue": listed(f"NODE_LIST={','.join(HOSTS)}", "node rank = 本机 ip 在 NODE_LIST 里的序号"),
    "one formula": listed(f"NODE_LIST={','.join(HOSTS)}", "node_rank = index of my ip in NODE_LIST, rank = node_rank * 2 + slot"),
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[tuple[str, int], int]:
    rows = read(str(written(folder, files | {"machines.tsv": CALLED, "digests.tsv": SEEN}))).tables["steps"]
    named = rows.filter(rows["file"].str.ends_with("digests.tsv")).select("line", "rank").drop_nulls()
    seats = {
        number: (line.split("\t")[1], int(line.split("\t")[2])) for number, line in enumerate(SEEN, 1) if number > 1
    }
    return {seats[line]: rank for line, rank in named.iter_rows()}


@pytest.mark.parametrize("form", FORMS)
def test_a_node_is_counted_along_the_list(form: str, tmp_path: Path) -> None:
    assert told(tmp_path, FORMS[form]) == RANKS


@pytest.mark.parametrize(
    "files",
    [
        listed(f"NODE_LIST={','.join(HOSTS)}", "node rank = index of my ip in the sorted NODE_LIST"),
        listed(f"NODE_LIST={','.join(HOSTS)}", "node rank is not the index in NODE_LIST"),
        listed(f"OTHERS={','.join(HOSTS)}"),
        listed(f"NODE_LIST={','.join(HOSTS)}", "the exporter asks NODE_LIST in this order"),
        listed(f"NODE_LIST={','.join(HOSTS[:3])}"),
        {"env.txt": [f"NODE_LIST={','.join(HOSTS)}", f"NODE_LIST={','.join(HOSTS[::-1])}", ALONG, FORMULA]},
    ],
    ids=["sorted", "not so", "another list", "no sentence of a node", "a list that is cut", "two orders"],
)
def test_another_list_counts_nobody(files: Files, tmp_path: Path) -> None:
    assert told(tmp_path, files) == {}


def test_a_name_that_is_a_part_of_two_is_of_none(tmp_path: Path) -> None:
    """`w-1` may be either of two members."""
    members = ["lm-w-1-a", "lm-w-1-b", "lm-w-2-a", "lm-w-2-b"]
    seen = [
        line.replace(f"plum_00000{at}_v", f"w-{1 + at // 2}")
        for line in SEEN
        for at in range(4)
        if f"00000{at}" in line
    ]
    files = listed(f"NODE_LIST={','.join(members)}") | {"digests.tsv": [SEEN[0], *seen]}
    rows = read(str(written(tmp_path, files))).tables["steps"]
    assert not rows.height or rows["rank"].null_count() == rows.height
