"""Hosts and devices that an incident accuses, by themselves or through their ranks."""

from forensics.model.causes import CAUSES
from forensics.model.hosts import short_host
from forensics.model.incident import Incident
from forensics.model.past import Thing

PROVEN = ("established", "supported")


def accused(incident: Incident) -> frozenset[Thing]:
    """("host", name) and ("device", UUID) that a proven verdict names."""
    return _named(incident) if incident.verdict.status in PROVEN else frozenset()


def suspected(incident: Incident) -> frozenset[Thing]:
    """What a hypothesis names; else the one host, and its devices, that all suspects ran on, nothing where there are several."""
    if named := _named(incident):
        return named - accused(incident)
    suspects = incident.verdict.suspects
    if not _is_of_a_place(incident):
        return frozenset()
    found = _of_ranks(incident, set(suspects.ranks)) | {("host", short_host(host)) for host in suspects.hosts}
    placed = {place.rank for place in incident.verdict.places if place.host}
    alone = len([one for one in found if one[0] == "host"]) == 1 and set(suspects.ranks) <= placed
    return frozenset(found) if alone else frozenset()


def _named(incident: Incident) -> frozenset[Thing]:
    verdict = incident.verdict
    if not _is_of_a_place(incident):
        return frozenset()
    found = {("host", short_host(host)) for host in verdict.hosts}
    found |= {("device", device.uuid) for device in verdict.devices if device.uuid}
    found |= {("host", short_host(device.host)) for device in verdict.devices if device.host}
    return frozenset(found | _of_ranks(incident, set(verdict.ranks)))


def _is_of_a_place(incident: Incident) -> bool:
    verdict = incident.verdict
    is_of_kind = verdict.kind in ("hang", "crash", "slow", "launch") and verdict.domain != "workload"
    return is_of_kind and not (verdict.cause is not None and CAUSES[verdict.cause].in_program)


def _of_ranks(incident: Incident, ranks: set[int]) -> set[Thing]:
    places = [place for place in incident.verdict.places if place.rank in ranks]
    hosts = {("host", short_host(place.host)) for place in places if place.host}
    return hosts | {("device", place.device.uuid) for place in places if place.device.uuid}
