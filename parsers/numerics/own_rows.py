"""Statistics of tensors as recorders of one's own write them, under names that nobody has taught: what a column is follows from its cells.

    {"it": 58, "node": "h2", "slot": 1, "where": "blocks.11.mlp.fc2", "what": "out", "absmax": "nan", "nonfinite": 64}
    | phase | module | in nan | out nan | out absmax |                      what goes in and comes out: a row of `tensors` for each
    iteration=58 gpu=1 host=h2 layer_path=blocks.11.mlp.fc2 kind=activation max_abs=nan

Table `tensors`, a row per record with a statistic. Known by name are the step, the host, the rank and statistics (absmax, mean, nan and inf
counts). The **module** is the column of texts with the most values, most of which have a dot, a slash or a number in them; what else is text and says in
or out, a gradient or a parameter, is the **tensor**, else it is an output, or the parameter (of a file of gradients, its gradient) that the module's name ends in. The **place** on the host is a column of numbers that is, with the host, a
process that the bundle tells the rank of. A record whose rank is not told makes no row of `tensors`. Rows are in the order of their file.
A gradient that is said to be reduced is what a communication gave.

Printed by: recorders of training programs.
Versions: none.
Source: as users write them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from parsers.forms import framings
from parsers.forms.counting import step_column
from parsers.forms.reading import Row, real, text_lines, whole
from parsers.numerics.tensor_names import BACKWARD, DIGEST, STATISTICS, TENSORS, is_version_1
from parsers.schema.names import NO_NAMES, Names
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.training.told_values import of_record

_DECISIVE = frozenset(("absmax", "min", "max", "nan_count", "inf_count"))
_PATH = regex(r"[A-Za-z_][\w-]*(?:[./\[]+[\w-]+\]?)+|[A-Za-z_]+\d+")
_SIDES = ({"in", "out"}, {"input", "output"}, {"inputs", "outputs"})
_INPUT = regex(r"(?i)in(?:puts?)?")
_PARAMETER = regex(r"(?P<module>.{1,300})[._](?P<name>weight|bias|kernel|[wb]_\d{1,3})")  # by its name
_OF_GRADIENTS = regex(r"(?i)(?<![a-z])grad(?:ient)?s?(?![a-z])")
_IN_BACKWARD = regex(r"(?i)(?:bwd|backward)(?![a-z])")
_OF_END = regex(r"(?i)(?P<end>in|out)(?:puts?)?[ _./-](?P<rest>[a-z][a-z_0-9]{1,20})")
_IS_UPDATED = regex(r"(?i)(?:.*_)?(?:after|post)(?:_(?:update|step|optim\w*))?")
_IS_REDUCED = regex(
    r"(?i)(?:all[_-]?)?reduced?|(?:grad_?)?sync(?:ed|hroni[sz]ed)?|averaged|(?:after|post)[_-](?:all_?)?(?:reduce|sync|ddp)"
)
_SLOT = regex(r"[a-z_0-9]{1,40}")
_PHASES = ("forward", "backward", "grad_sync", "optimizer")  # as the format of this project calls them
_ENDS = ({"in": "input", "out": "output"}, {"in": "grad_output", "out": "grad_input"})  # forward, backward
_FEWEST, _SAMPLE, _ABOVE = 2, 400, 8
_Said = Mapping[str, Any]


def accepts(path: str, head: bytes) -> bool:
    """Records with a step, a statistic that decides, and a column of modules, that are no tensor statistics, version 1."""
    names = framings.names(path, head)
    known = {found[1] for name in names if (found := _statistic(name)) is not None}
    if not known & _DECISIVE or (is_version_1(names) and ("tensor" in names or not is_told_apart(path, head))):
        return False
    records = _first(path, head)
    is_counted = "step" in vocabulary.meanings(sorted(names)) or step_column([*records[:-1]]) is not None
    return is_counted and _module(records) is not None


def is_told_apart(path: str, head: bytes) -> bool:
    """Does a column of the first records say what goes in and what comes out, as version 1 has no word for?"""
    return _tells_sides(_sampled(path, head))


def _first(path: str, head: bytes) -> Sequence[_Said]:
    """Those of a file's first bytes, on lines of their own or in a document."""
    lines = [one for line in head.decode("utf-8", "replace").splitlines()[:_SAMPLE] if (one := framings.record(line))]
    form = framings.framing(path, head)
    is_of_ends = any((found := _statistic(name)) and found[0] for name in framings.names(path, head))
    if form not in ("document", "sections", "nested", *framings.TABLES):
        return lines
    records = _sampled(path, head)
    if form in ("sections", "nested"):  # whether a figure went in or came out must be told
        return records if is_of_ends or _tells_tensors(records) else lines
    return records if form not in framings.TABLES or is_of_ends or _tells_sides(records) else lines


def _sampled(path: str, head: bytes) -> list[_Said]:
    return [said for _, said in _records(islice(framings.rows_in(path, head), _SAMPLE))]


def _records(rows: Iterable[Row]) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, said) for number, _, said in rows if said is not None and said is not framings.HEADER)


def _tells_tensors(records: Sequence[_Said]) -> bool:
    """Does most of them say which tensor of its module it is, in a word or by the module's name?"""
    module = _module(records)
    told = [
        any(
            _PARAMETER.fullmatch(cell) if name == module else any(form.fullmatch(cell) for _, form in TENSORS)
            for name, cell in one.items()
            if isinstance(cell, str)
        )
        for one in records
    ]
    return 2 * sum(told) > len(told)


def _tells_sides(records: Iterable[_Said]) -> bool:
    """Does a column say of each record whether that went in or came out?"""
    cells: defaultdict[str, set[str]] = defaultdict(set)
    for one in records:
        for name, cell in one.items():
            cells[name].add(str(cell).lower())
    return any(side <= own for side in _SIDES for own in cells.values())


def _module(records: Iterable[_Said], names: Names = NO_NAMES) -> str | None:
    """The column of the modules; none that calls processes."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for one in records:
        for name, cell in one.items():
            if isinstance(cell, str) and _statistic(name) is None and real(cell) is None and not DIGEST.fullmatch(cell):
                values[name].add(cell)
    paths = [
        name
        for name, own in values.items()
        if 2 * sum(_PATH.fullmatch(cell) is not None for cell in own) > len(own) >= _FEWEST
        and not vocabulary.told({name: "x"}).keys() & {"host", "time", "rank"}
        and all(names.of_cell(cell) is None for cell in own)
    ]
    return max(paths, key=lambda name: len(values[name]), default=None)


def parse(source: Source) -> Tables:
    """tensors, ranks for who runs where; of records without a rank `values`, which who owns the file may still be known for, and unread."""
    records = [*_records(framings.rows(source))]
    module = _module((said for _, said in islice(records, _SAMPLE)), source.labels.names)
    if (counter := step_column([said for _, said in records[:_SAMPLE]])) is not None:
        records = [(number, {**said, "step": said.get(counter)}) for number, said in records]
    place = _place(source, (said for _, said in records))
    named = "param_grad" if _is_of_gradients(source, records[0][0] if records else 0) else "param"
    made = [(said, row) for number, said in records for row in _rows_of(source, number, said, module, place, named)]
    told = [row | {"record": at} for at, row in enumerate(row for _, row in made if row["rank"] is not None)]
    lost = [(said, row) for said, row in made if row["rank"] is None]
    reason = f"{len(lost)} rows without rank"
    unread = [{"file": source.path, "line": row["line"], "reason": reason} for _, row in lost[:1]]
    kept = ("rank", "step", "file", "line")
    values = [{name: row[name] for name in kept} | found for said, row in lost if (found := of_record(said))]
    who = dict.fromkeys((row["rank"], row["host"]) for row in told if row["host"] is not None)
    ranks = [{"rank": rank, "host": host, "how": "statistics", "file": source.path} for rank, host in who]
    return tables_of(tensors=told, ranks=ranks, values=values, unread=unread)


def _is_of_gradients(source: Source, first: int) -> bool:
    """Does the name of the file, or what stands above its first record, say so?"""
    above = islice((text for _, text in text_lines(source)), min(first, _ABOVE))
    return any(map(_OF_GRADIENTS.search, (source.path, *above)))


def _place(source: Source, records: Iterable[_Said]) -> str | None:
    """The column of numbers that are, with the host, known processes, in all records."""
    fitting: set[str] | None = None
    places = source.labels.names.places
    for said in records:
        host = _host(source, said)
        own = {name for name, cell in said.items() if (number := whole(cell)) is not None and (host, number) in places}
        own = {name for name in own if _statistic(name) is None}
        fitting = own if fitting is None else fitting & own
        if not fitting:
            return None
    return next(iter(fitting)) if fitting and len(fitting) == 1 else None


def _host(source: Source, said: _Said) -> str:
    told = vocabulary.told(said)
    return str(told.get("host", source.host or source.labels.names.here or ""))


def _rows_of(
    source: Source, number: int, said: _Said, module: str | None, place: str | None, named: str
) -> Iterator[dict[str, Any]]:
    """A row for each tensor that a record tells of: one, or what goes in and what comes out."""
    slots = [found[0] for name in said if (found := _statistic(name)) is not None]
    for slot in ("in", "out") if "out" in slots else ("in", ""):  # what is said of neither is of what came out
        if (row := _row(source, number, said, module, place, named, slot)) is not None:
            yield row


def _row(
    source: Source, number: int, said: _Said, module: str | None, place: str | None, named: str, slot: str
) -> dict[str, Any] | None:
    figures: dict[str, Any] = dict(_figures(said, ("", slot) if slot == "out" else (slot,)))
    told = vocabulary.told(said)
    step = whole(told.get("step"))
    if not figures or step is None or module is None or not isinstance(said.get(module), str):
        return None
    host, rank = str(told.get("host", source.host or "")), whole(told.get("rank"))
    if rank is None and place is not None:  # what the file is called by is a host only where the place was found by it
        host = _host(source, said)
        rank = source.labels.names.places.get((host, whole(said[place]) or 0))
    words = [cell for name, cell in said.items() if isinstance(cell, str) and name != module]
    is_backward = any(_IN_BACKWARD.match(word) for word in words)
    slotted = next((found for word in words if (found := _slotted(word)) is not None), None)
    words += [part for word in words if (part := word[max(map(word.rfind, "./:")) + 1 :]) != word]  # fwd.out
    whose = _PARAMETER.fullmatch(said[module]) if not slot else None
    otherwise = "output" if whose is None else named
    tensor = slotted or next((name for name, form in TENSORS if any(map(form.fullmatch, words))), otherwise)
    if tensor == "param_grad" and any(map(_IS_REDUCED.fullmatch, words)):
        tensor, whose, words = "grad_out", None, ["grad_sync"]
    otherwise = "backward" if is_backward or tensor in BACKWARD else "forward"
    phase = next((word for word in words if word in _PHASES), otherwise)
    if tensor in ("param", "optimizer_state") and any(map(_IS_UPDATED.fullmatch, words)):
        phase = "optimizer"
    is_entrance = not slot and whose is None and _INPUT.fullmatch(said[module]) is not None
    if is_entrance:  # of what the rank begins with, and of no module
        tensor = "input"
    if slot:
        tensor = _ENDS[phase == "backward"][slot]
    digests = [cell for cell in words if DIGEST.fullmatch(cell)]
    figures |= {"checksum": digests[0].lower()} if len(digests) == 1 and not slot else {}
    return {
        "rank": rank if rank is not None else source.rank,
        "step": step,
        "phase": phase,
        "module": None
        if is_entrance
        else said[module]
        if whose is None or tensor in ("input", "output")
        else whose["module"],
        "tensor": tensor if whose is None or tensor in ("input", "output") else f"{tensor}.{whose['name']}",
        "host": host or None,
        "attempt": source.attempt,
        "file": source.path,
        "line": number,
        **figures,
    }


def _slotted(word: str) -> str | None:
    """A tensor and which of several it is: `param.bias`, `out.1`; None where what stands behind the dot says what it is (`fwd.out`)."""
    head, dot, slot = word.partition(".")
    of, told = (next((name for name, form in TENSORS if form.fullmatch(part)), None) for part in (head, slot))
    return f"{of}.{slot}" if dot and of is not None and told in (None, "param") and _SLOT.fullmatch(slot) else None


def _statistic(name: str) -> tuple[str, str] | None:
    """(in, out, or nothing where the record is of one tensor; the column) of a name."""
    if (column := STATISTICS.get(name.lower())) is not None:
        return "", column
    found = _OF_END.fullmatch(name)
    column = None if found is None else STATISTICS.get(found["rest"].lower())
    return None if found is None or column is None else (found["end"].lower(), column)


def _figures(said: _Said, slots: Sequence[str]) -> Iterator[tuple[str, float | int]]:
    for name, cell in said.items():
        if (found := _statistic(name)) is None or found[0] not in slots:
            continue
        figure = whole(cell) if found[1].endswith("_count") else real(cell)
        if figure is not None:
            yield found[1], figure


PARSER = FileParser(name="own_rows", accepts=accepts, parse=parse)
