"""What launchers and collectors put before a line, taken off again and again from the left.

Known: ANSI colours, carriage returns, srun -l ``12: ``, mpirun ``[1,12]<stdout>:``, SageMaker's ``[1,mpirank:12,algo-2]<stdout>:``, pdsh ``host: ``, torchrun
``[default3]:``, PALS' ``host 12: ``, the TAI64N stamps of daemontools and s6, PyTorch ``[rank3]:``, torchx ``role/0 ``, Ray ``(Worker pid=40, ip=10.0.0.1) ``, Kubernetes CRI
``2024-…Z stdout F ``, ``[pod/NAME/CONTAINER] ``, stern ``pod container ``, fluentd, docker compose ``worker-1  | ``, docker, Loki and ELK JSON lines,
Determined's ``1f2c3d4e || [rank=3] ``, syslog and journald (the tag of a job's process, too: ``python[4011]: ``), dmesg in its forms, kmsg, and leading stamps. glog's ``[E1120 21:56:07.458194651 file:line]`` stays in the text, only its time is read; so does Horovod's ``[2026-…: W file:line]``.

What is content stays: indentation, ``[Rank 0]`` (a rank in its group), ``SomeError: ``.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

import msgspec

from parsers.schema.labels import NO_LABELS, Labels, rank_of, spoken
from parsers.text import stamps
from parsers.text.patterns import regex
from parsers.text.unanimous import begin_alike
from parsers.who.lines.collected import ANSI, Habits, Line, of_json, of_logfmt
from parsers.who.lines.heads import finder

_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|SEVERE|FATAL)"  # a logger's, never a host
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
# Names with a digit that are no hosts: `step10: `, `eth0: `, `nvme1: ` …
_NOT_HOST = regex(
    r"(?:rank|step|epoch|iter|iteration|layer|stage|gpu|cuda|cpu|eth|ib|bond|en[ops]\w*|nvme|nvidia(?:-nvswitch|-uvm)?|mlx|usb|pci|ata|md"
    r"|dm|lo|batch|worker|thread|task|pid|loss|line|test|fp|bf|int|v)[.-]?[\d.]*\Z"
    r"|.*\.(?:log|out|err|txt|jsonl?|csv)\Z",
    re.I,
)
_HOST_COLON = regex(rf"({_ADDRESS}|(?=[^:\s]{{0,255}}[A-Za-z])(?=[^:\s]{{0,255}}\d){_HOST}):(?: |$)")
_HOST_TASK = regex(rf"((?=[^: ]{{0,255}}\d){_HOST}) (\d{{1,6}}): (?=\S)")
_TAI = (1 << 62) + 10
_DEPTH = 12  # decorations per line; more is not decoration
# torchrun's local rank, PyTorch's rank, glog's stamp
_TORCH = regex(rf"(?:\[default(\d{{1,4}})\]:)?(?:\[rank(\d{{1,7}})\]:)?\[{stamps.GLOG_PARTS} ")
# Which stream it was, behind the name of who wrote to it.
_STREAM = regex(
    r"(?i)(?:<std(?:out|err|diag)>|\[std(?:out|err)\]|\(std(?:out|err)\)|std(?:out|err)(?= ?[|:])):?(?: {0,8}\|)? ?"
)
_RANK_ANYWHERE = regex(r"\[rank(\d{1,7})\]:")


_NO_HABITS = Habits()
SLOTS = ("task", "host", "container", "local_rank")  # what may tell processes apart

Take = Callable[[Line, "re.Match[str]", int, Habits], None]  # int: the rule's first group


def strip(raw: str, habits: Habits = _NO_HABITS) -> Line:
    """One line → its text and what stood before it. Never raises."""
    text = raw
    if "\x1b" in text:
        text = ANSI.sub("", text)
    line = Line(text.strip("\r") if "\r" in text else text)
    if habits.bars or habits.container is not None:
        _contained(line, habits)
    if (habits.ranked or habits.several) and (own := _PREPENDED.match(line.text)):
        line.text = line.text[own.end() :]
        (_horovod if habits.several else _mpi)(line, own, 1, habits)
    text = line.text
    if text[:1] == "[" and (whole := _TORCH.match(text)):
        _of_torch(line, whole, habits)
        text = ""  # nothing more is taken off
    for _ in range(_DEPTH):
        rules = _BY_FIRST.get(text[:1])
        match = rules and rules.which.match(text)
        if rules and match:
            line.text = text[match.end() :]
            rules.by_name[match.lastgroup or ""](line, match, (match.lastindex or 0) + 1, habits)
        if len(line.text) >= len(text) and not (habits.labels.heads and _named_off(line, habits.labels)):
            break
        text = line.text
    if line.rank is None and "[rank" in line.text:
        found = set(_RANK_ANYWHERE.findall(line.text))
        if len(found) == 1:  # a progress bar without line end stands before it
            line.rank = int(found.pop())
    if habits.labels is not NO_LABELS:
        _labelled(line, habits.labels)
        if line.rank is None and habits.labels.names and line.time_basis != "boot" and " kernel: " not in raw:
            line.rank = _named_so(line, raw, habits.labels)  # a kernel speaks of its host
    return line


def _named_off(line: Line, learnt: Labels) -> bool:
    """Take the names off that were learnt of the file, once."""
    if line.heads is not None:
        return False
    line.heads, end = {}, 0
    for form, names in learnt.heads.items():
        found = finder(form).match(line.text)
        if found and found["value"] in names:
            line.heads[form] = found["value"]
            end = max(end, found.end())
            tag = found.groupdict().get("pid")
            line.process = int(tag) if tag and line.process is None else line.process
    stream = _STREAM.match(line.text, end) if end else None
    line.text = line.text[stream.end() if stream else end :]
    return end > 0


def _labelled(line: Line, learnt: Labels) -> None:
    """What a label tells that was learnt of the file; the text stays, for parsers may know it."""
    if learnt.joins and line.rank is None:
        held = {slot: getattr(line, slot) for slot in SLOTS} | (line.heads or {})
        line.rank = rank_of(held, learnt.joins)
    if learnt.ranks:
        number, line.rest = spoken(line.text, learnt.ranks)
        line.rank = number if line.rank is None else line.rank
    if line.rank is None and learnt.tasks:
        line.rank = line.task
    if learnt.pids and line.process is None:
        line.process, rest = spoken(line.text, learnt.pids)
        line.rest = rest if line.rest is None else line.rest


def _named_so(line: Line, raw: str, learnt: Labels) -> int | None:
    """The rank of who is called what stands before a line, or says in it which place on which node it has."""
    names, host = learnt.names, line.host or learnt.names.here
    process = names.of_object(raw) if line.process is None else line.process
    if process is not None and host is not None and (rank := names.processes.get((host, process))) is not None:
        return rank
    if (rank := names.of_fields(raw, line.host)) is not None:
        return rank
    named = line.host if line.local_rank is None else host
    return names.rank(named, line.local_rank) if (said := names.of_line(raw, line.host)) is None else said


def _of_torch(line: Line, match: "re.Match[str]", habits: Habits) -> None:
    """What the rules would take one by one, of the lines that PyTorch prints most: ranks, and a stamp that stays."""
    local_rank, rank, month, day, clock, fraction = match.groups()
    line.local_rank = None if local_rank is None else int(local_rank)
    line.rank = None if rank is None else int(rank)
    line.stamp(stamps.of_glog(habits.around, month, day, clock, fraction))
    line.text = line.text[match.start(3) - 2 :]


def _contained(line: Line, habits: Habits) -> None:
    """A container's name at the very left, in files where that is the habit."""
    match = _BARRED.match(line.text) if habits.bars else _POD.match(line.text)
    if match and (habits.bars or match[2] == habits.container):
        line.host, line.text = match[1], line.text[match.end() :]


def habits(head: Iterable[str], around: stamps.Around | None, labels: Labels = NO_LABELS) -> Habits:
    """Habits of a file from its first lines: names count as prefix only where nearly all lines have one. `labels`: what was learnt
    of it."""
    return Habits(around, *_habits_of(tuple(head)), labels)


@lru_cache(maxsize=512)  # asked when speakers are learnt, and when a file is read
def _habits_of(head: tuple[str, ...]) -> tuple[bool, bool, bool, str | None, bool, bool]:
    """Columns of Habits, but for the first and the last."""
    lines = with_host = with_task = with_bar = 0
    containers: Counter[str] = Counter()
    ranked = several = False
    for raw in head:
        ranked = ranked or _TWICE.match(raw) is not None
        several = several or _PREPENDS.search(raw, 0, 4000) is not None
        text = strip(raw).text
        if text.strip() and not _OPENED.match(text):
            lines += 1
            match = _HOST_COLON.match(text)
            with_host += match is not None and _NOT_HOST.match(match[1]) is None
            match = _HOST_TASK.match(text)
            with_task += match is not None and _NOT_HOST.match(match[1]) is None
            with_bar += _BARRED.match(text) is not None
            if (pod := _POD.match(text)) and _NOT_HOST.match(pod[1]) is None:
                containers[pod[2]] += 1
    [(container, with_pod)] = containers.most_common(1) or [("", 0)]
    enough = max(2, lines * 0.8)
    of_pod = container if with_pod >= enough else None
    return with_host >= enough, with_task >= enough, with_bar >= enough, of_pod, ranked, several


def collector(lines: Iterable[str]) -> str:
    """What stands before every line, to the letter, and is nobody's known form, where known decoration, indentation or a comment
    stands behind it on some: that is behind all that collectors add. Where all lines are indented alike, a bracket closed before that
    ends it: after a colon the blanks may align values. Else nothing."""
    filled = [line for line in lines if line and not line.isspace()]
    first, last = min(filled, default=""), max(filled, default="")
    ends = [found.end() for found in _COLLECTED.finditer(first[: begin_alike(first, last)])]
    before = filled[0][: ends[-1]] if ends and len(filled) >= _COLLECTED_LINES else ""
    is_word = any(map(str.isalnum, before))  # a bar alone is a table's
    if not is_word or strip(filled[0], habits(filled, None)).text != filled[0]:
        return ""
    if before.endswith(_INDENTED) and not before.rstrip().endswith(":"):
        return before.rstrip() + " "
    behind = [line[len(before) :] for line in filled]
    return before if any(rest[:1].isspace() or rest[:2] == "# " or strip(rest).text != rest for rest in behind) else ""


def _task(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    if line.task is None:
        line.task = int(match[group])


def _mpi(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    line.is_mpi = line.is_mpi or line.task is None
    _task(line, match, group, _)


def _horovod(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """Horovod's launcher, or Hydra, which begins each rank itself and prints its number."""
    line.is_rank = line.task is None
    _mpi(line, match, group, habits)


def _rank(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    if line.rank is None:
        line.rank = int(match[group])


def _local_rank(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    if line.local_rank is None:
        line.local_rank = int(match[group])


def _host(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    line.host = line.host or match[group]


def _ray(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    """An actor passes on what its own workers print: the innermost pid is who wrote, on the host that an outer one tells."""
    told = [(match[group], match[group + 1]), *_PASSED_ON.findall(match[group + 2])]
    line.host = line.host or next((address for _, address in reversed(told) if address), None)
    line.process = int(told[-1][0]) if line.process is None else line.process


def _of_ascend(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """MindSpore's and CANN's own form, which stays: `[ERROR] ME(4711:2814,MainProcess):2026-01-31-10:11:12.066.017 `."""
    day, clock, millis, micros = match.groups()[group : group + 4]
    line.process = int(match[group]) if line.process is None else line.process
    line.stamp(stamps.parse_time(f"{day}T{clock}.{millis}{micros}", habits.around))


def _of_node(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    """SkyPilot's name and number of a node; the pid is that of the shell which runs the commands there."""
    line.host = line.host or match[group]
    line.task = int(match[group + 1]) if line.task is None else line.task


def _nothing(_line: Line, _match: "re.Match[str]", _group: int, _habits: Habits) -> None:
    return


def _time(line: Line, match: "re.Match[str]", _group: int, habits: Habits) -> None:
    line.stamp(stamps.parse_time(match[0], habits.around))


def _stamped(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """A stamp alone, of Kubernetes (whole or partial), or with a host and a daemon behind it."""
    _time(line, match, group, habits)
    line.partial = match[group] == "P"
    line.host = line.host or match[group + 1]
    line.process = int(match[group + 2]) if match[group + 2] else line.process


def _seen_time(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """glog, and stamps beside other words of a logger: the time is read, the text stays."""
    line.stamp(stamps.parse_time(match[group], habits.around))
    line.text = match.string


def _seen_day(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """vLLM's, of no year."""
    line.stamp(stamps.of_glog(habits.around, match[group], match[group + 1], match[group + 2], "0"))
    line.text = match.string


def _boot(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    seconds, _dot, fraction = match[group].partition(".")
    line.stamp((int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0")), "boot"))


def _kmsg(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    line.stamp((int(match[group]) * 1000, "boot"))


def _stamp_and_host(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    _time(line, match, group, habits)
    line.host = line.host or match[group]
    line.process = int(match[group + 1]) if match[group + 1] else line.process


def _weekday(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """journalctl's full stamp: the day of the week before the date says nothing more."""
    line.stamp(stamps.parse_time(match[0].partition(" ")[2], habits.around))
    line.host = line.host or match[group]
    line.process = int(match[group + 1]) if match[group + 1] else line.process


def _tai(line: Line, match: "re.Match[str]", group: int, _: Habits) -> None:
    """TAI64N: seconds since 1970 above 2**62, of which ten are leap seconds that no clock of theirs counts; nanoseconds."""
    line.stamp(((int(match[group], 16) - _TAI) * 1_000_000_000 + int(match[group + 1], 16), "utc"))


def _host_and_task(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """PALS, which prints both where it is asked for labels."""
    if line.task is not None or not habits.tasks:
        line.text = match.string
        return
    line.host, line.task = line.host or match[group], int(match[group + 1])


def _named(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    address = re.fullmatch(_ADDRESS, match[group]) is not None
    if address or _is_told(match[group], habits) or (habits.hosts and _NOT_HOST.match(match[group]) is None):
        line.host = line.host or match[group]
    else:
        line.text = match.string


def _named_without_number(line: Line, match: "re.Match[str]", group: int, habits: Habits) -> None:
    """Any word may stand there: only what is known to be a host."""
    if _is_told(match[group], habits):
        line.host = line.host or match[group]
    else:
        line.text = match.string


def _is_told(name: str, habits: Habits) -> bool:
    """By a hostfile, another document, or who began processes there."""
    return name in habits.labels.names.hosts or name in habits.labels.names.sites


# The tag of another daemon stays in the text, that of a process of the job is none of its words.
_JOB = (
    r"(?:python[\d.]*|pt_main_thread|torchrun|deepspeed|accelerate|mpirun|mpiexec|orted|bash|sh|docker|[0-9a-f]{12}"
    r"|[\w./@-]+(?=\[\d+\]: \[(?:rank|default)\d+\]:))"
)
# A class that was raised, or the code of a status, is no daemon.
_RAISED = r"(?!(?:\w+\.)+[A-Z]\w*:|[A-Z]+_[A-Z_]+:|[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Expired|Warning):)"
_UNIT = rf"(?=(?:kernel|{_RAISED}[\w./@-]+(?:\[\d+\])?):(?: |$))(?:kernel: |{_JOB}\[(\d{{1,10}})\]:(?: |$))?"
# Severities of RFC 5424 and syslog.h, levels of Python's logging and log4j: no names of hosts.
_LEVELS = "emerg(?:ency)?|panic|alert|crit(?:ical)?|fatal|err(?:or)?|warn(?:ing)?|notice|info|debug|trace"
# A word without a digit before a number and a colon (`rank 3: `) says what is counted.
_LOG_HOST = rf"(?!(?i:{_LEVELS}) |[A-Za-z]+ \d{{1,7}}: )({_HOST}) "
# Who logs as a host prints a zone, as rsyslog and journalctl do, or the number of a process; a program prints its level there.
_ISO_HOST = (
    r"(?:(?<=Z )|(?<=UTC )|(?<=[+-]\d{4} )|(?<=[+-]\d\d:\d\d )|(?=\S+ (?:kernel|[\w./@-]+\[\d+\]):))" + _LOG_HOST
)
_COLLECTED = regex(r"[\])|>:}] {1,4}")  # what a collector's words end with
_PREPENDED = regex(r"\[(\d{1,7})\] ?")  # mpiexec -prepend-rank
# Several on each node are processes of the job: of a launcher of others there is one.
_PREPENDS = regex(
    r"\b(?:mpiexec|mpirun)(?:\.hydra)? (?=[^\n|;&]{0,400}-(?:ppn|perhost)[ =](?:[2-9]|\d\d))(?:[^\n|;&]{0,400} )?(?:-prepend-rank|-l) "
)
_TWICE = regex(r"\[(\d{1,7})\] \[\1\] MPI startup\(\): ")
_COLLECTED_LINES = 3  # at least
_INDENTED = " " * 3  # a blank, and what indents a line by two at least
_BARRED = regex(r"([A-Za-z][\w.-]*[-_]\d{1,6}) *\|(?: |$)")  # docker compose
_POD = regex(r"([a-z0-9][a-z0-9.-]*-[a-z0-9-]*[a-z0-9]) ([a-z][a-z0-9-]*)(?: |$)")  # stern
_OPENED = regex(r"[+-] [^›]{1,300} › ")  # stern says which pods it follows
_END = r":?(?: |$|(?=[\[\t(]))"
_CONTAINER = r"([0-9a-f]{8}) \|\| ?"  # Determined: of the task's container
_DIGIT: tuple[tuple[str, Take], ...] = (
    (r"(\d{1,6}):(?: (?! *\d+:)|$)", _task),
    (rf"{stamps.ISO}(?: std(?:out|err) ([FP])(?: |$)| {_ISO_HOST}{_UNIT}|{_END})", _stamped),
    (rf"{stamps.SLASHED}{_END}", _time),
    (rf"({_ADDRESS}): ", _named),
    (r"\d{1,3},\d+,(\d{1,19}),[-c+](?:,[^;]*)?;", _kmsg),
    (_HOST_COLON.pattern, _named),
    (_CONTAINER, _host),
)
_LETTER: tuple[tuple[str, Take], ...] = (
    (rf"({stamps.GLOG})\b", _seen_time),
    (rf"(?:{stamps.CTIME}|{stamps.MONTH_YEAR}):?(?: |(?=\[))", _time),
    (_HOST_TASK.pattern, _host_and_task),
    (rf"{stamps.SYSLOG} {_LOG_HOST}{_UNIT}", _stamp_and_host),
    (rf"{stamps.SYSLOG}(?: |$)", _time),  # moreutils' ts
    (rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {stamps.ISO} {_LOG_HOST}{_UNIT}", _weekday),
    (r"(?:kern|user|daemon|auth|syslog|local\d) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: ", _nothing),
    (r"[\w.-]+/\d+ (?=\[)", _nothing),
    (_HOST_COLON.pattern, _named),
    (_CONTAINER, _host),
    (r"(?:ts|time|timestamp|t)=(?=\S)", of_logfmt),
    (rf"{_LEVEL}[ :]{{1,2}}(?:[\w.]{{1,40}}:)?\[?({stamps.ISO})\b", _seen_time),
    (rf"{_LEVEL} (\d\d)-(\d\d) (\d\d:\d\d:\d\d) (?=\[)", _seen_day),
    (rf"({_HOST}): ", _named_without_number),
)
# A numbered frame of a stack is no task: a function or an address alone, as Rust prints them (`   3: alloc::vec::Vec<T,A>::push`).
_FRAME = r"(?:0x[0-9a-f]+ - )?(?:<.{1,300}>|[A-Za-z_][\w$]*)(?:::[^\s:]{1,300}){1,20}|(?:0x[0-9a-f]+ - )?(?:_*[a-z]+(?:_[a-z_0-9]+)+|main)"
_ACTOR = r"\((?:[\w.:-]+ ){0,3}pid=(\d{1,10})(?:, ip=([\w.:]+))?\) "
_ACTORS = r"((?:\((?:[\w.:-]+ ){0,3}pid=\d{1,10}(?:, ip=[\w.:]+)?\) ){0,3})"  # of its own processes
_PASSED_ON = regex(_ACTOR)
_OTHER: dict[str, tuple[tuple[str, Take], ...]] = {
    "[": (
        (r"\[default(\d{1,4})\]:", _local_rank),
        (r"\[std(?:out|err)\]: ", _nothing),  # Composer's file of a rank
        (r"\[rank(?:: ?| )?(\d{1,7})(?:/\d{1,7})?\](?:: ?| (?=\S))", _rank),  # Lightning has a colon, scripts a blank
        (r"\[rank=(\d{1,7})\] ", _rank),  # Determined
        (r"\[\d+,(\d{1,7})\]<std(?:out|err|diag)>:", _mpi),
        (r"\[(\d{1,7})\]<std(?:out|err)>: ?", _horovod),
        (r"\[\d+,mpirank:(\d{1,7}),algo-\d{1,5}\](?:<std(?:out|err|diag)>:)?", _mpi),  # SageMaker's, around mpirun's
        (r"\[[\w.-]+@\d+,(\d{1,7})\]<std(?:out|err|diag)>: ?", _mpi),
        (r"\[(\d{1,5})\] (?=\S+:\d+:\d+ \[)", _task),
        (r"\[pod/([\w.-]+)/[\w.-]+\] ", _host),
        (rf"\[({stamps.GLOG}) ", _seen_time),
        (
            r"(?=\[[A-Z]{4,8}\] [A-Z][A-Z_]{1,20}\((\d{1,10})[:,][^()\s]{1,60}\):(\d{4}-\d\d-\d\d)-(\d\d:\d\d:\d\d)\.(\d{3})\.(\d{3})\b)",
            _of_ascend,
        ),
        (rf"\[({stamps.ISO}): (?=[A-Z] )", _seen_time),  # Horovod, MXNet
        (rf"\[(?:{stamps.ISO}|{stamps.SLASHED}|{stamps.CTIME}|{stamps.MONTH_YEAR})\](?: |$)", _time),
        (r"\[ *(\d{1,9}\.\d{6})\](?:\[ *[TC]\d+\])?(?: |$)", _boot),
        (
            rf"\[(?:[\w.-]{{1,24}}[ |:]{{1,3}})?(?:(?:{_LEVEL}|[DIWEF])[ |:]{{1,3}})?({stamps.ISO})(?=[\] ,|])",
            _seen_time,
        ),  # NeMo, SGLang, tornado
        (rf"(?:\[[^\[\]]{{1,24}}\] ?){{1,3}}\[?({stamps.ISO})(?=[\] ,|])", _seen_time),
    ),
    "(": (
        (_ACTOR + _ACTORS, _ray),
        (rf"\(({stamps.ISO})\)", _seen_time),
        (r"\([\w.:-]+, ip=([\w.:]+)\) ", _host),
        (r"\(([\w.:-]+), rank=(\d{1,5}), pid=\d{1,10}(?:, ip=[\w.:]+)?\) ", _of_node),
    ),
    "{": ((r'\{(?=\s*")', of_json),),
    "@": ((r"@(4[0-9a-f]{15})([0-9a-f]{8}) ", _tai),),
    "<": (
        (rf"<({stamps.ISO})>", _seen_time),
        (r"<\d{1,3}>(?=\[)", _nothing),
        (rf"<\d{{1,3}}>1 (?={stamps.ISO})", _nothing),
    ),
    "\t": ((r"\t[\w.-]{1,200}\t(?=\{)", _nothing),),  # fluentd: the stamp, a tag, a record
    " ": ((rf" {{1,5}}(\d{{1,6}}):(?: (?! *\d+:|(?:{_FRAME})$)|$)", _task),),
}


class _Rules(msgspec.Struct, frozen=True):
    """Rules in order: one match of `which` says which of them comes first, for most lines that none does."""

    which: "re.Pattern[str]"
    by_name: dict[str, Take]  # of the rule's group in `which`


def _rules(rules: Iterable[tuple[str, Take]]) -> _Rules:
    named = {f"rule{number}": rule for number, rule in enumerate(rules)}
    which = regex("|".join(f"(?P<{name}>{text})" for name, (text, _) in named.items()))
    return _Rules(which, {name: take for name, (_, take) in named.items()})


_BY_FIRST: dict[str, _Rules] = {
    **dict.fromkeys("0123456789", _rules(_DIGIT)),
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", _rules(_LETTER)),
    **{first: _rules(rules) for first, rules in _OTHER.items()},
}
