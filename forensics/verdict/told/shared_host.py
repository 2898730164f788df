"""Where all ranks of one host never came, from one line: what they share there is at fault, and no rank by itself."""

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.waits.rank_stacks import stack_ref
from forensics.facts.waits.shared_place import shared_place
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.said import joined, sentence
from forensics.model.texts import SITE
from forensics.words import verdict as words

_SHOWN = 4


def with_shared_host(case: Case, finding: Finding) -> Finding:
    """The finding with what its ranks share on their host, and with whom to look at there."""
    if finding.cause not in ("rank_absent", "straggler_host") or not case.stacks.height:
        return finding
    shared = shared_place(case.stacks, finding.ranks, case.host_of_rank)
    if shared is None:
        return finding
    at = f"{shared.code.function} ({shared.code.file}:{shared.code.line})"
    text = words.ALL_OF_THE_HOST(host=shared.host, at=at)
    beside = []
    for row in shared.others[:_SHOWN]:
        said = words.BESIDE_THE_RANKS(pid=row["pid"], host=shared.host, doing=SITE[row["site"]])
        beside.append(Claim(said, "for", (stack_ref(dict(row)),)))
    target = words.STACKS_OF_NO_RANKS(host=shared.host)
    look = Action(kind="collect_more", target=target, command=None, reason=words.WOULD_SHOW_THERE)
    return replace(
        finding,
        hosts=finding.hosts or (shared.host,),
        claims=(*finding.claims, Claim(text, "for", tuple(stack_ref(dict(row)) for row in shared.stacks[:2])), *beside),
        actions=finding.actions if beside else (look, *finding.actions),
        summary=joined((finding.summary, sentence(text)), " "),
    )
