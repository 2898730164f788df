"""Hosts and devices that were accused in more than one attempt of a bundle.

Ranks are dealt out anew at every launch, so attempts are joined by host and device (UUID), never by rank number. An
attempt that accuses nobody counts for nobody.
"""

from collections import defaultdict
from collections.abc import Sequence

import msgspec
import polars as pl

from forensics.assemble.identity import short_host
from forensics.model.commands import drain_node
from forensics.model.incident import Action, Evidence, Incident

_HARDLY = ("collective_mismatch", "deadlock_cycle")  # causes that lie in the program, wherever it runs


def accused(incident: Incident, identity: pl.DataFrame) -> frozenset[tuple[str, str]]:
    """("host", name) and ("device", uuid) that an incident names, by themselves or through their ranks."""
    verdict = incident.verdict
    if verdict.kind not in ("hang", "crash", "slow") or verdict.cause in _HARDLY:
        return frozenset()
    found = {("host", short_host(host)) for host in verdict.hosts}
    found |= {("device", device.uuid) for device in verdict.devices if device.uuid}
    found |= {("host", short_host(device.host)) for device in verdict.devices if device.host}
    if identity.height:
        for host, uuid in identity.filter(pl.col("rank").is_in(verdict.ranks)).select("host", "uuid").iter_rows():
            found |= {("host", host)} if host else set()
            found |= {("device", uuid)} if uuid else set()
    return frozenset(found)


def mark_repeats(incidents: Sequence[Incident], identities: Sequence[pl.DataFrame], primary: int) -> list[Incident]:
    """Incidents in the order of their attempts → the same, the primary one with what earlier attempts accused."""
    before: dict[tuple[str, str], list[int]] = defaultdict(list)
    for incident, identity in zip(incidents, identities, strict=True):
        if incident.attempt < incidents[primary].attempt:
            for thing in accused(incident, identity):
                before[thing].append(incident.attempt)
    again = sorted(accused(incidents[primary], identities[primary]) & before.keys())
    marked = list(incidents)
    marked[primary] = _marked(marked[primary], again, before)
    return marked


def _marked(incident: Incident, again: Sequence[tuple[str, str]], before: dict[tuple[str, str], list[int]]) -> Incident:
    evidence, actions = list(incident.evidence), list(incident.actions)
    for kind, name in again:
        attempts = ", ".join(str(number) for number in sorted(set(before[kind, name])))
        text = f"{kind} {name} was already accused in attempt {attempts}, whatever ranks it held then"
        evidence.append(Evidence(id=f"E{len(evidence) + 1}", claim=text, direction="for", refs=[]))
        if kind == "host":
            command = drain_node(name, "repeat_offender")
            actions.append(Action(kind="drain_node", target=name, command=command, reason=text))
    return msgspec.structs.replace(incident, evidence=evidence, actions=actions)
