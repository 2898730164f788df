"""Tables of pods or containers with their ids: what kernels and runtimes call a process by, and what its job calls it.

    NAMESPACE  NAME          NODE   IP           UID
    research   abl7b-peer-4  kd-17  10.244.4.46  278cad0e-2f7f-4d58-ae0e-ffc5931aac16
    NAME                CONTAINER ID   SERVICE    STATUS                       docker compose ps
    grebe-trainer-3     9be1d40c77a2   trainer    Up 9 hours

Whatever its columns are called: one holds an id in each row, no two alike, and another a name of letters, digits and dashes, no two alike, of which the first is taken. Table `ranks`, a row
without a rank: `host` = the name, `name` = the id.

Printed by: kubectl get pods -o custom-columns, docker ps, exports of both.
Versions: any.
Source: RFC 4122; Kubernetes' and Docker's rules of names.
"""

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any

from parsers.forms import framings
from parsers.scheduling.ended_containers import ID_OF_POD
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text.patterns import regex

_ID = regex(r"(?i)(?:\w{2,12}://)?(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{64})")
_NAME = regex(r"(?=[a-z0-9.-]*-)(?=[a-z0-9.-]*[a-z])[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_SAMPLE = 64
_FEWEST = 2


def accepts(path: str, head: bytes) -> bool:
    """By its first rows."""
    if b"-" not in head[:4096] or framings.framing(path, head) not in framings.TABLES:
        return False
    whole = head[: head.rfind(b"\n") + 1]
    records = _records(Source(path, len(whole), partial(BytesIO, whole)))
    return _columns([said for _, said in islice(records, _SAMPLE)]) is not None


def _records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, what it says)."""
    return ((number, said) for number, _, said in framings.rows(source) if said and said is not framings.HEADER)


def _columns(records: list[dict[str, Any]]) -> tuple[str, str] | None:
    """The columns of ids and of names."""
    if len(records) < _FEWEST:
        return None
    found: list[str] = []
    for pattern in (_ID, _NAME):
        for name in records[0]:
            cells = [str(one.get(name)) for one in records]
            if name not in found and len({*cells}) == len(cells) and all(map(pattern.fullmatch, cells)):
                found.append(name)
                break
        else:
            return None
    return found[0], found[1]


def parse(source: Source) -> Tables:
    """ranks, claimed."""
    rows = [*_records(source)]
    columns = _columns([said for _, said in rows[:_SAMPLE]])
    if columns is None:
        return {}
    own, name = columns
    same = {"how": ID_OF_POD, "file": source.path}
    told = [same | {"host": said[name], "name": said[own].rpartition("/")[2], "line": number} for number, said in rows]
    return {"ranks": table("ranks", told)}


PARSER = FileParser(name="pod_ids", accepts=accepts, parse=parse)
