"""Spikes of a finite loss in the lines of one training: where each begins, what was normal before, and where it is over.

A spike is a rise far beyond how much the losses before vary, that stays for some lines or shakes the gradient norm. It is over with the
first line that is back near what was normal.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from forensics.model.middle import median

Row = Mapping[str, Any]
BACK = 50  # lines that a loss is compared with
FEW = 8  # so few losses do not tell how much they vary: then all of them must have been lower
_LEAST, _HUNDREDFOLD, _SMALL = 2, 100.0, 0.1
_BEYOND_DOUBT = 1e4  # times the one line before
_ROBUST_Z = 8.0
_STAYS = 0.6  # of the rise that is called a spike (model/tolerances.py)
_FLOOR = 0.04  # of that rise: the least noise of a loss, as a share of its median
_GRADIENT = 3.0  # a gradient norm this many times the calmest one before belongs to the spike
_LIFTED = 0.7  # of the rise that is called a spike, where the gradient norm is lifted with it
_FAR = 5  # times the middle norm: the gradient is shaken
_CALM = 3  # lines after its end before anything that is no further part of it


class Spike(NamedTuple):
    """`onset`: where the gradient began to grow; `outlier`: the first loss; `calm`: the first line that is back at the normal
    loss; `after`: how many lines with a finite loss followed that one. `well`: the line before the onset, `high`: from the first loss to
    the last before `calm`. `norms`: the gradient norm of the last line and the usual one before, where it did not come back with the loss."""

    onset: Row
    outlier: Row
    normal: float
    calm: Row | None
    after: int = 0
    well: Row | None = None
    high: Sequence[Row] = ()
    norms: tuple[float, float] | None = None

    @property
    def first_step(self) -> int | None:
        """The first step that the line of the onset may tell of: a line stands for all since the one before."""
        return since(self.well, self.onset)

    @property
    def last_step(self) -> int | None:
        last = self.shaken["step"]
        return None if last is None else int(last)

    @property
    def shaken(self) -> Row:
        """The last high line of one that is over, else the first."""
        return self.high[-1] if self.calm is not None and self.high else self.outlier

    @property
    def over_step(self) -> int | None:
        """The step from which on the training went on as before; None where it did not for long enough to tell."""
        return self.calm["step"] if self.calm is not None and self.after >= _CALM else None


def spikes(rows: Sequence[Row], rise: float) -> Iterator[Spike]:
    """Lines of one training in their order → all spikes; where the loss does not come back, nothing is looked for after it.
    `rise`: which part of the loss before it makes a spike."""
    finite = finite_lines(rows)
    losses = [row["loss"] for row in finite]
    at = 1
    while at < len(finite):
        lifted = rise * _LIFTED
        least = lifted if _rises(losses, at, lifted) and _is_lifted(finite, at) else rise
        normal = normal_before(finite, losses, at, least)
        if normal is None:
            at += 1
            continue
        back = next((n for n in range(at, len(finite)) if losses[n] < (1 + _STAYS * least) * normal), None)
        begin, calm = _onset(finite, at), None if back is None else finite[back]
        after = 0 if back is None else len(finite) - back - 1
        norms = None if back is None else _still_lifted(finite, begin, back)
        yield Spike(finite[begin], finite[at], normal, calm, after, finite[begin - 1], finite[at:back], norms)
        at = len(finite) if back is None else back + 1


def since(well: Row | None, row: Row) -> int | None:
    """The step after that of the line before, where both tell one; else the line's own."""
    if well is None or well["step"] is None or row["step"] is None:
        return None if row["step"] is None else int(row["step"])
    return min(int(well["step"]) + 1, int(row["step"]))


def finite_lines(rows: Sequence[Row]) -> list[Row]:
    """Those with a loss that is a number above zero."""
    return [row for row in rows if row["loss"] is not None and isfinite(row["loss"]) and row["loss"] > 0]


def normal_before(finite: Sequence[Row], losses: Sequence[float], at: int, rise: float) -> float | None:
    """The loss before a line, if a spike begins with that line."""
    if not _rises(losses, at, rise):
        return None
    before = losses[max(0, at - BACK) : at]
    if _is_above_all(losses, at):
        return median(before[-FEW:])
    if at < _LEAST:
        return None
    normal = median(before)
    if losses[at] < (1 + rise) * normal:
        return None
    noise = max(median(abs(loss - normal) for loss in before), _FLOOR * rise * normal)
    if 0.6745 * (losses[at] - normal) / noise < _ROBUST_Z:
        return None
    if len(before) < FEW and losses[at] <= max(before):
        return None
    stays = [loss >= (1 + _STAYS * rise) * normal for loss in losses[at + 1 : at + 4]]
    sudden = len(before) >= 5 and (_shaken(finite, at) or (bool(stays) and stays[0]))
    return normal if sudden or (len(stays) == 3 and all(stays)) else None


def _rises(losses: Sequence[float], at: int, rise: float) -> bool:
    """Is a loss so far above the lowest one before? Nearly none is: of the others no middle need be known."""
    return losses[at] >= (1 + rise) * min(losses[max(0, at - BACK) : at])


def _is_above_all(losses: Sequence[float], at: int) -> bool:
    """Twice what any line before showed, the first among them, and the next lines too: how much a loss that falls varies needs not be known. A
    hundred times as much needs no eight lines before."""
    highest = max(losses[:at])
    behind = losses[at + 1 : at + 1 + _CALM]
    times = _HUNDREDFOLD if at >= _LEAST else _BEYOND_DOUBT
    if min(losses[:at]) > _SMALL and losses[at] > times * highest and behind:
        return min(behind) > times * highest  # an excerpt of a few lines
    return at >= FEW and losses[at] > 2 * highest and len(behind) == _CALM and min(behind) > highest


def _norms(rows: Sequence[Row], at: int) -> list[float]:
    norms = [row["grad_norm"] for row in rows[max(0, at - BACK) : at]]
    return [norm for norm in norms if norm is not None and isfinite(norm) and norm > 0]


def _shaken(rows: Sequence[Row], at: int) -> bool:
    norm, before = rows[at]["grad_norm"], _norms(rows, at)
    return norm is not None and bool(before) and norm >= _FAR * median(before)


def _is_lifted(rows: Sequence[Row], at: int) -> bool:
    """Is the gradient norm, with that line and the next ones, above all before it, and far above the middle of them?"""
    norm, before = rows[at]["grad_norm"], _norms(rows, at)
    if norm is None or len(before) < FEW or norm < _GRADIENT * median(before):
        return False
    behind = _norms(rows[: at + 1 + _CALM], at + 1 + _CALM)[-_CALM:]
    return bool(min(norm, *behind) > max(before))


def _still_lifted(rows: Sequence[Row], begin: int, back: int) -> tuple[float, float] | None:
    """The last gradient norm and the usual one before a spike, where all since the loss came back are far above that."""
    before, behind = _norms(rows, begin), _norms(rows[back:], len(rows) - back)
    if len(before) < FEW or len(behind) < _CALM or min(behind) < _FAR * median(before):
        return None
    return behind[-1], median(before)


def _onset(rows: Sequence[Row], at: int) -> int:
    """Back along the steps before the outlier whose gradient norm was already far above the calmest one, and above all that
    came before."""
    calm = min(_norms(rows, at), default=None)
    while calm is not None and at > 1:
        norm = rows[at - 1]["grad_norm"]
        if norm is None or norm < _GRADIENT * calm or norm <= max(_norms(rows, at - 1), default=0.0):
            break
        at -= 1
    return at
