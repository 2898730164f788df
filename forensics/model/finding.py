"""What a detector says: cause, subjects, claims, and what would decide. Nothing else: what it explains, on which basis,
and of which kind the incident is, is computed in verdict/."""

import msgspec

from forensics.model.drawn import TensorRow
from forensics.model.incident import Action, BlastRadius, Code, Device, FirstAnomaly
from forensics.model.names import Cause, Direction, Domain, Reason, Severity, Site
from forensics.model.ref import Ref

_NO_ANOMALY, _NO_BLAST = FirstAnomaly(), BlastRadius()


class Claim(msgspec.Struct, frozen=True):
    """One fact of the proof. Who stands behind it follows from its refs (verdict/judged/observers.py)."""

    text: str
    direction: Direction
    refs: tuple[Ref, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Exactly one explanation. `ranks`, `hosts`, `devices`, `links`, `cycle` are named; `suspect_*` must hold the culprit.
    `undecided` says why it is no more than that."""

    detector: str
    cause: Cause | None = None
    ranks: tuple[int, ...] = ()
    hosts: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    links: tuple[tuple[int | str, int | str], ...] = ()
    suspect_ranks: tuple[int, ...] = ()
    suspect_hosts: tuple[str, ...] = ()
    suspect_devices: tuple[Device, ...] = ()  # of a rank that is named
    cycle: tuple[int, ...] = ()
    site: Site | None = None
    code: Code | None = None
    domain: Domain = "unknown"
    first_anomaly: FirstAnomaly = _NO_ANOMALY
    undecided: tuple[Reason, ...] = ()
    claims: tuple[Claim, ...] = ()
    blast_radius: BlastRadius = _NO_BLAST
    severity: Severity | None = None
    actions: tuple[Action, ...] = ()
    collect: tuple[str, ...] = ()  # what to collect next time, where undecided
    tensors: tuple[TensorRow, ...] = ()  # numerics: rows for the page
    since_step: int | None = None  # numerics: the first step that the first bad line may tell of; null: its own
    over_step: int | None = None  # numerics: from this step on all was as before; null where it was not
    time_ns: int | None = None
    summary: str = ""

    @property
    def is_named(self) -> bool:
        """Does it name anybody or anything?"""
        return bool(self.ranks or self.cycle or self.hosts or self.links or self.devices)

    @property
    def subjects(self) -> frozenset[int]:
        """The ranks that it is about: named, in the cycle, else the suspects."""
        return frozenset((*self.ranks, *self.cycle)) or frozenset(self.suspect_ranks)

    @property
    def places(self) -> frozenset[str]:
        """The hosts that it is about."""
        told = {*self.hosts, *(device.host for device in self.devices if device.host)}
        ends = {end for link in self.links for end in link if isinstance(end, str)}
        return frozenset(told | ends) or frozenset(self.suspect_hosts)
