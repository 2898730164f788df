"""Which host prints a line that no other host prints, and that earlier attempts did not print?

Method: cross-job and spatial comparison of log templates (L4, 2025). Ranks that log for all (the first and the last)
print lines of their own and are left out; so are lines of earlier attempts. It is a hint and never names anybody; without
an earlier attempt to compare with, it says so, and suspects a host only where dozens print nothing like it: it may print that line in every run.
"""

from collections import defaultdict

import polars as pl

from forensics.case import Case, Detector
from forensics.facts.rows.line_templates import files_of_templates
from forensics.model.finding import Claim, Finding
from forensics.model.hosts import short_host
from forensics.model.incident import FirstAnomaly
from forensics.model.ref import Ref
from forensics.model.texts import cut_middle
from forensics.words import ranks as words

_LEAST = 8  # hosts (or ranks, where hosts are not known) that print lines
_FLEET = 32  # hosts, for one to be suspected of what it may print in every run


def _printers(case: Case) -> dict[str, tuple[str, int | None]]:
    """File → (host, or rank where no host is known; rank)."""
    place = case.host_of_rank
    found: dict[str, tuple[str, int | None]] = {}
    files = case.tables["files"].select("file", "host", "rank")
    events = case.events.filter(pl.col("rank_space") == "global").group_by("file").agg(pl.col("rank").unique())
    own = {file: ranks[0] for file, ranks in events.iter_rows() if len(ranks) == 1}
    for file, host, told in files.iter_rows():
        rank = own.get(file) if told is None else told
        of_rank = (place.get(rank) or f"rank {rank}") if rank is not None else None
        who = short_host(host) if host else of_rank
        if who:
            found[file] = (who, rank)
    return found


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding, where exactly one host stands out."""
    printers = _printers(case)
    if (count := len({who for who, _ in printers.values()})) < _LEAST:
        return ()
    speakers = {0, max(case.expected | case.seen, default=0)}
    novel: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for template, files in files_of_templates(case.tables).items():
        who = {printers[file] for file in files if file in printers}
        is_alone = len({name for name, _ in who}) == 1 and not {rank for _, rank in who} & speakers
        if is_alone and template not in case.known_lines:
            novel[next(iter(who))[0]].append((template, min(files)))
    return (_finding(case, *next(iter(novel.items())), count),) if len(novel) == 1 else ()


def _finding(case: Case, who: str, lines: list[tuple[str, str]], count: int) -> Finding:
    is_rank = who.startswith("rank ")
    is_suspect = case.has_baseline or (count >= _FLEET and not is_rank)
    refs = tuple(Ref(file=file, line=None, text=template) for template, file in lines[:3])
    compared = words.NOT_BEFORE if case.has_baseline else words.NO_ATTEMPT_BEFORE
    line, kinds = cut_middle(lines[0][0], 120), words.KINDS(len(lines))
    text = words.PRINTS_ALONE(who=who, kinds=kinds, line=line, compared=compared)
    return Finding(
        suspect_ranks=(int(who.removeprefix("rank ")),) if is_rank and is_suspect else (),
        suspect_hosts=() if is_rank or not is_suspect else (who,),
        undecided=() if case.has_baseline else ("no_baseline",),
        claims=(Claim(text, "for", refs),),
        first_anomaly=FirstAnomaly(host=None if is_rank else who, step=case.step_in_progress(), signature="novel_line"),
        collect=(words.LOGS_OF_GOOD_RUN, words.RECORDS_AND_STACKS),
        summary=words.A_HINT(text=text),
    )


DETECTOR = Detector("novel_line", ("files",), detect)
