"""The first screen: what a person at three in the morning reads first. A status bar, one sentence, and chips that say who and where."""

from collections.abc import Sequence
from typing import NamedTuple

from forensics.model.drawn import MeshAxis
from forensics.model.incident import Device, Document, Incident, Place, Verdict
from forensics.model.said import Form, Noun, Said
from forensics.model.texts import ranges
from reports.html.drawings.ranks import short
from reports.html.links import path_end
from reports.layout import count, ranks_phrase, time_text
from reports.summary import Row

_RANKS, _HOSTS = 3, 2  # chips each; of more ranks one chip with all
_TENTH = 0.05  # GPU hours that round to one
_AXES = ("tp", "cp", "ep", "dp", "pp")

_READ_OF = Form("{seen:,} of {all:,} ranks read", "已读 {seen:,} / {all:,} 个 rank")
_READ = Form("{ranks} read", "已读 {ranks}")
_RANK = Noun("rank", "ranks", "个 rank")
_NO_RANKS = Said("ranks not named", "rank 未知")
_STEP = Form("step {step:,}", "step {step:,}")
_COST = Form("{hours:,.1f} rank hours lost", "损失 {hours:,.1f} rank 小时")
_ZONE = Form("{time}, zone unknown", "{time}，时区未知")
_RUN_OF = Form("rank {rank}", "rank {rank}")


class Item(NamedTuple):
    """Of the status bar. `name`: its class in the page."""

    name: str
    text: Said | str


class Chip(NamedTuple):
    """`state`: "culprit", "suspect" or "". `address`: where on the page it leads, without #; "" where nowhere."""

    state: str
    text: Said | str
    more: str
    address: str


def status_bar(report: Document, incident: Incident | None) -> list[Item]:
    """Ranks read, when, step, cost: what is not known is left out."""
    seen, whole = count(",".join(report.coverage.ranks_seen)), report.coverage.ranks_expected
    read = _READ_OF(seen=seen, all=whole) if whole else _READ(ranks=_RANK(seen)) if seen else _NO_RANKS
    items = [Item("read", read)]
    if incident is None:
        return items
    first, lost = incident.verdict.first_anomaly, incident.decision.lost_gpu_hours or 0
    if first.time_utc is not None:
        items.append(Item("when", _when(incident, first.time_utc)))
    step = first.step if first.step is not None else incident.lost.last_completed_step
    if step is not None:
        items.append(Item("step", _STEP(step=step)))
    if lost >= _TENTH:
        items.append(Item("cost", _COST(hours=lost)))
    return items


def _when(incident: Incident, time: str) -> Said | str:
    """A stamp as its host printed it has no zone, whatever the timeline makes of it."""
    told = incident.views.timeline
    same = [item for item in told if item.time_utc[:19] == time[:19]] or told
    text = time_text(time)
    return _ZONE(time=text.removesuffix(" UTC")) if same and all(item.basis == "local" for item in same) else text


def rows(incident: Incident, facts: Sequence[Row]) -> list[Row]:
    """Of the rows of the summary those that bar and chips have not said."""
    verdict, first = incident.verdict, incident.verdict.first_anomaly
    said = {"runs on"} if len(verdict.ranks) == 1 else set()
    if (first.time_utc or first.step is not None) and (first.rank is None or first.rank in verdict.ranks):
        said |= {"first anomaly"} if first.host is None or first.host in verdict.hosts else set()
    return [row for row in facts if row.label not in said]


def chips(incident: Incident) -> list[Chip]:
    """Rank, host, GPU, where in the job, process, place in the program; of several ranks what they share."""
    verdict = incident.verdict
    named = verdict.ranks or verdict.cycle
    ranks, state = (named, "culprit") if named else (verdict.suspects.ranks, "suspect")
    places = {one.rank: one for one in verdict.places if one.rank in ranks}
    found = _ranks(ranks, state)
    homes = list(dict.fromkeys(one.host for one in places.values() if one.host))
    hosts = homes or verdict.hosts or verdict.suspects.hosts
    found += [Chip("" if ranks else state, host, "", f"host={host}") for host in hosts[:_HOSTS]]
    found += [Chip("", f"+{len(hosts) - _HOSTS:,}", "", "")] if len(hosts) > _HOSTS else []
    if len(ranks) == 1:
        found += _of_one(places.get(ranks[0]) or Place(rank=ranks[0]), verdict, incident.views.mesh)
    elif not ranks:
        found += [chip for device in verdict.devices[:_HOSTS] for chip in _gpu(device.index, device.pci)]
    code = verdict.code
    if code is not None and code.file:
        place = path_end(code.file if code.line is None else f"{code.file}:{code.line}")
        found.append(Chip("", code.function or place, place if code.function else "", ""))
    return found


def _ranks(ranks: Sequence[int], state: str) -> list[Chip]:
    if len(ranks) <= _RANKS:
        return [Chip(state, _RUN_OF(rank=rank), "", f"rank={rank}") for rank in ranks]
    text = ranges(ranks)
    return [Chip(state, ranks_phrase(text, 3), "", f"rank={text}")]


def _of_one(place: Place, verdict: Verdict, mesh: Sequence[MeshAxis]) -> list[Chip]:
    only = verdict.devices[0] if len(verdict.devices) == 1 else Device()
    gpu = place.device
    found = _gpu(only.index if gpu.index is None else gpu.index, gpu.pci or only.pci)
    if at := _coordinates(place, mesh):
        found.append(Chip("", at, "", ""))
    if place.pid is not None:
        found.append(Chip("", f"pid {place.pid}", "", ""))
    return found


def _gpu(index: int | None, pci: str | None) -> list[Chip]:
    if index is None:
        return [Chip("", f"GPU {pci}", "", "")] if pci else []
    return [Chip("", f"GPU {index}", pci or "", "")]


def _coordinates(place: Place, mesh: Sequence[MeshAxis]) -> str:
    """ "TP 5 · DP 0 · PP 2", else by the names that the job gives its axes."""
    told = [(name.upper(), at) for name in _AXES if (at := getattr(place.coordinates, name)) is not None]
    told = told or [(short(axis.name), place.rank // axis.stride % axis.size) for axis in mesh if axis.size > 1]
    return " · ".join(f"{name} {at}" for name, at in told)
