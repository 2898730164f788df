"""Inputs of the benchmarks, written by formula: the same arguments, the same bytes."""

import io
import random
import re
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

from benchmarks.cost import ROOT
from samples.simulator.torch_pickle import pickled

ANCHORS = 60
COLL_PATTERN = (
    r"NCCL INFO (\w+): opCount ([0-9a-f]+) sendbuff (0x[0-9a-f]+) recvbuff (0x[0-9a-f]+) count (\d+) datatype (\d+) "
    r"op (\d+) root (\d+) comm (0x[0-9a-f]+) \[nranks=(\d+)\] stream (0x[0-9a-f]+)"
)
_BLOCK_LINES = 64
_COLL = (
    "{host}:{pid}:{tid} [{device}] NCCL INFO AllReduce: opCount {count:x} sendbuff 0x7f{a:010x} recvbuff 0x7f{b:010x} "
    "count {size} datatype 9 op 0 root 0 comm 0x5{comm:011x} [nranks=64] stream 0x5{stream:011x}\n"
)
_WORDS = [
    "loading",
    "shard",
    "tokenizer",
    "bucket",
    "pinned",
    "memory",
    "worker",
    "queue",
    "prefetch",
    "cache",
    "layer",
    "stage",
    "schedule",
    "warm",
    "flush",
]
_START_NS = 1_795_000_000_000_000_000
_FRAMES = [{"name": f"fn{at}", "filename": f"/job/train/module_{at}.py", "line": 100 + at} for at in range(6)]
_NODE = 8
_ALIKE = 2 * _NODE  # from this rank on no name of a group is a text that stands in a record anyway
_TIME = re.compile(rb"(?<=\x8a\x08)(.{8})", re.DOTALL)


def anchors() -> list[str]:
    """The first anchors of each line parser in turn, until there are ANCHORS of them."""
    import parsers
    from parsers.schema.parser import LineParser

    # A hit of the others brings a block of a hundred lines along: then it is not one line in a thousand any more.
    chosen = [one for one in parsers.PARSERS if isinstance(one, LineParser) and one.after <= _BLOCK_LINES]
    lists = [list(parser.anchors) for parser in chosen]
    found: dict[str, None] = {}
    for turn in range(max(map(len, lists))):
        for own in lists:
            if turn < len(own) and len(found) < ANCHORS:
                found.setdefault(own[turn].decode("latin-1"))
    return list(found)


def _ordinary(chance: random.Random) -> str:
    words = " ".join(chance.choices(_WORDS, k=chance.randint(4, 14)))
    clock = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02},{chance.randrange(1000):03}"
    return f"2026-05-01 {clock} INFO trainer.py:{chance.randrange(900)} {words} took {chance.random():.4f} s\n"


def sparse(folder: Path, megabytes: int, files: int) -> None:
    """Training logs of which one line in a thousand holds an anchor: a block of lines again and again, begun elsewhere in
    each file."""
    chance, listed = random.Random(1), anchors()
    block = [_ordinary(chance) for _ in range(40_000)]
    for at in range(0, len(block), 1000):
        block[at] = f"[rank{at // 1000}]: {chance.choice(listed)} {block[at]}"
    size = (megabytes << 20) // files
    folder.mkdir()
    for number in range(files):
        turn = chance.randrange(len(block))
        _repeated(folder / f"worker-{number:04}.log", block[turn:] + block[:turn], size)


def dense(folder: Path, megabytes: int, every: int = 1) -> None:
    """Logs of eight processes of which one line of `every` is a collective of NCCL, the others are plain."""
    chance = random.Random(2)
    folder.mkdir()
    for number in range(8):
        comm, lines = chance.randrange(1 << 40), []
        for count in range(20_000):
            lines.append(
                _COLL.format(
                    host=f"node{number}", pid=4000 + number, tid=4100 + number, device=number, count=count,
                    a=chance.randrange(1 << 38), b=chance.randrange(1 << 38), size=chance.choice((4096, 1 << 20, 1 << 24)),
                    comm=comm, stream=chance.randrange(1 << 40),
                )
            )  # fmt: skip
            lines += [_ordinary(chance) for _ in range(every - 1)]
        _repeated(folder / f"nccl-{number}.log", lines, (megabytes << 20) // 8)


def _repeated(path: Path, lines: list[str], size: int) -> None:
    body = "".join(lines).encode()
    data = (body * (size // len(body) + 1))[:size]
    path.write_bytes(data[: data.rfind(b"\n") + 1])


def third(path: Path, size: int) -> None:
    """A log of which every third line holds an anchor: reports of a watchdog and warnings of NCCL in turn."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w") as stream:
        at = 0
        while stream.tell() < size:
            stamp = f"10:{at // 60 % 60:02d}:{at % 60:02d}"
            if at % 2:
                stream.write(
                    "node1:4711:4801 [3] NCCL WARN NET/IB : Got completion from peer 10.0.0.7<51234> with status=12 "
                    "opcode=0 len=0 vendor err 129 (Recv)\n"
                )
            else:
                stream.write(
                    f"[rank3]:[E131 {stamp}.123456789 ProcessGroupNCCL.cpp:633] [Rank 3] Watchdog caught collective "
                    f"operation timeout: WorkNCCL(SeqNum={at}, OpType=ALLREDUCE, NumelIn=4096, NumelOut=4096, "
                    f"Timeout(ms)=600000) ran for {600_000 + at} milliseconds before timing out.\n"
                )
            stream.write(f"2026-01-31 {stamp} INFO at place {at} some plain text\n2026-01-31 {stamp} INFO {at} more\n")
            at += 1


def packed(folder: Path, zstd: str) -> Path:
    """The folder as one .tar.zst beside it."""
    plain = folder.with_suffix(".tar")
    with tarfile.open(plain, "w", format=tarfile.USTAR_FORMAT) as whole:
        for path in sorted(folder.iterdir()):
            whole.add(path, path.name)
    subprocess.run([zstd, "-q", "--rm", str(plain)], check=True)
    return folder.with_suffix(".tar.zst")


def records(folder: Path, ranks: int, entries: int, victim: int) -> None:
    """Flight records of a job in which one rank never makes its last call."""
    folder.mkdir()
    one = next(rank for rank in range(_ALIKE, ranks) if rank != victim)
    head, *rest = _TIME.split(pickled(_record(one, ranks, entries, victim)))
    stamps = struct.Struct(f"<{len(rest) // 2}q")
    times = stamps.unpack(b"".join(rest[::2]))
    for rank in range(ranks):
        if rank < _ALIKE or rank == victim:
            content = pickled(_record(rank, ranks, entries, victim))
        else:  # the bytes of another rank but for its groups and times: a thousandth of the time
            packed = stamps.pack(*[time + _late(rank) - _late(one) for time in times])
            rest[::2] = [packed[at : at + 8] for at in range(0, len(packed), 8)]
            own = head
            for before, after in zip(_texts(one, ranks), _texts(rank, ranks), strict=True):
                own = own.replace(before, after)
            content = b"".join([own, *rest])
        (folder / f"nccl_trace_rank_{rank}").write_bytes(content)


def _late(rank: int) -> int:
    """How many nanoseconds after the others a rank makes its calls."""
    return rank * 7919 % 400_000


def _groups(rank: int, ranks: int) -> dict[str, tuple[str, list[int]]]:
    """Name → (description, members) of the groups that a rank is in."""
    node, place = divmod(rank, _NODE)
    return {
        "0": ("default_pg", list(range(ranks))),
        f"{1 + node}": ("tp", list(range(node * _NODE, node * _NODE + _NODE))),
        f"{1 + ranks + place}": ("dp", list(range(place, ranks, _NODE))),
    }


def _texts(rank: int, ranks: int) -> list[bytes]:
    """What stands in a rank's record of its own groups, with the length before it."""
    groups = list(_groups(rank, ranks).items())[1:]
    texts = [text.encode() for name, (_, members) in groups for text in (name, str(members))]
    return [b"X" + struct.pack("<I", len(text)) + text for text in texts]


def _record(rank: int, ranks: int, entries: int, victim: int) -> dict[str, object]:
    """As PyTorch writes it: tensor-parallel groups of eight, a data-parallel group across them, and a last all-reduce of
    all ranks, which the victim's record lacks."""
    groups = _groups(rank, ranks)
    names, count, listed = list(groups), dict.fromkeys(groups, 0), []
    for at in range(entries - (rank == victim)):
        is_last = at == entries - 1
        name = "0" if is_last else names[1 + (at % 4 == 3)]
        count[name] += 1
        created = _START_NS + at * 5_000_000 + _late(rank)
        listed.append(
            {
                "frames": _FRAMES, "record_id": at, "pg_id": names.index(name), "process_group": (name, groups[name][0]),
                "thread_name": "python", "thread_id": "140000000000000", "collective_seq_id": count[name],
                "p2p_seq_id": 0, "op_id": count[name], "profiling_name": "nccl:all_reduce", "time_created_ns": created,
                "input_sizes": [[4096, 1024]], "input_dtypes": ["BFloat16"], "output_sizes": [[4096, 1024]],
                "output_dtypes": ["BFloat16"], "state": "started" if is_last else "completed",
                "time_discovered_started_ns": created + 100_000,
                "time_discovered_completed_ns": None if is_last else created + 3_000_000,
                "retired": not is_last, "timeout_ms": 600_000, "is_p2p": False,
            }
        )  # fmt: skip
    status = {
        str(number): {
            "last_enqueued_collective": count[name], "last_started_collective": count[name],
            "last_completed_collective": count[name] - (name == "0" and rank != victim),
        }
        for number, name in enumerate(names)
    }  # fmt: skip
    config = {name: {"name": name, "desc": desc, "ranks": str(members)} for name, (desc, members) in groups.items()}
    whole = {"version": "2.10", "pg_config": config, "comm_lib_version": "2.29.3", "pg_status": status}
    return {**whole, "entries": listed}


def hang(folder: Path, data_parallel: int) -> None:
    """All sources of a simulated hang of 64 × `data_parallel` ranks, where they are not there."""
    if not folder.exists():
        command = [sys.executable, "-m", "samples.simulate", str(folder.absolute()), "--tp", "8", "--pp", "8"]
        command += ["--dp", str(data_parallel), "--fault", "rank_absent", "--site", "data_loading", "--seed", "7"]
        subprocess.run(command, check=True, cwd=ROOT, capture_output=True)


def tiny_files(path: Path, files: int) -> None:
    """A tar of files of two bytes, and one with an error."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as whole:
        contents = {f"d{at % 100}/f{at}.log": b"x\n" for at in range(files)} | {"rank_0.log": b"ValueError: boom\n"}
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            whole.addfile(entry, io.BytesIO(content))
