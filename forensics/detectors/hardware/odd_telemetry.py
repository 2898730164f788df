"""What stands apart from its peers among all that was measured of devices and ports: shown, and blamed for nothing.

Neither a hot device nor a lame link is at fault by itself (facts/hosts/telemetry.py); what explains somebody who is slow, or
suspected, is cited there. This is the scan over all hosts that catches what nobody asked for.
"""

from collections import defaultdict
from collections.abc import Iterable

from forensics.case import Case, Detector
from forensics.facts.hosts.telemetry import Apart
from forensics.model.commands import COMMANDS, HERE, Target, memory_errors_at
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.said import Said, joined
from forensics.model.texts import head_of
from forensics.words import hardware as words

_SHOWN = 12
_NAMED = 6  # of those that are alike
_GRAVEST = ("fails", "silent", "slows", "link", "crowded", "idle", "shows")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, about nobody: the gravest first."""
    found = sorted(case.apart, key=lambda one: (_GRAVEST.index(one.effect), one.quantity, one.who))
    told = [*_at_one_place(case, found), *_by_host(found)]
    pairs = case.pair_links.odd
    texts = [*(text for text, _ in told), *(one.text for one in pairs)]
    if not texts:
        return ()
    return (
        Finding(
            claims=(
                *(
                    Claim(text, "for", tuple(ref for one in listed for ref in one.refs)[:3])
                    for text, listed in told[:_SHOWN]
                ),
                *(Claim(one.text, "for", one.refs) for one in pairs[:_SHOWN]),
            ),
            first_anomaly=FirstAnomaly(signature="telemetry"),
            actions=_of_memory(case, found),
            collect=() if found and all(one.effect == "fails" for one in found) else (words.PHASE_TIMES,),
            summary=words.MEASURED_APART(what=joined(texts[:3], ". ")),
        ),
    )


def _of_memory(case: Case, found: Iterable[Apart]) -> tuple[Action, ...]:
    """Who holds rows that fail, or waits for a reset, is looked at by its address, whatever the job does."""
    failing = [(one, one.pci) for one in found if one.effect == "fails" and one.pci]
    if not failing:
        return ()
    (one, pci), around = failing[0], case.around
    there = sorted({at for other, at in failing if (other.host, other.unit) == (one.host, one.unit)})
    command = memory_errors_at(one.host, pci, around)
    if command is None:
        return ()
    if len(there) > 1:  # all of them are looked at, and a command that shows one hides the others
        command = COMMANDS["memory_errors"](Target(one.host or HERE, around=around))
    where = one.host or words.HOST_OF_LOG(file=one.refs[0].file)
    target = words.GPU_THERE(pci=joined(there, ", "), where=where)
    return (
        Action(
            kind="inspect_hardware", target=target, command=command, reason=words.BEFORE_ANYTHING_FAILS,
            look=words.LOOK_AT_ROWS, then=words.THEN_OF_ROWS, source="NVIDIA GPU Memory Error Management: row remapping",
        ),
    )  # fmt: skip


def _by_host(found: Iterable[Apart]) -> Iterable[tuple[Said, list[Apart]]]:
    """Several devices of one host that stand apart alike are told once: then it is the host's air, power or switch."""
    groups: dict[tuple[str, str | None], list[Apart]] = defaultdict(list)
    for one in found:
        groups[one.quantity, one.host].append(one)
    for (_, host), listed in groups.items():
        text = listed[0].text
        if len(listed) == 1:
            yield text, listed
            continue
        form = words.ALIKE if host is None else words.ALIKE_THERE
        others = list(dict.fromkeys(one.pci or one.part or str(one.index) for one in listed[1:]))
        yield form(text=text, number=len(listed), host=host, others=head_of(others, _NAMED)), listed


def _at_one_place(case: Case, found: Iterable[Apart]) -> Iterable[tuple[Said, list[Apart]]]:
    """Hosts, or ports, that stand apart alike and share a rack or a switch beyond chance: its air, power or cables."""
    alike: dict[str, list[Apart]] = defaultdict(list)
    for one in found:
        if one.host:
            alike[one.quantity].append(one)
    for listed in alike.values():
        ports = [(one.host, one.part) for one in listed if one.host and one.part]
        hosts = {one.host for one in listed if one.host}
        shared = case.locations.shared_ports(ports) or case.locations.shared(hosts)
        if shared is not None and shared.is_likely:
            number = len(shared.things)
            yield words.APART_TOGETHER(quantity=listed[0].word, place=shared.text, number=number), listed


DETECTOR = Detector("odd_telemetry", ("devices",), detect)
