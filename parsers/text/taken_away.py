"""Words for a machine or a pod that is taken away: of clouds, of Kubernetes' scheduler and kubelet, of Kueue and Volcano.

Lines of logs (scheduling/preemption.py) and messages of events (scheduling/kubernetes.py) hold them alike; there the sources are told.
"""

from parsers.text.patterns import regex

TAKEN_AWAY = (
    regex(r'"EventType": ?"Preempt"'),
    regex(r"(?i)\bspot (?:instance )?interruption (?:notice|warning)\b[^\n]{0,200}"),
    regex(r"(?i)\b(?:spot |virtual |cloud )?(?:instance|machine|node|vm) (?:will be|is going to be|is being) (?:interrupted|reclaimed|taken back|terminated|stopped) (?:at|in|by the cloud)\b"),
    regex(r"compute\.instances\.preempted|(?i:(?<!the )\b(?:instance|node|vm|pod|job)\b[^,;.()]{0,60}?\b(?:was|is being|has been|got) preempted\b(?!,? or ))"),
    regex(r"\b(?:Preempted|Evicted) to accommodate a workload \(UID: [\w-]{1,60}|\bPod is evicted, because of (?:gang)?(?:preempt|reclaim)\b"),
    regex(r"\bPreempted in order to admit|(?i:\bpreemption notice\b)|\bPreempted by (?:pod|job)\b"),
)  # fmt: skip


def is_taken_away(text: str) -> bool:
    """Does a message say so?"""
    return any(pattern.search(text) for pattern in TAKEN_AWAY)
