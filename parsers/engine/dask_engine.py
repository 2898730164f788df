"""Reads the units of a bundle on the workers of a Dask cluster; results come in order, so the tables are the same.

The bundle lies where this machine and the workers see it: on shared storage under one path, or behind a URL (remote.py).
What a worker sees otherwise, or cannot do (it was killed, again and again), is done here. At most two units a thread are
under way, whatever the bundle holds. Source: distributed's Client.submit, which begins lost tasks anew on other workers.
"""

import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from parsers.engine.ledger import Map
from parsers.engine.store import layout
from parsers.engine.threads import Unit, Work
from parsers.schema.evidence import BundleError
from parsers.schema.literals import Packed, packed, unpacked
from parsers.schema.parser import STREAM_ERRORS
from parsers.schema.tables import TableName, Tables

SCHEME = "dask://"
_AHEAD = 2  # units per thread
_ANSWERS_S = 10  # a scheduler
_LOOK_S = 5  # between two looks whether there is still a worker
_HEAD = 4096  # bytes by which a file is known


def on_dask(address: str) -> Map:
    """The `map` of `parsers.read` for a scheduler at dask://HOST:PORT. Raises ValueError where it is no such address."""
    host, _, port = address.removeprefix(SCHEME).rpartition(":")
    if not address.startswith(SCHEME) or not host or not port.isdigit():
        raise ValueError(f"an engine is dask://HOST:PORT, not {address!r}")
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ValueError("it needs Dask: pip install 'collective-forensics[dask]'") from error
    return partial(_mapped, f"tcp://{host}:{port}")


def _mapped(scheduler: str, work: Work, units: Iterable[Unit]) -> Iterator[Tables]:
    client = _client(scheduler)
    waiting: deque[tuple[Unit, Any]] = deque()
    try:
        ahead = _AHEAD * sum(client.nthreads().values())
        for unit in units:
            waiting.append((unit, client.submit(_read_there, work, unit, _seen(unit), pure=False)))
            if len(waiting) > ahead:
                yield _result(client, work, *waiting.popleft())
        while waiting:
            yield _result(client, work, *waiting.popleft())
    finally:
        client.cancel([future for _, future in waiting])
        client.close()


def _client(scheduler: str) -> Any:
    """Connected, and all its workers have these parsers."""
    from distributed import Client

    try:
        client = Client(scheduler, timeout=_ANSWERS_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise BundleError(f"no Dask scheduler answers at {scheduler}") from error
    try:
        others = {worker: told for worker, told in client.run(layout, on_error="return").items() if told != layout()}
        if not client.nthreads() or others:
            where = f"{min(others)} has not this version of forensics" if others else "it has no workers"
            raise BundleError(f"the Dask cluster at {scheduler} cannot be used: {where}")
    except BaseException:
        client.close()
        raise
    return client


def _seen(unit: Unit) -> tuple[int, ...]:
    """What the files of a unit begin with."""
    return tuple(map(_head, unit))


def _head(source: Any) -> int:
    try:
        with source.open() as stream:
            return zlib.crc32(stream.read(_HEAD))
    except STREAM_ERRORS:
        return -1


def _read_there(work: Work, unit: Unit, seen: tuple[int, ...]) -> dict[TableName, Packed] | None:
    """On a worker: the tables; None where it does not see the same files."""
    return {name: packed(frame) for name, frame in work(unit).items()} if _seen(unit) == seen else None


def _result(client: Any, work: Work, unit: Unit, future: Any) -> Tables:
    while True:
        try:
            found = future.result(timeout=_LOOK_S)
            break
        except TimeoutError:
            if not _has_workers(client):
                found = None
                break
        except Exception:  # whatever ended it there: KilledWorker, no memory, a lost connection
            found = None
            break
    return work(unit) if found is None else {name: unpacked(one) for name, one in found.items()}


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.nthreads())
    except Exception:
        return False
