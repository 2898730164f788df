"""Checks of numbers by TensorFlow: whose they are, of which operator, and what others quote of them."""

import json

import pytest

from parsers.numerics.tf_checks import PARSER
from tests.lines import lines

_GRAPH = """!!! Detected Infinity or NaN in output 0 of graph op "{op}" (# of outputs: 1) !!!
  dtype: <dtype: 'float32'>
 : Tensor had {value} values
\t [[{{{{node tower/CheckNumericsV2}}}}]]"""
_EAGER = """!!! Detected Infinity or NaN in output 1 of eagerly-executing op "{op}" (# of outputs: 2) !!!
 : Tensor had {value} values [Op:CheckNumericsV2]"""
_OWN = "InvalidArgumentError: own loss at 7 : Tensor had {value} values [Op:CheckNumerics]"


@pytest.mark.parametrize(("form", "op"), [(_GRAPH, "Rsqrt"), (_EAGER, "Rsqrt"), (_OWN, None)])
@pytest.mark.parametrize(("said", "value"), [("+Inf", "inf"), ("-Inf", "inf"), ("NaN", "nan"), ("Inf and NaN", "nan")])
def test_whose_operator_made_it(form: str, op: str | None, said: str, value: str) -> None:
    [row] = PARSER.parse(lines(form.format(op=op, value=said), rank=5))["events"].to_dicts()
    told = json.loads(row["detail"])
    assert (row["kind"], row["rank"], told["function"], told["value"]) == ("nan_assert", 5, op, value)


@pytest.mark.parametrize(
    "before", ["UnavailableError: Collective ops is aborted by: INVALID_ARGUMENT: ", "Collective ops is aborted by: "]
)
def test_what_a_collective_quotes_is_anothers(before: str) -> None:
    text = f"{before}\n\n{_GRAPH.format(op='Log', value='NaN')}"
    assert not PARSER.parse(lines(text, rank=2))["events"].height
