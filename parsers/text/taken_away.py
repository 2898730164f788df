"""Words for a machine or a pod that is taken away: of clouds, of Kubernetes' scheduler, kubelet and autoscalers, of Kueue and Volcano;
for a job whose time was over: of batch systems and of Kubernetes; and for a job that somebody deleted: of batch systems.

Lines of logs (scheduling/preemption.py) and messages of events (scheduling/kubernetes.py) hold them alike; there the sources are told.
"""

from parsers.text.patterns import regex

TAKEN_AWAY = (
    regex(r'"EventType": ?"Preempt"'),
    regex(r"(?i)\bspot (?:instance )?interruption (?:notice|warning)\b[^\n]{0,200}"),
    regex(r"(?i)\b(?:spot |virtual |cloud )?(?:instance|machine|node|vm)(?: i-[0-9a-f]{8,17})?(?: \([^()\n]{0,80}\))? (?:will be|is going to be|is being) (?:taken back\b|reclaimed\b|(?:interrupted|terminated|stopped) (?:at|in|by the cloud)\b)"),
    regex(r"compute\.instances\.preempted|(?i:(?<!the )\b(?:instance|node|vm|pod|job)\b[^,;.()]{0,60}?\b(?:was|is being|has been|got) preempted\b(?!,? or ))"),
    regex(r"\b(?:Preempted|Evicted) to accommodate a workload \(UID: [\w-]{1,60}|\bPod is evicted, because of (?:gang)?(?:preempt|reclaim)\b"),
    regex(r"\bScale-down: (?:removing node [^\n]{0,300}\bpods to reschedule: \S|node \S{1,253} is going to be deleted)|(?i:\bdeleting pod for node scale[ -]?down\b)"),
    regex(r"\bEvicted pod: (?:Underutilized|Empty|Drifted|Expired|SpotInterrupted|CapacityReservationInterrupted)\b"),
    regex(r"^(?:\S{1,40} )?evicting pod (?=[a-z0-9-]{1,63}/[a-z0-9.-]{1,253}\s*$)|\"Evicted pod\" pod=\"(?=[a-z0-9-]{1,63}/)|\bStandardAutoscaler: Terminating the node with id \S{1,253} and ip\b"),
    regex(r"\bPreempted in order to admit|(?i:\bpreemption notice\b)|\bPreempted by (?:pod|job)\b"),
)  # fmt: skip
# What a metadata service answers is said of the machine that asks (EC2's instance-action).
OF_ASKING = regex(r'"action": ?"(?:terminate|stop|hibernate)", ?"time": ?"\d{4}-')
OUT_OF_TIME = (
    regex(r"(?i)\b(?:job|step|allocation)\b[^\n.]{0,60}\b(?:killed|terminated|aborted|cancell?ed)\b[^\n.]{0,60}\b(?:wall[ -]?(?:clock)?[ -]?time|run[ -]?time limit|run limit|time limit|runlimit)\b(?! of\b)"),
    regex(r"\bTERM_RUNLIMIT\b|\bMaxRuntimeExceeded\b|(?i:\bexceed(?:ed|s) (?:hard |soft |its |the |the job's )?(?:wall[ -]?clock|wall)[ -]?time\b(?: limit)?)"),
    regex(r"\btype=timeout\b[^\n]{0,80}\bresource allocation expired|\b(?:Pod was active on the node longer than the|Job was active longer than) specified deadline\b"),
    regex(r"\b(?:qmaster|execd) enforced h_rt\b|(?i:\bjob (?:attempt )?duration exceeded (?:the )?timeout\b)"),
)  # fmt: skip
# Asked for by a person: a server, a scheduler or a hook of the batch system deletes jobs for reasons of its own.
BY_HAND = (
    regex(r"\b[Jj]ob (?:to be )?deleted at request of (?!(?i:root|pbs|maui|moab|sched|server|hook|mom\b))[\w.-]{1,64}@[\w.-]{1,253}"),
    regex(r"\bTERM_OWNER\b: job killed by owner"),
    regex(r"\bvia condor_rm \(by user (?!root\b)[\w.@-]{1,100}\)"),
    regex(r"\|[IW]\|(?!root\b)[\w.-]{1,64} has (?:deleted job \d|registered the job \d{1,12} for deletion)"),
)  # fmt: skip


def is_taken_away(text: str) -> bool:
    """Does a message say so?"""
    return any(pattern.search(text) for pattern in TAKEN_AWAY)


def is_out_of_time(text: str) -> bool:
    """Does a message say that the time of the job was over?"""
    return any(pattern.search(text) for pattern in OUT_OF_TIME)
