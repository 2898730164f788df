"""Which setting, held by the ranks or hosts at fault alone, brings about what they failed with.

`CATALOGUE`: a setting, the values that do it, what it brings about, why, and who says so. Where the program prints an error
that the setting brings about, that very error must be there: then it explains. Where there is none (a slow step, a wrong value)
the setting only can explain it, and that is how it is told. It accuses nobody: who failed is known before.

Nothing is said where somebody who did not fail holds the same value, or where fewer than two others tell theirs. What is of
one GPU counts where it is the GPU of the rank, if that is known.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from forensics.facts.rows.event_rows import reference
from forensics.model.hosts import short_host
from forensics.model.names import Cause
from forensics.model.ref import Ref
from forensics.model.said import Said, joined
from forensics.model.texts import first_of, ranks_text
from forensics.words import settings as words
from parsers.text.patterns import regex

_FEWEST = 2  # others that tell their value
_LESS = 0.95  # of the least of the others: figures that are measured differ a little
_SHOWN = 3
_NUMBER = regex(r"\d+(?:\.\d+)?")
_VERSION = regex(r"\d+(?:\.\d+)+")
_ERRORS = ("cuda_error", "exception", "completion_error")


class Entry(NamedTuple):
    """`odd`: values in lower case, or how it differs from all others. `errors`: how an error's code begins, in lower case;
    none: any end by these causes."""

    names: tuple[str, ...]
    odd: tuple[str, ...] | Literal["other", "lower"]
    causes: tuple[Cause | None, ...]
    errors: tuple[str, ...]
    why: Said
    source: Said


class OddSetting(NamedTuple):
    """`holders`, `others`: who holds the value, who holds another, as text. `is_sure`: the error itself says so."""

    name: str
    value: str
    other: Said
    holders: Said
    others: Said
    is_sure: bool
    entry: Entry
    refs: tuple[Ref, ...]

    @property
    def text(self) -> Said:
        """ "mig_mode is Enabled on node3 and Disabled on 3 others, which explains it: … (source)"."""
        return words.ODD(
            name=self.name, value=self.value, holders=self.holders, other=self.other, others=self.others,
            explains=words.EXPLAINS if self.is_sure else words.CAN_EXPLAIN, why=self.entry.why, source=self.entry.source,
        )  # fmt: skip


_ENDS: tuple[Cause, ...] = ("exception", "gpu_fault", "missing_ranks", "config_drift", "rank_died", "killed")
_LAUNCH: tuple[Cause, ...] = ("wrong_interface", "missing_ranks", "store_timeout", "network_fault")
_VALUES: tuple[Cause, ...] = ("nan_birth", "overflow", "bad_state", "comm_corruption", "replica_divergence")
_WAITS: tuple[Cause | None, ...] = (None, "kernel_stuck", "collective_mismatch")
CATALOGUE: tuple[Entry, ...] = (
    Entry(("mig_mode",), ("enabled",), _ENDS, ("invalid device ordinal", "no cuda-capable device"),
          words.MIG_ONE_INSTANCE,
          words.MIG_DEVICES),
    Entry(("mig_mode",), ("enabled",), ("gpu_oom", "straggler_compute"), (),
          words.MIG_A_PART, words.MIG),
    Entry(("compute_mode",), ("exclusive_process", "e. process", "exclusive_thread", "prohibited"), _ENDS,
          ("cuda-capable device(s) is/are busy", "all cuda-capable devices are busy"),
          words.ONE_PROCESS, words.DEVICES_UNAVAILABLE),
    Entry(("driver", "cuda"), "lower", _ENDS, ("cuda driver version is insufficient",),
          words.OLD_DRIVER, words.INSUFFICIENT_DRIVER),
    Entry(("NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "MCCL_IB_TIMEOUT", "MCCL_IB_RETRY_CNT"), "lower", ("network_fault",),
          ("12",), words.GIVES_UP_SOONER, words.NCCL),
    Entry(("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "MCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"), "other", _LAUNCH, (),
          words.OTHER_INTERFACE, words.NCCL),
    Entry(("MASTER_ADDR", "MASTER_PORT"), "other", (*_LAUNCH, "config_drift"), (), words.OTHER_STORE, words.INIT_BY_ENV),
    Entry(("NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX"), "other", _LAUNCH, (),
          words.OTHER_ADAPTER, words.NCCL),
    Entry(("NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_BUFFSIZE"), "other", _WAITS, (),
          words.OTHER_ALGORITHM,
          words.NCCL_1136),
    Entry(("nccl", "mccl", "rccl"), "other", (*_WAITS, "version_mismatch"), (),
          words.OTHER_LIBRARY, words.NCCL_354),
    Entry(("ecc_mode",), ("disabled",), _VALUES, (),
          words.NO_ECC, words.SMI),
    Entry(("cublas", "cuda", "torch", "gpu_name"), "other", ("replica_divergence",), (),
          words.OTHER_BITS, words.CUBLAS),
    Entry(("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"), "other", ("replica_divergence",), (),
          words.OTHER_ROUNDING, words.TF32),
    Entry(("application_clock", "max_clock_sm", "power_limit"), "lower", ("straggler_compute",), (),
          words.LOWER_LIMIT, words.SMI),
    Entry(("gpu_name",), "other", ("straggler_compute",), (), words.OTHER_PRODUCT, words.SMI),
    Entry(("CUDA_LAUNCH_BLOCKING",), ("1",), ("straggler_host", "straggler_compute"), (),
          words.LAUNCH_BLOCKS, words.CUDA_GUIDE),
    Entry(("OMP_NUM_THREADS",), "lower", ("straggler_host",), (),
          words.FEWER_THREADS, words.TUNING),
    Entry(("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"), ("1",), ("straggler_network",), (),
          words.FAST_WAY_OFF, words.NCCL),
    Entry(("NCCL_IB_HCA", "NCCL_NET_GDR_LEVEL", "NCCL_P2P_LEVEL", "NCCL_CROSS_NIC"), "other", ("straggler_network",), (),
          words.OTHER_WAY, words.NCCL),
    Entry(("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"), "other", ("gpu_oom",), (),
          words.OTHER_ALLOCATOR, words.MEMORY),
)  # fmt: skip


class At(NamedTuple):
    """The subject of a finding: ranks, hosts (short), GPUs (PCI address without function) where all of them are known;
    `is_named`: at fault."""

    ranks: frozenset[int]
    hosts: frozenset[str]
    gpus: frozenset[str]
    is_named: bool


class _Held(NamedTuple):
    who: str
    value: str
    is_own: bool
    is_near: bool  # on a host of the subject
    ref: Ref


def explaining(
    settings: pl.DataFrame, events: pl.DataFrame, file_hosts: Mapping[str, str | None], cause: Cause | None, at: At
) -> list[OddSetting]:
    """Tables of settings and events, file → host → the settings that explain a cause at a subject, by the catalogue."""
    entries = [entry for entry in CATALOGUE if cause in entry.causes]
    names = sorted({name for entry in entries for name in entry.names})
    rows = settings.filter(pl.col("name").is_in(names) & pl.col("value").is_not_null())
    if not rows.height or not (at.ranks or at.hosts):
        return []
    held: dict[str, list[_Held]] = {name: [] for name in names}
    for row in rows.sort("file", "line", "record").iter_rows(named=True):
        held[row["name"]].append(_holder(row, file_hosts, at))
    codes = _codes(events, at)
    found = []
    for entry in entries:
        if entry.errors and not any(code.startswith(entry.errors) for code in codes):
            continue
        found += [odd for name in entry.names if (odd := _odd(name, held[name], entry, at.is_named)) is not None]
    return found


def _holder(row: Mapping[str, object], file_hosts: Mapping[str, str | None], at: At) -> _Held:
    rank, told = row["rank"], row["host"] or file_hosts.get(str(row["file"]))
    host, scope = short_host(str(told)) if told else None, str(row["scope"] or "")
    gpu = scope.removeprefix("gpu ") if scope.startswith("gpu ") else None
    if rank is not None:
        is_own = rank in at.ranks or (not at.ranks and host in at.hosts)
        who = f"rank {rank}"
    else:
        is_own = host in at.hosts and (gpu is None or not at.gpus or gpu.removesuffix(".0") in at.gpus)
        who = host or str(row["file"])
    ref = reference({**row, "text": f"{row['name']}={row['value']}"})
    return _Held(who, str(row["value"]).strip(), is_own, host in at.hosts, ref)


def _codes(events: pl.DataFrame, at: At) -> set[str]:
    """Codes of errors that the subject printed, in lower case."""
    rows = events.filter(pl.col("kind").is_in(_ERRORS) & pl.col("code").is_not_null())
    return {
        str(code).lower()
        for code, rank, host in rows.select("code", "rank", "host").iter_rows()
        if rank in at.ranks or (host and short_host(host) in at.hosts)
    }


def _odd(name: str, held: Sequence[_Held], entry: Entry, is_named: bool) -> OddSetting | None:
    """The value that the subject alone holds; of suspects, what some of them hold and most members do not."""
    most = _commonest(held) if not is_named else None
    own = [one for one in held if one.is_own and one.value != most]
    others = [one for one in held if not one.is_own or one.value == most]
    if entry.errors:  # not every process of a host need come to the error, so the rest of it says nothing
        others = [one for one in others if not one.is_near]
    who, values = {one.who for one in others}, {one.value for one in others}
    odd = [one for one in own if _does_it(one.value, entry.odd, values)]
    if not odd or len(who) < _FEWEST:
        return None
    value = odd[0].value
    holders = _names(one.who for one in odd if one.value == value)
    other = joined(sorted(values)[:_SHOWN], " or ")
    is_sure, cited = bool(entry.errors), (odd[0].ref, others[0].ref)
    return OddSetting(name, value, other, holders, words.OTHERS(number=len(who)), is_sure, entry, cited)


def _commonest(held: Collection[_Held]) -> str | None:
    """The value of more than half of those that tell theirs."""
    by_who = {one.who: one.value for one in held}
    values = list(by_who.values())
    return next((value for value in sorted(set(values)) if 2 * values.count(value) > len(values)), None)


def _does_it(value: str, odd: tuple[str, ...] | Literal["other", "lower"], others: Collection[str]) -> bool:
    if value in others:
        return False
    if odd == "other":
        return True
    return _is_lower(value, others) if odd == "lower" else value.lower() in odd


def _is_lower(value: str, others: Collection[str]) -> bool:
    """By number ("1410 MHz"), or by version ("550.54.15"), than each of the others."""
    texts = (value, *others)
    if all(_VERSION.fullmatch(text) for text in texts):
        own, *rest = ([int(part) for part in text.split(".")] for text in texts)
        return all(own < other for other in rest)
    numbers = [float(found[0]) for text in texts if (found := _NUMBER.match(text))]
    return len(numbers) == len(texts) and numbers[0] <= _LESS * min(numbers[1:])


def _names(who: Iterable[str]) -> Said:
    listed = list(dict.fromkeys(who))
    ranks = [int(name.removeprefix("rank ")) for name in listed if re.fullmatch(r"rank \d+", name)]
    places = [name for name in listed if not re.fullmatch(r"rank \d+", name)]
    parts = ([ranks_text(ranks)] if ranks else []) + ([first_of(places, _SHOWN)] if places else [])
    return joined(parts, ", ")
