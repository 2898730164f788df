"""What a driver says of the program on a device: an error for which the vendor's catalogue sends the reader to the program. It
accuses no device, and its host stays in service; but the program is to be looked at."""

from collections.abc import Sequence

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.hosts.hardware import Record
from forensics.facts.rows.error_words import driver_words
from forensics.facts.rows.event_rows import refs
from forensics.model.commands import users
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.names import Kind
from forensics.model.texts import cut_middle, ranks_text
from forensics.verdict.told.complaints import lost_devices
from forensics.words import hardware as words
from parsers.catalogues import is_of_program, printed

_SHOWN, _WORDS = 3, 160


def with_errors_of_program(case: Case, finding: Finding, kind: Kind) -> Finding:
    """The finding with what drivers say of the job's program, each device once; who is named, and how surely, stays as it is."""
    if kind not in ("hang", "crash", "unknown"):
        return finding
    told = {(one.host, one.row["pci"]): one for one in reversed(case.hardware) if _tells(one)}
    found = list(reversed(told.values()))[:_SHOWN]
    if not found:
        return finding
    claims = [Claim(words.OF_THE_PROGRAM(line=_line(one)), "for", refs([one.row])) for one in found]
    checks, why = [], words.TOUCHED_NOT_ITS_OWN
    for one in found:
        command = users(one.host, case.around) if one.rank is None else None
        checks.append(Action(kind="check_code", target=_program(one), command=command, reason=why))
    # Where a card met the same error with several programs, it is looked at before any of these.
    is_first = finding.cause is None and all(one.kind != "inspect_hardware" for one in finding.actions)
    return replace(
        finding,
        hosts=finding.hosts or _where(case, finding, found),
        claims=(*finding.claims, *claims),
        actions=(*checks, *finding.actions) if is_first else (*finding.actions, *checks),
    )


def with_lost_devices(case: Case, finding: Finding, kind: Kind) -> Finding:
    """Where it is open which process ended, and by what: what its end is laid to stands beside a device that its driver has lost, and that is
    looked at first, for it stays lost."""
    is_open = not (finding.is_named or finding.subjects or finding.suspect_hosts or finding.devices)
    if kind != "crash" or not is_open or finding.cause == "gpu_fault":
        return finding
    cited = {ref for claim in finding.claims for ref in claim.refs}
    found = [(claim, act) for claim, act in lost_devices(case) if not cited & {*claim.refs}]
    claims, actions = tuple(claim for claim, _ in found), tuple(act for _, act in found)
    return replace(finding, claims=(*finding.claims, *claims), actions=(*actions, *finding.actions))


def _where(case: Case, finding: Finding, found: Sequence[Record]) -> tuple[str, ...]:
    """The one host where it happened, if nothing is named and whoever is suspected runs there."""
    hosts = {one.host for one in found}
    homes = {case.host_of_rank.get(rank) for rank in finding.suspect_ranks}
    return tuple(host for host in hosts if host) if len(hosts) == 1 and homes == hosts and not finding.is_named else ()


def _tells(one: Record) -> bool:
    is_meant = is_of_program(one.origin) and one.kind == "gpu_error" and one.severity in ("error", "fatal")
    return is_meant and one.counts and not one.common and one.on_job is not False and not one.is_device_error


def _line(one: Record) -> str:
    """The code as drivers print it, unless their words begin with it."""
    line, code = cut_middle(driver_words(one.row["text"] or ""), _WORDS), printed(one.row["code"])
    return line if not code or code.split()[-1] in line else f"{code}, {line}"


def _program(one: Record) -> str:
    who = words.PROGRAM_OF if one.rank is None else words.PROGRAM_OF_RANK
    at = one.row["pci"] or one.row["device_index"]
    return who(
        rank=ranks_text([] if one.rank is None else [one.rank]),
        gpu="" if at is None else f" {at}", host=one.host or words.UNNAMED_HOST,
    )  # fmt: skip
