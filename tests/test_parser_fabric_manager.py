"""What the Fabric Manager and a bug report tell."""

import gzip

import pytest

from parsers.kernel import bug_report, fabric_manager
from tests.lines import lines
from tests.sources import source

SWITCH = (
    "[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch "
    "pci bus id 00000000:86:00.0 physical id 3 port 61"
)
INFO = "[Feb 25 2025 13:59:45] [INFO] [tid 1808] multicast group 0 is freed."

CASES = [
    pytest.param("", [], id="empty"),
    pytest.param("[x] [tid 1] hello", [], id="foreign"),
    pytest.param(SWITCH, [("gpu_error", "sxid:12028", "error", "0000:86:00.0")], id="switch"),
    pytest.param(SWITCH + "\r", [("gpu_error", "sxid:12028", "error", "0000:86:00.0")], id="crlf"),
    pytest.param(
        SWITCH.replace("non-fatal", "fatal"), [("gpu_error", "sxid:12028", "fatal", "0000:86:00.0")], id="fatal"
    ),
    pytest.param(INFO, [], id="info"),
    pytest.param(INFO.replace("INFO", "WARNING"), [("other", "fabric_manager", "warning", None)], id="unknown_warning"),
    pytest.param(SWITCH + SWITCH, [("gpu_error", "sxid:12028", "error", "0000:86:00.0")] * 2, id="glued"),
    pytest.param(SWITCH[:60], [("other", "fabric_manager", "error", None)], id="cut"),
    pytest.param("\ufffd" + SWITCH, [("gpu_error", "sxid:12028", "error", "0000:86:00.0")], id="not_utf8"),
]


@pytest.mark.parametrize(("text", "rows"), CASES)
def test_lines(text: str, rows: list[tuple[str | None, ...]]) -> None:
    events = fabric_manager.PARSER.parse(lines(text))["events"]
    assert events.select("kind", "code", "severity", "pci").rows() == rows


def test_payload_lines_are_understood() -> None:
    read = fabric_manager.PARSER.parse(lines(INFO + "\nMessage payload details:Team release\nhello"))
    assert read["claimed"]["line"].to_list() == [1, 2]


def test_time_is_local() -> None:
    events = fabric_manager.PARSER.parse(lines(SWITCH))["events"]
    assert events.select("time_ns", "time_basis").row(0) == (1740669002 * 10**9, "local")


RULE = "_" * 44
REPORT = f"""{RULE}

Start of NVIDIA bug report log file.

nvidia-bug-report.sh Version: 34256399

Date: Thu Feb 27 15:22:41 UTC 2025
uname: Linux gpu-017 5.15.0 x86_64 GNU/Linux
{RULE}

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2025-02-27 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:43:16 UTC 2024
{RULE}

*** dmesg
*** nothing to see
{RULE}
End of NVIDIA bug report log file.
"""


@pytest.mark.parametrize(
    "content", [REPORT.encode(), gzip.compress(REPORT.encode()), REPORT.replace("\n", "\r\n").encode()]
)
def test_bug_report(content: bytes) -> None:
    path = "nvidia-bug-report.log.gz"
    assert bug_report.PARSER.accepts(path, content[:65536])
    read = bug_report.PARSER.parse(source(content, path))
    assert read["settings"].select("name", "value", "host", "line").rows() == [
        ("bug_report", "34256399", "gpu-017", 5),
        ("bug_report_date", "Thu Feb 27 15:22:41 UTC 2025", "gpu-017", 7),
        ("uname", "Linux gpu-017 5.15.0 x86_64 GNU/Linux", "gpu-017", 8),
        ("section", "/proc/driver/nvidia/version", "gpu-017", 11),
        ("driver", "550.90.07", "gpu-017", 13),
        ("section", "dmesg", "gpu-017", 16),
    ]
    assert read["events"].is_empty()


def test_a_report_that_stopped_says_so() -> None:
    compressed = gzip.compress(REPORT.encode())
    for content in (REPORT[:400].encode(), compressed[:-30]):
        events = bug_report.PARSER.parse(source(content))["events"]
        assert events["code"].to_list() == ["bug_report:cut"]


def test_foreign_files_are_left_alone() -> None:
    assert not bug_report.PARSER.accepts("a.log", b"hello")
    assert not bug_report.PARSER.accepts("a.gz", b"\x1f\x8b\x08")
    assert bug_report.PARSER.parse(source(b""))["events"].is_empty()
