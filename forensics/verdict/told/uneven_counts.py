"""Who stands outside because its own work is done: its log counts to the end, those of all others to a later one. What is to be mended is how
the work is shared out. It names nobody and raises no status."""

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from forensics.case import Case
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.ref import Ref
from forensics.model.texts import ranks_text
from forensics.words import advice as words
from parsers.text.patterns import regex

_COUNT = regex(r"\b(?P<unit>[A-Za-z]{2,20})[ :=#\[]{1,3}(?P<at>\d{1,9})/(?P<of>\d{1,9})\b")


class _Count(NamedTuple):
    """The last line in which a rank counts."""

    unit: str
    at: int
    of: int
    ref: Ref


def with_counts(case: Case, finding: Finding) -> Finding:
    """The finding with the counts of its ranks, which are full, where all the others are as far and count on."""
    if finding.cause != "rank_absent":
        return finding
    last = dict(_counts(case))
    own = [last[rank] for rank in finding.ranks if rank in last]
    others = [one for rank, one in last.items() if rank not in finding.ranks]
    whole = len(last) == len(case.seen) and len({(one.unit, one.of) for one in own}) == 1
    if not whole or len({(one.unit, one.of) for one in others}) != 1:
        return finding
    done, longer = own[0], others[0]
    is_uneven = done.unit == longer.unit and done.of < longer.of and all(one.at == one.of for one in own)
    if not is_uneven or any(not done.of - 1 <= one.at < one.of for one in others):
        return finding
    text = words.COUNTS_ARE_UNEVEN(who=ranks_text(finding.ranks), unit=done.unit, own=done.of, others=longer.of)
    look = Action(
        kind="check_code", target=words.SHARES, command=None, reason=text, look=words.WHY_UNEVEN, then=words.MAKE_EVEN,
        source="PyTorch: DistributedSampler (drop_last), torch.distributed.algorithms.Join",
    )  # fmt: skip
    claim = Claim(text, "for", (done.ref, longer.ref))
    return replace(finding, claims=(*finding.claims, claim), actions=(look, *finding.actions))


def _counts(case: Case) -> Iterator[tuple[int, _Count]]:
    files = case.tables["files"]
    for file, rank, lines in files.filter(files["rank"].is_not_null()).select("file", "rank", "last_lines").iter_rows():
        found = next((found for text in reversed(lines or ()) if (found := _COUNT.search(text))), None)
        if found is not None:
            ref = Ref(file=file, line=None, text=found.string)
            yield rank, _Count(found["unit"].lower(), int(found["at"]), int(found["of"]), ref)
