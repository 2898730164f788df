"""Who is meant by a name, or a pid, that a file tells of others: whose it is nearest to that file.

A file that is called so, or that claims the name, is asked from the file's own folder outwards; the first folder below which anybody is called so
decides. There the name is nobody's:

- where two ranks have it, or a rank and somebody unknown elsewhere, unless the rank's folder holds all ranks of the job;
- where the file lies in another of **several folders that are alike**, or is called after another one: `cab-2/supervisord.log`, `journals/cab-2.txt`
  beside `cab-1/fit_01.log`. Folders are alike that differ in their numbers alone, or that hold files of one name: each of them may have a process of every name;
- where the file lies in a folder of its own, and the rank's folder holds some ranks of the job.

Fooled by: a launcher of all hosts whose log lies in the folder of one of them; then nobody is found.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from parsers.text.patterns import regex

_DIGITS = regex(r"\d+")
_SEPARATE = regex(r"\W|_")
_LABEL = regex(r"[A-Za-z]+[-.]?\d+[._-](?!\d)(?=[A-Za-z])")  # of a place, before what a file is


class HeardNames:
    """Names with the files that tell them: each file of a rank, or of nobody."""

    def __init__(
        self, told: Iterable[tuple[Hashable, str, int | None]], files: Iterable[str], job: frozenset[int]
    ) -> None:
        """`told`: name, file, rank. `files`: all of the bundle. `job`: the ranks of a size that is told."""
        self._told: defaultdict[Hashable, dict[str, set[int | None]]] = defaultdict(dict)
        self._ranks: defaultdict[str, set[int]] = defaultdict(set)
        for name, file, rank in told:
            self._told[name].setdefault(file, set()).add(rank)
            if rank is not None:
                for folder in _folders(file):
                    self._ranks[folder].add(rank)
        self._held: defaultdict[str, set[str]] = defaultdict(set)
        for file in files:
            for folder in _folders(file):
                if folder:
                    self._held[folder].add(_DIGITS.sub("#", file[len(folder) :]))
        self._job = job
        self._found: dict[tuple[Hashable, str], int | None] = {}

    def knows(self, name: Hashable) -> bool:
        """Is anybody called so?"""
        return name in self._told

    def rank(self, name: Hashable, heard_in: str) -> int | None:
        """The rank that a file means by a name."""
        key = (name, heard_in)
        if key not in self._found:
            self._found[key] = self._rank(name, heard_in)
        return self._found[key]

    def _rank(self, name: Hashable, heard_in: str) -> int | None:
        told = self._told.get(name, {})
        for folder in (heard_in, *reversed([*_folders(heard_in)])):
            here = {file: ranks for file, ranks in told.items() if file.startswith(folder)}
            if here:
                break
        else:
            return None
        ranks = set().union(*here.values()) - {None}
        if len(ranks) != 1:
            return None
        own = [file for file, found in here.items() if found != {None}]
        homes = {file.rpartition("/")[0] for file in own}
        is_strangers = any(file.rpartition("/")[0] not in homes for file in here)
        if heard_in in own:
            return ranks.pop()
        is_whole = any(self._is_whole(folder, file) for file in own)
        if is_strangers and not is_whole:
            return None
        if all(
            self._is_apart(folder, file, heard_in) or _are_labelled_apart(file, heard_in, str(name)) for file in own
        ):
            return None
        return ranks.pop()

    def _is_whole(self, common: str, file: str) -> bool:
        """Does the folder that a file lies in, below a common one, hold all ranks that there are: of the job, or of a place that holds some of them?"""
        below = file[len(common) :].partition("/")
        all_ = self._ranks[""] | self._job if self._ranks[common] == self._ranks[""] else self._ranks[common]
        return bool(self._job) and all_ <= self._ranks[common + below[0] + below[1] if below[1] else common]

    def _is_apart(self, common: str, file: str, heard_in: str) -> bool:
        """Does a file that tells a name lie, by its path, at another place than a process of that name?"""
        own, other = file[len(common) :].split("/"), heard_in[len(common) :].split("/")
        for at, part in enumerate(own[:-1]):
            if any(map(str.isdigit, part)):
                alike = regex(r"(?<![A-Za-z0-9])" + r"\d+".join(map(_plain, _DIGITS.split(part))) + r"(?![A-Za-z0-9])")
                beside = other[at : at + 1] if part.isdigit() else other
                places = {found for one in beside for found in alike.findall(one)}
                if places and part not in places:
                    return True
        if len(own) == 1 or len(other) == 1:
            return False
        held = self._held[common + own[0] + "/"] & self._held[common + other[0] + "/"]
        return bool(held) or bool(self._job and not self._is_whole(common, file))


def _are_labelled_apart(file: str, heard_in: str, name: str) -> bool:
    """Do the names of two files of one folder begin alike but for a number, `cab-1_fit.log` and `cab-2_sup.log`, where that is not the name heard?"""
    (folder, _, own), (beside, _, other) = file.rpartition("/"), heard_in.rpartition("/")
    if folder != beside or own.startswith(name):
        return False
    begins = [(one[0], _DIGITS.sub("#", one[0])) for one in map(_LABEL.match, (own, other)) if one]
    return len(begins) == 2 and begins[0][1] == begins[1][1] and begins[0][0] != begins[1][0]


def _plain(text: str) -> str:
    return _SEPARATE.sub(lambda found: "\\" + found[0] if found[0] != "_" else "_", text)


def _folders(file: str) -> Iterator[str]:
    """The folders that a file lies in, each with what is above it, the outermost first."""
    yield ""
    at = file.find("/")
    while at >= 0:
        yield file[: at + 1]
        at = file.find("/", at + 1)
