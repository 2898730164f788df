"""Bus and memory errors of the kernel; what it says at boot is no error."""

import pytest

from parsers.kernel.pci_memory import PARSER
from tests.lines import lines

AER = "pcieport 0000:40:01.1: AER: Multiple Uncorrected (Fatal) error received: 0000:41:00.0"
EDAC = "EDAC MC3: 1 UE memory read error on CPU_SrcID#1_MC#1_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1a)"

CASES = [
    pytest.param("", [], id="empty"),
    pytest.param("EDACity of hope", [], id="foreign"),
    pytest.param(AER, [("pcie_error", "aer:fatal", "fatal", "0000:41:00.0")], id="aer_old"),
    pytest.param(AER + "\r", [("pcie_error", "aer:fatal", "fatal", "0000:41:00.0")], id="crlf"),
    pytest.param(
        "pcieport 0000:40:01.1: AER: Correctable error message received from 0000:41:00.0",
        [("pcie_error", "aer:correctable", "info", "0000:41:00.0")],
        id="aer_new",
    ),
    pytest.param(
        "nvme 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)",
        [("pcie_error", "aer:nonfatal", "warning", "0000:41:00.0")],
        id="bus_error",
    ),
    pytest.param(
        "nvme 0000:01:00.0: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
        [("pcie_error", "aer:correctable", "info", "0000:01:00.0")],
        id="bus_error_corrected",
    ),
    pytest.param(
        "pcieport 0000:40:01.1: AER: device recovery failed",
        [("pcie_error", "aer:recovery_failed", "fatal", "0000:40:01.1")],
        id="recovery",
    ),
    pytest.param(EDAC, [("memory_error", "uncorrectable", "error", None)], id="edac_ue"),
    pytest.param(
        "EDAC MC0: 3 CE memory scrubbing error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1)",
        [("memory_error", "correctable", "warning", None)],
        id="edac_ce",
    ),
    pytest.param("EDAC MC0: Giving out device to module skx_edac controller Skylake", [], id="boot_noise"),
    pytest.param("EDAC MC: Ver: 3.0.0", [], id="boot_version"),
    pytest.param(
        "mce: [Hardware Error]: Machine check events logged", [("memory_error", "mce:logged", "info", None)], id="mce"
    ),
    pytest.param(
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: bc00000000000134",
        [("memory_error", "uncorrectable", "error", None)],
        id="bank_uncorrected",
    ),
    pytest.param(
        "mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 7: 8c00004000010090",
        [("memory_error", "correctable", "error", None)],
        id="bank_corrected",
    ),
    pytest.param(
        "{1}[Hardware Error]: event severity: recoverable", [("memory_error", "uncorrectable", "error", None)], id="g"
    ),
    pytest.param(
        "{9}[Hardware Error]: event severity: corrected", [("memory_error", "correctable", "info", None)], id="ghes_ok"
    ),
    pytest.param(AER[:60], [], id="cut"),
    pytest.param(
        EDAC.split(" (")[0][:-4] + AER,
        [("memory_error", "uncorrectable", "error", None), ("pcie_error", "aer:fatal", "fatal", "0000:41:00.0")],
        id="glued_without_a_break",
    ),
    pytest.param(
        AER + " " + EDAC,
        [("pcie_error", "aer:fatal", "fatal", "0000:41:00.0"), ("memory_error", "uncorrectable", "error", None)],
        id="glued",
    ),
    pytest.param("\ufffd\ufffd" + EDAC, [("memory_error", "uncorrectable", "error", None)], id="not_utf8"),
]


@pytest.mark.parametrize(("text", "rows"), CASES)
def test_lines(text: str, rows: list[tuple[str, ...]]) -> None:
    events = PARSER.parse(lines(text, path_rank=3))["events"]
    assert events.select("kind", "code", "severity", "pci").rows() == rows
    assert events["rank"].null_count() == events.height


def test_boot_noise_is_understood() -> None:
    read = PARSER.parse(lines("x\nEDAC MC0: Giving out device to a\nnvme 0000:01:00.0:    [14] CmpltTO    (First)"))
    assert read["claimed"].rows() == [("a.log", 2), ("a.log", 3)]


def test_the_old_words_give_bus_device_and_function_in_one_number() -> None:
    port = "pcieport 0000:00:03.0: "
    text = "\n".join([
        f"{port}AER: Uncorrected (Fatal) error received: id=4103",
        f"{port}PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, id=4103(Receiver ID)",
        f"{port}  device [8086:6f08] error status/mask=00000020/00000000",
        f"{port}   [ 5] Surprise Down Error    (First)",
        f"{port}broadcast error_detected message",
    ])  # fmt: skip
    tables = PARSER.parse(lines(text))
    assert tables["events"].select("code", "pci").rows() == [
        ("aer:fatal", "0000:41:00.3"), ("aer:fatal", "0000:00:03.0"), ("aer:surprise_down", "0000:00:03.0"),
    ]  # fmt: skip
    assert tables["claimed"]["line"].to_list() == [3, 5]
