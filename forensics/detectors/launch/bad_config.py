"""Is the job set up in a way that cannot work?

Two ranks on one device, libraries of different versions, no interface of the wanted name, an invalid call. The library that refuses says what is wrong;
without its last words ("invalid usage" alone) it stays a hypothesis. Nobody is named: what differs is a setting.
"""

from forensics.case import Case, Detector
from forensics.facts.error_words import tells_setting, tells_versions
from forensics.facts.event_rows import Row, detail, refs, rows
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Action, FirstAnomaly
from forensics.model.names import Cause
from forensics.words import launch as words

_NO_INTERFACE = "no_interface"  # the library found none under the name that it was given, or none at all


def _said(row: Row) -> str:
    return f"{row['code'] or ''} {row['text'] or ''} {detail(row).get('last_error') or ''}"


def _cause(case: Case, first: Row) -> Cause:
    if case.has_begun:
        return "exception"
    if first["code"] == _NO_INTERFACE:
        return "wrong_interface"
    return "version_mismatch" if tells_versions(_said(first)) else "config_drift"


def detect(case: Case) -> tuple[Finding, ...]:
    """Case → at most one finding."""
    found = rows(case.events, "config_error")
    if not found:
        return ()
    first = next((row for row in found if tells_setting(_said(row))), found[0])
    precise = tells_setting(_said(first))
    line = (detail(first).get("last_error") or (first["text"] or "").splitlines()[0])[:200]
    return (
        Finding(
            detector=DETECTOR.name,
            cause=_cause(case, first),
            domain="infrastructure" if first["code"] == _NO_INTERFACE else "workload",
            undecided=() if precise else ("tied_explanations",),
            claims=(Claim(words.REFUSED, "for", refs([first])),),
            first_anomaly=FirstAnomaly(signature=f"config:{first['code'] or ''}"),
            actions=(
                Action(kind="check_config", target=words.THE_JOB, command=None, reason=words.AS_PRINTED(line=line)),
            ),
            collect=() if precise else (words.NCCL_LOGS,),
            summary=words.CANNOT_WORK(line=line),
        ),
    )


DETECTOR = Detector("bad_config", ("events",), detect, "never_started")
