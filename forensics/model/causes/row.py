"""What is said of a cause, in one place."""

from typing import Literal

import msgspec

from forensics.model.names import Cause, Domain, Kind
from forensics.model.runbook import Step
from forensics.model.said import Said

# After a restart as it is: "again": the next start meets it. "changed": first what it lacked must be larger, and `unless_changed` says so. "over": it is done.
# "may": nothing shows. "lasts": it stays as slow. None: that is not told of this cause.
Returns = Literal["again", "changed", "over", "may", "lasts"]


class CauseRow(msgspec.Struct, frozen=True, kw_only=True):
    """`kinds`: of incidents that it may be the cause of. `holds`: what its subject is. `leads_to`: which other causes it brings about
    on the same subject. `title`: after the sentence. `means`: what happened; `alike`: what looks like it, and what tells them apart;
    `do`: what helps. `chinese`: the sentence in Chinese in several forms, the fullest first (reports/chinese.py tells the fields).
    `operation`: how the operation of the first anomaly is introduced. `example`: what a record of it may look like. `runbook`: what to do
    about it, in this order, each step where what it needs is known. `unless_changed`: why a start as it is would end in the same way; just
    where it `returns` "changed". `beside_restart`: what is told besides where it is "over". `raised_again`: of an exception in the program, the
    classes that follow from the code, or from what it is given."""

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
    unless_changed: Said | None = None
    beside_restart: Said | None = None
    raised_again: tuple[str, ...] = ()
    may_pass: bool = False  # a job that goes on may get over it by itself
    by_shares: bool = False  # it costs what unequal batches and stages cost, whoever is named
    from_outside: bool = False  # somebody stopped the job: nothing of it failed
    hits_anybody: bool = False  # whom it hit is told, and named for nothing
    in_program: bool = False  # it lies in the program, wherever that runs
    by_stack: bool = False  # a stack of its subject shows what it is
    by_times: bool = False  # times tell who it is, and not of what
    operation: str = "operation"

    def __post_init__(self) -> None:
        """Refuses a row without the sentence that its decision is."""
        if (self.returns == "changed") != (self.unless_changed is not None):
            raise ValueError(
                f'{self.title}: `unless_changed` belongs to a cause that returns "changed", and to no other'
            )

    @property
    def is_of_hardware(self) -> bool:
        """Is a device or a link what failed, whoever runs there?"""
        return self.holds in ("device", "link") and self.domain == "infrastructure" and "slow" not in self.kinds
