"""nvidia-bug-report.log(.gz) of nvidia-bug-report.sh: the sections it has, and what its head says of the host.

    ____________________________________________
    Start of NVIDIA bug report log file.  Please include this file, …
    nvidia-bug-report.sh Version: 34256399
    Date: Thu Feb 27 15:22:41 UTC 2025
    uname: Linux gpu-017 5.15.0-1074 #1 SMP x86_64 GNU/Linux
    ____________________________________________

    *** /proc/driver/nvidia/version
    *** ls: -r--r--r-- 1 root root 0 2025-02-27 15:22:41.000000000 +0000 /proc/driver/nvidia/version
    NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  …

A line of 44 underscores separates sections. The script may hang on a bad device: then the file ends without its last
line, which is itself worth knowing. Shared: the logs inside (dmesg, journal) are read by the line parsers.

Printed by: nvidia-bug-report.sh of NVIDIA's driver.
Versions: any; the head of the report names the script's version.
Source: the script itself, which the driver installs.
"""

from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_RULE = "_" * 44
_TITLE = regex(r"^\*\*\* (?!ls: )(?P<title>.{1,500})$")
_HEAD = regex(r"^(?P<name>nvidia-bug-report\.sh Version|Date|uname): ?(?P<value>.{1,500})$")
_DRIVER = regex(r"^NVRM version: .*?Module.*?\s(?P<value>\d{3}\.\d[\d.]*)\s")
_END = regex(r"^(?:\*\*\* )?End of NVIDIA bug report log file")
_NAMES = {"nvidia-bug-report.sh Version": "bug_report", "Date": "bug_report_date", "uname": "uname"}
_FIRST = (b"nvidia-bug-report.sh Version", b"NVIDIA bug report log file")


def accepts(path: str, head: bytes) -> bool:
    """By the first lines; of a gzip file only the name can tell."""
    is_packed = head[:2] == b"\x1f\x8b" and "nvidia-bug-report" in path.rsplit("/", 1)[-1]
    start = head[:4096]
    return is_packed or any(first in start for first in _FIRST)


def parse(source: Source) -> Tables:
    """settings: bug_report, bug_report_date, uname, driver, and section (a row each, its title as value).

    An event `other` with code bug_report:cut where the end is missing.
    """
    settings: list[dict[str, Any]] = []
    lines: list[int] = []
    host, last, is_ended, is_rule_before = source.host, 0, False, False
    for number, text in text_lines(source):
        last = number
        head = _HEAD.match(text) if number < 60 else None
        if head:
            settings.append(_setting(source, number, _NAMES[head["name"]], head["value"].strip()))
            words = head["value"].split()
            host = words[1] if head["name"] == "uname" and len(words) > 1 else host
        elif driver := _DRIVER.match(text):
            settings.append(_setting(source, number, "driver", driver["value"]))
        elif is_rule_before and (title := _TITLE.match(text)):
            settings.append(_setting(source, number, "section", title["title"]))
        elif text == _RULE or text.startswith("*** ls: "):
            lines.append(number)
        is_ended = is_ended or bool(_END.match(text))
        is_rule_before = text == _RULE or (is_rule_before and not text)
    for row in settings:
        row["host"] = host
    events = [] if is_ended or not last else [_cut(source, host, last)]
    return tables_of(settings=settings, events=events, claimed=[{"file": source.path, "line": line} for line in lines])


def _setting(source: Source, line: int, name: str, value: str) -> dict[str, Any]:
    scope = {"driver": "version", "section": "section"}.get(name, "host")
    return {"name": name, "value": value, "scope": scope, "file": source.path, "line": line}


def _cut(source: Source, host: str | None, line: int) -> dict[str, Any]:
    return {
        "kind": "other", "code": "bug_report:cut", "severity": "warning", "host": host, "attempt": source.attempt,
        "text": "the bug report ends without its last line", "file": source.path, "line": line,
    }  # fmt: skip


PARSER = FileParser(name="bug_report", accepts=accepts, parse=parse, shared=True)
