"""What a record says of the end of a process: who it was, its code or signal, when."""

import json
import signal
from collections.abc import Callable, Mapping
from typing import Any

from parsers.forms.reading import whole
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.signals import SIGNALS, WORDS, ended
from parsers.training.step_figures import time_of
from parsers.who.scripts import arguments

_ENDED = regex(r"(?:exit status (?P<status>\d{1,3})|signal: (?P<name>[a-z ]{3,30}))(?: \(core dumped\))?")
_SIGNALS = {**{word.lower(): name for word, name in WORDS.items()}, "interrupt": "SIGINT", "hangup": "SIGHUP"}
_ASKS = frozenset(
    ("SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGCHLD", "SIGWINCH", "SIGURG", "SIGIO")
)
_WHO = ("rank", "pid", "host", "pod", "local_rank", "process_name", "command", "name")
_OTHERS = ("loss", "phase", "tensor", "module", "metric", "heartbeat")


def tells_exits(names: frozenset[str]) -> bool:
    """Do the columns of a table tell of ends of processes: who, and how it ended?"""
    meant = vocabulary.meanings(sorted(names))
    return bool(meant & {"exit_code", "signal"}) and not meant.isdisjoint(_WHO) and meant.isdisjoint(_OTHERS)


def exit_row(
    said: Mapping[str, Any], text: str, of_command: Callable[[str], int | None] = lambda _: None
) -> dict[str, Any] | None:
    """A record → columns of an event `exit`: code, its number or the signal's name; rank, local_rank, device_index, host, pid, time; in `detail`
    the name of the pod or of whatever the record is of (`name`, `names`). A command tells the rank by the variables before it, or by the number that
    a script gets (`of_command`). None where it names nobody, or no end."""
    said = {name: cell for name, cell in said.items() if not isinstance(cell, dict)} | {
        name: cell for inner in said.values() if isinstance(inner, dict) for name, cell in inner.items()
    }
    waited = next((found for cell in said.values() if isinstance(cell, str) and (found := _of_go(cell))), None)
    if not tells_exits(frozenset((*said, "exit_code") if waited else said)):
        return None
    told = vocabulary.told(said)
    code = waited or exit_text(told.get("exit_code"), told.get("signal"))
    if code is None or not any(told.get(name) is not None for name in _WHO):
        return None
    rank = whole(told.get("rank"))
    if rank is None and told.get("command"):
        command = str(told["command"])
        rank = arguments.of_variables(command).get("rank")
        rank = of_command(command) if rank is None else rank
    time_ns, basis = time_of(told.get("time"))
    name = told.get("pod") or next((cell for key, cell in said.items() if key.lower() == "name"), None)
    detail: dict[str, Any] = {"name": str(name)[:200]} if name else {}
    if (called := told.get("process_name")) is not None:
        number = whole(called)
        detail |= {"names": [str(called)[:200]]} if number is None else {"number": number, "of": "column"}
    if rank is None and not any(told.get(one) is not None for one in ("pid", "host", "pod", "local_rank")):
        detail |= {"only": "names"} if "number" not in detail else {}
    return {
        "kind": "exit", "code": code, "severity": "info" if code == "0" else "error", "rank": rank,
        "rank_space": None if rank is None else "global", "local_rank": whole(told.get("local_rank")), "device_index": whole(told.get("device")),
        "host": str(told["host"]) if any(map(str.isalnum, str(told.get("host") or ""))) else None, "pid": whole(told.get("pid")),
        "time_ns": time_ns, "time_basis": basis, "text": text[:2000],
        "detail": json.dumps(detail) if detail else None,
    }  # fmt: skip


def _of_go(cell: str) -> str | None:
    """How Go says that a process ended, whatever the field is called: `exit status 134`, `signal: killed`, `signal: aborted (core dumped)`."""
    match = _ENDED.fullmatch(cell)
    return None if match is None else match["status"] or _SIGNALS.get(match["name"])


def exit_text(code: Any, sent: Any) -> str | None:
    """An exit code and a signal as cells → `1`, or `SIGKILL` where a signal ended it; None where neither says anything. A signal by which
    programs are asked for something ends none."""
    if (name := _signal(sent)) is not None and name not in _ASKS:
        return name
    number = whole(code)
    if number is None:
        return _signal(code)
    return ended(number)


def _signal(cell: Any) -> str | None:
    if (number := whole(cell)) is not None:
        return SIGNALS.get(number)
    word = str(cell or "").strip().upper()
    word = word if word.startswith("SIG") else f"SIG{word}"
    return word if word in signal.Signals.__members__ else None
