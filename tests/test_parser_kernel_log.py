"""What a host's log is, whatever its lines say; when the host booted; which address is whose."""

import pytest

from parsers.comm import addresses
from parsers.kernel import kernel_log
from tests.lines import lines
from tests.sources import source

DMESG = "[    0.000000] Linux version 6.8\n[    1.500000] rtc_cmos 00:03: setting system clock to 2025-06-01T08:30:05 UTC (1748766605)\n"
_SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "is_log"),
    [
        pytest.param("", False, id="empty"),
        pytest.param("step 1 loss 2.0\nstep 2 loss 1.9\n", False, id="foreign"),
        pytest.param(DMESG, True, id="dmesg"),
        pytest.param("<6>[  812.000123] eth0: link becomes ready\n", True, id="raw, pstore"),
        pytest.param("[Sun Jun  1 08:43:37 2025] mlx5_core: FW version\n", True, id="dmesg -T"),
        pytest.param("6,1441,9184121699,-;perf: interrupt took too long\n", True, id="kmsg"),
        pytest.param("Jun  1 08:43:40 node7 systemd[1]: Finished Rotate log files.\n", True, id="syslog"),
        pytest.param("2025-06-01T08:43:40+02:00 node7 systemd[1]: Finished.\r\n", True, id="short-iso, CRLF"),
        pytest.param("2025-06-01T08:43:40 INFO trainer: starting\n", False, id="an application's own log"),
        pytest.param("\x00\x00" + DMESG, True, id="a hole of NULs before it"),
        pytest.param(DMESG + "[   12.0", True, id="cut mid-line"),
        pytest.param(DMESG + "hello\nworld\n", False, id="half of it is something else"),
    ],
)
def test_recognised_by_how_lines_begin(text: str, is_log: bool) -> None:
    assert kernel_log.accepts("a.txt", text.encode()) is is_log


@pytest.mark.parametrize(
    ("text", "host", "rows"),
    [
        pytest.param("", None, [], id="empty"),
        pytest.param(DMESG, "n1", [("boot_time_ns", "n1", 1748766605 * _SECOND - 1_500_000_000, 2)], id="clock set"),
        pytest.param(
            "2025-06-01T08:00:10+00:00 n7 kernel: [   10.000000] a\n2025-06-01T08:00:21+00:00 n7 kernel: [   20.000000] b\n"
            "2025-06-01T08:00:31+00:00 n7 kernel: [   30.000000] c\n",
            None,
            [("boot_time_ns", "n7", 1748764801 * _SECOND, 2)],
            id="both stamps: the median",
        ),
        pytest.param(
            "2025-06-01T08:00:10 n7 kernel: [   10.000000] a\n",
            None,
            [("boot_time_local_ns", "n7", 1748764800 * _SECOND, 1)],
            id="no zone",
        ),
        pytest.param("Jun  1 08:00:10 n7 kernel: [   10.000000] a\n", None, [], id="no year, no time"),
    ],
)
def test_the_time_of_boot(text: str, host: str | None, rows: list[tuple[str, str, int, int]]) -> None:
    found = kernel_log.parse(source(text, host=host))["settings"]
    assert [
        (name, of, int(value), line) for name, of, value, line in found.select("name", "host", "value", "line").rows()
    ] == rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(
            "9.0.16.10.in-addr.arpa      name = node7.ib0.example.", [("node7.ib0.example", "10.16.0.9")], id="nslookup"
        ),
        pytest.param("9.0.16.10.in-addr.arpa domain name pointer node7.", [("node7", "10.16.0.9")], id="host"),
        pytest.param("9.0.16.10.in-addr.arpa. 3600 IN PTR node7.example.", [("node7.example", "10.16.0.9")], id="dig"),
        pytest.param("Host 9.0.16.10.in-addr.arpa. not found: 3(NXDOMAIN)", [], id="no answer"),
        pytest.param("9.0.16.10.in-addr.arpa      name = ", [], id="cut"),
    ],
)
def test_reverse_lookups(text: str, rows: list[tuple[str, str]]) -> None:
    assert addresses.parse(lines(text))["ranks"].select("host", "address").rows() == rows
