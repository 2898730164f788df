"""Is the job set up in a way that cannot work?

Two ranks on one device, libraries of different versions, no interface of the wanted name, an invalid call. The library that refuses says what is wrong;
without its last words ("invalid usage" alone) it stays a hypothesis. No rank is named: what differs is a setting. Where the processes of
three hosts and more say which version of that library they run, and more than half of the hosts run another one than the rest, the
rest is named: there it has to be changed. So it is with the size of the world that the members of one communicator were given: hosts whose
processes all have another one than more than half of the members, or the ranks where only some of a host's do. So is who was refused for a
value that it alone has (assemble/starts/refused_values.py). A process that cannot listen on its own port, while most could on theirs, is named: another
program of its host holds it. So is one that finds no interface of the name that it was given, where most others have found theirs.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any

import polars as pl

from forensics.assemble.starts.apart import numbered_lines
from forensics.assemble.starts.refused_values import REFUSED
from forensics.case import Case, Detector
from forensics.facts.rows.error_words import tells_setting, tells_versions
from forensics.facts.rows.event_rows import Row, detail, own_rank, reference, refs, rows
from forensics.model.commands import DEVICES_HERE, holder_of_port, taken_port
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import Action, FirstAnomaly, to_do
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import joined, sentence
from forensics.model.texts import cut_middle, ranks_text
from forensics.words import launch as words
from parsers.comm.hccl_faults import OWN_PORT
from parsers.text.patterns import regex

_FEWEST = 3  # hosts, or ranks, that say their version
_BUILD = r"\+.*$"  # of one version: `2.22.3` and `2.22.3+cuda12.6`
_OF_SIZE = ("rank_count_mismatch", "already_checked_in")
_IS_SHARED = regex(r"Duplicate GPU.{0,80}CUDA device")
_NO_INTERFACE = "no_interface"  # the library found none under the name that it was given, or none at all


def _said(row: Row) -> str:
    return f"{row['code'] or ''} {row['text'] or ''} {detail(row).get('last_error') or ''}"


def _cause(case: Case, first: Row) -> Cause:
    if case.has_begun:
        return "exception"
    if first["code"] == _NO_INTERFACE:
        return "wrong_interface"
    is_version = tells_versions(_said(first)) or detail(first).get("is_version")
    return "version_mismatch" if is_version else "config_drift"


def _minority(case: Case, first: Row) -> tuple[tuple[int, ...], tuple[str, ...], tuple[Ref, ...]]:
    """Ranks, and hosts, whose processes run another version of the library that refused than those of most, and where two of both say so: hosts
    as a whole, with their rank where each has one alone; else ranks, where all of the job tell theirs."""
    library = str(detail(first).get("library") or "").lower()
    is_version = (pl.col("name") == library) & (pl.col("scope") == "version")
    said = case.tables["settings"].filter(is_version, pl.col("value").is_not_null())
    said = said.with_columns(pl.col("value").str.replace(_BUILD, "")).sort("file", "line")
    rows_of = said.unique("value", keep="first", maintain_order=True)
    shown = tuple(reference(row | {"text": f"{row['name']}={row['value']}"}) for row in rows_of.iter_rows(named=True))
    held = [(short_host(host), value) for host, value in said.select("host", "value").drop_nulls().unique().iter_rows()]
    if case.job_hosts <= {host for host, _ in held} and (hosts := _odd(held)):
        here = case.identity.filter(pl.col("host").is_in(hosts)) if case.identity.height else case.identity
        alone = tuple(sorted(here["rank"])) if here.height == len(hosts) == here["host"].n_unique() else ()
        return alone, hosts, shown[:2]
    own = list(said.select("rank", "value").drop_nulls().unique().iter_rows())
    ranks = _odd(own) if case.is_world_told and case.expected == {rank for rank, _ in own} else ()
    return ranks, (), shown[:2] if ranks else ()


def _odd(said: Sequence[tuple[Any, str]]) -> tuple[Any, ...]:
    """(who, version), each once → who differs from most, where three and more tell one version each."""
    counts = Counter(value for _, value in said)
    (usual, most), *others = counts.most_common() or [("", 0)]
    if len(said) < _FEWEST or len({who for who, _ in said}) < len(said) or not others or 2 * most <= len(said):
        return ()
    return tuple(sorted(who for who, value in said if value != usual))


def _own_port(case: Case, found: Sequence[Row]) -> tuple[int, ...]:
    """Ranks whose own port another process holds, where most ranks found theirs free."""
    ranks = {rank for row in found if row["code"] == OWN_PORT and (rank := own_rank(row)) is not None}
    return tuple(sorted(ranks)) if 2 * len(ranks) < len(case.seen) else ()


def _without_interface(case: Case, found: Sequence[Row]) -> tuple[tuple[int, ...], tuple[Ref, ...]]:
    """Ranks that found no interface, fewer than half, where more than half of the others have found theirs: whoever looks first may be the only one to say so."""
    lacking = [row for row in found if row["code"] == _NO_INTERFACE]
    ranks = {own_rank(row) for row in lacking}
    told = case.tables["ranks"].filter(pl.col("how").str.ends_with("bootstrap address")).drop_nulls("address")
    listening = {*told["rank"], *map(own_rank, rows(case.events, "comm_init_start"))} - {None, *ranks}
    others = (case.expected if case.is_world_told else case.seen) - ranks
    is_odd = None not in ranks and len(ranks) < len(others) < 2 * len(listening)
    return (tuple(sorted(rank for rank in ranks if rank is not None)), refs(lacking)) if is_odd else ((), ())


def _odd_size(case: Case) -> tuple[tuple[int, ...], tuple[str, ...], tuple[Ref, ...]]:
    """Ranks, or else hosts, whose processes were given another size of one communicator than most of its members, and where both say so."""
    members: defaultdict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows(case.events, "comm_init_start"):
        said, rank = detail(row), own_rank(row)
        if said.get("comm_id") and isinstance(said.get("size"), int) and rank is not None:
            members[str(said["comm_id"])].setdefault(rank, row)
    found = max(members.values(), key=len, default={})
    sizes = {rank: detail(row)["size"] for rank, row in found.items()}
    (usual, most), *others = Counter(sizes.values()).most_common() or [(0, 0)]
    if not others or 2 * most <= len(sizes) or most < _FEWEST:
        return (), (), ()
    odd = tuple(sorted(rank for rank, size in sizes.items() if size != usual))
    hosts = {rank: short_host(row["host"] or "") for rank, row in found.items()}
    whole = {hosts[rank] for rank in odd} - {hosts[rank] for rank in sizes if rank not in odd} - {""}
    shown = refs([found[odd[0]], next(found[rank] for rank in sorted(found) if rank not in odd)])
    is_of_hosts = all(hosts[rank] in whole for rank in odd)
    return (() if is_of_hosts else odd), (tuple(sorted(whole)) if is_of_hosts else ()), shown


def _holder(case: Case, said: str) -> tuple[Action, tuple[Claim, ...]] | None:
    """The process that listens on the port that is taken, where a list of sockets is there and shows one; with what `ps` lists of it."""
    port = taken_port(said)
    if port is None:
        return None
    told = [(row, detail(row)) for row in rows(case.events, "other") if "LISTEN" in (row["text"] or "")]
    found = {
        one.get("process") or one.get("process_there"): (row, one.get("program") or one.get("program_there"))
        for row, one in told
        if (one.get("listens_on") or one.get("listens_at")) == port
    }
    if len(found) != 1:
        return None
    ((pid, (row, program)),) = found.items()
    claims = [Claim(words.LISTENS_THERE(pid=pid, program=program, port=port), "for", refs([row]))]
    lists = case.tables["files"].filter(pl.col("parsers").list.contains("ps"))
    for listed in lists.iter_rows(named=True):
        shown = ((number, text) for number, text in numbered_lines(listed) if pid in text.split()[:3])
        for number, text in islice(shown, 1):
            line = words.PS_LISTS(line=" ".join(text.split()))
            claims.append(Claim(line, "for", (Ref(file=listed["file"], line=number, text=text),)))
    action = Action(
        kind="check_config", target=words.PROCESS_AT_PORT(pid=pid, program=program, port=port), command=f"ps -o pid,ppid,user,lstart,args -p {pid}",
        reason=claims[-1].text, look=words.LOOK_AT_HOLDER, then=words.THEN_OF_HOLDER(pid=pid), source="ps(1)",
    )  # fmt: skip
    return action, tuple(claims)


def _check(said: str, line: str) -> Action:
    """What is to be looked at: who listens on a port that is taken, who has which device where two have one, else the job."""
    reason = words.AS_PRINTED(line=line)
    if (command := holder_of_port(said)) is not None:
        return Action(
            kind="check_config", target=words.WHO_LISTENS, command=command, reason=reason, look=words.LOOK_AT_PORT,
            then=words.THEN_OF_PORT, source="ss(8)",
        )  # fmt: skip
    if _IS_SHARED.search(said):
        return Action(
            kind="check_config", target=words.WHO_HAS_WHICH, command=DEVICES_HERE, reason=reason, look=words.LOOK_AT_DEVICES,
            then=words.THEN_OF_DEVICES, source="nvidia-smi manual: --query-gpu",
        )  # fmt: skip
    return to_do("check_config", words.THE_JOB, reason)


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    found = rows(case.events, "config_error")
    if not found:
        return ()
    is_precise = [row for row in found if tells_setting(_said(row)) or row["code"] == REFUSED]
    first, precise = (is_precise or found)[0], bool(is_precise)
    cause = _cause(case, first)
    ranks, hosts, shown = _minority(case, first) if cause == "version_mismatch" else ((), (), ())
    other = words.OTHER_VERSION(who=joined(hosts, ", ")) if hosts else words.OTHER_VERSION_OF(who=ranks_text(ranks))
    if cause == "config_drift" and first["code"] == OWN_PORT:
        ranks, other = _own_port(case, found), words.PORT_IS_HELD
        shown = refs(row for row in found if row["code"] == OWN_PORT and own_rank(row) in ranks)
    if cause == "wrong_interface":
        (ranks, shown), other = _without_interface(case, found), words.OTHERS_FOUND_THEIRS
    if cause == "config_drift" and first["code"] in _OF_SIZE:
        ranks, hosts, shown = _odd_size(case)
        other = words.OTHER_SIZE(who=ranks_text(ranks) if ranks else joined(hosts, ", "))
    if first["code"] == REFUSED:
        ranks, hosts, shown = tuple(first["names_ranks"]), (), refs(row for row in found if row["code"] == REFUSED)
        other = words.OTHER_VALUE(who=ranks_text(ranks), own=detail(first)["own"], usual=detail(first)["usual"])
    holder = _holder(case, _said(first))
    line = cut_middle(detail(first).get("last_error") or (first["text"] or "").splitlines()[0], 200)
    return (
        Finding(
            cause=cause,
            ranks=ranks,
            hosts=hosts,
            domain="infrastructure" if first["code"] == _NO_INTERFACE else "workload",
            undecided=() if precise else ("tied_explanations",),
            claims=(
                Claim(words.REFUSED, "for", refs([first])),
                *((Claim(other, "for", shown),) if hosts or ranks else ()),
                *(holder[1] if holder else ()),
            ),
            first_anomaly=FirstAnomaly(signature=f"config:{first['code'] or ''}"),
            actions=(holder[0] if holder else _check(_said(first), line),),
            collect=() if precise else (words.NCCL_LOGS,),
            summary=sentence(words.CANNOT_WORK(line=line)),
        ),
    )


DETECTOR = Detector("bad_config", ("events",), detect, "never_started")
