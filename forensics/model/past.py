"""An incident of the past, as the history keeps it: who was accused, who was there. Ranks are not kept: each launch deals
them out anew."""

from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from forensics.model.incident import FileRow
from forensics.model.names import Cause, Kind, Status

Thing = tuple[str, str]  # ("host", name) or ("device", UUID)


class PastIncident(msgspec.Struct, frozen=True, kw_only=True):
    """`id`: digest of the incident, so that it is kept once; `origin`: of its bundle. `hosts`: all of the job. `signature`: what stays the same when the
    same fault comes again."""

    id: str
    origin: str
    bundle: str
    attempt: int
    time_utc: str | None
    kind: Kind
    cause: Cause | None
    status: Status
    signature: str
    accused: list[Thing]
    suspected: list[Thing]
    hosts: list[str]
    ranks: str  # that were named or suspected: says whether a host's ranks were others, and joins nothing
    lost_gpu_hours: float | None
    summary: str


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What a history holds: incidents, oldest first, and hosts that a person called bad."""

    incidents: list[PastIncident] = []
    known_bad: list[str] = []

    def without(self, origin: str) -> "Past":
        """The same, but for the incidents of one bundle."""
        kept = [one for one in self.incidents if one.origin != origin]
        return msgspec.structs.replace(self, incidents=kept)


def origin_of(files: Iterable[FileRow], hosts: Sequence[str]) -> str:
    """What tells one bundle from another, whatever its folder is called: its files, their times, the hosts."""
    rows = sorted((one.file, one.bytes, one.time_first_utc or "", one.time_last_utc or "") for one in files)
    return sha256(msgspec.json.encode((rows, sorted(hosts)))).hexdigest()[:16]
