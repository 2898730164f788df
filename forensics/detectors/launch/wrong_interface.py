"""Did a host of a job that never came together listen where no other host can reach it?

Each process of NCCL and its kin prints the address that it listens on (facts/hosts/interfaces.py). The host is named where a
connection from it, or to that address, failed; else it is a suspect. So is its rank where the host holds one alone of a job of which all are placed.
"""

from collections.abc import Collection

import polars as pl

from forensics.assemble.starts.announced import PRINTED
from forensics.case import Case, Detector
from forensics.facts.rows.event_rows import host_of, of_kinds, refs
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import joined
from forensics.model.texts import ranks_text
from forensics.words import launch as words

_FAILED = ("connect_failed", "missing_members", "store_timeout", "collective_timeout")


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    failed = of_kinds(case.events, *_FAILED)
    if not failed.height or _came_together(case) or any(end.how == "died" for end in case.ends.values()):
        return ()
    lines = case.out_of_reach
    wrong = tuple(sorted(set(lines["host"].drop_nulls())))
    ranks = tuple(sorted(set(lines.filter(pl.col("how") == PRINTED)["rank"])))
    if not (wrong or ranks):
        return ()
    addresses = sorted(set(lines["address"]))
    refused = [
        row
        for row in failed.filter(pl.col("kind") == "connect_failed").iter_rows(named=True)
        if host_of(case.identity, row) in wrong or set(addresses) & set(row["names_hosts"] or ())
    ]
    alone = ranks or _alone_there(case, wrong)
    who = ranks_text(ranks) if ranks else joined(wrong, ", ")
    where = words.LISTENS_ON(hosts=who, addresses=joined(addresses, ", "))
    unreachable = words.UNREACHABLE[len(addresses) > 1]
    said = lines.with_columns(text=pl.concat_str("how", "address", separator=" ")).iter_rows(named=True)
    claims = [Claim(where, "for", refs(said))]
    claims += [Claim(words.FAILED_FROM_OR_TO_IT, "for", refs(refused))] if refused else []
    return (
        Finding(
            cause="wrong_interface",
            ranks=alone if refused else (),
            suspect_ranks=() if refused else alone,
            hosts=wrong if refused else (),
            suspect_hosts=() if refused else wrong,
            domain="infrastructure",
            undecided=() if refused else ("tied_explanations",),
            claims=tuple(claims),
            first_anomaly=FirstAnomaly(host=wrong[0] if len(wrong) == 1 else None, signature="wrong_interface"),
            actions=tuple(
                to_do("check_config", words.INTERFACE_OF(host=host), unreachable)
                for host in wrong or [ranks_text(ranks)]
            ),
            summary=words.NEVER_STARTED(what=joined((where, words.WRONG_INTERFACE(unreachable=unreachable)), "; ")),
        ),
    )


def _alone_there(case: Case, hosts: Collection[str]) -> tuple[int, ...]:
    """The ranks of these hosts, where each of them holds one, and no rank of the job may be on any of them without a word."""
    placed = {rank: short_host(host) for rank, host in case.host_of_rank.items()}
    there = tuple(sorted(rank for rank, host in placed.items() if host in hosts))
    is_whole = bool(case.expected) and case.expected <= placed.keys()
    return there if is_whole and len(there) == len(hosts) == len({placed[rank] for rank in there}) else ()


def _came_together(case: Case) -> bool:
    """Did it compute, or was any communicator set up?"""
    worked = any(case.tables[name].height for name in ("steps", "operations", "tensors"))
    return worked or bool((case.events["kind"] == "comm_init_complete").any())


DETECTOR = Detector("wrong_interface", ("events", "ranks"), detect, "never_started")
