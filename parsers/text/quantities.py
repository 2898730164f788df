"""One name for what tools call differently: the printed metrics of devices and ports → quantities, units stated.

A metric keeps the name that its tool prints (`temperature.gpu`, `DCGM_FI_DEV_GPU_TEMP`, `Temperature/GPU Current Temp`);
`quantity` says what it is, `part` which port or link of the device. What is not listed has none.

Sources: nvidia-smi's manual and `--help-query-gpu`; DCGM's list of field identifiers; NVML's bits of clock event reasons;
node-exporter's infiniband collector; the kernel's sysfs-class-infiniband (a data counter counts four bytes at a time).
"""

import re
from collections.abc import Mapping
from math import isclose

import polars as pl

from parsers.text.patterns import regex

_PORT = regex(r"^ib/(?P<part>[^/]+(?:/\d+)?)/(?P<name>\w+)$")
_NVLINK = regex(r"^nvlink/(?P<part>\d+)/(?P<name>\w+)$")
_LABELS = regex(r"^(?P<name>[\w:]+)\{(?P<labels>.*)\}$")
_LABEL = regex(r'(device|hca|port|link|interface|ifname)="([^"]*)"')
_NOT_WORD = regex(r"[\s.\-]+")

# quantity → unit: a gauge, a flag (0 or 1), or a count since the driver or the counter began.
QUANTITIES: Mapping[str, str] = {
    "temperature_c": "°C", "memory_temperature_c": "°C", "power_w": "W", "power_limit_w": "W", "sm_clock_mhz": "MHz",
    "memory_clock_mhz": "MHz", "utilization_pct": "%", "memory_used_mib": "MiB", "memory_total_mib": "MiB",
    "throttle_reasons": "bits", "throttle_thermal": "flag", "throttle_hardware": "flag", "power_capped": "flag",
    "ecc_correctable": "count", "ecc_uncorrectable": "count", "remapped_rows": "count", "remap_pending": "flag",
    "remap_failed": "flag", "retired_pages": "count", "pcie_replays": "count", "pcie_width": "lanes",
    "nvlink_errors": "count", "nvlinks_active": "links", "last_xid": "code", "port_active": "flag", "port_gbps": "Gb/s",
    "port_bytes_received": "bytes", "port_bytes_sent": "bytes", "port_words_received": "count",
    "port_words_sent": "count", "port_bytes_received_per_s": "bytes/s", "port_bytes_sent_per_s": "bytes/s",
    "port_errors": "count", "port_downs": "count", "cpu_idle_pct": "%",
}  # fmt: skip

_PRINTED: Mapping[str, tuple[str, ...]] = {
    "temperature_c": (
        "temperature", "temperature_gpu", "temperature/gpu_current_temp", "temperature/gpu_temp", "dcgm_fi_dev_gpu_temp",
        "dcgm/tmptr", "dcgm/gptmp", "dmon/gtemp", "dmon/temp", "gpu_temp", "gpu_temperature", "temp", "temperature_c",
        "mx_chip_hotspot_temp", "hotspot", "gpu_temperature_celsius", "gpu_temp_c",
    ),
    "memory_temperature_c": (
        "temperature_memory", "temperature/memory_current_temp", "temperature/memory_temp", "dcgm_fi_dev_memory_temp",
        "dcgm/mmtmp", "dcgm/mmtmptr", "dmon/mtemp", "memory_temperature",
    ),
    "power_w": (
        "power", "power_draw", "power_draw_instant", "power_draw_average", "power_readings/power_draw", "power_readings/instant_power_draw",
        "gpu_power_readings/power_draw", "gpu_power_readings/instant_power_draw", "gpu_power_readings/average_power_draw", "power_readings/average_power_draw",
        "dcgm_fi_dev_power_usage", "dcgm/power", "dmon/pwr", "gpu_power", "power_w", "power_usage", "gpu_power_watts",
    ),
    "power_limit_w": (
        "limit", "power_limit", "enforced_power_limit", "power_readings/current_power_limit", "power_readings/power_limit",
        "gpu_power_readings/current_power_limit", "dcgm_fi_dev_power_mgmt_limit",
    ),
    "sm_clock_mhz": (
        "clocks_sm", "clocks_current_sm", "clocks/sm", "clocks/sm_clock", "dcgm_fi_dev_sm_clock", "dcgm/smclk", "dcgm/smclkt",
        "dmon/pclk", "sm_clock", "clock_sm", "gpu_clock", "sm_clock_mhz", "gpu_sm_clock_mhz",
    ),
    "memory_clock_mhz": (
        "clocks_mem", "clocks_current_memory", "clocks/memory", "clocks/mem_clock", "dcgm_fi_dev_mem_clock", "dcgm/mmclk",
        "dmon/mclk",
    ),
    "utilization_pct": (
        "utilization", "utilization_gpu", "utilization/gpu", "utilization/gpu_util", "dcgm_fi_dev_gpu_util", "dcgm/gputl",
        "dmon/sm", "gpu_util", "gpu_utilization", "gpu_util_pct", "utilization_pct",
    ),
    "memory_used_mib": (
        "used", "memory_used", "fb_memory_usage/used", "dcgm_fi_dev_fb_used", "dmon/fb", "dcgm/fbusd",
    ),
    "memory_total_mib": ("total", "memory_total", "fb_memory_usage/total"),
    "throttle_reasons": (
        "clocks_throttle_reasons_active", "clocks_event_reasons_active", "dcgm_fi_dev_clock_throttle_reasons",
        "dcgm_fi_dev_clocks_event_reasons", "dcgm/dvccte", "throttle_reasons", "clocks_throttle_reasons", "clocks_event_reasons",
    ),
    "throttle_thermal": (
        "clocks_throttle_reasons_hw_thermal_slowdown", "clocks_throttle_reasons_sw_thermal_slowdown",
        "clocks_event_reasons_hw_thermal_slowdown", "clocks_event_reasons_sw_thermal_slowdown",
        "clocks_event_reasons/hw_thermal_slowdown", "clocks_event_reasons/hw_slowdown/hw_thermal_slowdown", "clocks_event_reasons/sw_thermal_slowdown",
        "clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown", "clocks_event_reasons/clocks_event_reason_sw_thermal_slowdown",
        "clocks_throttle_reasons/clocks_throttle_reason_hw_thermal_slowdown",
        "clocks_throttle_reasons/clocks_throttle_reason_sw_thermal_slowdown", "throttle_thermal", "thermal_throttle",
    ),
    "throttle_hardware": (
        "clocks_throttle_reasons_hw_slowdown", "clocks_throttle_reasons_hw_power_brake_slowdown", "clocks_event_reasons_hw_slowdown",
        "clocks_event_reasons_hw_power_brake_slowdown", "clocks_event_reasons/hw_slowdown", "clocks_event_reasons/hw_power_brake_slowdown",
        "clocks_event_reasons/hw_slowdown/hw_power_brake_slowdown", "clocks_event_reasons/clocks_event_reason_hw_slowdown",
        "clocks_event_reasons/clocks_event_reason_hw_power_brake_slowdown", "clocks_throttle_reasons/clocks_throttle_reason_hw_slowdown",
        "clocks_throttle_reasons/clocks_throttle_reason_hw_power_brake_slowdown",
    ),
    "power_capped": (
        "clocks_throttle_reasons_sw_power_cap", "clocks_event_reasons_sw_power_cap", "clocks_event_reasons/sw_power_cap",
    ),
    "ecc_correctable": (
        "ecc_errors_corrected_volatile_total", "ecc_errors/volatile/dram_correctable", "ecc_errors/volatile/sram_correctable",
        "ecc_errors_corrected_volatile_dram", "ecc_errors_corrected_volatile_device_memory", "dcgm_fi_dev_ecc_sbe_vol_total", "dcgm/esvtl",
        "dmon/sbecc", "ecc_correctable",
    ),
    "ecc_uncorrectable": (
        "ecc_uncorrected_volatile", "ecc_errors_uncorrected_volatile_total", "ecc_errors/volatile/dram_uncorrectable",
        "ecc_errors/volatile/sram_uncorrectable", "ecc_errors/volatile/sram_uncorrectable_parity", "ecc_errors/volatile/sram_uncorrectable_secded",
        "ecc_errors/volatile/sram_uncorrectable_sec_ded", "ecc_errors_uncorrected_volatile_dram", "dcgm_fi_dev_ecc_dbe_vol_total", "dcgm/edvtl",
        "dmon/dbecc", "ecc_uncorrectable",
    ),
    "remapped_rows": (
        "remapped_rows_uncorrectable", "remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc",
        "dcgm_fi_dev_uncorrectable_remapped_rows",
    ),
    "remap_pending": (
        "remapped_rows_pending", "remapped_rows/pending", "remapped_rows/remapped_row_pending", "retired_pages_pending",
        "retired_pages/pending_page_blacklist", "dcgm_fi_dev_retired_pending", "remap_pending",
    ),
    "remap_failed": (
        "remapped_rows_failure", "remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure",
        "dcgm_fi_dev_row_remap_failure", "remap_failed",
    ),
    "retired_pages": ("retired_pages/double_bit_ecc", "retired_pages/single_bit_ecc", "retired_pages_sbe", "retired_pages_single_bit_count", "dcgm_fi_dev_retired_sbe", "retired_pages_dbe", "retired_pages_double_bit_count", "dcgm_fi_dev_retired_dbe"),
    "pcie_replays": (
        "pci/replays_since_reset", "pci/replay_counter", "pcie_replay_counter", "dcgm_fi_dev_pcie_replay_counter", "dmon/pviol_replay",
        "pcie_replays",
    ),
    "pcie_width": ("pcie_link_width_current", "pci/gpu_link_info/link_width/current", "pci/pci_gpu_link_info/link_widths/current_link_width", "pcie_width"),
    "nvlink_errors": (
        "dcgm_fi_dev_nvlink_crc_flit_error_count_total", "dcgm_fi_dev_nvlink_crc_data_error_count_total",
        "dcgm_fi_dev_nvlink_replay_error_count_total", "dcgm_fi_dev_nvlink_recovery_error_count_total", "nvlink_errors",
    ),
    "nvlinks_active": ("nvlink/active",),
    "last_xid": ("dcgm_fi_dev_xid_errors", "dcgm/xid", "dcgm/xids", "last_xid"),
    "port_active": ("ib/state",),
    "port_gbps": ("ib/rate", "port_gbps", "link_gbps"),
    "port_bytes_received": (
        "node_infiniband_port_data_received_bytes_total", "rx_bytes", "port_bytes_received", "rdma_rx_bytes", "rdma_bytes_received",
        "node_network_receive_bytes_total", "rx_bytes_phy", "rx_vport_rdma_unicast_bytes", "rdma_receive_bytes_total", "ib_rx_bytes",
    ),
    "port_bytes_sent": (
        "node_infiniband_port_data_transmitted_bytes_total", "tx_bytes", "port_bytes_sent", "rdma_tx_bytes", "rdma_bytes_sent",
        "node_network_transmit_bytes_total", "tx_bytes_phy", "tx_vport_rdma_unicast_bytes", "rdma_transmit_bytes_total", "ib_tx_bytes",
    ),
    "port_words_received": ("port_rcv_data", "portrcvdata"),
    "port_words_sent": ("port_xmit_data", "portxmitdata"),
    "port_bytes_received_per_s": ("rx_bytes_per_s", "rdma_rx_bytes_per_s", "port_bytes_received_per_s", "ib_rx_bytes_per_s"),
    "port_bytes_sent_per_s": ("tx_bytes_per_s", "rdma_tx_bytes_per_s", "port_bytes_sent_per_s", "ib_tx_bytes_per_s"),
    "port_errors": (
        "symbol_error", "symbolerrorcounter", "port_rcv_errors", "portrcverrors", "local_link_integrity_errors",
        "localintegrityerrors", "link_error_recovery", "linkerrorrecoverycounter", "port_xmit_discards", "portxmitdiscards",
        "node_infiniband_symbol_error_total", "node_infiniband_port_errors_received_total", "node_infiniband_link_error_recovery_total",
        "node_infiniband_local_link_integrity_errors_total", "packet_seq_err", "local_ack_timeout_err", "out_of_sequence",
        "rx_crc_errors_phy", "rx_symbol_err_phy", "port_errors",
    ),
    "cpu_idle_pct": ("top/cpu_idle", "cpu_idle_pct"),
    "port_downs": ("link_downed", "linkdownedcounter", "node_infiniband_link_downed_total", "port_downs"),
}  # fmt: skip
_BY_NAME: Mapping[str, str] = {printed: quantity for quantity, names in _PRINTED.items() for printed in names}


def quantity_of(metric: str) -> tuple[str | None, str | None]:
    """A printed metric → (quantity, part); null where it is none of ours, or of the device as a whole."""
    part: str | None = None
    name = metric
    if found := _PORT.match(metric):
        part, name = found["part"], f"ib/{found['name']}"
        if found["name"] not in ("state", "rate"):
            name = found["name"]
    elif found := _NVLINK.match(metric):
        part, name = f"link {found['part']}", found["name"]
    elif found := _LABELS.match(metric):
        labels = dict(_LABEL.findall(found["labels"]))
        name = found["name"]
        keys = ("device", "hca", "interface", "ifname", "port", "link")
        part = "/".join(labels[key] for key in keys if key in labels)
    return _BY_NAME.get(_NOT_WORD.sub("_", name.split(" [")[0].strip().lower())), part or None


def measured(name: str) -> tuple[str | None, float]:
    """A name of a column → (quantity, factor to its unit): one that is known; else what its words say of a link, and the unit behind them."""
    known = name if name in QUANTITIES else quantity_of(name)[0]
    if known is not None:
        return known, 1.0
    if (speed := _SPEED.fullmatch(name)) is not None:
        return "port_gbps", _bits(speed) / 1e9
    if (rate := _TRAFFIC.fullmatch(name)) is not None:
        way = "sent" if rate["way"].lower() in _SENT else "received"
        return f"port_bytes_{way}_per_s", _bits(rate) / 8
    return None, 1.0


def scaled(name: str, number: float | None) -> tuple[str | None, float | None]:
    """What a column of that name says → (quantity, value in its unit). A speed is one that links come up with: what is sent in a
    second is hardly ever such a number."""
    quantity, factor = measured(name)
    value = number * factor if number is not None else None
    if value is not None and _SPEED.fullmatch(name) and not any(isclose(value, one, rel_tol=1e-6) for one in _SPEEDS):
        return None, value
    return quantity, value


def _bits(unit: "re.Match[str]") -> float:
    return float(_TIMES[unit["times"].lower()] * (1 if unit["of"].lower().startswith("bi") or unit["of"] == "b" else 8))


def with_quantities(devices: pl.DataFrame) -> pl.DataFrame:
    """Rows of `devices` with `quantity` and `part` filled; bits printed in hexadecimal and numbers with a unit get their
    value, and what counts four bytes at a time counts bytes."""
    if devices.is_empty():
        return devices
    names = devices["metric"].drop_nulls().unique(maintain_order=True).to_list()
    told = [(name, *quantity_of(name)) for name in names]
    known = pl.DataFrame(told, schema=dict.fromkeys(("metric", "_quantity", "_part"), pl.String), orient="row")
    rows = devices.join(known, on="metric", how="left", maintain_order="left")
    bits = pl.col("text").str.strip_prefix("0x").str.to_integer(base=16, strict=False).cast(pl.Float64)
    is_hex = (pl.col("_quantity") == "throttle_reasons") & pl.col("text").str.starts_with("0x")
    is_word = pl.col("_quantity").str.starts_with("port_words_")
    number = pl.coalesce("value", pl.col("text").str.extract(r"^(\d+(?:\.\d+)?) ?[A-Za-z]").cast(pl.Float64))
    plain = pl.when(pl.col("_quantity").is_not_null()).then(number).otherwise("value")
    value = pl.when(is_hex).then(bits).when(is_word).then(4 * pl.col("value")).otherwise(plain)
    return rows.with_columns(
        value=value,
        quantity=pl.coalesce("quantity", pl.col("_quantity").str.replace("port_words_", "port_bytes_")),
        part=pl.coalesce("part", "_part"),
    ).drop("_quantity", "_part")


_UNIT = r"(?P<times>[kKmMgG]?)i?(?P<of>[bB]its?|[bB]ytes?|[bB])(?:ps|/s(?:ec)?|_?per_?s(?:ec(?:ond)?)?)?"
_SPEED = regex(
    rf"(?:\w{{1,30}}[_. -])?(?i:(?:nic|link|port|eth\d{{0,2}}|net(?:work)?|interface|iface|bond\d{{0,2}})[_. -]?speed|link[_. -]?rate)[_. -]?\(?(?i:(?=[kmg]?b)){_UNIT}\)?"
)
_TRAFFIC = regex(
    rf"(?:\w{{1,30}}[_. -])?(?P<way>(?i:tx|rx|sent|received|transmit|receive))[_. -]?\(?{_UNIT.removesuffix('?')}\)?"
)
# Gb/s of Ethernet, of InfiniBand, and of two of them taken together.
_SPEEDS = (0.01, 0.1, 1, 2.5, 5, 10, 20, 25, 40, 50, 56, 80, 100, 200, 400, 800, 1600)
_SENT, _TIMES = ("tx", "sent", "transmit"), {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
_WRAPPED = regex(
    r"\b(?:(?:np|numpy|torch|jnp|jax|mx|paddle)\.)?(?:b?float\d{1,3}|u?int\d{1,2}|[Tt]ensor|[Aa]rray)"
    r"\((?P<number>[+-]?(?:\d[\d.]{0,30}(?:e[+-]?\d{1,3})?|nan|inf))(?:, {0,2}[^()]{1,80})?\)"
)


# A name in brackets at the beginning of a cell, and its number.
_IN_BRACKETS = regex(
    r"(?:(?<=\| )|(?<=\|)|^)\[([A-Za-z][A-Za-z _/.-]{0,30})\]\s{1,8}([+-]?(?:\d[\d.]{0,30}(?:[eE][+-]?\d{1,3})?|(?i:nan|inf)))(?=\s{0,8}(?:\||$))"
)
_NORM = regex(r"(?<![\w|‖])(?:\|{1,2}|‖)(?i:g|grads?|gradients?|dw|∇\w{0,8})(?:\|{1,2}|‖)(?:_2|₂)?(?=[\s=:(])")


def bare_numbers(text: str) -> str:
    """A line without the types around its numbers, as programs of Python show a scalar that nobody has turned into a plain number:
    `np.float64(3.5)`, `tensor(nan, device='cuda:0')`; and of several cells that call their number in brackets,
    `[Loss] nan | [url] none | [step] 104`, these alone, in plain pairs. A norm of gradients as it is written, `||g||`, has its name."""
    text = _NORM.sub("grad_norm", text) if "|" in text or "‖" in text else text
    text = _WRAPPED.sub(r"\g<number>", text) if "(" in text else text
    cells = _IN_BRACKETS.findall(text) if "|" in text and "[" in text else ()
    return " | ".join(f"{name}: {number}" for name, number in cells) if len(cells) > 1 else text
