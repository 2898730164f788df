"""One step as tracks, a box for each operation, and the shares of the time of all steps as one bar."""

from typing import NamedTuple

from forensics.model.drawn import OneStep
from forensics.model.incident import Incident
from forensics.model.said import Said
from reports.html.drawings import labels
from reports.layout import cut, plain

_LEFT, _WIDTH, _TOP, _ROW, _BOX = 110, 860, 22, 24, 18  # pixels
_TICKS = 5
_LEAST = 1  # pixels: shorter ones are drawn as one line
_NAME = 60  # characters of an operation


class Box(NamedTuple):
    x: float
    width: float
    sort: str
    title: str


class Lane(NamedTuple):
    """`y`: its upper edge."""

    y: int
    rank: int
    name: str
    is_culprit: bool
    boxes: list[Box]


class Step(NamedTuple):
    number: int
    width: int
    height: int
    box: int
    ticks: list[tuple[int, str]]
    lanes: list[Lane]
    left_out: int  # ranks


class Share(NamedTuple):
    """A part of the bar. `text`: what it is, and how much of the time."""

    x: float
    width: float
    name: str
    text: Said


class Shares(NamedTuple):
    width: int
    parts: list[Share]


def step(told: OneStep | None) -> Step | None:
    """Tracks by stage and rank."""
    if told is None or told.ms <= 0 or not told.tracks:
        return None
    scale = (_WIDTH - _LEFT - 12) / told.ms
    lanes = []
    for at, track in enumerate(told.tracks):
        boxes = []
        for one in track.spans:
            if one.end_ms >= 0 and one.start_ms <= told.ms:
                begin, title = (
                    max(0.0, one.start_ms),
                    f"{cut(plain(one.kind), _NAME)}: {one.end_ms - one.start_ms:.4g} ms",
                )
                width = round(max(_LEAST, (min(one.end_ms, told.ms) - begin) * scale), 1)
                boxes.append(Box(round(_LEFT + begin * scale, 1), width, one.sort, title))
        name = f"rank {track.rank}" + ("" if track.stage is None else f" · stage {track.stage}")
        lanes.append(Lane(_TOP + _ROW * at, track.rank, name, track.is_culprit, boxes))
    moments = [told.ms * number / _TICKS for number in range(_TICKS)]
    ticks = [(round(_LEFT + ms * scale), f"{ms:.4g} ms") for ms in moments]
    return Step(told.step, _WIDTH, _TOP + _ROW * len(lanes) + 4, _BOX, ticks, lanes, told.ranks - len(told.tracks))


def shares(incident: Incident) -> Shares | None:
    """The bar of what slow steps are lost to; the rest is what they take anyway."""
    told = incident.counterfactual.shares if incident.counterfactual is not None else None
    if told is None:
        return None
    whole = {**told, "rest": max(0.0, 1 - sum(told.values()))}
    parts, x = [], 0.0
    for name, share in whole.items():
        if share > 0 and name in labels.SHARE:
            text = labels.SHARE_OF(what=labels.SHARE[name], percent=f"{100 * share:.1f}")
            parts.append(Share(round(x, 1), round(share * _WIDTH, 1), name, text))
            x += share * _WIDTH
    return Shares(_WIDTH, parts)
