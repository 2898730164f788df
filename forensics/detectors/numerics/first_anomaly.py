"""Where was the first NaN or Inf born? From tensor statistics; the causal core is in forensics.graph.numerics.taint."""

from collections.abc import Iterable, Sequence

import polars as pl
from msgspec.structs import replace

from forensics.case import Case, Detector
from forensics.detectors.numerics.anomaly_actions import actions_for, to_collect
from forensics.detectors.numerics.anomaly_answer import (
    Answer,
    answer_of,
    bad_row,
    disagreeing_forward,
    first_row,
    order,
)
from forensics.detectors.numerics.anomaly_context import growth_claims, hardware_near, repeat_claims, step_claims
from forensics.detectors.numerics.anomaly_device import NO_DEVICE, device_tests, in_order, suspect_device
from forensics.detectors.numerics.anomaly_inputs import clean_before, clean_update, clean_use, inputs_of, is_finite
from forensics.detectors.numerics.anomaly_rows import (
    DRAWN,
    Row,
    describe,
    drawn,
    first_anomaly,
    name_of,
    ref,
    same,
    shown_value,
    speaker,
    value_of,
    where,
)
from forensics.detectors.numerics.anomaly_scaling import scaling_claims
from forensics.facts.durations.checkpoints import before_step
from forensics.graph.numerics.arrivals import without_arrivals
from forensics.graph.numerics.births import Births, find_births
from forensics.graph.numerics.jumps import all_leaps, arrived, first_jump
from forensics.graph.numerics.taint import Root
from forensics.graph.numerics.tensor_ops import newest_launch
from forensics.graph.numerics.tensor_rules import STATES
from forensics.model.drawn import TensorRow
from forensics.model.finding import Claim, Finding
from forensics.model.incident import to_do
from forensics.model.names import Cause, Severity
from forensics.model.said import Said, joined, sentence
from forensics.model.texts import ranks_text
from forensics.words import advice
from forensics.words import numerics as words
from parsers.text.rank_list import rank_list

_SHOWN = 200
_SHARE = 1e-3  # of the other end: one flipped bit moves one


def detect(case: Case) -> tuple[Finding, ...]:
    """At most one finding: the root or roots of the newest launch that holds a bad value, or a finite value before them
    that no training makes."""
    tensors = case.tables["tensors"]
    told = tensors["group_ranks"].drop_nulls().unique()
    births = find_births(tensors, case.expected or frozenset(rank for text in told for rank in rank_list(text) or ()))
    history = births.history if births is not None else newest_launch(tensors)
    leaps = all_leaps(history)
    jump = first_jump(history, leaps)
    if births is None or not births.spread.roots:
        return (_of_jump(jump),) if jump is not None else ()
    roots = [root for root in births.spread.roots if not root.ended] or births.spread.roots
    roots = _since(births, _ordered(births, roots))
    if jump is not None and _is_before(births, jump, roots):
        return (_of_jump(jump),)
    roots = without_arrivals(births, roots)
    return (_finding(case, births, roots, _of_sender(births, answer_of(births, roots), leaps)),)


def _ordered(births: Births, roots: Iterable[Root]) -> list[Root]:
    return sorted(roots, key=lambda root: order(births, root))


def _since(births: Births, roots: list[Root]) -> list[Root]:
    """The roots, or those of the first of an unbroken run of steps in which their operations bore bad values: that each was
    skipped, and left the parameters clean, does not make the fault a new one in every step."""

    def site(root: Root) -> tuple[object, ...]:
        return tuple(births.ops[name][root.at] for name in ("rank", "phase", "module", "op"))

    steps = births.history["step"].unique().sort().to_list()
    step = births.ops["step"][roots[0].at]
    for before in reversed(steps[: steps.index(step)]):
        sites = {site(root) for root in roots if births.ops["step"][root.at] == step}
        same = [one for one in births.spread.roots if births.ops["step"][one.at] == before and site(one) in sites]
        if not same:
            break
        roots, step = _ordered(births, (replace(one, ended=False) for one in same)), before
    return roots


def _of_sender(births: Births, answer: Answer, leaps: pl.DataFrame | None) -> Answer:
    """A rank whose operation failed on a value that had leapt before it came is innocent: one that left no statistics of
    that step sent it, or made it."""
    if len(answer.ranks) != 1:
        return answer
    row = bad_row(births, answer.lead.at)
    suspects = tuple(sorted(births.unseen_at(row["step"])))
    if not suspects or not arrived(leaps, answer.ranks[0], row["operation"]):
        return answer
    return replace(
        answer, ranks=(), suspects=suspects, cause=None, domain="unknown", undecided=("culprit_among_missing",)
    )


def _is_before(births: Births, jump: Row, roots: Sequence[Root]) -> bool:
    """Whether a leap stands before all births: in an earlier step, or in the step of the first one, and before it where
    both are one rank's."""
    here = [root for root in roots if births.ops["step"][root.at] == births.ops["step"][roots[0].at]]
    if jump["step"] != births.ops["step"][roots[0].at]:
        return bool(jump["step"] < births.ops["step"][roots[0].at])
    own = [bad_row(births, root.at)["place"] for root in here if births.ops["rank"][root.at] == jump["rank"]]
    return all(jump["place"] < place for place in own) and (bool(own) or jump["base"] in STATES)


# --- what is said ----------------------------------------------------------------------------------------------------


def _finding(case: Case, births: Births, roots: Sequence[Root], answer: Answer) -> Finding:
    lead = answer.lead
    row = first_row(births, lead)
    clean = clean_before(births, row)
    local = [root for root in roots if root.rank in answer.ranks and root.birth in ("op", "state", "window")]
    hardware = hardware_near(case, [bad_row(births, root.at) for root in local])
    is_alone = answer.ranks == (row["rank"],) and lead.birth == "op" and not lead.ended and not hardware.claims
    device = suspect_device(case, births, row) if is_alone else NO_DEVICE
    is_tested = answer.ranks == (row["rank"],) and (answer.cause == "nan_birth" or device.devices)
    tests = device_tests(births, row) if is_tested else ()
    return Finding(
        cause=answer.cause,
        ranks=tuple(rank for rank in answer.ranks if rank >= 0),
        links=lead.links,
        suspect_ranks=tuple(rank for rank in answer.suspects if rank >= 0),
        domain="infrastructure" if hardware.claims else answer.domain,
        devices=hardware.devices,
        suspect_devices=device.devices,
        first_anomaly=first_anomaly(row, lead.rank, describe(clean) if clean else None, answer.cause),
        undecided=answer.undecided,
        claims=(
            *_claims(births, roots, answer, row, clean),
            *scaling_claims(case.tables["tensors"], births, row),
            *growth_claims(births, row),
            *repeat_claims(case, births),
            *step_claims(case, births, row),
            *hardware.claims,
            *device.claims,
        ),
        severity=_severity(births, lead),
        actions=(*hardware.actions, *in_order(device, row, actions_for(births, answer, row), tests)),
        collect=to_collect(answer.undecided, answer.suspects),
        tensors=tuple(_tensor_rows(births, answer)),
        summary=joined((_summary(births, answer, row), *device.sentences), " "),
    )


def _claims(births: Births, roots: Sequence[Root], answer: Answer, row: Row, clean: Row | None) -> list[Claim]:
    rank, who = row["rank"], speaker(row["rank"])
    first = words.FIRST_BAD_VALUE(who=who, value=shown_value(row), where=where(row))
    claims = [Claim(first, "for", (ref(row),))]
    if clean is not None and is_finite(clean):
        claims.append(Claim(words.LAST_FINITE(who=who), "for", (ref(clean),)))
    masked = inputs_of(births, row).mask
    if masked is not None and masked.own:
        claims.append(Claim(words.MASKED_BEFORE(who=who, number=masked.own), "for", (ref(masked.row),)))
    update = clean_update(births, row) if answer.cause == "bad_state" else None
    if update is not None:
        claims.append(Claim(words.CLEAN_AFTER_UPDATE(who=who, step=update["step"]), "for", (ref(update),)))
    used = clean_use(births, row) if answer.cause == "bad_state" else None
    if used is not None:
        claims.append(Claim(advice.UPDATE_MADE_IT_BAD(step=row["step"]), "for", (ref(used),)))
    forward = disagreeing_forward(births, row)
    if forward is not None:
        claims.append(Claim(words.FORWARD_WAS_FINITE, "for", (ref(forward),)))
    if answer.cause == "bad_state" and not _was_clean(births, row):
        claims.append(Claim(words.BAD_WHEN_FIRST_OBSERVED, "for"))
    for root in roots:
        if root is not answer.lead:
            other = bad_row(births, root.at)
            form = words.ANOTHER_ORIGIN if root.rank in answer.ranks else words.POSSIBLE_ORIGIN
            claims.append(Claim(form(who=speaker(other["rank"]), where=where(other)), "for", (ref(other),)))
    infected = sorted(births.spread.first.items())
    for echo, (at, _) in [item for item in infected if item[0] != rank][:3]:
        found = bad_row(births, at)
        later = words.LATER_THERE(who=speaker(echo), value=shown_value(found), where=where(found))
        claims.append(Claim(later, "for", (ref(found),)))
    if births.silent:
        claims.append(Claim(words.NO_STATISTICS(who=ranks_text(births.silent)), "unseen"))
    if births.spread.conflicts:
        claims.append(Claim(words.MEMBERS_DISAGREE, "against"))
    if births.spread.mismatch:
        claims.append(Claim(words.CALLS_DO_NOT_LINE_UP, "against"))
    claims += [Claim(warning, "unseen") for warning in births.warnings[:20]]
    return claims


def _was_clean(births: Births, row: Row) -> bool:
    """Did an earlier row of this rank show the same tensor clean?"""
    alike = same(row, "rank", "module", "tensor") & (pl.col("place") < row["place"])
    return births.history.filter(alike, pl.col("bad") == False).height > 0  # noqa: E712


def _severity(births: Births, lead: Root) -> Severity:
    if lead.ended:
        return "minor"
    state = pl.col("base").is_in(list(STATES)) | pl.col("phase").is_in(["grad_sync", "optimizer"])
    return "fatal" if births.rows.filter(state & pl.col("bad") & pl.col("role").is_not_null()).height else "severe"


def _tensor_rows(births: Births, answer: Answer) -> list[TensorRow]:
    roots = {root.at for root in without_arrivals(births, births.spread.roots) if root.rank is not None}
    shown = []
    first = sorted(births.spread.first.items(), key=lambda item: (item[1][0] not in roots, item[0]))
    for rank, (at, _) in [item for item in first if item[0] >= 0][:_SHOWN]:
        row = bad_row(births, at)
        local = births.ops["kind"][at] is None
        role = "root" if at in roots else "echo" if local else "infected"
        shown.append(drawn(row, rank, value_of(row), role))
    unseen = [rank for rank in answer.suspects if rank in births.silent]
    shown += [drawn(dict.fromkeys(DRAWN), rank, "not observed", "unobserved") for rank in unseen]
    return [row for row in shown if row.rank >= 0][:_SHOWN]


def _summary(births: Births, answer: Answer, row: Row) -> Said:
    value, place = shown_value(row), where(row)
    if answer.lead.ended:
        return words.GONE_AFTER_STEP(value=value, where=place)
    if answer.domain == "workload":
        return words.ON_MANY_ALIKE(value=value, where=place)
    if answer.ranks:
        others = len(births.spread.first.keys() - set(answer.ranks))
        reach = words.SPREAD(value=value, ranks=words.OTHER_RANKS(others)) if others else ""
        return joined((sentence(_produced(answer, row)), reach), " ")
    if answer.suspects:
        return words.WHICH_NOT_SHOWN(value=value, where=place, who=ranks_text(answer.suspects))
    return words.ORIGIN_NOT_SHOWN(value=value, where=place)


def _produced(answer: Answer, row: Row) -> Said:
    """What went into an operation was made before it, by whatever left no row."""
    value, place = shown_value(row), where(row)
    if len(answer.ranks) > 1:
        return words.EACH_PRODUCED(who=ranks_text(answer.ranks), value=value, where=place)
    verbs = {"bad_state": words.ALREADY_HELD, "bad_input": words.RECEIVED, "comm_corruption": words.RECEIVED}
    how = verbs.get(answer.cause or "", words.FIRST_SHOWED if row["role"] == "in" else words.PRODUCED)
    return words.HAD_VALUE(who=speaker(answer.ranks[0]), how=how, value=value, where=place)


def _of_jump(row: Row) -> Finding:
    """`row`: the first one, of graph.numerics.jumps."""
    rank = row["rank"]
    state = row["base"] in STATES
    cause: Cause = "bad_state" if state else "replica_divergence"
    size = row["absmax"] if row["absmax"] is not None else max(abs(row["min"]), abs(row["max"]))
    told = {"who": speaker(rank), "size": f"{size:.3g}", "where": where(row)}
    back = words.NO_UPDATE_MAKES_IT if state else words.FROM_NOWHERE
    ends = [abs(row[name]) for name in ("min", "max") if row[name] is not None]
    is_whole = len(ends) > 1 and row["min"] < 0 < row["max"] and min(ends) > _SHARE * max(ends)
    look = to_do("inspect_hardware", speaker(rank), words.FLIPPED_BIT)
    if is_whole:
        target = advice.WHAT_MULTIPLIES_ON(tensor=name_of(row), who=speaker(rank))
        look = to_do("check_code", target, advice.BOTH_ENDS_LEAPT)
    return Finding(
        cause=cause,
        ranks=(rank,) if rank >= 0 else (),
        first_anomaly=first_anomaly(row, rank, None, cause),
        claims=(Claim(words.LEAPT_ALONE(**told), "for", (ref(row),)),),
        severity="severe",
        actions=(look, to_do("rollback", before_step(row["step"]), back)),
        tensors=(drawn(row, rank, "finite", "root"),) if rank >= 0 else (),
        summary=words.LEAPT(**told),
    )


DETECTOR = Detector("first_anomaly", ("tensors",), detect, "bad_value")
