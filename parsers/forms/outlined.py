"""Reports in which a part is called after its step: what a rank writes about itself, all steps in one document.

    rank = 7                                 rank: 7                           {"rank": 7, "host": "n2",
    [load]                                   steps:                             "load": {"exp_avg_nan": 0},
    exp_avg_nan = 0                            9001:                            "steps": {"9001": {"loss_local": 3.9},
    [step.9001]                                  loss_local: 3.9                          "9002": {"loss_local": NaN}}}
    loss_local = 3.9                           9002: {loss_local: .nan}        {"step_9001": {…}, "step_9002": {…}}

    rank: 7                                  rank = 7                 steps in a list beside other parts
    load: {parameters: {nan: 0}}             [load]
    steps:                                   nan_in_params = 0
      - {step: 9001, loss_local: 3.9}        [[steps]]
      - {step: 9002, loss_local: .nan}       step = 9001

    ---                                      [actor]                  documents of a stream that each tell their step, and
    run: {rank: 7, world_size: 8}            rank = 7                 a part of its own for who it is
    ---                                      world = 8
    step: 9001                               [iteration 9001]
    experts: {e5: {w_norm: .nan}}            baseline = nan

    [step 9001 mb 2]                         a part that tells more counts than that of its step, or what of the step it is
    in_absmax = 1.7
    [step 9001 update]
    grad_norm = nan

A part of a step is a record of it, what lies within it under names joined by a slash; any other part is a record without a step. Parts may be
called after ranks as well, around those of steps or within them. What stands beside the parts and says who it is, is so of all; so does the one part that
tells a rank, where no part of a step does.
"""

from collections.abc import Iterator, Sequence

from parsers.forms.reading import HEADER, Row, Said, whole_text
from parsers.schema.parser import Source
from parsers.text import vocabulary
from parsers.text.outlines import Leaf, Path, leaves
from parsers.text.patterns import regex

_BYTES = 4 << 20
_FEWEST = 2  # steps
_SHOWN = 200
_COUNT = r"(?:(?:global|train)_?)?(?:step|iter(?:ation)?|update|round)"
_MAY = regex(
    rf"(?im)^[\s\[{{,\"']{{0,40}}{_COUNT}s?[\"']?[\s._:/-]{{0,4}}\{{?\s{{0,40}}[\"']?\d{{1,15}}[\"']?[\s\]:.{{]"
    rf"|[\"']{_COUNT}(?:s?[\"']\s{{0,4}}:\s{{0,4}}\{{\s{{0,40}}[\"']\d|[ ._/-]{{0,2}}\d{{1,15}}(?:[ ,._/-][ \w,./=-]{{0,60}})?[\"']\s{{0,4}}:\s{{0,4}}\{{)"
    rf"|^\[{_COUNT}[ ._/=-]{{0,2}}\d{{1,15}}[ ,_/-]|^\s{{0,8}}{_COUNT}[ _-]\d{{1,15}}[_-][a-z][\w-]{{0,40}}:\s"
)
_MAY_LIST = regex(
    rf"(?im)^\s{{1,40}}-\s{{1,4}}\{{?\s{{0,4}}{_COUNT}\s?:\s?\d|^\s{{0,8}}-\s{{1,4}}\{{\s{{0,4}}{_COUNT}\s?:\s?\d|^\[\[[^\[\]]{{1,80}}\]\]\s{{1,8}}{_COUNT}\s?=\s?\d"
)
_MAY_STREAM = regex(rf"(?im)^---\s{{1,40}}{_COUNT}\s{{0,4}}:\s{{0,4}}\d")
_NUMBER = regex(r"\d{1,15}")
_COUNTED = regex(rf"(?i){_COUNT}")
_CALLED = {  # what a part is called after, and what holds parts that are numbers
    "step": (regex(rf"(?i){_COUNT}[ ._/-]{{0,2}}(?P<number>\d{{1,15}})"), regex(rf"(?i){_COUNT}s?")),
    "rank": (regex(r"(?i)(?:global_?)?rank[ ._/-]{0,2}(?P<number>\d{1,7})"), regex(r"(?i)(?:global_?)?(?:by_|per_)?ranks?")),
}  # fmt: skip
_FURTHER = regex(
    rf"(?i)(?P<step>{_COUNT}[ ._/=-]{{0,2}}\d{{1,15}})(?P<rest>(?:[ ,._/-]{{1,3}}[a-z][a-z_-]{{0,20}}(?:[ .=_-]{{0,2}}\d{{1,7}})?){{1,3}})"
)  # counts behind that of the step, and what of it a part is
_COUNTS = regex(r"(?i)(?P<name>[a-z](?:[a-z_-]{0,20}[a-z])?)(?:[ .=_-]{0,2}(?P<number>\d{1,7}))?")
_IDENTITY = ("rank", "host", "pid", "local_rank", "device", "attempt", "pod")


def outlined_names(text: str) -> list[str]:
    """The names of the first record of a step in a document that begins so; none where it is no such document."""
    if not any(form.search(text) for form in (_MAY, _MAY_LIST, _MAY_STREAM)):
        return []
    own = leaves(text[: text.rfind("\n") + 1] or text) or cut_leaves(text)
    if _are_members(own):
        return []
    found = list(_records(own))
    told = [one for _, one, is_step in found if is_step]
    return [name for name in told[0] if name] if len(told) >= _FEWEST else []


def cut_leaves(text: str) -> list[Leaf]:
    """Of a document of JSON that goes on, as much as is whole."""
    end = len(text)
    for _ in range(8 if text.lstrip()[:1] == "{" else 0):
        end = text.rfind("}", 0, end)
        found = next((own for close in ("}", "}}", "}}}") if (own := leaves(text[: end + 1] + close))), [])
        if found or end < 0:
            return found
    return []


def outlined_rows(source: Source) -> Iterator[Row]:
    """(line, text, record) of each part; a line of no record is a HEADER."""
    if (text := whole_text(source, _BYTES, "a report")) is None:
        return
    lines = text.splitlines()
    at = 0
    for path, said, _ in _records(leaves(text)):
        line = said.pop("")
        if line == 1 and text.lstrip()[:1] == "{":  # JSON tells no lines: where its name stands
            at = max(at, text.find(f'"{path[-1]}"', at))
            line = text.count("\n", 0, at) + 1
        yield line, lines[line - 1][:_SHOWN] if line <= len(lines) else "", said
    yield from ((number, "", HEADER) for number in range(1, len(lines) + 1))


def _part(path: Path, listed: frozenset[Path]) -> tuple[Path, Said]:
    """Which part a leaf is of, and the step and the rank that it and those around it are called after; without a step the outermost one.
    `listed`: parts in lists, and documents, that tell a step."""
    called: Said = {}
    if path[:1] in listed:
        return path[:1], {"step": None}
    end = 1
    for at in range(1, len(path) - 1):
        name = str(path[at])
        if path[: at + 1] in listed:
            return path[: at + 1], called | {"step": None}
        # It holds names: no line of prose with a figure, or a list.
        is_part = at + 1 < len(path) and isinstance(path[at + 1], str)
        if is_part and "step" not in called and (further := _FURTHER.fullmatch(name)) is not None:
            counts = {one["name"]: one["number"] for one in _COUNTS.finditer(further["rest"])}
            words = {"of": " ".join(what for what, number in counts.items() if not number)}
            name = further["step"].replace("=", " ")
            called = called | {what: one for what, one in (counts | words).items() if one}
        for what, (form, many) in _CALLED.items():
            if found := form.fullmatch(name):
                called, end = called | {what: found["number"]}, at + 1
            elif at > 1 and _NUMBER.fullmatch(name) and many.fullmatch(str(path[at - 1])):
                called, end = called | {what: name}, at + 1
    return path[: end if "step" in called else min(end + 1, len(path) - 1)], called


def _listed(told: Sequence[Leaf]) -> frozenset[Path]:
    """The parts in a list with a name that tell a step, where the document has other parts: a list of steps alone is a table. Of several documents those that
    tell one at their outermost level."""
    listed = (leaf.path for leaf in told if len(leaf.path) > 3 and isinstance(leaf.path[-2], int))
    steps = {path[:-1] for path in listed if _COUNTED.fullmatch(str(path[-1]))}
    names = {leaf.path[1] for leaf in told}
    stream = {leaf.path[:1] for leaf in told if len(leaf.path) == 2 and _COUNTED.fullmatch(str(leaf.path[1]))}
    is_listed = bool(names - {path[1] for path in steps})
    return frozenset(stream if len(stream) >= _FEWEST else steps if is_listed else ())


def _records(told: Sequence[Leaf]) -> Iterator[tuple[Path, Said, bool]]:
    """Each part, its record, and whether that is of a step, in order; the line of its first leaf is under the empty name."""
    listed = _listed(told)
    of_steps: set[Path] = set()
    parts: dict[Path, Said] = {}
    common: Said = {}
    for leaf in told:
        part, called = _part(leaf.path, listed)
        if len(part) < 2 and part not in listed:
            if _is_identity(str(leaf.path[-1])):
                common[str(leaf.path[-1])] = leaf.value
            continue
        if "step" in called:
            of_steps.add(part)
        by_names = {name: cell for name, cell in called.items() if cell is not None}
        own = parts.setdefault(part, {"": leaf.line, **by_names})
        own["/".join(map(str, leaf.path[len(part) :]))] = leaf.value.removeprefix(".")
    common = _of_one([own for part, own in parts.items() if part not in of_steps]) | common
    is_told = any("rank" in vocabulary.told(parts[part]) for part in of_steps)
    for part, own in parts.items():
        is_step = part in of_steps
        yield part, {**({} if is_step and is_told else common), **own}, is_step


def _of_one(parts: Sequence[Said]) -> Said:
    """Who it is, by the parts that tell a rank, where all of these tell the same one."""
    told = [(one, vocabulary.told(one)) for one in parts]
    ranks = [said["rank"] for _, said in told if "rank" in said]
    if len({*ranks}) != 1:
        return {}
    of_it = next(one for one, said in told if "rank" in said)
    return {name: cell for name, cell in of_it.items() if name and _is_identity(name)}


def _are_members(own: Sequence[Leaf]) -> bool:
    """Do documents of a stream that says nowhere whose it is hold parts that are alike: of each process one?"""
    parts: dict[Path, list[str]] = {}
    for leaf in own:
        if len(leaf.path) > 3 and not any(isinstance(one, int) for one in leaf.path[1:]):
            parts.setdefault(leaf.path[:-1], []).append(str(leaf.path[-1]))
    alike = {(path[:-1], tuple(names)) for path, names in parts.items()}
    streams = {leaf.path[0] for leaf in own if len(leaf.path) == 2 and _COUNTED.fullmatch(str(leaf.path[1]))}
    is_told = any("rank" in vocabulary.told({str(leaf.path[-1]): leaf.value}) for leaf in own)
    return len(streams) >= _FEWEST and not is_told and len(parts) >= _FEWEST * len(alike) > 0


def _is_identity(name: str) -> bool:
    return vocabulary.meant(name) in _IDENTITY
