"""The smallest evidence of a hang: rows of dumps, stacks, logs and kernels, and the road that analyze takes over them.

job = Rows(4, dp=(0, 1, 2, 3))
job.dump(0, call("dp", 57)).dump(1, call("dp", 57)).dump(2, call("dp", 57)).dump(3, call("dp", 56, done=True))
job.verdict().ranks  # [3]
"""

from collections.abc import Iterable, Sequence
from typing import Any

from forensics.analyze import conclude_evidence
from forensics.model.incident import Incident, Verdict
from forensics.report import Report
from parsers.schema.evidence import Evidence
from parsers.schema.tables import TABLE_NAMES, TableName, stack_text, table
from parsers.text.quantities import with_quantities

START_NS = 1_763_000_000_000_000_000
SECOND_NS = 1_000_000_000
Frames = Sequence[tuple[str, str, int]]

STACKS: dict[str, Frames] = {
    "communication": (("all_reduce", "torch/distributed/distributed_c10d.py", 2806), ("train_step", "train.py", 120)),
    "broadcast": (("broadcast", "torch/distributed/distributed_c10d.py", 2700), ("get_batch", "train.py", 80)),
    "data_loading": (("_try_get_data", "torch/utils/data/dataloader.py", 1131), ("get_batch", "train.py", 77)),
    "checkpoint_io": (("save_checkpoint", "megatron/training/checkpointing.py", 400), ("train", "train.py", 200)),
    "storage_io": (("fsync", "os.py", 10), ("flush_shard", "pathlib.py", 90), ("train", "train.py", 201)),
}


def call(group: str, seq: int, kind: str = "all_reduce", *, done: bool = False, **changes: Any) -> dict[str, Any]:
    """One entry of a dump. `peer`: index in the group, for sends and receives; `code`: line of train.py that calls."""
    line = changes.pop("code", 120)
    is_p2p = kind in ("send", "recv")
    return {
        "group": group, "seq": seq, "kind": kind, "is_p2p": is_p2p, "state": "completed" if done else "scheduled",
        "retired": done, "backend": "nccl", "input_sizes": "[[1024]]", "output_sizes": "[[1024]]",
        "input_dtypes": '["Float"]', "output_dtypes": '["Float"]',
        "stack": stack_text([("train_step", "train.py", line)]), **changes,
    }  # fmt: skip


def described(name: str) -> str:
    """The description of a group: groups tp/0 and tp/1 are both tp."""
    return "default_pg" if name == "world" else name.partition("/")[0]


class Rows:
    """A job of `world` ranks, `per_host` of them on node0, node1, …; groups are given by name. That it stands still is the
    person's word, unless a test says otherwise: records of a running job look the same (contract, rule 17)."""

    def __init__(self, world: int, per_host: int = 8, **groups: Sequence[int]) -> None:
        self.world, self.per_host = world, per_host
        self.groups: dict[str, Sequence[int]] = {"world": range(world), **groups}
        self.rows: dict[TableName, list[dict[str, Any]]] = {name: [] for name in TABLE_NAMES}

    def host(self, rank: int) -> str:
        return f"node{rank // self.per_host}"

    def add(self, name: TableName, /, **row: Any) -> "Rows":
        """A row of any table, with a place of its own where it states none."""
        place = {"file": f"{name}.log", "line": len(self.rows[name]) + 1}
        self.rows[name].append(row if name == "files" else place | row)
        return self

    def placed(self) -> "Rows":
        """Every rank says on which host and device it runs."""
        for rank in range(self.world):
            local = rank % self.per_host
            self.add("ranks", rank=rank, host=self.host(rank), local_rank=local, device_index=local, world_size=self.world,
                     pci=f"0000:{local:02x}:00.0", uuid=f"GPU-{self.host(rank)}-{local}", how="log")  # fmt: skip
        return self

    def dump(self, rank: int, *calls: dict[str, Any], counted: bool = True, first: int = 0, **place: Any) -> "Rows":
        """A flight record: its groups, its entries, and its counters unless a ring without them is meant."""
        file = place.get("file", f"fr/rank_{rank}")
        mine = [name for name, members in self.groups.items() if rank in members]
        for name in mine:
            self.add("groups", rank=rank, pg_id=mine.index(name), group=name, desc=described(name), members=list(self.groups[name]),
                     members_space="global", size=len(self.groups[name]), how="pg_config", file=file, record=0, line=None)  # fmt: skip
        for number, one in enumerate(calls):
            desc = described(one["group"])
            created = START_NS + one["seq"] * SECOND_NS
            self.add("operations", **{"time_created_ns": created, **one}, rank=rank, pg_id=mine.index(one["group"]), desc=desc,
                     op_id=number, file=file, line=None, record=first + number)  # fmt: skip
        for name in mine if counted else ():
            seen = [one for one in calls if one["group"] == name]
            enqueued = max((one["seq"] for one in seen), default=-1)
            completed = max((one["seq"] for one in seen if one["state"] == "completed"), default=-1)
            self.add("progress", rank=rank, pg_id=mine.index(name), group=name, desc=described(name),
                     scope="all", last_enqueued=enqueued, last_completed=completed, how="pg_status", file=file, record=0,
                     line=None)  # fmt: skip
        return self

    def stack(self, rank: int | None, what: str | Frames, snapshot: int = 0, **changes: Any) -> "Rows":
        """The main thread of a rank by py-spy."""
        frames = STACKS[what] if isinstance(what, str) else what
        listed = [{"function": function, "file": file, "line": line} for function, file, line in frames]
        known = {} if rank is None else {"host": self.host(rank), "pid": 1000 + rank, "file": f"stacks/rank_{rank}.txt"}
        return self.add("stacks", rank=rank, thread_name="MainThread", is_main=True, snapshot=snapshot, source="py-spy",
                        frames=listed, **{**known, **changes})  # fmt: skip

    def event(self, kind: str, **row: Any) -> "Rows":
        """An event; a rank without space is global, and an event is an error unless it says otherwise."""
        if row.get("rank") is not None:
            row.setdefault("rank_space", "global")
            row.setdefault("file", f"logs/rank_{row['rank']}.log")
        return self.add("events", **{"severity": "error", "text": kind, "kind": kind, **row})

    def timeout(self, rank: int, group: str, seq: int, **row: Any) -> "Rows":
        """The watchdog's line of a rank that waited until the end."""
        return self.event(
            "collective_timeout", rank=rank, group=group, seq=seq, op="all_reduce", value=600_000.0, **row
        )

    def evidence(self) -> Evidence:
        tables = {name: table(name, self.rows[name]) for name in TABLE_NAMES}
        return Evidence("rows", {**tables, "devices": with_quantities(tables["devices"])})

    def report(self, expected: int | None = None, hung: bool = True) -> Report:
        return conclude_evidence(self.evidence(), expected=expected, hung=hung)

    def incident(self, expected: int | None = None, hung: bool = True) -> Incident:
        report = self.report(expected, hung)
        return report.incidents[report.primary]

    def verdict(self, expected: int | None = None, hung: bool = True) -> Verdict:
        return self.incident(expected, hung).verdict


def waiting(job: Rows, ranks: Iterable[int], group: str, seq: int, **changes: Any) -> Rows:
    """Dumps of ranks that all stand in one collective, after a broadcast."""
    for rank in ranks:
        job.dump(rank, call(group, seq - 1, "broadcast", done=True), call(group, seq, **changes))
    return job


def idle(job: Rows, ranks: Iterable[int], group: str, seq: int) -> Rows:
    """Dumps of ranks that completed a broadcast (which the others need not be in) and have nothing open."""
    for rank in ranks:
        job.dump(rank, call(group, seq, "broadcast", done=True))
    return job


def two_stalls() -> Rows:
    job = Rows(8, a=(0, 1, 2, 3), b=(4, 5, 6, 7))
    idle(waiting(job, (0, 1, 2), "a", 9), (3,), "a", 8)
    return idle(waiting(job, (5, 6, 7), "b", 9), (4,), "b", 8)


def order_inversion() -> Rows:
    job = Rows(10, a=(3, 7), b=(3, 7))
    job.dump(3, call("a", 5, code=10), call("b", 5, code=11)).dump(7, call("b", 5, code=21), call("a", 5, code=20))
    return waiting(job, (rank for rank in range(10) if rank not in (3, 7)), "world", 4)
