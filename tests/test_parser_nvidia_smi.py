"""The four forms in which nvidia-smi tells the state of a GPU."""

import polars as pl
import pytest

from parsers.device import nvidia_smi_csv, nvidia_smi_q, nvidia_smi_table, nvidia_smi_xml
from parsers.schema.parser import FileParser
from tests.lines import lines
from tests.sources import source

TEXT = """==============NVSMI LOG==============

Timestamp                                 : Thu Mar 14 20:46:07 2024
Driver Version                            : 535.86.10
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:3B:00.0
    MIG Mode
        Current                           : Enabled
        Pending                           : Disabled
    GPU UUID                              : GPU-aa
    Minor Number                          : 0
    Clocks Throttle Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
    ECC Errors
        Volatile
            SRAM Uncorrectable Parity     : 3
            DRAM Correctable              : N/A
        Aggregate
            SRAM Threshold Exceeded       : Yes
    Remapped Rows
        Correctable Error                 : 1
        Pending                           : Yes
    Temperature
        GPU Current Temp                  : 44 C
    Processes
        Process ID                        : 8123
            Type                          : C
GPU 00000000:5E:00.0
    GPU UUID                              : GPU-bb
    Remapped Rows                         : N/A
    ECC Errors
        Volatile                          : Unknown Error
"""


def metrics(frame: pl.DataFrame) -> list[tuple[str | float | None, ...]]:
    return frame.select("pci", "device_index", "metric", "value", "text").rows()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_text_form(ending: str) -> None:
    content = TEXT.replace("\n", ending)
    assert nvidia_smi_q.PARSER.accepts("x", content.encode())
    read = nvidia_smi_q.PARSER.parse(source(content, host="n1"))
    found = {(row[0], row[2]): row[3:] for row in metrics(read["devices"])}
    first = "0000:3b:00.0"
    assert found[first, "ecc errors/volatile/sram uncorrectable parity"] == (3.0, "3")
    assert (first, "ecc errors/volatile/dram correctable") not in found
    assert found[first, "ecc errors/aggregate/sram threshold exceeded"] == (1.0, "Yes")
    assert found[first, "remapped rows/pending"] == (1.0, "Yes")
    assert found[first, "clocks event reasons/hw slowdown"] == (1.0, "Active")
    assert found[first, "clocks event reasons/hw slowdown/hw thermal slowdown"] == (0.0, "Not Active")
    assert found[first, "temperature/gpu current temp"] == (44.0, "44 C")
    assert found["0000:5e:00.0", "ecc errors/volatile"] == (None, "Unknown Error")
    assert read["devices"]["uuid"].unique().sort().to_list() == ["GPU-aa", "GPU-bb"]
    assert read["devices"]["time_ns"].unique().to_list() == [1710449167 * 10**9]
    assert read["ranks"].select("pid", "pci", "device_index", "line").rows() == [(8123, first, 0, 29)]
    assert read["settings"].select("name", "value", "scope").rows() == [
        ("driver", "535.86.10", "version"),
        ("cuda", "12.2", "version"),
        ("mig_mode", "Enabled", f"gpu {first}"),
    ]


XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>550.90.07</driver_version>
  <gpu id="00000000:3B:00.0">
    <uuid>GPU-aa</uuid>
    <ecc_errors><volatile><sram_correctable>7</sram_correctable><dram_correctable>N/A</dram_correctable></volatile></ecc_errors>
    <remapped_rows><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>
    <processes><process_info><pid>8123</pid></process_info></processes>
  </gpu>
</nvidia_smi_log>
"""


def test_xml_form() -> None:
    assert nvidia_smi_xml.PARSER.accepts("x", XML.encode())
    read = nvidia_smi_xml.PARSER.parse(source(XML))
    assert metrics(read["devices"])[1:] == [
        ("0000:3b:00.0", 0, "ecc_errors/volatile/sram_correctable", 7.0, "7"),
        ("0000:3b:00.0", 0, "remapped_rows/remapped_row_pending", 1.0, "Yes"),
    ]
    assert read["devices"]["uuid"].to_list() == ["GPU-aa"] * 3
    assert read["ranks"].select("pid", "line").rows() == [(8123, 9)]
    assert read["unread"].is_empty()


def test_hostile_or_cut_xml_is_told() -> None:
    bomb = XML.replace(
        'SYSTEM "nvsmi_device_v12.dtd"', '[<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]'
    )
    refused = nvidia_smi_xml.PARSER.parse(source(bomb))
    assert "entity" in refused["unread"]["reason"][0]
    assert refused["devices"].is_empty()
    cut = nvidia_smi_xml.PARSER.parse(source(XML[:400]))
    assert cut["devices"].height == 3
    assert cut["unread"].height == 1
    assert nvidia_smi_xml.PARSER.parse(source("<a>" * 5000))["unread"].height == 1


CSV = """timestamp, index, pci.bus_id, temperature.gpu, power.draw [W], ecc.mode.current, serial
2025/02/27 15:10:02.113, 0, 00000000:3B:00.0, 41, 311.20 W, Enabled, [N/A]
2025/02/27 15:10:02.113, 1, 00000000:5E:00.0, 42
"""


def test_csv_form() -> None:
    assert nvidia_smi_csv.PARSER.accepts("x", CSV.encode())
    read = nvidia_smi_csv.PARSER.parse(source(CSV))
    assert metrics(read["devices"]) == [
        ("0000:3b:00.0", 0, "temperature.gpu", 41.0, "41"),
        ("0000:3b:00.0", 0, "power.draw", 311.2, "311.20 W"),
        ("0000:3b:00.0", 0, "ecc.mode.current", 1.0, "Enabled"),
    ]
    assert read["devices"]["time_ns"][0] == 1740669002 * 10**9 + 113_000_000
    assert read["settings"].select("name", "value").rows() == [("ecc_mode", "Enabled")]
    assert read["unread"].select("line").rows() == [(3,)]
    assert not nvidia_smi_csv.PARSER.accepts("x", b"rank,step,loss\n1,2,3\n")


TABLE = """| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
| N/A   27C    P0             72W /  700W |    1024MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:3B:00.0 Off |                 ERR! |
| N/A   ERR!   P0            ERR! /  700W |    1024MiB /  81559MiB |    100%      Default |
|                                         |                        |              Enabled |
|    1   N/A  N/A      8123      C   /usr/bin/python3                           70012MiB |"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_table_form(ending: str) -> None:
    read = nvidia_smi_table.PARSER.parse(lines(TABLE.replace("\n", ending), path_host="n1"))
    assert read["ranks"].select("pid", "pci", "device_index", "host").rows() == [(8123, "0000:3b:00.0", 1, "n1")]
    found = {(row[0], row[2]): row[3:] for row in metrics(read["devices"])}
    assert found["0000:19:00.0", "temperature"] == (27.0, "27C")
    assert found["0000:3b:00.0", "temperature"] == (None, "ERR!")
    assert found["0000:3b:00.0", "utilization"] == (100.0, "100%")
    modes = read["settings"].filter(pl.col("name") == "mig_mode").select("value", "scope").rows()
    assert modes == [("Disabled", "gpu 0000:19:00.0"), ("Enabled", "gpu 0000:3b:00.0")]


@pytest.mark.parametrize("parser", [nvidia_smi_q.PARSER, nvidia_smi_xml.PARSER, nvidia_smi_csv.PARSER])
@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\xff\xfe\x00", b"GPU 00000000:3B:00.0\n\xff: \xff\n", b"a" * 70000]
)
def test_foreign_content(parser: FileParser, content: bytes) -> None:
    assert not parser.accepts("x", content)
    parser.parse(source(content))
