"""What SECURITY.md says of limits is what the code has."""

from pathlib import Path

from parsers.schema.limits import Limits
from parsers.text.rank_list import RANKS

PAGE = (Path(__file__).resolve().parent.parent / "SECURITY.md").read_text()


def test_every_limit_stands_with_its_value() -> None:
    rows = [[cell.strip(" `") for cell in line.split("|")[1:3]] for line in PAGE.splitlines() if line.startswith("| `")]
    told = dict(rows)
    assert set(told) == set(Limits.__struct_fields__)
    assert Limits.of(told) == Limits()


def test_the_greatest_job_stands_with_its_value() -> None:
    assert f"{RANKS:,} ranks" in PAGE
