"""The merged prefix tree of stacks (STAT, 2007): frames that follow each other without a branch are one box."""

import re
from collections.abc import Sequence

import msgspec

from forensics.model.drawn import StackClass
from forensics.model.frames import is_own
from reports.layout import spans

CLASSES = 24  # the rarest ones; more would not be read
_RUNS = 400  # of ranks in a text


_PLACE = re.compile(r"\((?P<path>[^()]*[/\\])(?P<end>[^()/\\]+)\)$")
_PACKAGES = re.compile(r".*[/\\](?:site-packages|dist-packages|lib[/\\]python\d(?:\.\d+)?)[/\\]")


class Branch(msgspec.Struct):
    """`frames`: outermost first. `count`: processes here. `ranks`: here; `others`: in the same call, but not here."""

    frames: list[str]
    count: int
    ranks: str
    others: int
    is_rare: bool
    children: list["Branch"] = msgspec.field(default_factory=list)


class Tree(msgspec.Struct):
    branches: list[Branch]
    shown: int  # classes
    cut_off: int


def tree(classes: Sequence[StackClass]) -> Tree | None:
    """Classes of equal stacks → their common frames, then where they part; rare branches first."""
    if not classes:
        return None
    shown = sorted(classes, key=lambda item: (item.count, item.top))[:CLASSES]
    total = sum(item.count for item in shown)
    rows = [(list(reversed(item.frames)) or [item.top], item) for item in shown]
    return Tree(_branches(rows, 0, total), len(shown), len(classes) - len(shown))


def short(frame: str) -> str:
    """A frame with the path below the packages, else with the last folder: "run (/a/b/site-packages/torch/x.py:7)" →
    "run (torch/x.py:7)", "run (/home/a/train/loop.py:7)" → "run (train/loop.py:7)"."""
    found = _PLACE.search(frame)
    if found is None:
        return frame
    below = _PACKAGES.sub("", found["path"])
    if below == found["path"]:
        below = "/".join(re.split(r"[/\\]", below)[-2:])
    return f"{frame[: found.start()]}({below}{found['end']})"


class Run(msgspec.Struct):
    """Frames that follow each other, of the job's own code or of libraries; `is_folded`: shown only if asked for."""

    frames: list[str]
    is_own: bool
    is_folded: bool


def runs(frames: Sequence[str]) -> list[Run]:
    """The job's own frames stand open, libraries' are folded where there are more than one; where no frame is of the job's own
    code, none is folded. In the order of the frames, nothing left out."""
    found: list[Run] = []
    for frame in frames:
        own = is_own(frame)
        if not found or found[-1].is_own != own:
            found.append(Run([], own, False))
        found[-1].frames.append(frame)
    if any(run.is_own for run in found):
        for run in found:
            run.is_folded = not run.is_own and len(run.frames) > 1
    return found


def own_first(stack: StackClass) -> str:
    """The innermost frame of the job's own code; empty where there is none, or where it is the telling one."""
    own = next((frame for frame in stack.frames if is_own(frame)), "")
    return "" if own == stack.top else own


def _branches(rows: list[tuple[list[str], StackClass]], depth: int, whole: int) -> list[Branch]:
    here = sum(item.count for _, item in rows)
    parted: dict[str, list[tuple[list[str], StackClass]]] = {}
    for frames, item in rows:
        if depth < len(frames):
            parted.setdefault(frames[depth], []).append((frames, item))
    found = [_branch(some, depth, here, whole) for some in parted.values()]
    return sorted(found, key=lambda branch: (branch.count, branch.frames))


def _branch(rows: list[tuple[list[str], StackClass]], depth: int, beside: int, whole: int) -> Branch:
    """As many frames as all rows share."""
    shortest = min(len(frames) for frames, _ in rows)
    end = depth + 1
    while end < shortest and len({frames[end] for frames, _ in rows}) == 1:
        end += 1
    count = sum(item.count for _, item in rows)
    return Branch(
        frames=rows[0][0][depth:end],
        count=count,
        ranks=_together([item.ranks for _, item in rows]),
        others=beside - count,
        is_rare=count * 3 < whole and count < beside,
        children=_branches(rows, end, whole),
    )


def _together(texts: Sequence[str]) -> str:
    """Range texts as one, in order; neighbours joined."""
    runs: list[tuple[int, int]] = []
    for first, last in sorted(run for text in texts for run in spans(text)):
        if runs and first <= runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], max(last, runs[-1][1]))
        else:
            runs.append((first, last))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs[:_RUNS])
