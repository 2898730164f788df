"""What hosts are called: names that a launch calls so, whatever they look like (`gpu-17` and `worker-2` before lines are hosts where a command says so),
what hosts answer when they are asked, and what files list that hold nothing else.

    pdsh -S -f 1024 -w gpu-17,gpu-09 …   ·   mpirun -np 8 -H worker-1:4,worker-2:4 …   ·   clush -w node[01-04] …   ·   srun --nodelist=gpu-[3-5] …
    global_rank_mapping=defaultdict(<class 'list'>, {'worker-1': [0, 1], …})          and what a process calls the host that it runs on

Source: the manuals of pdsh, clush, mpirun, horovodrun, srun; DeepSpeed's launcher/launch.py.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from parsers.text.host_list import host_list
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said

_MAY = (" -w", " -H", "-host", "nodelist", "WORLD INFO DICT", "_mapping=")
_LISTED = regex(
    r"\b(?:pdsh|clush|dsh|mpirun|mpiexec(?:\.hydra)?|prterun|orterun|horovodrun|srun)\s(?:[^\n|;&]{0,300}?\s)?"
    r"(?:-w|-H|--?hosts?|--nodelist)[ =][\"']?(?P<hosts>[A-Za-z0-9][^\s\"'|;&]{1,4000})"
)
_MAPPED = regex(r"(?:WORLD INFO DICT: |\bglobal_rank_mapping=)[^{}]{0,60}\{(?P<of>[^{}]{1,6000})\}")
_NAME = regex(r"'([A-Za-z][\w.-]{0,250})': [\[(]\d")
_SLOTS = regex(r":\d{1,5}(?=,|$)")
_CHARACTERS, _HOSTS = 6000, 4096
_ABOVE = 400
_WITH_SLOTS = regex(r":\d{1,4}\Z|(?:\s+\w{1,20}=\d{1,4}){1,3}\Z")  # of a host in a list
_WORD = regex(r"[A-Za-z0-9][\w.-]{1,250}")
_ASKED = regex(
    r"(?i)[^\n]{0,120}[$#%>] ?(?:[^|;&]{0,80}[;&] ?)?(?:sudo )?(?:cat \S*/)?\$?\{?(?:hostname|uname -n|echo \"?\$\{?hostname)\b.*"
)


def launched_hosts(said: Begun) -> frozenset[str]:
    """The names of all hosts that commands list, or a launcher maps to ranks, or that processes introduce themselves with."""
    lines = [one for own in said.values() for one in own]
    texts = [one.raw[:_CHARACTERS] for one in lines if any(word in one.raw for word in _MAY)]
    told = {one.introduces.host or "" for one in lines if one.introduces}
    told |= {name for text in texts for found in _MAPPED.finditer(text) for name in _NAME.findall(found["of"])}
    lists = (_SLOTS.sub("", found["hosts"]) for text in texts for found in _LISTED.finditer(text))
    names = (*told, *(name for listed in lists for name in host_list(listed, _HOSTS)))
    return frozenset(name for name in names if any(map(str.isalpha, name)) and "/" not in name)


def file_of_names(own: Sequence[Said]) -> set[str]:
    """What a file lists whose lines are names, each with its slots at most, and remarks."""
    lines = [line for one in own if (line := one.raw.partition("#")[0].strip())]
    names = {_WITH_SLOTS.sub("", line) for line in lines}
    is_all = len(lines) > 1 and all(_WORD.fullmatch(name) and any(map(str.isalpha, name)) for name in names)
    return names if is_all else set()


def answers(own: Sequence[Said]) -> Iterator[str]:
    """What a host answers, in what somebody typed there, to the question what it is called."""
    for before, one in pairwise(own[:_ABOVE]):
        is_below, answer = one.number == before.number + 1, one.raw.strip()
        if is_below and _WORD.fullmatch(answer) and _ASKED.fullmatch(before.raw[:_ABOVE]):
            yield answer
