"""The form of a row of the reference tables: lines of one format, and what reading them must give."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """`text` read alone, as the file `path`, gives a row of `table` with `columns`; `detail.x` looks into its JSON.

    `table` None: the lines make no row of any table but `claimed` (noise that is known as such).
    `only`: no other row is in that table.
    """

    id: str
    text: str
    table: str | None
    columns: dict[str, Any] = field(default_factory=dict)
    path: str = "a.log"
    only: bool = False


def ref(
    label: str, text: str, table: str | None = "events", /, path: str = "a.log", only: bool = False, **columns: Any
) -> Ref:
    """`detail_x=…` stands for the key `x` of `detail`."""
    named = {name.replace("detail_", "detail.", 1): value for name, value in columns.items()}
    return Ref(label, text, table, named, path, only)
