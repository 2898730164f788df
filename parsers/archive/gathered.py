"""What a tool brought together from several places or files, taken apart again: each part is a member of its own.

    ---------------                       mi01 | CHANGED | rc=0 >>            ==> worker.1.log <==            $ kubectl logs trainer-1
    node06                                … what mi01 printed                 … its last lines                … what it logged
    ---------------                       mi02 | CHANGED | rc=0 >>            ==> worker.2.log <==            $ tmux capture-pane -p -t llm:0.1
    … what node06 printed                                                                                 $ ssh node06 dmesg -T

Where the lines of most parts name their host themselves, nothing is taken apart. A part of a host is that host's (`Source.host`); one that several hosts printed alike is called as the tool folds their names. A command line before
parts that reads one file says which. What stands before and between the parts stays a member by the name of the whole, at its lines. Two parts
of different names, with words in them, make a file such a one; heads of /proc are read by those who know them.

Printed by: clush -b (ClusterShell), dshbak (pdsh), ansible (the minimal and oneline callbacks), parallel-ssh -i, tail and head of several files; kubectl, docker, podman, nomad, tmux, ssh, srun below a prompt.
Source: ClusterShell's documentation (clush, gathering output), dshbak(1), ansible's plugins/callback/minimal.py, parallel-ssh's psshlib/manager.py and task.py, tail(1) of coreutils.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from parsers.text.patterns import regex

MOST_BYTES = 64 << 20
HEAD = 1 << 16
_FEWEST, _MOST = 2, 4096  # parts
_LINES, _BYTES = 3, 200  # of a file that was printed at a prompt, at least
_LINE = 120  # characters at the beginning of a line
_HOST = rb"[A-Za-z0-9][\w.-]{0,250}"
_PROMPT = rb"^(?:[^\w\s]{1,4}|[^\s$#%]{0,80}[$#%]|\([\w.-]{1,40}\) [^\s$#%]{1,80}(?: [^\s$#%]{1,80})?[$#%])[ \t]+"
_PARTS = regex(
    rb"(?m)^==> (?!/proc/)(?P<file>[^\s<][^\n<]{0,300}?) <==[ \t]*\r?\n"
    rb"|^-{3,}\r?\n(?P<host>[A-Za-z][\w.-]{0,250}(?:\[[\d,-]{1,200}\][\w.-]{0,80})?(?:,[A-Za-z][\w.,\[\]-]{0,250})?)(?: \(\d+\))?\r?\n-{3,}\r?\n"
    rb"|^(?P<called>" + _HOST + rb") \| (?:CHANGED|SUCCESS|FAILED)[^\n]{0,80}>>[ \t]*\r?\n"
    rb"|^\[\d{1,5}\] \d\d:\d\d:\d\d \[(?:SUCCESS|FAILURE)\] (?:[\w.-]{1,64}@)?(?P<at>"
    + _HOST
    + rb")(?: [^\n]{0,120})?\r?\n"
    rb"|" + _PROMPT + rb"(?:tmux capture-pane(?=[ \t])[^\n]{0,200}?[ \t]-t[ \t]*(?P<pane>[\w%:.@-]{1,80})[^\n]{0,200}"
    rb"|(?:(?:kubectl|oc)(?=[ \t])[^\n]{0,80}?[ \t]logs|(?:docker|podman|nerdctl|crictl)(?: compose)? logs"
    rb"|nomad alloc(?:[ \t]|-)(?:status|logs))(?P<whose>[ \t][^\n]{1,200})"
    rb"|(?:ssh|rsh|srun -w|srun --nodelist)(?=[ \t])(?P<shell>[ \t][^\n]{1,400}))\n"
    rb"|" + _PROMPT + rb"(?P<command>[a-z][\w./-]{1,80}(?:[ \t][^\n]{0,1000})?)\n"
)
_MARKS = (
    b"==> ", b"---\n", b"---\r\n", b" | CHANGED", b" | SUCCESS", b" | FAILED", b" [SUCCESS] ", b" [FAILURE] ", b"capture-pane", b" logs",
    b"\tlogs", b"nomad alloc", b"ssh ", b"srun -", b" cat ", b" tail ", b" head ", b" zcat ", b" less ", b" more ",
)  # fmt: skip
_PATH = regex(rb"(?:~|\.{0,2})?/(?:[\w.@%+-]+/)*[\w.@%+-]+|[\w@%+-]+\.(?:log|out|err|txt|json|jsonl|csv)\b")
_FOLDED = regex(rb"[\[\],]")
_PRINTS = regex(rb"(?:cat|tail|head|zcat|less|more|bat|tac|nl)[ \t]")
_NAMED = regex(rb"(?=.*[./])(?:~|\.{1,2})?/?(?:[\w.@%+=-]+/)*[\w.@%+=-]+")
_AT_PROMPT = regex(rb"[^\w\s]{0,2}(?:\([\w.-]{1,40}\) )?[\w.-]{1,40}@(?P<host>[A-Za-z0-9][\w.-]{0,80})[:\s\]]")
_OPTION = regex(rb"(?<!\S)--?[A-Za-z][\w-]*(?:=\S*)?(?:[ \t]+\d+[smh]?\b)?")
_SHELL = regex(
    rb"(?:-[A-Za-z0-9]{1,3}(?:[ \t]+[^\s=]+=\S+)?[ \t]+){0,6}(?:[\w.-]{1,64}@)?(?P<host>[A-Za-z0-9][\w.-]{0,250})[ \t]+(?:--?[a-z]\S{0,40}[ \t]+){0,4}(?P<command>[\"']?[A-Za-z/~.][^\n]*)"
)
_HOSTS_FILE = regex(rb"[ \t](?:-h|--hosts)[ \t=]*\S+")
_WORD = regex(rb"[^\s;|&>\"']+")


class Part(NamedTuple):
    """What is of one place: its name as a path, the host that it is of, where its bytes begin and end, and where a line begins that only
    gives it its name."""

    name: str
    host: str | None
    begin: int
    end: int
    title: int | None = None


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    if not any(mark in head for mark in _MARKS):  # every member is asked: far cheaper than the forms themselves
        return False
    return any(found["command"] is None or _printed(found["command"]) for found in _PARTS.finditer(head))


def parts_of(data: bytes) -> list[Part]:
    """A whole file → its parts in order; none where it is of one piece."""
    found = [part for part in _parts(data) if data[part.begin : part.end].strip()]
    named = ((part.host.encode(), data[part.begin : min(part.end, part.begin + HEAD)]) for part in found if part.host)
    if 2 * sum(_says(own, host) for host, own in named) > len(found):
        return []
    return found if len({part.name for part in found}) >= _FEWEST and len(found) <= _MOST else []


def _says(data: bytes, host: bytes) -> bool:
    """Does each of the first lines name the host, as those of its syslog do?"""
    word = re.compile(rb"(?<![\w.-])" + re.escape(host) + rb"(?![\w-])")
    return all(word.search(line[:_LINE]) for line in data.strip().split(b"\n", 2)[:2])


def rest_of(data: bytes, parts: list[Part]) -> bytes:
    """What is of no part, at its lines."""
    kept, at = [], 0
    for part in parts:
        begin = part.begin if part.title is None else part.title
        kept += [data[at:begin], b"\n" * data.count(b"\n", begin, part.end)]
        at = part.end
    return b"".join([*kept, data[at:]])


def _parts(data: bytes) -> Iterator[Part]:
    heads = [*_without_remarks(_PARTS.finditer(data))]
    typed = {_typed_at(head[0]) for head in heads if head["command"] is not None} - {None}
    reads = b""
    inside: bytes | None = None  # a host whose part is several files
    for at, head in enumerate(heads):
        end = heads[at + 1].start() if at + 1 < len(heads) else len(data)
        if head["file"] is None:
            inside = None
        if head["command"] is not None:
            reads = _file_of(head["command"])
            printed, own = _printed(head["command"]), data[head.end() : end]
            if printed and (own.count(b"\n") >= _LINES or len(own) >= _BYTES):
                # Where somebody sits who looks through all logs, is no place of theirs; who goes from host to host reads each one's.
                place = _typed_at(head[0]) if len(typed) > 1 else None
                name = (place + "/" if place else "") + printed.decode("utf-8", "replace").lstrip("~./")
                yield Part(name, place, head.end(), end)
            continue
        host = head["host"] or head["called"] or head["at"]
        if head["shell"] is not None:
            host, reads = _elsewhere(head["shell"])
        target = head["file"] or head["pane"] or host or _target(head["whose"])
        if not target:
            continue
        if host is not None and end < len(data) and heads[at + 1]["file"] and not data[head.end() : end].strip():
            inside = host
        if head["file"] is not None and inside is not None:
            host, target = inside, inside + b"/" + target.lstrip(b"/")
        elif host is not None and reads:
            target += b"/" + reads
        is_one = host is not None and not _FOLDED.search(host)
        title = head.start() if head["file"] is not None else None
        yield Part(target.decode("utf-8", "replace"), host.decode() if is_one else None, head.end(), end, title)


def _without_remarks(heads: Iterable["re.Match[bytes]"]) -> Iterator["re.Match[bytes]"]:
    """In a file a bare `#` before words begins a remark; elsewhere it may be the prompt of root."""
    in_file = False
    for head in heads:
        command = head["command"]
        if command is None or head[0][:1] != b"#" or not in_file:
            in_file = head["file"] is not None or (command is not None and _printed(command) is not None)
            yield head


def _elsewhere(words: bytes) -> tuple[bytes | None, bytes]:
    """Where a command runs, and the name of the file that it reads, or its own; no host where it does not say one word and a command."""
    told = _SHELL.fullmatch(words.strip())
    if told is None:
        return None, b""
    command = told["command"].strip(b"\"'")
    return told["host"], _file_of(b" " + command) or command.split()[0].rpartition(b"/")[2]


def _file_of(command: bytes) -> bytes:
    """The name of the only file that a command reads; a program that it calls by its path is none."""
    paths = {*_PATH.findall(_HOSTS_FILE.sub(b"", command).partition(b" ")[2])}
    return paths.pop().rpartition(b"/")[2] if len(paths) == 1 else b""


def _typed_at(text: bytes) -> str | None:
    """The host that a prompt names."""
    found = _AT_PROMPT.match(text)
    return found["host"].decode() if found else None


def _printed(command: bytes) -> bytes | None:
    """The file that a command prints, the only one that it names; of /proc, whoever knows its sections reads it."""
    told = _OPTION.sub(b" ", command.partition(b"|")[0]).split()
    words = [word for word in told if not word.isdigit() and not word.startswith(b"-")]
    path = words[-1] if _PRINTS.match(command) and len(words) == _FEWEST else b""
    return path if _NAMED.fullmatch(path) and not path.startswith((b"/proc/", b"/sys/")) else None


def _target(words: bytes | None) -> bytes:
    """Whose log a command asks for: the first word that is no option."""
    left = [word for word in _WORD.findall(_OPTION.sub(b" ", words or b"")) if not word.startswith(b"-")]
    return left[0].rpartition(b"/")[2] if left else b""
