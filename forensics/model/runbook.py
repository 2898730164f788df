"""What a runbook is made of. Those of the causes stand with their causes (causes/*.py), what several of them share in causes/shared.py."""

from typing import Literal

import msgspec

from forensics.model.commands import CommandName
from forensics.model.names import ActionKind, EvidenceKind
from forensics.model.said import Said

# What a bundle may show. "gone": the processes in question are known to have ended; "alive": they are not. "running": nothing says that the run has ended. "reset", "reboot", "repair":
# what the vendor's catalogue asks for after the error that is cited. "visible": no error that takes it off the
# bus. "loading", "lock", "storage": where the subject stands; "pipe": it opens one, and no storage. "by_kernel": no other program
# than the kernel killed for memory. "shared": shared memory was full. "rebooted": the host itself failed, and what answers has been started since. "infiniband", "ethernet", "efa": the
# sort of the links. "refused": the other end answered, and took no connection. "place": a host, or a path that may stand in a command. "ray": Ray's memory monitor ended it. "stands": no line says that its process ended. "held": its process is stopped. "not_own": no line says that its own process filled the device. "over": the whole run has ended. "alone": other ranks of its host are as fast as any. "no_route", "no_host", "timed_out": why a connection was not made, as connect(2) tells them apart.
Fact = Literal[
    "host", "pid", "gpu", "pci", "code", "no_code", "no_records", "checkpoint", "job", "pod", "gone", "alive", "running", "nvidia",
    "reset", "reboot", "repair", "fabric", "visible", "loading", "lock", "storage", "pipe", "infiniband", "ethernet", "efa", "rebooted", "by_kernel", "shared", "refused", "not_refused", "alone", "not_alone", "place", "ray", "stands", "held", "over", "no_route", "no_host", "timed_out", "not_own",
]  # fmt: skip


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `do`: the kind of action that it is. `needs`: the facts without which it is none. `command`: how it is done, by the
    name of its builder (commands.py); `gives`: the kinds of evidence that it collects, empty where it collects none. `what`: its
    object, where it is said even if no detector asks for it. `destroys`: it, or what it leads to, takes evidence away. `look`: what to look for in its output. `then`: what to do then. `source`: who says so."""

    do: ActionKind
    needs: tuple[Fact, ...] = ()
    command: CommandName | None = None
    gives: tuple[EvidenceKind, ...] = ()
    what: Said | None = None
    destroys: bool = False
    look: Said
    then: Said
    source: str
