"""`analyze --compact`, `--each` and `--each-in`: a line for each, 4 kB at most, whatever stands in the report."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from forensics import analyze
from forensics.cli import batch, cli
from forensics.model.incident import Evidence
from forensics.model.ref import Ref
from reports import compact
from tests.report_checks import EXAMPLES, assert_harmless, every_example, example

ROOT = Path(__file__).resolve().parent.parent
STALL, KILLED, HEALTHY = (
    str(ROOT / "samples" / name / "bundle") for name in ("data_loader_stall", "rank_killed", "healthy_dp")
)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


@every_example
def test_one_line_of_four_kilobytes_at_most(name: str) -> None:
    raw = compact.render(example(name), "bundle/")
    assert len(raw) <= compact.LIMIT and raw.count(b"\n") == 1
    document = json.loads(raw)
    assert document["kind"] and "left_out" in document
    assert_harmless(raw.decode())


def test_what_is_too_much_is_left_out_whole_and_counted() -> None:
    report = EXAMPLES["hang"]()
    long = [
        Evidence(
            id=f"E{n}",
            claim=f"claim {n} " + "报告" * 900,
            direction="for",
            refs=[Ref(file="d/" * n + "f", line=n, text="“" + "y" * 5000)],
        )
        for n in range(400)
    ]
    incident = msgspec.structs.replace(report.incidents[0], evidence=long)
    document = json.loads(compact.render(msgspec.structs.replace(report, incidents=[incident]), "b" * 150))
    shown = document["evidence"]
    assert shown and document["left_out"]["evidence_for"] == len(long) - len(shown)
    assert [one["at"] for one in shown] == ["d/" * n + f"f:{n}" for n in range(len(shown))]
    whole = [action.command for action in incident.actions]
    assert all(one["command"] in whole for one in document["do"])


def test_it_says_who_where_why_with_places_and_what_to_ask_next() -> None:
    document = json.loads(run("analyze", STALL, "--compact").stdout)
    assert (document["kind"], document["cause"], document["status"]) == ("hang", "rank_absent", "established")
    assert document["who"]["ranks"] == "5" and document["where"]["site"] == "data_loading"
    assert {one.get("at") for one in document["evidence"]} >= {"stacks/pyspy_rank_5.json:1"}
    for command in document["next"]:
        done = run(*command.split()[1:])
        assert done.exit_code == 0, command


def test_a_stopped_job_is_called_so() -> None:
    report = EXAMPLES["hang"]()
    one = report.incidents[0]
    verdict = msgspec.structs.replace(one.verdict, kind="crash", cause="time_limit")
    stopped = msgspec.structs.replace(report, incidents=[msgspec.structs.replace(one, verdict=verdict)])
    document = json.loads(compact.render(stopped, "b"))
    assert (document["label"], document["cause"]) == ("STOPPED", "time_limit")


def test_each_bundle_has_its_line_and_one_that_cannot_be_read_stops_no_other() -> None:
    done = run("analyze", "--each", KILLED, "/nowhere/b", STALL)
    first, second, third = done.stdout.splitlines()
    assert done.exit_code == 0
    assert first.startswith(f"{KILLED}  CRASH Rank 4") and third.startswith(f"{STALL}  HANG Rank 5")
    assert second == "/nowhere/b  NOT READ  /nowhere/b: No such file or directory"


def test_each_in_a_folder_as_json_and_its_status(tmp_path: Path) -> None:
    for name, source in (("a", HEALTHY), ("b", STALL)):
        shutil.copytree(source, tmp_path / name)
    done = run("analyze", "--each-in", str(tmp_path), "--compact", "--detailed-exitcode")
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["healthy", "hang"]
    assert done.exit_code == 10
    assert run("analyze", "--each", HEALTHY, "--detailed-exitcode").exit_code == 0


def test_none_that_can_be_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("analyze", "--each-in", str(tmp_path), "--compact")
    assert done.exit_code == 3 and json.loads(done.stdout)["kind"] is None


def test_the_program_failing_over_one_goes_on_and_says_so() -> None:
    said: list[bytes] = []
    report = analyze(HEALTHY)

    def conclude(bundle: str) -> object:
        if bundle == "bad":
            raise RuntimeError("boom\nmore")
        return report

    status = batch.run(["bad", "good"], conclude, lambda _: 0, as_json=False, say=said.append)  # type: ignore[arg-type]
    assert status == 1 and said[0] == b"bad  NOT READ  internal error, RuntimeError: boom\n" and len(said) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["analyze"], "Missing argument"),
        (["analyze", "--each", STALL, "-o", "x.html"], "a line of each"),
        (["analyze", STALL, "--compact", "--json", "-"], "only one of"),
        (["analyze", "--each-in", "/nowhere"], "No such file"),
    ],
)
def test_wrong_usage(words: list[str], why: str) -> None:
    done = run(*words)
    assert done.exit_code == 2 and why in done.output


def test_several_paths_without_each_are_still_one_job(tmp_path: Path) -> None:
    halves = []
    for name, ranks in (("n0", range(4)), ("n1", range(4, 8))):
        (tmp_path / name).mkdir()
        for rank in ranks:
            (tmp_path / name / f"rank_{rank}.log").write_text(f"[rank{rank}]: RuntimeError: boom {rank}\n")
        halves.append(str(tmp_path / name))
    [line] = run("analyze", *halves, "--compact").stdout.splitlines()
    assert json.loads(line)["read"]["ranks_seen"] == "0-7"
