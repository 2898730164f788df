"""The answer for whoever reads with a budget, a script or an agent: one JSON object on one line, LIMIT bytes at most.

Everything in it stands in incident.json too; what did not fit is counted in `left_out`. No command and no `file:line` is ever cut:
they are left out whole. Ranks are ranges ("0-4,7"), as everywhere.
"""

import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from forensics.model.commands import is_plain
from forensics.model.incident import Document, Evidence, Incident
from forensics.model.texts import ranges
from reports import answer, json, summary
from reports.layout import cut_middle
from reports.meanings import REASONS
from reports.sanitize import clean

LIMIT = 4096  # bytes, the line end among them
_CHARACTERS = (400, 240, 160, 100, 60, 30, 15)  # of one text: the first that lets all of it in
_ROWS = (6, 4, 3, 2, 1)  # of one list
_PLACE = 200  # characters of a file:line or a command, beyond which it is left out
_SHOWN_RANKS = 2  # whose timelines are worth a look


def render(report: Document, bundle: str) -> bytes:
    """`bundle`: as it was called, for the commands that go on from here."""
    for characters, rows in product(_CHARACTERS, _ROWS):
        document = _Budget(characters, rows).of(report, bundle)
        raw = json.line(document)
        if len(raw) <= LIMIT:
            return raw
    return json.line({"kind": document["kind"], "cause": document["cause"], "left_out": document["left_out"]})


class _Budget:
    """One way to cut: so many characters of a text, so many rows of a list."""

    def __init__(self, characters: int, rows: int) -> None:
        self.characters, self.rows = characters, rows
        self.left_out: dict[str, int] = {}

    def of(self, report: Document, bundle: str) -> dict[str, Any]:
        incident = summary.primary(report)
        if incident is None:
            return {"bundle": self.text(bundle), "kind": "unknown", "cause": None, "left_out": {}}
        verdict, said = incident.verdict, answer.answer(incident)
        others = [f"attempt {one.attempt}: {_headline(one)}" for one in report.incidents if one is not incident]
        told = incident.decision
        return {
            "bundle": self.text(report.bundle.name),
            "kind": verdict.kind,
            "label": said.label,
            "cause": verdict.cause,
            "says": self.text(said.sentence),
            "status": verdict.status,
            "status_who": verdict.status_who,
            "status_why": verdict.status_why,
            "who": self._who(incident),
            "where": self._where(incident),
            "why": self.text(verdict.status_rule),
            "evidence": self._evidence(incident, "for"),
            "against": self._evidence(incident, "against"),
            "missing": self._missing(report, incident),
            "would_decide": self.texts("would_decide", self._would_decide(incident)),
            "do": self._do(incident),
            "decision": {"do": told.do, "reason": self.text(told.reason), "unless": self.text(told.unless)},
            "other_incidents": self.texts("other_incidents", others),
            "next": self.whole("next", list(dict.fromkeys(_next(incident, bundle)))),
            "read": self._read(report),
            "left_out": self.left_out,
        }

    def text(self, text: str) -> str:
        return cut_middle(clean(text, "space"), self.characters)

    def texts(self, name: str, told: Sequence[str]) -> list[str]:
        return [self.text(text) for text in self._first(name, told)]

    def whole(self, name: str, commands: Sequence[str]) -> list[str]:
        """Texts that are no use in part."""
        short = [one for one in commands if len(one) <= _PLACE]
        self._left(name, len(commands) - len(short))
        return list(self._first(name, short))

    def _first(self, name: str, rows: Sequence[Any]) -> Sequence[Any]:
        self._left(name, len(rows) - self.rows)
        return rows[: self.rows]

    def _left(self, name: str, number: int) -> None:
        if number > 0:
            self.left_out[name] = self.left_out.get(name, 0) + number

    def _who(self, incident: Incident) -> dict[str, Any]:
        verdict, suspects = incident.verdict, incident.verdict.suspects
        named = {*verdict.ranks, *verdict.cycle}
        places = [one for one in verdict.places if one.rank in named]
        devices = [f"{one.host or '?'}:{one.pci or one.index or one.uuid}" for one in verdict.devices]
        who = {
            "ranks": self.text(ranges(verdict.ranks)),
            "cycle": self.text(ranges(verdict.cycle)),
            "hosts": self.texts("hosts", verdict.hosts),
            "devices": self.texts("devices", devices),
            "links": self.texts("links", [" - ".join(map(str, link)) for link in verdict.links]),
            "suspects": self.text(ranges(suspects.ranks)),
            "suspect_hosts": self.texts("suspect_hosts", suspects.hosts),
            "program": verdict.program and self.text(verdict.program),
            "places": [
                {"rank": one.rank, "host": one.host and self.text(one.host), "pid": one.pid, "gpu": one.device.index}
                for one in self._first("places", places)
            ],
        }
        return {name: value for name, value in who.items() if value}

    def _where(self, incident: Incident) -> dict[str, Any]:
        verdict, first = incident.verdict, incident.verdict.first_anomaly
        where = {
            "site": verdict.site,
            "code": self.text(answer.code(verdict)),
            "operation": self.text(answer.operation(verdict)),
            "module": first.module and self.text(first.module),
            "step": first.step,
            "time_utc": first.time_utc,
            "last_completed_step": incident.lost.last_completed_step,
        }
        return {name: value for name, value in where.items() if value not in (None, "")}

    def _evidence(self, incident: Incident, direction: str) -> list[dict[str, Any]]:
        told = summary.evidence(incident, direction)
        shown = [one for one in told if not one.refs or len(summary.place(one.refs[0])) <= _PLACE]
        self._left(f"evidence_{direction}", len(told) - len(shown))
        return [self._one(item) for item in self._first(f"evidence_{direction}", shown)]

    def _one(self, item: Evidence) -> dict[str, Any]:
        row: dict[str, Any] = {"id": item.id, "claim": self.text(item.claim)}
        if item.refs:
            row |= {"at": clean(summary.place(item.refs[0])), "line": self.text(item.refs[0].text)}
            self._left("places", len(item.refs) - 1)
        return row

    def _missing(self, report: Document, incident: Incident) -> list[str]:
        unknown = "" if report.coverage.world.size else summary.nobody_missing(report)
        said = [text for text in (summary.missing(report) or unknown,) if text]
        said += [item.claim for item in summary.evidence(incident, "unseen")]
        return self.texts("missing", said)

    def _would_decide(self, incident: Incident) -> list[str]:
        verdict = incident.verdict
        doubts = (reason for reason in verdict.undecided if not answer.is_idle(verdict, reason))
        asked = [f"{reason}: {REASONS[reason].do}" for reason in doubts]
        return asked + [answer.todo(action) for action in incident.actions if action.kind == "collect_more"]

    def _do(self, incident: Incident) -> list[dict[str, Any]]:
        told = [one for one in answer.actions(incident) if len(one.command or "") <= _PLACE]
        self._left("do", len(incident.actions) - len(told))
        return [
            {"what": self.text(answer.todo(one)), "command": one.command and clean(one.command, "space")}
            for one in self._first("do", told)
        ]

    def _read(self, report: Document) -> dict[str, Any]:
        seen = report.coverage
        return {
            "ranks_seen": self.text(",".join(seen.ranks_seen)),
            "ranks_missing": self.text(",".join(seen.ranks_missing)),
            "ranks_expected": seen.ranks_expected,
            "hosts": len(seen.hosts_seen),
            "files": report.bundle.files,
            "lines": seen.lines.total,
            "lines_unrecognised": seen.lines.unrecognised,
            "unreadable": len(seen.unreadable),
            "attempts": seen.attempts,
        }


def _headline(incident: Incident) -> str:
    said = answer.answer(incident)
    return f"{said.label} {said.sentence}"


def headline(report: Document) -> str:
    """ "HANG  Rank 5 (node3) is stuck in …": the answer in one line."""
    incident = summary.primary(report)
    return "UNKNOWN  The bundle holds no incident." if incident is None else clean(_headline(incident), "space")


def _next(incident: Incident, bundle: str) -> Iterator[str]:
    """What to ask the same bundle now, the most telling first."""
    verdict, place = incident.verdict, shlex.quote(bundle)
    if "no_time_witness" in verdict.undecided or "single_snapshot" in verdict.undecided:
        yield f"forensics analyze {place} --hung --compact"
    for rank in [*verdict.ranks, *verdict.cycle, *verdict.suspects.ranks][:_SHOWN_RANKS]:
        yield f"forensics show rank {rank} {place} --last 20"
    for host in filter(is_plain, [*verdict.hosts, *verdict.suspects.hosts][:1]):
        yield f"forensics show host {host} {place} --level warn --last 20"
    if verdict.kind in ("hang", "launch") or incident.blast_radius.ranks_waiting:
        yield f"forensics groups {place}"
    if verdict.kind == "unknown" or answer.is_undecided(verdict):
        yield f"forensics unread {place}"
    if incident.views.stacks:
        yield f"forensics stacks {place}"
    if setup := answer.next_setup(incident):
        yield setup  # so that the next run leaves it
    if verdict.cause:
        yield f"forensics explain {verdict.cause}"


def failed(bundle: str, reason: str) -> bytes:
    """In place of an answer: this bundle could not be read."""
    said = {"bundle": clean(bundle), "kind": None, "error": clean(reason, "space")}
    return json.line({name: value and cut_middle(value, LIMIT // 8) for name, value in said.items()})
