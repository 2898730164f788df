"""Findings → one incident, by the rules of the contract: which kind outranks which, the status word and its rule."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from forensics.case import Case, Claim, Finding
from forensics.commands import drain_node
from forensics.doubts import settle
from forensics.incident import (
    Action,
    Alternative,
    Device,
    Evidence,
    FindingRow,
    FirstAnomaly,
    Incident,
    Kind,
    Status,
    Suspects,
    Verdict,
    Views,
    ranges,
)
from forensics.lost import lost

# A crash that a NaN caused is numerics; a process that died outranks the wait it caused; a mismatch explains a missing call.
_KIND_ORDER: Sequence[Kind] = ("numerics", "crash", "hang", "slow", "launch", "healthy", "unknown")
_HANG_ORDER = (
    "collective_mismatch",
    "gpu_fault",
    "kernel_stuck",
    "rank_absent",
    "deadlock_cycle",
    "network_fault",
    "rank_died",
    "store_timeout",
    None,
)
_NO_WITNESS = ("coverage",)


# The gravest first: the causes that explain the others of a crash. A broken connection may be the echo of a process that
# died, so it explains least.
_CRASH_ORDER = (
    "host_oom",
    "gpu_fault",
    "killed",
    "segfault",
    "gpu_oom",
    "disk_full",
    "exception",
    "network_fault",
    None,
)


def _is_named(finding: Finding) -> bool:
    return bool(finding.ranks or finding.cycle or finding.hosts or finding.links or finding.devices)


def _tier(finding: Finding) -> int:
    """Which kind of story outranks which; a minor numeric event comes last, a crash or hang without a cause after those
    with one, a launch that failed for a known reason before a wait that nothing explains."""
    kind, cause = finding.kind, finding.cause
    if kind == "numerics":
        return 0 if finding.severity != "minor" else 20
    if "fingerprint" in witnesses(finding):
        return 1  # what the ranks of a mismatch raise afterwards is its consequence
    if kind == "crash" and "conflicting_evidence" in finding.undecided:
        return 6  # it may be what followed a wait
    if kind == "crash":
        return 2 if cause is not None and (finding.strong or cause != "network_fault") else 6
    if kind == "hang":
        return 3 if cause is not None or _is_named(finding) else 5
    if kind == "launch":
        return 4 if finding.strong else 8
    return {"slow": 7, "healthy": 9}.get(kind, 10)


def _weight(finding: Finding) -> tuple[int, int, int, int, str]:
    """Smaller comes first: by tier, then strong before weak, named before undecided, then the order of causes; of numeric
    findings the one with suspects before the one without, then the first anomaly in step order."""
    if finding.kind == "numerics":
        step, known = finding.first_anomaly.step, bool(finding.suspect_ranks) or finding.domain == "workload"
        named = 0 if _is_named(finding) else 1 if known else 2
        return (_tier(finding), 0 if finding.strong else 1, named, 1 << 62 if step is None else step, finding.detector)
    order = {"hang": _HANG_ORDER, "crash": _CRASH_ORDER}.get(finding.kind, ())
    cause = order.index(finding.cause) if finding.cause in order else len(order)
    return (_tier(finding), 0 if finding.strong else 1, 0 if _is_named(finding) else 1, cause, finding.detector)


def witnesses(finding: Finding, direction: str = "for") -> list[str]:
    """Independent sources with a claim in this direction, ascending."""
    return sorted(
        {claim.witness for claim in finding.claims if claim.direction == direction and claim.witness not in _NO_WITNESS}
    )


def status_of(finding: Finding) -> tuple[Status, str]:
    """The status word and the rule that gave it."""
    backing, against = witnesses(finding), witnesses(finding, "against")
    if finding.kind == "unknown":
        return "unknown", "nothing in the bundle explains what happened"
    if not finding.strong:
        return "hypothesis", "the best explanation; others remain"
    if against:
        return "hypothesis", f"{', '.join(against)} speak against it"
    if len(backing) >= 2:
        return "established", f"{len(backing)} independent witnesses ({', '.join(backing)}), none against"
    return "supported", f"one strong witness ({', '.join(backing) or finding.detector}), none against"


def _unknown() -> Finding:
    return Finding(
        detector="verdict",
        kind="unknown",
        undecided=("nothing_found",),
        collect=(
            "flight-recorder dumps of all ranks (TORCH_FR_BUFFER_SIZE), py-spy dumps of all ranks, all ranks' logs, kernel logs of all hosts",
        ),
        summary="Nothing in this bundle shows a fault, and nothing proves that the run was healthy.",
    )


def choose(case: Case, findings: Sequence[Finding]) -> tuple[Finding, tuple[Finding, ...]]:
    """(the finding that is the verdict, the others). A job whose every rank says that it ended well did neither hang nor
    crash, whatever a stack from its midst or a line of another program shows."""
    refuted = ("hang", "crash", "launch") if case.ended_well else ()
    order = sorted(findings, key=lambda finding: (finding.kind in refuted, _weight(finding)))
    if not order or order[0].kind in refuted:
        return _unknown(), tuple(order)
    return settle(order[0], order[1:]), tuple(order[1:])


def _evidence(claims: Sequence[Claim]) -> list[Evidence]:
    return [
        Evidence(id=f"E{number}", claim=claim.text, direction=claim.direction, refs=list(claim.refs))
        for number, claim in enumerate(claims, 1)
    ]


def _place(case: Case, finding: Finding) -> tuple[list[Device], FirstAnomaly]:
    """Fill host and device of the first anomaly, and devices of named ranks, from the identity table."""
    anomaly = finding.first_anomaly
    who = (
        case.identity.filter(pl.col("rank") == anomaly.rank)
        if anomaly.rank is not None and case.identity.height
        else None
    )
    if who is not None and who.height:
        device = who["pci"][0] or (f"{who['device_index'][0]}" if who["device_index"][0] is not None else None)
        anomaly = _replace(anomaly, host=anomaly.host or who["host"][0], device=anomaly.device or device)
    return list(finding.devices), anomaly


def _replace(anomaly: FirstAnomaly, **changes: object) -> FirstAnomaly:
    values: dict[str, Any] = {name: getattr(anomaly, name) for name in anomaly.__struct_fields__}
    return FirstAnomaly(**{**values, **changes})


def _actions(finding: Finding, status: Status) -> list[Action]:
    actions = list(finding.actions)
    target = "job"
    if finding.kind == "hang" and finding.cause == "rank_absent" and finding.code and finding.code.file:
        reason = f"it stopped in {finding.code.function or 'this line'}"
        actions.append(
            Action(kind="check_code", target=f"{finding.code.file}:{finding.code.line}", command=None, reason=reason)
        )
    if finding.cause in ("collective_mismatch", "deadlock_cycle"):
        code = f"{finding.code.file}:{finding.code.line}" if finding.code else target
        actions.append(
            Action(
                kind="check_code",
                target=code,
                command=None,
                reason="ranks issue different operations, or in a different order",
            )
        )
    if finding.cause in ("gpu_fault",):
        for device in finding.devices:
            name = device.host or ""
            actions.append(
                Action(
                    kind="drain_node",
                    target=name,
                    command=drain_node(name, "gpu_fault"),
                    reason="its device reported an error",
                )
            )
    actions += [
        Action(kind="collect_more", target=what, command=None, reason="would decide what this bundle cannot")
        for what in finding.collect
    ]
    if not actions and finding.kind in ("hang", "crash") and status != "unknown":
        actions.append(Action(kind="restart_job", target="", command=None, reason="no lasting fault is shown"))
    return actions


def conclude(case: Case, findings: Sequence[Finding], views: Views) -> Incident:
    """Case and findings → the incident of this attempt."""
    best, others = choose(case, findings)
    status, rule = status_of(best)
    devices, anomaly = _place(case, best)
    rivals = [f for f in (*best.alternatives, *others) if f.kind not in ("healthy",)]
    verdict = Verdict(
        kind=best.kind,
        cause=best.cause,
        status=status,
        status_rule=rule,
        ranks=sorted(best.ranks),
        hosts=sorted(best.hosts),
        devices=devices,
        links=[list(link) for link in best.links],
        suspects=Suspects(ranks=sorted(set(best.suspect_ranks) - set(best.ranks)), hosts=sorted(best.suspect_hosts)),
        cycle=sorted(best.cycle),
        site=best.site,
        code=best.code,
        domain=best.domain,
        first_anomaly=anomaly,
        undecided=list(best.undecided),
        summary=best.summary,
    )
    alternatives = [
        Alternative(
            kind=f.kind,
            cause=f.cause,
            ranks=sorted(f.ranks),
            hosts=sorted(f.hosts),
            why_not=f.why_not or _why_not(best, f),
        )
        for f in rivals
    ]
    return Incident(
        attempt=case.attempt,
        verdict=verdict,
        evidence=_evidence(best.claims),
        alternatives=alternatives,
        blast_radius=best.blast_radius,
        severity=best.severity,
        lost=lost(case, best.kind),
        actions=_actions(best, status),
        views=views,
    )


def _why_not(best: Finding, other: Finding) -> str:
    if _KIND_ORDER.index(other.kind) > _KIND_ORDER.index(best.kind):
        return f"it follows from the {best.kind}: {other.summary}"
    return f"weaker evidence: {other.summary}"


def rows(findings: Sequence[Finding], missing: Mapping[str, str]) -> list[FindingRow]:
    """Findings and detectors that did not run → the rows of the document's `findings`."""
    done = [
        FindingRow(
            detector=f.detector,
            kind=f.kind,
            cause=f.cause,
            ranks=ranges((*f.ranks, *f.cycle)),
            hosts=list(f.hosts),
            summary=f.summary,
        )
        for f in findings
    ]
    skipped = [
        FindingRow(detector=name, kind="unknown", cause=None, ranks="", hosts=[], summary=why, ran=False)
        for name, why in missing.items()
    ]
    return [*done, *skipped]
