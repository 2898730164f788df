"""Bytes in, evidence tables out: `read(bundle)`. Knows nothing of verdicts.

The parsers (registry.py) are loaded where a bundle is read, or they are asked for: not for tables that were kept.
"""

from builtins import map as serial
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parsers.engine.store import is_kept, kept
from parsers.schema.evidence import BundleError, Evidence, joined
from parsers.schema.limits import Limits

if TYPE_CHECKING:
    from parsers.engine.ledger import Map, Progress
    from parsers.registry import PARSERS as PARSERS
    from parsers.schema.parser import Parser

__all__ = ["PARSERS", "BundleError", "Evidence", "Limits", "is_kept", "joined", "read"]


def read(
    bundle_path: str,
    *,
    parsers: "Sequence[Parser] | None" = None,
    progress: "Progress | None" = None,
    map: "Map" = serial,  # noqa: A002  (the name says what it replaces)
    limits: Limits | None = None,
    year: int | None = None,
) -> Evidence:
    """Read a bundle: folder, file, archive, or "-" for a tar on standard input; or what `store` kept. Raises BundleError.

    `parsers`: else all. `progress(bytes_read, bytes_in_all)` is called after each unit of work. `map`: a pool's map, results
    in order. `limits`: what the bundle may cost. `year`: of stamps that print none, where no other stamp of the bundle tells it.
    """
    if (evidence := kept(bundle_path)) is not None:
        return evidence
    from parsers.engine.ledger import read_bundle
    from parsers.registry import DENSE, PARSERS

    return read_bundle(bundle_path, PARSERS if parsers is None else parsers, DENSE, progress, map, limits, year)


def __getattr__(name: str) -> Any:
    if name != "PARSERS":
        raise AttributeError(f"module 'parsers' has no attribute {name!r}")
    from parsers.registry import PARSERS

    return PARSERS
