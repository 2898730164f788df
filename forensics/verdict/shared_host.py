"""Where all ranks of one host never came, from one line: what they share there is at fault, and no rank by itself."""

from msgspec.structs import replace

from forensics.case import Case
from forensics.facts.rank_stacks import stack_ref
from forensics.facts.shared_place import shared_place
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action
from forensics.model.texts import SITE

_SHOWN = 4


def with_shared_host(case: Case, finding: Finding) -> Finding:
    """The finding with what its ranks share on their host, and with whom to look at there."""
    if finding.cause not in ("rank_absent", "straggler_host") or not case.stacks.height:
        return finding
    shared = shared_place(case.stacks, finding.ranks, case.host_of_rank)
    if shared is None:
        return finding
    at = f"{shared.code.function} ({shared.code.file}:{shared.code.line})"
    text = (
        f"every rank of {shared.host}, and no other, is in {at}: what they share holds them up, not one of them: a loader or the "
        "storage of that host, or a part of the work that is theirs alone"
    )
    beside = [
        Claim(
            f"process {row['pid']} of {shared.host}, which is no rank, is {SITE[row['site']]}",
            "for",
            (stack_ref(dict(row)),),
        )
        for row in shared.others[:_SHOWN]
    ]
    look = Action(
        kind="collect_more", target=f"stacks and logs of all processes of {shared.host} that are no ranks", command=None,
        reason="a loader or a store that its ranks share would show there",
    )  # fmt: skip
    return replace(
        finding,
        hosts=finding.hosts or (shared.host,),
        claims=(*finding.claims, Claim(text, "for", tuple(stack_ref(dict(row)) for row in shared.stacks[:2])), *beside),
        actions=finding.actions if beside else (look, *finding.actions),
        summary=f"{finding.summary} {text[:1].upper()}{text[1:]}.",
    )
