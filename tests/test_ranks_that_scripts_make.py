"""A script makes ranks of the fields of a record, in whatever form that record is: one fact, one answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import read
from parsers.who.scripts.branches import branches, value_of
from tests.sources import written

Files = dict[str, list[str]]
SCRIPT = [
    "#!/bin/bash",
    "# SLICE is the index of the job",
    "export RANK=$((JOB_COMPLETION_INDEX * NUM_SLICES + SLICE)) WORLD_SIZE=8",
    "exec python3 -m lm.train",
]
SEATS = [(1, 3), (0, 1), (1, 0), (0, 0), (1, 2), (0, 3), (0, 2), (1, 1)]  # slice, and completion of it
IDS = (
    "5f3ce0b1a2d4", "a91d7740cc01", "e1a2cfab9b3e", "03cda003be77", "6b645663d00c", "54aa68f3ce1a", "fcf9fde0751c", "ded8ccbd9bae",
)  # fmt: skip
NAMES = [f"lm-slice-{part}-{at}-{IDS[place][:5]}" for place, (part, at) in enumerate(SEATS)]
RANKS = {IDS[place]: 2 * at + part for place, (part, at) in enumerate(SEATS)}


def rows(form: Callable[[str, str, int, int], list[str]], *head: str) -> list[str]:
    return [*head, *(line for i, name, (s, c) in zip(IDS, NAMES, SEATS, strict=True) for line in form(i, name, s, c))]


def objects(of_labels: bool = True) -> list[dict[str, object]]:
    return [
        {"metadata": {"name": name, "labels": {"job-completion-index": str(c), "slice": str(s)}}, "status": {"containerID": f"containerd://{i}"}}
        if of_labels
        else {"id": i, "slice": s, "completion_index": c}
        for i, name, (s, c) in zip(IDS, NAMES, SEATS, strict=True)
    ]  # fmt: skip


FIELDS: dict[str, Files] = {
    "a list of pods": {"pods.json": json.dumps({"items": objects()}, indent=1).splitlines()},
    "objects": {"pods.json": json.dumps(objects(of_labels=False), indent=1).splitlines()},
    "entries": {
        "pods.yaml": rows(
            lambda i, n, s, c: [f"- name: {n}", f"  slice: {s}", f"  job-completion-index: {c}", f"  id: {i}"], "items:"
        )
    },
    "a mapping": {
        "pods.yaml": rows(lambda i, n, s, c: [f"  {i}:", f"    slice: {s}", f"    completion_index: {c}"], "pods:")
    },
    "with commas": {"pods.csv": rows(lambda i, n, s, c: [f"{i},{s},{c}"], "id,slice,completion_index")},
    "with tabs": {"pods.tsv": rows(lambda i, n, s, c: [f"{c}\t{i}\t{s}"], "completion-index\tid\tslice")},
    "columns": {
        "pods.txt": rows(lambda i, n, s, c: [f"{i:<14}{s:<7}{c}"], f"{'ID':<14}{'SLICE':<7}COMPLETION_INDEX")
    },
    "a table of a page": {
        "pods.md": rows(
            lambda i, n, s, c: [f"| {i} | {c} | {s} |"], "| id | completion_index | slice |", "|---|---|---|"
        )
    },
    "a file each": {
        f"pods/{i}.json": [json.dumps({"slice": s, "completion_index": c, "id": i})]
        for i, (s, c) in zip(IDS, SEATS, strict=True)
    },
    "sections": {"env.txt": rows(lambda i, n, s, c: [f"== {i}", f"SLICE={s}", f"JOB_COMPLETION_INDEX={c}"])},
    "blocks": {"env.txt": rows(lambda i, n, s, c: [f"Id={i}", f"Slice={s}", f"Completion-Index={c}", ""])},
    "names of columns with digits": {
        "pods.tsv": rows(lambda i, n, s, c: [f"{i}\t{s}\t{c}\t17"], "id\tslice\tcompletion_index\tgen2")
    },
    "names, in columns": {"pods.txt": rows(lambda i, n, s, c: [f"{n:<28}{i:<16}Running"], f"{'NAME':<28}{'ID':<16}STATUS")},
    "names, in rows below nothing": {"pods.txt": rows(lambda i, n, s, c: [f"{i}\t{n}\tRunning"])},
    "names, with marks": {"pods.txt": rows(lambda i, n, s, c: [f"{n} | {i} | up"])},
}  # fmt: skip


def told(folder: Path, files: Files) -> dict[str, int]:
    found = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "name"])
    return {name: rank for name, rank in found.select("name", "rank").iter_rows() if name in IDS}


@pytest.mark.parametrize("form", FIELDS)
def test_a_record_is_of_the_rank_that_is_made_of_its_fields(form: str, tmp_path: Path) -> None:
    assert told(tmp_path, FIELDS[form] | {"run.sh": SCRIPT}) == RANKS


@pytest.mark.parametrize(
    "files",
    [
        {"pods.csv": FIELDS["with commas"]["pods.csv"][:-1]},
        {"pods.csv": rows(lambda i, n, s, c: [f"{i},{s},{c}"], "id,shard,chunk")},
        {"pods.csv": rows(lambda i, n, s, c: [f"{i},{s},{c // 2}"], "id,slice,completion_index")},
        {"pods.csv": FIELDS["with commas"]["pods.csv"], "b.sh": ["export RANK=$((SLICE * 4 + JOB_COMPLETION_INDEX))"]},
    ],
    ids=["a table that is cut", "columns called otherwise", "two of one seat", "two scripts that differ"],
)
def test_what_is_not_all_of_the_job_names_nobody(files: Files, tmp_path: Path) -> None:
    assert told(tmp_path, files | {"run.sh": SCRIPT}) == {}


ALLOCATIONS = [(IDS[at], f"asr.worker[{at - 1}]" if at else "asr.lead[0]", "running") for at in range(8)]
OF_INDEX = [
    'args = ["-c", "export RANK=$((ALLOC_INDEX + 1)); exec python3 fit.py"]', 'env { WORLD_SIZE = "8" }',
    'args = ["-c", "export RANK=0; exec python3 fit.py"]',
]  # fmt: skip


@pytest.mark.parametrize("mark", ["\t", ",", "  ", " | ", ";"])
def test_the_attempt_that_stands_is_as_the_others_are(mark: str, tmp_path: Path) -> None:
    old = ("0b9d8f7e6a5c", "asr.worker[2]", "failed")
    listed = [mark.join(one) for one in [*ALLOCATIONS[3:], old, *ALLOCATIONS[:3]]]
    found = read(str(written(tmp_path, {"job.hcl": OF_INDEX, "allocs.txt": listed}))).tables["ranks"]
    named = dict(found.drop_nulls(["rank", "name"]).select("name", "rank").iter_rows())
    assert {name: rank for name, rank in named.items() if name in IDS} == {i: at for at, i in enumerate(IDS)}
    assert old[0] not in named


def test_two_attempts_of_which_none_stands_are_nobody(tmp_path: Path) -> None:
    old = ("0b9d8f7e6a5c", "asr.worker[2]", "running")
    listed = ["\t".join(one) for one in [*ALLOCATIONS, old]]
    assert told(tmp_path, {"job.hcl": OF_INDEX, "allocs.txt": listed}) == {}


# --- the number of a node, by what holds

BRANCHES = {
    "one line": "if [ $IDX -eq $MAIN ]; then NODE=0; elif [ $IDX -lt $MAIN ]; then NODE=$((IDX + 1)); else NODE=$IDX; fi",
    "a line each": 'if [[ "$IDX" == "$MAIN" ]]\nthen\n  NODE=0\nelif [[ "$IDX" -lt "$MAIN" ]]\nthen\n  NODE=$((IDX+1))\nelse\n  NODE=$IDX\nfi',
    "sums": "if (( IDX == MAIN )); then NODE=0; elif (( IDX < MAIN )); then NODE=$((IDX+1)); else NODE=$IDX; fi",
    "turned": "if [ $MAIN -gt $IDX ]; then NODE=$((1+IDX)); elif [ $MAIN -ne $IDX ]; then NODE=${IDX}; else NODE=0; fi",
    "given before": "NODE=$IDX\nif [ $IDX -lt $MAIN ]; then\n  NODE=$((IDX+1))\nfi\ntest $IDX -eq $MAIN && NODE=0",
    "and": 'NODE=$IDX\n[ "$IDX" -lt "$MAIN" ] && NODE=$((IDX + 1))\n[ "$IDX" -eq "$MAIN" ] && NODE=0',
    "or": 'NODE=0\n[ "$IDX" -lt "$MAIN" ] && NODE=$((IDX + 1)) || NODE=$IDX\n[ "$IDX" -eq "$MAIN" ] && NODE=0',
    "chosen": "NODE=$(( IDX == MAIN ? 0 : IDX < MAIN ? IDX + 1 : IDX ))",
    "chosen, with parentheses": "const NODE = (IDX == MAIN) ? 0 : (IDX < MAIN) ? IDX + 1 : IDX;",
    "either": "NODE = 0 if IDX == MAIN else IDX + 1 if IDX < MAIN else IDX",
    "either, with parentheses": "NODE = 0 if IDX == MAIN else (IDX + 1 if IDX < MAIN else IDX)",
    "indented": "if IDX == MAIN:\n    NODE = 0\nelif IDX < MAIN:\n    NODE = IDX + 1\nelse:\n    NODE = IDX\nrun()",
    "indented, given before": "NODE = IDX\nif IDX < MAIN:\n    NODE = IDX + 1\nif IDX == MAIN:\n    NODE = 0",
    "inside a function": "def node(IDX, MAIN):\n    if IDX == MAIN:\n        NODE = 0\n    elif IDX < MAIN:\n        NODE = IDX + 1\n    else:\n        NODE = IDX",
}  # fmt: skip


@pytest.mark.parametrize("form", BRANCHES)
def test_a_script_tells_cases_apart(form: str) -> None:
    cases = branches(BRANCHES[form].split("\n"))["NODE"]
    assert [value_of(cases, {"IDX": at, "MAIN": 2}) for at in range(4)] == [1, 2, 0, 3]


def test_a_condition_that_is_not_read_tells_nothing() -> None:
    cases = branches(["NODE=$IDX", 'if grep -q "$HOST" mains; then NODE=0; fi'])["NODE"]
    assert value_of(cases, {"IDX": 1}) is None


def nodes(script: str) -> Files:
    """Four nodes of two processes; the records tell an index and which is the main one."""
    streams = [f"{one}{one}" for one in IDS[:4]]
    records = [{"nodeIndex": at, "mainNode": 2, "stream": f"run/{one}"} for at, one in enumerate(streams)]
    return {
        "launch.sh": [
            "IDX=$JOB_NODE_INDEX", "MAIN=$JOB_MAIN_NODE_INDEX", *script.split("\n"),
            'for S in 0 1; do RANK=$((NODE * 2 + S)) python3 t.py & echo "slot $S pid $!"; done',
        ],
        "jobs.json": json.dumps(records, indent=1).splitlines(),
        "log.csv": [
            "@timestamp,@logStream,@message",
            *(f'2026-10-30 04:11:0{s}.000,run/{one},"slot {s} pid {200 + 2 * at + s}"' for at, one in enumerate(streams) for s in (0, 1)),
        ],
    }  # fmt: skip


def pids(folder: Path, files: Files) -> dict[int, int]:
    found = read(str(written(folder, files))).tables["ranks"].drop_nulls(["rank", "pid"])
    return dict(found.select("pid", "rank").iter_rows())


@pytest.mark.parametrize("form", ["one line", "a line each", "and"])
def test_processes_are_counted_by_the_node_that_a_script_makes(form: str, tmp_path: Path) -> None:
    of_nodes = [1, 2, 0, 3]
    assert pids(tmp_path, nodes(BRANCHES[form])) == {
        200 + 2 * at + s: 2 * node + s for at, node in enumerate(of_nodes) for s in (0, 1)
    }


def test_a_record_that_lacks_what_the_script_asks_tells_no_node(tmp_path: Path) -> None:
    files = nodes(BRANCHES["one line"])
    files["jobs.json"] = [line for line in files["jobs.json"] if "mainNode" not in line]
    assert pids(tmp_path, files) == {}


def test_two_records_of_one_node_tell_none(tmp_path: Path) -> None:
    files = nodes(BRANCHES["one line"])
    files["jobs.json"] = [line.replace('"nodeIndex": 3', '"nodeIndex": 1') for line in files["jobs.json"]]
    assert pids(tmp_path, files) == {}
