"""What a member's path tells about who wrote it. A hint only: content outranks it, and a wrong rank is worse than none.

Read: torchrun's ``RUN/attempt_N/LOCAL_RANK/stdout.log``, and ``attempt_N``, ``attempt=N``, ``try-N`` as words of a file's name; ``rank_5``, ``rank5``
as a word of its own in a file name or a folder; flight-recorder dumps ``_dump_9``, ``trace_9``; Paddle's
``workerlog.LOCAL_RANK``; msrun's ``msrun_log/worker_LOCAL_RANK.log``; ``hosts/HOST/…``; the kubelet's ``NAMESPACE_POD_UID/CONTAINER/N.log`` and
``POD_NAMESPACE_CONTAINER-ID.log``, whose pod is the host. Not read: numbers without a word (``5.log``), ranks of another space
(``node_rank_1``), ranges; hosts elsewhere in a path: only the contents know which words are hosts.
"""

import re

import msgspec

from parsers.text.patterns import regex

_WORDS = regex(
    r"rank|dump_|trace_|workerlog\.|attempt|(?<![a-z])try|msrun_log|hosts/|nodes/|_[0-9a-f]{8}-[0-9a-f]{4}-|-[0-9a-f]{64}\.log"
)  # one of which a path that tells has
_ATTEMPT = regex(r"(?:attempt|try)(?:_number)?[_=-](\d{1,6})")
_ATTEMPT_FILE = regex(r"(?:^|[._-])(?:attempt[_=-]?|try(?:_number)?[_=-])(\d{1,6})(?=$|[._-])")
_WORKER = regex(r"worker_(\d{1,4})\.log")  # of MindSpore's msrun, in the folder that its scripts use
_LOCAL_RANK = regex(r"(?:^|[._-])(?:local_?rank[_-]?|workerlog\.)(\d{1,4})(?=$|[._-])(?!-\d)")
_RANK = regex(r"(?:^|(?<=[._-]))(?:global_?)?rank[_-]?(\d{1,7})(?=$|[._]|-(?!\d))")
# Words before "rank" that make the number something else: a place within a group, or a size.
_OTHER_SPACE = regex(
    r"(?:^|[._-])(?:local|node|group|role|machine|dp|tp|pp|ep|cp|sp|mp|lora|low|full|max|min|num|n|per|matrix)[._-]$",
    re.I,
)
_DUMP = regex(
    r"(?:(?:nccl|mccl|rccl|fr|trace|flight_recorder)?_)dump_(\d{1,7})(?:\.(?:pkl|pickle|json|bin))?"
    r"|(?:(?:nccl|mccl|rccl|comm|fr|flight)_)?trace_(\d{1,7})(?:\.(?:pkl|pickle|bin))?"
)
_HOST = regex(r"[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*", re.I)
_POD_FOLDER = regex(r"[a-z0-9.-]{1,253}_([a-z0-9][a-z0-9.-]{0,252})_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_POD_FILE = regex(r"([a-z0-9][a-z0-9.-]{0,252})_[a-z0-9-]{1,63}_[a-z0-9-]{1,63}-[0-9a-f]{64}\.log.{0,40}")


class Hints(msgspec.Struct, frozen=True):
    """What a path says; None = it says nothing."""

    rank: int | None = None
    local_rank: int | None = None
    host: str | None = None
    attempt: int | None = None
    launch: str | None = None


_NOTHING = Hints()


def hints(path: str) -> Hints:
    """Hints of a path inside the bundle, "/" between parts."""
    if not _WORDS.search(path):
        return _NOTHING
    parts = path.split("/")
    rank = _rank(parts)
    local_rank, attempt, launch = _launch(parts)
    return Hints(rank, local_rank, _host(parts), attempt, launch)


def _rank(parts: list[str]) -> int | None:
    """The file name outranks its folders, the inner folder the outer; two different ranks in one name are none."""
    dump = _DUMP.fullmatch(parts[-1])
    if dump:
        return int(dump[1] or dump[2])
    for part in reversed(parts):
        found = {int(match[1]) for match in _RANK.finditer(part) if not _OTHER_SPACE.search(part[: match.start()])}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _launch(parts: list[str]) -> tuple[int | None, int | None, str | None]:
    """local rank, attempt, launch."""
    of_msrun = "msrun_log" in parts[:-1]
    local = _WORKER.fullmatch(parts[-1]) if of_msrun else _LOCAL_RANK.search(parts[-1])
    local_rank = int(local[1]) if local else None
    for at in range(len(parts) - 2, -1, -1):
        match = _ATTEMPT.fullmatch(parts[at])
        if match:
            inner = parts[at + 1]
            is_number = inner.isascii() and inner.isdigit() and len(inner) < 5
            if local_rank is None and at + 2 == len(parts) - 1 and is_number:
                local_rank = int(inner)
            return local_rank, int(match[1]), parts[at - 1] if at else None
    named = _ATTEMPT_FILE.search(parts[-1])
    return local_rank, int(named[1]) if named else None, None


def _host(parts: list[str]) -> str | None:
    for at, part in enumerate(parts[:-2]):
        if part in ("hosts", "nodes") and _HOST.fullmatch(parts[at + 1]):
            return parts[at + 1]
    pod = _POD_FILE.fullmatch(parts[-1]) or (_POD_FOLDER.fullmatch(parts[-3]) if len(parts) > 2 else None)
    return pod[1] if pod else None
