"""What stands apart from its peers among all that was measured of devices and ports: shown, and blamed for nothing.

Neither a hot device nor a lame link is at fault by itself (facts/telemetry.py); what explains somebody who is slow, or
suspected, is cited there. This is the scan over all hosts that catches what nobody asked for.
"""

from collections import defaultdict
from collections.abc import Iterable

from forensics.case import Case, Detector
from forensics.facts.telemetry import Apart
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly
from forensics.model.said import Said, joined
from forensics.words import hardware as words

_SHOWN = 12
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
            detector=DETECTOR.name,
            claims=(
                *(
                    Claim(text, "for", tuple(ref for one in listed for ref in one.refs)[:3])
                    for text, listed in told[:_SHOWN]
                ),
                *(Claim(one.text, "for", one.refs) for one in pairs[:_SHOWN]),
            ),
            first_anomaly=FirstAnomaly(signature="telemetry"),
            collect=(words.PHASE_TIMES,),
            summary=words.MEASURED_APART(what=joined(texts[:3], ". ")),
        ),
    )


def _by_host(found: Iterable[Apart]) -> Iterable[tuple[Said, list[Apart]]]:
    """Several devices of one host that stand apart alike are told once: then it is the host's air, power or switch."""
    groups: dict[tuple[str, str | None], list[Apart]] = defaultdict(list)
    for one in found:
        groups[one.quantity, one.host].append(one)
    for (_, host), listed in groups.items():
        text = listed[0].text
        yield words.ALIKE_THERE(text=text, number=len(listed), host=host) if len(listed) > 1 else text, listed


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
