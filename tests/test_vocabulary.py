"""What names of fields mean: read from their end, as rows of one table say."""

import csv
from importlib.resources import files
from pathlib import Path

import polars as pl
import pytest

import parsers
from parsers.text import lenient, vocabulary


@pytest.mark.parametrize(
    ("name", "meaning", "sort"),
    [
        ("loss", "loss", "plain"),
        ("train/lm_loss", "loss", "of_all"),
        ("rank_loss", "loss", "named"),  # a ranking loss is a loss
        ("local loss", "loss", "own"),
        ("train/loss_local", "loss", "own"),
        ("eval_loss_local", None, ""),
        ("train_loss_step", "loss", "plain"),
        ("loss_metrics/global_avg_loss", "loss", "named"),
        ("loss_scale", "loss_scale", "plain"),
        ("gradNorm", "grad_norm", "plain"),
        ("grad_norm_local", "own_grad_norm", "named"),
        ("local/total_norm", "own_grad_norm", "own"),
        ("trainer/global_step", "step", "plain"),
        ("local_rank", "local_rank", "plain"),
        ("tp_rank", "group_member", "plain"),
        ("weights_crc32", "checksum", "named"),
        *((name, None, "") for name in (
            "ranking/ndcg", "mrr_rank", "loss_weight", "eval_loss", "val/rank_loss", "best_loss", "max_steps", "loss_ema/loss", "perplexity", "",
        )),
    ],
)  # fmt: skip
def test_a_name_is_read_from_its_end(name: str, meaning: str | None, sort: str) -> None:
    found = vocabulary.meaning_of(name)
    assert (None if found is None else found.meaning) == meaning
    if found is not None and sort not in ("named",):
        assert found.sort == sort


@pytest.mark.parametrize(
    ("names", "loss"),
    [
        (("loss", "local_loss"), "local_loss"),
        (("train/loss", "ctc_loss", "val/loss"), "train/loss"),
        (("ctc_loss",), "ctc_loss"),
        (("a/loss", "b/loss"), None),  # either may be it
        (("pg_loss", "vf_loss"), None),
    ],
)
def test_which_of_several_losses_is_the_trainings(names: tuple[str, ...], loss: str | None) -> None:
    assert next(iter(vocabulary.columns(names).get("loss", ())), None) == loss


def test_each_row_of_the_vocabulary_is_one_name_in_its_own_form_and_says_its_source() -> None:
    text = files("parsers").joinpath("data", "vocabulary.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    chinese = [row["name"] for row in rows if row["meaning"].startswith("chinese:")]
    assert chinese and all(all("一" <= letter <= "龥" for letter in name) for name in chinese)
    named = [row["name"] for row in rows if not row["meaning"].startswith("chinese:")]
    assert all(row["source"] for row in rows) and all("_".join(vocabulary.words_of(name)) == name for name in named)
    uses = [(row["meaning"].rpartition(":")[0], row["name"]) for row in rows]
    assert len(set(uses)) == len(uses) > 250


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": NaN, "b": [1, 2,],}', "{'a': nan, 'b': [1, 2]}"),
        ("{'a': tensor(2.5, device='cuda:0'), 'b': (None, True)}", "{'a': 2.5, 'b': [None, True]}"),
        ("{'a': np.float64(-inf),\n 'it''s': 'x\\'y'}", "None"),  # two texts glued are no value
        ("{'a': -Infinity, 'b': torch.float32}", "{'a': -inf, 'b': 'torch.float32'}"),
        ("{'a': __import__('os')}", "{'a': 'os'}"),  # nothing is called
        ("{'a': 1", "None"),
        ("[" * 9999, "None"),
    ],
)
def test_a_value_as_a_program_prints_it(text: str, value: str) -> None:
    assert repr(lenient.value(text)) == value


@pytest.mark.parametrize(
    ("path", "text", "rows"),
    [
        ("mlruns/0/abc/metrics/train/loss", "1790000000123 2.5 6\n1790000000456 nan 7\n", [(6, 2.5), (7, None)]),
        ("loss_rank3.csv", "6,2.5\n7,2.25\n", [(6, 2.5), (7, 2.25)]),
        ("mlruns/0/abc/metrics/val/loss", "1790000000123 2.5 6\n", []),
        ("mlruns/0/abc/metrics/accuracy", "1790000000123 2.5 6\n", []),
        ("loss.txt", "2.5 2.25 2.0\n2.5 2.25 2.0\n", []),  # which is what, nothing tells
    ],
)
def test_a_curve_without_names_is_what_its_path_says(
    path: str, text: str, rows: list[tuple[int, float | None]], tmp_path: Path
) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    steps = parsers.read(str(tmp_path)).tables["steps"]
    found = [(step, None if loss != loss else loss) for step, loss in steps.select("step", "loss").iter_rows()]
    assert found == rows


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("[rank3]: trainer: lm_loss=nan gnorm=0.5 iteration=7", [(3, 7, True, 0.5)]),
        ("level=info rank=3 iteration=7 train_loss=nan", [(3, 7, True, None)]),
        ('{"log": "{\\"rank\\": 3, \\"it\\": 7, \\"loss\\": NaN}\\n", "stream": "stdout"}', [(3, 7, True, None)]),
        ("{'rank': 3, 'global_step': 7, 'mse_loss': nan}", [(3, 7, True, None)]),
        ("rank=3 step=7 val_loss=nan best_loss=nan", []),
        ("the loss: nan of step 7 was skipped because the batch held no token at all", []),
    ],
)
def test_a_line_of_a_log_that_holds_a_record(
    line: str, rows: list[tuple[int, int, bool, float | None]], tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text(f"begin of it\n{line}\nwords\n")
    told = parsers.read(str(tmp_path)).tables["steps"].filter(pl.col("phase") != "eval")
    steps = told.select("rank", "step", "loss", "grad_norm").rows()
    assert [(rank, step, loss != loss, norm) for rank, step, loss, norm in steps] == rows


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("rank=3 pid=4711 exitcode=-9", "SIGKILL"),
        ('{"rank": 3, "returncode": 1}', "1"),
        ("rank: 3 | exit_code: 0", "0"),
        ("pool size=3 rc=1 retries=2", None),
    ],
)
def test_an_end_in_a_line_of_a_log(line: str, code: str | None, tmp_path: Path) -> None:
    (tmp_path / "wrapper.log").write_text(f"begin of it\n{line}\nwords\n")
    events = parsers.read(str(tmp_path)).tables["events"].filter(kind="exit")
    assert events.select("rank", "code").rows() == ([(3, code)] if code else [])


def test_a_report_of_failures_with_more_in_a_cell_is_left_to_its_reader(tmp_path: Path) -> None:
    report = "  time      : 2026-01-31_10:11:12\n  host      : n1\n  rank      : 3 (local_rank: 3)\n  exitcode  : -11 (pid: 4711)\n"
    (tmp_path / "train.log").write_text(report + "  error_file: <N/A>\n")
    assert "exit_table" not in parsers.read(str(tmp_path)).tables["files"]["parsers"].item().to_list()
