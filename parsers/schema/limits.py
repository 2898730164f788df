"""What a bundle may cost, as a whole: whoever sends 100 kB must not be able to ask for days or for all memory.

Everything beyond a limit is a row of `unread` with the limit in its reason; what came before stays read. Most limits
grow with what is really stored, as an honest bundle of that size grows, too; FREE is allowed however small it is.
"""

from collections.abc import Mapping
from typing import Self

import msgspec

FREE = 1 << 30  # bytes
KEPT_FREE = 10_000  # rows that any kept table may have …
KEPT_ROWS = 10  # … and this many for each byte of its file: of the most regular that were parsed, 3 rows take a byte
KEPT_EVENTS = 1  # of events, each of which is asked by itself: their line numbers alone take a byte
_UNITS = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


class Limits(msgspec.Struct, frozen=True):
    """The limits of one bundle, all of them settable."""

    unfolded: int = 1 << 42  # bytes that all archives and compressed files in it unfold to together …
    ratio: int = 1000  # … and this many times what is stored
    members: int = 1_000_000  # files, those inside archives and those that are not read included
    nesting: int = 3  # archives in archives
    tables: int = 1 << 38  # bytes of the evidence tables …
    growth: int = 100  # … and this many times what is stored
    seconds: int = 3600  # for one member; looked at between its parts

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        """Limits from texts such as {"unfolded": "64G", "seconds": "60"}. Raises ValueError."""
        if unknown := texts.keys() - set(cls.__struct_fields__):
            raise ValueError(f"no limit is called {min(unknown)}; there are {', '.join(cls.__struct_fields__)}")
        return cls(**{name: _number(text) for name, text in texts.items()})


def kept_rows(name: str, size: int) -> int:
    """Rows that the kept table of this name may have in a file of `size` bytes: equal ones cost nothing there, and much when
    they are read."""
    return KEPT_FREE + (KEPT_EVENTS if name == "events" else KEPT_ROWS) * size


def _number(text: str) -> int:
    """`64G` → 64 * 2**30."""
    digits, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise ValueError(f"not a number: {text!r}")
    return int(digits) * unit


class Budget(msgspec.Struct):
    """What a bundle has used up while its members are found and unfolded. In another process, a copy goes on."""

    limits: Limits = msgspec.field(default_factory=Limits)
    stored: int = 0  # bytes of the bundle as it lies there
    unfolded: int = 0
    tables: int = 0  # bytes of tables that are there already

    @property
    def most_unfolded(self) -> int:
        return min(self.limits.unfolded, max(FREE, self.limits.ratio * self.stored))

    @property
    def most_tables(self) -> int:
        return min(self.limits.tables, max(FREE, self.limits.growth * self.stored))

    def takes(self, size: int) -> bool:
        """Whether `size` more bytes may be unfolded; they count from now on."""
        if self.unfolded + size > self.most_unfolded:
            return False
        self.unfolded += size
        return True

    @property
    def reason(self) -> str:
        return f"the bundle unfolds to more than the limit of {self.most_unfolded} bytes"


class Share(msgspec.Struct):
    """What one compressed member has used of a budget: read twice, it counts once."""

    budget: Budget
    reached: int = 0

    def takes(self, at: int) -> bool:
        """Whether the member may unfold to `at` bytes."""
        if at > self.reached:
            if not self.budget.takes(at - self.reached):
                return False
            self.reached = at
        return True
