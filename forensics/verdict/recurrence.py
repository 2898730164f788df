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
from forensics.verdict.decide import decide

_OF_THINGS = ("gpu_fault", "network_fault")  # causes that lie in a device or link, whoever runs there
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


def mark_repeats(
    incidents: Sequence[Incident], identities: Sequence[pl.DataFrame], primary: int, ranks: int
) -> list[Incident]:
    """Incidents in the order of their attempts → the same with what to do, the primary one with what earlier attempts
    accused. `ranks`: size of the job, 0 where unknown."""
    before: dict[tuple[str, str], list[int]] = defaultdict(list)
    ranks_then: dict[tuple[str, str], set[tuple[int, ...]]] = defaultdict(set)
    for incident, identity in zip(incidents, identities, strict=True):
        if incident.attempt < incidents[primary].attempt:
            for thing in accused(incident, identity):
                before[thing].append(incident.attempt)
                ranks_then[thing].add(tuple(incident.verdict.ranks))
    again = sorted(accused(incidents[primary], identities[primary]) & before.keys())
    marked = [msgspec.structs.replace(one, decision=decide(one, ranks)) for one in incidents]
    # Where the same ranks ran there each time, the fault may be theirs: their data, their part of the program.
    now, is_device = tuple(incidents[primary].verdict.ranks), incidents[primary].verdict.cause in _OF_THINGS
    hosts = {name for kind, name in again if kind == "host" and (is_device or ranks_then[kind, name] - {now})}
    repeated = msgspec.structs.replace(marked[primary], decision=decide(marked[primary], ranks, hosts))
    marked[primary] = _marked(repeated, again, before)
    return marked


def _marked(incident: Incident, again: Sequence[tuple[str, str]], before: dict[tuple[str, str], list[int]]) -> Incident:
    evidence, actions = list(incident.evidence), list(incident.actions)
    for kind, name in again:
        attempts = ", ".join(str(number) for number in sorted(set(before[kind, name])))
        text = f"{kind} {name} was at fault in attempt {attempts} as well, whichever ranks ran there"
        evidence.append(Evidence(id=f"E{len(evidence) + 1}", claim=text, direction="for", refs=[]))
        if kind == "host":
            command = drain_node(name, "repeat_offender")
            actions.append(
                Action(
                    kind="drain_node", target=name, command=command, reason=f"at fault in attempt {attempts} as well"
                )
            )
    return msgspec.structs.replace(incident, evidence=evidence, actions=actions)
