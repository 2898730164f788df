"""Names of files that a launch explains: which part of them is the task, the process number, the host.

    jsrun -n 12 --stdio_mode individual --stdio_stdout logs/out.%h.%j.%t.%p ./app          out.h41n06.3308142.7.88231: rank 7
    srun --output=log/%x-%j-%t.out ./app                                                   fno-3308142-7.out
    mpiexec -n 8 -outfile-pattern out.%r.txt ./app                                         out.7.txt
    output = out.$(Cluster).$(Node)                                                        out.4711.2

The tasks that the files tell must be just 0 … N-1, and N the world where one is told.

Printed by: Slurm's srun (%t, %n, %N, %j), jsrun of LSF (%h, %j, %t, %p), Hydra (%r, %h), HTCondor's parallel universe ($(Node)).
Source: srun(1), filename pattern; the manual of jsrun, --stdio_stdout; Hydra's wiki, -outfile-pattern.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun
from parsers.who.places.families import Process

_FEWEST = 2
_OPTION = regex(
    r"\b(?P<who>srun|jsrun|mpiexec(?:\.hydra)?|mpirun)\s[^\n|;&]{0,300}?(?<=\s)(?P<options>-{1,2}(?:output|o|error|e|stdio_stdout|stdio_stderr|outfile-pattern|errfile-pattern)[ =].{0,300})"
)
_PATTERN = regex(
    r"(?<![\w-])-{1,2}(?:output|o|error|e|stdio_stdout|stdio_stderr|outfile-pattern|errfile-pattern)[ =]{1,2}[\"']?(?P<name>[^\s\"']{0,200}%[^\s\"']{1,200})"
)
_SUBMITTED = regex(r"(?i)\s*(?:output|error)\s*=\s*[\"']?(?P<name>[^\s\"']{0,200}\$\(node\)[^\s\"']{0,200})")
_MACRO = regex(r"(\$\(\w{1,40}\))")
_PART = regex(r"%(?P<width>\d{0,2})(?P<letter>[A-Za-z])|[^%]+|%")
_PARTS = {
    "srun": {"t": "task", "N": "host"},
    "jsrun": {"t": "task", "p": "pid", "h": "host"},
    "mpiexec": {"r": "task", "h": "host"},
    "mpirun": {"r": "task", "h": "host"},
}


class Written(NamedTuple):
    """A file, and what its name tells by the template of a launch."""

    path: str
    task: int
    pid: int | None
    host: str | None


def consistent(written: Sequence[Written], told: Iterable[Process]) -> list[Written]:
    """The same; none where in one of the files a process says another rank: then tasks are no ranks."""
    ranks = {one.path: one.task for one in written}
    contradicts = any(one.rank is not None and ranks.get(one.file, one.rank) != one.rank for one in told)
    return [] if contradicts else [*written]


def written(said: Begun, paths: Sequence[str], world: int | None) -> Iterator[Written]:
    """Files whose names the launches of a bundle explain, of all tasks."""
    lines = [one.raw[:1000] for own in said.values() for one in own]
    options = (found for line in lines if "%" in line for found in _OPTION.finditer(line))
    names = ((name, one["who"].partition(".")[0]) for one in options for name in _PATTERN.findall(one["options"]))
    patterns = {_pattern(name, _PARTS[who]) for name, who in names}
    patterns |= {_submitted(given[1]) for line in lines if "$(" in line and (given := _SUBMITTED.match(line))}
    for pattern in sorted(patterns - {""}):
        finder = re.compile(pattern)
        found = [
            Written(path, int(told["task"]), int(told["pid"]) if told.get("pid") else None, told.get("host"))
            for path in paths
            if (match := finder.fullmatch(path.rpartition("/")[2])) and (told := match.groupdict())
        ]
        is_whole = sorted(one.task for one in found) == [*range(len(found))] and len(found) >= _FEWEST
        if is_whole and world in (None, len(found)):
            yield from found


def _submitted(name: str) -> str:
    """A name of HTCondor's, whose first number of a node is the task."""
    made = ""
    for part in _MACRO.split(name.rpartition("/")[2]):
        is_node = part.lower() == "$(node)" and "(?P<task>" not in made
        made += "(?P<task>[0-9]{1,7})" if is_node else r"[\w-]{1,100}?" if part[:2] == "$(" else re.escape(part)
    return made


def _pattern(name: str, letters: Mapping[str, str]) -> str:
    """A template as a regular expression of the last part of a path; empty where it does not tell the task once."""
    made, told = "", []
    for part in _PART.finditer(name.rpartition("/")[2]):
        what = letters.get(part["letter"] or "")
        if what is not None and what not in told:
            told.append(what)
            made += rf"(?P<{what}>{'[0-9]{1,10}' if what != 'host' else '[A-Za-z0-9][A-Za-z0-9-]{0,100}'})"
        else:
            made += r"[\w-]{1,100}?" if part["letter"] else re.escape(part[0])
    return made if "task" in told else ""
