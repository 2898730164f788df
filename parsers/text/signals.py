"""Signals by their numbers, as those who print them count: signal(7) of Linux."""

import signal
from collections.abc import Mapping

SIGNALS: Mapping[int, str] = {int(one): one.name for one in signal.Signals}
# The shell's words for those that end a process, and strsignal()'s.
WORDS: Mapping[str, str] = {
    "Killed": "SIGKILL", "Terminated": "SIGTERM", "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT",
    "Bus error": "SIGBUS", "Illegal instruction": "SIGILL", "Floating point exception": "SIGFPE",
}  # fmt: skip
# By these persons, launchers and schedulers ask a process for its end.
ASKING = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2")


def ended(code: int) -> str:
    """What a code below zero, as Python's subprocess gives it, says: the name of the signal; any other one as it is."""
    return SIGNALS.get(-code, str(code)) if code < 0 else str(code)
