"""Logs that differ in one word of their names, where documents are called by such a word: what one of them tells of names holds in its own log alone.

Procfile.box-a: w2: env RANK=1 …          honcho.box-a.log: w2.1 | …          honcho.box-b.log: w2.1 | …          whose document was lost: nobody's
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from parsers.schema.labels import Labels
from parsers.schema.names import BY_NAME, Told
from parsers.schema.sites import words_of_path


def without_other_sites(labels: Mapping[str, Labels], told: Sequence[Told]) -> dict[str, Labels]:
    """Path → what was learnt of its lines, names with their ranks → the same but for logs that speak as the ranks of another one like them, unless a document of
    their own tells it, and none of the other."""
    documents = {one.file for one in told if one.kind in BY_NAME and one.rank is not None}
    called = [{*words_of_path(file)} for file in documents]
    ranks = {path: {rank for join in own.joins for rank in join.ranks.values()} for path, own in labels.items()}
    dropped: set[str] = set()
    for alike in _alike([path for path, own in ranks.items() if own and path not in documents]) if documents else ():
        sites = {word: any(word in words and len(words & alike.keys()) == 1 for words in called) for word in alike}
        told_of = [word for word, is_told in sites.items() if is_told]
        for word, path in alike.items() if told_of else ():
            shared = [one for one in told_of if one != word and ranks[alike[one]] & ranks[path]]
            if shared:
                dropped.add(path)
    return {path: own for path, own in labels.items() if path not in dropped}


def _alike(paths: Sequence[str]) -> list[dict[str, str]]:
    """Paths that differ in one word → that word, path; of each such word."""
    groups: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], dict[str, str]] = defaultdict(dict)
    for path in paths:
        words = (*words_of_path(path),)
        for at, word in enumerate(words):
            groups[words[:at], words[at + 1 :]][word] = path
    return [own for own in groups.values() if len(own) > 1]
