"""Processes that are gone, by lists that somebody's script prints of all of them, one a line, each with its state.

    n1 30171  R                       [n1] pid 30171: running                     rank 4 alive
    n3 30188  gone                    [n3] pid 30188: no such process             rank 5 dead

A line names one process of the job, as it is known by its number at a host, by a name or by its rank, and says one thing of it in a few words. Where these say that
it is gone, and the lines alike of two others and of most do not, it is; the last look counts. What a host that does not answer says is no such word.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parsers.schema.names import Names
from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.places.contexts import Places

GONE, THERE = "gone, by a list of processes", "there, by a list of processes"  # `how` of rows of `ranks`
_CHARACTERS, _WORDS, _OTHERS = 120, 4, 2
_GONE = regex(
    r"(?i)(?:is )?(?:already )?(?:gone|dead|died|exited|missing|absent|vanished|not (?:running|found|alive|there)|no such(?: process| pid)?|no process|does not exist|"
    r"nonexistent|不存在|已退出|已死|没有|无此进程|✗|✘|❌)(?: already)?"
)
_UNLABELLED = regex(r"(?i)(?<![a-z])(?:pid|process|proc|rank|host|node|on|进程)(?![a-z])")
_TOKEN = regex(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?")
_RANK = regex(r"(?i)(?<![a-z_-])(?:global[ _-]?)?rank[ _:=#-]{0,2}(?P<rank>\d{1,7})(?![\w.])")
_FILE = regex(r"\.[a-z]{2,5}\Z")  # it may be missing, which says nothing of the process
_MARKS = regex(r"[\s:;,|=()\[\]<>/@#*>-]+")


def gone_processes(said: Begun, names: Names, places: Places | None, world: int | None) -> list[dict[str, Any]]:
    """Rows of `ranks` for all processes of lists that tell of one that is gone."""
    if places is None:
        return []
    alone = unanimous((pid, rank) for (_, pid), rank in names.processes.items())
    rows = []
    for path, own in said.items():
        if not any(_GONE.search(one.raw[:_CHARACTERS]) for one in own if len(one.raw) < _CHARACTERS):
            continue
        told: defaultdict[str, dict[int, tuple[bool, Said]]] = defaultdict(dict)
        for one, rank, form, state in _states(own, names, places, alone, world):
            told[form][rank] = (_GONE.fullmatch(state) is not None, one)
        for listed in told.values():
            gone = {rank: one for rank, (is_gone, one) in listed.items() if is_gone}
            if gone and len(listed) - len(gone) >= max(_OTHERS, len(gone) + 1):
                rows += [
                    {"rank": rank, "how": GONE if is_gone else THERE, "file": path, "line": one.number}
                    for rank, (is_gone, one) in listed.items()
                ]
    return rows


def _states(
    own: Sequence[Said], names: Names, places: Places, alone: Mapping[int, int], world: int | None
) -> Iterator[tuple[Said, int, str, str]]:
    """(line, rank, what its process is called by, what is said of it)."""
    headed: str | None = None
    known = {*range(world or 0), *names.processes.values()}
    for one in own:
        headed = places.heading(one.raw[:_CHARACTERS]) or headed
        if len(one.raw) >= _CHARACTERS:
            continue
        text = one.line.text
        where = places.of_line(one) or headed
        found = [*_RANK.finditer(text)]
        ranks = {rank for match in found if (rank := int(match["rank"])) in known}
        rest = _RANK.sub(" ", text) if ranks else text
        form = "rank" if ranks else ""
        at = {word for word in _TOKEN.findall(rest) if word in names.sites}
        if len(at) == 1 or (where is not None and where in names.sites and not at):
            where = next(iter(at), where)
        for word in _TOKEN.findall(rest):
            its: int | None = None
            if word in at:
                form = form or "host"
            elif word.isdecimal() and len(word) < 11:
                its = names.processes.get((where, int(word))) if where is not None else None
                its = alone.get(int(word)) if its is None and not at else its
            elif not (_GONE.fullmatch(word) or _FILE.search(word)):
                its = names.of_cell(word)
            if word in at or its is not None:
                rest = rest.replace(word, " ", 1)
                ranks |= {its} if its is not None else set()
                form += "" if its is None or "rank" in form else "number" if word.isdecimal() else "name"
        state = " ".join(filter(None, _MARKS.split(_UNLABELLED.sub(" ", rest)))).strip(". ")
        if len(ranks) == 1 and 0 < len(state.split()) <= _WORDS and not any(map(str.isdigit, state)):
            yield one, ranks.pop(), form, state
