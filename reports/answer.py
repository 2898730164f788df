"""The answer: one sentence that says what happened to whom and where, and the one thing to do. Built here and nowhere else;
terminal, Markdown, page and notebook show it first.

"Rank 192 (node0024, GPU 0) is stuck in data loading at next_batch (stream.py:57); 2,005 ranks wait."
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from forensics.model.causes import CAUSES
from forensics.model.incident import Action, Alternative, FirstAnomaly, Incident, Place, PlaceDevice, Verdict
from forensics.model.names import Cause
from forensics.model.said import capital
from forensics.model.texts import AT_THE_PIPE, IN_THE_TOKENIZER, doing, ranks_text
from reports.words import ACTION, CAUSE, CHECK_FAILED, KIND, REASON, STUCK, UNRECORDED, UNSEEN

STOPPED = frozenset(cause for cause, row in CAUSES.items() if row.from_outside)  # nothing crashed
_SHOWN = 4  # names in a sentence
_TOLD_BESIDE = ("check_config", "check_data", "inspect_hardware", "inspect_network")
_SHORT = 140  # characters of a reason that are said beside a command: with what it is of, two lines
LABELS = ("Undecided: ", "Slow: ", "Collective mismatch: ", "Deadlock: ")  # of summaries; the label says it
_END = re.compile(r"(?<=[a-z0-9)%…])\. (?=[A-Z])")  # of a sentence, and not of a number or a name


class Answer(NamedTuple):
    """`label`: the kind, and how sure it is. `sentence`: who, where, what, who else. `more`: what else the summary says."""

    label: str
    sentence: str
    more: str
    cannot_tell: str
    do: str
    command: str | None


def answer(incident: Incident) -> Answer:
    """The first lines of every report."""
    verdict = incident.verdict
    make = _SENTENCES.get(verdict.cause) if is_named(verdict) else None
    made = make(incident) if make else None
    summary = _unlabelled(verdict.summary)
    if made is None and (verdict.ranks or verdict.cycle):
        summary = _placed(summary, verdict)
    first_said, rest = _split(capital(summary))
    first = next(iter(actions(incident)), None)
    # A command that only shows speaks for itself, and its reason stands in the list of actions; what is to be changed is said beside it.
    do = "Nothing." if first is None else _ended(todo(first) if is_told(first) else _what(first))
    return Answer(
        label=label(verdict),
        sentence=_ended(made or first_said),
        more="" if made else _ended(capital(_unlabelled(rest))),
        cannot_tell="; ".join(doubts(verdict)),
        do=do,
        command=first.command if first else None,
    )


def tells_apart(verdict: Verdict) -> bool:
    """Does the rule tell a word for who and another for why, so that the weaker of them need not stand before it?"""
    return None not in (verdict.status_who, verdict.status_why) and verdict.status_who != verdict.status_why


def is_check(verdict: Verdict) -> bool:
    """Is it of hosts that a check found, where no process of a job left a record?"""
    return verdict.kind == "launch" and verdict.first_anomaly.signature == "node_check" and not verdict.ranks


def label(verdict: Verdict) -> str:
    """The kind in capitals; in brackets how far it is from sure, where it is."""
    if verdict.cause in STOPPED:
        return "STOPPED"
    if is_check(verdict):
        return str(CHECK_FAILED)
    if is_undecided(verdict) and verdict.kind != "unknown":
        return f"{KIND[verdict.kind]} (undecided)"
    return f"{KIND[verdict.kind]}{' (probable)' if verdict.status == 'hypothesis' else ''}"


def is_named(verdict: Verdict) -> bool:
    """Does the verdict name somebody or something, rather than list suspects?"""
    return bool(verdict.ranks or verdict.hosts or verdict.devices or verdict.links or verdict.cycle)


def is_undecided(verdict: Verdict) -> bool:
    """Undecided is an answer of its own: what is known, what remains, what to collect."""
    # What ended a process may be told where nobody tells which it was.
    is_told = verdict.kind == "crash" and verdict.cause is not None and verdict.undecided == ["membership_unknown"]
    is_open = bool(verdict.undecided) and not is_told and not is_named(verdict)
    return verdict.kind == "unknown" or (verdict.kind != "healthy" and is_open)


def actions(incident: Incident) -> list[Action]:
    """What to do: as the report orders it, but where nothing is decided, collecting comes first."""
    told = list(incident.actions)
    if not told or not is_undecided(incident.verdict):
        return told
    first, verdict = told[0], incident.verdict
    # What is to be changed by the word of the records themselves waits for no others.
    shown = {item.claim for item in incident.evidence if item.direction == "for"}
    is_shown = first.kind in ("check_config", "check_code") and first.reason in shown
    is_called = verdict.cause == "collective_mismatch" and first.kind == "check_code"  # what was called is told
    leads = is_shown or is_called or _is_test_of_suspect(first, verdict) or _is_at_hand(first, verdict)
    leading = 1 if leads else 0
    return [*told[:leading], *sorted(told[leading:], key=lambda action: action.kind != "collect_more")]


def next_setup(incident: Incident) -> str | None:
    """What prints the settings by which the next run leaves what the actions ask for, for the devices of their commands."""
    kinds = dict.fromkeys(kind for action in incident.actions for kind in action.setup)
    commands = " ".join(action.command or "" for action in incident.actions)
    vendor = re.search(r"forensics setup .*( --vendor \w+)", commands)
    return f"forensics setup {' '.join(kinds)}{vendor[1] if vendor else ''}" if kinds else None


def _is_test_of_suspect(action: Action, verdict: Verdict) -> bool:
    """The host of the suspects is to be tested: what would decide it is there, whatever else may be collected."""
    suspects = verdict.suspects
    hosts = {*suspects.hosts, *(place.host for place in verdict.places if place.rank in suspects.ranks)}
    is_all = verdict.kind == "unknown"  # a device that its driver lost is all that is known
    return action.kind == "inspect_hardware" and (action.target in hosts or is_all)


def _is_at_hand(action: Action, verdict: Verdict) -> bool:
    """The line that a bad value came from, or the device that gave it again: that is there now, and what the next run leaves is not."""
    at = verdict.code
    is_line = action.kind == "check_code" and at is not None and action.target == f"{at.file}:{at.line}"
    return verdict.kind == "numerics" and (is_line or action.kind == "inspect_hardware")


def todo(action: Action) -> str:
    """ "Check stream.py:57: it stopped in next_batch"."""
    return f"{_what(action)}: {action.reason}" if action.reason else _what(action)


def is_told(action: Action) -> bool:
    """Is the reason said in the first lines?"""
    is_shown = action.kind == "check_code" and (action.command or "").startswith("sed ")  # a line of code, as it stands
    is_short = (action.kind in _TOLD_BESIDE or action.kind == "check_code") and len(action.reason) <= _SHORT
    return not action.command or (is_short and not is_shown)


def _what(action: Action) -> str:
    general, about, _ = ACTION[action.kind]
    return about.format(action.target) if action.target not in ("", "job") else general


# --- who, where ------------------------------------------------------------------------------------------------------


def who(verdict: Verdict) -> str:
    """ "Rank 5 (node3, GPU 2)", "Ranks 2 and 6 (node3)", "GPU 2 of node3", "Host node3"; "The job" where nobody is named."""
    ranks = verdict.ranks or verdict.cycle
    if ranks:
        return capital(ranks_text(ranks)) + _where(verdict, ranks)
    if verdict.links:
        return "The link " + ", ".join(" - ".join(map(str, link)) for link in verdict.links[:_SHOWN])
    if verdict.devices:
        devices = [(one.pci if one.index is None else one.index, one.host) for one in verdict.devices[:_SHOWN]]
        return ", ".join(f"GPU {name} of {host or 'an unnamed host'}" for name, host in devices)
    if verdict.hosts:
        return ("Host " if len(verdict.hosts) == 1 else "Hosts ") + some(verdict.hosts)
    return "The job"


def some(names: Sequence[str], limit: int = _SHOWN) -> str:
    """The first few names, and how many there are."""
    return ", ".join(names[:limit]) + (f", … ({len(names):,} in all)" if len(names) > limit else "")


def _where(verdict: Verdict, ranks: Sequence[int]) -> str:
    places = {place.rank: place for place in verdict.places}
    if len(ranks) == 1:
        text = ", ".join(_place(places.get(ranks[0]) or Place(rank=ranks[0]), verdict))
    else:
        hosts = {place.host for rank in ranks if (place := places.get(rank)) and place.host} or set(verdict.hosts)
        text = some(sorted(hosts))
    return f" ({text})" if text else ""


def _place(place: Place, verdict: Verdict) -> list[str]:
    """Host and GPU of the one named rank."""
    host = place.host or (verdict.hosts[0] if len(verdict.hosts) == 1 else None)
    gpu = place.device
    if gpu.index is None and gpu.pci is None and len(verdict.devices) == 1:
        only = verdict.devices[0]
        gpu = PlaceDevice(index=only.index, pci=only.pci)
    number = gpu.pci if gpu.index is None else str(gpu.index)
    return [part for part in (host, f"GPU {number}" if number else None) if part]


def _placed(summary: str, verdict: Verdict) -> str:
    """The first mention of the named ranks gets host and GPU behind it, where the next word is not in brackets already."""
    ranks = verdict.ranks or verdict.cycle
    found = re.search(rf"\b[Rr]{re.escape(ranks_text(ranks)[1:])}(?![\d,-]| and|\s\()", summary)
    return summary if found is None else summary[: found.end()] + _where(verdict, ranks) + summary[found.end() :]


def own_name(first: FirstAnomaly) -> str:
    """What an operation is called where it has a name of its own ("barrier 1_write.400"); empty where it has none."""
    name = first.group or ""
    return name if first.op and name.split(" ")[0] == first.op else ""


def operation(verdict: Verdict) -> str:
    """ "all_reduce #25 of dp_2"; empty where none is known."""
    first = verdict.first_anomaly
    own = verdict.kind == "numerics" and not first.group  # an operator, no communication
    if own or (first.seq is None and not first.group and not (first.op and verdict.kind == "hang")):
        return ""
    if called := own_name(first):
        return called
    number = "" if first.seq is None else f" #{first.seq}"
    return f"{first.op or 'operation'}{number}{_of(first.group)}"


def _of(group: str | None) -> str:
    """ " of dp_2", " of group 0"; empty where no group is known."""
    return f" of {'group ' if group.isdigit() else ''}{group}" if group else ""


def code(verdict: Verdict) -> str:
    """ "next_batch (stream.py:57)"; what is not known is left out."""
    at = verdict.code
    if at is None:
        return ""
    place = f"{at.file}{'' if at.line is None else f':{at.line}'}" if at.file else ""
    return f"{at.function} ({place})" if at.function and place else at.function or place


def waiting(incident: Incident) -> str:
    """ "; 7 ranks wait"; empty where none does."""
    count = incident.blast_radius.ranks_waiting
    return f"; {count:,} rank{' waits' if count == 1 else 's wait'}" if count else ""


# --- sentences that the verdict's fields make ------------------------------------------------------------------------


def _absent(incident: Incident) -> str:
    verdict = incident.verdict
    be = "is" if len(verdict.ranks) == 1 else "are"
    if verdict.site not in (None, "unknown", "communication"):
        at = f" at {code(verdict)}" if code(verdict) else ""
        return f"{who(verdict)} {be} stuck {stuck_in(verdict)}{at}{waiting(incident)}"
    return f"{who(verdict)} never entered {operation(verdict) or 'the operation'}{waiting(incident)}"


def cause_of(verdict: Verdict) -> str:
    """Its cause in words, empty where none is known; that a process lived is said where a stack or its own record shows it."""
    is_seen = verdict.site or verdict.code or (verdict.first_anomaly.signature or "").startswith("never_entered:")
    if verdict.cause == "rank_absent" and not is_seen:
        return UNSEEN
    return CAUSE[verdict.cause] if verdict.cause else ""


def stuck_in(verdict: Verdict) -> str:
    """ "in data loading", after "is stuck"."""
    said = occupied(verdict)
    return str(said) if said in (IN_THE_TOKENIZER, AT_THE_PIPE) else STUCK[verdict.site or "unknown"]


def occupied(verdict: Verdict) -> str:
    """What the ranks of a verdict do where they stand."""
    if AT_THE_PIPE in verdict.summary:
        return AT_THE_PIPE
    return doing(verdict.site or "unknown", verdict.code.function if verdict.code else None)


def _cycle(incident: Incident) -> str:
    groups = incident.blast_radius.groups
    through = f" through {some(groups)}" if groups else ""
    return f"{who(incident.verdict)} wait for each other (deadlock){through}"


def _mismatch(incident: Incident) -> str:
    verdict = incident.verdict
    calls = (verdict.first_anomaly.op or "").split(" / ")
    if len(calls) != 2 or calls[0] == calls[1]:  # sizes or types differ, and the detector's sentence has them
        return _placed(_split(capital(_unlabelled(verdict.summary)))[0].rstrip("."), verdict) + waiting(incident)
    number = "" if verdict.first_anomaly.seq is None else f" #{verdict.first_anomaly.seq}"
    at = f" at {code(verdict)}" if code(verdict) else ""
    call = f"{calls[0]} instead of {calls[1]}{number}{_of(verdict.first_anomaly.group)}"
    return f"{who(verdict)} called {call}{at}{waiting(incident)}"


def _stuck(incident: Incident) -> str:
    verdict = incident.verdict
    return f"{who(verdict)} entered {operation(verdict) or 'the operation'} and never completed it{waiting(incident)}"


_SENTENCES: Mapping[Cause | None, Callable[[Incident], str]] = {
    "rank_absent": _absent,
    "deadlock_cycle": _cycle,
    "collective_mismatch": _mismatch,
    "kernel_stuck": _stuck,
}


def doubts(verdict: Verdict) -> list[str]:
    """Why more cannot be told. What is not recorded depends on what was asked: the members of a group only where one is waited in."""
    told = [reason for reason in verdict.undecided if not is_idle(verdict, reason)]
    return [UNRECORDED.get(verdict.kind, REASON[one]) if one == "membership_unknown" else REASON[one] for one in told]


def is_idle(verdict: Verdict, reason: str) -> bool:
    """That nothing hung is no doubt about a job that ended well; of what nobody explains the status says no less."""
    return (verdict.kind, reason) in (("healthy", "no_hang"), ("unknown", "no_hang"), ("unknown", "nothing_found"))


def has_decision(incident: Incident) -> bool:
    """Is there more to say than that nothing is proven, or shown? Of a bad value that is proven, on what it depends."""
    verdict = incident.verdict
    is_open = incident.decision.do == "cannot_tell"
    is_of_value = verdict.kind == "numerics" and verdict.status in ("established", "supported")
    return verdict.kind != "healthy" and (not is_open or (is_of_value and bool(incident.decision.reason)))


def others(incident: Incident) -> list[Alternative]:
    """The explanations that say something else: another cause, or somebody who is not named or suspected already."""
    verdict = incident.verdict
    here = {*verdict.ranks, *verdict.cycle, *verdict.suspects.ranks}

    def is_other(one: Alternative) -> bool:
        return one.cause not in (verdict.cause, None) or not one.ranks or bool(one.hosts or {*one.ranks} - here)

    return list(filter(is_other, incident.alternatives))


def _split(text: str) -> tuple[str, str]:
    """The first sentence, and the rest; a full stop inside a quotation ends none."""
    for end in _END.finditer(text):
        if text.count("“", 0, end.start()) == text.count("”", 0, end.start()):
            return text[: end.start()], text[end.end() :]
    return text, ""


def _unlabelled(summary: str) -> str:
    for name in LABELS:
        summary = summary.removeprefix(name)
    return summary.strip()


def _ended(text: str) -> str:
    """With a full stop, where none is."""
    text = text.strip()
    return text if not text or text[-1] in ".!?…" else f"{text}."
