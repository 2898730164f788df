"""What to do now: the detectors' own actions, those that a cause asks for, and what to collect where it is undecided."""

from forensics.model.commands import drain_node
from forensics.model.finding import Finding
from forensics.model.incident import Action
from forensics.model.names import Status


def actions_of(finding: Finding, status: Status) -> list[Action]:
    """Finding and its status → actions, in the order in which they are to be done."""
    actions = list(finding.actions)
    target = f"{finding.code.file}:{finding.code.line}" if finding.code and finding.code.file else None
    if finding.cause == "rank_absent" and finding.code and target:
        reason = f"it stopped in {finding.code.function or 'this line'}"
        actions.append(Action(kind="check_code", target=target, command=None, reason=reason))
    if finding.cause in ("collective_mismatch", "deadlock_cycle"):
        reason = "ranks issue different operations, or in a different order"
        actions.append(Action(kind="check_code", target=target or "job", command=None, reason=reason))
    if finding.cause == "gpu_fault":
        for host in dict.fromkeys(device.host or "" for device in finding.devices):
            command = drain_node(host, "gpu_fault")
            actions.append(
                Action(kind="drain_node", target=host, command=command, reason="its device reported an error")
            )
    actions += [
        Action(kind="collect_more", target=what, command=None, reason="would decide what this bundle cannot")
        for what in finding.collect
    ]
    if not actions and finding.cause is not None and status != "unknown":
        actions.append(Action(kind="restart_job", target="", command=None, reason="no lasting fault is shown"))
    return actions
