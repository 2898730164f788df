"""State of links, adapters and accelerators, as the vendors' tools print it."""

import pytest

from parsers.device import dcgmi_dmon, ib, lspci, mthreads_gmi, mx_smi, nvlink_status, prometheus
from parsers.schema.parser import FileParser
from tests.sources import source

Rows = list[tuple[str | float | None, ...]]

NVLINK = """GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-aa)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-bb)
\t Link 0: 25 GB/s
"""
DMON = """#Entity   POWER    GPUTL   XID
ID        W
GPU 0     185.300  75      0
GPU 1     N/A      74      79
# Entity  TENSO
      Id
GPU 0     0.5
GPU 1     0.5   7
"""
GMI = """Tue Jun 23 17:48:04 2026
---------------------------------------------------------------
    mthreads-gmi:2.4.1           Driver Version:5.1.0-server
---------------------------------------------------------------
ID   Name           |PCIe                |%GPU  Mem
     Device Type    |Pcie Lane Width     |Temp  MPC Capable
                                         |      ECC Mode
+-------------------------------------------------------------+
0    MTT S4000      |00000000:12:00.0    |7%    4MiB(49152MiB)
     Physical       |16x(16x)            |43C   YES
                                         |      On-die, EDC
"""
MX = """mx-smi  version: 2.1.12

=================== MetaX System Management Interface Log ===================
Timestamp                                         : Mon Mar  9 14:23:48 2026

Attached GPUs                                     : 8
| MX-SMI 2.1.12                       Kernel Mode Driver Version: 2.12.13         |
| MACA Version: 2.29.0.19             BIOS Version: 1.20.3.0                      |
| 0           MetaX C500             | 0000:0e:00.0        | 12%                  |
| 35C         54W / 350W             | 826/65536 MiB       |                      |
| 0           4711   python3                            | 40960 MiB               |
"""
IBSTAT = """CA 'mlx5_0'
\tFirmware version: 28.39.1002
\tPort 1:
\t\tState: Down
\t\tPhysical state: Polling
\t\tRate: 400
"""
IBSTATUS = """Infiniband device 'mlx5_0' port 1 status:
\tstate:           4: ACTIVE
\tphys state:      5: LinkUp
\trate:            200 Gb/sec (4X HDR)
"""
RDMA = "link mlx5_0/1 state DOWN physical_state POLLING netdev ib0\nlink mlx5_1/1 state ACTIVE physical_state LINK_UP\n"
LSPCI = """3b:00.0 3D controller: NVIDIA Corporation GH100 (rev a1)
\tControl: I/O- Mem+ BusMaster+
\t\tDevSta:\tCorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
\tKernel driver in use: nvidia
00:1f.0 ISA bridge thing: Intel
00:1f.3 Audio device: Intel
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1
"""
METRICS = """# HELP XPU_TIMER_COMMON_HANG whether
# TYPE XPU_TIMER_COMMON_HANG gauge
XPU_TIMER_COMMON_HANG{ip="10.0.0.1",job_name="j",local_rank="2",rank="2"} 1
XPU_TIMER_COMMON_HANG{ip="10.0.0.1",job_name="j",local_rank="3",rank="3"} 0
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-bb",pci_bus_id="00000000:3B:00.0",Hostname="n1"} 41 1740669002000
no sample here at all
"""

CASES = [
    pytest.param(
        nvlink_status.PARSER,
        NVLINK,
        [
            ("nvlink/0/gb_per_s", 25.0, "25", 0, None),
            ("nvlink/1/gb_per_s", None, "<inactive>", 0, None),
            ("nvlink/active", 1.0, "1", 0, None),
            ("nvlink/0/gb_per_s", 25.0, "25", 1, None),
            ("nvlink/active", 1.0, "1", 1, None),
        ],
        id="nvlink",
    ),
    pytest.param(
        dcgmi_dmon.PARSER,
        DMON,
        [
            ("dcgm/power", 185.3, "185.300", 0, None),
            ("dcgm/gputl", 75.0, "75", 0, None),
            ("dcgm/xid", 0.0, "0", 0, None),
            ("dcgm/gputl", 74.0, "74", 1, None),
            ("dcgm/xid", 79.0, "79", 1, None),
            ("dcgm/tenso", 0.5, "0.5", 0, None),
        ],
        id="dmon",
    ),
    pytest.param(
        mthreads_gmi.PARSER,
        GMI,
        [
            ("utilization", 7.0, "7%", 0, "0000:12:00.0"),
            ("used", 4.0, "4", 0, "0000:12:00.0"),
            ("total", 49152.0, "49152", 0, "0000:12:00.0"),
            ("temperature", 43.0, "43C", 0, "0000:12:00.0"),
            ("pcie_width", 16.0, "16x(16x)", 0, "0000:12:00.0"),
            ("ecc", None, "On-die, EDC", 0, "0000:12:00.0"),
        ],
        id="mthreads",
    ),
    pytest.param(
        mx_smi.PARSER,
        MX,
        [
            ("utilization", 12.0, "12%", 0, "0000:0e:00.0"),
            ("temperature", 35.0, "35C", 0, "0000:0e:00.0"),
            ("power", 54.0, "54W", 0, "0000:0e:00.0"),
            ("limit", 350.0, "350W", 0, "0000:0e:00.0"),
            ("used", 826.0, "826", 0, "0000:0e:00.0"),
            ("total", 65536.0, "65536", 0, "0000:0e:00.0"),
        ],
        id="metax",
    ),
    pytest.param(
        ib.PARSER,
        IBSTAT,
        [
            ("ib/mlx5_0/firmware", None, "28.39.1002", None, None),
            ("ib/mlx5_0/1/state", 0.0, "Down", None, None),
            ("ib/mlx5_0/1/physical_state", None, "Polling", None, None),
            ("ib/mlx5_0/1/rate", 400.0, "400", None, None),
        ],
        id="ibstat",
    ),
    pytest.param(
        ib.PARSER,
        IBSTATUS,
        [
            ("ib/mlx5_0/1/state", 1.0, "4: ACTIVE", None, None),
            ("ib/mlx5_0/1/physical_state", None, "5: LinkUp", None, None),
            ("ib/mlx5_0/1/rate", 200.0, "200 Gb/sec (4X HDR)", None, None),
        ],
        id="ibstatus",
    ),
    pytest.param(
        ib.PARSER,
        RDMA,
        [
            ("ib/mlx5_0/1/state", 0.0, "DOWN", None, None),
            ("ib/mlx5_0/1/physical_state", None, "POLLING", None, None),
            ("ib/mlx5_0/1/netdev", None, "ib0", None, None),
            ("ib/mlx5_1/1/state", 1.0, "ACTIVE", None, None),
            ("ib/mlx5_1/1/physical_state", None, "LINK_UP", None, None),
        ],
        id="rdma",
    ),
    pytest.param(
        lspci.PARSER,
        LSPCI,
        [
            ("lspci/class", None, "3D controller: NVIDIA Corporation GH100 (rev a1)", None, "0000:3b:00.0"),
            ("lspci/errors", 1.0, "DevSta CorrErr", None, "0000:3b:00.0"),
            ("lspci/speed_max_gt", 32.0, "32", None, "0000:3b:00.0"),
            ("lspci/width_max", 16.0, "16", None, "0000:3b:00.0"),
            ("lspci/speed_gt", 16.0, "16", None, "0000:3b:00.0"),
            ("lspci/width", 8.0, "8", None, "0000:3b:00.0"),
            ("lspci/downgraded", 1.0, "yes", None, "0000:3b:00.0"),
            ("lspci/driver", None, "nvidia", None, "0000:3b:00.0"),
            ("lspci/class", None, "ISA bridge thing: Intel", None, "0000:00:1f.0"),
        ],
        id="lspci",
    ),
    pytest.param(
        prometheus.PARSER,
        METRICS,
        [
            ('XPU_TIMER_COMMON_HANG{job_name="j",local_rank="2"}', 1.0, "1", None, None),
            ('XPU_TIMER_COMMON_HANG{job_name="j",local_rank="3"}', 0.0, "0", None, None),
            ("DCGM_FI_DEV_GPU_TEMP", 41.0, "41", 1, "0000:3b:00.0"),
        ],
        id="prometheus",
    ),
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("parser", "content", "rows"), CASES)
def test_devices(parser: FileParser, content: str, rows: Rows, ending: str) -> None:
    told = content.replace("\n", ending)
    assert parser.accepts("x", told.encode())
    devices = parser.parse(source(told))["devices"]
    assert devices.select("metric", "value", "text", "device_index", "pci").rows() == rows
    assert devices["line"].null_count() == 0


@pytest.mark.parametrize(("parser", "content", "rows"), CASES)
def test_cut_glued_and_foreign(parser: FileParser, content: str, rows: Rows) -> None:
    data = content.encode()
    for end in range(0, len(data), 7):
        assert parser.parse(source(data[:end]))["devices"].height <= len(rows) + 1  # a cut line may read as another
    parser.parse(source(b"\xff\xfe" + data + data))
    for foreign in (b"", b"hello\n", b"\xff\xfe\x00", b"{}", b"a,b\n1,2\n"):
        assert not parser.accepts("x", foreign)


def test_hang_gauge_is_an_event() -> None:
    read = prometheus.PARSER.parse(source(METRICS))
    assert read["events"].select("kind", "rank", "host", "line").rows() == [("heartbeat_lost", 2, "10.0.0.1", 3)]
    assert read["devices"]["time_ns"].to_list() == [None, None, 1740669002000 * 10**6]
    assert read["unread"]["line"].to_list() == [7]


def test_processes_and_settings() -> None:
    read = mx_smi.PARSER.parse(source(MX))
    assert read["ranks"].select("pid", "device_index", "pci").rows() == [(4711, 0, "0000:0e:00.0")]
    assert dict(read["settings"].select("name", "value").rows())["driver"] == "2.12.13"
    assert (
        dict(mthreads_gmi.PARSER.parse(source(GMI))["settings"].select("name", "value").rows())["ecc_mode"]
        == "On-die, EDC"
    )
    assert dcgmi_dmon.PARSER.parse(source(DMON))["unread"]["line"].to_list() == [8]


def test_another_vendors_mx_smi_is_left_alone() -> None:
    assert not mx_smi.PARSER.accepts("mx-smi.txt", b"mx-smi 3.1\nS30 board 0\n")
