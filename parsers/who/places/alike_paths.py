"""What names of files and folders have in common, where several places have files of their own."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from parsers.text.patterns import regex

ADDRESS = regex(r"\d{1,3}(?:\.\d{1,3}){3}")
_PART = regex(r"[A-Za-z0-9]+")
_OF_RANK = regex(r"(?i)(?<![a-z])(?:(?:global|world)[-_]?)?rank[-_.]?\d")
_PIDS = regex(r"(?<!\d)\d{3,8}(?!\d)")  # and other numbers that differ from place to place
_ARCHIVE = regex(r"(?i)\.(?:zip|7z|t[gbx]z2?|tar(?:\.\w{2,4})?)\Z")


def names_of_path(path: str) -> Iterator[str]:
    for part in path.split("/"):
        words = [match.span() for match in _PART.finditer(part)][:12]
        for at, (begin, _) in enumerate(words):
            for _, end in words[at:]:
                yield part[begin:end]


def stems_alike(paths: Iterable[str]) -> set[str]:
    """What files are called in several folders, kinds aside, where the same ones are in each: of the place that they are from."""
    folders: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem, _, kind = name.rpartition(".") if "." in name else (name, "", "")
        if any(map(str.isdigit, stem)):
            folders[folder, kind].add(stem)
    groups = Counter(frozenset(own) for own in folders.values() if len(own) > 1)
    return {stem for own, count in groups.items() if count > 1 for stem in own}


def _unpacked(parts: Sequence[str]) -> list[str]:
    """The parts of a path, an archive called as what was packed: `n1.zip/n1/a.log` is n1's a.log."""
    bare = [*(_ARCHIVE.sub("", part) for part in parts[:-1]), parts[-1]]
    return [part for part, before in zip(bare, [None, *bare], strict=False) if part != before]


def folders_alike(paths: Iterable[str]) -> set[str]:
    """Folders beside each other that hold a file of one name, each its own. A rank runs in one place alone: beside files called after
    ranks, folders without a number may hold copies; and where none has a number, most of what they hold is called alike, but for numbers of processes."""
    holders: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    holders_but_for_pids: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    held: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        parts = _unpacked(path.split("/"))
        of_rank = _OF_RANK.search(parts[-1]) is not None
        for at in (at for at, name in enumerate(parts[:-1]) if not of_rank or any(map(str.isdigit, name))):
            above, below = "/".join(parts[:at]), "/".join(parts[at + 1 :])
            holders[above, below].add(parts[at])
            masked = _PIDS.sub("#", below)
            holders_but_for_pids[above, masked].add(parts[at])
            held[above, parts[at]].add(masked)

    def is_like(above: str, one: str, other: str) -> bool:
        own, others = held[above, one], held[above, other]
        return one != other and 2 * len(own & others) >= max(len(own), len(others))

    # A folder most of whose files stand in no other is like none: those of sources are many, and need not be compared.
    likely = {
        (above, name)
        for (above, name), own in held.items()
        if 2 * sum(len(holders_but_for_pids[above, below]) > 1 for below in own) >= len(own)
    }
    alike: set[str] = set()
    for (above, _), own in holders.items():
        if len(own) > 1:
            alike |= {name for name in own if any(map(str.isdigit, name))}
            others = [name for name in own - alike if (above, name) in likely]
            alike |= {name for name in others if any(is_like(above, name, other) for other in own)}
    return {name for name in alike if any(map(str.isalpha, name)) or ADDRESS.fullmatch(name)}
