"""Logs of several that stand in one file one after the other, each below a heading that calls it, taken apart: each is a member of its own.

    Container: container_e41_…_000009 on dn-009.example.org_45454         ===== trainer-3 (10.4.0.7) =====         ### gn04.log
    08:11:27 hello …                                                        2026-03-11 06:30:07 step 10 …              [2026-03-11 06:30:07] …
    Container: container_e41_…_000002 on dn-022.example.org_45454         ===== trainer-0 (10.4.0.2) =====         ### gn02.log
    08:11:27 hello …                                                        2026-03-11 06:30:08 step 10 …              [2026-03-11 06:30:06] …

No words of headings are known: the first line of the file is one, or one of the next; they are alike but for words with digits in them, or for the words between their marks; and below
each of them time begins anew, at a moment at which all of them ran. Where the later part goes on after the earlier one, as a second attempt does, it is one log.

Printed by: yarn logs (Hadoop), collectors that append, people with a loop around ssh or kubectl.
Source: Hadoop's ContainerLogsUtils; this project's own samples.
"""

import re
from collections.abc import Iterator, Sequence

from parsers.archive.gathered import Part
from parsers.text import vocabulary
from parsers.text.patterns import regex

MOST_BYTES = 16 << 20
_FEWEST, _MOST = 2, 1024  # parts
_FIRST, _LINE, _NAME = 4, 200, 100  # lines before the first with a stamp; characters
_BLANKS, _OPENS = 8, (b"$", b"{", b'"', b"<")
_STAMPED_LINES, _WHOLE = 2, 0.8  # of a part; of the parts
_STAMP = regex(
    rb"(?m)^[^\w\n]{0,3}(?:\[?rank\d{1,6}\]?:\[?)?(?P<day>(?:\d{2,4}[-/]\d{1,2}[-/]\d{2,4}|[A-Z][a-z]{2} {1,2}\d{1,2}|[IWEF]\d{4})[T ,]{0,2})?(?P<clock>\d\d:\d\d:\d\d)(?!\d)"
)
_WORD, _EDGES, _SPACES = regex(rb"[\w.@+-]+"), regex(r"\A[\W_]+|[\W_]+\Z"), regex(r"[\s/]+")
_NAME_WORD, _TIMES = regex(r"[^\W_]+"), ("attempt", "step", "epoch", "time")
_SUFFIX = regex(r"\.(?:log|out|err|txt)\Z")
_MARKED = regex(rb"[^\w\s]{1,12}")


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes: nothing is stamped before the first heading."""
    return any(True for _ in _headings(head)) and _STAMP.search(head) is not None


def parts_of(data: bytes) -> list[Part]:
    """A whole file → its parts in order; none where it is of one piece."""
    for shape in _headings(data[: _FIRST * _LINE * 4]):
        heads = [*shape.finditer(data)]
        texts = [*dict.fromkeys(head[0].strip().decode("utf-8", "replace") for head in heads)]
        if not _FEWEST <= len(heads) <= _MOST or len(texts) < _FEWEST or _counts_times(texts):
            continue
        ends = [*(head.start() for head in heads[1:]), len(data)]
        if _run_at_once([data[head.end() : end] for head, end in zip(heads, ends, strict=True)]):
            names = [_called(head[0].decode("utf-8", "replace")) for head in heads]
            if all(names):
                return [Part(name, None, head.start(), end) for name, head, end in zip(names, heads, ends, strict=True)]
    return []


def _headings(head: bytes) -> "Iterator[re.Pattern[bytes]]":
    """What lines that are alike would be, of the lines before the first with a stamp."""
    lines = (line.strip() for line in head.split(b"\n", 40)[:40])
    for line in [line for line in lines if line][:_FIRST]:
        if _STAMP.match(line) or len(line) > _LINE:
            return
        if line.count(b" ") > _BLANKS or line[:1] in _OPENS or b"=" in line.strip(b"= "):
            continue  # a sentence, a command, a setting
        words = [*_WORD.finditer(line)]
        if any(any(48 <= one <= 57 for one in word[0]) for word in words):
            yield _shape(line, words, are_all=False)
        elif words and _MARKED.match(line):
            yield _shape(line, words, are_all=True)


def _shape(line: bytes, words: "Sequence[re.Match[bytes]]", *, are_all: bool) -> "re.Pattern[bytes]":
    made, at = [], 0
    for word in words:
        is_other = are_all or any(48 <= one <= 57 for one in word[0])
        made += [re.escape(line[at : word.start()]), rb"[\w.@+-]{1,120}" if is_other else re.escape(word[0])]
        at = word.end()
    return re.compile(rb"(?m)^[ \t]{0,8}" + b"".join(made) + re.escape(line[at:]) + rb"[ \t]{0,8}\r?$")


def _counts_times(headings: Sequence[str]) -> bool:
    """Do headings differ in what counts attempts, steps or days alone? Without dates these may seem to run at once."""
    words = [*zip(*(_NAME_WORD.findall(heading) for heading in headings), strict=False)]
    other = [at for at, own in enumerate(words) if len({*own}) > 1]
    before = [vocabulary.meaning_of(words[at - 1][0]) if at else None for at in other]
    return all(said is not None and said.meaning in _TIMES for said in before) if other else True


def _run_at_once(parts: Sequence[bytes]) -> bool:
    """Do nearly all parts tell times, and is there a moment at which all of these ran, so that time begins anew in each?"""
    told = [[(one["day"] or b"", one["clock"]) for one in _STAMP.finditer(part)] for part in parts]
    stamped = [own for own in told if len(own) >= _STAMPED_LINES]
    if len(stamped) < max(_FEWEST, _WHOLE * len(parts)):
        return False
    if len({own[0][0].strip(b" T,") for own in stamped}) > 1:
        return False  # of other days
    clocks = [[clock for _, clock in own] for own in stamped]
    return max(own[0] for own in clocks) < min(own[-1] for own in clocks)


def _called(heading: str) -> str:
    """A heading as the name of a log."""
    name = _SPACES.sub("_", _EDGES.sub("", heading.strip()))[:_NAME].strip("_")
    return name if _SUFFIX.search(name) or not name else f"{name}.log"
