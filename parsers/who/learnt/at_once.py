"""Labels whose numbers speak at once: of processes, where tries, rounds and layers come one after the other or train nothing of their own.

[worker 3] step 22 | loss nan | gnorm nan          (r2 4011) ready          [p1] up, world 3
"""

from collections import defaultdict
from collections.abc import Sequence

from parsers.forms import framings
from parsers.forms.reading import real, whole
from parsers.text import vocabulary
from parsers.who.learnt.counts import is_one_to_one
from parsers.who.lines.beginnings import Said
from parsers.who.lines.introductions import PROCESS, worlds_in

_GROUP_OF_WORLD = "tp"
_PIDS = 300  # a number from here on may be a process's
_FEWEST = 2
_STEPS = 3  # in which all numbers tell a loss
_RECORDS = 2048
# who may have a loss of its own
TRAINING = (*PROCESS, "worker", "wrk", "learner", "trainer", "replica", "participant", "peer")


def are_at_once(word: str, rows: Sequence[tuple[int, str, Said]], world: int | None, total: str) -> bool:
    """By their word, by pids of their own, or by steps of which each tells its own loss, as many as the world that is told, or as the `total` behind each."""
    is_whole = world in (None, len({number for number, *_ in rows}))
    if total:
        return _train_together(word or TRAINING[0], rows)
    return word == _GROUP_OF_WORLD or _beside_pids(word, rows) or (is_whole and _train_together(word, rows))


def _beside_pids(word: str, rows: Sequence[tuple[int, str, Said]]) -> bool:
    """Three numbers at least behind `r`, each beside a pid of its own, none of which was silent before another of its file began."""
    spans: defaultdict[str, dict[int, list[int]]] = defaultdict(dict)
    beside: defaultdict[int, set[int]] = defaultdict(set)
    for number, _, one in rows:
        spans[one.file].setdefault(number, []).append(one.number)
        pids = [one.line.process, *(other for form, other, _ in one.labels if not form.word)]
        for pid in {pid for pid in pids if pid is not None and pid >= _PIDS}:
            beside[pid].add(number)
    is_each = len(beside) == len({number for number, *_ in rows}) > _FEWEST and is_one_to_one(beside)
    together = all(max(map(min, own.values())) < min(map(max, own.values())) for own in spans.values())
    return word in ("r", "rk") and is_each and together


def _train_together(word: str, rows: Sequence[tuple[int, str, Said]]) -> bool:
    """Three numbers at least behind a word for a process, or before a total, in one file, that tell a loss each in the same steps, and not the same one; behind any other
    word where each of them has told a world of just so many."""
    if len({one.file for *_, one in rows}) > 1 or not (word in TRAINING or _tell_world(rows)):
        return False
    losses: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for number, _, one in rows[:_RECORDS]:
        told = vocabulary.told(framings.record(one.line.text) or {})
        step, loss = whole(told.get("step")), real(told.get("loss"))
        if step is None or loss is None:
            continue
        losses[number].setdefault(step, loss)
    if len(losses) <= _FEWEST or losses.keys() != {number for number, *_ in rows}:
        return False
    shared = set[int].intersection(*(set(own) for own in losses.values()))
    return len(shared) >= _STEPS and any(len({own[step] for own in losses.values()}) > _FEWEST for step in shared)


def _tell_world(rows: Sequence[tuple[int, str, Said]]) -> bool:
    told: defaultdict[int, set[int]] = defaultdict(set)
    for number, _, one in rows[:_RECORDS]:
        told[number] |= worlds_in(one.line.text)
    return all(sizes == {len(told)} for sizes in told.values())
