"""Who stands apart from its peers in what was measured, under whatever name a tool prints it."""

from typing import Any

import pytest

from forensics.case import Case
from forensics.facts.hosts.telemetry import Apart
from parsers.text.quantities import quantity_of
from tests.log_cases import case

SECOND = 1_000_000_000
CODES = ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "DCGM_FI_DEV_XID_ERRORS")
RANKS: list[dict[str, Any]] = [
    {"rank": rank, "how": "init", "host": f"n{rank // 8}", "local_rank": rank % 8, "device_index": rank % 8, "world_size": 16}
    for rank in range(16)
]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "quantity", "part"),
    [
        ("temperature.gpu", "temperature_c", None),
        ("Temperature/GPU Current Temp", "temperature_c", None),
        ("DCGM_FI_DEV_GPU_TEMP", "temperature_c", None),
        ('DCGM_FI_DEV_SM_CLOCK{modelName="H100"}', "sm_clock_mhz", None),
        ("dcgm/gputl", "utilization_pct", None),
        ("dmon/pwr", "power_w", None),
        ("power.draw [W]", "power_w", None),
        ("clocks event reasons/hw slowdown/hw thermal slowdown", "throttle_thermal", None),
        ("ib/mlx5_0/1/rate", "port_gbps", "mlx5_0/1"),
        ('node_infiniband_port_data_received_bytes_total{device="mlx5_2",port="1"}', "port_bytes_received", "mlx5_2/1"),
        ("port_xmit_data", "port_words_sent", None),
        ("memory clock of the moon", None, None),
    ],
)
def test_one_name_for_what_tools_call_differently(metric: str, quantity: str | None, part: str | None) -> None:
    assert quantity_of(metric) == (quantity, part)


def measured(metric: str, values: dict[int, float | list[float]], usual: float = 0.0, noise: float = 0.01) -> Case:
    """Sixteen devices on two hosts, a moment every 15 s; who has no values of its own shows what is usual, give or take its noise."""
    longest = max([4, *(len(one) for one in values.values() if isinstance(one, list))])
    rows: list[dict[str, Any]] = []
    for moment in range(longest):
        for rank in range(16):
            own = values.get(rank, usual * (1 + noise * ((rank * 7 + moment) % 3 - 1)))
            value = own[moment] if isinstance(own, list) else own
            rows.append({"host": f"n{rank // 8}", "device_index": rank % 8, "metric": metric, "value": value,
                         "text": f"{value}", "time_ns": moment * 15 * SECOND})  # fmt: skip
    return case(ranks=RANKS, devices=rows)


def told(whole: Case) -> list[tuple[int | None, str, str]]:
    return [(one.rank, one.quantity, one.effect) for one in whole.apart]


@pytest.mark.parametrize(
    ("metric", "usual", "odd", "effect"),
    [
        ("temperature.gpu", 62, 97.0, "shows"),
        ("clocks.sm", 1980, 1185.0, "slows"),
        ("DCGM_FI_DEV_POWER_USAGE", 650, 210.0, "shows"),
        ("utilization.gpu", 98, 3.0, "idle"),
        ("pcie.link.width.current", 16, 8.0, "slows"),
        ("clocks_throttle_reasons.hw_thermal_slowdown", 0, 1.0, "slows"),
        ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 4, 0x44, "slows"),
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", 0, 1.0, "fails"),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0, [0.0, 0.0, 2.0, 2.0], "fails"),
        ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 3, [10.0, 5000.0, 9000.0, 9000.0], "shows"),
        ("DCGM_FI_DEV_XID_ERRORS", 145, 149.0, "fails"),
    ],
)
def test_the_odd_one_out(metric: str, usual: float, odd: float | list[float], effect: str) -> None:
    (found,) = measured(metric, {11: odd}, usual, 0 if metric in CODES else 0.01).apart
    assert (found.rank, found.host, found.effect, found.interval_s) == (11, "n1", effect, 15.0)
    assert "sampled every 15 s: what is shorter could not be seen" in found.text


@pytest.mark.parametrize(
    ("metric", "usual", "values"),
    [
        ("temperature.gpu", 62, {11: 70.0}),
        ("temperature.gpu", 62, {rank: 50.0 + 3 * rank for rank in range(16)}),
        ("clocks.sm", 1980, {11: 1930.0}),
        ("clocks.sm", 1980, dict.fromkeys(range(0, 12, 2), 1300.0)),
        ("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", 0, dict.fromkeys(range(7), 90000.0)),
        ("clocks_throttle_reasons.hw_thermal_slowdown", 0, dict.fromkeys(range(10), 1.0)),
        ("clocks_throttle_reasons.sw_power_cap", 0, {11: 1.0}),
        ("clocks_throttle_reasons.hw_thermal_slowdown", 0, {11: [1.0, 0.0, 0.0, 0.0]}),
        ("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", 0, {11: 0.0}),
    ],
    ids=["a little hotter", "spread out", "a little slower", "six of sixteen", "correctable errors on 40 %", "most throttle",
         "a power cap is usual", "throttled for a moment", "nothing"],
)  # fmt: skip
def test_what_tells_nobody_apart(metric: str, usual: float, values: dict[int, float | list[float]]) -> None:
    assert told(measured(metric, values, usual)) == []


def test_an_idle_device_has_a_low_clock_and_is_not_slow() -> None:
    loads = measured("utilization.gpu", {11: 0.0}, 98).tables["devices"].drop("file", "line", "record").to_dicts()
    clocks = measured("clocks.sm", {11: 345.0}, 1980).tables["devices"].drop("file", "line", "record").to_dicts()
    assert told(case(ranks=RANKS, devices=[*loads, *clocks])) == [(11, "utilization_pct", "idle")]


def test_a_host_of_its_own_heat_among_three() -> None:
    rows = [
        {"host": f"n{rank // 8}", "device_index": rank % 8, "metric": "temperature.gpu", "value": 95.0 if rank < 8 else 60.0}
        for rank in range(24)
    ]  # fmt: skip
    assert {one.host for one in case(devices=rows).apart} == {"n0"}
    assert case(devices=rows[:16]).apart == ()  # of two halves none is odd


def test_devices_of_another_model_are_no_peers() -> None:
    models = [
        {"name": "gpu_name", "value": "small" if index < 2 else "large", "scope": f"gpu 0000:{index:02x}:00.0", "host": "n0"}
        for index in range(10)
    ]  # fmt: skip
    rows = [
        {"host": "n0", "pci": f"0000:{index:02x}:00.0", "metric": "clocks.sm", "value": 900.0 if index < 2 else 1980.0}
        for index in range(10)
    ]  # fmt: skip
    assert case(settings=models, devices=rows).apart == ()
    assert len(case(devices=rows).apart) == 2


def traffic(ends: dict[int, int], metric: str = "port_bytes_sent_per_s", moments: int = 12) -> tuple[Apart, ...]:
    """Eight hosts with a port each; from the moment that is theirs on, nothing is sent."""
    rows: list[dict[str, Any]] = []
    for host in range(8):
        sent = 0.0
        for moment in range(moments):
            rate = 0.0 if moment >= ends.get(host, ends.get(-1, moments)) else 2e10
            sent += rate * 15
            value = rate if metric.endswith("_per_s") else sent
            rows.append(
                {
                    "host": f"n{host}",
                    "part": "mlx5_0",
                    "metric": metric,
                    "value": value,
                    "time_ns": moment * 15 * SECOND,
                }
            )
    return case(devices=rows).apart


@pytest.mark.parametrize("metric", ["port_bytes_sent_per_s", "rdma_tx_bytes"])
def test_whose_traffic_fell_to_zero_first(metric: str) -> None:
    (found,) = traffic({3: 5, -1: 9}, metric)
    assert (found.host, found.effect) == ("n3", "silent")
    assert "7 others went on" in found.text


@pytest.mark.parametrize("ends", [{}, {-1: 7}, {3: 7, -1: 8}, {3: 5, 4: 5, 5: 5, -1: 9}])
def test_all_fall_silent_together(ends: dict[int, int]) -> None:
    assert traffic(ends) == ()


def of_two_files(metric: str, levels: tuple[list[float], list[float]], odd: float, **who: Any) -> Case:
    """Two hosts of eight devices at the same addresses, a file of each that does not tell its host; device 3 of the second
    is odd."""
    rows = [
        {"file": f"{name}.txt", "line": 1 + 8 * moment + device, "metric": metric, "text": f"{value}", "value": value}
        | {"pci": f"0000:{device}b:00.0", "device_index": device}
        | dict.fromkeys(who, f"{name}-{device}")
        for name, own in zip("ab", levels, strict=True)
        for moment, level in enumerate(own)
        for device in range(8)
        for value in [odd if (name, device) == ("b", 3) else level]
    ]
    return case(devices=rows)


@pytest.mark.parametrize("who", [{}, {"uuid": True}], ids=["no name", "a UUID"])
@pytest.mark.parametrize(
    ("metric", "levels", "odd"),
    [
        ("power.draw [W]", ([310.2], [310.8]), 125.0),
        ("power.draw [W]", ([310.2, 311.0], [309.8, 312.6]), 125.0),
        ("temperature.gpu", ([61.0, 64.0], [62.0, 63.0]), 104.0),
        ("clocks.sm", ([1980.0], [1965.0]), 1185.0),
    ],
)
def test_devices_of_two_hosts_at_one_address_are_two(
    metric: str, levels: tuple[list[float], list[float]], odd: float, who: dict[str, Any]
) -> None:
    """Every figure is one that a line holds."""
    (found,) = of_two_files(metric, levels, odd, **who).apart
    assert (found.value, found.peers) == (odd, 15)
    assert found.centre in {value for own in levels for value in own}
    assert {ref.file for ref in found.refs} == {"b.txt"}


def test_two_hosts_that_differ_show_no_device_between_them() -> None:
    assert of_two_files("power.draw [W]", ([310.2], [125.0]), 125.0).apart == ()


def test_files_of_unknown_hosts_have_models_of_their_own() -> None:
    """The same addresses in two files are of two hosts: what is usual of the one's model is not asked of the other's."""
    files = {"a.txt": ("NVIDIA H100", 700.0), "b.txt": ("NVIDIA A10", 150.0)}
    settings = [
        {"name": "gpu_name", "value": model, "scope": f"gpu 0000:{bus}:00.0", "file": file}
        for file, (model, _) in files.items() for bus in ("1a", "2b", "3c", "4d")[: 4 if file == "a.txt" else 1]
    ]  # fmt: skip
    rows = [
        {"pci": f"0000:{bus}:00.0", "metric": "power.limit [W]", "value": limit, "file": file}
        for file, (_, limit) in files.items() for bus in ("1a", "2b", "3c", "4d")[: 4 if file == "a.txt" else 1]
    ]  # fmt: skip
    assert not case(settings=settings, devices=rows).apart


@pytest.mark.parametrize(("metric", "is_told"), [("remapped rows/pending", True), ("throttle_thermal", False)])
def test_what_fails_needs_no_peers(metric: str, is_told: bool) -> None:
    rows = [{"pci": f"0000:{bus}:00.0", "metric": metric, "value": value} for bus, value in (("1a", 1.0), ("2b", 0.0))]
    texts = [str(one.text) for one in case(devices=rows).apart]
    assert (
        texts
        == ["device 0000:1a:00.0: a page retirement or row remapping that is pending; seen at one moment"] * is_told
    )


@pytest.mark.parametrize(("single", "double", "is_told"), [(2, 61, True), (58, 2, True), (30, 29, False)])
def test_who_has_retired_nearly_all_pages_that_it_can(single: int, double: int, is_told: bool) -> None:
    rows = [
        {"pci": f"0000:{bus}:00.0", "metric": f"retired pages/{kind} bit ecc", "value": float(pages) if bus == "1a" else 0.0}
        for bus in ("1a", "2b") for kind, pages in (("single", single), ("double", double))
    ]  # fmt: skip
    texts = [str(one.text).partition(",")[0] for one in case(devices=rows).apart]
    assert texts == [f"device 0000:1a:00.0: {single + double} retired pages"] * is_told


def test_snapshots_of_one_uuid_are_one_device() -> None:
    rows = [
        {"file": f"{at}.txt", "uuid": f"GPU-{device}", "metric": "ecc.errors.corrected.volatile.total"}
        | {"value": 9000.0 * moment if device == 3 else 0.0, "text": "", "time_ns": moment * 15 * SECOND}
        for moment, at in enumerate(("early", "late"))
        for device in range(8)
    ]
    (found,) = case(devices=rows).apart
    assert (found.value, found.peers, found.moments) == (9000.0, 7, 2)
    assert "grew by 9000" in found.text
