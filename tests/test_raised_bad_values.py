"""A bad value that an exception tells: by what was asserted, or in the lines that follow its first."""

from typing import Any

import pytest

from parsers.pytorch.traceback import PARSER
from tests.lines import lines

HEAD = """Traceback (most recent call last):
  File "/job/train.py", line 40, in <module>
    main()
  File "/job/step.py", line 7, in step
    {line}
"""


def events(line: str, last: str, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(lines(HEAD.format(line=line) + last, **columns))["events"].rows(named=True)


@pytest.mark.parametrize(
    ("line", "last", "expected"),
    [
        ("assert torch.isfinite(loss), loss", "AssertionError", ["loss"]),
        ("assert not np.isnan(grad_norm).any()", "AssertionError", ["grad_norm"]),
        ("assert math.isinf(x) is False", "AssertionError: x", ["operator"]),
        ("assert loss.shape == ref.shape", "AssertionError", []),
        ("return isfinite(loss)", "AssertionError", []),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  loss is nan at step 21", ["loss"]),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  see the wiki\n  grad_norm is inf", ["grad_norm"]),
        ("raise ValueError(text)", "ValueError: loss is nan\n  loss is nan, too", ["loss"]),
        ("raise ValueError(text)", "ValueError: run 3 failed:\n  shape is 3", []),
        ("raise ValueError(text)", "ValueError: `norm_type` must be positive or 'inf' (infinity norm), got l2", []),
    ],
    ids=["finite", "not nan", "inf", "another assertion", "no assertion", "the second line", "the third", "once", "no figure", "argument"],
)  # fmt: skip
def test_by_the_assertion_or_by_a_line_of_the_message(line: str, last: str, expected: list[str]) -> None:
    first, *others = events(line, last, rank=1)
    assert first["kind"] == "exception"
    assert [row["code"] for row in others if row["kind"] == "nan_assert"] == expected
