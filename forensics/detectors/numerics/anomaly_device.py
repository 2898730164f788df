"""When the device itself is suspected of a first bad value: its peers computed the same operation well, and on values no
smaller than its own. No error record is asked for: what a faulty unit computes wrong, no driver reports.

Not where a scale has no finite value, which loses what is multiplied by it; nor where the operation takes exponents or leaves values out (softmax and attention make NaN of what they are given), nor where
what went in was not observed or was larger than at any peer: then the values may be why. A test is asked for in any case.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from forensics.case import Case
from forensics.detectors.numerics.anomaly_inputs import clean_before, inputs_of
from forensics.detectors.numerics.anomaly_rows import Row, ref, same, speaker
from forensics.facts.figures.scales import bad_scales
from forensics.graph.numerics.births import Births
from forensics.graph.numerics.tensor_rules import LINEAR, MASK_CONSUMERS
from forensics.model.finding import Claim
from forensics.model.incident import Action, Device, to_do
from forensics.model.said import Said
from forensics.words import numerics as words


class Suspect(NamedTuple):
    """The device of the named rank, with what speaks for it; empty where nothing does."""

    devices: tuple[Device, ...] = ()
    claims: tuple[Claim, ...] = ()
    sentences: tuple[Said, ...] = ()


NO_DEVICE = Suspect()
_FEW = 0.01  # of the elements: what goes in, or a weight, makes a row or a column of them bad
_SMALL = 1e3  # the largest finite one: far from the end of every format


def suspect_device(case: Case, births: Births, row: Row) -> Suspect:
    """`row`: the first bad one, of an operation whose inputs were clean, on the one rank that is named."""
    peers = _peers(births, row)
    if row["rank"] < 0 or not _are_well(peers) or (row["op"] or "").lower() in MASK_CONSUMERS:
        return NO_DEVICE
    here = (pl.col("rank") == row["rank"]) & (pl.col("step") == row["step"])
    if bad_scales(births.rows.filter(here)).height:
        return NO_DEVICE
    own = _given(births, row, (pl.col("rank") == row["rank"]) & (pl.col("place") <= row["place"]))
    most = _given(births, row, pl.col("rank") != row["rank"])
    if own is None or most is None or own > most:
        return NO_DEVICE
    device = _device(case, row)
    count = peers["rank"].n_unique()
    text = words.DEVICE_IS_SUSPECT(
        device=_name(device, row), others=words.OTHER_RANKS(count), most=f"{most:.4g}", own=f"{own:.4g}"
    )
    return Suspect((device,), (Claim(text, "for", (ref(row),)),), (words.DEVICE_SUSPECT_IN_SHORT(number=count),))


def device_tests(births: Births, row: Row) -> tuple[Action, ...]:
    """Where its peers computed the same operation well, the device itself is to be tested, whatever its driver says."""
    peers = _peers(births, row)
    inputs = inputs_of(births, row)
    if row["rank"] < 0 or not _are_well(peers) or inputs.mask is not None or inputs.bound is not None:
        return ()  # its mask is why, or it is tested first
    # What was bad already as it went in, another operation gave.
    before = clean_before(births, row) if row["role"] == "in" else row
    op = before["op"] if before is not None and before["rank"] == row["rank"] else None
    reason = words.TEST_DEVICE(number=peers["rank"].n_unique(), what=op or words.SAME_OPERATION)
    return (to_do("inspect_hardware", speaker(row["rank"]), reason),)


def in_order(suspect: Suspect, row: Row, actions: Sequence[Action], tests: Sequence[Action]) -> tuple[Action, ...]:
    """The test of a device before the code, where it is suspected of a sum of products of which hardly any is bad and the others are small: the code
    and the weights of those who computed it well are the same, and theirs were the larger values."""
    is_sum = (row["op"] or "").lower() in LINEAR
    bad, whole = (row["nan_count"] or 0) + (row["inf_count"] or 0), row["numel"] or 0
    is_lone = 0 < bad <= _FEW * whole and row["absmax"] is not None and row["absmax"] <= _SMALL
    return (*tests, *actions) if suspect.devices and is_sum and is_lone else (*actions, *tests)


def _peers(births: Births, row: Row) -> pl.DataFrame:
    return births.rows.filter(same(row, "step", "module", "tensor"), pl.col("rank") != row["rank"])


def _are_well(peers: pl.DataFrame) -> bool:
    return bool(peers.height) and not peers["bad"].fill_null(True).any()


def _given(births: Births, row: Row, whose: pl.Expr) -> float | None:
    """The largest value that went into the module in that step, its parameters included; null where a row of what went in
    does not tell."""
    rows = births.rows.filter(same(row, "step", "module", "phase"), whose, pl.col("role").is_in(["in", "state"]))
    known = rows["absmax"].drop_nulls()
    is_told = (rows["role"] == "in").any() and known.len() == rows.height
    return float(known.max()) if is_told else None  # type: ignore[arg-type]


def _device(case: Case, row: Row) -> Device:
    who = case.identity.filter(pl.col("rank") == row["rank"]) if case.identity.height else case.identity
    one = who.row(0, named=True) if who.height else {}
    index = one.get("device_index")
    return Device(host=row["host"] or one.get("host"), pci=one.get("pci"), index=index, uuid=one.get("uuid"))


def _name(device: Device, row: Row) -> Said:
    """ "GPU 3 of node1, the device of rank 11"."""
    gpu = device.pci if device.index is None else str(device.index)
    if gpu is None or not device.host:
        return words.DEVICE_OF(rank=row["rank"])
    return words.GPU_OF(gpu=gpu, host=device.host, rank=row["rank"])
