"""The real run of eight processes in which rank 5 made an Inf: whole, and with files lost, cut or emptied."""

import io
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.detectors.numerics.replica_divergence import DETECTOR as REPLICAS
from parsers.numerics.tensor_stats import PARSER
from parsers.schema.merging import merge
from parsers.schema.parser import Source
from parsers.schema.tables import Tables
from tests.log_cases import Judged, judged
from tests.tensor_rows import case_of

_BUNDLE = Path("gloo/f_nan_dp/tensor_stats")
_CASES = Path(os.environ.get("FORENSICS_CASES", Path(__file__).parent.parent.parent / "shared" / "cases"))
pytestmark = pytest.mark.skipif(not (_CASES / _BUNDLE).is_dir(), reason="the real cases are not here")


@cache
def files() -> Mapping[int, bytes]:
    return {rank: (_CASES / _BUNDLE / f"rank_{rank}.jsonl").read_bytes() for rank in range(8)}


def answer(changed: Mapping[int, bytes | None]) -> Judged:
    parts: list[Tables] = []
    for rank, data in {**files(), **changed}.items():
        if data is not None:
            source = Source(f"tensor_stats/rank_{rank}.jsonl", len(data), lambda data=data: io.BytesIO(data), rank=rank)
            parts.append(PARSER.parse(source))
    case = case_of(merge(parts)["tensors"], expected=range(8))
    assert REPLICAS.detect(case) == ()
    found = judged(case, DETECTOR)
    assert found.kind == "numerics"
    return found


def place(found: Judged) -> tuple[object, ...]:
    anomaly = found.finding.first_anomaly
    return found.ranks, found.cause, anomaly.step, anomaly.microbatch, anomaly.module, anomaly.tensor, found.is_proven


WHOLE = ((5,), "overflow", 4, 1, "blocks.1.mlp.fc2", "output", True)


def test_whole() -> None:
    assert place(answer({})) == WHOLE


@pytest.mark.parametrize("keep", [0, 2, 3])
def test_innocent_file_cut_or_emptied(keep: int) -> None:
    data = files()[7]
    assert place(answer({7: data[: len(data) // keep] if keep else b""})) == WHOLE


@pytest.mark.parametrize("gone", [0, 1, 2, 3, 4, 6, 7])
def test_innocent_file_lost(gone: int) -> None:
    assert place(answer({gone: None})) == WHOLE


@pytest.mark.parametrize("keep", [None, 0, 2], ids=["lost", "emptied", "cut"])
def test_file_of_the_culprit_lost(keep: int | None) -> None:
    data = files()[5]
    found = answer({5: None if keep is None else data[: len(data) // keep] if keep else b""})
    assert (found.ranks, found.suspects) == ((), (5,))
    assert "culprit_among_missing" in found.undecided


def test_culprit_and_an_innocent_lost() -> None:
    found = answer({5: None, 2: None})
    assert (found.ranks, found.suspects) == ((), (2, 5))
