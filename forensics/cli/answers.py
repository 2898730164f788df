"""The questions of an agent, each with a bounded text for an answer: what `forensics mcp` serves.

Everything asked lies in one folder, or is one archive; names that lead out of it are none. Nothing is written, and what is read is
kept for the next question.
"""

import os
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from forensics.cli.questions import shown
from forensics.cli.standing import left_unread, standing
from forensics.model.errors import NoSuch

if TYPE_CHECKING:
    from forensics.report import Report
    from parsers import Evidence

MOST = 16_000  # characters of an answer
CONTEXT, HITS, ROWS = 20, 100, 200  # lines on each side, hits, rows: no more, whatever is asked for
_HELD = 2  # bundles kept in memory
_LISTED = 40


class Answers:
    """`place`: the folder of a bundle or of bundles, or a single file. Methods raise NoSuch, or parsers.BundleError, with a text
    that says what is there."""

    def __init__(self, place: str) -> None:
        self.place = os.path.realpath(place)
        self._held: OrderedDict[str, Evidence] = OrderedDict()
        self._told: dict[tuple[str, bool, int | None], Report] = {}
        self._one = Lock()  # questions come in threads

    def listed(self) -> list[str]:
        """What lies in the folder: bundles, or the files of one."""
        return sorted(name for name in os.listdir(self.place)) if os.path.isdir(self.place) else []

    def analyze(self, bundle: str = "", hung: bool = False, expected_ranks: int | None = None) -> str:
        """The verdict as one JSON object of at most 4 kB: kind, who, why, evidence with file:line, what is missing, what would
        decide it, what to do, and what to ask next. `hung`: it is known that the job made no progress. Start here."""
        from reports import compact

        report = self._report(bundle, hung, expected_ranks)
        return compact.render(report, bundle or os.path.basename(self.place)).decode()

    def evidence(self, bundle: str = "", claim: str = "", context: int = 2) -> str:
        """What the verdict rests on, with the lines around each place as they stand in the bundle: claims for it, against it, and
        what is not recorded. `claim`: the id of one of them, such as "E2"; else all."""
        incident = self._report(bundle).incident
        asked = [one for one in incident.evidence if claim in ("", one.id)]
        if not asked and not claim:
            return f"the verdict rests on no line: {incident.verdict.status_rule}"
        if not asked:
            there = ", ".join(one.id for one in incident.evidence) or "none"
            raise NoSuch(f"no claim is called {claim!r}; there are {there}")
        lines = []
        for one in asked:
            lines.append(f"{one.id} ({one.direction}): {one.claim}")
            for ref in one.refs:
                place = ref.file if ref.line is None else f"{ref.file}:{ref.line}"
                lines += [f"  {place}", *self._around(bundle, ref.file, ref.line, context, ref.text)]
        return _bounded(lines)

    def explain(self, what: str, bundle: str = "") -> str:
        """Why a rank is at fault, or why not (`what`: its number), or what a word of a verdict means ("rank_absent",
        "supported", "no_time_witness")."""
        from reports import explanations

        number = what.removeprefix("rank").strip()
        if number.isascii() and number.isdigit():
            return _bounded(explanations.of_rank(self._report(bundle), int(number)).splitlines())
        return _bounded(explanations.of_word(what).splitlines())

    def show(
        self,
        kind: Literal["rank", "host", "group"],
        name: str,
        bundle: str = "",
        since: str | None = None,
        until: str | None = None,
        source: str | None = None,
        level: Literal["info", "warning", "error", "fatal"] | None = None,
        last: int = 40,
    ) -> str:
        """The records of one rank, host or process group from every source, in order of time, the last ones. Times: "10:05" of
        any day, or "2026-11-20T10:05". `source`: "nccl", "stack", …"""
        subject: dict[str, Any] = {kind: name}
        if kind == "rank":
            if not (name.isascii() and name.isdigit()):
                raise NoSuch(f"{name!r} is no number of a rank")
            subject = {kind: int(name)}
        options = {"since": since, "until": until, "source": source, "level": level, "last": _most(last, ROWS)}
        return _bounded(shown(self._evidence(bundle), options, **subject).splitlines())

    def unread(self, bundle: str = "", most: int = 20) -> str:
        """Lines that no parser knows, by their form: how often, by which ranks, when first and last; the odd ones first. Look
        here for what the verdict cannot know."""
        return _bounded(left_unread(self._path(bundle), self._evidence(bundle), _most(most, ROWS)).splitlines())

    def groups(self, bundle: str = "", group: str | None = None) -> str:
        """Who is where in each process group, by each source: the last call of each rank, and who is behind."""
        return _bounded(standing(self._evidence(bundle), group).splitlines())

    def search(self, text: str, bundle: str = "", files: str = "", context: int = 1, most: int = 20) -> str:
        """Lines of the bundle that hold `text`, whatever their case, with lines around them; archives are looked into. `files`:
        only in files whose path holds it."""
        from parsers.engine.context import search

        if not text.strip():
            raise NoSuch("nothing to search for")
        around = min(max(context, 0), CONTEXT)
        found = search(self._path(bundle), text, files=files, context=around, most=_most(most, HITS))
        lines = []
        for hit in found.hits:
            told = [*hit.before, hit.text, *hit.after]
            lines += [_numbered(hit.file, hit.line, *row) for row in enumerate(told, hit.line - len(hit.before))]
            lines += ["--"] if around else []
        lines += [f"… {found.more:,} more lines hold it"] if found.more else []
        lines += [f"the rest was not searched, {found.ended}"] if found.ended else []
        return _bounded(lines or ["no line holds it"])

    def _path(self, bundle: str) -> str:
        path = "" if "\0" in bundle else os.path.realpath(os.path.join(self.place, bundle))
        is_inside = path == self.place or path.startswith(self.place.rstrip(os.sep) + os.sep)
        if not is_inside or not os.path.exists(path):
            there = self.listed()
            more = f", … ({len(there)} in all)" if len(there) > _LISTED else ""
            raise NoSuch(f"no bundle is called {bundle!r}; there are {', '.join(there[:_LISTED])}{more}")
        return path

    def _evidence(self, bundle: str) -> "Evidence":
        from parsers import read
        from parsers.engine.sharing import by_size

        path = self._path(bundle)
        with self._one:
            if path not in self._held:
                self._held[path] = read(path, map=by_size)
            self._held.move_to_end(path)
            while len(self._held) > _HELD:
                gone, _ = self._held.popitem(last=False)
                self._told = {asked: report for asked, report in self._told.items() if asked[0] != gone}
            return self._held[path]

    def _report(self, bundle: str, hung: bool = False, expected: int | None = None) -> "Report":
        from forensics.analyze import conclude_evidence

        evidence, asked = self._evidence(bundle), (self._path(bundle), hung, expected)
        with self._one:
            if asked not in self._told:
                self._told[asked] = conclude_evidence(evidence, expected=expected, hung=hung)
            return self._told[asked]

    def _around(self, bundle: str, file: str, line: int | None, context: int, text: str) -> Sequence[str]:
        """Lines as they stand; where they do not show it, as of a record, what was read of it."""
        from parsers.engine.context import around

        told = [] if not line else around(self._path(bundle), file, line, min(max(context, 0), CONTEXT))
        digest = [] if any(text in row for _, row in told) else [f"    {text}"]
        return [*digest, *(f"    {'>' if number == line else ' '} {number}: {row}" for number, row in told)]


def _numbered(file: str, at: int, number: int, text: str) -> str:
    """As grep has it: ":" where the line itself was found."""
    mark = ":" if number == at else "-"
    return f"{file}{mark}{number}{mark}{text}"


def _most(asked: int, limit: int) -> int:
    return min(max(asked, 1), limit)


def _bounded(lines: Sequence[str]) -> str:
    """MOST characters of whole lines, without what acts; how many lines are left out is said."""
    from reports.sanitize import clean

    kept, used = list[str](), 0
    for line in lines:
        text = clean(line)[: MOST // 4]
        if used + len(text) + 1 > MOST:
            return "\n".join([*kept, f"… {len(lines) - len(kept):,} more lines: ask for less"])
        kept.append(text)
        used += len(text) + 1
    return "\n".join(kept)
