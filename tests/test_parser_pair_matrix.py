"""Links of the devices of a host, pair by pair, and what they bear."""

import pytest

from parsers.device.pair_matrix import PARSER
from tests.lines import lines

Row = tuple[str, float | None, str]

TOPOLOGY = """\
\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\t0-47,96-143\t0\t\tN/A
GPU1\tNV18\t X \tSYS\t0-47,96-143\t0\t\tN/A
NIC0\tPIX\tSYS\t X

Legend:"""
METAX = "        GPU0    GPU1    Node Affinity\nGPU0    X       MX      0-31\nGPU1    MX      X       0-31"
SAMPLES = """\
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1652.31  22.10
     1  22.95 1660.47
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1652.31 389.10
     1 388.95 1660.47
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 1652.31 780.10
     1 780.95 1660.47
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   2.31   2.10"""
NVBANDWIDTH = """\
Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    276.07
 1    276.36       N/A

SUM device_to_device_memcpy_read_ce 552.43"""
HOST_COPY = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     25.50     24.26"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (TOPOLOGY, [("GPU0-GPU1/link", None, "NV18"), ("GPU0-NIC0/link", None, "PIX"), ("GPU1-NIC0/link", None, "SYS")]),
        (METAX, [("GPU0-GPU1/link", None, "MX")]),
        (SAMPLES, [("GPU0-GPU1/gb_per_s", 389.1, "389.10"), ("GPU1-GPU0/gb_per_s", 388.95, "388.95")]),
        (NVBANDWIDTH, [("GPU0-GPU1/gb_per_s", 276.07, "276.07"), ("GPU1-GPU0/gb_per_s", 276.36, "276.36")]),
        (HOST_COPY, []),
        ("GPU0 GPU1 are busy\n0 1 2", []),
        ("train on GPU0 and GPU1", []),
        (TOPOLOGY[:60], []),
        ("", []),
    ],
    ids=["topo", "metax", "p2p test", "nvbandwidth", "through the host", "words", "a sentence", "cut", "empty"],
)  # fmt: skip
def test_matrices(text: str, rows: list[Row]) -> None:
    made = PARSER.parse(lines(text))["devices"].select("metric", "value", "text").rows()
    assert made == [(f"pair/{name}", value, cell) for name, value, cell in rows]


def test_a_row_that_a_matrix_cannot_have_costs_its_length() -> None:
    text = SAMPLES.split("Bidirectional")[0] + "     0 " + "165   " * 40 + "x"
    known = PARSER.parse(lines(text))["devices"]
    assert known["metric"].to_list() == ["pair/GPU0-GPU1/gb_per_s", "pair/GPU1-GPU0/gb_per_s"]
