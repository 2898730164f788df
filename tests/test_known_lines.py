"""What rows of knowledge make of lines: an event with whom and when it tells of, a remark, or nothing; and what is none of a wait."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import parsers
from forensics import analyze
from forensics.cli import cli
from parsers import knowledge, taught
from parsers.knowledge import MessageRow

HEARD = [row for row in knowledge.rows()[1] if row.event]
STAMP = "2026-01-31 10:11:12,689 - app - "


@pytest.fixture(autouse=True)
def nothing_learnt() -> Iterator[None]:
    yield
    knowledge.learn(())


def _traceback(error: str) -> str:
    frame = '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/x.py", line 7, in run\n    return self._run()\n'
    return f"Traceback (most recent call last):\n{frame}{error}"


def _events(folder: Path, text: str) -> list[dict[str, Any]]:
    (folder / "rank_2.log").write_text(text + "\n", encoding="utf-8")
    return parsers.read(str(folder)).tables["events"].rows(named=True)


@pytest.mark.parametrize(
    "row", [row for row in knowledge.rows()[1] if not row.pattern], ids=lambda row: f"{row.printer}.{row.name}"
)
def test_each_anchor_without_a_pattern_is_answered_by_its_own_row_or_says_the_same(row: MessageRow) -> None:
    for anchor in knowledge.anchors_of(row):
        said = knowledge.meaning(anchor)
        assert said is not None
        assert (said.claim, said.own) == (row.claim, row.own), f"{anchor}: {said.row}"


def test_what_is_heard_in_lines_is_not_sought_by_words_that_every_line_may_hold() -> None:
    assert [anchor for anchor in knowledge.heard_anchors() if len(anchor.strip()) < 6] == []


def test_every_line_that_a_row_is_about_is_read(tmp_path: Path) -> None:
    for number, row in enumerate(HEARD):
        (tmp_path / f"{number:04}.log").write_text(row.example + "\n", encoding="utf-8")
    tables = parsers.read(str(tmp_path)).tables
    read = set(tables["events"]["file"]) | set(tables["claimed"]["file"]) | set(tables["settings"]["file"])
    assert [HEARD[number].name for number in range(len(HEARD)) if f"{number:04}.log" not in read] == []


@pytest.mark.parametrize("library", ["NCCL", "NCCLX", "RCCLX", "HCCL"])
def test_an_operation_of_any_library_that_is_raised_as_late_was_waited_for(tmp_path: Path, library: str) -> None:
    (event,) = _events(tmp_path, _traceback(f"RuntimeError: {library} operation timed out"))
    assert event["kind"] == "collective_timeout"


@pytest.mark.parametrize("level", ["ERROR", "WARNING", "INFO"])
def test_an_event_has_whom_and_when_the_line_tells_and_the_level_of_the_line(level: str, tmp_path: Path) -> None:
    (found,) = _events(
        tmp_path, f"{STAMP}{level} - Lost connection with prefill instance (bootstrap_addr: n7:8998), 3 requests"
    )
    assert (found["kind"], found["code"], found["severity"]) == ("peer_closed", "lost_peer", level.lower())
    assert found["names_hosts"] == ["n7"] and found["rank"] == 2
    assert json.loads(found["detail"]) == {"about": "peer", "row": "sglang.prefill_lost"}


def test_ranks_of_a_group_and_times_keep_their_space_and_unit(tmp_path: Path) -> None:
    (found,) = _events(tmp_path, "CTRAN-IB: Failed to establish connection with peer rank 5 for commHash 1f")
    assert (found["names_ranks"], found["names_rank_space"]) == ([5], "group")
    (found,) = _events(
        tmp_path, "ERROR [default] Worker pid=4711 stuck in uninterruptible sleep (D-state) for 60s (>= 60s)"
    )
    assert (found["pid"], found["value"], json.loads(found["detail"])["unit"]) == (4711, 60.0, "s")
    assert found["rank"] is None  # of another process than the printer


def test_a_remark_is_understood_and_makes_no_event(tmp_path: Path) -> None:
    row = next(row for row in HEARD if row.event == knowledge.NOTHING)
    assert _events(tmp_path, row.example) == []
    claimed = parsers.read(str(tmp_path)).tables["claimed"]
    assert claimed.rows() == [("rank_2.log", 1)]


def test_what_an_exception_is_stands_before_what_a_remark_says_of_it(tmp_path: Path) -> None:
    row = next(row for row in HEARD if row.event == "other" and not row.pattern)
    anchor = knowledge.anchors_of(row)[0]
    (found,) = _events(tmp_path, f"{STAMP}ERROR - ValueError: {anchor}")
    assert (found["kind"], found["code"]) == ("exception", "ValueError")


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: timeout must be positive, got -1",
        "ValueError: Invalid timeout for all_reduce: -3",
        "TypeError: barrier() got an unexpected keyword argument 'timeout'",
        "TypeError: all_gather(): timeout_seconds must be int, not str",
        "RuntimeError: Expected timeout argument of the collective to be of type datetime.timedelta",
        "RuntimeError: a negative timeout is not supported by the store",
        "AssertionError: timeout of the process group and of the store differ",
    ],
)
@pytest.mark.parametrize("form", [_traceback, f"{STAMP}ERROR - {{}}".format])
def test_a_time_out_that_was_given_to_a_call_is_none_that_ran_out(error: str, form: Any, tmp_path: Path) -> None:
    assert [row["kind"] for row in _events(tmp_path, form(error))] == ["exception"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("TimeoutError: all_reduce timed out after 600 s", "collective_timeout"),
        ("ValueError: the barrier timed out", "collective_timeout"),
        ("RuntimeError: Timeout in all_gather on rank 3", "collective_timeout"),
        ("RuntimeError: Timeout waiting for the store", "store_timeout"),
        ("RuntimeError: [/x/gloo/file_store.cc:107] Wait timeout for key(s): 0/3", "store_timeout"),
        ("RuntimeError: Wait timeout for key(s): rank_3", "store_timeout"),
    ],
)
def test_a_time_out_that_ran_out_is_a_wait(error: str, kind: str, tmp_path: Path) -> None:
    assert [row["kind"] for row in _events(tmp_path, _traceback(error))] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        _traceback("RuntimeError: CUDA error: the launch timed out and was terminated"),
        _traceback("RuntimeError: CUDA error: the launch timed out and was terminated in ncclAllReduce"),
        f"{STAMP}ERROR - the launch timed out and was terminated",
        "n7:4711:4790 [3] NCCL WARN Cuda failure 702 'the launch timed out and was terminated'",
    ],
)
def test_a_launch_that_timed_out_is_an_error_of_the_device(text: str, tmp_path: Path) -> None:
    found = _events(tmp_path, text)
    assert "cuda_error" in {row["kind"] for row in found}
    assert {"collective_timeout", "store_timeout"}.isdisjoint(row["kind"] for row in found)
    assert all(row["code"] != "timed_out" for row in found)


@pytest.mark.parametrize(
    "text",
    [
        f"{STAMP}ERROR - Unable to persist argument checkpoint_dir: it must be a path",
        f"{STAMP}ERROR - Cannot save: the option --save needs a checkpoint format",
        f"{STAMP}ERROR - TypeError: cannot save a checkpoint of type int",
        "error: argument --save-interval: failed to persist as checkpoint option",
    ],
)
def test_an_argument_that_names_a_checkpoint_is_no_storage_that_failed(text: str, tmp_path: Path) -> None:
    assert "storage_error" not in {row["kind"] for row in _events(tmp_path, text)}


def test_a_checkpoint_that_could_not_be_written_is(tmp_path: Path) -> None:
    assert [row["kind"] for row in _events(tmp_path, f"{STAMP}ERROR - Failed to save checkpoint at step 500")] == [
        "storage_error"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: Setting world_size=32 is not supported, ignored",
        f"{STAMP}ERROR - expected world size 16",
        f"{STAMP}WARNING - world_size: 32 should be a multiple of 6",
        f"{STAMP}WARNING - world size 7 is not divisible by 4",
    ],
)
def test_a_size_in_a_complaint_is_not_the_world(text: str, tmp_path: Path) -> None:
    (tmp_path / "rank_2.log").write_text(text + "\n", encoding="utf-8")
    ranks = parsers.read(str(tmp_path)).tables["ranks"]
    assert ranks["world_size"].drop_nulls().to_list() == []


@pytest.mark.parametrize(
    "error",
    [
        "torch.distributed.DistNetworkError: Failed to recv, got 0 bytes. Connection was likely closed.",
        "RuntimeError: Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0.",
        "RuntimeError: [Rank 0]: Rank 3 failed to pass monitoredBarrier in 9000 ms",
        "ray.exceptions.ActorUnavailableError: The actor ab12 is unavailable: it is being restarted",
        "RuntimeError: Wait timeout for key(s): 0/3",
    ],
)
def test_who_raises_that_it_lost_others_is_not_named(error: str, tmp_path: Path) -> None:
    for rank in range(4):
        text = f"{STAMP}INFO - start rank={rank} world_size=4\n{STAMP}INFO - step 3 | loss 2.1\n"
        (tmp_path / f"rank_{rank}.log").write_text(text + (_traceback(error) + "\n" if rank == 2 else ""))
    verdict = analyze(str(tmp_path)).verdict
    assert 2 not in verdict.ranks


@pytest.mark.parametrize(
    ("printed", "suspects"),
    [
        ({3: (3, 0)}, [0, 3]),
        ({0: (0, 3)}, [0, 3]),
        ({0: (0, 3), 3: (3, 0)}, [0, 3]),
        ({1: (5, 0)}, []),  # counts itself by its place in a group
    ],
)
@pytest.mark.parametrize("text", [
    "DDP expects same model across all ranks, but Rank {} has 12 params, while rank {} has inconsistent 13 params.",
    "[{}]: params[2] in this process with sizes [4, 4] appears not to match sizes of the same param in process {}.",
])  # fmt: skip
def test_of_two_that_are_told_to_differ_either_is_suspected(
    printed: dict[int, tuple[int, int]], suspects: list[int], text: str, tmp_path: Path
) -> None:
    for rank in range(4):
        told = f"{STAMP}INFO - start rank={rank} world_size=4\n{STAMP}INFO - step 3 | loss 2.1\n"
        error = _traceback("RuntimeError: " + text.format(*printed[rank])) + "\n" if rank in printed else ""
        (tmp_path / f"rank_{rank}.log").write_text(told + error)
    verdict = analyze(str(tmp_path)).verdict
    assert verdict.ranks == [] and verdict.suspects.ranks == suspects


CHECKED = (
    '  File "/opt/env/lib/python3.11/site-packages/torch/nn/parallel/distributed.py", line {}, in __init__\n    {}\n'
)
MAIN = '  File "/w/lm.py", line {}, in <module>\n    {}\n'
SIZES = "RuntimeError: [{}]: params[2] in this process with sizes [{}, 4] appears not to match sizes of the same param in process 0."
PARAMS = "RuntimeError: DDP expects same model across all ranks, but Rank {} has {} params, while rank {} has inconsistent {} params."
NAMES = "AssertionError: sync_global_devices name mismatch ('{}'). Expected: [5 5 9 5]; got: {}."
GONE = "RuntimeError: [/w/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.1.0.7]:4172"


def _raised_at(error: str, *frames: str) -> str:
    return "Traceback (most recent call last):\n" + "".join(frames) + error


def _compared(odd: dict[int, int], past: tuple[int, int], *, of: int = 4) -> list[str]:
    """Those of `odd` have a size of their own; the others end at a line of the constructor, or of the script."""
    inner, outer = past
    refused = {
        rank: _raised_at(SIZES.format(rank, size), MAIN.format(20, "net = DDP(net)"), CHECKED.format(1076, "_verify_params(ps)"))
        for rank, size in odd.items()
    }  # fmt: skip
    late = _raised_at(GONE, MAIN.format(20, "net = DDP(net)"), CHECKED.format(inner, "_sync(ps)"))
    later = _raised_at(GONE, MAIN.format(outer, "loss.backward()"), CHECKED.format(9, "run()"))
    return [refused.get(rank, later if rank % 2 else late) for rank in range(of)]


@pytest.mark.parametrize(
    ("errors", "ranks"),
    [
        (_compared({3: 6}, (1080, 30)), [3]),
        (_compared({1: 6}, (1080, 30)), [1]),
        (_compared({2: 6, 5: 6}, (1080, 30), of=6), [2, 5]),
        ([PARAMS.format(rank, 12, 2, 14) if rank != 2 else PARAMS.format(2, 14, 0, 12) for rank in range(4)], [2]),
        ([NAMES.format("save_9" if rank == 2 else "eval_9", 9 if rank == 2 else 5) for rank in range(4)], [2]),
        (_compared({3: 6}, (1076, 20)), []),  # who was compared as well, and lost another at that
        (_compared({3: 6}, (1070, 15)), []),  # who was not compared yet
        (_compared({1: 6, 2: 6, 3: 6}, (1080, 30)), []),  # all but the reference: it may be the wrong one
        ([PARAMS.format(rank, 12 + rank, 0 if rank else 1, 12 + (not rank)) for rank in range(4)], []),  # each has its own
        ([NAMES.format("save_9" if rank > 1 else "eval_9", 9 if rank > 1 else 5) for rank in range(4)], []),  # two and two
        ([NAMES.format("save_9", 9), NAMES.format("eval_9", 5)], []),  # of two
    ],
)  # fmt: skip
def test_who_differs_from_all_others_is_named(errors: list[str], ranks: list[int], tmp_path: Path) -> None:
    for rank, error in enumerate(errors):
        told = f"{STAMP}INFO - start rank={rank} world_size={len(errors)}\n{STAMP}INFO - step 3 | loss 2.1\n"
        error = error if error.startswith("Trace") else _traceback(error)
        (tmp_path / f"rank_{rank}.log").write_text(told + error + "\n")
    assert analyze(str(tmp_path)).verdict.ranks == ranks


OWN = r"""
versions = "1"
source = "ours"
[[message]]
name = "peer_gone"
claim = "lost_peer"
about = "peer"
own = false
event = "peer_closed"
anchor = "flux link to "
pattern = 'flux link to (?P<peer>[\w.-]+) vanished after (?P<seconds>\d+) s'
example = "flux link to n7 vanished after 30 s"
"""


def _own(folder: Path, text: str = OWN, name: str = "ours.toml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_rows_of_a_user_are_asked_first_and_go_where_the_parsers_go(tmp_path: Path) -> None:
    texts = taught.texts_of([_own(tmp_path)])
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "rank_2.log").write_text("flux link to n9 vanished after 45 s\n")
    assert parsers.read(str(bundle)).tables["events"].height == 0
    sent = pickle.loads(pickle.dumps(taught.parsers_with(texts)))
    (found,) = parsers.read(str(bundle), parsers=sent).tables["events"].rows(named=True)
    assert (found["kind"], found["names_hosts"], found["value"]) == ("peer_closed", ["n9"], 45.0)
    said = knowledge.meaning("RuntimeError: flux link to n9 vanished after 45 s")
    assert said is not None and said.row == "ours.peer_gone"
    assert parsers.read(str(bundle)).tables["events"].height == 0  # who brings none, has none


def test_analyze_and_parse_take_a_users_rows(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "rank_2.log").write_text("flux link to n9 vanished after 45 s\n")
    own = _own(tmp_path)
    shown = CliRunner().invoke(cli, ["analyze", str(bundle), "--knowledge", own])
    assert shown.exit_code == 0 and "n9" in shown.output
    assert "n9" not in CliRunner().invoke(cli, ["analyze", str(bundle)]).output
    kept = CliRunner().invoke(cli, ["parse", str(bundle), "--out", str(tmp_path / "kept"), "--knowledge", own])
    assert kept.exit_code == 0
    assert parsers.read(str(tmp_path / "kept")).tables["events"]["kind"].to_list() == ["peer_closed"]


def test_check_says_what_each_row_makes_of_its_example(tmp_path: Path) -> None:
    shown = CliRunner().invoke(cli, ["knowledge", "check", _own(tmp_path)])
    assert shown.exit_code == 0
    assert "ok     ours.peer_gone: lost_peer, about peer; event peer_closed; peer=n7 seconds=30" in shown.output
    wrong = _own(tmp_path, OWN.replace("flux link to n7 vanished", "flux link to n7 went"), "wrong.toml")
    shown = CliRunner().invoke(cli, ["knowledge", "check", wrong])
    assert shown.exit_code == 10 and "its example is answered by no row" in shown.output
    wide = _own(tmp_path, OWN.replace("'flux link to (?P", "'(?:x?)|flux link to (?P").replace('"flux link to "', '["flux link to ", "onnection"]'), "wide.toml")  # fmt: skip
    shown = CliRunner().invoke(cli, ["knowledge", "check", wide])
    assert "answers in place of gloo.closed" in shown.output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("(?P<peer>[\\w.-]+)", "(?:a+)+"), "may need exponential time"),
        (("(?P<peer>", "(?P<peer>("), "peer_gone: "),
        (('event = "peer_closed"', 'event = "boom"'), "no such kind of event: boom"),
        (('claim = "lost_peer"', 'claim = "sad"'), "no such claim: sad"),
        (("[[message]]", "[[message]"), "ours.toml: "),
    ],
)
def test_a_file_that_is_wrong_or_hostile_is_refused_with_its_row(
    change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    own = _own(tmp_path, OWN.replace(*change))
    for command in (["knowledge", "check", own], ["analyze", str(tmp_path), "--knowledge", own]):
        shown = CliRunner().invoke(cli, command)
        assert shown.exit_code == 2 and said in shown.output


def test_a_file_that_is_missing_too_long_or_twice_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    with pytest.raises(ValueError, match="No such file"):
        taught.texts_of([str(tmp_path / "none.toml")])
    with pytest.raises(ValueError, match="longer than"):
        taught.texts_of([_own(tmp_path, "#" * (taught.BYTES + 1))])
    with pytest.raises(ValueError, match="two files are called ours"):
        taught.texts_of([_own(tmp_path), _own(tmp_path / "more")])


@pytest.mark.parametrize(
    "text",
    [
        "Jan 31 10:11:12 n7 kernel: LustreError: 4711:0:(ldlm_lockd.c:258:expired_lock()) scratch-MDT0000: A client on nid 10.0.0.9@o2ib was evicted due to a lock blocking callback time out: rc -107",
        "Jan 31 10:11:12 n7 kernel: LustreError: 4711:0:(osc_request.c:1934:osc_brw_redo()) scratch-OST0003: Bulk IO write error with 10.0.0.9@o2ib (at 10.0.0.9@o2ib), client will retry: rc = -110",
    ],
)
def test_what_a_call_of_the_kernel_returned_is_no_exit(text: str, tmp_path: Path) -> None:
    assert {event["kind"] for event in _events(tmp_path, text)} == {"other"}


@pytest.mark.parametrize(
    "text",
    [
        "slurmctld: error: _open_lock: heartbeat open attempt failed from /var/spool/slurm/heartbeat.",
        f"{STAMP}WARNING - No response from heartbeat reporting.",
    ],
)
def test_a_file_or_a_report_of_heartbeats_is_no_process_that_stopped_to_send_them(text: str, tmp_path: Path) -> None:
    assert {event["kind"] for event in _events(tmp_path, text)} == {"other"}


def test_a_scale_that_must_be_finite_is_a_setting_and_no_value_that_was_bad(tmp_path: Path) -> None:
    made = _events(tmp_path, _traceback("ValueError: fp16.loss_scale must be a finite number (not inf/-inf/nan)"))
    assert "nan_assert" not in {event["kind"] for event in made}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{STAMP}ERROR - NVRx decided the job must not be restarted (n3): bad. Agent's exit code = 3", "told_to_stop"),
        ("slurmctld: error: Power action suspend exited with status 3", "call_failed"),
    ],
)
def test_a_row_answers_before_words_of_an_end_that_was_none_or_of_a_wait(text: str, code: str, tmp_path: Path) -> None:
    assert [(event["kind"], event["code"]) for event in _events(tmp_path, text)] == [("other", code)]


@pytest.mark.parametrize(
    "text",
    [
        f"{STAMP}WARNING - Parsing timed out for x + 1",
        f"{STAMP}WARNING - Torch process group shutdown timed out after 30 seconds",
        f"{STAMP}ERROR - Failed to start HTTP server on port 8000 at try 1, error: address in use",
        "slurmctld: error: NodeNames=n7 CoresPerSocket=0 is invalid, reset to 1",
    ],
)
def test_what_was_gone_around_makes_no_event(text: str, tmp_path: Path) -> None:
    assert _events(tmp_path, text) == []
