"""Host names, addresses, users, folders and project names → substitutes, the same for the same name everywhere.

What the analysis reads stays as it is: numbers in host names (`node0588` → `hosta0588`, so that ranges such as
`node[01-04]` hold), the role in a pod's name (`worker-3`), files of libraries, the name of a file, which networks are
private and which addresses share one. The order of names stays, too, so that nothing is decided otherwise.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import resources
from ipaddress import AddressValueError, IPv6Address

import msgspec

from parsers.engine.secrets import mask

_ROLES = frozenset({"worker", "master", "launcher", "chief", "server", "ps", "head"})
_HOST_WORDS = frozenset({"node", "host", "compute", "machine", "nodes", "hosts"})  # said of hosts and of nothing else
_LOCAL = frozenset({"localhost", "ip6-localhost", "localhost.localdomain", "localhost6"})
# Folders that every machine has, or whose name says what lies in them: they tell nothing about their owner, and the
# table of sites reads some of them.
_FOLDERS = frozenset(resources.files("forensics.data").joinpath("public_folders.txt").read_text().split())
_PUBLIC_FROM = re.compile(
    r"(?:site|dist)-packages|third_party|__w|pytorch|torch|python3(?:\.\d+)?|lib(?:32|64|exec)?|s?bin|proc|sys|dev|etc|include"
)
_NO_USERS = frozenset((
    "root", "user", "users", "ubuntu", "admin", "ec2-user", "runner", "nobody", "slurm", "shared", "public", "data", "nvidia",
))  # fmt: skip
_PATH = re.compile(r"(?<![\w.~/-])~?(?:/[\w.@+=,~-]+){2,}")
_HOME = re.compile(r"/(?:home|Users)/([A-Za-z][\w.-]{1,31})(?=/|[\s\"':,;)]|$)")
_USER = re.compile(
    r"\b(?:USER|LOGNAME|SUDO_USER|USERNAME|SLURM_JOB_USER|UserId|user(?:_?name)?)[\"']?\s*[=:]\s*[\"']?([A-Za-z][\w.-]{1,31})"
    r"(?![\w.])"
)
_PROJECT = re.compile(
    r"\b(?:SLURM_JOB_NAME|SLURM_JOB_ACCOUNT|JobName|Account|WANDB_(?:PROJECT|ENTITY|NAME|RUN_GROUP)|wandb[_-]project"
    r"|(?:--)?(?:job|run|exp|experiment|project)[_-]name|MLFLOW_EXPERIMENT_NAME|namespace)[\"']?(?:\s*[=:]\s*|\s+)[\"']?"
    r"([A-Za-z][\w.-]{3,63})"
)
_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w-])")
_IPV4 = re.compile(
    r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?![\w]|\.\d)"
)
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:]|\.\d)")
_MAC = re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])")
_CLOUD_HOST = re.compile(r"(?<![A-Za-z0-9])ip-(\d{1,3})-(\d{1,3})-(\d{1,3})-(\d{1,3})(?![A-Za-z0-9])")
_RUN = re.compile(r"[A-Za-z]+|\d+|[^A-Za-z0-9]+")


class Found(msgspec.Struct, frozen=True):
    """Names as they stand in a bundle, of each kind."""

    hosts: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()  # users, projects
    addresses: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    hardware: frozenset[str] = frozenset()  # addresses of network cards

    @classmethod
    def of(cls, parts: Iterable["Found"]) -> "Found":
        """All of them together."""
        listed = list(parts)
        return cls(*(frozenset().union(*(getattr(one, name) for one in listed)) for name in cls.__struct_fields__))


def find(text: str, keep: frozenset[str]) -> Found:
    """What a text tells beside its hosts, which only its reader knows; words of `keep` are nobody's name."""
    users = {name for pattern in (_HOME, _USER) for name in pattern.findall(text)}
    projects = set(_PROJECT.findall(text))
    words = {word for word in (users - _NO_USERS) | projects if word.lower() not in keep and word not in _FOLDERS}
    cloud = {".".join(digits) for digits in _CLOUD_HOST.findall(text)}
    addresses = {*_IPV4.findall(text), *cloud, *(found for found in _IPV6.findall(text) if _is_ipv6(found))}
    folders = {folder for path in _PATH.findall(text) for folder in _private(path) if not _is_public(folder, keep)}
    return Found(frozenset(), frozenset(words), frozenset(addresses), frozenset(folders), frozenset(_MAC.findall(text)))


class Renaming(msgspec.Struct, frozen=True, dict=True):
    """What each name becomes. `text` renames within any text; secrets are masked on the way."""

    hosts: dict[str, str] = msgspec.field(default_factory=dict)  # the letters of names that differ in numbers alone
    domains: dict[str, str] = msgspec.field(default_factory=dict)
    words: dict[str, str] = msgspec.field(default_factory=dict)
    addresses: dict[str, str] = msgspec.field(default_factory=dict)
    folders: dict[str, str] = msgspec.field(default_factory=dict)
    hardware: dict[str, str] = msgspec.field(default_factory=dict)
    kept: tuple[str, ...] = ()  # names that are words of some format as well

    @classmethod
    def of(cls, found: Found, keep: frozenset[str]) -> "Renaming":
        """Substitutes by the sorted names, so that the same bundle always gets the same ones."""
        names = {name for name in found.hosts if name.lower() not in _LOCAL and not _is_address(name)}
        short = {name.partition(".")[0] for name in names if re.search("[A-Za-z]", name)}
        domains = sorted({name.partition(".")[2] for name in names} - {""})
        kept = {name for name in short if name.isalpha() and name.lower() in keep}
        short = {name for name in short - kept if not _CLOUD_HOST.fullmatch(name)}
        families = zip(sorted({_skeleton(name) for name in short}), _letters(), strict=False)
        # `localhost` keeps its name, and its place in the alphabet among the others.
        letters = {family: ("host" if family < "localhost" else "node") + letter for family, letter in families}
        # A host called `gpu3` is replaced where exactly it is meant; `gpu4` may be a device.
        exact = {name: _renamed(name, letters) for name in short if _is_word_of_formats(_skeleton(name), keep)}
        hosts = {family: letter for family, letter in letters.items() if not _is_word_of_formats(family, keep)}
        words = {word: f"name{letter}" for letter, word in zip(_letters(), sorted(found.words - names), strict=False)}
        own = re.compile("|".join(_family(family).pattern for family in hosts) or r"(?!)")
        folders = sorted(part for part in found.folders - words.keys() if not own.search(part))
        return cls(
            hosts,
            {domain: f"domain{letter}.example" for letter, domain in zip(_letters(), domains, strict=False)},
            words | exact,
            {before: after for before, after in _addresses(found.addresses).items() if before != after},
            {folder: f"folder{letter}" for letter, folder in zip(_letters(), folders, strict=False)},
            {card: f"02:00:00:00:{n >> 8:02x}:{n & 255:02x}" for n, card in enumerate(sorted(found.hardware), 1)},
            tuple(sorted(kept)),
        )

    def text(self, text: str) -> str:
        """The text with every name replaced and every secret masked."""
        text = mask(text)
        text = _MAIL.sub("name@domain.example", text)
        if self.folders or self.words:
            text = _PATH.sub(lambda match: self._path(match[0]), text)
        for pattern, substitute in self._patterns:
            text = pattern.sub(substitute, text)
        if self.addresses:
            text = _CLOUD_HOST.sub(self._cloud, text)
            for pattern in (_IPV4, _IPV6):
                text = pattern.sub(lambda match: self.addresses.get(match[0], match[0]), text)
        if self.hardware:
            text = _MAC.sub(lambda match: self.hardware.get(match[0], match[0]), text)
        return text

    def counts(self) -> list[tuple[str, int]]:
        """How many names of each kind are replaced."""
        kinds = (("host name forms", self.hosts), ("domains", self.domains), ("users and projects", self.words))
        more = (("addresses", self.addresses), ("folders", self.folders), ("network cards", self.hardware))
        return [(name, len(found)) for name, found in (*kinds, *more)]

    def _path(self, path: str) -> str:
        parts = path.split("/")
        end = _private_end(parts)
        return "/".join(self.folders.get(part, part) if at < end else part for at, part in enumerate(parts))

    def _cloud(self, match: "re.Match[str]") -> str:
        address = ".".join(match.groups())
        return "ip-" + self.addresses.get(address, address).replace(".", "-")

    @cached_property
    def _patterns(self) -> "list[tuple[re.Pattern[str], str]]":
        """Of each kind the longest first: a name may be the beginning of another."""
        domains, hosts, words = (
            sorted(found.items(), key=lambda item: (-len(item[0]), item[0]))
            for found in (self.domains, self.hosts, self.words)
        )
        return [
            *((re.compile(rf"(?<=[A-Za-z0-9]\.){re.escape(name)}(?![A-Za-z0-9-])"), to) for name, to in domains),
            *((_family(name), _family_substitute(name, to)) for name, to in hosts),
            *((re.compile(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"), to) for name, to in words),
        ]


def _skeleton(name: str) -> str:
    """`gpu-a100-07` → `gpu-a#-#`: what hosts of one kind share."""
    return re.sub(r"\d+", "#", name)


def _renamed(name: str, letters: dict[str, str]) -> str:
    skeleton = _skeleton(name)
    return _family(skeleton).sub(_family_substitute(skeleton, letters[skeleton]), name)


def _is_word_of_formats(skeleton: str, keep: frozenset[str]) -> bool:
    """Do its letters stand before numbers of other things, too: `gpu#`, `rank-#`, `c#`?"""
    letters = [word.lower() for word in re.findall("[A-Za-z]+", skeleton)]
    return max(map(len, letters)) < 3 or all(word in keep and word not in _HOST_WORDS for word in letters)


def _family(skeleton: str) -> "re.Pattern[str]":
    """Finds each name of a family, and ranges such as `node[01-04,07]`."""
    numbers = r"(\\d+|\\[[\\d,-]+\\])"
    pattern = re.sub(r"\\?#", numbers, re.escape(skeleton))
    return re.compile(rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9]|::)")


def _family_substitute(skeleton: str, substitute: str) -> str:
    """The template of the substitute: the numbers stay, and the word of a role; other letters go."""
    out, number, said = [], 0, False
    for run in _RUN.findall(skeleton.replace("#", "0")):
        if run.isdigit():
            number += 1
            out.append(rf"\g<{number}>")
        elif not run.isalpha():
            out.append(run.replace("\\", ""))
        elif run.lower() in _ROLES:
            out.append(run)
        else:
            out.append("x" if said else substitute)
            said = True
    return "".join(out)


def _letters() -> Iterator[str]:
    """a … y, za … zy, zza …: in the order of the alphabet, however many."""
    prefix = ""
    while True:
        yield from (prefix + letter for letter in "abcdefghijklmnopqrstuvwxy")
        prefix += "z"


def _private_end(parts: list[str]) -> int:
    """How many parts of a path may be their owner's: all before its name, and before where a library begins."""
    for at, part in enumerate(parts[:-1]):
        if _PUBLIC_FROM.fullmatch(part):
            return at
    return len(parts) - 1


def _private(path: str) -> Iterator[str]:
    parts = path.split("/")
    for part in parts[: _private_end(parts)]:
        if part and part not in _FOLDERS and not part.replace(".", "").isdigit() and re.search(r"[A-Za-z]", part):
            yield part


def _is_public(folder: str, keep: frozenset[str]) -> bool:
    """Is it made of words that formats and tables have, too?"""
    return all(word.lower() in keep or word in _FOLDERS for word in re.findall("[A-Za-z]+", folder))


def _is_ipv6(text: str) -> bool:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        return False
    return ("::" in text or text.count(":") == 7) and not address.is_loopback and not address.is_unspecified


def _is_address(text: str) -> bool:
    return bool(_IPV4.fullmatch(text)) or ":" in text


def _addresses(found: Iterable[str]) -> dict[str, str]:
    """Addresses that share their first numbers still do; which are private or local stays."""
    made: dict[str, str] = {}
    ipv4 = sorted(tuple(map(int, text.split("."))) for text in found if ":" not in text)
    seen: dict[tuple[int, ...], dict[int, int]] = {}
    for address in ipv4:
        fixed = _fixed(address)
        out = list(address[:fixed])
        for at in range(fixed, 4):
            known = seen.setdefault(address[:at], {})
            out.append(known.setdefault(address[at], (1 if at else 20) + len(known)))
        made[".".join(map(str, address))] = ".".join(map(str, out))
    ipv6 = sorted((IPv6Address(text), text) for text in found if ":" in text)
    numbers: dict[IPv6Address, int] = {}
    for six, text in ipv6:
        number = numbers.setdefault(six, len(numbers) + 1)
        made[text] = f"{'fe80' if six.is_link_local else 'fd00'}::{number:x}"
    return made


def _fixed(address: tuple[int, ...]) -> int:
    """How many numbers of an address stay."""
    first, second = address[:2]
    if first in (0, 127, 255) or first >= 224 or (first, second) in ((169, 254), (172, 17)):
        return 4
    if first == 10:
        return 1
    if (first, second) == (192, 168) or (first == 172 and 16 <= second < 32) or (first == 100 and 64 <= second < 128):
        return 2
    return 0
