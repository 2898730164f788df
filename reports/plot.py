"""Charts of a report for notebooks, drawn by Altair: `pip install "collective-forensics[plot]"`. Nothing is computed here."""

from typing import TYPE_CHECKING, Any

from forensics.model.incident import Incident, Report
from reports import summary, words
from reports.layout import spans

if TYPE_CHECKING:
    from collections.abc import Sequence

_MISSING = 'charts need Altair, which is not installed: pip install "collective-forensics[plot]"'
_COLUMNS = 32  # ranks in a row of the grid, where no host is known
_COLORS = {
    "ok": "#5b8c5a", "waiting": "#d9a441", "culprit": "#b3261e", "suspect": "#d9682b", "dead": "#5b5b5b",
    "ended": "#8f8f9e", "no_data": "#c8c8c8",
}  # fmt: skip


class Plots:
    """`report.plot`: each method gives an Altair chart, which a notebook shows and `chart.save` writes."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def timeline(self) -> Any:
        """What happened before and after the first anomaly: time across, one row for who is named, peers and system."""
        rows = [
            {
                "time": row.time_utc,
                "who": words.STATE.get(row.lane, row.lane),
                "what": row.label,
                "ranks": row.ranks,
                "times": row.count,
            }
            for row in self._incident.views.timeline
        ]
        return (
            _altair()
            .Chart(_data(rows), title=self._title)
            .mark_point(filled=True, size=80)
            .encode(x="time:T", y="who:N", color="who:N", tooltip=["time:T", "what:N", "ranks:N", "times:Q"])
            .properties(width=600)
        )

    def ranks(self) -> Any:
        """The state of every rank: a square each, a row per host."""
        incident = self._incident
        state = {rank: cell.state for cell in incident.views.grid for rank in _members(cell.ranks)}
        hosts = {rank: row.host for row in incident.views.hosts for rank in _members(row.ranks)}
        rows, used = [], dict[str, int]()
        for rank in sorted(state):
            host = hosts.get(rank) or f"ranks {rank - rank % _COLUMNS}-"
            used[host] = used.get(host, -1) + 1
            rows.append({"rank": rank, "host": host, "place": used[host], "state": words.STATE[state[rank]]})
        altair = _altair()
        scale = altair.Scale(domain=[words.STATE[name] for name in _COLORS], range=list(_COLORS.values()))
        return (
            altair.Chart(_data(rows), title=self._title)
            .mark_rect(stroke="white")
            .encode(
                x=altair.X("place:O", title=None),
                y=altair.Y("host:N", title=None),
                color=altair.Color("state:N", scale=scale),
                tooltip=["rank:Q", "host:N", "state:N"],
            )
        )

    def series(self) -> Any:
        """Loss, gradient norm, loss scale and largest values over steps, of who is named and of the others."""
        rows = [
            {"step": step, "value": value, "what": one.what, "who": _who(one.who, one.rank), "module": one.module}
            for one in self._incident.views.series
            for step, value in zip(one.steps, one.values, strict=True)
            if isinstance(value, float | int)  # NaN and Inf have no place on an axis
        ]
        return (
            _altair()
            .Chart(_data(rows))
            .mark_line(point=True)
            .encode(
                x="step:Q", y="value:Q", color="who:N", row="what:N", tooltip=["step:Q", "value:Q", "who:N", "module:N"]
            )
            .resolve_scale(y="independent")
        )

    @property
    def _incident(self) -> Incident:
        incident = summary.primary(self._report)
        if incident is None:
            raise ValueError("the report holds no incident")
        return incident

    @property
    def _title(self) -> str:
        from reports.answer import answer

        return answer(self._incident).sentence


def _altair() -> Any:
    try:
        import altair
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_MISSING, name="altair") from error
    return altair


def _data(rows: "Sequence[dict[str, Any]]") -> Any:
    return _altair().Data(values=list(rows))


def _members(ranges: str) -> "Sequence[int]":
    return [rank for first, last in spans(ranges) for rank in range(first, last + 1)]


def _who(who: str, rank: int | None) -> str:
    word = words.STATE.get(who, who)
    return word if rank is None else f"rank {rank} ({word})"
