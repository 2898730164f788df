"""Nobody new is named where figures are told otherwise: a few relations of each bundle; `python -m tests.numeric_relations` has all."""

from pathlib import Path

import pytest

from tests.numeric_relations import bundles, newly

BUNDLES = list(bundles())
FEW = 3


@pytest.mark.parametrize(("name", "folder", "allowed"), BUNDLES, ids=[name for name, *_ in BUNDLES])
def test_nobody_new(name: str, folder: Path, allowed: frozenset[int]) -> None:
    assert list(newly(name, folder, allowed, FEW)) == []
