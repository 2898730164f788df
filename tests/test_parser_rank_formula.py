"""A script that computes the ranks: what a launcher counts is none."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.scheduling.rank_formula import PARSER
from tests.lines import lines

COMPUTED = "export RANK=$((LOCAL*NNODES+NODE))"


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        (COMPUTED, "LOCAL*NNODES+NODE"),
        ('export RANK="$(( OMPI_COMM_WORLD_RANK + 1 ))"', "OMPI_COMM_WORLD_RANK + 1"),
        ("+ RANK=$((r%8*4 + g))", "r%8*4 + g"),
        ("RANK=$((SLURM_PROCID))", None),
        ("RANK=$(( ${PMI_RANK} ))", None),
        ("NODE_RANK=$((RANK / 8))", None),
        ("RANK=$OMPI_COMM_WORLD_RANK", None),
    ],
)
def test_an_expression_is_told_unless_it_is_a_name(text: str, expression: str | None) -> None:
    told = PARSER.parse(lines(text))["settings"]
    assert told.select("name", "value", "scope").rows() == ([("RANK", expression, "script")] if expression else [])


TAGGED = "".join(f"[1,{task}]<stdout>: step {step} loss 2.31\n" for step in (10, 11) for task in range(4)) + (
    "[1,2]<stderr>: Traceback (most recent call last):\n"
    '[1,2]<stderr>:   File "/w/train.py", line 40, in <module>\n'
    "[1,2]<stderr>:     batch = table[index]\n"
    "[1,2]<stderr>: KeyError: 'shard-7'\n"
    "Primary job  terminated normally, but 1 process returned a non-zero exit code.\n"
    "  Process name: [[29973,1],2]\n  Exit code:    1\n"
)
NAMED = "mpirun noticed that process rank 2 with PID 4711 on node n07 exited on signal 9 (Killed).\n"


@pytest.mark.parametrize(("script", "ranks"), [("exec python train.py", [2]), (COMPUTED, [])])
@pytest.mark.parametrize("log", [TAGGED, NAMED])
def test_whom_mpirun_counts_is_a_rank_unless_a_script_computes_them(
    tmp_path: Path, log: str, script: str, ranks: list[int]
) -> None:
    (tmp_path / "launch.sh").write_text(f"#!/bin/bash\n{script}\n")
    (tmp_path / "job.out").write_text("world_size: 4\n" + log)
    report = analyze(tmp_path)
    assert report.incidents[report.primary].verdict.ranks == ranks
