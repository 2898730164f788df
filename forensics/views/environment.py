"""What is set differently from rank to rank, from host to host or from attempt to attempt, and what is out of its range.

A difference explains nothing by itself: it is listed, the odd one out first, and left to the reader. Left out is what
differs by design: numbers and names of the process itself, also inside a path, addresses, and what every process has a
value of its own for. What was not printed is not known to be unset.

Ranges: facts/settings/setting_ranges.py. Source: PyTorch's ProcessGroupNCCL.hpp for the names before 2.2.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

import polars as pl

from forensics.facts.ends.relaunches import relaunches
from forensics.facts.settings.setting_ranges import is_out_of_range
from forensics.model.hosts import short_host
from forensics.model.incident import EnvironmentRow
from forensics.model.said import Said, joined
from forensics.model.texts import RANK, RANKS, ranges
from forensics.words import views as words
from parsers.schema.tables import TableName
from parsers.text.patterns import regex

_ROWS, _VALUES, _HOLDERS, _TEXT = 200, 12, 8, 160
_ALONE = 4  # as many holders with a value each is by design
_BY_DESIGN = regex(
    r"(?:^|_)(?:rank|pid|(?<!master_)(?:port|addr|address)|id|nodeid|procid|localid|hostname|time|date|serial|uuid|pwd|oldpwd)$"
    r"|^(?:rank|local_rank|group_rank|section|bug_report\w*|restart_count|CUDA_VISIBLE_DEVICES|MUSA_VISIBLE_DEVICES"
    r"|MACA_VISIBLE_DEVICES|RANK_TABLE_FILE)$",
    re.I,
)
_SAME = {"on": "Enabled", "off": "Disabled", "enabled": "Enabled", "disabled": "Disabled"}
_OFF = ("0", "false", "none", "")
_ASYNC = regex(r"^(?:TORCH_)?[NM]CCL_ASYNC_ERROR_HANDLING$")
_OLD = regex(
    r"^[NM]CCL_(?:ASYNC_ERROR_HANDLING|BLOCKING_WAIT|DESYNC_DEBUG|ENABLE_TIMING|DUMP_ON_TIMEOUT|TRACE_BUFFER_SIZE)$"
)
_MODES = ("ecc_mode", "mig_mode")
_DAY_MS = 86_400_000
_RETRIES = 7
_TRY_S = 4.096e-6

Holder = tuple[str, str, str]  # rank or "", host or "", device or ""
_NOBODY: Holder = ("", "", "")


def environment(attempts: Mapping[int, Mapping[TableName, pl.DataFrame]]) -> list[EnvironmentRow]:
    """Attempt → its tables; who joined and left, differences within the newest attempt that shows any settings, what is out of range in it,
    then what changed since the attempt before. The rarest value comes first, in the list and in each row."""
    held = {attempt: _held(tables) for attempt, tables in attempts.items()}
    rows = [*_membership(attempts), *_relaunched(attempts)]
    filled = [attempt for attempt in attempts if held[attempt]]
    if filled:
        rows += [*_differences(held[filled[-1]]), *_audit(held[filled[-1]])]
    if len(filled) > 1:
        rows += _changes(filled[-2], held[filled[-2]], filled[-1], held[filled[-1]])
    return rows[:_ROWS]


def changes(rows: Iterable[EnvironmentRow]) -> list[EnvironmentRow]:
    """Of the rows of an environment, the settings that were changed between the last two attempts."""
    return [row for row in rows if row.note == words.CHANGED and "→" not in "".join(row.values)]


def _membership(attempts: Mapping[int, Mapping[TableName, pl.DataFrame]]) -> Iterable[EnvironmentRow]:
    """Hosts that joined or left, and another number of ranks, from the last attempt but one to the newest. Hosts are told
    only where both attempts know the host of as many ranks."""
    numbers = list(attempts)[-2:]
    if len(numbers) < 2:
        return
    before, after = (attempts[number]["ranks"] for number in numbers)
    sizes = [frame["world_size"].drop_nulls().mode().sort().to_list() for frame in (before, after)]
    if len(sizes[0]) == len(sizes[1]) == 1 and sizes[0] != sizes[1]:
        newest_first = zip(sizes[::-1], numbers[::-1], strict=True)
        values: dict[str, str] = {str(size[0]): words.ATTEMPT(attempt=number) for size, number in newest_first}
        yield EnvironmentRow(name="world size", values=values, note=words.CHANGED)
    placed = [
        {rank: short_host(host) for rank, host in frame.select("rank", "host").drop_nulls().unique().iter_rows()}
        for frame in (before, after)
    ]
    was, now = set(placed[0].values()), set(placed[1].values())
    if was and now and was != now and len(placed[0]) == len(placed[1]):
        came, left = ", ".join(sorted(now - was)[:_HOLDERS]), ", ".join(sorted(was - now)[:_HOLDERS])
        moved = ((came, words.JOINED(attempt=numbers[1])), (left, words.LEFT(attempt=numbers[0])))
        hosts: dict[str, str] = {names: what for names, what in moved if names}
        yield EnvironmentRow(name="hosts", values=hosts, note=words.NEW_HOST)
        yield from _replaced(placed[0], placed[1], was - now, now - was)


def _replaced(
    before: Mapping[int, str], after: Mapping[int, str], gone: Collection[str], new: Collection[str]
) -> Iterable[EnvironmentRow]:
    """Old host → new host, where all ranks of the one run on the other."""
    values: dict[str, str] = {}
    for host in sorted(gone):
        ranks = [rank for rank, place in before.items() if place == host]
        to = {after.get(rank) for rank in ranks}
        if len(to) == 1 and (name := next(iter(to))) in new:
            values[f"{host} → {name}"] = _on(ranks)
    if values:
        yield EnvironmentRow(name="hosts, replaced", values=values, note=words.CHANGED)


def _relaunched(attempts: Mapping[int, Mapping[TableName, pl.DataFrame]]) -> Iterable[EnvironmentRow]:
    """Old pod or node → new one, by the word of who launches them: also where neither left a rank."""
    found = {(one.old, one.new): one for tables in attempts.values() for one in relaunches(tables["events"])}
    values = {f"{one.old} → {one.new or 'anew'}": one.who for one in list(found.values())[:_VALUES]}
    if values:
        yield EnvironmentRow(name="pods, relaunched", values=values, note=words.AS_LAUNCHER_SAYS)


def settings_of(settings: pl.DataFrame) -> dict[str, str | None]:
    """Table of settings → name → the value, or all values, of what is not each process's own."""
    rows = settings.filter(pl.col("value").is_not_null() & ~pl.col("scope").eq_missing(pl.lit("clock")))
    values = rows.drop_nulls("name").group_by("name").agg(pl.col("value").unique().sort().head(_VALUES)).sort("name")
    return {name: " | ".join(held) for name, held in values.iter_rows() if not _BY_DESIGN.search(name)}


def _held(tables: Mapping[TableName, pl.DataFrame]) -> dict[str, dict[Holder, str]]:
    """Setting → who holds it → value, as printed last."""
    if not tables["settings"].height:
        return {}
    hosts = dict(tables["files"].select("file", "host").iter_rows())
    settings = tables["settings"].filter(pl.col("value").is_not_null() & ~pl.col("scope").eq_missing(pl.lit("clock")))
    claims = tables["ranks"].select("host", "pid", "rank").drop_nulls().unique()
    known = {(short_host(host), pid): rank for host, pid, rank in claims.iter_rows()}
    held: dict[str, dict[Holder, str]] = defaultdict(dict)
    for name, value, scope, rank, host, pid, file in _telling(settings).iter_rows():
        place = short_host(host or hosts.get(file) or "")
        who = rank if rank is not None else known.get((place, pid))
        device = scope.partition(" ")[2] if scope and scope.startswith(("gpu ", "nic ")) else ""
        if who is None and not place:
            place = file
        held[name][("" if who is None else str(who), place, device)] = _SAME.get(value.strip().lower(), value.strip())
    return {name: _with_build(values) for name, values in held.items()}


def _with_build(values: Mapping[Holder, str]) -> dict[Holder, str]:
    """A version printed with and without its build (2.26.5, 2.26.5+cuda12.4) is one, where there is one build."""
    builds: dict[str, set[str]] = defaultdict(set)
    for value in {value for value in values.values() if "+" in value}:
        builds[value.partition("+")[0]].add(value)
    only = {version: min(found) for version, found in builds.items() if len(found) == 1}
    return {who: only.get(value, value) for who, value in values.items()}


def _telling(settings: pl.DataFrame) -> pl.DataFrame:
    """name, value, scope, rank, host, pid, file; of a setting that all hold alike, and that is in order, one row."""
    rows = settings.select("name", "value", "scope", "rank", "host", "pid", "file").drop_nulls("name")
    kinds = rows.group_by("name").agg(pl.col("value").n_unique().alias("values"), pl.col("value").first())
    names = {name: (values, value) for name, values, value in kinds.iter_rows() if not _BY_DESIGN.search(name)}
    told = [(name, value.strip()) for name, (values, value) in names.items() if values == 1]
    alike = [name for name, value in told if not _wrong(name, value, _NOBODY, {})]
    all_alike = pl.col("name").is_in(alike)
    kept = pl.col("name").is_in(list(names)) & (~all_alike | pl.col("name").is_first_distinct())
    return rows.filter(kept).unique(maintain_order=True)


def _general(value: str, holder: Holder) -> str:
    """A value without what belongs to its holder: its rank as a number of its own, its host."""
    rank, host, _ = holder
    text = value.replace(host, "{host}") if host else value
    return re.sub(rf"(?<!\d)0*{rank}(?!\d)", "{rank}", text) if rank and not text.isdigit() else text


def _differences(held: Mapping[str, Mapping[Holder, str]]) -> Iterable[EnvironmentRow]:
    found = []
    for name, values in held.items():
        if len(set(values.values())) < 2 or len({_general(value, who) for who, value in values.items()}) < 2:
            continue
        counts = Counter(values.values())
        if len(values) >= _ALONE and len(counts) == len(values):
            continue
        rarest = min(counts.values()) / len(values)
        order = sorted(counts, key=lambda value: (counts[value], value))
        note = _odd(order, counts, len(values))
        if name.endswith("NCCL_IB_TIMEOUT"):
            holder = {value: who for who, value in sorted(values.items(), reverse=True)}
            numbers = filter(str.isdigit, order)
            told = (words.VALUE_WAITS(value=value, waits=_waits(value, holder[value], held)) for value in numbers)
            note = joined((note, joined(told, ", ")), "; ")
        found.append((rarest, name, EnvironmentRow(name=name, values=_shown(values, order), note=note)))
    return [row for _, _, row in sorted(found, key=lambda item: item[:2])]


def _odd(order: list[str], counts: Mapping[str, int], total: int) -> Said:
    if len(order) == 2 and counts[order[0]] == counts[order[1]]:
        return words.TWO_HALVES
    if len(order) == 2:
        return words.DIFFER_FROM_MOST(number=counts[order[0]], total=total)
    return words.VALUES(number=len(order))


def _shown(values: Mapping[Holder, str], order: list[str]) -> dict[str, str]:
    by_value: dict[str, list[Holder]] = defaultdict(list)
    for who, value in values.items():
        by_value[value].append(who)
    shown: dict[str, str] = {}
    for number, value in enumerate(order[:_VALUES], 1):
        text = value if len(value) <= _TEXT else f"{value[:_TEXT]}… (value {number})"  # long ones may begin alike
        shown[text] = _names(by_value[value])
    if len(order) > _VALUES:
        shown["…"] = words.MORE_VALUES(number=len(order) - _VALUES)
    return shown


def _on(ranks: Collection[int]) -> Said:
    return (RANK if len(set(ranks)) == 1 else RANKS)(ranks=ranges(ranks))


def _names(holders: list[Holder]) -> Said:
    """ "ranks 0-6", "node3", "node3 0000:19:00.0": as short as tells who."""
    numbers = [int(rank) for rank, _, _ in holders if rank]
    parts: list[str] = [_on(numbers)] if numbers else []
    places = sorted({" ".join(part for part in (host, device) if part) for rank, host, device in holders if not rank})
    parts += places[:_HOLDERS]
    if len(places) > _HOLDERS:
        parts.append(words.AND_MORE(number=len(places) - _HOLDERS))
    return joined(parts, ", ")


def _waits(value: str, who: Holder, held: Mapping[str, Mapping[Holder, str]]) -> Said:
    """The real time of NCCL_IB_TIMEOUT, with the retry count that all hold alike, else that of the same holder."""
    counts = held.get("NCCL_IB_RETRY_CNT", {})
    count = next(iter(counts.values())) if len(set(counts.values())) == 1 else counts.get(who, "")
    tries = int(count) if count.isdigit() and len(count) < 4 else _RETRIES
    once = _TRY_S * 2 ** min(int(value), 31)
    return words.WAITS(once=f"{once:.3g}", whole=f"{once * tries:.3g}", tries=tries)


def _audit(held: Mapping[str, Mapping[Holder, str]]) -> Iterable[EnvironmentRow]:
    """Values that cannot work as meant, whoever holds them."""
    for name, values in sorted(held.items()):
        if name in _MODES and len(set(values.values())) > 1:
            continue  # the difference is listed
        by_note: dict[Said, dict[Holder, str]] = defaultdict(dict)
        for who, value in values.items():
            if note := _wrong(name, value, who, held):
                by_note[note][who] = value
        for note, those in sorted(by_note.items()):
            yield EnvironmentRow(name=name, values=_shown(those, sorted(set(those.values()))), note=note)


def _wrong(name: str, value: str, who: Holder, held: Mapping[str, Mapping[Holder, str]]) -> Said | None:
    number = int(value) if re.fullmatch(r"-?\d{1,9}", value) else None
    if name in ("NCCL_IB_TIMEOUT", "MCCL_IB_TIMEOUT") and number is not None and is_out_of_range(name, value):
        return words.TIMEOUT_OUT_OF_RANGE(waits=_waits(value, who, held)) if number > 0 else words.TIMEOUT_FOR_EVER
    if name in ("NCCL_IB_RETRY_CNT", "MCCL_IB_RETRY_CNT") and number is not None:
        wrong = words.RETRY_OUT_OF_RANGE if is_out_of_range(name, value) else None
        return wrong if number else words.ONE_LOST_PACKET
    if _ASYNC.match(name) and value.lower() in _OFF:
        return words.WATCHDOG_ENDS_NOTHING
    if _OLD.match(name) and f"TORCH_{name}" not in held:
        return words.OLD_NAME(name=name)
    if name in words.NEVER_WATCHED and value.lower() in _OFF:
        return words.NEVER_WATCHED[name]
    if name == "TIMEOUT(ms)" and number is not None and number >= _DAY_MS:
        return words.A_DAY_OR_LONGER(hours=f"{number / 3.6e6:.0f}")
    if name == "ecc_mode" and value == "Disabled":
        return words.ECC_OFF
    if name == "mig_mode" and value.startswith("Enabled"):
        return words.MIG_ON
    return None


def _changes(
    before: int, old: Mapping[str, Mapping[Holder, str]], after: int, new: Mapping[str, Mapping[Holder, str]]
) -> Iterable[EnvironmentRow]:
    """Settings on which each of two attempts agrees with itself, but not with the other."""
    for name in sorted(old.keys() & new.keys()):
        was, now = set(old[name].values()), set(new[name].values())
        if len(was) == len(now) == 1 and was != now:
            values: dict[str, str] = {
                now.pop()[:_TEXT]: words.ATTEMPT(attempt=after),
                was.pop()[:_TEXT]: words.ATTEMPT(attempt=before),
            }
            yield EnvironmentRow(name=name, values=values, note=words.CHANGED)
