"""Words around a name, and what stands above a table: they say whose a figure is, and are no part of its name."""

from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers.forms import framings
from parsers.forms.reading import HEADER
from parsers.forms.sections import section_names
from parsers.numerics import bad_values
from parsers.schema.parser import Source
from parsers.text import vocabulary


def meant(line: str) -> dict[str, Any]:
    return vocabulary.told(framings.record(line) or {})


def table_of(folder: Path, text: str) -> list[dict[str, Any]]:
    (folder / "table").write_text(text)
    source = Source("table", len(text.encode()), lambda: (folder / "table").open("rb"))
    return [said for _, _, said in framings.rows(source) if said is not None and said is not HEADER]


# --- words of a sentence -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "hook backward rank 3 step 12 absmax 0.5",
        "watcher says rank=3 training step=12 absmax=0.5",
        "guard fired rank 3 training step 12 absmax 0.5",
    ],
)
def test_words_before_the_name_of_an_identity_are_none_of_it(line: str) -> None:
    assert {name: str(meant(line).get(name)) for name in ("rank", "step")} == {"rank": "3", "step": "12"}


@pytest.mark.parametrize(
    "whose", ["from", "peer", "next", "slowest", "failed", "tp", "dp", "tensor parallel", "node", "local"]
)
def test_words_that_say_whose_rank_it_is_stay(whose: str) -> None:
    assert "rank" not in meant(f"step 12 absmax 0.5 {whose} rank 3")


@pytest.mark.parametrize(
    "remark",
    [
        "before the mean",
        "before cross-replica mean",
        "local",
        "this rank",
        "pre all-reduce",
        "not averaged",
        "pre-reduce / own",
    ],
)
def test_a_remark_says_that_a_loss_is_of_the_rank_itself(remark: str) -> None:
    said = framings.record(f"step 12 replica loss ({remark}) 2.5 lr 0.1") or {}
    found = vocabulary.meaning_of(next(name for name in said if "loss" in name))
    assert found is not None and (found.meaning, found.sort) == ("loss", "own")


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("loss", "mean over ranks"),
        ("loss", "averaged"),
        ("loss", "all ranks"),
        ("loss", "reduced"),
        ("grad_norm", "before clipping"),
        ("grad_norm", "pre-clip"),
    ],
)
def test_another_remark_makes_no_own_figure(name: str, remark: str) -> None:
    said = framings.record(f"step 12 {name} ({remark}) 2.5 lr 0.1") or {}
    found = vocabulary.meaning_of(next(one for one in said if name in one))
    assert found is None or found.sort != "own"


# --- fields named in Chinese ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("第 12 步 本地损失=2.5 梯度范数=0.5", {"step": "12", "loss": "2.5", "grad_norm": "0.5"}),
        ("步数：12，损失值：2.5，学习率：0.1", {"step": "12", "loss": "2.5", "learning_rate": "0.1"}),
        ("迭代次数=12 损失=2.5", {"step": "12", "loss": "2.5"}),
    ],
)
def test_fields_named_in_chinese(line: str, said: dict[str, str]) -> None:
    found = meant(line)
    assert {name: str(found.get(name)) for name in said} == said


@pytest.mark.parametrize("line", ["第 12 步 验证损失=nan 学习率=0.1", "步数=12 评估损失=nan"])
def test_a_loss_of_an_evaluation_is_none_of_the_training_in_chinese_either(line: str) -> None:
    assert "loss" not in meant(line)


def test_a_sentence_in_chinese_is_no_record() -> None:
    assert framings.record("训练开始，请检查学习率和损失的设置是否正确") is None


# --- what stands above a table -------------------------------------------------------------------------------------------

ROWS = "rank,step,loss\n1,4,2.5\n1,5,2.25\n"
READ = [{"rank": "1", "step": "4", "loss": "2.5"}, {"rank": "1", "step": "5", "loss": "2.25"}]


@pytest.mark.parametrize(
    "above",
    [
        "# world 4, data parallel\n",
        "# made by audit.py, 2 ranks, one host, bf16\n# seed 7\n",
        "// figures per rank\n",
        "% per rank\n",
    ],
)
def test_remarks_above_a_table_are_no_names(tmp_path: Path, above: str) -> None:
    assert table_of(tmp_path, above + ROWS) == READ
    assert table_of(tmp_path, "#" + ROWS) == READ  # a line of names may have the mark as well


def test_columns_of_spaces_below_a_remark(tmp_path: Path) -> None:
    assert table_of(tmp_path, "# one line for every step of rank 1 of 4\n" + ROWS.replace(",", "   ")) == READ


TWO_REMARKS = {
    "as wide as the mark and its names": "# checks of one rank\n# rank step loss\n",
    "a title as wide as the names": "# every rank told\n# rank step loss\n",
    "units below the names": "# rank step loss\n# - - nats\n",
    "a title of a step": "# step by step\n# rank step loss\n",
    "three": "# made by audit.py\n# seed 7\n# rank step loss\n",
}


@pytest.mark.parametrize("above", TWO_REMARKS.values(), ids=TWO_REMARKS)
def test_of_several_remarks_the_one_of_names_is_found(tmp_path: Path, above: str) -> None:
    text = above + "\n".join(ROWS.replace(",", "   ").split("\n")[1:])
    assert table_of(tmp_path, text) == READ


@pytest.mark.parametrize(("bad", "named"), [({2}, [2]), ({1, 2}, []), ({0, 1, 2, 3}, [])])
@pytest.mark.parametrize("head", ["# checks, tensor parallel rank {r} of 4, world 4", "# checks: rank {r} of 4"])
def test_tables_of_ranks_below_two_remarks(tmp_path: Path, head: str, bad: set[int], named: list[int]) -> None:
    for rank in range(4):
        text = [head.format(r=rank), "# step layer   where     absmax   mean  #nan"]
        for step in range(1, 9):
            for layer in range(2):
                lost = step > 5 or (step == 5 and layer)
                parts = {"before": step > 5 or (lost and rank in bad), "after": lost}
                for name, is_bad in parts.items():
                    size = "nan   nan   7" if is_bad else f"{2.5 + rank / 8 + step / 50:.3f}   0.031   0"
                    text.append(f"{step:>6} ffn.{layer}   {name:<8}  {size}")
        (tmp_path / f"check.{rank}.txt").write_text("\n".join(text) + "\n")
    assert list(analyze(tmp_path).verdict.ranks) == named


# --- headings of tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "heading",
    ["== step 41 rank 3 of 4 (before the reduction) ==", "### rank 3 @ iteration 41 ###", "[step: 41, rank: 3/4]"],
)
def test_a_heading_tells_the_rank_of_its_table(tmp_path: Path, heading: str) -> None:
    text = "".join(
        f"{heading.replace('41', str(step))}\n   layer         |w|     |g|\n   enc.0.ffn    9.24   0.131\n   enc.1.ffn    8.11   0.207\n\n"
        for step in (41, 42)
    )
    found = table_of(tmp_path, text)
    assert [(str(row.get("rank")), row["layer"], row["|w|"]) for row in found[:2]] == [
        ("3", "enc.0.ffn", "9.24"),
        ("3", "enc.1.ffn", "8.11"),
    ]


@pytest.mark.parametrize(
    "heading", ["step 41 took 3 retries", "layer 3 of 12", "rank 3 lost rank 2 at step 41", "step 41 step 42"]
)
def test_another_line_is_no_heading(heading: str) -> None:
    assert not section_names([heading, "layer  w  g", "enc  1  2"])


# --- what an exception says of a value -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("non-finite activations on this rank", "operator"),
        ("nan in the logits of this batch", "operator"),
        ("hidden states are not finite", "operator"),
        ("NaN output detected in decoder.layers.4.mlp", "module"),
        ("inf activations found in block 3", "module"),
        ("grad norm is nan", "grad_norm"),
        ("local loss is nan", "loss"),
    ],
)
def test_what_was_no_number(message: str, code: str) -> None:
    found = bad_values.raised("RuntimeError", message)
    assert found is not None and found["code"] == code


@pytest.mark.parametrize(
    "message",
    [
        "expected 4 outputs, got 3",
        "infer_shapes: logits have 5 columns",
        "the output file nan.csv is missing",
        "embeddings of 512 do not fit",
    ],
)
def test_what_is_no_word_of_a_bad_number(message: str) -> None:
    assert bad_values.raised("RuntimeError", message) is None


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("assert torch.isfinite(loss), batch", "loss"),
        ("assert not math.isnan(grad_norm)", "grad_norm"),
        ("assert jnp.isfinite(x).all()", "operator"),
    ],
)
def test_an_assertion_that_says_nothing_is_told_by_its_line(line: str, code: str) -> None:
    found = bad_values.asserted(line)
    assert found is not None and found["code"] == code


@pytest.mark.parametrize(
    "line", ["assert len(loss) == 4", "check(torch.isfinite(loss))", "assert is_finite_set(names)"]
)
def test_another_line_asserts_nothing_of_a_number(line: str) -> None:
    assert bad_values.asserted(line) is None
