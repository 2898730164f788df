"""What a shell says of a program that a signal ended: its words for the signal, after script, line and process.

    /opt/jobs/run.sh: line 31: 4711 Killed                  python -u pretrain.py --config big.yaml
    run.sh: line 8: 4711 Segmentation fault      (core dumped) torchrun --nproc-per-node 8 pretrain.py
    run.sh: line 8: 4711 Terminated              python -u pretrain.py
    Segmentation fault (core dumped)

Counted is only a command that may be training (python, torchrun, srun, …): a job script also kills what it began itself
to watch the job. The line is of the rank whose file it stands in, else of no rank. A line of nothing but the shell's
words (sh, dash) tells of the program whose output the file holds, also behind a progress bar, which ends no line.

Printed by: bash, and sh or dash without script and line.
Versions: bash 3 to 5; the words are those of strsignal().
Source: print_job_status and describe_pid of bash; showjob of dash.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.bars import BAR
from parsers.text.patterns import regex
from parsers.text.signals import WORDS

_SIGNALS = {
    **WORDS, "Hangup": "SIGHUP",
    "已杀死": "SIGKILL", "段错误": "SIGSEGV", "已放弃": "SIGABRT", "总线错误": "SIGBUS", "已终止": "SIGTERM",  # bash in zh_CN
    "強制終了": "SIGKILL", "Getötet": "SIGKILL", "Speicherzugriffsfehler": "SIGSEGV", "Processus arrêté": "SIGKILL",
}  # fmt: skip
_WORDS = "|".join(_SIGNALS)
_TRAINS = r"(?:[A-Za-z][\w-]{0,40}?)?(?:train|finetune|fine-tune)[\w-]{0,40}(?:\.(?:sh|exe|out|bin))?"
_PROGRAM = (
    r"(?:[\w./-]{0,400}/)?(?:python[\d.]*|torchrun|deepspeed|accelerate|colossalai|srun|mpirun|mpiexec|numactl|nsys|"
    r"env|exec|time|timeout|taskset)(?=\s|$)"
    rf"|(?:[\w./-]{{0,400}}/)?(?:{_TRAINS}(?=\s|$)|[A-Za-z][\w.-]{{0,60}}\s+{_TRAINS}(?=\s))"  # by its own name, or by what it is told to do
)


def _ended(groups: Mapping[str, str]) -> Mapping[str, Any]:
    code = _SIGNALS[groups["how"]]
    severity = "info" if code in ("SIGTERM", "SIGHUP") else "error"
    return {"code": code, "severity": severity, "detail": {"how": None, "core": None, "by": "shell"}}


RULES = (
    Rule(
        regex(
            rf"(?:^|[:\s])line (?P<script_line>\d{{1,9}}):\s+(?P<pid>\d{{1,9}}) (?P<how>{_WORDS})"
            rf"\s+(?P<core>\(core dumped\)\s+)?(?P<command>(?:[A-Z_]\w{{0,60}}=\S{{0,200}}\s+){{0,20}}(?:{_PROGRAM}).{{0,300}})"
        ),
        "exit",
        refine=_ended,
    ),
    Rule(regex(rf"(?:^|[:\s])line \d{{1,9}}:\s+\d{{1,9}} (?:{_WORDS})\s"), None),
    Rule(
        regex(rf"\A(?:{BAR})?(?P<how>{_WORDS})(?P<core> \((?:core dumped|核心已转储)\))?\s*\Z"), "exit", refine=_ended
    ),
)


def parse(lines: pl.DataFrame) -> Tables:
    """events exit: code = name of the signal, pid; detail.command."""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="shell",
    anchors=(
        b": line ", b"Killed", b"Segmentation fault", b"Bus error", b"Illegal instruction", b"Floating point exc", b"Aborted",
        *(word.encode() for word in _SIGNALS if not word.isascii()),
        b"Speicherzugriffsfehler",
    ),
    parse=parse,
)  # fmt: skip
