"""Words for how a process ended, whoever prints them: an exit code, a status, a signal; and of which process they speak.

    worker 3 (pid 4711) exited with exit code 1  |  process 4711 was killed by signal 9  |  rank 3 returned -9
    process 3: exit status -9                                       a launcher of one's own, a line for each process
    *** SIGABRT (@0xe21) received by PID 4711 (TID 0x7f) from PID 4711; stack trace: ***
    trainer.1 stopped (rc=-9)                                       honcho
    sending SIGKILL to trainer.1 (pid 4711)                         honcho, of those that run when one has stopped
    killing 'rank3' (4711) with SIGKILL                             supervisord, of one that does not heed a request
    exited: rank3 (terminated by SIGKILL; not expected)             supervisord
    train@3.service: Main process exited, code=killed, status=9/KILL        systemd
    worker-3 exited with code 137                                   docker compose

Versions: supervisord 3 and 4, systemd from 2010 on, docker compose v2; others by their words alone.
Source: honcho/manager.py and process.py (the code is that of its shell, by Popen); supervisor/process.py (finish: `stopped:`
follows a request, `exited:` none) and options.py (decode_wait_status); systemd's src/core/service.c; pkg/compose/printer.go of
compose; glog's src/signalhandler.cc (`Signal 7` in place of a name it lacks is not read). Not read: launchers of one's own;
these forms are as users print them.
"""

import json
import signal
from typing import Any

from parsers.lines import Row, reporter
from parsers.patterns import regex
from parsers.rules import integer

_RANK = regex(r"(?i)(?<![\w-])(?:global[_ ]|world[_ ])?rank[ :=_#]{0,2}(\d{1,7})\b")
_PID = regex(r"(?i)\b(?:pid|process)[ :=#]{1,2}(\d{2,10})\b")
_SUBJECT = regex(
    r"(?i)\b(?:ranks?|workers?|process(?:es)?|pid|tasks?|job|child|subprocess|launcher|trainers?|replicas?|actors?|pods?"
    r"|containers?|python[\d.]*|torchrun|program|script|command|nodes?)(?:\b|(?=\d))"
)
_ENDED = regex(
    r"(?i)\bexit(?:ed|s|ing)? (?:with )?(?:an? )?(?:non-?zero )?(?:exit |return |error )?(?:code|status)[ =:]{1,3}(?P<exit>-?\d{1,5})\b"
    r"|\bexit ?code[ =:]{1,3}(?P<code>-?\d{1,5})\b|\breturn ?code[ =:]{1,3}(?P<back>-?\d{1,5})\b"
    r"|\bnon-zero exit status (?P<status>-?\d{1,5})\b|\(rc=(?P<rc>-?\d{1,5})\)|\bcode=exited, status=(?P<unit>\d{1,5})\b"
)
_BY_SIGNAL = regex(r"(?i)\b(?:exit|return) ?code[ =:]{1,3}-(?:4|6|7|8|9|11)\b")
_SIGNALLED = regex(
    r"(?i)\b(?:killed|terminated|died|crashed|aborted|ended|stopped|exited)\b.{0,30}?\b(?:signals?\.?[ :=#<]{0,2}(?P<number>\d{1,2})\b"
    r"|(?:signals?[ .:=#<]{0,2})?(?P<name>SIG[A-Z]{3,6})\b)"
    r"|\*\*\* (?P<own>SIG[A-Z]{3,6}) \(@0x[0-9a-f]+\) received by PID"  # glog's handler
    r"|\bcode=(?:killed|dumped), status=(?P<unit>\d{1,2})/"
    r"|\b(?:rank|process|proc|task) ?\d{1,7}\b.{0,40}?\breturned -(?P<back>\d{1,2})\b"
)
_PERHAPS = regex(r"(?i)\b(?:common|possible|likely|potential) (?:causes?|reasons?)\b")  # what follows was not observed
_ASKED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT")
# A line of a list, one for each process: there code 0 and an end by request tell that it is whole.
_LISTED = regex(
    r"(?i)\A(?:[a-z]{1,20}: )?(?P<of>rank|process|proc|task) ?[#:]?(?P<number>\d{1,7})(?: \(pid[ =:]\d{1,10}\))?"
    r"(?:[:,]| (?:has |was )?)[^\d\n]{0,30}\b(?:exit|return|rc\b|killed|terminated|signal)"
)
_CLOSING = regex(
    r"\bsending (?P<sent>SIG(?:TERM|KILL)) to \S{1,255} \(pid (?P<pid>\d{1,10})\)"
    r"|\bkilling '[^'\s]{1,255}' \((?P<late>\d{1,10})\) with SIGKILL"
)
_ON_REQUEST = regex(
    r"\bstopped: \S{1,255} \((?:terminated by SIG|exit status )"
)  # supervisord: told to, or SIGKILL after a wait
_CONTAINER = regex(r"\A(?P<name>[A-Za-z][\w.-]{0,100}[-_]\d{1,6}) exited with code -?\d{1,5}\s*\Z")


def end(row: Row, text: str) -> dict[str, Any] | None:
    """`kind` closing_signal, of a process that its launcher ends; else exit with its columns, if the line says of which kind of thing it speaks, or gives a signal as Python's subprocess
    does, below zero. An end by code 0 or by request is none but in a list; `detail.number`: of the process in it."""
    text = _PERHAPS.split(text, maxsplit=1)[0]
    if closing := _CLOSING.search(text):
        return _closing(row, text, closing["sent"] or "SIGKILL", closing["pid"] or closing["late"])
    if (_SUBJECT.search(text) is None and _BY_SIGNAL.search(text) is None) or _ON_REQUEST.search(text):
        return None
    listed = _LISTED.match(text)
    if killed := _SIGNALLED.search(text):
        name, number = killed["name"] or killed["own"], killed["number"] or killed["unit"] or killed["back"]
        code = name.upper() if name else _signal(int(number))
    elif ended := _ENDED.search(text):
        number = int(next(group for group in ended.groups() if group is not None))
        code = _signal(-number) if number < 0 else str(number)
    else:
        return None
    is_quiet = code == "0" or code in _ASKED
    if is_quiet and not listed:
        return None
    rank, pid = _RANK.search(text), _PID.search(text)
    severity = "info" if is_quiet else "error"
    made: dict[str, Any] = {"kind": "exit", "severity": severity, "code": code, "pid": integer(pid[1]) if pid else None}
    if rank and reporter(row)["rank"] is None:
        made |= {"rank": int(rank[1]), "rank_space": "global"}
    elif listed and reporter(row)["rank"] is None:
        made["detail"] = json.dumps({"number": int(listed["number"]), "of": listed["of"].lower()})
    if container := _CONTAINER.match(text):
        made["host"] = container["name"]
    return made


def _closing(row: Row, text: str, code: str, pid: str) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": "closing_signal", "severity": "info", "code": code, "pid": integer(pid)}
    rank = _RANK.search(text) if reporter(row)["rank"] is None else None
    return made | ({"rank": int(rank[1]), "rank_space": "global"} if rank else {})


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(-number)
