"""What stands at the head of a line and may be the name of who speaks, whatever it is: `trainer.3  | `, `w3> `, `(6/8) `, `ddp_02: `,
`[gpu-a] `, `pid=4711 `, `j4\\t`, `trainer@1[5609]: `, `stage1/dp1 loss …`, `[I p2 train] `.

A **head** is a word that is set off: in brackets of its own or with up to three words beside it, or closed by a mark, behind stamps,
levels, rules and other heads; the first word of a line, behind stamps and levels alone, is one without a mark, too. Its **form** is a regular expression for all around it,
from the beginning of the line, with the word as group `value` (and `pid`, behind the tag of a daemon). Which forms hold names of
processes, and of whom, joins.py learns.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from parsers.text.patterns import ascii_digits, regex

HEADS = 5  # before the words of a line, at most
_PARTS = 2 * HEADS  # with the stamps, levels and rules between them
_VALUE = r"(?:[\w./@+#%~-]|:(?=[\w/])){1,80}"
_GROUP = rf"(?P<value>{_VALUE})"
_TIME = r"(?:\d{1,4}[-/:]\d\d[\d:.,/TZ+-]{0,40}|\d{10}(?:\.\d{1,9})?)"
_STAMP = rf"(?:{_TIME}|\[{_TIME}\])"
_LEVELS = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|[DIWEF])"
_LEVEL = rf"(?:{_LEVELS}:?|\[{_LEVELS} {{0,6}}\])"
_WORDS = r"[^\[\](){}<>|\t]{1,120}"
_BRACKETS = {"[": "]", "(": ")", "<": ">", "{": "}"}
_MARKS = (
    r" {0,40}\| ?",
    r"> ?",
    r":(?: |$)",
    r"\t",
    r" - ",
    r" {0,40}│ ?",
    r"\$ ",
    r" {0,4}[=-]> ",
    r" {1,4}[~»›] ",
)  # behind a word
_TAGS = r"(?:\[[A-Za-z][\w. -]{0,40}\]){0,2}"  # what else a logger tells of the process, as its thread
_TAG = rf"(?:{_TAGS}\[(?P<pid>\d{{1,10}})\]{_TAGS})?"
_BESIDE = 4  # words in a bracket, besides a stamp
_IN_STAMP = regex(_TIME)
_AT_STAMP, _AT_LEVEL = (regex(rf" {{0,8}}{one} {{1,8}}(?=\S)") for one in (_STAMP, _LEVEL))
_AT_BRACKET = regex(rf" {{0,8}}(?:\[({_WORDS})\]|\(({_WORDS})\)|<({_WORDS})>|\{{({_WORDS})\}}):? ?")
_AT_RULE = regex(r" {0,4}[-–—|:·]{1,2} {1,4}(?=\S)")
_BARRED = r"[^\s|]{1,60}"  # words before a bar, several
_AT_BAR = regex(rf" {{0,8}}({_BARRED}(?: {{1,4}}{_BARRED}){{1,2}}) {{0,40}}\| ?")
_AT_WORD = regex(
    rf" {{0,8}}{_GROUP}(?:{_TAGS}\[\d{{1,10}}\]{_TAGS}(?=:))?(?:{'|'.join(f'({mark})' for mark in _MARKS)})"
)
_FIRST = rf" {{0,8}}{_GROUP} (?= {{0,40}}\S)"
_AT_FIRST = regex(_FIRST)
_FIELD = r"[\[(<]?(?:pid|PID|Pid|process_id)[=:] ?"  # before the number of a process, as a field tells it
_BEHIND_FIELD = r"[\])>]?[,;:]?(?: {0,8}\| ?| {1,8})(?=\S)"
_AT_FIELD = regex(rf" {{0,8}}{_FIELD}\d{{1,10}}{_BEHIND_FIELD}")
_TELLS = regex(r"[A-Za-z0-9]")
# host:pid:thread before a record of NCCL and its kin, which is read whole
OF_RECORD = regex(r"[^:]{1,80}:\d{1,10}:\d{1,10}")


class Head(msgspec.Struct, frozen=True):
    """A word at the head of a line: the form around it, what it is, the process number in its tag, what stands behind."""

    form: str
    value: str
    pid: int | None
    behind: str


def heads_of(text: str) -> Iterator[Head]:
    """All heads of a line, the leftmost first."""
    at, before, is_bare, heads = 0, r"\A", True, 0
    for _ in range(_PARTS):
        if found := _AT_STAMP.match(text, at):
            at, before = found.end(), before + rf" {{0,8}}{_STAMP} {{1,8}}"
            continue
        if found := _AT_LEVEL.match(text, at):
            at, before = found.end(), before + rf" {{0,8}}{_LEVEL} {{1,8}}"
            continue
        if found := _AT_RULE.match(text, at):
            before += r" {0,4}[-–—|:·]{1,2} {1,4}"
            at, is_bare = found.end(), False
            continue
        if (heads := heads + 1) > HEADS:
            return
        if found := _AT_FIELD.match(text, at):
            yield from _made(text, before + rf" {{0,8}}{_FIELD}(?P<value>\d{{1,10}}){_BEHIND_FIELD}")
            before += rf" {{0,8}}{_FIELD}\d{{1,10}}{_BEHIND_FIELD}"
        elif found := _AT_BRACKET.match(text, at):
            words = next(filter(None, found.groups())).split()
            opened = re.escape(found[0].lstrip(" ")[0])
            closed = re.escape(_BRACKETS[opened[-1]]) + ":? ?"
            for inside in _one_of(words, r"\S{1,60}"):
                yield from _made(text, before + rf" {{0,8}}{opened} {{0,8}}{inside} {{0,20}}{closed}")
            before += rf" {{0,8}}{opened}{_WORDS}{closed}"
        elif found := _AT_WORD.match(text, at):
            mark = next(own for own, is_own in zip(_MARKS, found.groups()[1:], strict=True) if is_own is not None)
            yield from _made(text, before + rf" {{0,8}}{_GROUP}{_TAG if mark[0] == ':' else ''}{mark}")
            before += rf" {{0,8}}{_VALUE}{_TAG.replace('?P<pid>', '?:') if mark[0] == ':' else ''}{mark}"
        elif found := _AT_BAR.match(text, at):
            words = found[1].split()
            for inside in _one_of(words, _BARRED):
                yield from _made(text, before + rf" {{0,8}}{inside} {{0,40}}\| ?")
            before += rf" {{0,8}}{_BARRED}(?: {{1,4}}{_BARRED}){{{len(words) - 1}}} {{0,40}}\| ?"
        else:
            if is_bare and _AT_FIRST.match(text, at):
                yield from _made(text, before + _FIRST)
            return
        at, is_bare = found.end(), False


def _one_of(words: Sequence[str], other: str) -> Iterator[str]:
    """Patterns of few words, of which one each is the value."""
    told = sum(_IN_STAMP.fullmatch(word) is None for word in words)
    for place in range(len(words) if told <= _BESIDE else 0):
        yield " {1,8}".join([*[other] * place, _GROUP, *[other] * (len(words) - place - 1)])


def _made(text: str, form: str) -> Iterator[Head]:
    found = finder(form).match(text)
    if found and _TELLS.search(found["value"]) and not OF_RECORD.fullmatch(found["value"]):
        tag = found.groupdict().get("pid")
        yield Head(form, found["value"], int(tag) if tag else None, text[found.end() :])


@lru_cache(maxsize=512)
def finder(form: str) -> "re.Pattern[str]":
    """The form as a pattern for the beginning of a line."""
    return re.compile(str(ascii_digits(form)))
