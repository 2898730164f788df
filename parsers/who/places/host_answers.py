"""What hosts are called, by what they answer when they are asked, and by files that list nothing else."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Said

_ABOVE = 400
_SLOTS = regex(r":\d{1,4}\Z|(?:\s+\w{1,20}=\d{1,4}){1,3}\Z")  # of a host in a list
_WORD = regex(r"[A-Za-z0-9][\w.-]{1,250}")
_ASKED = regex(
    r"(?i)[^\n]{0,120}[$#%>] ?(?:[^|;&]{0,80}[;&] ?)?(?:sudo )?(?:cat \S*/)?\$?\{?(?:hostname|uname -n|echo \"?\$\{?hostname)\b.*"
)


def file_of_names(own: Sequence[Said]) -> set[str]:
    """What a file lists whose lines are names, each with its slots at most, and remarks."""
    lines = [line for one in own if (line := one.raw.partition("#")[0].strip())]
    names = {_SLOTS.sub("", line) for line in lines}
    is_all = len(lines) > 1 and all(_WORD.fullmatch(name) and any(map(str.isalpha, name)) for name in names)
    return names if is_all else set()


def answers(own: Sequence[Said]) -> Iterator[str]:
    """What a host answers, in what somebody typed there, to the question what it is called."""
    for before, one in pairwise(own[:_ABOVE]):
        if (
            one.number == before.number + 1
            and _WORD.fullmatch(one.raw.strip())
            and _ASKED.fullmatch(before.raw[:_ABOVE])
        ):
            yield one.raw.strip()
