"""Bundles of small jobs in which a device fails: who fails is drawn first, then which records tell of the device, and
which tell who runs on it. `FAMILIES`: one rank is right; `NOBODY`: the same forms, but nothing tells who it was.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from drawn.device_words import (
    ALONE,
    BARE,
    BOTH,
    BOXES,
    BUSES,
    BY_RANK,
    COLUMNS,
    ENDS,
    ERRORS,
    INTROS,
    INVENTORIES,
    KERNELS,
    KEYS,
    LAUNCHED,
    LOSSES,
    MONITORS,
    NCCL,
    NOISE,
    NOTES,
    OF_ALL,
    PAGES,
    PLACES,
    POD,
    PRINTS,
    PROC,
    RAISED,
    SERVICE,
    SPELLED,
    TIMEOUTS,
    TOOLS,
    UNTOLD,
    VISIBLE,
    XIDS,
    Gpu,
    Rows,
)
from drawn.job import BY_HOST_AND_PID, STEPS, Case, Files, Job, Log


class Site:
    """The devices of both hosts, and whose each is."""

    def __init__(self, job: Job, *, is_sorted: bool = False) -> None:
        self.job, self.told = job, list[tuple[int, str]]()
        self.vendor = job.choose("vendor", ("nvidia", "nvidia", "nvidia", "nvidia", "amd", "mthreads", "metax"))
        buses, orders = job.choose("buses", BUSES).split(), job.choose("minors", ("as indices", "own"))
        self.gpus: dict[str, list[Gpu]] = {}
        for host in job.hosts:
            minors, modules, slots = (job.draw.sample(range(8), 8) for _ in "abc")
            minors = sorted(minors) if orders == "as indices" else minors
            uuids = [f"GPU-{uuid.UUID(int=job.draw.getrandbits(128), version=4)}" for _ in range(8)]
            serials = job.draw.sample(range(1650000000000, 1659999999999), 8)
            parts = zip(range(8), minors, modules, slots, uuids, serials, buses, strict=True)
            own = [Gpu(host, f"{i}", f"{m}", f"{x + 1}", f"{t + 21}", u, f"{s}", b) for i, m, x, t, u, s, b in parts]
            self.gpus[host] = own
        how = job.choose("devices", ("in order", "upper", "mixed"))
        self.rows: Rows = []
        for at, host in enumerate(job.hosts):
            some = {"in order": range(job.each), "upper": range(8 - job.each, 8)}.get(how)
            drawn = list(some or job.draw.sample(range(8), job.each))
            chosen = sorted(drawn) if is_sorted else drawn
            self.rows += [(self.gpus[host][one], at * job.each + local) for local, one in enumerate(chosen)]
        self.bad = self.rows[job.bad][0]

    def pid(self, rank: int) -> int:
        return self.job.pids[rank] if rank >= 0 else 71000 - rank

    def page(self, name: str, gpus: list[Gpu], rows: Rows, ills: dict[Gpu, str] | None = None) -> list[str]:
        """What a tool prints of one host."""
        first, *texts = PAGES[name]
        parts: dict[str, list[str]] = defaultdict(list)
        for text in texts:
            mark = text[:1] if text[:1] in ">}?_!" else ""
            parts[mark].append(text[len(mark) :])
        good = first.split("|")[3]
        out, below = parts[""], list[str]()
        for gpu in gpus:
            ill = (ills or {}).get(gpu, good)
            is_lost = ill == "ERR!"
            state = f"{'ERR!  ERR! ERR!             ERR!' if is_lost else 'N/A   41C    P0             344W'} / 700W"
            out += [gpu(text, ill=ill, state=state) for text in parts[">"]]
            below += [gpu(text, ill=ill) for text in parts["!"]] if ills else []
            own = [rank for one, rank in rows if one == gpu]
            if name == "-q" and ills is None:
                out += parts["?" if own else "_"] if rows else []
                out += [gpu(text, p=self.pid(rank)) for rank in own for text in parts["}"]]
        if name == "-q":
            return out
        out += parts["_"] + below + (parts["?"] if rows else [])
        return out + [gpu(text, p=self.pid(rank)) for gpu, rank in rows for text in parts["}"]]

    def put(self, what: str, name: str, own: dict[str, list[str]], stem: str = "", command: str = "") -> Files:
        """A tool's print of each host, and how it is told of which."""
        stem, command = stem or PAGES[name][0].split("|")[1], command or PAGES[name][0].split("|")[2]
        how = self.job.choose(f"host of {what}", ("name", "folder", "heading", "prompt", "pdsh", "name first"))
        form = {"name": f"{stem}_{{}}.txt", "folder": f"{{}}/{stem}.txt", "name first": f"{{}}.{stem}.log"}.get(how)
        if form is not None:
            return {form.format(host): texts for host, texts in own.items()}
        if how == "pdsh":
            return {f"{stem}.txt": [f"{host}: {text}" for host, texts in own.items() for text in texts]}
        head = {"heading": "===== {} =====", "prompt": f"root@{{}}:~# {command}"}[how]
        return {f"{stem}.txt": [text for host, texts in own.items() for text in (head.format(host), *texts, "")]}


def by_host(rows: Rows, *, is_sorted: bool = False) -> dict[str, Rows]:
    found: dict[str, Rows] = defaultdict(list)
    for gpu, rank in sorted(rows, key=lambda row: row[0].i) if is_sorted else rows:
        found[gpu.host].append((gpu, rank))
    return found if not is_sorted else {gpu.host: found[gpu.host] for gpu, _ in rows}


def spans(numbers: Sequence[int]) -> str:
    """As Slurm writes them: 0-2,5."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if run[1:] else f"{run[0]}" for run in runs)


def tabled(job: Job, what: str, head: Sequence[str], cells: Sequence[Sequence[str]]) -> Files:
    """A sheet that somebody made by hand or with a script."""
    rows, pairs = [head, *cells], [dict(zip(head, row, strict=True)) for row in cells]
    how = job.choose(f"{what} sheet", ("csv", "tsv", "markdown", "json", "jsonl", "yaml", "columns", "pairs", "blocks"))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    marked = [("  " if at else "- ", *pair) for own in pairs for at, pair in enumerate(own.items())]
    ends, texts = {
        "csv": ("csv", [",".join(row) for row in rows]), "tsv": ("tsv", ["\t".join(row) for row in rows]),
        "markdown": ("md", [lines[0], "|---" * len(head) + "|", *lines[1:]]),
        "json": ("json", json.dumps(pairs, indent=1).splitlines()), "jsonl": ("jsonl", [*map(json.dumps, pairs)]),
        "yaml": ("yaml", [f"{mark}{name}: {cell!r}" for mark, name, cell in marked]),
        "columns": ("txt", ["  ".join(f"{cell:18}" for cell in row).rstrip() for row in rows]),
        "pairs": ("txt", [" ".join(f"{k.replace(' ', '_')}={v}" for k, v in own.items()) for own in pairs]),
        "blocks": ("txt", [text for own in pairs for text in (*(f"{k}: {v}" for k, v in own.items()), "")]),
    }[how]  # fmt: skip
    return {f"{what}.{ends}": texts}


def placed(site: Site, kind: str, key: str, rows: Rows, out: list[str]) -> Files:
    """Who runs on which device, in a form; what the job's own log tells of it goes to `out`."""
    job, here = site.job, by_host(rows, is_sorted=kind in TOOLS)
    var, turned = f"{VISIBLE[site.vendor]}_VISIBLE_DEVICES", job.draw.sample(rows, len(rows))
    if kind in ("smi", "apps", "-q", "pmon", "fuser"):
        name = {"smi": site.vendor, "apps": f"apps {key}"}.get(kind, kind)
        hosts = [*site.gpus] if kind == "-q" else [*here]
        return site.put("placement", name, {h: site.page(name, site.gpus[h], here.get(h, [])) for h in hosts})
    match kind:
        case "environs":
            is_all = job.choose("visible", ("own", "all of the node")) == "all of the node"
            files: Files = {}
            for gpu, rank in rows:
                seen = ",".join(one(BARE[key]) for one, r in here[gpu.host] if is_all or r == rank)
                told = f"RANK={rank} LOCAL_RANK={rank % job.each} WORLD_SIZE={job.size} HOSTNAME={gpu.host}"
                files[job.filled("environ/{h}/{p}", rank)] = f"{told} {var}={seen} MASTER_PORT=29500".split()
            return files
        case "nccl":
            form = job.choose("NCCL", NCCL)
            lines = [
                f"{gpu.host}:{site.pid(r)}:{site.pid(r) + 91} [{r % job.each}] NCCL INFO "
                + gpu(form, r=r, n=job.size, l=r % job.each)
                for gpu, r in turned
            ]
            is_in = job.choose("NCCL in", ("own file", "log")) == "log"
            out += lines if is_in else ()
            return {} if is_in else {"nccl_debug.log": lines}
        case "prints" | "launcher":
            spelled = job.choose(f"placement {key}", SPELLED[key])
            form = job.choose(kind, PRINTS if kind == "prints" else LAUNCHED)
            said = [(r, job.filled(form.replace("{d}", gpu(spelled)), r)) for gpu, r in turned]
            if kind == "prints":
                site.told = said
                return {}
            stamps = [job.now + timedelta(seconds=at - 60) for at in range(len(said))]
            return {"launcher.log": [f"{at:%F %T} INFO {text}" for at, (_, text) in zip(stamps, said, strict=True)]}
        case "compose":
            forms = {h: [job.filled(SERVICE.replace("{d}", g(BARE[key])), r) for g, r in o] for h, o in here.items()}
            return {f"{h}/docker-compose.yml": ["services:", *"\n".join(own).splitlines()] for h, own in forms.items()}
        case "docker":
            given = ("--gpus '\"device={d}\"'", "--gpus device={d}", "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES={d}")
            form = "docker run -d --name {w} " + job.choose("docker", given)
            form += " -e RANK={r} -e WORLD_SIZE={n} --ipc=host train:7 python train.py"
            return {
                f"run_{h}.sh": [job.filled(form.replace("{d}", g(BARE[key])), r) for g, r in own]
                for h, own in here.items()
            }
        case "pods":
            pods = "\n".join(job.filled(POD.replace("{h}", gpu.host), r) for gpu, r in turned).splitlines()
            words = ("podName", "containerName", "resourceName", "deviceIds")
            named = [(job.names[r], "main", "nvidia.com/gpu", [gpu.u]) for gpu, r in turned]
            owned = [dict(zip(words, own, strict=True)) for own in named]
            if job.choose("allocation", ("podresources", "table")) == "podresources":
                return {"pods.yaml": pods, "podresources.json": json.dumps({"devices": owned}, indent=1).splitlines()}
            table = ["NODE  POD  DEVICE", *(f"{gpu.host}  {job.names[r]}  {gpu.u}" for gpu, r in turned)]
            return {"pods.yaml": pods, "allocated.txt": table}
        case "slurm":
            form = f"     Nodes={{}} CPU_IDs=0-63 Mem=0 GRES=gpu:h100:{job.each}(IDX:{{}})"
            nodes = [form.format(host, spans([int(gpu.i) for gpu, _ in own])) for host, own in here.items()]
            head = ["JobId=48211 JobName=lm-7", f"   JobState=RUNNING NumNodes=2 NumTasks={job.size}"]
            return {"scontrol_job.txt": [*head, *nodes]}
        case "script":
            run = f"torchrun --nnodes 2 --node_rank {{}} --nproc_per_node {job.each} --master_addr {job.hosts[0]} "
            run += "train.py &"
            seen_by = {host: ",".join(gpu(BARE[key]) for gpu, _ in own) for host, own in here.items()}
            return {"launch.sh": [f"ssh {h} {var}={d} {run.format(at)}" for at, (h, d) in enumerate(seen_by.items())]}
    column, words = job.choose("column", COLUMNS[key]), ("rank", "global_rank", "RANK", "world_rank")
    word, form = job.choose("word for a rank", words), job.choose("sheet spells", (BARE[key], *SPELLED[key][:3]))
    host_word = job.choose("word for a host", ("host", "node", "hostname", "server"))
    return tabled(job, "placement", (host_word, column, word), [(g.host, g(form), str(r)) for g, r in turned])


def joined(site: Site, first: str, other: str) -> Files:
    """What tells that one name and another are of the same device."""
    job, both, every = site.job, (first, other), [gpu for own in site.gpus.values() for gpu in own]
    names = INVENTORIES if site.vendor == "nvidia" else ("sheet", "smi")
    kind = job.choose("inventory", [name for name in names if {*both} <= INVENTORIES[name]])
    if kind == "proc":
        form = "{h}/proc/driver/nvidia/gpus/0000:{b}:00.0/information"
        return {gpu(form): gpu(PROC).splitlines() for gpu in every}
    if kind == "csv":
        forms = {"index": "{i}", "uuid": "{u}", "serial": "{s}", "pci.bus_id": "00000000:{B}:00.0"}
        fields = job.draw.sample([*forms], 4)
        head, row = ", ".join(fields), ", ".join(forms[one] for one in fields)
        said = {host: [head, *(gpu(row) for gpu in own)] for host, own in site.gpus.items()}
        command = f"nvidia-smi --query-gpu={','.join(fields)} --format=csv"
        return site.put("inventory", "-L", said, "gpu-query", command)
    if kind != "sheet":
        name, stem = {"smi": (site.vendor, "gpu-table"), "-q": ("-q", "smi-q")}.get(kind, (kind, ""))
        return site.put("inventory", name, {host: site.page(name, own, []) for host, own in site.gpus.items()}, stem)
    forms_of = [job.choose(f"inventory {key}", (BARE[key], *SPELLED[key][:2])) for key in both]
    cells = [(gpu.host, *(gpu(form) for form in forms_of)) for gpu in every]
    columns = [job.choose(f"inventory column {key}", COLUMNS[key]) for key in both]
    return tabled(job, "inventory", ("host", *columns), cells)


def kernel(site: Site, texts: list[str], at: datetime, *, is_host_told: bool) -> Files:
    """The kernel's logs of one host or both, with what they say anyway."""
    job, bad = site.job, site.bad.host
    styles = ("ctime", "syslog", "both", "uptime", "iso", "level", "journal", "raw")
    style = job.choose("kernel stamp", styles if is_host_told else ("ctime", "uptime", "level", "raw"))
    whose = [bad] if not is_host_told or job.choose("kernel logs", ("one", "both")) == "one" else job.hosts
    logs: dict[str, list[str]] = {}
    for host in whose:
        own = [*((-900.0 + 97 * k, text) for k, text in enumerate(job.draw.sample(NOISE, 4)))]
        own += [(0.01 * k, text) for k, text in enumerate(texts)] if host == bad else []
        own += [(30.0, job.draw.choice(NOISE))]
        for after, text in own:
            then = at + timedelta(seconds=after)
            up, known = f"[{(then - datetime(2026, 6, 30)).total_seconds():13.6f}]", f"[{then:%a %b %d %H:%M:%S %Y}]"
            named = f"{then:%b %d %H:%M:%S} {host} kernel:"
            head = {
                "ctime": known, "level": f"kern  :err   : {known}", "uptime": up, "raw": f"<3>{up}", "syslog": named,
                "both": f"{named} {up}", "iso": f"{then:%Y-%m-%dT%H:%M:%S.%f}+00:00 {host} kernel:",
            }.get(style)  # fmt: skip
            said = {"__REALTIME_TIMESTAMP": f"{int(then.timestamp() * 1e6)}", "_HOSTNAME": host}
            said |= {"SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "3", "MESSAGE": text}
            logs.setdefault(host, []).append(f"{head} {text}" if head else json.dumps(said))
    if not is_host_told:
        return {job.choose("kernel file", ("dmesg.txt", "dmesg.log", "kern.log", "kernel_tail.txt")): logs[bad]}
    if style in ("syslog", "both", "iso", "journal") and job.choose("kernel in", ("one file", "each")) == "one file":
        name = job.choose("kernel file", ("messages", "syslog.txt", "kern.log"))
        return {name: [text for host in whose for text in logs[host]]}
    return site.put("kernel", "-L", logs, "dmesg", "dmesg -T | tail -n 40")


def kernel_says(site: Site, *, is_pid_told: bool, is_host_told: bool) -> list[str]:
    job = site.job
    pid = job.choose("pid in kernel", ("'<unknown>'", "'N/A'", "0", "own")[: 4 if is_pid_told else 2])
    if site.vendor != "nvidia":
        said = job.draw.choice(KERNELS[site.vendor].splitlines())
    else:
        says = ("xid", "xid", "aer", "sxid", "xid", "xid, with board", "fallen")  # the last two tell a UUID
        said = KERNELS[how := job.choose("kernel says", says if is_host_told else says[:-2])]
        xid = XIDS[1] if how == "sxid" else job.choose("xid", XIDS) if "{xid}" in said else ""
        name = "python" if pid == "own" else "<unknown>"
        said = said.replace("{xid}", xid.format(p=job.pids[job.bad] if pid == "own" else pid, c=name))
    return [site.bad(text) for text in said.split("~")]


def monitored(site: Site, kind: str, key: str, at: datetime) -> Files:
    """That a device failed, as tools and people above the kernel tell it."""
    job, gpu, gpus = site.job, site.bad, site.gpus
    xid, stamp = job.choose("code", ("79", "48", "95", "119")), f"{at:%Y-%m-%dT%H:%M:%S}"
    match kind:
        case "dcgm":
            metrics = ("XID_ERRORS 0 xid", "ECC_DBE_VOL_TOTAL 0 2")
            metric, good, ill = job.choose("metric", metrics).replace("xid", xid).split()
            form = f"DCGM_FI_DEV_{metric}" + '{{gpu="{i}",UUID="{u}",device="nvidia{i}",'
            form += 'modelName="NVIDIA H100 80GB HBM3",Hostname="{h}"}} {v}'
            own = [one(form, v=ill if one == gpu else good) for some in gpus.values() for one in some]
            return {"dcgm_metrics.prom": [f"# TYPE DCGM_FI_DEV_{metric} gauge", *own]}
        case "health" | "smi lost":
            return site.put("fault", kind, {gpu.host: site.page(kind, [gpu], [])})
        case "table":
            bad = {"nvidia": job.choose("ill", ("ERR!", "3")), "amd": "4", "mthreads": "ERR!", "metax": "Unavailable"}
            page = site.page(site.vendor, gpus[gpu.host], [], {gpu: bad[site.vendor]})
            return site.put("fault", site.vendor, {gpu.host: page}, "gpus_after")
        case "csv":
            said = {host: site.page(f"csv {key}", own, [], {gpu: "2"}) for host, own in gpus.items()}
            return site.put("fault", f"csv {key}", said)
        case "-q":
            return site.put("fault", "-q", {gpu.host: site.page("-q", gpus[gpu.host], [], {gpu: "2"})}, "ecc_q")
        case "sel":
            day, slot = f"{at:%m/%d/%Y | %H:%M}", "Critical Interrupt PCIe_Slot{t}_GPU"
            first = f"  1 | {day}:01 | Event Logging Disabled SEL | Log area reset/cleared | Asserted"
            return {
                f"{gpu.host}/ipmi_sel.txt": [first, gpu(f"  2 | {day}:{at:%S} | {slot} | Bus Fatal Error | Asserted")]
            }
        case "redfish":
            words = "The resource property GPU_SXM_{x} has detected errors of type 'Uncorrectable ECC error'."
            place = {"@odata.id": gpu("/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_SXM_{x}")}
            event = {"Created": f"{stamp}+00:00", "Severity": "Critical", "Message": gpu(words)}
            event |= {"MessageId": "ResourceEvent.1.0.ResourceErrorsDetected"}
            members = [{**event, "Links": {"OriginOfCondition": place}}]
            log = {"Name": "Log Entry Collection", "Members": members}
            return {f"bmc/{gpu.host}.json": json.dumps(log, indent=1).splitlines()}
        case "plugin":
            texts = (f"XidCriticalError: Xid={xid} on Device={gpu.u}; marking device as unhealthy.",
                     f"'nvidia.com/gpu' device marked unhealthy: {gpu.u}")  # fmt: skip
            own = [f"{at:%Y/%m/%d %H:%M:%S} {text}" for text in texts]
            return site.put("fault", "-L", {gpu.host: own}, "device-plugin", "kubectl logs nvidia-device-plugin")
        case "events":
            top = "LAST SEEN   TYPE      REASON              OBJECT        MESSAGE"
            form = f"12m         Warning   GpuXidError         node/{{h}}    Xid {xid} on GPU {{u}}: "
            form += "device is unhealthy"
            return {"events.txt": [top, gpu(form)]}
        case "reason":
            head = [f"NodeName={gpu.host} Arch=x86_64 CoresPerSocket=32", "   State=IDLE+DRAIN ThreadsPerCore=2"]
            where = gpu({"index": "gpu{i}", "bus": "0000:{b}:00.0"}[key])
            return {f"scontrol_{gpu.host}.txt": [*head, f"   Reason=GPU {where} Xid {xid} [root@{stamp}]"]}
    note, spelled = job.choose("note", NOTES), job.choose(f"fault {key}", SPELLED[key])
    when = f"{at:%H:%M:%S}" if "UTC" in note else f"{at:%Y-%m-%d %H:%M}"
    name = job.choose("note file", ("notes.txt", "ticket.md", "alerts.log", "handover.txt"))
    return {name: [note.format(t=when, d=gpu(spelled), h=gpu.host)]}


def worked(job: Job, site: Site, log: Log, end: str, intro: str) -> tuple[list[str], datetime]:
    """The log of all, and when the device failed."""
    out, is_first = list[str](), end.startswith("first alone")
    out += [log.line(r, job.filled(intro, r)) for r in job.turns()] if intro else []
    out += [log.line(r, text) for r, text in site.told]
    for step in range(1, STEPS + 1):
        job.later(1)
        for r in [0] if is_first else job.turns():
            out.append(log.line(r, f"step {step} loss {3.2 / (1 + step * 0.05) + job.draw.random() * 0.02:.4f}"))
    at, forms = job.later(1), ("each line headed", "bare")
    if end == "own error":
        words = f"RuntimeError: {job.choose('error', ERRORS[site.vendor])}"
        is_bare = job.choose("error form", forms) == "bare"
        out += log.raised(job.bad, [*RAISED, words], is_bare=is_bare)
    who = [0] if is_first else [r for r in job.turns() if r != job.bad or end == "all given up"]
    lost, gave = job.draw.choice(LOSSES), job.choose("gives up", TIMEOUTS)
    job.later(601 if "given up" in end else 3)
    form = job.choose("peers' form", forms)
    for r in who:
        is_late = "given up" in end
        out += [log.line(r, gave.format(r=r), "error")] if is_late else log.raised(r, lost, is_bare=form == "bare")
    return out, at


Change = Callable[[Site, Rows], Rows]


def told(
    job: Job, places: Iterable[str], faults: Iterable[str], ends: Sequence[str], change: Change | None = None, *,
    is_host_told: bool = True, again: Change | None = None,
) -> Case:  # fmt: skip
    """A bundle: a fault of a device, who runs on it, and the job; `change`, `again`: of who runs where."""
    drawn = job.choose("placement", [*places])
    site = Site(job, is_sorted=drawn == "slurm")
    if site.vendor != "nvidia" and drawn not in OF_ALL:
        site.vendor = job.choices["vendor"] = "nvidia"
    known = KEYS if site.vendor == "nvidia" else ("index", "bus", "serial")
    keys = [key for key in PLACES[drawn] if key in known]
    key = job.choose("placed by", keys)
    kinds = [one for one in faults if site.vendor == "nvidia" or one in ("kernel", "table", "note")]
    fault, end = job.choose("fault by", kinds), job.choose("end", ends)
    names = [one for one in MONITORS.get(fault, ("bus",)) if one in known]
    rows = change(site, site.rows) if change else site.rows
    who, intro, start = job.choose("who", (*BY_HOST_AND_PID, *BY_RANK)), job.choose("intro", INTROS), list[str]()
    files = placed(site, drawn, key, rows, start)
    out, at = worked(job, site, Log(job, who, ("slwm", "swlm", "wslm", "w", "sw")), end, intro)
    name = job.choose("fault names", names)
    shown = {*keys} if drawn in BOTH else {key}
    if not shown & ({*names} if fault in ("dcgm", "table") else {name}):
        files |= joined(site, name, key)
    if fault == "kernel":
        is_open = not (change or again) and is_host_told
        said = kernel_says(site, is_pid_told=is_open, is_host_told=is_host_told)
        files |= kernel(site, said, at, is_host_told=is_host_told)
    else:
        files |= monitored(site, fault, name, at)
    if again is not None:
        cells = [f"{gpu.host},{gpu(BARE[key])},{rank}" for gpu, rank in again(site, rows)]
        files |= {"devices.csv": [f"host,{COLUMNS[key][0]},rank", *cells]}
    may_be = ("hang", "crash") if "given up" in end else ("crash",)
    return Case(files | {"train.log": start + out}, may_be, job.bad, job.choices)


def kernels(job: Job) -> Case:
    return told(job, PLACES, ("kernel",), ENDS)


def monitors(job: Job) -> Case:
    return told(job, PLACES, MONITORS, ENDS)


def boxes(job: Job) -> Case:
    return told(job, BOXES, ("kernel", "kernel", "plugin", "events", "dcgm", "note", "reason"), ENDS)


def devices_alone(job: Job) -> Case:
    """Logs whose lines are headed by host and device; the rank is told by a line, a sheet or the launcher."""
    site, form = Site(job), job.choose("who", ALONE.split("; "))
    job.names = [gpu(form) for gpu, _ in site.rows]
    by, intro, files = job.choose("rank told by", ("log", "sheet", "launcher")), "", Files()
    if by == "log":
        words = "rank {r} of {n} ready; joined the group as rank {r}/{n}; global_rank={r} world_size={n}; I am rank {r}"
        intro = job.choose("intro", words.split("; "))
    else:
        files = placed(site, by, "bus" if "{b}" in form else "index", site.rows, [])
    out, _ = worked(job, site, Log(job, "{w}", ("slwm", "swlm", "wslm", "w", "sw")), "own error", intro)
    return Case(files | {"train.log": out}, ("crash",), job.bad, job.choices)


def of_no_host(job: Job) -> Case:
    """A kernel's log, nobody says of which host; both use that bus id."""

    def both(site: Site, rows: Rows) -> Rows:
        other = site.gpus[job.hosts[1 - job.bad // job.each]][int(site.bad.i)]
        twin, used = (job.bad + job.each) % job.size, [gpu for gpu, _ in rows]
        return rows if other in used else [(other if r == twin else gpu, r) for gpu, r in rows]

    return told(job, [one for one in PLACES if one != "slurm"], ("kernel",), UNTOLD, both, is_host_told=False)


def of_two_minds(job: Job) -> Case:
    """A second table that tells others of the same devices."""

    def turned(_: Site, rows: Rows) -> Rows:
        return [(gpu, rank // job.each * job.each + (rank + 1) % job.each) for gpu, rank in rows]

    return told(job, ("sheet",), ("kernel", "note", "dcgm"), UNTOLD, None, again=turned)


def of_cut_tables(job: Job) -> Case:
    """A table that ends before the device, and before at least one other."""

    def cut(site: Site, rows: Rows) -> Rows:
        own = by_host(rows, is_sorted=True)[site.bad.host]
        kept = own[: min([gpu for gpu, _ in own].index(site.bad), job.each - 2)]
        return [row for row in rows if row[0].host != site.bad.host or row in kept]

    return told(job, ("smi", "apps", "pmon", "fuser"), ("kernel", "note", "dcgm", "table"), UNTOLD, cut)


def of_others(job: Job) -> Case:
    """The device belongs to nobody of this job."""

    def moved(site: Site, rows: Rows) -> Rows:
        used = [gpu for gpu, _ in rows]
        site.bad = job.draw.choice([gpu for gpu in site.gpus[site.bad.host] if gpu not in used])
        return [*rows, (site.bad, -1)] if job.choices["placement"] in TOOLS[:5] else rows

    return told(job, PLACES, ("kernel", "note", "dcgm", "table"), UNTOLD, moved)


FAMILIES: dict[str, Callable[[Job], Case]] = {
    "kernels": kernels, "monitors": monitors, "boxes": boxes, "devices alone": devices_alone,
}  # fmt: skip
NOBODY: dict[str, Callable[[Job], Case]] = {
    "of no host": of_no_host, "of two minds": of_two_minds, "of cut tables": of_cut_tables, "of others": of_others,
}  # fmt: skip
