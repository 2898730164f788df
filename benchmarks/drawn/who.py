"""Who is who, in lines of any layout, in documents, in stacks and in records (forms.py).

`FAMILIES` are bundles of which one rank is right, `NOBODY` those of the same forms in which what would tell who it was is missing: there no rank may be
named.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from drawn.job import (
    BY_HOST_AND_PID,
    BY_NAME,
    BY_PID,
    DOCUMENTS,
    GAVE_UP,
    LOST,
    NAME_WORDS,
    OF_NAMES,
    RAISED,
    RANK_WORDS,
    SAYS,
    STANDS,
    STEPS,
    WAITS,
    Case,
    Files,
    Job,
    Log,
    figures,
)


def ends_of(job: Job, log: Log, fault: str, write: Callable[[int, Iterable[str]], None]) -> None:
    """How a job goes down by an exception of one rank, or by its kill; `bare`: below a line of its logger."""
    is_bare = fault != "exception, each line headed"
    if fault.startswith("exception"):
        job.later(1)
        write(job.bad, log.raised(job.bad, RAISED, is_bare=is_bare))
    job.later(5)
    for rank in job.turns():
        if rank != job.bad:
            write(rank, log.raised(rank, LOST, is_bare=is_bare))


def lines(job: Job) -> Case:
    who = job.choose("who", (*BY_PID, *BY_NAME))
    fault = job.choose("fault", ("exception, each line headed", "exception, bare", "nan"))
    says = job.choose("says", SAYS)
    log, out = Log(job, who), list[str]()
    out += [log.line(rank, "starting up, python 3.11") for rank in job.turns()]
    out += [log.line(rank, job.filled(says, rank)) for rank in job.turns()]
    out += worked(job, log, fault == "nan")
    if fault != "nan":
        ends_of(job, log, fault, lambda _, own: out.extend(own))
    return Case({"run.log": out}, ("numerics" if fault == "nan" else "crash",), job.bad, job.choices)


def worked(job: Job, log: Log, is_bad: bool) -> Iterable[str]:
    for step in range(1, STEPS + 1):
        job.later(1)
        for rank in job.turns():
            loss, norm = figures(job, step, rank, STEPS if is_bad else -1)
            yield log.line(rank, f"step {step} loss {loss} grad_norm {norm}")


def documented(job: Job, kind: str, called: Callable[[int], str]) -> Files:
    """A document that tells which rank is called how, in no order."""
    rank_word, name_word = job.choose("word for a rank", RANK_WORDS), job.choose("word for a name", NAME_WORDS)
    rows = [(called(rank), rank) for rank in job.turns()]
    size = job.size
    match kind:
        case "csv" | "tsv":
            mark = "," if kind == "csv" else "\t"
            return {
                f"placement.{kind}": [
                    mark.join((name_word, rank_word)),
                    *(f"{name}{mark}{rank}" for name, rank in rows),
                ]
            }
        case "yaml list":
            pairs = (text for name, rank in rows for text in (f"  - {name_word}: {name}", f"    {rank_word}: {rank}"))
            return {"job.yaml": ["job: lm-7", "workers:", *pairs]}
        case "yaml map":
            return {"ranks.yaml": ["ranks:", *(f'  "{name}": {rank}' for name, rank in rows)]}
        case "json list":
            members = [{name_word: name, rank_word: rank} for name, rank in rows]
            return {"members.json": json.dumps({"world_size": size, "members": members}, indent=2).splitlines()}
        case "json map":
            return {
                "topology.json": json.dumps({"world_size": size, f"{rank_word}s": dict(rows)}, indent=2).splitlines()
            }
        case "markdown":
            return {
                "notes.md": [
                    f"| {name_word} | {rank_word} |",
                    "|---|---|",
                    *(f"| {name} | {rank} |" for name, rank in rows),
                ]
            }
        case "blocks":
            return {
                "env.txt": [
                    text for name, rank in rows for text in (f"== {name}", f"RANK={rank}", f"WORLD_SIZE={size}", "")
                ]
            }
        case "prose":
            return {
                "ticket.txt": [
                    "Placement as of this morning:",
                    "",
                    *(f"- {name} is rank {rank}" for name, rank in rows),
                ]
            }
        case "arrows":
            return {"map.txt": [f"{name} -> rank {rank}" for name, rank in rows]}
        case "ini":
            return {"cluster.ini": [text for name, rank in rows for text in (f"[{name}]", f"rank = {rank}", "")]}
        case "table":
            head = f"{name_word.upper():20} {rank_word.upper():14} STATE"
            return {"ps.txt": [head, *(f"{name:20} {rank:<14} Running" for name, rank in rows)]}
        case "jsonl":
            told = (
                {"event": "register", name_word: name, rank_word: rank, "ts": 1784000000 + at}
                for at, (name, rank) in enumerate(rows)
            )
            return {"registry.jsonl": [json.dumps(one) for one in told]}
        case "compose":
            service = ("  {0}:", "    image: train:7", "    environment:", "      RANK: {1}", "      WORLD_SIZE: {2}")
            return {"docker-compose.yml": ["services:", *(text.format(*row, size) for row in rows for text in service)]}
    pod = (
        "---", "apiVersion: v1", "kind: Pod", "metadata:", "  name: {0}", "spec:", "  containers:", "  - name: main", "    env:",
        "    - name: RANK", '      value: "{1}"', "    - name: WORLD_SIZE", '      value: "{2}"',
    )  # fmt: skip
    return {"pods.yaml": [text.format(*row, size) for row in rows for text in pod]}


def documents(job: Job) -> Case:
    is_named = job.choose("called", ("name", "name", "host and pid")) == "name"
    kind = job.choose("document", (*DOCUMENTS, *OF_NAMES) if is_named else DOCUMENTS)
    who = job.choose("who", BY_NAME[:3] if is_named else BY_HOST_AND_PID)
    fault = job.choose("fault", ("exception, each line headed", "exception, bare", "nan", "given up", "killed"))
    is_each = job.choose("logs", ("one", "one", "each")) == "each"
    files = documented(job, kind, lambda rank: job.filled("{w}" if is_named else "{h}:{p}", rank))
    log = Log(job, "" if is_each else who)
    own: defaultdict[str, list[str]] = defaultdict(list)

    def write(rank: int, texts: Iterable[str]) -> None:
        own[job.filled("{w}.log" if is_named else "{h}_{p}.log", rank) if is_each else "run.log"] += texts

    for words in ("starting up, python 3.11", "data ready, 18211 shards"):
        for rank in job.turns():
            write(rank, [log.line(rank, words)])
    for step in range(1, STEPS + 1):
        job.later(1)
        for rank in job.turns():
            if fault == "given up" and step > (STEPS - 3 if rank == job.bad else STEPS - 2):
                continue
            loss, norm = figures(job, step, rank, STEPS if fault == "nan" else -1)
            write(rank, [log.line(rank, f"step {step} loss {loss} grad_norm {norm}")])
    if fault == "given up":
        job.later(601)
        for rank in job.turns():
            if rank != job.bad:
                write(rank, [log.line(rank, GAVE_UP, "error")])
    elif fault != "nan":
        if fault == "killed":
            stamp = job.later(1).strftime("%a %b %d %H:%M:%S %Y")
            killed = f"Out of memory: Killed process {job.pids[job.bad]} (python) total-vm:98304000kB, anon-rss:61234000kB, file-rss:0kB, shmem-rss:0kB, UID:1000"
            own[f"dmesg_{job.host(job.bad)}.txt"] = [
                f"[{stamp}] python invoked oom-killer: gfp_mask=0xcc0, order=0",
                f"[{stamp}] {killed}",
            ]
        ends_of(job, log, fault, write)
    told = {"nan": "numerics", "given up": "hang"}.get(fault, "crash")
    is_host_alone = fault == "killed" and is_named  # a kernel tells a pid, and nobody whose it is
    return Case(
        {**files, **own},
        (told,),
        job.bad,
        job.choices,
        is_suspect_right=fault == "given up",
        is_host_alone=is_host_alone,
    )


def dump(job: Job, rank: int, frames: Sequence[str]) -> list[str]:
    top = [f"Process {job.pids[rank]}: python train.py --config c.yaml", "Python v3.11.8 (/usr/bin/python3.11)", ""]
    stack = (*frames, "train_step (train.py:181)", "<module> (train.py:260)")
    return [*top, f'Thread {job.pids[rank]} (idle): "MainThread"', *(f"    {frame}" for frame in stack), ""]


def stacks(job: Job) -> Case:
    stands = STANDS[int(job.choose("stands", ("0", "1", "2")))]
    dumps = {rank: dump(job, rank, stands if rank == job.bad else WAITS) for rank in job.turns()}
    here = {host: [rank for rank in dumps if job.host(rank) == host] for host in job.hosts}
    files: Files = {}
    match job.choose("dumps", ("folder of a host", "host and pid", "host", "headings", "prompts", "titles")):
        case "folder of a host":
            files |= {job.filled("stacks/{h}/{p}.txt", rank): own for rank, own in dumps.items()}
        case "host and pid":
            files |= {job.filled("pyspy_{h}_{p}.txt", rank): own for rank, own in dumps.items()}
        case "host":
            files |= {f"pyspy-{host}.txt": [text for rank in own for text in dumps[rank]] for host, own in here.items()}
        case "headings":
            head = job.choose("heading", ("==== pid {p}", "--- {p} ---", "# pid={p}", "### process {p} on {h}"))
            for host, own in here.items():
                files[f"{host}.stacks.log"] = [
                    text for rank in own for text in (job.filled(head, rank), *dumps[rank][3:])
                ]
        case "prompts":
            sent = [
                (f"root@{job.host(rank)}:~# py-spy dump --pid {job.pids[rank]}", *own) for rank, own in dumps.items()
            ]
            files["terminal.txt"] = [text for own in sent for text in own]
        case "titles":
            files["stacks.txt"] = [
                text
                for host in here
                for text in (f"######## {host} ########", *(t for rank in here[host] for t in dumps[rank]))
            ]
    log = Log(job, job.choose("who", BY_HOST_AND_PID), ("slwm", "swlm", "wslm", "w", "sw"))
    out: list[str] = []
    match job.choose("told by", ("log", "list", "environments", "launcher", "arguments", "places", "hostfile")):
        case "log":
            says = job.choose("says", SAYS)
            out += [log.line(rank, job.filled(says, rank)) for rank in job.turns()]
        case "list":
            files["placement.csv"] = ["host,pid,rank", *(job.filled("{h},{p},{r}", rank) for rank in job.turns())]
        case "environments":
            given = ("SHELL=/bin/bash", "RANK={r}", "LOCAL_RANK={l}", "WORLD_SIZE={n}", "MASTER_PORT=29500")
            files |= {
                job.filled("environ/{h}/{p}", rank): [job.filled(one, rank) for one in given] for rank in job.turns()
            }
        case "launcher":
            form = job.choose(
                "form",
                (
                    "launched rank {r} on {h} with pid {p}",
                    "{h}: started worker rank={r} pid={p}",
                    "spawned process {p} for global rank {r} ({h})",
                ),
            )
            files["launcher.log"] = [
                f"2026-07-09 09:59:{at:02d} INFO {job.filled(form, rank)}" for at, rank in enumerate(job.turns())
            ]
        case "arguments":
            files |= listed(job, here, "--rank {r} --world_size {n}")
        case "places":
            files |= listed(job, here, f"--local_rank {{l}} --nnodes 2 --nproc_per_node {job.each}", with_node=True)
        case "hostfile":
            files["hostfile"] = [f"{host} slots={job.each}" for host in job.hosts]
            files["launch.sh"] = [
                "#!/bin/bash",
                f"deepspeed --hostfile=hostfile --num_nodes 2 --num_gpus {job.each} train.py",
            ]
            files |= listed(job, here, "--local_rank={l}")
    out += worked(job, log, is_bad=False)
    return Case(files | {"train.log": out}, ("hang",), job.bad, job.choices, is_hung=True)


def listed(job: Job, here: dict[str, list[int]], arguments: str, *, with_node: bool = False) -> Files:
    """What ps shows on each host."""
    head = "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND"
    row = "ml       {p:7d} 99.0  2.1 98304000 6100000 ?   Rl   10:00 300:11 python train.py "
    return {
        f"ps_{host}.txt": [
            head,
            *(job.filled(f"{row}{f'--node_rank {at} ' if with_node else ''}{arguments}", rank) for rank in own),
        ]
        for at, (host, own) in enumerate(here.items())
    }


def records(job: Job) -> Case:
    how = job.choose(
        "called", ("name", "host and pid in one", "host and place in one", "host and pid", "host and place", "rank")
    )
    files: Files = {
        "config.yaml": [
            f"data_parallel_size: {job.size}",
            "tensor_parallel_size: 1",
            "pipeline_parallel_size: 1",
            f"world_size: {job.size}",
        ]
    }
    column = job.choose("column", ("worker", "proc", "who", "instance", "process"))
    match how:
        case "name":
            files |= documented(job, job.choose("document", (*DOCUMENTS, *OF_NAMES)), lambda rank: job.names[rank])
            cells = {column: "{w}"}
        case "host and pid in one":
            files |= documented(job, job.choose("document", DOCUMENTS), lambda rank: job.filled("{h}:{p}", rank))
            cells = {column: "{h}:{p}"}
        case "host and place in one":
            files["hostfile"] = [f"{host} slots={job.each}" for host in job.hosts]
            cells = {column: "{h}:{l}"}
        case "host and pid":
            files["launcher.log"] = [
                f"2026-07-09 09:59:{at:02d} INFO {job.filled('launched rank {r} on {h} with pid {p}', rank)}"
                for at, rank in enumerate(job.turns())
            ]
            cells = {"host": "{h}", "pid": "{p}"}
        case "host and place":
            files["launch.sh"] = [
                f"ssh {host} torchrun --nnodes 2 --node_rank {at} --nproc_per_node {job.each} --master_addr {job.hosts[0]} train.py &"
                for at, host in enumerate(job.hosts)
            ]
            cells = {job.choose("word for a host", ("host", "node", "hostname")): "{h}", "local_rank": "{l}"}
        case _:
            cells = {job.choose("word for a rank", RANK_WORDS): "{r}"}
    step_word, loss_word = (
        job.choose("step", ("step", "iter", "global_step", "iteration", "it", "update")),
        job.choose("loss", ("loss", "train_loss", "loss_local")),
    )
    norm_word = job.choose("norm", ("grad_norm", "gnorm", "local_grad_norm"))
    rows = []
    for step in range(1, STEPS + 1):
        for rank in job.turns():
            loss, norm = figures(job, step, rank, STEPS)
            who = {name: job.filled(form, rank) for name, form in cells.items()}
            rows.append((who, {step_word: str(step), loss_word: loss, norm_word: norm}))
    name, out = written(job.choose("records", ("csv", "tsv", "jsonl", "nested", "logfmt", "markdown", "json")), rows)
    return Case(files | {name: out}, ("numerics",), job.bad, job.choices)


def bare(cells: dict[str, str]) -> str:
    """As an object of JSON, numbers and NaN without quotes."""
    told = (
        f'"{name}": {"NaN" if cell == "nan" else cell if cell.replace(".", "", 1).isdigit() else json.dumps(cell)}'
        for name, cell in cells.items()
    )
    return f"{{{', '.join(told)}}}"


def written(form: str, rows: Sequence[tuple[dict[str, str], dict[str, str]]]) -> tuple[str, list[str]]:
    flat = [who | told for who, told in rows]
    match form:
        case "csv" | "tsv":
            mark = "," if form == "csv" else "\t"
            return f"metrics.{form}", [mark.join(flat[0]), *(mark.join(one.values()) for one in flat)]
        case "markdown":
            return "metrics.md", [
                f"| {' | '.join(flat[0])} |",
                "|---" * len(flat[0]) + "|",
                *(f"| {' | '.join(one.values())} |" for one in flat),
            ]
        case "logfmt":
            stamped = (
                (f"ts=2026-07-09T10:{at // 60:02d}:{at % 60:02d}Z level=info", one) for at, one in enumerate(flat)
            )
            return "metrics.log", [
                " ".join((stamp, *(f"{name}={cell}" for name, cell in one.items()))) for stamp, one in stamped
            ]
        case "nested":
            stamps = (f'"time": "2026-07-09T10:{at // 60:02d}:{at % 60:02d}Z"' for at in range(len(rows)))
            return "metrics.jsonl", [
                f'{{{stamp}, "who": {bare(who)}, "metrics": {bare(told)}}}'
                for stamp, (who, told) in zip(stamps, rows, strict=True)
            ]
        case "jsonl":
            return "metrics.jsonl", [bare(one) for one in flat]
    return "metrics.json", ["[", *(f"{bare(one)}," for one in flat[:-1]), bare(flat[-1]), "]"]


# --- the same forms, without what tells who it was ---------------------------------------------------------------------


def of_hosts_alone(job: Job) -> Case:
    """Heads of lines that two processes have in common."""
    log = Log(job, job.choose("who", ("{h}", "[{h}]", "<{h}>", "{h}:")))
    fault = job.choose("fault", ("exception, each line headed", "exception, bare", "nan"))
    says = job.choose("says", SAYS)
    out = [log.line(rank, job.filled(says, rank)) for rank in job.turns()]
    out += worked(job, log, fault == "nan")
    if fault != "nan":
        ends_of(job, log, fault, lambda _, own: out.extend(own))
    return Case({"run.log": out}, (), job.bad, job.choices)


def of_two_minds(job: Job) -> Case:
    """Two documents that tell other ranks of the same names."""
    case = documents(job)
    turned = {name: job.names[(at + 1) % job.size] for at, name in enumerate(job.names)}
    turned |= {str(pid): str(job.pids[(at + 1) % job.size]) for at, pid in enumerate(job.pids)}
    other = {f"{rank}": name for rank, name in enumerate(job.names)}
    is_named = job.choices["called"] == "name"
    rows = [
        f"{turned[other[str(rank)]] if is_named else f'{job.host((rank + 1) % job.size)}:{job.pids[(rank + 1) % job.size]}'} -> rank {rank}"
        for rank in job.turns()
    ]
    return case._replace(files=case.files | {"of_yesterday.txt": rows})


def of_the_same_numbers(job: Job) -> Case:
    """Both hosts have processes of the same numbers, and no stack says where it is from."""
    job.pids = job.pids[: job.each] * 2
    dumps = [dump(job, rank, STANDS[0] if rank == job.bad else WAITS) for rank in job.turns()]
    says = job.choose("form", ("launched rank {r} on {h} with pid {p}", "{h}: started worker rank={r} pid={p}"))
    launcher = [f"2026-07-09 09:59:{at:02d} INFO {job.filled(says, rank)}" for at, rank in enumerate(job.turns())]
    return Case(
        {"launcher.log": launcher, "stacks.txt": [text for own in dumps for text in own]},
        (),
        job.bad,
        job.choices,
        is_hung=True,
    )


def of_lost_rows(job: Job) -> Case:
    """Records in which those of who was first are lost from before that step on: all others show no number in one step."""
    case = records(job)
    name, own = next((name, own) for name, own in case.files.items() if name.startswith("metrics"))
    bad = [text for text in own if "nan" in text.lower()]
    return case._replace(files=case.files | {name: [text for text in own if text != bad[0]]})


FAMILIES: dict[str, Callable[[Job], Case]] = {
    "lines": lines,
    "documents": documents,
    "stacks": stacks,
    "records": records,
}
NOBODY: dict[str, Callable[[Job], Case]] = {
    "of hosts alone": of_hosts_alone,
    "of two minds": of_two_minds,
    "of the same numbers": of_the_same_numbers,
    "of lost rows": of_lost_rows,
}
