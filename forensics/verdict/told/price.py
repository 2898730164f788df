"""What an incident cost, and the checkpoint to go on from, by its name."""

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.durations.checkpoints import BACK, Checkpoint, checkpoint_before, safe
from forensics.facts.durations.cost import cost
from forensics.model.finding import Finding
from forensics.model.incident import Action, Lost
from forensics.model.names import Kind
from forensics.words import verdict as words


def price(case: Case, finding: Finding, kind: Kind) -> Lost:
    """What is lost; NaN and Inf stall nobody."""
    found = cost(case.tables, case.events, case.clocks, case.checkpoints)
    back, last, pace = to_load(case, finding, kind), found.last_completed_step, case.spent.step_s
    steps = max(0, last - back.step) if back is not None and last is not None and kind != "healthy" else None
    return replace(
        found,
        stalled_s=None if kind == "numerics" else found.stalled_s,
        checkpoint=back.name if back is not None else None,
        lost_steps=steps,
        redo_s=round(steps * pace, 3) if steps is not None and pace is not None else None,
    )


def to_load(case: Case, finding: Finding, kind: Kind) -> Checkpoint | None:
    """The checkpoint to go on from: the newest safe one; where bad numbers went into the state one before the first of them, and well
    before it where their birth was not observed."""
    if kind != "numerics" or (finding.actions and not any(one.kind == "rollback" for one in finding.actions)):
        return max(safe(case.checkpoints.complete), key=lambda one: one.step, default=None)
    first, since = finding.first_anomaly, _since(finding)
    if since is None:
        return None
    return checkpoint_before(case.checkpoints.complete, since, 0 if first.tensor is not None else BACK)


def _since(finding: Finding) -> int | None:
    """The first step that may have been bad."""
    return finding.first_anomaly.step if finding.since_step is None else finding.since_step


def named(case: Case, finding: Finding, kind: Kind, action: Action) -> Action:
    """To load an older checkpoint becomes to load the one, by its name."""
    one = to_load(case, finding, kind) if action.kind == "rollback" else None
    if one is None:
        return action
    first, reason = _since(finding), action.reason
    if kind == "numerics" and first is not None and first - one.step < BACK and finding.first_anomaly.tensor is None:
        reason = words.NO_CHECKPOINT_WELL_BEFORE(reason=reason, steps=BACK)
    return replace(action, target=one.name, reason=reason)
