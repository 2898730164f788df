"""What the number format has to do with a first bad value, and when the device itself is to be tested."""

from typing import Any

import pytest

from forensics.analyze import conclude_evidence
from forensics.detectors.numerics.first_anomaly import DETECTOR
from forensics.model.incident import Device, Incident
from parsers.schema.evidence import Evidence
from parsers.schema.tables import TABLE_NAMES, table
from reports import summary
from tests.tensor_rows import Job

INF = float("inf")


def claims(job: Job) -> list[str]:
    (found,) = DETECTOR.detect(job.case())
    return [claim.text for claim in found.claims]


@pytest.mark.parametrize(
    ("amax", "scale", "told"),
    [
        (0.0, INF, "its input is kept as e4m3, amax 0, scale Inf: a block whose largest value is 0 has no finite scale, and 0 times Inf is NaN"),
        (900.0, INF, "its input is kept as e4m3, amax 900, scale Inf: no value survives such a scale"),
        (900.0, 0.497, "its input is kept as e4m3, amax 900, scale 0.497"),
    ],
)  # fmt: skip
def test_the_scale_of_what_went_in_is_told(amax: float, scale: float, told: str) -> None:
    job = Job()
    job.row(
        0, "input", "ok", module="norm", op="LayerNorm", format="e4m3", amax=1.0, scale=INF, line=1
    )  # told elsewhere
    job.row(0, "input", "ok", module="fc", op="Linear", format="e4m3", amax=amax, scale=scale, line=2)
    job.row(0, "output", "nan", module="fc", op="Linear", line=3)
    assert told in claims(job)


def test_the_first_bad_scale_is_told_once_and_explains_more_than_the_device() -> None:
    job = Job()
    for rank in range(3):
        bad = rank == 0
        job.row(
            rank,
            "input",
            "ok",
            module="fc",
            op="Linear",
            format="e4m3",
            amax=0.0 if bad else 3.0,
            scale=INF if bad else 0.5,
        )
        job.row(rank, "output", "nan" if bad else "ok", module="fc", op="Linear")
    incident = of_incident(job)
    assert [one.claim for one in incident.evidence if "Inf" in one.claim] == [
        "fc (Linear, input), forward, step 0: the scale of e4m3 is Inf, its amax is 0: nothing but zeros was seen, or the recipe does "
        "not guard it"
    ]
    assert (incident.verdict.cause, incident.verdict.suspects.devices) == ("bad_state", [])


@pytest.mark.parametrize(
    ("op", "dtype", "told"),
    [("softmax", "bfloat16", True), ("softmax", "float32", False), ("Linear", "bfloat16", False)],
)
def test_an_operation_that_bears_few_digits_worst_is_told(op: str, dtype: str, told: bool) -> None:
    job = Job()
    job.row(0, "input", "ok", module="m", op=op, dtype=dtype)
    job.row(0, "output", "nan", module="m", op=op, dtype=dtype)
    assert any("which need many digits" in text for text in claims(job)) == told


@pytest.mark.parametrize(
    ("peer", "asked"), [("ok", True), ("nan", False), (None, False)], ids=["peers are well", "a peer is bad", "no peer"]
)
def test_a_device_is_tested_where_its_peers_computed_the_same_well(peer: str | None, asked: bool) -> None:
    job = Job()
    job.op(0, "fc", "ok", "nan", step=4)
    if peer is not None:
        job.op(1, "fc", "ok", peer, step=4)
    (found,) = DETECTOR.detect(job.case())
    assert any(action.kind == "inspect_hardware" and "for hours" in action.reason for action in found.actions) == asked


def fed(own: float | None, peer: float | None, op: str = "Linear", peer_made: str = "ok") -> Job:
    """Rank 0 makes NaN of a clean input, its peers compute the same; `own`, `peer`: the largest value that went in."""
    job = Job()

    def given(most: float | None) -> dict[str, Any]:
        return {"nan_count": 0, "inf_count": 0} | ({} if most is None else {"absmax": most})

    job.op(0, "fc", given(own), "nan", step=4, op=op)
    for rank in (1, 2):
        job.op(rank, "fc", given(peer), peer_made, step=4, op=op)
    return job


def of_incident(job: Job) -> Incident:
    placed = [
        {
            "rank": rank,
            "host": f"n{rank}",
            "device_index": 3,
            "pci": "0000:19:00.0",
            "file": "a.log",
            "line": rank,
            "how": "log",
        }
        for rank in range(3)
    ]
    told = {"ranks": placed, "tensors": [{"line": number} | row for number, row in enumerate(job.rows, 1)]}
    tables = {name: table(name, told.get(name, [])) for name in TABLE_NAMES}
    report = conclude_evidence(Evidence("rows", tables))
    return report.incident


def test_where_peers_computed_values_as_large_well_the_device_is_a_suspect_without_any_record() -> None:
    incident = of_incident(fed(10.0, 12.0))
    assert incident.verdict.ranks == [0]
    assert incident.verdict.suspects.devices == [Device(host="n0", pci="0000:19:00.0", index=3)]
    assert incident.verdict.devices == []
    assert (
        "GPU 3 of n0, the device of rank 0, is a suspect: 2 other ranks computed the same well, on values up to 12, its own were "
        "up to 10; no error record is needed for that, and none would clear it"
    ) in [one.claim for one in incident.evidence]
    assert summary.suspects(incident.verdict) == "GPU 3 of n0"


@pytest.mark.parametrize(
    "job",
    [
        fed(60.0, 12.0), fed(None, 12.0), fed(10.0, None), fed(10.0, 12.0, op="softmax"), fed(10.0, 12.0, peer_made="nan"),
    ],
    ids=["larger values than any peer's", "unknown values", "unknown values of the peers", "exponents", "peers fail, too"],
)  # fmt: skip
def test_what_its_values_or_its_operation_may_explain_accuses_no_device(job: Job) -> None:
    assert of_incident(job).verdict.suspects.devices == []
