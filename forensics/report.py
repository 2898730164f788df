"""The answer that users hold: the document with what they do with it. Nothing below the command line, `analyze` and the readers of stored
documents imports it; what reports are made of is forensics/model/incident.py."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from forensics.model.incident import Document, Place
from reports import explanations

if TYPE_CHECKING:
    import polars as pl

    from reports.language import Language
    from reports.plot import Plots


class RankOf(msgspec.Struct, frozen=True):
    """One rank of a report: `report.rank(5)`."""

    report: "Report"
    rank: int

    @property
    def place(self) -> Place | None:
        """Host, process and GPU, where the rank is named or suspected and the bundle tells."""
        return next((place for place in self.report.verdict.places if place.rank == self.rank), None)

    def timeline(
        self,
        since: str | None = None,
        until: str | None = None,
        *,
        source: str | None = None,
        level: str | None = None,
        last: int | None = None,
    ) -> "pl.DataFrame":
        """What every source says of this rank, in order of time: time and its basis, source, what, file, line and more.
        `time` has no zone: "utc" or "local", as its host printed it, says `basis`.

        `since`, `until`: "10:05" of any day, or "2026-11-20T10:05" (UTC). `source`: "nccl", "stack", … `level`: at least
        "info", "warning", "error" or "fatal". `last`: so many rows."""
        ask = self.report.__dict__.get("_timeline")
        if ask is None:
            raise ValueError("this report holds no evidence: make it with forensics.analyze(bundle)")
        return ask(rank=self.rank, since=since, until=until, source=source, level=level, last=last)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.report!r}>"

    def explain(self) -> str:
        """Why this rank is at fault, or why not."""
        return self.report.explain(self.rank)


class Report(Document, frozen=True, kw_only=True, dict=True):
    """The answer for a bundle: `verdict` first, then everything that it rests on.

    In a notebook, a report as the last line of a cell shows itself. `print(report.to_markdown())` gives the text for an
    issue, `report.save("incident.html")` the page. The fields are those of incident.json."""

    def rank(self, rank: int) -> RankOf:
        """One rank: its timeline, its place, and why it is, or is not, at fault. Raises NoSuch, a ValueError."""
        explanations.known(self, rank)
        return RankOf(self, rank)

    def explain(self, what: int | str) -> str:
        """Why a rank is at fault, or why not; or the meaning of a word of the verdict ("rank_absent", "supported"). Raises
        NoSuch."""
        return explanations.of_rank(self, what) if isinstance(what, int) else explanations.of_word(what)

    @property
    def plot(self) -> "Plots":
        """Charts for a notebook: `.timeline()`, `.ranks()`, `.series()`. They need Altair (the extra `plot`)."""
        from reports import plot

        return plot.Plots(self)

    def to_markdown(self) -> str:
        """The report as Markdown, ready for an issue."""
        from reports import markdown

        return markdown.render(self)

    def save(self, file: str | Path, *, language: "Language" = "en") -> None:
        """Write the page (.html), the document (.json) or the text (.md), by the name of the file; whole or not at all. `language`: "en" or
        "zh", of the page and the text."""
        from reports import html, json, markdown, outputs

        forms: dict[str, Callable[[], bytes]] = {
            ".html": lambda: html.render(self, language=language).encode(),
            ".json": lambda: json.render(self),
            ".md": lambda: markdown.render(self, language).encode(),
        }
        make = forms.get(Path(file).suffix)
        if make is None:
            raise ValueError(f"{file}: the name must end in .html, .json or .md")
        outputs.write(str(file), make())

    def __repr__(self) -> str:
        from reports import notebook

        return notebook.line(self)

    def _repr_html_(self) -> str:
        from reports import notebook

        return notebook.repr_html(self)


def schema() -> dict[str, Any]:
    """JSON Schema of incident.json."""
    return msgspec.json.schema(Report)
