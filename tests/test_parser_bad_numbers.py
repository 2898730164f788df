"""Tables that nobody knows: a NaN in them is said, a sentence that mentions one is not."""

from pathlib import Path

import pytest

from forensics.analyze import analyze
from parsers.logs.bad_numbers import PARSER
from tests.lines import lines


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("17,0.0031,nan,64", True),
        ("17;0.0031;NaN", True),
        ("17\t-nan\t3.5", True),
        ("layers.3,17,nan,0.5", True),
        ('{"it": 17, "act/absmax": NaN}', True),
        ('{"it": 17, "act/absmax": "nan"}', True),
        ("17,0.0031,2.5,64", False),
        ("the run, which had nan, went on, so we wait", False),
        ("17,0.0031,finance,64", False),
        ('{"it": 17, "name": "NaN guard"}', False),
        ("nan", False),
    ],
)
def test_rows_of_figures(text: str, found: bool) -> None:
    assert (PARSER.parse(lines(text))["events"]["code"].to_list() == ["bad_number"]) is found


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "it,amax\n1,2.5\n2,nan\n3,nan\n"), ("a.jsonl", '{"it": 1, "amax": NaN}\n')]
)
def test_a_nan_in_a_table_that_nobody_knows_is_shown(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    verdict = analyze(tmp_path).incidents[0].verdict
    assert (verdict.kind, verdict.ranks) == ("unknown", [])
    assert "nan" in verdict.summary.lower()
