"""Signals by their numbers, as those who print them count: signal(7) of Linux."""

import signal
from collections.abc import Mapping

SIGNALS: Mapping[int, str] = {int(one): one.name for one in signal.Signals}
# By these persons, launchers and schedulers ask a process for its end.
ASKING = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGUSR2")
