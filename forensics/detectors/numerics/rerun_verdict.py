"""Was an unexpected result repeated on the same data, and on another device? Then it is known whether a device erred.

Megatron's rerun state machine: not reproducible on the same device = a transient fault of it; reproducible there and
not on another one = the first device computes wrongly; reproducible on both = not the hardware.
"""

from collections.abc import Sequence
from math import isfinite

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import Row
from forensics.facts.rows.event_rows import detail
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Device, FirstAnomaly, to_do
from forensics.model.ref import Ref
from forensics.model.said import Said
from forensics.model.texts import ranges
from forensics.words import numerics as words

_BEGINS = ("initial_run", "first_rerun_reproducible")
_TRANSIENT = ("first_rerun_not_reproducible", "transient_error")
_PERSISTENT = ("second_rerun_not_reproducible", "persistent_error")
_SOUND = ("second_rerun_reproducible", "correct_result")


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: of the first step whose rerun came to an end, the strongest statement."""
    ended = [*_TRANSIENT, *_PERSISTENT, *_SOUND]
    events = case.events.filter(pl.col("code").is_in([*_BEGINS, *ended]))
    rows = events.sort("step", "file", "line", nulls_last=True).to_dicts()
    last = next((row for row in rows if row["code"] in ended), None)
    if last is None:
        return ()
    step = last["step"]
    rows = [row for row in rows if step is None or row["step"] in (step, None)]
    for codes, make in ((_PERSISTENT, _persistent), (_SOUND, _sound), (_TRANSIENT, _transient)):
        said = [row for row in rows if row["code"] in codes]
        if said:
            return (make(case, rows, said),)
    return ()


def _persistent(case: Case, rows: Sequence[Row], said: Sequence[Row]) -> Finding:
    """The device of the first run is wrong; the second run was on another one. The diagnosis names the first."""
    diagnosed = [row for row in said if row["code"] == "persistent_error"]
    first = diagnosed or [row for row in rows if row["code"] in _BEGINS]
    return _device(case, first or list(said), said, words.REPEATS_THERE_ALONE, True)


def _transient(case: Case, rows: Sequence[Row], said: Sequence[Row]) -> Finding:
    """Where ranks share values before the check, any of these may have erred."""
    return _device(case, said, said, words.DID_NOT_REPEAT, False)


def _hosts(row: Row) -> list[str]:
    return list(row["names_hosts"] or ([row["host"]] if row["host"] else []))


def _device(case: Case, who: Sequence[Row], said: Sequence[Row], how: Said, lasting: bool) -> Finding:
    ranks = tuple(sorted({rank for row in who for rank in (row["names_ranks"] or [])}))
    hosts = tuple(sorted({host for row in who for host in _hosts(row)}))
    devices = tuple(
        Device(host=host, index=row["device_index"])
        for row in who[:1]
        for host in _hosts(row)[:1]
        if row["device_index"] is not None
    )
    lead = who[0]
    is_bad = not _is_finite(lead) or _was_bad(case, lead, ranks)
    reason = words.UNEXPECTED_RESULT(how=how)
    actions = [to_do("inspect_hardware", host, reason) for host in hosts]
    sure = lasting or case.is_data_parallel
    if lasting:
        actions += [to_do("drain_node", host, reason) for host in hosts]
    return Finding(
        cause="nan_birth" if is_bad else "replica_divergence",
        ranks=ranks if sure else (),
        hosts=hosts if sure else (),
        devices=devices if sure else (),
        suspect_ranks=() if sure else ranks,
        suspect_hosts=() if sure else hosts,
        domain="infrastructure",
        first_anomaly=_first(lead, ranks[0] if sure and ranks else None, not is_bad),
        claims=tuple(Claim(words.RESULT(how=how), "for", (_ref(row),)) for row in said[:5]),
        undecided=() if lasting else ("single_snapshot",),
        severity="severe",
        actions=tuple(actions),
        collect=() if lasting else (words.SAME_STEP_AGAIN,),
        summary=words.RESULT_OF_STEP(step=lead["step"], ranks=ranges(ranks), how=how),
    )


def _sound(case: Case, rows: Sequence[Row], said: Sequence[Row]) -> Finding:
    lead, text = rows[0], words.NOT_THE_HARDWARE
    target = words.STEP(step=lead["step"])
    return Finding(
        cause="replica_divergence" if _is_finite(lead) else "nan_birth",
        domain="workload",
        first_anomaly=_first(lead, None, _is_finite(lead)),
        claims=tuple(Claim(text, "for", (_ref(row),)) for row in said[:5]),
        severity="severe",
        actions=(to_do("check_data", target, text),),
        summary=words.REPRODUCIBLE(step=lead["step"]),
    )


def _is_finite(row: Row) -> bool:
    try:
        return isfinite(float(detail(row)["result"]))
    except (KeyError, TypeError, ValueError):
        return bool(row["kind"] != "nan_assert")


def _was_bad(case: Case, lead: Row, ranks: Sequence[int]) -> bool:
    """Did the first run of that step, on one of these ranks, give what is no number? Its repetition may have given one."""
    rows = case.events.filter((pl.col("kind") == "nan_assert") & (pl.col("step") == lead["step"])).to_dicts()
    return any(not set(ranks).isdisjoint(row["names_ranks"] or [row["rank"]]) for row in rows)


def _first(row: Row, rank: int | None, is_finite: bool) -> FirstAnomaly:
    value = "finite" if is_finite else "nan"
    return FirstAnomaly(rank=rank, step=row["step"], value=value, signature=f"rerun/{row['code']}")


def _ref(row: Row) -> Ref:
    return Ref(file=row["file"] or "", line=row["line"], text=row["text"] or "")


DETECTOR = Detector("rerun_verdict", (), detect, "bad_value")
