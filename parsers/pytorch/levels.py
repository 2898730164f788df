"""What tells a record of a Python logger, and its level, from the lines of a traceback and of native code."""

from parsers.text.patterns import regex

# torch_npu ends the message of an exception so: no record of a logger that went on.
OF_NPU = regex(
    r"\[ERROR\] [\d:-]{19} \(PID:\d{1,9}, Device:-?\d{1,6}, RankID:-?\d{1,7}\) ERR\d{5} |(?P<code>E[A-Z]\d{4}): Inner Error!\s*$"
)
# A record of a Python logger: its level as a field of its own, among the first words. Native code writes one letter.
_RECORD = regex(r"(?:^|[\s\[|:(-])(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?:[\s\]|:)-]|$)")
# The same of absl's logger, whose letter and date are those of native code: only the source file tells that Python spoke.
_ABSL = regex(r"(?:^|[\s\]])(?P<level>[DIWEF])\d{4} \d\d:\d\d:\d\d\.\d{6}\s{1,8}\d{1,10} [^\s:\]]{1,200}\.py:\d{1,6}\]")
_ABSL_LEVELS = {"D": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "F": "FATAL"}
RECORD_WITHIN = 120  # characters
# Native code that tells its level in full names its source file: what it clears up at the end is no work of the program.
OF_NATIVE = regex(r"\.(?:cc|cpp|cxx|cu|c|hpp|h|ts):\d{1,6}\b")
QUIET = ("DEBUG", "INFO", "WARNING", "WARN")
LOUD = ("ERROR", "CRITICAL", "FATAL")
# Loggers of launchers speak of a process from outside, whatever file they share with it.
LAUNCHER = regex(r"(?i)elastic|launch|torchrun|\brunner\b|srun|closing signal")
# So do those of a JVM that began it, as log4j prints them: Spark's executor, YARN's container.
_OF_JVM = regex(
    r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:DEBUG|INFO|WARN|ERROR|FATAL) [A-Z][\w$]*:|.{0,60}?\b(?:DEBUG|INFO|WARN|ERROR|FATAL)\s{1,4}(?:\[[^\]\n]{1,40}\] )?\[?(?:org|com|io)\.\w[\w.]*\.[A-Z][\w$]*\b"
)


def level_of(text: str) -> str | None:
    """The level of a record of the program's own loggers; None for anything else."""
    if LAUNCHER.search(text) or _OF_JVM.match(text):
        return None
    if absl := _ABSL.search(text, 0, 2 * RECORD_WITHIN):
        return _ABSL_LEVELS[absl["level"]]
    found = _RECORD.search(text, 0, RECORD_WITHIN)
    return found["level"] if found is not None and not OF_NPU.match(text) else None
