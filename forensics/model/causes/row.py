"""What is said of a cause, in one place."""

from typing import Literal

import msgspec

from forensics.model.names import Cause, Domain, Kind
from forensics.model.runbook import Step
from forensics.model.said import Said

# After a restart as it is: "again": the next start meets it. "changed": first what it lacked must be larger. "over": it is done.
# "may": nothing shows. "lasts": it stays as slow. None: that is not told of this cause.
Returns = Literal["again", "changed", "over", "may", "lasts"]


class CauseRow(msgspec.Struct, frozen=True, kw_only=True):
    """`kinds`: of incidents that it may be the cause of. `holds`: what its subject is. `leads_to`: which other causes it brings about
    on the same subject. `title`: after the sentence. `means`: what happened; `alike`: what looks like it, and what tells them apart;
    `do`: what helps. `chinese`: the sentence in Chinese in several forms, the fullest first (reports/chinese.py tells the fields).
    `operation`: how the operation of the first anomaly is introduced. `example`: what a record of it may look like. `runbook`: what to do
    about it, in this order, each step where what it needs is known."""

    title: Said
    means: Said
    alike: str
    do: Said
    chinese: tuple[str, ...]
    example: str
    runbook: tuple[Step, ...]
    kinds: tuple[Kind, ...]
    holds: Literal["process", "device", "link", "call", "value", "job"]
    domain: Domain
    leads_to: tuple[Cause, ...] = ()
    returns: Returns | None = None
    from_outside: bool = False  # somebody stopped the job: nothing of it failed
    in_program: bool = False  # it lies in the program, wherever that runs
    by_stack: bool = False  # a stack of its subject shows what it is
    by_times: bool = False  # times tell who it is, and not of what
    operation: str = "operation"

    @property
    def is_of_hardware(self) -> bool:
        """Is a device or a link what failed, whoever runs there?"""
        return self.holds in ("device", "link") and self.domain == "infrastructure" and "slow" not in self.kinds
