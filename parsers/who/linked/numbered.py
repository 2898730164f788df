"""Which number a place has among the nodes of a job, by chains of records.

    HOSTS=10.0.0.7;10.0.0.4;10.0.0.6        node rank = index of my ip in HOSTS         a list, and a sentence that a node is counted along it
    if [ $IDX -eq $MAIN ]; then NODE=0; …         {nodeIndex: 1, mainNode: 2, logStream: t/83f1535f}         branches of a script (branches.py), and its fields
    VM      ip                                    vm-03   10.0.0.6                      a table that calls a place otherwise
    pool1-2                                       train-pool1-x3-2                      a name that is a part of one other, word for word

A list that a sentence says to be sorted, or turned, before, is none; nor are two that it may mean.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice

from parsers.text.outlines import Leaf
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.text.vocabulary import words_of
from parsers.who.lines.beginnings import Begun
from parsers.who.linked.closure import Token, by_chains
from parsers.who.linked.relations import Relation, relations
from parsers.who.places.contexts import Places
from parsers.who.scripts.branches import Case, branches, names_of, value_of
from parsers.who.scripts.formulas import RankSum, assigned, is_of_node
from parsers.who.told.told_names import Document

_FEWEST, _LINES, _CHARACTERS, _KEYS = 2, 400, 2000, 24
_KEYED = regex(r"(?<![\w.-])(?P<key>[A-Za-z_][\w.-]{0,60})[\"']?\]?\s?[=:]\s?(?=[\[({\"'A-Za-z0-9])")
_BRACKETS = regex(r"[\[(]([^\[\]()]{3,1500})[\])]")
_BETWEEN = regex(r"[\s;,|]+")
_MEMBER = regex(r"(?=[^:]*[A-Za-z.])(?P<name>[A-Za-z0-9][\w.-]{1,252})(?::\d{1,5})?")
_POSITION = regex(r"(?i)\b(?:index|position|place|ordinal|offset|order|line|rank)\b|位置|序号|下标|索引|顺序")
_ANOTHER = regex(r"(?i)sort|revers|shuf|random|\btac\b|\brev\b|alphabet|\bnot\b|\bno\b|乱序|排序|倒序|逆序|不")
_WORDS = regex(r"[A-Za-z0-9]+")
_KEY_WORD = 4  # characters of a word by which a list is called


def node_numbers(
    said: Begun, documents: Iterable[Document], names: Iterable[str], sums: Sequence[RankSum], places: Places
) -> tuple[dict[str, int], frozenset[str]]:
    """`names` that are known to be somebody's → (name or id of a place → its number, what scripts call that number)."""
    used = frozenset(name for one in sums if one.what == "rank" for key in one.terms for name in key)
    if not used or all(len(one.terms) < _FEWEST for one in sums):
        return {}, frozenset()
    read = [(one.file, one.leaves) for one in documents]
    own_relations = relations(said, read, places, names)
    known: dict[Token, int] = {}
    called: set[str] = set()
    lists: dict[str, set[tuple[str, ...]]] | None = None
    for name in sorted(used):
        if not (sentences := [*_sentences(name, said)]):
            continue
        lists = _lists(said, read, places) if lists is None else lists
        if (own := _meant(sentences, lists)) is not None:
            called.add(name)
            known |= {Token("name", "", one): at for at, one in enumerate(own)}
    numbered = own_relations
    for name, by_rows in _branched(used, said, own_relations):
        called.add(name)
        numbered = by_rows
    if not called:
        return {}, frozenset()
    found = by_chains(numbered, known, {}, None, fewest=1)
    numbers = {token.value: number for token, number in known.items()}
    numbers |= {token.value: one.rank for token, one in found.items() if token.kind in ("id", "name")}
    of_rows = {row.place for own in own_relations for row in own if row.place}
    numbers |= _by_parts({*places.aliases()} | of_rows, numbers)
    return numbers, frozenset(called)


# --- along a list


def _sentences(name: str, said: Begun) -> Iterator[str]:
    """What is said that a name is, in words or in code, where that is a place in something."""
    words = words_of(name)
    called = re.compile(
        r"(?i)(?<![\w$])"
        + r"[ _-]?".join(map(re.escape, words))
        + r"[\"']?\]?\s{0,4}(?:=|:=|:| is |<-|←|为|是)(?!=)(?P<text>[^\n]{1,200})"
    )
    for own in said.values():
        for one in own[:_LINES]:
            if (found := called.search(one.raw[:_CHARACTERS])) is not None and _POSITION.search(found["text"]):
                yield found["text"]


def is_counted_otherwise(name: str, said: Begun) -> bool:
    """Does a sentence say that a name is a place in something in another order than that in which it stands?"""
    return any(_ANOTHER.search(_clause(text)) for text in _sentences(name, said))


def _clause(text: str) -> str:
    return re.split(r"[,;,；。](?![^()]*\))", text)[0]


def _meant(sentences: Iterable[str], lists: Mapping[str, Set[tuple[str, ...]]]) -> tuple[str, ...] | None:
    """The one list that sentences mention by its name, or by a word of it."""
    found: set[tuple[str, ...]] = set()
    for text in {*sentences}:
        clause = _clause(text)
        if _ANOTHER.search(clause):
            return None
        whole = [key for key in lists if re.search(rf"(?<![\w]){re.escape(key)}(?!\w)", clause)]
        words = {word.lower() for word in _WORDS.findall(clause)}
        meant = whole or [key for key in lists if {word for word in words_of(key) if len(word) >= _KEY_WORD} & words]
        found |= {members for key in meant for members in lists[key]}
    return sole(found)


def _lists(
    said: Begun, documents: Iterable[tuple[str, Sequence[Leaf]]], places: Places
) -> dict[str, set[tuple[str, ...]]]:
    """What holds a list of names → the lists."""
    found: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for path, own in said.items():
        for one in own[:_LINES]:
            text = one.raw[:_CHARACTERS].replace('\\"', '"')
            for keyed in islice(_KEYED.finditer(text), _KEYS) if any(mark in text for mark in ",;|[(\"'") else ():
                if members := _members(text[keyed.end() :], places):
                    found[keyed["key"]].add(members)
        names = [one.raw.strip().split(" ")[0] for one in own[:_LINES] if one.raw.strip()[:1] not in ("", "#")]
        if len(names) >= _FEWEST and (members := _named(names, places)):
            found[path.rpartition("/")[2]].add(members)
    for _, leaves in documents:
        listed: defaultdict[tuple[str | int, ...], list[str]] = defaultdict(list)
        for leaf in leaves:
            if len(leaf.path) > 1 and isinstance(leaf.path[-1], int) and isinstance(leaf.path[-2], str):
                listed[leaf.path[:-1]].append(leaf.value)
        for at, values in listed.items():
            if members := _named(values, places):
                found[str(at[-1])].add(members)
    return dict(found)


def _members(text: str, places: Places) -> tuple[str, ...]:
    """The names in one list, in all lists of one mapping, or in the rest of a line."""
    if text[0] in "[(":
        inside = _BRACKETS.match(text)
        return _named(_BETWEEN.split(inside[1]), places) if inside is not None else ()
    if text[0] == "{":
        depth = 0
        ends = (at for at, mark in enumerate(text) if (depth := depth + (mark == "{") - (mark == "}")) == 0)
        whole = text[: next(ends, len(text))]
        return _named([word for part in _BRACKETS.findall(whole) for word in _BETWEEN.split(part)], places)
    if text[0] in "\"'":
        text = text[1:].partition(text[0])[0]
    return _named(_BETWEEN.split(text.strip("\"' ")), places)


def _named(words: Iterable[str], places: Places) -> tuple[str, ...]:
    found = [_MEMBER.fullmatch(word.strip("\"' ")) for word in words if word.strip("\"' ")]
    names = tuple(one["name"] for one in found if one is not None)
    is_each = all(any(map(str.isdigit, one)) or places.is_place(one) for one in names)
    return names if is_each and len(names) == len(found) == len({*names}) >= _FEWEST else ()


# --- by branches


def _branched(used: Set[str], said: Begun, relations: Sequence[Relation]) -> Iterator[tuple[str, list[Relation]]]:
    """Names that scripts give something by what holds, with the relations whose rows tell what that is."""
    for own in said.values():
        texts = [one.raw[:_CHARACTERS] for one in own[:_LINES]]
        if not any(name in text for text in texts for name in used if is_of_node(name)):
            continue
        for name, cases in branches(texts).items():
            if name not in used:
                continue
            alias = unanimous(
                (given, key[0])
                for text in texts
                for given, read, rest in assigned(text)
                for key in read
                if rest is None and read == {key: 1} and len(key) == 1
            )
            called = {inner: alias.get(inner, inner) for inner in names_of(cases)}
            yield name, [_with_values(rows, cases, _numbers(rows, called)) for rows in relations]


def _with_values(rows: Relation, cases: Sequence[Case], envs: Sequence[dict[str, int] | None]) -> Relation:
    """Rows with what their numbers make of a name as their rank, where these are just 0 … N-1; else as they are."""
    values = [None if env is None else value_of(cases, env) for env in envs]
    is_whole = len(rows) >= _FEWEST and None not in envs and {*values} == {*range(len(rows))}
    return [row._replace(rank=own) for row, own in zip(rows, values, strict=True)] if is_whole else rows


def _numbers(rows: Relation, called: Mapping[str, str]) -> list[dict[str, int] | None]:
    """For each row, what names are, by the column that is called most like each."""
    columns = {
        column for row in rows for column, slot in row.cells.items() if slot.value.isdecimal() and len(slot.value) < 6
    }
    chosen: dict[str, str] = {}
    for name, whole in called.items():
        scores = sorted(((likeness(whole, column), column) for column in columns), reverse=True)
        if not scores or not scores[0][0] or (len(scores) > 1 and scores[0][0] == scores[1][0]):
            return [None] * len(rows)
        chosen[name] = scores[0][1]
    return [
        {name: int(row.cells[column].value) for name, column in chosen.items()}
        if all(column in row.cells and row.cells[column].value.isdecimal() for column in chosen.values())
        else None
        for row in rows
    ]


_GENERAL = frozenset(("index", "id", "idx", "rank", "number", "nr", "name"))  # by which anything is counted
_PATH = regex(r"[/.:]")


def likeness(name: str, column: str) -> int:
    """How many words at their ends, or but for a word for anything that is counted, a name of a script and a column have alike; 0, where one has others."""
    own, other = words_of(name), words_of(_PATH.split(column)[-1])
    best = 0
    bare = tuple([word for word in words if word not in _GENERAL] for words in (own, other))
    for words, others in ((own, other), bare):
        short, long = sorted((words, others), key=len)
        if short and long[-len(short) :] == short and not ({*short} <= _GENERAL and short != long):
            best = max(best, 2 * sum(word not in _GENERAL for word in short) + (words is own))
    return best


# --- by parts of names


def _by_parts(places: Set[str], numbers: Mapping[str, int]) -> dict[str, int]:
    """Names of places whose words are those of one numbered name in that order, with others between, each of another one."""
    words = {name: [*_WORDS.findall(name.lower())] for name in {*places, *numbers}}
    found: dict[str, int] = {}
    for name in places - numbers.keys():
        pairs = ((one, words[name], words[one]) for one in numbers)
        number = sole(numbers[one] for one, own, other in pairs if _is_part(own, other) or _is_part(other, own))
        if number is not None and len(words[name]) >= _FEWEST:
            found[name] = number
    return found if len({*found.values()}) >= _FEWEST else {}


def _is_part(short: Sequence[str], long: Sequence[str]) -> bool:
    rest = iter(long)
    return len(short) >= _FEWEST and all(word in rest for word in short)
