"""What the settings say of a verdict: an odd one of whom it names is a reason, and the first thing to check."""

from collections.abc import Mapping

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.settings.odd_settings import At, OddSetting, explaining
from forensics.facts.settings.setting_ranges import RANGES, OutOfRange, out_of_range
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Action
from forensics.model.said import Said, joined
from forensics.words import advice
from forensics.words import verdict as words

_SHOWN = 3


def with_settings(case: Case, finding: Finding) -> Finding:
    """The finding with the odd settings that explain it; who is named, and how surely, stays as it is."""
    hosts = dict(case.tables["files"].select("file", "host").iter_rows())
    odd = explaining(case.tables["settings"], case.events, hosts, finding.cause, _at(case, finding))[:_SHOWN]
    finding = _with_ranges(case, finding, hosts)
    if not odd:
        return finding
    checks = [_check(one, words.IT_IS_ELSEWHERE(value=one.value, other=one.other)) for one in odd]
    return replace(
        finding,
        claims=(*finding.claims, *(Claim(one.text, "for", one.refs) for one in odd)),
        actions=(*checks, *finding.actions),
        summary=joined((finding.summary, words.STATED(text=odd[0].text)), " "),
    )


def _with_ranges(case: Case, finding: Finding, hosts: Mapping[str, str | None]) -> Finding:
    """With the values that cannot work as they were meant, and that may be behind it: to be looked at before any cable."""
    waits = finding.cause is not None or case.has_waited
    found = out_of_range(case.tables["settings"], hosts, finding.cause)[:_SHOWN] if waits else []
    checks = []
    for one in found:
        known, others = RANGES[one.name], str(one.others)
        # It is set to the one value that all others have, where that is within its range.
        is_fit = others.isascii() and others.isdigit() and known.low <= int(others) <= known.high
        reason = words.IT_IS_OUT_OF_RANGE(value=one.value, low=known.low, high=known.high)
        checks.append(_check(one, reason, f"export {one.name}={others}" if is_fit else None))
    claims = tuple(Claim(one.text, "for", one.refs) for one in found)
    return replace(finding, claims=(*finding.claims, *claims), actions=(*checks, *finding.actions))


def _at(case: Case, finding: Finding) -> At:
    ranks = finding.subjects
    placed = case.identity.select("rank", "host", "pci").iter_rows() if case.identity.height else ()
    own = {rank: (host, pci) for rank, host, pci in placed if rank in ranks}
    gpus = {pci.removesuffix(".0") for _, pci in own.values() if pci}
    hosts = finding.places | {short_host(host) for host, _ in own.values() if host}
    is_whole = len(own) == len(ranks) and all(pci for _, pci in own.values())
    return At(ranks, frozenset(hosts), frozenset(gpus) if is_whole else frozenset(), finding.is_named)


def _check(one: OddSetting | OutOfRange, reason: Said, command: str | None = None) -> Action:
    return Action(
        kind="check_config", target=words.SETTING_OF(name=one.name, holders=one.holders), command=command, reason=reason,
        look=advice.WHERE_IT_IS_SET, then=advice.SET_BEFORE_START, source="NCCL: environment variables",
    )  # fmt: skip
