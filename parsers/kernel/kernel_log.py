"""Logs of a host as a whole: kernel ring buffer and system log, whatever their lines say. What single lines mean is read
by the other parsers; this one says what the file is, and when the host booted.

Sample lines:

    [    1.204511] rtc_cmos 00:03: setting system clock to 2025-06-01T08:30:05 UTC (1748766605)
    <6>[  812.000123] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready
    [Sun Jun  1 08:43:37 2025] mlx5_core 0000:18:00.0: FW version: 28.39.1002
    6,1441,9184121699,-;perf: interrupt took too long (2509 > 2500)
    Jun  1 08:43:37 node7 kernel: [  812.000123] eth0: renamed from veth1
    Jun  1 08:43:40 node7 systemd[1]: Finished Rotate log files.

A kernel counts seconds since boot. Two kinds of lines tie that to the wall clock: those with both stamps, and the one
that sets the system clock. Each gives a row of `settings`, name boot_time_ns, scope clock: nanoseconds since 1970 at
boot; utc where the source says so, else boot_time_local_ns (the host's own zone, read as UTC).

Printed by: dmesg (plain, -T, --time-format iso, -r), /dev/kmsg, pstore, rsyslog and journalctl (-o short, short-iso).
Versions: util-linux 2.23 and later, systemd and rsyslog of any age.
Source: printk and rtc of Linux, util-linux, rsyslog, systemd.
"""

from itertools import islice
from typing import Any

from parsers.forms.reading import text_lines
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.text import stamps
from parsers.text.patterns import regex
from parsers.text.stamps import CTIME, ISO, SYSLOG, Around, parse_time

LOOKED_AT = 60  # lines that decide what the file is
READ = 20_000  # lines that are searched for the time of boot

_HOST = r"[\w.-]+"
_TAG = r"[\w./@:-]+(?:\[\d+\])?: "
_FORMS = regex(
    rf"(?:<\d{{1,3}}>)?\[ *\d{{1,9}}\.\d{{6}}\](?:\[ *[TC]\d+\])? |\d{{1,3}},\d+,\d+,[-c+][^;]*;|\[{CTIME}\] "
    rf"|{SYSLOG} {_HOST} {_TAG}|{ISO} {_HOST} (?:kernel|[\w./@-]+\[\d+\]): |(?:kern|user|daemon) *:\w+ *: \[|{ISO} (?:NVRM|nvidia|mlx5_core|pcieport)"
)
_BOTH = regex(rf"(?P<stamp>{SYSLOG}|{ISO}) (?P<host>{_HOST}) kernel: \[ *(?P<boot>\d{{1,9}}\.\d{{6}})\]")
_CLOCK = regex(r"\[ *(?P<boot>\d{1,9}\.\d{6})\].*setting system clock to \S+ ?\S* UTC \((?P<seconds>\d{9,10})\)")


def accepts(_path: str, head: bytes) -> bool:
    """Nearly all of the first lines begin as a kernel or a system logger prints them."""
    text = head[:32768].decode("utf-8", "replace").lstrip("\x00")
    whole = text[: text.rfind("\n") + 1] or text  # without a last line that is cut
    lines = [line for line in whole.splitlines()[:LOOKED_AT] if line.strip()]
    others = (line for line in lines if _FORMS.match(line) is None)
    most = len(lines) // 5
    return bool(lines) and next(islice(others, most, None), None) is None


def parse(source: Source) -> Tables:
    """settings: when the host booted, one row per host and basis, the median of what the lines say."""
    found: dict[tuple[str, str | None], list[tuple[int, int]]] = {}
    around: Around | None = None
    for number, text in text_lines(source, READ):
        around = around or stamps.around(text[:200].encode())
        pair = _boot(text, around, source.host)
        if pair is not None:
            found.setdefault(pair[:2], []).append((pair[2], number))
    told = sorted(found.items(), key=lambda item: str(item[0]))
    return {"settings": table("settings", (_setting(source, *key, boots) for key, boots in told))}


def _boot(text: str, around: Around | None, path_host: str | None) -> tuple[str, str | None, int] | None:
    """(name of the setting, host, nanoseconds since 1970 at boot) that a line tells."""
    if match := _CLOCK.search(text):
        return "boot_time_ns", path_host, int(match["seconds"]) * 1_000_000_000 - _since_boot(match["boot"])
    if match := _BOTH.match(text):
        time, basis = parse_time(match["stamp"], around)
        if time is not None:
            name = "boot_time_ns" if basis == "utc" else "boot_time_local_ns"
            return name, match["host"], time - _since_boot(match["boot"])
    return None


def _since_boot(seconds: str) -> int:
    whole, _, fraction = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int(fraction) * 1000


def _setting(source: Source, name: str, host: str | None, boots: list[tuple[int, int]]) -> dict[str, Any]:
    middle = sorted(boot for boot, _ in boots)[(len(boots) - 1) // 2]
    line = next(number for boot, number in boots if boot == middle)
    return {"name": name, "value": str(middle), "scope": "clock", "host": host, "file": source.path, "line": line}


PARSER = FileParser(name="kernel_log", accepts=accepts, parse=parse, shared=True)
