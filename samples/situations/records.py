"""Flight records of a job, as pickle or as JSON."""

import json
import pickle

from samples.situations.job import Job


class Records:
    """A program of operations per rank, then files; `groups`: name → (description, ranks). `f` is the record throughout."""

    def __init__(f, j: Job, groups, timing=False, timeout=600000, form="pickle"):
        f.j, f.groups, f.timing, f.timeout, f.form = j, groups, timing, timeout, form
        f.version = {"2.1": "2.1", "2.4": "2.3", "2.6": "2.4", "2.9": "2.10"}[j.torch]
        f.new = f.version == "2.10"
        f.prefix = "comm_lib_trace_rank_" if f.new else "nccl_trace_rank_"
        f.e = {r: [] for r in j.ranks}
        f.seq = {}

    def begin(f, n, group=None):
        """counters start at n (older entries have left the buffer)"""
        for g, (_, members) in f.groups.items():
            if group in (None, g):
                for r in members:
                    f.seq[r, g] = n

    def op(
        f,
        group,
        t,
        op="all_reduce",
        ranks=None,
        state="completed",
        shape=(1000, 4096),
        dur=0.4,
        dtype="BFloat16",
    ):
        """state: completed | waiting (open, younger than the time-out) | timed (retired unfinished) ; with timing `started` shows; `enq`: scheduled even with timing"""
        desc, members = f.groups[group]
        for r in members if ranks is None else ranks:
            n = f.seq[r, group] = f.seq.get((r, group), 0) + 1
            c = int(t.timestamp() * 1000) * 1000000 + (r * 7919 + n * 131) % 400000
            done = state == "completed"
            st = "completed" if done else "started" if f.timing and state != "enq" else "scheduled"
            e = {
                "record_id": len(f.e[r]),
                "pg_id": 0,
                "process_group": (group, desc),
                "collective_seq_id": n,
                "p2p_seq_id": 0,
                "op_id": n,
                "profiling_name": f"nccl:{op}",
                "time_created_ns": c,
            }
            if f.timing and done:
                e["duration_ms"] = dur * 1000
            one, wide = list(shape), [shape[0] * len(members), *shape[1:]]
            e |= {
                "input_sizes": [wide if op == "_reduce_scatter_base" else one],
                "input_dtypes": [dtype],
                "output_sizes": [wide if op == "_all_gather_base" else one],
                "output_dtypes": [dtype],
                "state": st,
                "time_discovered_started_ns": c + 1200000 if f.timing and st != "scheduled" else None,
                "time_discovered_completed_ns": c + int(dur * 1e9) if done else None,
                "retired": done or state == "timed",
                "timeout_ms": f.timeout,
                "is_p2p": False,
            }
            if float(f.j.torch) >= 2.6:
                e |= {"thread_name": "pt_main_thread", "thread_id": str(140000000000000 + f.j.pid(r))}
            f.e[r].append(e)

    def dump(f, skip=(), cut=(), ranks=None, form=None):
        form = form or f.form
        for r in f.j.ranks if ranks is None else ranks:
            if r in skip:
                continue
            mine = [g for g, (_, m) in f.groups.items() if r in m]
            ids = {g: i for i, g in enumerate(mine)}
            status = {}
            for g in mine:
                es = [e for e in f.e[r] if e["process_group"][0] == g]
                if f.seq.get((r, g)):
                    status[str(ids[g])] = {
                        "last_enqueued_collective": f.seq[r, g],
                        "last_started_collective": max(
                            (e["collective_seq_id"] for e in es if e["state"] != "scheduled"), default=-1
                        )
                        if f.timing
                        else -1,
                        "last_completed_collective": max(
                            (e["collective_seq_id"] for e in es if e["state"] == "completed"),
                            default=f.seq[r, g] - len(es) or -1,
                        ),
                    }
                else:
                    status[str(ids[g])] = {
                        "last_enqueued_collective": -1,
                        "last_started_collective": -1,
                        "last_completed_collective": -1,
                    }
            es = [dict(e, pg_id=ids[e["process_group"][0]]) for e in f.e[r]]
            d = {
                "version": f.version,
                "pg_config": {g: {"name": g, "desc": f.groups[g][0], "ranks": str(f.groups[g][1])} for g in mine},
                ("comm_lib_version" if f.new else "nccl_version"): "2.27.3" if f.new else "2.21.5",
                "pg_status": status,
                "entries": es,
            }
            if form == "json":
                for e in d["entries"]:
                    e["process_group"] = list(e["process_group"])
                    for k in ("time_discovered_started_ns", "time_discovered_completed_ns"):
                        e[k] = e[k] or 0
                d["pg_status"] = {k: {a: str(b) for a, b in v.items()} for k, v in status.items()}
                if not d["entries"]:
                    del d["entries"]
                f.j.file(f"fr/{f.prefix}{r}.json", json.dumps(d, separators=(",", ":")))
            else:
                b = pickle.dumps(d, protocol=2)
                f.j.file(f"fr/{f.prefix}{r}", b[: len(b) * 2 // 5] if r in cut else b)
