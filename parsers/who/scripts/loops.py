"""Scripts that begin a launcher, or a process, on each host of a list, with the number of the turn as that of the node, or as the rank.

    H=(n7 n2); for i in "${!H[@]}"; do ssh "${H[$i]}" "torchrun --node_rank=$i …"             i=0⏎for h in n7 n2; do ssh $h "… --node_rank $i …"; i=$((i+1))
    for i, h in enumerate(["n7", "n2"]): Popen(["ssh", h, f"torchrun --node_rank={i} …"])        for ((i=0;i<N;i++)); do ssh ${H[i]} … --node-rank=$i …

The first of the list is node, or rank, 0. A number that is computed of that of the turn, and a list that is given anew, tell nothing.

Also what loops count their turns by, what systemd calls an instance, and what another host's shell gets between quotes.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Said

_LINES, _CHARACTERS, _FEWEST = 400, 1000, 2
_MAY = ("RANK", "rank")
_TURN = r"[\"']?(?:=| {1,3})[\"']?\$?\{?(?P<name>[A-Za-z_]\w{0,40})\}?(?![\w$(\[+*-])"
_GIVEN = (
    regex(rf"(?:\bnode[-_]rank|\bmachine_rank|\bNODE_RANK){_TURN}"),
    regex(rf"(?:(?<!\w)--rank|(?<![\w$])RANK){_TURN}"),
)
_THERE = regex(r"\b(?:ssh|rsh|pdsh|clush|lssh|sshpass|(?:docker|kubectl) exec)\b")
_GOES_ON = (",", "\\", "(", "[")
_BETWEEN = regex(r"[\s,\"']+")
_HOST = regex(r"(?=[^\s]{0,252}[A-Za-z])[A-Za-z0-9][\w.-]{0,252}|\d{1,3}(?:\.\d{1,3}){3}")

_COUNTED_ON = regex(  # what a loop of a script counts its turns by
    r"\b(?:let +[\"']?)?(?P<name>[A-Za-z_]\w{0,40})(?:=\$\(\( ?\$?(?P=name) ?\+ ?1 ?\)\)|\+\+|\+=1\b|=`expr \$(?P=name) \+ 1`)|\bfor (?P<each>\w{1,40}), ?\w{1,40} in enumerate\([^,\n]{1,80}\):"
)
INSTANCE = regex(r"(?<![\w.-])(?P<name>[A-Za-z_]\w{0,60})=[\"']?%[iI](?![\w%])")


def counted_on(texts: Iterable[str]) -> set[str]:
    """The names by which a script's loops count their turns."""
    return {found["name"] or found["each"] for text in texts for found in _COUNTED_ON.finditer(text)}


def unquoted(text: str) -> str:
    """A line as the shell of another host reads it, that gets it between quotes: `ssh $h "RANK=\\$((i*4+g)) …"`."""
    return text[:_CHARACTERS].replace("\\$", "$")


def hosts_in_turn(own: Sequence[Said]) -> tuple[str, ...]:
    """The hosts on which a script begins a launcher, that of node 0 first; none where it does not give the number of its turn to all of them."""
    if not any(word in one.raw for one in own[:_LINES] for word in _MAY):
        return ()
    lines = [one.raw[:_CHARACTERS].rstrip() for one in own[:_LINES]]
    return next(filter(None, (_along(given, lines) for given in _GIVEN)), ())


def _along(number: "re.Pattern[str]", lines: Sequence[str]) -> tuple[str, ...]:
    names: set[str] = set()
    for at, line in enumerate(lines):
        given = {found["name"] for found in number.finditer(line)}
        begin = at
        while begin and lines[begin - 1].endswith(_GOES_ON):
            begin -= 1
        if given and not _THERE.search(" ".join(lines[begin : at + 1])):
            return ()
        names |= given
    text = "\n".join(lines)
    lists = {*_lists(names.pop(), text)} if len(names) == 1 else set()
    return lists.pop() if len(lists) == 1 else ()


def _lists(turn: str, text: str) -> Iterator[tuple[str, ...]]:
    """The lists along which that name counts from 0 on."""
    if (places := re.search(rf"\bfor {turn} in [\"']?\$\{{!(\w+)\[[@*]\]\}}", text)) is not None:
        yield from _called(places[1], text)
    elif (pairs := re.search(rf"\bfor {turn}, ?\w+ in enumerate\((?:\[([^\]]+)\]|(\w+))\):", text)) is not None:
        yield from _hosts(pairs[1]) if pairs[1] else _called(pairs[2], text)
    elif _counts(turn, text):
        for item in re.findall(r"\bfor \w+ in ([^\n;]+)(?:;|\n) ?\s*do\b", text):
            name = re.fullmatch(r"[\"']?\$\{?(\w+)(?:\[[@*]\])?\}?[\"']?", item.strip())
            yield from _called(name[1], text) if name is not None else _hosts(item)
        for name in {*re.findall(rf"\$\{{(\w+)\[\$?\{{?{turn}\}}?\]\}}", text)}:
            yield from _called(name, text)


def _counts(turn: str, text: str) -> bool:
    """Is it set to 0, and to nothing else but one more?"""
    begins = re.findall(rf"(?<![\w$]){turn} ?= ?(\d+)", text)
    more = rf"(?<!\w){turn}=\$\(\(\s*\$?{turn} ?\+ ?1\s*\)\)|(?<!\w){turn}(?:\+\+| ?\+= ?1\b)|\+\+{turn}\b"
    return begins == ["0"] and re.search(more, text) is not None


def _called(name: str, text: str) -> Iterator[tuple[str, ...]]:
    """The lists that are given to a name."""
    given = (
        rf"(?m)^[ \t]*(?:export |declare -a )?{name} ?= ?(?:\(([^()$]*)\)|\[([^\]$]*)\]|\"([^\"\n$]*)\"|'([^'\n]*)')"
    )
    for found in re.findall(given, text):
        yield from _hosts(next(filter(None, found), ""))


def _hosts(text: str) -> Iterator[tuple[str, ...]]:
    names = tuple(name for name in _BETWEEN.split(text) if name)
    if len({*names}) == len(names) >= _FEWEST and all(map(_HOST.fullmatch, names)):
        yield names
