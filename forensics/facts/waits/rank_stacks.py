"""What the stacks say of given ranks: site, code line, and how they differ from the others."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

import polars as pl

from forensics.facts.rows.event_rows import line_of
from forensics.facts.waits.stacks import Frame, classify, to_frames
from forensics.model.finding import Claim
from forensics.model.incident import Code
from forensics.model.names import Site
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import doing, ranks_text
from forensics.words import facts as words


def _rows(stacks: pl.DataFrame, ranks: Iterable[int]) -> list[dict[str, Any]]:
    if not stacks.height:
        return []
    wanted = stacks.filter(pl.col("rank").is_in(sorted(ranks)) & (pl.col("source") != "traceback"))
    return list(wanted.sort("rank").iter_rows(named=True))


def sites(stacks: pl.DataFrame, ranks: Iterable[int]) -> dict[int, Site]:
    """rank → site, of ranks with a live stack."""
    return {row["rank"]: row["site"] for row in _rows(stacks, ranks)}


def doings(stacks: pl.DataFrame, ranks: Iterable[int]) -> dict[int, str]:
    """rank → what its live stack shows it doing, in words."""
    return {row["rank"]: doing(row["site"], place_of(row)) for row in _rows(stacks, ranks)}


def codes(stacks: pl.DataFrame, ranks: Iterable[int]) -> dict[int, Code]:
    """rank → innermost line of the user's own code."""
    result = {}
    for row in _rows(stacks, ranks):
        if row["site"] == "unresponsive":
            continue  # a state, no code
        site = classify(to_frames(row["frames"]))
        if (frame := site.user or site.frame) is not None:
            result[row["rank"]] = _code(frame)
    return result


def _code(frame: Frame) -> Code:
    return Code(file=frame.file or None, line=frame.line, function=frame.function)


def gave_up_elsewhere(
    stacks: pl.DataFrame, ranks: Collection[int], sources: Collection[str] = ("traceback",)
) -> dict[int, Code]:
    """Of the ranks whose traceback shows where in the user's code they gave up, those that did so at another line than most;
    nobody where there is no line of more than half of them. `sources`: who shows it."""
    if not stacks.height:
        return {}
    at: dict[int, Code] = {}
    shown = stacks.filter(pl.col("rank").is_in(sorted(ranks)) & pl.col("source").is_in(sources))
    for row in shown.iter_rows(named=True):
        if (frame := classify(to_frames(row["frames"])).user) is not None:
            at[row["rank"]] = _code(frame)
    lines = Counter((code.file, code.line) for code in at.values())
    most = next((place for place, count in lines.items() if 2 * count > len(at)), None)
    return {rank: code for rank, code in at.items() if most is not None and (code.file, code.line) != most}


def place_of(row: dict[str, Any]) -> str | None:
    """The frame that tells what a stack does."""
    frame = classify(to_frames(row["frames"])).frame
    return None if frame is None else frame.function


def stack_ref(row: dict[str, Any]) -> Ref:
    """The place of a stack, with its innermost telling frames."""
    frames = to_frames(row["frames"])
    site = classify(frames)
    shown = [frame for frame in (frames[0], site.frame, site.user) if frame is not None]
    text = " ← ".join(dict.fromkeys(frame.text() for frame in shown))
    return Ref(file=str(row["file"]), line=line_of(row), text=text)


def stack_claims(stacks: pl.DataFrame, ranks: tuple[int, ...]) -> list[Claim]:
    """For each class of sites among the ranks one claim; against, where a stack shows the rank in communication."""
    claims = []
    by_site: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(stacks, ranks):
        by_site.setdefault(str(row["site"]), []).append(row)
    others = ~pl.col("rank").is_in(ranks) & (pl.col("site") == "communication")
    peers = stacks.filter(others).height if stacks.height else 0

    def beside(text: Said) -> Said:
        return joined((text, words.OTHERS_COMMUNICATE(peers) if peers else ""), "; ")

    for site, rows in sorted(by_site.items()):
        who = ranks_text(row["rank"] for row in rows)
        refs = tuple(stack_ref(row) for row in rows[:3])
        if site == "unresponsive":
            claims.append(Claim(beside(words.PROCESS_IS_STOPPED(who=who)), "for", refs))
        elif site == "communication":
            claims.append(Claim(words.STACK_IN_COMMUNICATION(who=who), "against", refs))
        elif site == "unknown":
            claims.append(Claim(beside(words.STACK_NOT_IN_COMMUNICATION(who=who)), "for", refs))
        else:
            shows = words.STACK_SHOWS if peers else words.STACK_SHOWS_ALONE
            claims.append(Claim(beside(shows(who=who, site=doing(site, place_of(rows[0])))), "for", refs))
    return claims
