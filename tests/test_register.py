"""Who is who, and where it was said: `forensics who`, and programs with rank spaces of their own (assemble/runs/register.py)."""

from pathlib import Path

from click.testing import CliRunner

from forensics import analyze
from forensics.cli import cli
from tests.test_speakers import written


def two_programs(folder: Path) -> Path:
    """A trainer of four and an engine of two, at the same time; the engine's rank 1 fails."""
    files = {
        f"{name}/rank{rank}.log": [
            f"2026-11-23 05:40:1{rank},000 | {name} | rank {rank} of {world} is up, pid {first + rank} on node7",
            f"2026-11-23 05:41:0{rank},000 | {name} | ready",
        ]
        for name, world, first in (("trainer", 4, 4000), ("engine", 2, 5000))
        for rank in range(world)
    }
    files["engine/rank1.log"] += [
        "Traceback (most recent call last):",
        '  File "/srv/engine.py", line 7, in <module>',
        "    serve()",
        '  File "/srv/engine.py", line 3, in serve',
        '    raise ValueError("bad request")',
        "ValueError: bad request",
    ]
    return written(folder, files)


def test_two_programs_have_rank_spaces_of_their_own_and_the_verdict_says_whose_rank_it_names(tmp_path: Path) -> None:
    report = analyze(two_programs(tmp_path))
    told = [(one.name, one.world, one.ranks_seen) for one in report.coverage.programs]
    assert told == [("engine", 2, ["0-1"]), ("trainer", 4, ["0-3"])]
    assert report.verdict.program == "engine"


def test_one_program_has_no_name(tmp_path: Path) -> None:
    files = {
        f"run/rank{rank}.log": [f"rank {rank} of 4 is up, pid {4000 + rank} on node7", "ready"] for rank in range(4)
    }
    report = analyze(written(tmp_path, files))
    assert (report.coverage.programs, report.verdict.program) == ([], None)


def test_who_tells_each_process_with_all_its_names_and_where_each_was_said(tmp_path: Path) -> None:
    files = {f"proc{rank}.log": ["ready", f"rank {rank} of 4 is up, pid {4000 + rank} on node7"] for rank in range(4)}
    said = CliRunner().invoke(cli, ["who", str(written(tmp_path, files)), "--rank", "2"], catch_exceptions=False).output
    rows = [line.split() for line in said.splitlines()]
    assert ["2", "file", "proc2.log", "1", "file", "proc2.log"] in rows
    assert ["2", "host", "node7", "2", "process", "table"] in rows
    assert ["2", "pid", "4002", "1", "introduction", "proc2.log:2"] in rows


def test_a_report_hands_out_its_graphs_with_their_evidence() -> None:
    graph = analyze("samples/order_inversion/bundle").graph
    held = [(rank, op) for rank, op, said in graph.waits.edges(data=True) if rank[0] == "rank" and said["file"]]
    assert held and all(graph.waits.nodes[op]["kind"] for _, op in held)
    said = [told for _, name, told in graph.names.edges(("rank", 0), data=True) if name[0] == "file"]
    assert said and all(told["how"] and told["file"] for told in said)
