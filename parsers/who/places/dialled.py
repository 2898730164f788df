"""Whose line tells another address than the same line of all others: where a process looks for the rest of its job.

    proc0.log: … Connecting to the service on 10.0.0.1:29601          proc3.log: … Connecting to the service on 10.0.0.1:29611
    rank1.env: MASTER_PORT=29601                                      rank3.env: MASTER_PORT=29611
    python lm.py --rank 1 --coordinator head:29601                    python lm.py --rank 3 --coordinator head:29611

Lines that are alike but for their numbers and one address, of three speakers at least (files, ranks before the lines, or rows of one file), each of which tells one.
More than half tell the same one, and at most one in three another. What each has of its own (where it listens) is told by nobody twice, and says nothing here. Whether
anybody was to meet there is asked later (forensics/assemble/starts/odd_addresses.py).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from parsers.schema.event_kinds import DIALS, TELLS
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said

_MEETING = regex(
    r"(?i)master|coordinator|rendezvous|rdzv|scheduler|leader|endpoint|\bjoin|\bdial|connect|tracker|(?:head|store|init|peer|hub|root)_?(?:addr|host|port|node|url|ip)"
)
_SERVED = regex(r"(?i)\blisten|\bbind|\bserv(?:ed?|ing)\b|metric|prometheus|dashboard|debug(?:ger|py)|profil|exporter")
_FEWEST, _FEW = 3, 3  # speakers, and at most one in so many tells another one
_CHARACTERS = 400
_SOURCE = r"(?:c|cc|cpp|cu|cuh|h|hpp|py|pyx|go|rs|java|scala|js|ts|rb|jl|cs|swift|so|sh|yaml|yml|json|log|txt)"
_HOST = rf"(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|localhost|(?=[\w-]{{0,60}}[\d.]|[\w.-]{{1,252}}(?<=://))(?![\w.-]{{0,250}}\.{_SOURCE}:)[A-Za-z][\w-]{{0,62}}(?:\.[\w-]{{1,62}}){{0,8}})"
_ADDRESS = regex(
    rf"(?<![\w.@-])(?:\[?(?:::ffff:)?(?P<host>{_HOST})\]?(?::|[\"'], {{0,2}})[\"']?|(?i:\b\w{{0,30}}port)[\"']?(?: ?[=:] ?| )[\"']?)(?P<port>\d{{4,5}})(?![\w:]|\.\d)"
)
_DIGITS = regex(r"\d+")


def dialled(said: Begun) -> Iterator[dict[str, Any]]:
    """Rows of `ranks` for the lines of those who tell another one, and of those who tell the same; `name` is the address, as printed, a tab and the line; `record` is the same for lines that are alike."""
    found: defaultdict[str, list[tuple[Said, str]]] = defaultdict(list)
    for own in said.values():
        for one in own:
            text = one.line.text[:_CHARACTERS]
            if ":" not in text and "port" not in text.lower() and "," not in text:
                continue
            addresses = {(at["host"] or "", at["port"]): at for at in _ADDRESS.finditer(text)}
            if len(addresses) == 1:
                [((host, port), at)] = addresses.items()
                words = _DIGITS.sub("#", text[: at.start()] + "@" + text[at.end() :])
                found[words].append((one, f"{host}:{port}"))
    for number, (words, rows) in enumerate(found.items()):
        if not _SERVED.search(words):
            how = DIALS if _MEETING.search(words) else TELLS
            yield from (row | {"how": how, "record": number} for row in _odd(rows))


def are_few(odd: int, of_all: int) -> bool:
    """Do some tell another one, and so few that it is theirs which is wrong?"""
    return odd > 0 and 2 * odd < of_all and _FEW * odd <= of_all


def _odd(rows: Sequence[tuple[Said, str]]) -> Iterator[dict[str, Any]]:
    files = Counter(one.file for one, _ in rows if one.line.rank is None)
    spoken: defaultdict[int | tuple[str, int], set[str]] = defaultdict(set)
    first: dict[int | tuple[str, int], Said] = {}
    for one, address in rows:
        is_table = files[one.file] > 1 and len(files) == 1
        who = one.line.rank if one.line.rank is not None else (one.file, one.number if is_table else 0)
        spoken[who].add(address)
        first.setdefault(who, one)
    if len(spoken) < _FEWEST or any(len(own) > 1 for own in spoken.values()):
        return
    addresses = {who: min(own) for who, own in spoken.items()}
    [(_, times)] = Counter(addresses.values()).most_common(1)
    if not are_few(len(spoken) - times, len(spoken)):
        return
    for who, address in addresses.items():
        one = first[who]
        told = f"{address}\t{one.line.text[:_CHARACTERS]}"
        yield {"rank": one.line.rank, "name": told, "file": one.file, "line": one.number}
