"""Did the traffic of one host fall to zero before that of all others, while the job stands still?

In a stall every adapter falls silent, one after another: the first may be the one that everybody waits for, or a victim like
the others. Counters of bytes, at the distance at which they were read, make a host a suspect and no more.
"""

from forensics.case import Case, Detector
from forensics.model.finding import Claim, Finding
from forensics.model.incident import FirstAnomaly, to_do
from forensics.model.said import joined
from forensics.words import hardware as words


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding: the only host whose ports fell silent first."""
    found = [one for one in case.apart if one.effect == "silent" and one.host]
    hosts = {str(one.host) for one in found}
    if len(hosts) != 1 or case.has_open_operations or any(end.how == "ended" for end in case.ends.values()):
        return ()
    (host,) = hosts
    text = words.TRAFFIC_ENDED_FIRST(host=host, seen=found[0].seen)
    return (
        Finding(
            cause="network_fault",
            suspect_hosts=(host,),
            domain="infrastructure",
            undecided=("tied_explanations",),
            claims=tuple(Claim(one.text, "for", one.refs) for one in found[:4]),
            first_anomaly=FirstAnomaly(host=host, step=case.step_in_progress(), signature="silent_port"),
            actions=(to_do("inspect_network", host, words.ITS_TRAFFIC),),
            collect=(words.COUNTERS_AND_STACKS(host=host),),
            summary=words.UNDECIDED(what=joined((text, words.NETWORK_OR_PROCESSES), ". ")),
        ),
    )


DETECTOR = Detector("silent_port", ("devices",), detect, "waiting")
