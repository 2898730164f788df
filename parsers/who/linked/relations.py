"""Relations: records that are alike, each of which tells something of one process, or of one place, in the same columns.

    CONTAINER ID   NAMES             a table, in a log or a file of its own
    items: [{metadata: {name: …, uid: …}}, …]         a document: elements of a list, or mappings beside each other, with all that stands in them
    == 88213⏎NSpid: 88213 1⏎0::/nomad.slice/5f3c….scope        a section: what a heading names, and what is told below it once
    ExecMainPID=2949⏎Id=lm@zeta.service⏎              a block of settings
    out/w_12_38241.csv: task 4 pid 712             a file, as a section
    spawned pid 712 as slot 3                  a line, among its like

Nothing here knows what a column means, but for numbers that a word before them, or above, calls a rank, a place of one, a device or a pid.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise
from types import MappingProxyType
from typing import NamedTuple

from parsers.schema.calls import Call, Script, call_of
from parsers.text.outlines import Leaf
from parsers.text.patterns import regex
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.linked.tokens import Slot, apart, meaning, setting, slots
from parsers.who.places.contexts import Places
from parsers.who.told.tables import rows_of_words, table_rows

CALLED = "called"  # what computes a rank
_CHARACTERS = 400
_LINES = 400  # of a file
_SLOTS = 12  # of a line: one with more is no statement
_ROWS = 4096
_FEWEST, _PLACES = 2, 4
_NAME = regex(r"[A-Za-z0-9][\w.@:/-]{0,127}(?:\[\d{1,6}\])?")
_STAMP = regex(r"\d{4}-\d\d-\d\d(?!\w)|\d{1,2}:\d\d:\d\d")
_OUTER = " ,;{}[]"  # around the entries of a list, or between them
_SEAT = regex(
    r"(?:(?:[\w.-]{0,60}[_.-])?(?=[A-Za-z]+@))?(?P<word>[A-Za-z]+)[-_@]?(?P<number>\d{1,4})(?=(?:\.[a-z]{2,7})?(?::\d+)?\Z)"
)
_NOTED = regex(r"(?P<value>[\w.@:/-]+) [(\[].*[)\]]")  # what is told, with a remark in brackets
_NUMBERS = regex(r"\d{1,7}(?:[._-]\d{1,7}){1,5}")
_APART = regex(r"\t|\s*[|│]\s*|\s*[,;]\s*| {2,}")  # cells of lines that are rows below no names
_NUMBER, _SPACES = regex(r"\d{1,10}"), regex(r"\s+")
_BY = {mark: regex(rf" *{re.escape(mark)} *") for mark in "\t|│,;"} | {" ": regex(r" {2,}")}
_OPTIONS = regex(r"(?<!\S)(?P<option>--?[A-Za-z][\w-]{0,40})[ =][\"']?(?P<value>[A-Za-z][\w.@:/-]{0,127})")
_COLUMN, _FIGURE = regex(r"[A-Za-z_][\w ()/.-]{0,60}"), regex(r"-?\d[\d.eE+-]{0,30}")
_WORDS = regex(r"[\w.@~-]+(?::\d+)?")
_HEADED = regex(r"(?!/\w)[^\w\s{\"]{1,12} ?\S.{0,160}|\S.{0,80}:")
_PROMPT = regex(r"(?:[\w.-]{1,32}@[\w.-]{1,80}\b[^$#%>]{0,80})?[$#%>] ?(?=\S)")


class Row(NamedTuple):
    """`place`: the host or the pod that it is from, null where it is not known. `cells`: column → what stands in it. `rank`: what a script makes of them."""

    place: str | None
    cells: dict[str, Slot]
    file: str
    line: int | None
    rank: int | None = None


class Words(NamedTuple):
    """`names` that tables and documents have; `scripts` that make ranks of what they are called with."""

    names: Set[str]
    scripts: Mapping[str, Script]
    places: frozenset[str] = frozenset()  # words that scripts put before the number of a process at its place


Relation = list[Row]


class _Log(NamedTuple):
    """A file's lines, all and the first; by their numbers the places that headings name; the rows of its tables; its parts below headings alike."""

    path: str
    own: Sequence[Said]
    lines: Sequence[Said]
    headed: Mapping[int, str]
    rows: Mapping[int, Mapping[str, str]]
    parts: "Sequence[list[tuple[str, list[Said]]]]"
    place_of: Callable[[Said], str | None]

    def place(self, one: Said) -> str | None:
        return self.headed.get(one.number) or self.place_of(one)


def _log(path: str, own: Sequence[Said], places: Places) -> _Log:
    tables = dict(table_rows(own))
    rows = {**tables, **dict(rows_of_words(own)), **tables}
    lines = own[:_LINES]
    return _Log(path, own, lines, places.headings(own), rows, [*_parts(lines)], places.of_line)


def relations(
    said: Begun,
    documents: Iterable[tuple[str, Sequence[Leaf]]],
    places: Places,
    names: Iterable[str],
    scripts: Mapping[str, Script] = MappingProxyType({}),
    labels: frozenset[str] = frozenset(),
) -> list[Relation]:
    """The lines of logs and the leaves of documents → relations. `names` that are known to be somebody's; `scripts` that make ranks of what they are
    called with; `labels`: words that they put before the number of a process at its place."""
    logs = [_log(path, own, places) for path, own in said.items()]
    names = frozenset(names)
    found = [*_of_documents(documents, places.of_file), *_of_tables(logs, scripts, names), *_of_cells(logs)]
    cells = [slot.value for own in found for row in own for slot in row.cells.values() if slot.kind == "name"]
    headings = [[name for name, _ in parts] for log in logs for parts in log.parts]
    called = [slot.value for own in headings for row in _names(own) for slot in row.values() if slot.kind == "name"]
    known = frozenset(word for word in (*cells, *called, *names) if len(word) > _FEWEST and not word.isdigit())
    words = Words(known, scripts, labels)
    found += _of_lines(logs, words)
    found += _of_sections(logs, words)
    for row in chain.from_iterable(found) if labels else ():
        row.cells.update({f"{column} seat": seat for column, seat in _seats(row.cells, labels)})
    return [own[:_ROWS] for own in found if own]


def cell(label: str, text: str) -> Slot | None:
    """What a cell holds where it is one word; a number means what its column says."""
    word = text.strip().strip("\"'")
    if _NUMBER.fullmatch(word):
        return Slot(meaning(label) or "number", word.lstrip("0") or "0", label)
    _, found = slots(word)
    if len(found) == 1 and (found[0].kind in ("id", "bus") or (found[0].kind == "local_rank" and word[0] == "/")):
        return found[0]._replace(label=label)
    word = word.rpartition("://")[2]
    if _STAMP.match(word):
        return None
    is_word = any(map(str.isalpha, word)) or word.count(".") > _FEWEST
    return Slot("name", word, label) if len(word) > 1 and is_word and _NAME.fullmatch(word) else None


def _in_words(column: str, text: str) -> dict[str, Slot]:
    """What a cell of several words, as a command with its arguments, calls the numbers of a process, each once."""
    if ("=" not in text and " " not in text.strip()) or "ank" not in text.lower():
        return {}
    found: defaultdict[str, set[Slot]] = defaultdict(set)
    for one in slots(text[:_CHARACTERS])[1]:
        if one.kind in ("rank", "local_rank", "node_rank"):
            found[one.kind].add(one)
    return {f"{column} {kind}": own.pop() for kind, own in found.items() if len({one.value for one in own}) == 1}


def _in_options(column: str, text: str, names: Set[str]) -> dict[str, Slot]:
    """The names that are known to be somebody's of those that a command in a cell gives to its options: `--name gx03-b`, each option once."""
    given: defaultdict[str, set[str]] = defaultdict(set)
    for one in _OPTIONS.finditer(text[:_CHARACTERS]) if " -" in text and names else ():
        given[one["option"]].add(one["value"])
    return {
        f"{column} {option}": Slot("name", value, option.strip("-"))
        for option, values in given.items()
        if len(values) == 1 and (value := min(values)) in names
    }


# --- documents


def _of_documents(
    documents: Iterable[tuple[str, Sequence[Leaf]]], place_of: Callable[[str], str | None]
) -> Iterator[Relation]:
    shapes: defaultdict[tuple[str, tuple[str, ...]], Relation] = defaultdict(list)
    for path, own in documents:
        parents: defaultdict[tuple[str | int, ...], dict[str | int, list[Leaf]]] = defaultdict(dict)
        for leaf in own:
            for at in range(1, len(leaf.path)):
                parents[leaf.path[:at]].setdefault(leaf.path[at], []).append(leaf)
        for prefix, children in parents.items():
            if len(children) < _FEWEST:
                continue
            is_list = all(isinstance(key, int) for key in children)
            if not is_list and any(len(leaf.path) == len(prefix) + 1 for own_ in children.values() for leaf in own_):
                continue  # the fields of one record
            depth, place = len(prefix) + 1, place_of(path)
            made = (_record(path, key, own_, depth, place, is_list=is_list) for key, own_ in children.items())
            yield [row for row in made if row is not None]
        if len(parents.get((0,), ())) >= _FEWEST:  # a document of its own each, as others called alike
            whole = _record(path, path, list(own), 1, place_of(path), is_list=False)
            if whole is not None:
                shapes[_shape(path), tuple(sorted(whole.cells))].append(whole)
    yield from shapes.values()


def _record(
    path: str, key: str | int, leaves: Sequence[Leaf], depth: int, place: str | None, *, is_list: bool
) -> Row | None:
    names = {leaf.path[:-1]: leaf.value for leaf in leaves if leaf.path[-1] == "name"}
    cells: dict[str, Slot] = {}
    twice: set[str] = set()
    for leaf in leaves:
        inner = ["*" if isinstance(one, int) else one for one in leaf.path[depth:]]
        # what the first of a few is, it is in each
        if inner and isinstance(last := leaf.path[-1], int) and last < _PLACES:
            inner[-1] = f"[{last}]"
        column = ".".join(inner) or "value"
        if leaf.path[-1] == "value" and leaf.path[:-1] in names:
            column = f"{'.'.join(inner[:-1])}:{names[leaf.path[:-1]]}"
        if column in cells:
            twice.add(column)
        for part, own in _in_words(column, leaf.value).items():
            twice |= {part} if part in cells else set()
            cells[part] = own
        if (one := cell(column if inner else str(leaf.path[depth - 2]), leaf.value)) is not None:
            cells[column] = one
    kept = {column: one for column, one in cells.items() if column not in twice}
    name = key.rpartition("/")[2] if isinstance(key, str) else ""
    name = name.rpartition(".")[0] or name if key == path else name
    if not is_list and (one := cell("", name)) is not None:
        kept["key"] = one
    return Row(place, kept, path, leaves[0].line if leaves else None) if len(kept) > 1 else None


def _shape(path: str) -> str:
    return _WORDS.sub("@", path)


# --- tables


def _of_tables(logs: Sequence[_Log], scripts: Mapping[str, Script], names: Set[str]) -> Iterator[Relation]:
    alike: defaultdict[tuple[str, ...], Relation] = defaultdict(list)
    for log in logs:
        by_line = {one.number: one for one in log.own}
        for number, row in log.rows.items():
            cells = {name: one for name, text in row.items() if (one := cell(name, text)) is not None}
            for name, text in row.items():
                cells |= {**_in_words(name, text), **_in_options(name, text, names)}
                if scripts:
                    cells |= {f"{name} {at}": one for at, one in enumerate(_called(call_of(text, scripts)))}
            if len(cells) > 1:
                alike[tuple(sorted(row))].append(Row(log.place(by_line[number]), cells, log.path, number))
    yield from alike.values()


def _of_cells(logs: Sequence[_Log]) -> Iterator[Relation]:
    """Lines below each other with as many cells each; the first of them may be names of columns."""
    for log in logs:
        run: list[tuple[Said, list[str]]] = []
        shape: tuple[str, int] | None = None
        for one in log.lines:
            text = one.raw[:_CHARACTERS].strip().strip("|│").strip()
            mark = _APART.search(text) if one.number not in log.rows else None
            by = (mark[0].strip() or ("\t" if "\t" in mark[0] else " ")) if mark is not None else ""
            parts = _BY[by].split(text) if by else []
            is_row = _FEWEST <= len(parts) <= _SLOTS and not parts[1].startswith((":", "="))  # a setting is none
            key = (by, len(parts)) if is_row else None
            if run and (key != shape or one.number != run[-1][0].number + 1):
                yield _run(run, log)
                run = []
            shape = key
            if key is not None:
                run.append((one, parts))
        yield _run(run, log)


def _run(run: Sequence[tuple[Said, list[str]]], log: _Log) -> Relation:
    if len(run) < _FEWEST:
        return []
    (_, first), *below = run
    columns = [*zip(*(parts for _, parts in below), strict=True)]
    named = zip(first, columns, strict=True)
    is_head = len({*first}) == len(first) and any(all(map(_FIGURE.fullmatch, column)) for column in columns)
    is_head = is_head and all(_COLUMN.fullmatch(name) and name not in column for name, column in named)
    names = first if is_head else [*map(str, range(len(first)))]
    rows: Relation = []
    for one, parts in below if is_head else run:
        found = ((name, cell(name if is_head else "", part)) for name, part in zip(names, parts, strict=True))
        cells = {name: slot for name, slot in found if slot is not None}
        rows.append(Row(log.place(one), cells, one.file, one.number))
    return rows


# --- lines


def _of_lines(logs: Sequence[_Log], words: Words) -> Iterator[Relation]:
    """Lines of one template; one that comes again in a file word for word is one. `words`: names that tables and documents have."""
    alike: defaultdict[tuple[str, int], dict[tuple[object, ...], Row]] = defaultdict(dict)
    for log in logs:
        for one in log.lines:
            if one.number in log.rows:
                continue
            template, found = _slots(one.line.text[:_CHARACTERS], words)
            if len(found) < _FEWEST and len(one.line.text) < len(one.raw):  # what stands before it may be a name
                template, found = _slots(one.raw[:_CHARACTERS], words)
            if one.line.process is not None:
                found = [Slot("pid", str(one.line.process), "before"), *found]
            if one.line.host is not None:
                found = [Slot("name", one.line.host, "before"), *found]
            if (len(found) >= _FEWEST or any(slot.kind == "pid" for slot in found)) and len(found) <= _SLOTS:
                place = log.place_of(one) or log.headed.get(one.number)
                # Else who speaks of a rank may not be it.
                is_roster = any(slot.kind == "pid" or slot.label == CALLED for slot in found)
                own_slots = [slot for slot in found if is_roster or slot.kind != "rank"]
                cells = {str(at): slot for at, slot in enumerate(own_slots)}
                row = Row(place, cells, one.file, one.number)
                alike[_SPACES.sub(" ", template).strip(_OUTER), len(found)].setdefault((place, *found), row)
    yield from ([*own.values()] for own in alike.values())


def _slots(text: str, words: Words) -> tuple[str, list[Slot]]:
    """A template and its slots, those of a call among them."""
    called = call_of(text, words.scripts) if words.scripts else None
    if called is None:
        template, every = slots(text, words.names)
        return template, [*_with_seats(every, words.places)] if words.places else every
    before, found = slots(text[: called.begin], words.names)
    after, more = slots(text[called.end :], words.names)
    return f"{before}{CALLED}{after}", [*found, *_called(called), *more]


def _with_seats(every: Sequence[Slot], words: Set[str]) -> Iterator[Slot]:
    """Numbers of processes at their places, by words that scripts put before them (`slot3.pid`), in place of these names."""
    for slot in every:
        found = _SEAT.match(slot.value) if slot.kind == "name" else None
        if found is None or found["word"].lower() not in words:
            yield slot
        elif ":" not in slot.value:
            yield Slot("local_rank", found["number"].lstrip("0") or "0", found["word"])


def _seats(cells: Mapping[str, Slot], words: Set[str]) -> Iterator[tuple[str, Slot]]:
    """The same of what else is called so: a heading, a cell. They stay names, too; where the number is told besides, it is that."""
    if any(slot.kind == "local_rank" for slot in cells.values()):
        return
    for column, slot in cells.items():
        for seat in _with_seats([slot], words) if slot.kind == "name" else ():
            if seat is not slot:
                yield column, seat


def _called(one: Call | None) -> list[Slot]:
    """What a call tells: the rank, and the words that its script gets."""
    if one is None:
        return []
    words = (cell("", word) for word in one.words if len(word) > 1)
    named = (word for word in words if word is not None and word.kind != "number")
    return [Slot("rank", str(one.rank), CALLED), *named]


# --- sections


def _of_sections(logs: Sequence[_Log], words: Words) -> Iterator[Relation]:
    """Files called alike, and parts of files below headings that are alike, or between empty lines."""
    files: defaultdict[str, list[_Log]] = defaultdict(list)
    for log in logs:
        files[_shape(log.path)].append(log)
        for parts in log.parts:
            yield _rows([(name, part, log.place(part[0])) for name, part in parts], words)
        if len(blocks := _blocks(log.lines)) >= _FEWEST:
            yield _rows([("", part, log.place(part[0])) for part in blocks], words)
    for own_files in files.values():
        if len(own_files) >= _FEWEST:
            parts_ = [(log.path, log.lines, log.place_of(log.lines[0]) if log.lines else None) for log in own_files]
            rows = _rows(parts_, words, settings_only=True)
            for row in rows:  # what a file says that it is, own documents tell
                row.cells.update(file=Slot("file", row.file, ""))
                for column in [column for column, slot in row.cells.items() if slot.kind == "rank"]:
                    del row.cells[column]
            yield rows


def _parts(own: Sequence[Said]) -> Iterator[list[tuple[str, list[Said]]]]:
    """For each sort of heading that comes again: (heading, the lines below it)."""
    sorts: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(own):
        if one.line.process is not None:  # below a line of a journal another's line may be
            continue
        text = one.raw.strip()[:_CHARACTERS]
        if _HEADED.fullmatch(text) or _PROMPT.match(text):
            sorts[_shape(_command(text))].append(at)
    marks = sorted({at for places in sorts.values() if len(places) >= _FEWEST for at in places})
    for places in sorts.values():
        if len(places) < _FEWEST:
            continue
        parts = []
        for at in places:
            end = next((other for other in marks if other > at), len(own))
            if end > at + 1:
                parts.append((_command(own[at].raw.strip()[:_CHARACTERS]), list(own[at + 1 : end])))
        yield parts


def _command(text: str) -> str:
    """A heading; of a command that was typed, what it asks, whatever is then left out of the answer."""
    return text.partition("|")[0].strip() if _PROMPT.match(text) else text


def _blocks(own: Sequence[Said]) -> list[list[Said]]:
    """Runs of settings, a line each, between empty lines."""
    found: list[list[Said]] = [[]]
    for before, one in pairwise([None, *own]):
        if before is not None and one is not None and one.number > before.number + 1:
            found.append([])
        if one is not None and setting(one.raw) is not None:
            found[-1].append(one)
    return [block for block in found if len(block) >= _FEWEST]


def _rows(
    parts: Sequence[tuple[str, Sequence[Said], str | None]], words: Words, *, settings_only: bool = False
) -> Relation:
    """What each part is called, where these differ, and what is told in it once; of a whole log only settings: it may speak of anybody."""
    named = _names([name for name, *_ in parts])
    rows = []
    for names, (_, part, place) in zip(named, parts, strict=True):
        told: defaultdict[str, set[Slot]] = defaultdict(set)
        for one in part:
            found = setting(one.raw)
            if found is not None and (own := cell(found["key"], found["value"])) is not None:
                told[found["key"].strip()].add(own)
                continue
            noted = _NOTED.fullmatch(found["value"].strip()) if found is not None else None
            if found is not None and noted is not None and (own := cell(found["key"], noted["value"])) is not None:
                told[found["key"].strip()] |= {own} if own.kind == "pid" else set()
            template, every = _slots(one.line.text[:_CHARACTERS], words) if not settings_only else ("", [])
            for at, slot in enumerate(every[:_SLOTS]):
                told[f"{_SPACES.sub(' ', template)} {at}"].add(slot)
        cells = {column: min(own) for column, own in told.items() if len(own) == 1} | names
        if len(cells) > (0 if settings_only else 1) and part:
            rows.append(Row(place, cells, part[0].file, part[0].number))
    return rows


def _names(texts: Sequence[str]) -> list[dict[str, Slot]]:
    """Headings, or paths, that are alike but for some words → these words."""
    words = [_WORDS.findall(text) for text in texts]
    found: list[dict[str, Slot]] = [{} for _ in texts]
    for at, column in enumerate(zip(*words, strict=True)) if len({*map(len, words)}) == 1 else ():
        if len({*column}) < _FEWEST:
            continue
        for row, whole, word, own in zip(found, column, apart(column), words, strict=True):
            before = own[at - 1] if at else ""
            word = word if any(map(str.isalpha, word)) or not any(map(str.isalpha, whole)) else whole
            if (one := cell(before, word) or cell(before, whole)) is not None:
                row[f"called {at}"] = one
            elif _NUMBERS.fullmatch(whole):  # an address that was cut
                row[f"called {at}"] = Slot("name", whole, before)
    return found
