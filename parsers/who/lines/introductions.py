"""Lines in which a process says who it is: a rank beside the size of the world, or beside its pid.

In prose only these join a rank to anything: `[Gloo] Rank 11 is connected to 15 peer ranks`, `process 2 of 4 starting, pid 15495
on node7`, `world_rank=2, pid=15925`, `[2/4] node7 pid 20326`, `rank:0, world_size:4`, `GLOBAL_RANK: 0, MEMBER: 1/2`,
`PADDLE_GLOBAL_RANK: '3'`, `trainer_id: 8, PADDLE_TRAINERS_NUM: 16`, TensorFlow's `TF_CONFIG={…}`, Orbax's `[process=3][thread=MainThread]`. A rank of another space (`local_rank`, `TP rank 1 of 2`) introduces nobody, nor does what an exception says.

Fooled by: a communicator that calls itself by no word (`rank 1 of 2`) in a log where no larger world is told.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parsers.forms.reading import whole
from parsers.schema.labels import OF_GROUP
from parsers.schema.rules import pci
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.text.unanimous import sole

PROCESS = ("rank", "process", "proc")  # words before the number of a process of the job
_WHO = regex(
    r"(?<![A-Za-z0-9])([A-Za-z_]{0,40}_)?(rank|process|proc|trainer(?=_id\b))(?:[ _]?(?:index|id|idx))?[\"']?(?: {0,2}[=:] {0,2}| {1,3})[\"'(]{0,2}(\d{1,7})(?![\d.]*[A-Za-z%]|[.]\d)",
    re.I,
)
_BRACKET = regex(r"\[(\d{1,7})/(\d{1,7})\] (?=(?:[\w.-]{1,255} )?pid \d)")
_WORLD = regex(
    r"\b(?:world(?:[ _]?size)?|nranks|process_count|num_processes|(?:mpi|comm) size|\w*trainers_num)[\"']?(?: {0,2}[=:] {0,2}| {1,3})[\"'(]{0,2}(\d{1,7})\b"
    r"|\branks[\"']?(?: {0,2}[=:] {0,2})[\"'(]{0,2}(\d{1,7})\b"  # after a blank they are some of them: `Ranks 3 failed`
    r"|\bmember: ?\d{1,7}/(\d{1,7})\b"
    r"|world_group\b.{0,40}?\brank[ _]?size[\"']?(?: {0,2}[=:] {0,2}| {1,3})(\d{1,7})\b",  # MindSpore's group of all; others count themselves
    re.I,
)
_TOTAL = regex(r"(?<![\w./-])(\d{1,7})(?: of |/)(\d{1,7})(?![\w./])")
_PEERS = regex(r"connected to (\d{1,7}) peer ranks")
_OF = regex(r"[\"')]{0,2}(?: of | ?/ ?)(\d{1,7})\b")
PID = regex(r"(?<![A-Za-z])pid[\"']?(?: {0,2}[=:#] {0,2}| {1,2})(\d{1,10})\b", re.I)
_CALLED = regex(r"(?i)\b(?:pid|(?:sub)?process)[ :=#(]{1,3}(\d{3,10})\b")
_HOST = regex(
    r"\b(?:host(?:name)?(?:[\"']?:|(?: ?[=:]| )) ?|ip=)[\"']?(?!pid\b)([A-Za-z0-9][\w.-]{0,254})|\bpid \d{1,10} on (?:node |host )?([A-Za-z0-9][\w.-]{0,254})(?![\w.-]|:\d)"  # `cuda:0` is a device
    r"|^\[\d{1,7}/\d{1,7}\] ([A-Za-z0-9][\w.-]{0,254}) pid ",
    re.I,
)
# orbax/checkpoint/_src: multihost.process_index(), before its own words
_ORBAX = regex(r"\[process=\d{1,7}\](?:\[thread=|\s)")
_DEVICE = regex(
    r"(?i)(?<![A-Za-z])(?<![A-Za-z0-9]-)(?:gpu|device|npu|card|cuda|accel|hpu|hl)[ _:=#]{0,2}(\d{1,3})(?![\w.]|:[0-9a-f]{2}[.:])"
)
_BUS = regex(r"(?i)(?<![\w:.])(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](?![\w.])")
_OF_OTHERS = regex(r"(?i)\b(?:peer|remote|nic|hca|link|switch|mlx|via)\b")  # what else has such an address
# What a process raised may be about any other one: a class that is called an error, or any with its module that quotes one.
_RAISED = regex(
    r"(?:\w{1,60}\.){0,10}[A-Z]\w{0,80}(?:Error|Exception): |(?:[A-Za-z_]\w{0,60}\.){1,10}[A-Z]\w{0,80}: .{0,300}?\b[A-Z]\w{0,80}(?:Error|Exception)\b"
)
REPORT = "Traceback (most recent call last)"  # within one record: a report of what failed, whoever did
_PAIRS = r"(?:[\w-]{1,20}[=:] ?[\w.-]{1,255}[ ,;]{1,2}){0,4}"
# in fields, before any word
_PLACE = regex(rf"(?i)(?={_PAIRS}pid[=:] ?\d){_PAIRS}(?:host(?:name)?|node(?:name)?|ip)[=:]")
_CLUSTER, _JSON = regex(r"\{\s{0,8}\\?\"(?:cluster|task|environment)\\?\""), json.JSONDecoder()
_CHIEFS = ("chief", "master")
_MAY = regex(r"(?:rank|proc|pid|trainer_id)", re.I)
_SIZE = regex(r"\bworld", re.I)


class Introduction(msgspec.Struct, frozen=True):
    """What a line says of one process; `rank` is one of the whole program, `world` its size. A rank that equals it is counted from 1
    (counts.py)."""

    rank: int
    world: int | None = None
    pid: int | None = None
    host: str | None = None
    device: int | None = None  # of its host
    pci: str | None = None  # the bus address of its device
    given: int | None = None  # the size of the world that it tells, where that is another one (counts.py)


def device_in(text: str) -> int | None:
    """The one device that a line names."""
    return sole(int(number) for number in _DEVICE.findall(text))


def bus_in(text: str) -> str | None:
    """The one bus address that a line tells of a device."""
    return sole(pci(bus) for bus in _BUS.findall(text)) if "." in text and not _OF_OTHERS.search(text) else None


def pid_in(text: str) -> int | None:
    """The one number that a line calls a pid."""
    return sole(int(found) for found in PID.findall(text))


def called_pids(texts: Iterable[str]) -> set[int]:
    """Numbers that lines call those of processes, as launchers do when they begin them or end them."""
    return {int(found[1]) for text in texts for found in _CALLED.finditer(text)}


def worlds_in(text: str) -> set[int]:
    """The sizes of the world that a line tells."""
    return {int(size) for sizes in _WORLD.findall(text) for size in sizes if size}


def introduction(text: str, speaker: int | None = None) -> Introduction | None:
    """The rank that a line joins to a world or a pid, without what stands before the line; None where it joins none, or two. `speaker`: the
    rank that stands before it, where the line tells the world alone, or begins with the fields of a host and a pid."""
    if "TF_CONFIG" in text and (of_cluster := of_cluster_text(text)) is not None:
        return of_cluster
    if _RAISED.match(text) or REPORT in text or not (_MAY.search(text) or (speaker is not None and _SIZE.search(text))):
        return None
    pids = {int(found) for found in PID.findall(text)}
    host = next((name for names in _HOST.findall(text) for name in names if name), None)
    if bracket := _BRACKET.match(text):
        ranks, worlds, is_named, is_rank = {int(bracket[1])}, {int(bracket[2])}, False, True
    else:
        ranks, worlds, is_named, is_rank = set(), set(), _ORBAX.search(text) is not None, False
        for found in _WHO.finditer(text):
            before = found[1] or text[: found.start()]
            if OF_GROUP.search(before):
                continue
            if found[2].lower() == "rank" and not is_rank:  # beside it, a process is what a launcher counts
                ranks, is_rank = set(), True
            if found[2].lower() == "rank" or not is_rank:
                ranks.add(int(found[3]))
            is_named = is_named or (found[1] or "").lower().endswith("global_")
            worlds |= {int(size[1])} if (size := _OF.match(text, found.end())) else set()
        worlds |= worlds_in(text)
        worlds |= {int(peers) + 1 for peers in _PEERS.findall(text)}
    of_group = any(OF_GROUP.search(text[: found.start()]) for found in _SIZE.finditer(text))
    if speaker is not None and not ranks and not of_group and (worlds or _PLACE.match(text)):
        ranks, is_rank = {speaker}, True
    # in two counts at once: of a program, which tells its size, and of all that a launcher began
    if len(ranks) > 1 and pids:
        totals = {(int(of[1]), int(of[2])) for of in _TOTAL.finditer(text)}
        own = {(rank, size) for rank, size in totals if rank in ranks}
        ranks, worlds = ({rank for rank, _ in own}, {size for _, size in own}) if len(own) == 1 else (ranks, worlds)
    if len(ranks) != 1 or len(worlds) > 1 or len(pids) > 1 or not (worlds or is_named or (pids and is_rank)):
        return None
    [rank], world = ranks, next(iter(worlds), None)
    if rank >= RANKS or (world is not None and not rank <= world <= RANKS):
        return None
    return Introduction(rank, world, next(iter(pids), None), host, device_in(text), bus_in(text))


def of_cluster_text(text: str) -> Introduction | None:
    """TensorFlow's description of a cluster and of one task of it, as a text, which another text may quote."""
    found = _CLUSTER.search(text)
    for told in (text[found.start() :], text[found.start() :].replace('\\"', '"')) if found else ():
        try:
            said, _ = _JSON.raw_decode(told)
        except (ValueError, RecursionError):
            continue
        return of_cluster(said)
    return None


def of_cluster(said: Mapping[str, Any]) -> Introduction | None:
    """The same, read: workers come behind a chief, servers of parameters are no ranks."""
    cluster, task = (said.get(name) for name in ("cluster", "task"))
    if not isinstance(cluster, dict) or not isinstance(task, dict):
        return None
    sizes = [len(own) if isinstance(own := cluster.get(name), list) else 0 for name in (*_CHIEFS, "worker")]
    before, index = sum(sizes[:-1]), whole(task.get("index"))
    of = task.get("type")
    if index is None or of not in (*_CHIEFS, "worker") or not 0 <= index < RANKS:
        return None
    rank, world = (index + before if of == "worker" else index), sum(sizes)
    return Introduction(rank, world) if rank < world <= RANKS else None
