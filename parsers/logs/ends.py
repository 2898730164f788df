"""Words for how a process ended, whoever prints them: a subject and an end.

The subject: a rank, a local rank, a number of a pid, a number in a launcher's own count (`worker 3`), a name (of a program, a unit, a
container, quoted or not). The end: an exit code, a status, a signal by number or name, the shell's words for one, a kill for memory.

    worker 3 (pid 4711) exited with exit code 1  |  process 4711 was killed by signal 9  |  rank 3 returned -9
    process 3: exit status -9                                       a launcher of one's own, a line for each process
    *** SIGABRT (@0xe21) received by PID 4711 (TID 0x7f) from PID 4711; stack trace: ***
    *** SIGABRT received at time=1767349153 on cpu 22 ***           Abseil's handler, in Ray's processes and JAX
    trainer.1 stopped (rc=-9)                                       honcho
    sending SIGKILL to trainer.1 (pid 4711)                         honcho, of those that run when one has stopped
    sending SIGKILL to pids 4711 and 4712                           a watchdog of one's own
    sending SIGKILL to all processes                                foreman, likewise: of no process by its number (`detail.to`: all)
    train@3.service: Killing process 4711 (python) with signal SIGKILL.      systemd, of a unit that it stops
    killing 'rank3' (4711) with SIGKILL                             supervisord, of one that does not heed a request
    ^C*** Aborted at 1767349153 (unix time) …                       a terminal, of who pressed Ctrl-C there
    member 6: kill -9 4711 sent  |  Delete pod job-worker-4, grace period 0s        a supervisor of one's own, DLRover's master
    exited: rank3 (terminated by SIGKILL; not expected)             supervisord
    train@3.service: Main process exited, code=killed, status=9/KILL        systemd
    worker-3 exited with code 137                                   docker compose
    Process 1 exit with status code 1.                              Horovod
    Terminated      Exit Code: 0, Signal: 9                         nomad alloc status, in the record of a task
    Terminated      Exit Code: 137, Exit Message: "OOM Killed"      the same
    … taskId=worker-3-node__4fd1 state=TASK_FAILED message='Command terminated with signal Killed'        Mesos
    all 8 processes exited with code 0  |  exit codes: [0, 0, -9, 0]  |  returncodes: {0: 1, 1: -9}        a launcher of one's own, of all at once
    App [rank-3:3] exited with code [0] via signal [SIGKILL]        pm2
    Worker tcp://10.0.0.5:40331 (pid=4711) exceeded 95% memory budget. Restarting...      Dask's nanny
    Exited (137) 3 minutes ago                                      docker ps, behind a name
    prterun noticed that process rank 6 with PID 20715 on node n8 exited on⏎signal 9 (Killed).     wrapped by its printer

Of whom a number or a name is, is for forensics/assemble/ends/placed_ends.py to say: here it is only kept, in `detail` as `number` with
the word for what is counted, `of`, and `names`; `only`, where nothing but a name says that the line speaks of a process.

Versions: supervisord 3 and 4, systemd from 2010 on, docker compose v2, pm2 5; others by their words alone.
Source: foreman's lib/foreman/engine.rb (terminate_gracefully), systemd's src/core/unit.c (unit_kill_context, log_kill); honcho/manager.py and process.py (the code is that of its shell, by Popen); supervisor/process.py (finish: `stopped:`
follows a request, `exited:` none) and options.py (decode_wait_status); systemd's src/core/service.c; pkg/compose/printer.go of
compose; horovod/runner/gloo_run.py; abseil-cpp's absl/debugging/failure_signal_handler.cc; glog's src/signalhandler.cc (`Signal 7` in place of a name it lacks is not read). Not read:
launchers of one's own and pm2; these forms are as users print them.
"""

import json
import re
from typing import Any

import polars as pl

from parsers.schema.lines import Row, reporter
from parsers.schema.rules import integer
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.signals import WORDS, ended
from parsers.who.scripts import arguments

_RANK = regex(r"(?i)(?<![\w-])(?:(?P<space>[a-z]{1,12})[ _-])?rank[ :=_#-]{0,2}(?P<number>\d{1,7})\b")
_OF_HOSTS = regex(r"\bjob\.exception type=exec\b")  # Flux's executor counts its shells, one on each host
_OF_GROUP = regex(r"(?i)\b[tpdec]p \Z")  # `DP worker rank=3`: counted within a kind of group
_PID = regex(
    r"(?i)\b(?:pid|process)[ :=#]{1,2}(\d{2,10})\b|(?:进程|\bchild|\bsubprocess|\bworker)\s?[:：#=]?\s?(\d{4,10})\b"
)
_NODE = regex(
    r"(?i)(?:\b(?:on|at) (?:the )?(?:node|host|machine)[ :=]{1,2}|(?<!\S)(?:host(?:name)?|node)=[\"']?)(?P<host>[A-Za-z0-9][\w.-]{0,252})\b"
)
_SUBJECT = regex(
    r"(?i)\b(?:ranks?|workers?|process(?:es)?|pid|tasks?|job|child|subprocess|launcher|trainers?|replicas?|actors?|pods?"
    r"|进程|containers?|python[\d.]*|torchrun|program|script|command|nodes?)(?:\b|(?=\d))"
)
_VERB = r"(?:exit(?:ed|s)|terminated|killed|died|crashed|aborted|stopped|failed|finished|ended|returned|quit)"
_NAME = r"[A-Za-z0-9][\w.@/+-]{0,100}"
_NAMED = (
    regex(rf"(?i)\b(?:exited|terminated|stopped|crashed|died|killed|finished): ['\"\[]?(?P<name>{_NAME})"),
    regex(rf"(?i)(?<![\w.@/+-])['\"\[]?(?P<name>{_NAME})(?::\d{{1,5}})?['\"\]]?(?: \([^()]{{0,60}}\))?:? (?:(?:has|was|is|got|been|main|process) ){{0,3}}{_VERB}\b"),
    regex(rf"(?:\A|[\]|>] )(?P<name>{_NAME})(?:\[\d{{1,10}}\])?: "),
    regex(rf"\bago\s{{1,60}}(?:\S{{1,200}}\s{{1,60}})?(?P<name>{_NAME})\s*\Z"),  # docker ps: its last column
    regex(rf"(?<![\w.@/+-])(?P<name>(?!ago\b){_NAME})(?:\t+|\s{{2,60}})(?:Exited|exited) \(-?\d{{1,5}}\)"),  # or that before the state
    regex(rf"(?i)\b(?:service|unit|program|process|container|pod|actor|app|instance|task(?:_?id)?|worker|job|replica|child)[ :=]{{1,2}}['\"\[]?(?P<name>{_NAME})"),
)  # fmt: skip
_ENDED = regex(
    r"(?i)\bexit(?:ed|s|ing)? (?:normally |abnormally )?(?:with )?(?:an? )?(?:non-?zero )?(?:exit |return |error |status )?(?:code|status)[ =:]{1,3}[\[(]?(?P<exit>-?\d{1,5})\b"
    r"|\bexit[ _-]?(?:code|status|value)[ =:]{1,3}[\[(]?(?P<code>-?\d{1,5})\b|\bret(?:urn)? ?code[ =:]{1,3}(?P<back>-?\d{1,5})\b"
    r"|\bnon-zero exit status (?P<status>-?\d{1,5})\b|(?:\(|\b(?:pid|process|rank|task|worker)[ =:#]{1,2}\d{1,10}[,:;]? (?=rc[ =:])|\b(?:exit|stop|end|finish|return|terminat|crash|quit|died)\w{0,6}\b.{0,30}?\b)rc[ =:]{1,3}(?P<rc>-?\d{1,5})\b|\bcode=exited, status=(?P<unit>\d{1,5})\b"
    r"|\b(?:exited|died|terminated|crashed|stopped|quit)(?: with| on)?(?: an?)?(?: error)? (?:code|status)[ =:]{0,3}(?P<died>-?\d{1,5})\b"
    r"|\b(?:failed|finished|ended|returned|completed)(?: with)?(?: an?)?(?: error)? code[ =:]{1,3}(?P<failed>-?\d{1,5})\b"
    r"|\bexited\b[^=]{0,40} pid=\d{1,10}\b.{0,40}? (?:exit_)?(?:code|status)=(?P<field>-?\d{1,5})\b"
    r"|退出码\s?[:：=]?\s?(?P<chinese>-?\d{1,5})"
    r"|\bexited \((?P<docker>-?\d{1,5})\)|\bexit(?:ed)?(?: with)?[ =:]{1,3}(?P<bare>-?\d{1,5})(?=[.,;)\]]?\s*\Z)"
)
_RECORD = regex(
    r"\bExit Code: (?:[1-9]\d{0,2}, [A-Z][A-Za-z ]{1,30}: |0, Signal: [1-9])"
)  # of a task, in the record of its allocation
_HANDLED = regex(r"\*\*\* SIG[A-Z]{3,6} received at time=\d")  # by its own process
_BY_SIGNAL = regex(r"(?i)\b(?:exit|return) ?code[ =:]{1,3}-(?:4|6|7|8|9|11)\b")
_SIGNALLED = regex(
    r"(?i)\b(?:killed|terminated|died|crashed|aborted|ended|stopped|exit(?:ed|s)?|dead|was sent)\b(?:(?!(?:code|status)[ =:]{1,2}-?\d{1,5}\. ).){0,30}?\b(?:signals?\.?[ :=#<\[(]{0,2}(?P<number>\d{1,2})\b"
    r"|(?:signals?[ .:=#<\[(]{0,2})?(?P<name>SIG(?!NAL)[A-Z]{3,6})\b)"
    r"|\*\*\* (?P<own>SIG[A-Z]{3,6}) (?:\(@[^\n]{1,120}? received by PID|received at time=)"  # the handlers of glog and of Abseil
    r"|\bcode=(?:killed|dumped), (?:status=(?P<unit>\d{1,2})/|signal=(?P<short>[A-Z]{3,6})\b)"
    rf"|\bsignal[=: ] ?[\"']?(?P<said>{'|'.join(WORDS)})\b"  # Go's word for it
    r"|信号\s?[:：]?\s?(?P<chinese>\d{1,2})"
    r"|\b(?:rank|process|proc|task) ?\d{1,7}\b.{0,40}?\breturned -(?P<back>\d{1,2})\b"
)
# The shell's words for a signal, behind whom they are of, at the end of the line.
_SAID = regex(rf"[:(,]\s*(?P<said>{'|'.join(WORDS)})(?:[ ,]*\(?core dumped\)?)?[).]*\s*\Z")
_FOR_MEMORY = regex(
    r"\bOOM[- ]?[Kk]illed\b|\bexceeded \d{1,3}% memory budget\. Restarting|(?i:\bkilled by (?:the )?(?:kernel'?s? )?(?:OOM|out[- ]of[- ]memory)[- ]?killer\b)"
)
_CTRL_C = regex(r"(?:\^C)+(?:[^\s\w]|[A-Z]\w|\s*\Z)")  # a terminal's echo of the key, before whatever is printed next
# A command at a prompt that shows what another process logs: the key ends the looking, and nothing that is looked at.
_FOLLOWS = (
    r"^[^|;]{0,80}?[$#%❯>] (?:[^|;]{0,200}?[ '\"])?"
    r"(?:logs |stream(?:-logs)?\b|(?:stern|kubetail) |(?:tail|journalctl|less) (?:.* )?(?:-\w*[fF]|\+F|--follow))"
)
FOLLOWERS = (b" logs ", b" stream", b"tail -", b"journalctl ", b"less +F", b"stern ", b"kubetail ")
_PERHAPS = regex(r"(?i)\b(?:common|possible|likely|potential) (?:causes?|reasons?)\b")  # what follows was not observed
_ASKED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCONT")
_NUMBER = regex(
    r"(?i)(?<![\w-])(?P<of>process|proc|task|worker|trainer|child|replica|slot|job|executor|instance) ?[#:=\[]?(?P<number>\d{1,7})\b"
)
_LOADER = regex(r"(?i)data ?loader")  # its workers are numbered within a rank
# A line of a list, one for each process: there code 0 and an end by request tell that it is whole.
_LISTED = regex(
    r"(?i)\A(?:[a-z]{1,20}: )?(?P<of>rank|process|proc|task) ?[#:]?(?P<number>\d{1,7})(?: \(pid[ =:]\d{1,10}\))?"
    r"(?:[:,]| (?:has |was )?)[^\d\n]{0,30}\b(?:exit|return|rc\b|killed|terminated|signal)"
)
_CLOSING = regex(
    r"(?i)\bsend(?:ing)? (?:signal )?(?P<sent>SIG(?:TERM|KILL|INT)) to (?P<whom>\S.{0,200})"
    r"|\b(?:killing|terminating|stopping) (?P<late>['\"\w].{0,200}?) (?:with|by|via|using) (?:signal )?(?P<by>SIG(?:TERM|KILL|INT))\b"
    r"|\b(?:kill(?:ing)? -(?:s )?(?:9|(?:SIG)?KILL) |SIGKILL(?:ing|ed) |(?:force[- ])?delet(?:e|ing|ed) (?:the )?(?=pod\b)|killing (?=(?:pid|process|rank|member|worker|trainer|replica)\b))(?P<killed>\S.{0,200})"
)
# What a person typed, as sudo logs it, or behind a prompt.
_BY_HAND = regex(
    r"(?:.{0,400}\bCOMMAND=(?:\S{0,100}/)?|[^\w\s]?[\w.-]{1,32}@(?P<at>[\w.-]{1,250})\b[^$#%>]{0,80}[$#%>] (?:sudo )?)kill\b"
)
_ALL = regex(r"(?i)all (?:processes|workers|ranks|children)\b")
_CLOSED_PID = regex(r"(?i)\((?:pid[ :=]{1,2})?(\d{2,10})\)|\b(?:pid|process)[ :=#]{1,2}(\d{2,10})\b|\A(\d{2,10})\b")
_CLOSED_PIDS = regex(r"(?i)(?:the )?(?:pids|processes)[ :=]{1,3}[\[(]?\d{2,10}(?:(?:,? and |, ?| )\d{2,10}){1,4095}\b")
_DIGITS = regex(r"\d+")
_ON_REQUEST = regex(
    r"\bstopped: \S{1,255} \((?:terminated by SIG|exit status )|\bJob is now being force-killed with SIG"
)  # supervisord: told to, or SIGKILL after a wait; Ray's job agent, of a job that somebody stops
# What systemd runs to start, reload or stop a unit is no process of a job, nor are the services that a driver or systemd brings.
_OF_SYSTEM = regex(
    r"\.service: Control process exited, |\b(?:nvidia|systemd)-[\w@-]{1,60}\.service: (?:Main process exited|Failed with result)"
)
# The number after it is of what failed to tell, and of no process.
_NOT_GOT = regex(
    r"(?i)\b(?:unable|fail(?:ed|s|ure|ing)?|(?:could|can|did) ?not|couldn't|can't) (?:to )?(?:get|read|fetch|obtain|determine|retrieve) (?:(?:the|its|an?) )?exit"
)
_CONTAINER = regex(r"\A(?P<name>[A-Za-z][\w.-]{0,100}[-_]\d{1,6}) exited with code -?\d{1,5}\s*\Z")
_WHOM = regex(rf"(?:pod )?['\"\[]?(?P<name>{_NAME})")
# A line that tells of an end and stops before it says which, for its printer wraps what is long.
CUT = r"(?i)\b(?:exit(?:ed|s|ing)|terminated|killed|died|crashed|ended|stopped)(?: (?:on|by|with|due to|via))?(?: (?:an?|exit|error|return|status))?\s*$"
_GOES_ON = (
    r"(?i)^\s*(?:(?:on|by|with|due to|via) )?(?:an? |the )?(?:signal|code|status|exit|return|error|SIG[A-Z]|-?\d)"
)
_CODES_OF_ALL = regex(r"(?i)\b(?:exit[ _]?|return[ _]?|ret)codes?\W{1,4}?[\[{](?P<codes>[-\d:,'\" ]{3,20000})[\]}]")
_ALL_ALIKE = regex(
    r"(?i)\ball (?P<count>\d{1,7}) (?:processes|workers|ranks|tasks|trainers|children|jobs) (?:have |has )?exited"
    r" (?:successfully|normally|cleanly|(?:with )?(?:exit |return )?(?:code|status) 0\b|0\b)"
)
_NAMES = 4
_CODES = 256  # what wait() gives; a larger number is a status of something else


def joined(lines: pl.DataFrame) -> pl.DataFrame:
    """Lines of logs (schema LINES, in order) → those with an anchor, with the text of the next one where their printer broke them before
    he says which end it was."""
    is_next = (pl.col("file") == pl.col("file").shift(-1)) & (pl.col("line") + 1 == pl.col("line").shift(-1))
    behind = pl.col("text").shift(-1)
    is_cut = is_next.fill_null(False) & pl.col("text").str.contains(CUT) & behind.str.contains(_GOES_ON)
    whole = pl.col("text") + " " + behind.str.strip_chars()
    return lines.with_columns(pl.when(is_cut).then(whole).otherwise("text").alias("text")).filter("hit")


def without_followers(lines: pl.DataFrame) -> pl.DataFrame:
    """Lines in order, without the first Ctrl-C behind each command that only follows a log."""
    pressed = pl.col("raw").str.strip_chars_start().str.starts_with("^C")
    if not lines.select(pressed.any()).item():
        return lines
    follows = pl.col("raw").str.contains(_FOLLOWS)
    before = pl.when(follows).then(True).when(pressed).then(False).forward_fill().shift(1).over("file")
    return lines.filter(~(pressed & before.fill_null(False)))


def end(row: Row, text: str) -> dict[str, Any] | None:
    """`kind` closing_signal, of a process that its launcher ends; else exit with its columns, if the line says of whom or what it
    speaks, or gives a signal as Python's subprocess does, below zero. An end by code 0 or by request counts only of somebody who is
    told: in a list, by rank, pid or name. `detail`: number, of, names, only."""
    if _CTRL_C.match(row["raw"].lstrip()):
        nobody = {"rank": None, "local_rank": None, "detail": json.dumps({"by": "terminal"})}
        return {"kind": "exit", "severity": "info", "code": "SIGINT", **nobody}
    text = _PERHAPS.split(text, maxsplit=1)[0]
    if closing := _CLOSING.search(text):
        return _closing(row, text, *_sent(closing))
    code = _code(text)
    if code is None or _ON_REQUEST.search(text) or _OF_SYSTEM.search(text) or _NOT_GOT.search(text):
        return None
    names = _names(text)
    has_subject = any(pattern.search(text) for pattern in (_SUBJECT, _HANDLED, _BY_SIGNAL, _RECORD))
    is_of_nobody = reporter(row)["rank"] is None
    is_named = any(_is_name(name) or text.startswith(name) for name in names) and is_of_nobody
    if not (has_subject or is_named):
        return None
    is_quiet = code == "0" or code in _ASKED
    listed = _LISTED.match(text)
    rank, local, pid = *_rank(text), _PID.search(text)
    is_told = is_of_nobody and (rank is not None or any(map(_is_name, names)))
    if is_quiet and not listed and not is_told:
        return None
    made: dict[str, Any] = {
        "kind": "exit", "severity": "info" if is_quiet else "error", "code": code, "pid": integer(pid[1] or pid[2]) if pid else None,
    }  # fmt: skip
    if is_of_nobody:
        counted = None if rank is not None or _LOADER.search(text) else listed or _NUMBER.search(text)
        made |= _subject(text, rank, local, names, counted)
        if not has_subject:
            made["detail"] = json.dumps(json.loads(made.get("detail", "{}")) | {"only": "names"})
    if container := _CONTAINER.match(text):
        made["host"] = container["name"]
    return made


def each_end(row: Row, text: str) -> list[dict[str, Any]]:
    """The ends that one line lists, of all processes by their places or numbers: `exit codes: [0, 0, -9, 0]`, `{0: 1, 1: -9}`."""
    if reporter(row)["rank"] is not None:
        return []
    signal, whom = _sent(closing) if (closing := _CLOSING.search(text)) else ("", "")
    if listed := _CLOSED_PIDS.match(whom):
        pids = map(int, _DIGITS.findall(listed[0]))
        return [{"kind": "closing_signal", "severity": "info", "code": signal, "pid": pid} for pid in pids]
    if (alike := _ALL_ALIKE.search(text)) and 1 < int(alike["count"]) <= RANKS:
        return [_listed(number, 0, "all") for number in range(int(alike["count"]))]
    found = _CODES_OF_ALL.search(text)
    if found is None:
        return []
    parts = [part.partition(":") for part in found["codes"].split(",")]
    pairs = [(key if mark else str(at), value if mark else key) for at, (key, mark, value) in enumerate(parts)]
    made = []
    for key, value in pairs:
        number, code = integer(key.strip(" '\"")), integer(value.strip(" '\""))
        if number is None or code is None or abs(code) >= _CODES:
            return []
        made.append(_listed(number, code, "list"))
    return made if len(made) > 1 else []


def _listed(number: int, code: int, of: str) -> dict[str, Any]:
    name = ended(code)
    severity = "info" if name == "0" or name in _ASKED else "error"
    detail = json.dumps({"number": number, "of": of})
    return {"kind": "exit", "severity": severity, "code": name, "pid": None, "detail": detail}


def _code(text: str) -> str | None:
    """An exit code, or the name of a signal."""
    if killed := _SIGNALLED.search(text):
        if killed["said"]:
            return next(name for said, name in WORDS.items() if said.lower() == killed["said"].lower())
        name = killed["name"] or killed["own"] or (f"SIG{killed['short']}" if killed["short"] else None)
        number = killed["number"] or killed["unit"] or killed["back"] or killed["chinese"]
        return name.upper() if name else ended(-int(number))
    if _FOR_MEMORY.search(text):
        return "Out Of Memory"  # Slurm's word for it
    if told := _ENDED.search(text):
        number = int(next(group for group in told.groups() if group is not None))
        return None if abs(number) >= _CODES else ended(number)
    said = _SAID.search(text)
    return WORDS[said["said"]] if said else None


def _rank(text: str) -> tuple[int | None, int | None]:
    """(global rank, local rank) of whom the line speaks: what stands before the word tells what is counted."""
    rank = local = None
    for found in _RANK.finditer(text) if not _OF_HOSTS.search(text) else ():
        if found["space"] and _OF_GROUP.search(text[: found.start()]):
            continue
        meaning = vocabulary.meaning_of(f"{found['space']}_rank") if found["space"] else None
        kind = meaning.meaning if meaning else "rank"
        if kind == "rank" and rank is None:
            rank = int(found["number"])
        elif kind == "local_rank" and local is None:
            local = int(found["number"])
    if rank is None:
        rank = arguments.of_variables(text).get("rank")
    return rank, local


def _names(text: str) -> list[str]:
    found = (match["name"] for pattern in _NAMED for match in pattern.finditer(text))
    return [name for name in dict.fromkeys(found) if not name.isdecimal()][:_NAMES]


def _is_name(word: str) -> bool:
    """A word of a language names nobody; what programs are called has more than letters in it, and is no number."""
    return not word.isalpha() and not word.isdecimal()


def _subject(text: str, rank: int | None, local: int | None, names: list[str], counted: Any) -> dict[str, Any]:
    """Columns rank, local_rank, host and detail of whom the line speaks."""
    made: dict[str, Any] = {}
    if rank is not None:
        made |= {"rank": rank, "rank_space": "global"}
    elif local is not None:
        made |= {"local_rank": local}
    if (rank is None or local is not None) and (host := _NODE.search(text)):
        made |= {"host": host["host"].rstrip(".")}
    said: dict[str, Any] = {"number": int(counted["number"]), "of": counted["of"].lower()} if counted else {}
    if rank is None and names:
        said["names"] = names
    return made | ({"detail": json.dumps(said)} if said else {})


def _sent(closing: re.Match[str]) -> tuple[str, str]:
    """The signal, and to whom."""
    code = closing["sent"] or closing["by"] or ("DELETED" if "delet" in closing[0].lower() else "SIGKILL")
    return code.upper(), closing["whom"] or closing["late"] or closing["killed"]


def _closing(row: Row, text: str, code: str, whom: str) -> dict[str, Any] | None:
    made: dict[str, Any] = {"kind": "closing_signal", "severity": "info", "code": code, "pid": None}
    if _ALL.match(whom):
        return made | {"detail": json.dumps({"to": "all"})}
    pid, name = _CLOSED_PID.search(whom), _WHOM.match(whom)
    rank = _rank(text)[0] if reporter(row)["rank"] is None else None
    if pid is None and rank is None and not (name and _is_name(name["name"])):
        return None
    made["pid"] = integer(pid[1] or pid[2] or pid[3]) if pid else None
    if rank is not None:
        return made | {"rank": rank, "rank_space": "global"}
    if pid is not None and (typed := _BY_HAND.match(text)) is not None:
        return made | {"detail": json.dumps({"by": "person"})} | ({"host": typed["at"]} if typed["at"] else {})
    return made | ({"detail": json.dumps({"names": [name["name"]]})} if name and _is_name(name["name"]) else {})
