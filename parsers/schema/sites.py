"""Which part of a path tells where its processes are: the folders that it is in, and the words of its parts."""

from collections.abc import Set

from parsers.text.patterns import regex

WORDS = regex(r"[._ ]+")
_FEWEST = 2


def folders(path: str) -> list[str]:
    """Those that a file is in."""
    return [path[:at] for at, mark in enumerate(path) if mark == "/"]


def sites(path: str) -> list[str]:
    """The folders that a file is in, and the words that its path is made of."""
    return [*folders(path), *words_of_path(path)]


def words_of_path(path: str) -> list[str]:
    return [word for part in path.split("/") for word in WORDS.split(part)]


def sites_of(files: Set[str]) -> dict[str, str]:
    """Documents → the folder that each is in; of one folder the one word by which each name differs from the others."""
    by_folder = {file: file.rpartition("/")[0] for file in files}
    if len(files) < _FEWEST or len({*by_folder.values()}) > 1:
        return by_folder
    words = {file: {*WORDS.split(file.rpartition("/")[2])} for file in files}
    common = set.intersection(*words.values())
    own = {file: min(found) for file, every in words.items() if len(found := every - common) == 1}
    return own if len({*own.values()}) == len(files) else by_folder
