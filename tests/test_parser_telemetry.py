"""Telemetry over time: nvidia-smi dmon, answers of Prometheus, tables of a site's own collector."""

import pytest

from parsers.device import ib_counters, nvidia_smi_dmon, prometheus_range, telemetry_table
from parsers.schema.parser import FileParser
from tests.sources import source

Rows = list[tuple[str | int | float | None, ...]]
DMON = """# gpu   pwr gtemp mtemp    sm  pclk
# Idx     W     C     C     %   MHz
    0   311    41     -    99  1980
    1    71    29     -     0   345
#Date       Time        gpu   pwr gtemp
#YYYYMMDD   HH:MM:SS    Idx     W     C
 20250227   15:10:02      0   311    41
"""
RANGE = """{"status": "success", "data": {"resultType": "matrix", "result": [
{"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "3", "instance": "gpu-017:9400", "job": "dcgm"},
 "values": [[1740669002, "41"], [1740669017.5, "97"]]}]}}"""
MOMENT = """{"status":"success","data":{"resultType":"vector","result":[
{"metric":{"__name__":"node_infiniband_port_data_received_bytes_total","device":"mlx5_0","port":"1","instance":"n1:9100"},
"value":[1740669002,"8123"]}]}}"""
WIDE = """time,host,gpu,temperature_c,sm_clock_mhz
1740669002,gpu-017,3,97,1185
1740669017,gpu-017,3,98,
"""
LONG = """{"time": "2025-02-27T15:10:02", "host": "gpu-017", "port": "mlx5_0", "metric": "port_bytes_sent", "value": 918}
{"rank": 3, "time": 1740669002, "metric": "fan_of_the_rack", "value": 7}
{"time": 1740669002, "metric": "port_bytes_sent", "value": 918}
"""
COUNTERS = """/sys/class/infiniband/mlx5_3/ports/1/counters/symbol_error:70070
/sys/class/infiniband/mlx5_3/ports/1/hw_counters/local_ack_timeout_err:17
"""
PERFQUERY = """# Port counters: Lid 112 port 1 (CapMask: 0x5A00)
PortSelect:......................1
LinkDownedCounter:...............2
"""
AT = 1740669002 * 10**9

CASES = [
    pytest.param(
        nvidia_smi_dmon.PARSER,
        DMON,
        [
            (None, 0, "dmon/pwr", 311.0, None), (None, 0, "dmon/gtemp", 41.0, None), (None, 0, "dmon/sm", 99.0, None),
            (None, 0, "dmon/pclk", 1980.0, None), (None, 1, "dmon/pwr", 71.0, None), (None, 1, "dmon/gtemp", 29.0, None),
            (None, 1, "dmon/sm", 0.0, None), (None, 1, "dmon/pclk", 345.0, None), (None, 0, "dmon/pwr", 311.0, AT),
            (None, 0, "dmon/gtemp", 41.0, AT),
        ],
        id="dmon",
    ),
    pytest.param(
        prometheus_range.PARSER,
        RANGE,
        [
            ("gpu-017", 3, 'DCGM_FI_DEV_GPU_TEMP{job="dcgm"}', 41.0, AT),
            ("gpu-017", 3, 'DCGM_FI_DEV_GPU_TEMP{job="dcgm"}', 97.0, AT + 15_500_000_000),
        ],
        id="range",
    ),
    pytest.param(
        prometheus_range.PARSER,
        MOMENT,
        [("n1", None, 'node_infiniband_port_data_received_bytes_total{device="mlx5_0",port="1"}', 8123.0, AT)],
        id="moment",
    ),
    pytest.param(
        ib_counters.PARSER,
        COUNTERS,
        [
            (None, None, "ib/mlx5_3/1/symbol_error", 70070.0, None),
            (None, None, "ib/mlx5_3/1/local_ack_timeout_err", 17.0, None),
        ],
        id="sysfs",
    ),
    pytest.param(
        ib_counters.PARSER,
        PERFQUERY,
        [(None, None, "ib/lid112/1/PortSelect", 1.0, None), (None, None, "ib/lid112/1/LinkDownedCounter", 2.0, None)],
        id="perfquery",
    ),
    pytest.param(
        telemetry_table.PARSER,
        WIDE,
        [
            ("gpu-017", 3, "temperature_c", 97.0, AT), ("gpu-017", 3, "sm_clock_mhz", 1185.0, AT),
            ("gpu-017", 3, "temperature_c", 98.0, AT + 15 * 10**9),
        ],
        id="columns",
    ),
    pytest.param(
        telemetry_table.PARSER,
        LONG,
        [("gpu-017", None, "port_bytes_sent", 918.0, AT), (None, None, "fan_of_the_rack", 7.0, AT)],
        id="metric and value",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parser", "content", "rows"), CASES)
def test_devices(parser: FileParser, content: str, rows: Rows) -> None:
    assert parser.accepts("x", content.encode())
    devices = parser.parse(source(content))["devices"]
    assert devices.select("host", "device_index", "metric", "value", "time_ns").rows() == rows


@pytest.mark.parametrize(("parser", "content", "rows"), CASES)
def test_cut_and_foreign(parser: FileParser, content: str, rows: Rows) -> None:
    data = content.encode()
    for end in range(0, len(data), 7):
        tables = parser.parse(source(data[:end]))
        assert "devices" not in tables or tables["devices"].height <= len(rows) + 1
    parser.parse(source(b"\xff\xfe" + data + data))
    for foreign in (b"", b"hello\n", b"{}", b"a,b\n1,2\n", b"time,host,rank,step,state\n", b"rank,step,phase,ms\n",
                    b"host,test,ok\n", b"epoch,temperature,top_p\n", b"time,rank,loss,grad_norm,power\n"):  # fmt: skip
        assert not parser.accepts("x", foreign)


def test_parts_and_what_names_nobody() -> None:
    read = telemetry_table.PARSER.parse(source(LONG))
    assert read["devices"]["part"].to_list() == ["mlx5_0", None]
    assert read["devices"]["quantity"].to_list() == ["port_bytes_sent", None]
    assert read["unread"]["line"].to_list() == [3]
