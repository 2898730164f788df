"""Was a suspect step repeated bit by bit, on several devices? Then it is known whether a device, the data or the parameters made it.

Who differs from two others that agree computes wrongly, and so does who differs from itself, unless most do: then the program is not
made to repeat. Where all agree and the loss is not finite, it is of the data, or of parameters that the other replicas do not hold.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import isfinite

import polars as pl

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_rows import Row
from forensics.facts.durations.checkpoints import before_step
from forensics.facts.rows.event_rows import detail, refs
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.names import Cause, Domain
from forensics.model.said import Said, sentence
from forensics.model.texts import ranks_text
from forensics.model.told import has_kind
from forensics.words import numerics as words


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding, of the newest step that was repeated."""
    if not has_kind(case.events, "replay"):
        return ()
    events = case.events.filter((pl.col("kind") == "replay") & pl.col("step").is_not_null())
    rows = events.filter(pl.col("step") == pl.col("step").max()).sort("file", "line").to_dicts()
    steps: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        steps[row["names_ranks"][0]].append(row)
    unsteady = {row["rank"] for row in rows if not _is_steady(rows, row["rank"])}
    if 2 * len(unsteady) > len({row["rank"] for row in rows}) and len(unsteady) > 1:
        return ()
    wrong, unclear = set(unsteady), set[int]()
    for own in steps.values():
        few, is_clear = _minority(own, unsteady)
        (wrong if is_clear else unclear).update(few)
    if wrong or unclear:
        return (_of_device(rows, sorted(wrong), sorted(unclear - wrong)),)
    bad = sorted(whose for whose, own in steps.items() if any(not _is_finite(row) for row in own))
    is_repeated = all(len({row["rank"] for row in steps[whose]}) > 1 for whose in bad)
    return (_of_data(rows, steps, bad),) if bad and is_repeated else ()


def _is_finite(row: Row) -> bool:
    return row["value"] is not None and isfinite(row["value"])


def _is_steady(rows: Sequence[Row], rank: int) -> bool:
    """Whether a rank's device came to the same bits each time."""
    return len({row["code"] for row in rows if row["rank"] == rank and row["names_ranks"] == [rank]}) < 2


def _minority(own: Sequence[Row], unsteady: set[int]) -> tuple[set[int], bool]:
    """(ranks that came to other bits than most with the step of one rank, whether two at least agree against them)."""
    told = {row["rank"]: row["code"] for row in own if row["rank"] not in unsteady}
    counts = Counter(told.values())
    if len(counts) < 2:
        return set(), True
    (most, count), (_, next_count) = counts.most_common(2)
    is_clear = count > 1 and count > next_count
    return {rank for rank, code in told.items() if not is_clear or code != most}, is_clear


def _of_device(rows: Sequence[Row], wrong: Sequence[int], unclear: Sequence[int]) -> Finding:
    who = tuple(wrong or unclear)
    step, own = rows[0]["step"], [row for row in rows if row["rank"] in who]
    text = (words.DEVICE_DIFFERS if wrong else words.DEVICES_DIFFER)(who=ranks_text(who), step=step)
    cause: Cause = "replica_divergence" if all(map(_is_finite, own)) else "nan_birth"
    hosts = tuple(sorted({row["host"] for row in own if row["host"]}))
    actions = tuple(to_do("inspect_hardware", host, text) for host in hosts)
    return _finding(
        cause, "infrastructure", step, text, rows=own,
        ranks=who if wrong else (), suspects=() if wrong else who, actions=actions,
    )  # fmt: skip


def _of_data(rows: Sequence[Row], steps: Mapping[int, Sequence[Row]], bad: Sequence[int]) -> Finding:
    """The same loss on every device, and it is not finite."""
    step = rows[0]["step"]
    states = Counter(detail(own[0]).get("state") for own in steps.values())
    state, count = states.most_common(1)[0]
    few = 2 * len(bad) < len(steps)
    holds_bad = all((detail(steps[whose][0]).get("batch_bad") or 0) > 0 for whose in bad)
    is_state = few and 2 * count > len(steps) and all(detail(steps[whose][0]).get("state") != state for whose in bad)
    cause: Cause = "bad_state" if is_state else "bad_input" if holds_bad else "nan_birth"
    text = words.REPEATS_EVERYWHERE(who=ranks_text(bad), step=step)
    why = words.OTHER_PARAMETERS if is_state else words.BATCH_HOLDS_BAD if holds_bad else words.BATCH_MAKES_BAD
    kind = to_do("check_data", words.STEP(step=step), why)
    if is_state:
        kind = to_do("rollback", before_step(step), why)
    own = [row for whose in bad for row in steps[whose]]
    return _finding(
        cause, "unknown" if is_state else "workload", step, sentence(words.AND_WHY(what=text, why=why)), rows=own,
        ranks=tuple(bad) if few else (), suspects=(), actions=(kind,),
    )  # fmt: skip


def _finding(
    cause: Cause, domain: Domain, step: int, text: Said, *, rows: Sequence[Row], ranks: tuple[int, ...],
    suspects: tuple[int, ...], actions: tuple[Action, ...],
) -> Finding:  # fmt: skip
    value = "finite" if all(map(_is_finite, rows)) else "nan"
    return Finding(
        cause=cause,
        ranks=ranks,
        suspect_ranks=suspects,
        undecided=("replica_tie",) if suspects else (),
        domain=domain,
        first_anomaly=FirstAnomaly(rank=ranks[0] if ranks else None, step=step, value=value, signature="replay"),
        claims=(Claim(text, "for", refs(rows[:10])),),
        severity="severe",
        actions=actions,
        collect=(words.REPLAY_ELSEWHERE,) if suspects else (),
        summary=sentence(text),
    )


DETECTOR = Detector("replayed_step", ("events",), detect, "bad_value")
