"""What stands beside the proof of a finding and is no part of it: measures of its devices, what schedulers and checks say of
its hosts, for how long its links were down, how much of a host is lost. It names nobody and raises no status."""

from collections.abc import Collection, Iterable

import polars as pl
from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.ends.launch_class import launch_class
from forensics.facts.ends.process_ends import OWN_CAUSES, is_consequence
from forensics.facts.hosts.checks import HostChecks, host_checks
from forensics.facts.rows.event_rows import Row, of_kinds, refs
from forensics.facts.rows.locations import listed
from forensics.facts.waits.unrecorded import unrecorded
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Action
from forensics.model.middle import median
from forensics.model.names import Kind
from forensics.model.said import joined
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import advice
from forensics.words import verdict as words

_SHOWN, _PLACES = 8, 4
_NO_FORKED_LOCK = "TOKENIZERS_PARALLELISM"
_LINE = 200  # characters of a line that are quoted


def beside(case: Case, finding: Finding, kind: Kind) -> list[Claim]:
    """All of it, for the hosts and ranks that a finding names or suspects."""
    hosts = case.hosts_of(finding)
    told = {claim.text for claim in finding.claims}
    found = [*_measured(case, finding, hosts), *_links(case, hosts), *_running(case)]
    found += [*_checks(case, sorted(hosts)), *_extent(case, finding), *_common(case, hosts), *_pairs(case, hosts)]
    found += [*(_launch(case, finding) if kind != "hang" else ()), *_unseen(case, kind), *_without_a_time(case, kind)]
    found += [*_forked(case, finding), *(_gave_up(case, finding) if kind == "hang" else ())]
    return [claim for claim in found if not any(claim.text in text for text in told)]


def _measured(case: Case, finding: Finding, hosts: frozenset[str]) -> list[Claim]:
    """What stands apart in the telemetry of its devices; of a host without ranks, of all of them."""
    named = finding.subjects
    own = (one for one in case.apart if one.rank in named or (one.host in hosts and (one.rank is None or not named)))
    return [Claim(one.text, "for", one.refs) for one in own][:_SHOWN]


def _gave_up(case: Case, finding: Finding) -> list[Claim]:
    """After how long the others gave up: how long it all stood still is another figure."""
    told = of_kinds(case.events, "collective_timeout", "store_timeout").filter(
        (pl.col("value") > 0) & (pl.col("rank_space") == "global") & ~pl.col("rank").is_in([*finding.ranks])
    )
    if not told.height:
        return []
    first = told.sort("rank", "value", "file", "line").unique("rank", keep="first", maintain_order=True)
    seconds = f"{median(first['value']) / 1000:,.1f}".removesuffix(".0")
    text = advice.GAVE_UP_AFTER(who=ranks_text(first["rank"].to_list()), seconds=seconds)
    return [Claim(text, "for", refs(first.iter_rows(named=True), 1))]


def _links(case: Case, hosts: Collection[str]) -> list[Claim]:
    """How often and for how long links of its hosts were down."""
    return [Claim(one.text, "for", one.refs[:_PLACES]) for one in case.flaps if one.host in hosts][:_SHOWN]


def _forked(case: Case, finding: Finding) -> list[Claim]:
    """Of a rank that stands in its tokenizer or at a lock, its own warning that it was forked with threads beside it: a lock that one of
    them held is held for ever in what was forked."""
    if finding.cause != "rank_absent" or finding.site not in ("data_loading", "lock"):
        return []
    is_advice = (pl.col("code") == "advice") & pl.col("detail").str.contains('"tokenizers.forked"', literal=True)
    is_own = pl.col("rank").is_in(sorted(finding.subjects)) & (pl.col("rank_space") == "global")
    said = case.events.filter(is_advice & is_own)
    if said.is_empty():
        return []
    who = ranks_text(said["rank"].unique().to_list())
    return [Claim(words.FORKED(who=who), "for", refs(said.iter_rows(named=True)))]


def with_setting_of_forks(case: Case, finding: Finding) -> Finding:
    """With the setting that avoids it first, where a rank stands in what it warned of: the line that it stands at is well."""
    if not _forked(case, finding):
        return finding
    who = ranks_text(sorted(finding.subjects))
    setting = Action(
        kind="check_config", target=_NO_FORKED_LOCK, command=f"export {_NO_FORKED_LOCK}=false", reason=words.FORKED_LOCK(who=who),
        look=advice.WHERE_IT_IS_SET, then=advice.SET_BEFORE_START, source="tokenizers: TOKENIZERS_PARALLELISM",
    )  # fmt: skip
    return replace(finding, actions=(setting, *finding.actions))


def _running(case: Case) -> list[Claim]:
    """A job that its scheduler still runs though processes of it ended."""
    ended = sorted(rank for rank, end in case.ends.items() if end.how in ("died", "failed"))
    said = case.events.filter((pl.col("kind") == "scheduler") & (pl.col("code") == "running")).sort("file", "line")
    if not ended or not said.height:
        return []
    return [Claim(words.STILL_CALLED_RUNNING(who=ranks_text(ended)), "for", refs(said.iter_rows(named=True), 1))]


def _checks(case: Case, hosts: Iterable[str]) -> list[Claim]:
    """Whether a host failed its check before the job, passed it, or had none."""
    checks = {short_host(host): one for host, one in host_checks(case.events).items()}
    return [_check(host, checks.get(host), len(checks)) for host in hosts][:_SHOWN] if checks else []


def _check(host: str, one: HostChecks | None, checked: int) -> Claim:
    if one is None:
        return Claim(words.NOT_CHECKED(host=host, others=words.OTHERS_CHECKED(checked)), "unseen")
    if one.failed:
        failed = [row for listed in one.failed.values() for row in listed]
        return Claim(words.FAILED_CHECK(host=host, checks=joined(sorted(one.failed), ", ")), "for", refs(failed))
    passed = joined(sorted(one.passed), ", ") or words.NO_TEST_ALONE
    return Claim(words.PASSED_CHECK(host=host, checks=passed), "unseen")


def _launch(case: Case, finding: Finding) -> list[Claim]:
    """What a job that never came past its start failed by."""
    by = launch_class(finding)
    # A kernel's log, or lines about a device, tell of no launch; a check of hosts finds what one would fail by.
    is_about_device = finding.cause == "gpu_fault" and bool(finding.ranks)
    has_job = case.is_world_told or bool(case.seen and not is_about_device)
    is_check = by == "the sub-health of a node"
    if by is None or case.has_begun or not (has_job or is_check):
        return []
    form = words.LAUNCH_FAILED_BY if has_job else words.FOUND_BEFORE_LAUNCH
    return [Claim(form(what=words.LAUNCH_CLASS[by]), "for")]


def _pairs(case: Case, hosts: frozenset[str]) -> list[Claim]:
    """Pairs of devices of these hosts that are not linked as on the others."""
    return [Claim(one.text, "for", one.refs) for one in case.pair_links.odd if one.host in hosts][:_SHOWN]


def _common(case: Case, hosts: frozenset[str]) -> list[Claim]:
    """The rack or switch that several hosts share; of one host, who stands beside it."""
    if (shared := case.locations.shared(hosts)) is not None:
        return [Claim(shared.text, "for" if shared.is_likely else "unseen", shared.refs)]
    claims = []
    for host in sorted(hosts)[:_SHOWN] if len(hosts) == 1 else ():
        for sort, name in case.locations.of(host)[:1]:
            others = listed(other for other, _ in case.locations.hosts[sort, name] if other != host)
            at = words.NAMED(sort=words.PLACE.get(sort, sort), name=name)
            text = words.STANDS_AT(host=host, place=at, others=others or words.NO_OTHER_HOST)
            claims.append(Claim(text, "unseen"))
    return claims


def _extent(case: Case, finding: Finding) -> list[Claim]:
    """One process or device, or the whole host, where other ranks of that host ran on until they gave up."""
    place = case.host_of_rank
    lost = {rank for rank in finding.ranks if rank in case.ends and case.ends[rank].how in ("died", "failed")}
    claims = []
    for host in sorted({place[rank] for rank in lost if rank in place})[:_SHOWN]:
        there = {rank for rank, where in place.items() if where == host}
        others = sorted(rank for rank in there - lost if rank in case.ends and case.ends[rank].how == "gave_up")
        if others:
            text = words.ONLY_THESE_ENDED(host=host, ended=ranks_text(lost & there), others=ranks_text(others))
            claims.append(Claim(text, "for", case.ends[others[0]].refs[:1]))
    return claims


def _unseen(case: Case, kind: Kind) -> list[Claim]:
    """Communication that no flight record sees, where somebody waits or may wait."""
    found = unrecorded(case.stacks, case.states) if kind in ("hang", "unknown") else []
    return [Claim(one.text, "unseen", one.refs) for one in found][:_SHOWN]


def _without_a_time(case: Case, kind: Kind) -> list[Claim]:
    """What ranks raised that gave up their wait, where neither a time nor the same log tells which was first."""
    gave_up = [rank for rank, end in case.ends.items() if end.how == "gave_up"]
    if kind not in ("hang", "unknown") or not gave_up:
        return []
    is_own = (pl.col("rank_space") == "global") & pl.col("rank").is_in(gave_up)
    waits = is_own & (pl.col("kind") == "collective_timeout")
    waited = case.events.select("kind", "rank", "rank_space", "file").filter(waits).select("file", "rank").unique()
    is_untimed = pl.col("time_ns").is_null() & pl.col("line").is_not_null()
    raised = case.events.filter(is_own & pl.col("kind").is_in([*OWN_CAUSES]) & is_untimed)
    raised = raised.join(waited, on=["file", "rank"], how="anti").join(waited, on="rank", how="semi")
    first: dict[tuple[int, str | None], Row] = {}
    for row in raised.sort("rank", "file", "line").iter_rows(named=True):
        if not is_consequence(row["detail"]):
            first.setdefault((row["rank"], row["text"]), row)
    claims = []
    shown = sorted(first.items(), key=lambda told: (told[0][0], told[1]["file"], told[1]["line"]))[:_SHOWN]
    for (rank, text), one in shown:
        said = words.RAISED_AT_NO_TIME(who=ranks_text([rank]), line=cut_middle(text or "", _LINE))
        claims.append(Claim(said, "unseen", refs([one])))
    return claims
