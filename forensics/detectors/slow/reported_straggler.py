"""Whom do tools that compare the ranks of a job call slow: NVIDIA's resiliency extension and Megatron-LM's detector?

The extension names stragglers; one report is a suspicion, two are a statement. It also scores the worst ranks of each report,
1 being the best: a rank far below all others listed with it counts as one that is named. Megatron-LM prints the fastest and the
slowest rank of every interval even of a healthy run: a rank is slow if it is the slowest far more often than chance allows
and the spread matters. In a pipeline the slowest may be a stage that has more to do, so there nobody is named.
"""

from collections import Counter

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.durations.outliers import tail
from forensics.facts.hosts.checks import hosts_of_nodes
from forensics.facts.rows.event_rows import Row, detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.middle import median
from forensics.model.names import Cause, Reason
from forensics.model.ref import Ref
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import slow as words

_REPORTS = 2  # that name a rank
_INTERVALS, _SPREAD, _ALPHA = 3, 0.05, 1e-3
_SCORE, _FINE = 0.75, 0.9  # of the extension: below it a rank is a straggler; the others listed with it are above
_LISTED = 4  # lines between two lists of one report, at most
_MANY = 0.25  # of the ranks
_CLOCK = 0.1  # below the fastest: devices of one model do not differ so much
_FEW = 4  # ranks, where the size of the job is not known
_TIMERS: tuple[tuple[str, Cause], ...] = (("step", "straggler_compute"), ("batch-generator", "straggler_host"))


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → a finding for each tool that names somebody, nothing where figures of all ranks are there to be compared."""
    if case.slow_phases.slower or case.slow_phases.late:
        return ()
    if named := _named(case):
        return named
    if nodes := _nodes(case):
        return nodes
    weakest = _weakest(case)
    slowest = (_slowest(case, timer, cause) for timer, cause in _TIMERS if case.tables["timings"].height)
    return tuple(one for one in (weakest, *slowest) if one is not None)[:1]


def _named(case: Case) -> tuple[Finding, ...]:
    found = [
        row
        for row in rows(case.events, "straggler")
        if row["severity"] == "warning" and row["names_ranks"] and row["names_rank_space"] == "global"
    ]
    scored = _scored(case)
    told = {rank for row in found for rank in row["names_ranks"]} | {rank for rank, _ in scored} | case.expected
    size = max(told, default=-1) + 1
    found = [row for row in found if len(row["names_ranks"]) <= max(2, _MANY * size)]  # all became slower: none is odd
    if not found:
        return ()
    named = [(rank, row) for row in found for rank in row["names_ranks"]] + scored
    places = {rank: {(row["file"], row["line"]) for who, row in named if who == rank} for rank, _ in named}
    most = sorted(rank for rank, at in places.items() if len(at) >= _REPORTS)
    ranks = most or sorted(places)
    text = words.TOOL_CALLS_SLOW(who=ranks_text(ranks), number=max(map(len, places.values())))
    claim = Claim(text, "for", refs(row for rank, row in named if rank in ranks))
    return (_finding(ranks, "straggler_compute", claim, None if most else "single_snapshot"),)


def _nodes(case: Case) -> tuple[Finding, ...]:
    """Nodes that a check of all nodes calls slow, by the hosts that they say they are."""
    said = [row for row in rows(case.events, "straggler") if row["names_rank_space"] == "node" and row["names_ranks"]]
    told = {(node, row["file"], row["line"]) for row in said for node in row["names_ranks"]}
    rounds = Counter((node, file) for node, file, _ in told)  # every member may repeat what was found
    again = sorted({node for (node, _), times in rounds.items() if times >= _REPORTS})
    slow = again or sorted({node for node, _ in rounds})
    if not slow:
        return ()
    names = hosts_of_nodes(case.events)
    hosts = tuple(names.get(node, f"node {node}") for node in slow)
    target = joined(hosts, ", ")
    text = words.CHECK_CALLS_SLOW(hosts=target, number=max(rounds.values()))
    return (
        Finding(
            hosts=hosts if again else (),
            suspect_hosts=() if again else hosts,
            domain="infrastructure",
            first_anomaly=FirstAnomaly(host=hosts[0] if len(hosts) == 1 else None, signature="slow_node"),
            undecided=() if again else ("single_snapshot",),
            claims=(Claim(text, "for", refs(row for row in said if set(slow) & set(row["names_ranks"]))),),
            actions=(to_do("inspect_hardware", target, words.CHECK_TOOK_LONGER),),
            collect=(words.TIMES_OF_CHECKS,),
            summary=words.SLOW(what=text),
        ),
    )


def _scored(case: Case) -> list[tuple[int, Row]]:
    """Ranks whose score is far below that of all others in the same list of a report."""
    scores = [row for row in rows(case.events, "straggler") if row["code"] == "score" and row["value"] is not None]
    lists: list[list[Row]] = []
    for row in scores:
        last = lists[-1][-1] if lists else None
        if last is not None and row["file"] == last["file"] and row["line"] - last["line"] <= _LISTED:
            lists[-1].append(row)
        else:
            lists.append([row])
    found = []
    for listed in lists:
        low = [row for row in listed if row["value"] < _SCORE]
        if len(low) == 1 and len(listed) >= _FEW and all(row["value"] >= _FINE for row in listed if row is not low[0]):
            found.append((int(detail(low[0])["of_rank"]), low[0]))
    return found


def _slowest(case: Case, timer: str, cause: Cause) -> Finding | None:
    """The rank that is the slowest of nearly all intervals, by the lines that tell the fastest and the slowest."""
    told = case.tables["timings"].filter((pl.col("name") == timer) & (pl.col("min_ms") > 0))
    told = told.drop_nulls(["max_rank", "max_ms"]).sort("file", "line")
    if told.height < _INTERVALS:
        return None
    rank, votes = min(Counter(told["max_rank"].to_list()).items(), key=lambda one: (-one[1], one[0]))
    size = max(len(case.expected), _FEW, told["max_rank"].n_unique())
    own = told.filter(pl.col("max_rank") == rank)
    longer = median((own["max_ms"] - own["min_ms"]) / own["min_ms"])
    if longer < _SPREAD or 2 * votes < told.height or tail(votes, told.height, 1 / size) * size >= _ALPHA:
        return None
    percent = f"{100 * longer:.0f}"
    text = words.SLOWEST_OF_INTERVALS(rank=rank, votes=votes, intervals=told.height, timer=timer, percent=percent)
    shown = tuple(Ref(file=row["file"], line=row["line"], text=f"/{rank}") for row in own.head(3).iter_rows(named=True))
    alone = case.roles.is_known([rank]) and not case.roles.is_piped
    return _finding([rank], cause, Claim(text, "for", shown), None if alone else "membership_unknown")


def _weakest(case: Case) -> Finding | None:
    """The rank with the lowest throughput of nearly all of the last intervals, by the lines that tell the lowest and the
    highest; that its device has the lowest clock, too, cannot be by design, nor can what began in the course of the run."""
    told = [(row, detail(row)) for row in rows(case.events, "straggler") if "Etpt" in detail(row)]
    ends = [(row, more["Etpt"], more.get("Clk")) for row, more in told if {"min", "max"} <= more["Etpt"].keys()]
    last = ends[len(ends) // 2 :]
    if len(last) < _INTERVALS:
        return None
    rank, votes = min(Counter(one["min"][1] for _, one, _ in last).items(), key=lambda one: (-one[1], str(one[0])))
    own = [(row, one, clock) for row, one, clock in last if one["min"][1] == rank]
    lower = median(1 - one["min"][0] / one["max"][0] for _, one, _ in own if one["max"][0])
    size = max(len(case.expected), _FEW, max(one["max"][1] for _, one, _ in ends) + 1)
    if rank is None or lower < _SPREAD or tail(votes, len(last), 1 / size) * size >= _ALPHA or votes < 0.8 * len(last):
        return None
    slow_clock = [clock for _, _, clock in own if clock and {"min", "max"} <= clock.keys() and clock["min"][1] == rank]
    by_clock = 2 * len(slow_clock) > len(own) and all(c["min"][0] <= (1 - _CLOCK) * c["max"][0] for c in slow_clock)
    began = sum(one["min"][1] == rank for _, one, _ in ends[: len(ends) // 4]) <= len(ends) // 8 and len(ends) >= 8
    text = words.LOWEST_THROUGHPUT(rank=rank, votes=votes, intervals=len(last), percent=f"{100 * lower:.0f}")
    text = words.AND_LOWEST_CLOCK(throughput=text) if by_clock else text
    sure = by_clock or began or (case.roles.is_known([rank]) and not case.roles.is_piped)
    claim = Claim(text, "for", refs(row for row, _, _ in own))
    return _finding([rank], "straggler_compute", claim, None if sure else "membership_unknown")


def _finding(ranks: list[int], cause: Cause, claim: Claim, doubt: Reason | None) -> Finding:
    return Finding(
        cause=cause,
        ranks=() if doubt else tuple(ranks),
        suspect_ranks=tuple(ranks) if doubt else (),
        first_anomaly=FirstAnomaly(signature="slow_rank"),
        undecided=(doubt,) if doubt else (),
        claims=(claim,),
        collect=(words.TIMES_OVER_STEPS,),
        summary=words.SLOW(what=claim.text),
    )


DETECTOR = Detector("reported_straggler", (), detect, "slow")
