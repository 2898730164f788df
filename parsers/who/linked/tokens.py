"""What in a text may be a name of a process, of its place, or its number there.

    /kubepods-burstable-pod7c1e83b4_2f5a_4c7d_9e16_04d8ab57c3e9.slice      an **id**: of a pod, a container, a device, an actor
    GPU-6e0b27c4-…    0000:9d:00.0    10.3.0.27    lm@zeta.service             an id, a bus address, an address, a **name**
    10.3.0.27:40117                                                          both an address and a name
    /tmp/te/run_k0/attempt_0/2/stderr.log                   a number there, of whoever writes to it
    ExecMainPID=2949    local_rank=2    slot 5                                a **number**, which means something at a place, or in a column

A **slot** is a token with its kind and what stands before it. A text without its slots is its template.
"""

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from parsers.schema.labels import OF_GROUP
from parsers.schema.rules import pci
from parsers.text import vocabulary
from parsers.text.path_hints import hints
from parsers.text.patterns import regex
from parsers.text.unanimous import begin_alike

_ID = regex(
    r"(?<![0-9A-Za-z])(?:pod|GPU-|MIG-)?(?P<uuid>[0-9a-fA-F]{8}(?:[-_][0-9a-fA-F]{4}){3}[-_][0-9a-fA-F]{12})(?![0-9A-Za-z])"
    r"|(?<![0-9A-Za-z:.])(?P<bus>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?|[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?![0-9A-Za-z:])"
    r"|(?<![0-9A-Za-z])(?P<hex>(?=[0-9a-f]{0,63}?\d)(?=[0-9a-f]{0,63}?[a-f])[0-9a-f]{8,64})(?![0-9A-Za-z])"
)
_TOKEN = regex(
    r"(?P<stamp>\d{1,4}[-/]\d{1,2}[-/]\d{1,4}(?:[T -]\d{1,2}:\d\d[\d:.,Z+-]*)?|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)*)"
    r"|(?P<address>(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.]))"
    r"|(?P<name>[A-Za-z_]\w*(?:[.@-]+\w+)*)"
    r"|(?P<figure>0x[0-9a-fA-F]+|\d+\.\d+\w*|\d+[A-Za-z_%]\w*|\d{11,})"
    r"|(?P<number>\d+)"
)
_CALLED = regex(r"(?P<before>(?:.*[^\w.-])?-{0,2})(?P<name>[A-Za-z_][\w.-]*?)[\"']?[\s:=#(\[{\"'-]{0,8}")
_QUALIFIED = regex(r"(?i)(?<![a-z])(?:local|node)(?= \Z)")  # whose rank it is
_PART, _PARTS = regex(r"[A-Za-z0-9_]+"), 8  # of a word, at most
_MARKS = regex(r"[\W_]+\Z")
_OTHERS = regex(
    r"(?i)(?:\A|[_. -])(?:peer|remote|src|dst|source|target|next|prev|left|right|upstream|downstream|neighbou?r|sibling|parent|holder|owner|master|leader|from|to)(?:\Z|[_. -])"
)
_DEVICES = ("gpu", "device", "npu", "card", "cuda", "device_id", "gpu_id", "gpu_index", "device_index", "npu_id")
_SETTING = regex(r"\s{0,40}[\"']?(?P<key>[A-Za-z_][\w .()/-]{0,60}?)[\"']?\s{0,20}[:=]\s{0,20}(?P<value>.*)")
_PIDS = ("pid", "tgid", "mainpid", "execmainpid", "hostpid", "process", "proc", "thread", "lwp")
_PATH = regex(r"(?<![\w.-])/[\w.@+=-]{1,80}(?:/[\w.@+=-]{1,80}){1,15}")
# of a figure
_UNIT = regex(r" ?(?:[mun]?s|msec|secs?|seconds?|mins?|minutes?|hours?|[KMGT]i?B|bytes|percent|MHz|C|W)\b|%")
_PID_FILE = regex(r"\.pid[\"']?[:= ]{1,3}\Z")  # what a file of that name holds
_GIVEN = regex(r"(?:^|\s)--?[A-Za-z][\w-]*[ =][\"']?\Z")  # an option of a command, before what it gets
_PORT = regex(r":[1-9]\d{2,6}(?!\w|[.:]\w)")
_LABEL = 32  # characters before a number that tell what it counts
LEAST = 100  # smaller numbers count something, unless a word says whose they are


class Slot(NamedTuple):
    """`kind`: id, bus, name, number, or what a word says the number is: rank, local_rank, node_rank, device, pid."""

    kind: str
    value: str
    label: str


def slots(text: str, words: Set[str] = frozenset()) -> tuple[str, list[Slot]]:
    """A text → its template, and its slots in their order; `words` are names though no digit is in them."""
    template: list[str] = []
    found: list[Slot] = []
    at = 0
    if "/" in text:
        for path in _PATH.findall(text):
            if (local := hints(path).local_rank) is not None:  # what a process writes to
                found.append(Slot("local_rank", str(local), "path"))
                text = text.replace(path, " ", 1)
    for one in _ID.finditer(text):
        _between(text[at : one.start()], template, found, words)
        if one["bus"]:
            found.append(Slot("bus", pci(one["bus"]).partition(".")[0], _label(template)))
        else:
            found.append(Slot("id", (one["uuid"] or one["hex"]).lower().replace("_", "-"), _label(template)))
        template.append("@")
        at = one.end()
    _between(text[at:], template, found, words)
    return "".join(template), found


def _between(text: str, template: list[str], found: list[Slot], words: Set[str]) -> None:
    at = 0
    has_options = " -" in text
    for one in _TOKEN.finditer(text):
        template.append(text[at : one.start()])
        at = one.end()
        kind, word = one.lastgroup, one[0]
        if kind == "number" and _UNIT.match(text, one.end()):
            template.append("~")
        elif kind == "number":
            label = _label(template)
            is_pid = _PID_FILE.search(text, max(0, one.start() - _LABEL), one.start()) is not None
            kind = "pid" if is_pid else meaning(label) or "number"
            found.append(Slot(kind, word.lstrip("0") or "0", label))
            template.append("#")
        elif kind == "name" and word not in words and (own := within(word, words)):
            found.append(Slot("name", own, _label(template)))
            template.append(word.replace(own, "@"))
        elif kind == "address" or (kind == "name" and (any(map(str.isdigit, word)) or word in words)):
            found.append(Slot("name", word, _label(template)))
            if (port := _PORT.match(text, at)) is not None:  # the two together name one process
                found.append(Slot("name", word + port[0], _label(template)))
            template.append("@")
        else:
            start = one.start()
            is_given = has_options and kind == "name" and _GIVEN.search(text, max(0, start - _LABEL), start) is not None
            template.append("~" if is_given or kind != "name" else word)
    template.append(text[at:])


def within(word: str, words: Set[str]) -> str | None:
    """The longest of these names that a word holds between marks: `run-heron.scope`."""
    parts = [part.span() for part in _PART.finditer(word)] if words else []
    if not 1 < len(parts) <= _PARTS:
        return None
    spans = ((begin, end) for at, (begin, _) in enumerate(parts) for _, end in parts[at:])
    held = [(end - begin, begin, end) for begin, end in spans if word[begin:end] in words]
    _, begin, end = max(held, default=(0, 0, 0))
    return word[begin:end] or None


def _label(template: Sequence[str]) -> str:
    return "".join(template[-6:])[-_LABEL:]


def meaning(label: str) -> str | None:
    """What a word before a number, or above it, says that it counts of one process: pid, rank, local_rank, node_rank, device."""
    if label.endswith("/proc/"):
        return "pid"
    found = _CALLED.fullmatch(label)
    if found is None or of_others(found["name"]):
        return None
    name = found["name"].lower()
    if name in _PIDS:
        return "pid"
    if name in _DEVICES:
        return "device"
    above = _QUALIFIED.search(found["before"])
    what = vocabulary.of_process(f"{above[0]}_{found['name']}" if above is not None else found["name"])
    if above is not None:
        return what if what in ("local_rank", "node_rank") else None
    if what == "rank" and OF_GROUP.search(_MARKS.sub("", found["before"])):
        return None
    return what if what in ("rank", "local_rank", "node_rank") else None


def of_others(name: str) -> bool:
    """Does a word call somebody else than whose record it is?"""
    return _OTHERS.search(name) is not None


def setting(text: str) -> "re.Match[str] | None":
    """`name=value`, `name: value`, of a line."""
    return _SETTING.fullmatch(text)


def apart(words: Sequence[str]) -> list[str]:
    """Words that are alike but for a part, as `lm@zeta.service` and `lm@eta.service` → that part of each."""
    if len({*words}) < 2:
        return [*words]
    turned = [word[::-1] for word in words]
    begin, end = (begin_alike(min(own), max(own)) for own in (words, turned))
    word = words[0]
    while begin > 0 and word[begin - 1].isalnum():
        begin -= 1
    while end > 0 and word[-end].isalnum():
        end -= 1
    found = [one[begin : len(one) - end] for one in words]
    return found if all(found) else [*words]
