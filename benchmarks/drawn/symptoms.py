"""Bundles in which identity is plain, and what happened is told in many ways. Truth first, then its form."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence

from drawn.job import Case, Files, Job, Log
from drawn.other_words import (
    AFTER,
    BEATS,
    BYSTANDERS,
    HANGS,
    HEADINGS,
    KILLS,
    LAUNCHERS,
    ODD,
    ODD_ERRORS,
    SERVICES,
    SHARED,
    SLOWS,
    STACK_FILES,
    STANDS,
    STANDS_NATIVE,
    STOPS,
    STUCK,
    SYNCS,
)
from drawn.symptom_words import (
    CRASH_FORMS,
    ENDS,
    FILES,
    HEADS,
    KITS,
    NATIVES,
    NOISE,
    PREFIXES,
    SAYS,
    STEPS,
    TRACES,
    TROUBLES,
)


class Scene:
    """A job with its framework, its layout of records and its steps."""

    def __init__(self, job: Job, *, is_python: bool = False) -> None:
        self.job = job
        job.bad = job.draw.randrange(job.size)
        told = KITS[job.choose("framework", tuple(one for one in KITS if not is_python or "native" not in KITS[one]))]
        self.hello, self.is_native = told[0], "native" in told
        self.lost = [one.removeprefix("lost: ") for one in told if one.startswith("lost: ")]
        self.late = [one.removeprefix("late: ") for one in told if one.startswith("late: ")]
        self.waits = next(one.removeprefix("waits: ") for one in told if one.startswith("waits: ")).split(" ;; ")
        self.others = [rank for rank in range(job.size) if rank != job.bad]
        layout = job.choose("layout", ("files", "files", "prefixes", "heads"))
        self._prefix = job.choose("prefix", PREFIXES) if layout == "prefixes" else ""
        names = FILES if layout == "files" else ("train.log", "job.out", "all.txt")
        self._name = job.choose("file" if layout == "files" else "file of all", names)
        self._log = Log(job, job.choose("head", HEADS) if layout == "heads" else "")
        self._own: defaultdict[str, list[str]] = defaultdict(list)
        self._is_common, self._open = layout == "heads", -1
        self._step = job.choose("step", STEPS)
        self.at = job.draw.choice((0, 40, 1200, 88000))
        self.files: Files = {}

    def filled(self, text: str, rank: int, **more: object) -> str:
        job, draw, now = self.job, self.job.draw, self.job.now
        fields = {
            "h": job.host(rank), "p": job.pids[rank], "r": rank, "r1": rank + 1, "n": job.size, "n1": job.size - 1,
            "l": rank % job.each, "s": self.at, "b": job.bad, "o": draw.choice(self.others), "t": f"{now:%H:%M:%S.%f}",
            "c": f"{now:%H:%M:%S}", "j": f"{now:%b %d %H:%M:%S}", "m": f"{now:%H:%M}", "d": f"{now:%Y-%m-%d}",
            "x": f"{draw.getrandbits(40):012x}", "k": draw.randint(2, 400), "u": int(now.timestamp()),
            "ip": f"10.{job.size}.{rank // job.each}.{rank + 11}",
        }  # fmt: skip
        return text.format(**fields | more)

    def write(self, rank: int, text: str, *, level: str = "info", is_headed: bool = True, **more: object) -> None:
        """Lines of one rank, the first with a head; bare ones of a common log stand below a line of their rank."""
        if not is_headed and self._is_common and self._open != rank:
            above = self.job.draw.choice(("stderr:", "stderr follows", "process output:", "last words:"))
            self.raw(rank, self._log.line(rank, above, "error"))
        self._open = rank if level == "error" else -1
        for at, line in enumerate(self.filled(text, rank, **more).split("\n")):
            bare = not is_headed or at > 0
            self.raw(rank, line if bare else self._log.line(rank, line, level))

    def raw(self, rank: int, line: str) -> None:
        self._own[self.filled(self._name, rank)].append(self.filled(self._prefix, rank) + line)

    def start(self, fewest: int = 0, most: int = 0) -> None:
        """Who they are, and then steps, as many as drawn."""
        says, noise = self.job.choose("says", SAYS), self.job.choose("noise", NOISE)
        for text in (says, "pid {p} on {h}, " + self.hello, *noise.split(" ;; ")):
            for rank in self.job.turns():
                if text:
                    self.write(rank, text)
        if most:
            self.steps(self.job.draw.randint(fewest, most))

    def steps(self, many: int, ranks: Sequence[int] | None = None) -> None:
        for _ in range(many):
            self.at += 1
            self.job.later(1.4)
            for rank in self.job.turns() if ranks is None else ranks:
                loss = 3.1 / (1 + self.at % 900 * 0.02) + self.job.draw.random() * 0.02
                self.write(rank, self._step, f=f"{loss:.4f}")

    def consequences(self, texts: Sequence[str], what: str) -> bool:
        """What the others say of it, if anything: one text for most of them, and some may say nothing."""
        text = self.job.choose(what, texts)
        is_headed = self.job.choose("consequence headed", ("yes", "no")) == "yes"
        silent = self.job.draw.sample(self.others, self.job.draw.choice((0, 0, 0, 1)))
        for rank in self.job.draw.sample(self.others, len(self.others)):
            self.job.later(0.3)
            for one in text.split(" ;; ") if text and rank not in silent else ():
                self.write(rank, one, level="error", is_headed=is_headed)
        return bool(text)

    def launcher(self, first: int, code: int) -> None:
        """The launcher's summary, which names whoever was seen first."""
        told = LAUNCHERS[self.job.choose("launcher", tuple(LAUNCHERS))]
        if len(told) > 1:
            self.files[told[0]] = self.filled(told[1], first, code=code).split("\n")

    def done(self, kinds: tuple[str, ...], *, is_hung: bool = False, is_suspect_right: bool = False) -> Case:
        job, told = self.job, BYSTANDERS[self.job.choose("beside", tuple(BYSTANDERS))]
        if len(told) > 1:
            self.files[told[0]] = self.filled(told[1], 0).split("\n")
        return Case({**self.files, **self._own}, kinds, job.bad, job.choices, is_hung, is_suspect_right)


def failed(scene: Scene, rank: int, trouble: str, form: str, frames: str) -> None:
    """An exception of a program, as it is printed by one of many habits."""
    for line in CRASH_FORMS[form](scene.filled(trouble, rank), frames):
        text = line.removeprefix("@").replace("{", "{{").replace("}", "}}")
        scene.write(rank, text, level="error", is_headed=line.startswith("@"))


def ended(scene: Scene) -> None:
    """Whether its own record ends at once, goes on for a while, or says a shutdown."""
    for text in scene.job.choose("own end", ENDS).split(" ;; "):
        scene.job.later(0.7)
        if text:
            scene.write(scene.job.bad, text)


def fell(scene: Scene) -> None:
    """The others fall after it: at once or minutes later; and the launcher sums up."""
    scene.job.later(float(scene.job.choose("consequence after", ("0.2", "4", "95", "610"))))
    scene.consequences((*scene.lost, *STOPS), "consequence")
    seen = scene.job.choose("launcher saw", ("culprit", "innocent"))
    scene.launcher(scene.job.bad if seen == "culprit" else scene.others[0], 1)


def crash(job: Job) -> Case:
    """An exception of one rank."""
    scene = Scene(job, is_python=True)
    scene.start(3, 9)
    trouble = job.draw.choice(TROUBLES[job.choose("trouble", tuple(TROUBLES))])
    failed(scene, job.bad, trouble, job.choose("form", tuple(CRASH_FORMS)), job.draw.choice(TRACES))
    ended(scene)
    fell(scene)
    return scene.done(("crash",), is_suspect_right=True)


def native(job: Job) -> Case:
    """A signal or an abort of one rank, printed by its runtime."""
    scene = Scene(job)
    scene.start(3, 9)
    scene.write(job.bad, NATIVES[job.choose("native", tuple(NATIVES))][0], level="error", is_headed=False)
    fell(scene)
    return scene.done(("crash",), is_suspect_right=True)


def killed(job: Job) -> Case:
    """A process that something killed: its record ends, another one says who did it."""
    scene = Scene(job)
    scene.start(3, 9)
    which = job.choose("killer", tuple(KILLS))
    name, text = (scene.filled(one, job.bad) for one in KILLS[which])
    scene.files[name] = text.split("\n")
    scene.job.later(float(job.choose("consequence after", ("0.2", "4", "95"))))
    scene.consequences((*scene.lost, *STOPS, ""), "consequence")
    is_weak = which in ("history", "audit", "chat")
    return scene.done(("crash", "hang") if is_weak else ("crash",), is_suspect_right=is_weak)


def waited(text: str) -> int:
    """How many seconds one had waited that says this."""
    return next((seconds for seconds in (1800, 900) if str(seconds) in text), 600) + 1


def stuck(job: Job) -> Case:
    """One rank does something without end; the others wait, and give up or not."""
    scene = Scene(job)
    scene.start(4, 9)
    hang, is_behind = (
        HANGS[job.choose("hang", tuple(HANGS))],
        job.choose("own step", ("as others", "behind")) == "behind",
    )
    last = job.draw.choice(hang)
    is_loop = "{try_}" in last
    if is_behind:
        scene.steps(1, scene.others)
    scene.write(job.bad, last.split(" ;; ")[0], try_=1)
    sync = job.choose("others before", SYNCS)
    for rank in scene.job.draw.sample(scene.others, len(scene.others)):
        if sync:
            scene.write(rank, sync)
    for text in last.split(" ;; ")[1:]:
        scene.job.later(3)
        scene.write(job.bad, text, try_=1)
    late = job.choose("given up by", (*scene.late, *STUCK, "")) if job.draw.random() < 0.7 else ""
    for at in range(2, 12 if is_loop else 0):
        scene.job.later(waited(late) / 10)
        scene.write(job.bad, last.split(" ;; ")[-1], try_=at)
    scene.job.later(2 if is_loop else waited(late))
    is_told = scene.consequences((late,), "given up by")
    if is_told and job.choose("launcher too", ("yes", "no")) == "yes":
        scene.launcher(scene.others[0], -6)
    return scene.done(("hang",), is_hung=not is_told, is_suspect_right=True)


def stacks(job: Job) -> Case:
    """Stacks of all; one of them is elsewhere."""
    scene = Scene(job)
    scene.start(2, 6)
    of_python = tuple(one for one in STACKS if one != "eu-stack")
    printer = job.choose("printer", ("gdb", "eu-stack", "one line") if scene.is_native else of_python)
    stands = STANDS_NATIVE if scene.is_native else STANDS
    stand = stands[job.choose("stand", tuple(stands))][0].split(" ;; ")
    style = job.draw.random()
    place = job.choose("place", ("file each", "file each", "one file", "own log"))
    name, heading = job.choose("stack file", STACK_FILES), job.choose("heading", HEADINGS)
    scene.job.later(700)
    out: list[str] = []
    for rank in job.turns():
        lines = STACKS[printer](scene, rank, stand if rank == job.bad else scene.waits, style)
        match place:
            case "file each":
                scene.files[scene.filled(name, rank)] = lines
            case "one file":
                out += [scene.filled(heading, rank), *lines, ""]
            case _:
                above = ("dumping stack", "stack on SIGUSR1", "where am I:", "watchdog: stacks follow")
                scene.write(rank, job.draw.choice(above))
                for line in lines:
                    scene.raw(rank, line)
    if out:
        scene.files["stacks.txt"] = out
    return scene.done(("hang",), is_hung=True, is_suspect_right=True)


def framed(frame: str) -> tuple[str, str, str]:
    """A function, its file and line."""
    where, _, line = frame.split(" ")[1].rpartition(":")
    return frame.split(" ")[0], where, line


def pyspy(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    pid = scene.job.pids[rank]
    head = (f"Process {pid}: python -u main.py", "Python v3.11.9 (/opt/env/bin/python3.11)", "")
    side = (f'Thread {pid + 44} (idle): "Thread-1"', "    wait (threading.py:331)", "    run (tqdm/_monitor.py:60)")
    own = (f"    {name} ({where}:{line})" for name, where, line in map(framed, frames))
    return [*head, f'Thread {pid} (idle): "MainThread"', *own, *(side if scene.job.draw.random() < 0.5 else ())]


def dumped(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    ident = f"0x00007f{scene.job.draw.getrandbits(40):010x}"
    said = ("Thread {} (most recent call first):", "Current thread {} (most recent call first):")[int(style * 2)]
    own = (f'  File "/opt/env/{where}", line {line} in {name}' for name, where, line in map(framed, frames))
    return [*(("Timeout (0:10:00)!",) if style < 0.25 or style > 0.75 else ()), said.format(ident), *own]


def gdb(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    pid, draw = scene.job.pids[rank], scene.job.draw
    program = "trainer" if scene.is_native else "python"
    head = f'Thread 1 (Thread 0x7f{draw.getrandbits(40):010x} (LWP {pid}) "{program}"):'
    if not scene.is_native:
        told = (f'  File "/app/{where}", line {line}, in {name}' for name, where, line in map(framed, frames))
        return ["(gdb) thread 1", head, "(gdb) py-bt", "Traceback (most recent call first):", *told]
    own = (
        f"#{at}  0x00007f{draw.getrandbits(40):010x} in {name} () at {where}:{line}"
        for at, (name, where, line) in enumerate(map(framed, frames))
    )
    return [head, *own]


def eu_stack(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    pid, draw = scene.job.pids[rank], scene.job.draw
    own = (f"#{at}  0x00007f{draw.getrandbits(40):010x} {framed(one)[0]}" for at, one in enumerate(frames))
    return [f"PID {pid} - process", f"TID {pid}:", *own]


def pystack(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    told = map(framed, reversed(frames))
    own = (f'    (Python) File "/app/{where}", line {line}, in {name}' for name, where, line in told)
    return [f"Traceback for thread {scene.job.pids[rank]} (python) [] (most recent call last):", *own]


def printed(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    said = ("# Thread: MainThread(140{})", "--- MainThread {} ---", "*** STACKTRACE - ThreadID: {}")[int(style * 3)]
    own = (
        line
        for name, where, number in map(framed, reversed(frames))
        for line in (f'  File "/app/{where}", line {number}, in {name}', f"    {name}(*args, **kwargs)")
    )
    return [said.format(scene.job.draw.getrandbits(30)), *own]


def jsoned(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    own = [{"name": name, "filename": where, "line": int(line)} for name, where, line in map(framed, frames)]
    one = {"pid": scene.job.pids[rank], "thread_name": "MainThread", "active": False, "owns_gil": False, "frames": own}
    return json.dumps([one], indent=1 if style < 0.5 else None).splitlines()


def onelined(scene: Scene, rank: int, frames: Sequence[str], style: float) -> list[str]:
    mark = (" < ", " <- ", ";", " | ")[int(style * 4)]
    return [mark.join(f"{name}@{where}:{line}" for name, where, line in map(framed, frames))]


STACKS: dict[str, Callable[[Scene, int, Sequence[str], float], list[str]]] = {
    "py-spy": pyspy, "faulthandler": dumped, "gdb": gdb, "eu-stack": eu_stack, "pystack": pystack, "own": printed,
    "json": jsoned, "one line": onelined,
}  # fmt: skip


def beats(job: Job) -> Case:
    """Heartbeats, counters and states: those of one rank stand."""
    scene = Scene(job)
    scene.start(2, 5)
    scene.job.later(1860)
    form = job.choose("beats", tuple(BEATS))
    name, head, row, bad = BEATS[form]
    is_drawn = job.choose("rows", ("drawn", "in order")) == "drawn"
    sayings: list[str] = []
    for look in range(3 if form in ("jsonl", "supervisor", "logfmt") else 1):
        scene.job.later(60)
        for rank in job.turns() if is_drawn else range(job.size):
            old = int(scene.job.now.timestamp()) - 1860 - look * 60
            more = {"try_": look, "s": scene.at, "s1": scene.at + 1, "age": 1860 + look * 60, "old": old}
            more["young"] = job.draw.randint(1, 9)
            sayings += scene.filled(bad if rank == job.bad else row, rank, **more).split("\n")
    top, _, tail = scene.filled(head, 0).partition(" ;; ")
    scene.files[name] = [*(top.split("\n") if top != "-" else []), *sayings, *([tail] if tail else [])]
    is_told = job.choose("others give up", ("yes", "no")) == "yes"
    is_told = is_told and scene.consequences((*scene.late, *STUCK), "given up by")
    return scene.done(("hang",), is_hung=not is_told, is_suspect_right=True)


def odd(job: Job) -> Case:
    """One rank calls another operation, skips one, or has another shape, by each one's own record."""
    scene = Scene(job)
    scene.start(2, 6)
    usual, other = ODD[job.choose("odd", tuple(ODD))]
    job.later(1)
    for rank in job.turns():
        for text in (other if rank == job.bad else usual).split(" ;; "):
            scene.write(rank, text)
    ends, late = job.choose("odd end", ("given up", "given up", "error", "silence")), ""
    if ends == "given up":
        late = job.choose("given up by", (*scene.late, *STUCK))
        job.later(waited(late))
        scene.consequences((late,), "given up by")
    elif ends == "error":
        text = job.choose("odd error", ODD_ERRORS)
        job.later(1)
        for rank in job.turns():
            scene.write(rank, text, level="error", is_headed=False)
    return scene.done(
        ("hang", "crash") if ends == "error" else ("hang",),
        is_hung=ends != "error" and not late,
        is_suspect_right=True,
    )


def slow(job: Job) -> Case:
    """One rank's own work takes long, all others wait for it in each step."""
    scene = Scene(job)
    scene.start()
    form, factor = job.choose("figures", SLOWS), float(job.choose("factor", ("2.5", "4", "9")))
    since = job.choose("since", ("start", "midway"))
    for at in range(14):
        scene.at += 1
        for rank in job.turns():
            base = job.draw.uniform(0.95, 1.05)
            own = base * (factor if rank == job.bad and (since == "start" or at > 5) else 1)
            whole = factor * 1.05 + 0.1 if since == "start" or at > 5 else 1.15
            scene.write(
                rank, form, own=f"{own:.3f}", ms=f"{own * 1000:.1f}", wait=f"{whole - own:.3f}",
                wms=f"{(whole - own) * 1000:.1f}", whole=f"{whole:.3f}", rate=f"{512 / whole:.1f}",
            )  # fmt: skip
        job.later(whole)
    return scene.done(("slow",), is_suspect_right=True)


# --- the same forms, without what tells who it was ---------------------------------------------


def of_all_alike(job: Job) -> Case:
    """All raise the same in the same second: code, configuration or data of all."""
    scene = Scene(job, is_python=True)
    scene.start(1, 6)
    form, trouble, frames = (
        job.choose("form", tuple(CRASH_FORMS)),
        job.choose("shared", SHARED),
        job.draw.choice(TRACES),
    )
    for rank in job.turns():
        failed(scene, rank, trouble, form, frames)
    scene.launcher(scene.others[0], 1)
    return scene.done(())


def of_a_service(job: Job) -> Case:
    """What all need goes down."""
    scene = Scene(job)
    scene.start(1, 6)
    text = job.choose("service", SERVICES)
    for rank in job.turns():
        scene.write(rank, text, level="error")
    if job.choose("launcher too", ("yes", "no")) == "yes":
        scene.launcher(scene.others[0], 1)
    return scene.done(())


def of_the_limit(job: Job) -> Case:
    """The scheduler stops the job at its time limit, or someone all of it."""
    scene = Scene(job)
    scene.start(6, 12)
    name, text = AFTER[job.choose("stopped by", tuple(AFTER))]
    scene.files[name] = scene.filled(text, scene.others[0]).split("\n")
    said = job.choose("consequence", STOPS)
    for rank in job.turns():
        if said:
            scene.write(rank, said)
    return scene.done(())


def of_echoes(job: Job) -> Case:
    """Only what the fall of someone made of all: each lost somebody, and nobody says whom."""
    scene = Scene(job)
    scene.start(2, 6)
    text = job.choose("consequence", [one for one in (*scene.lost, *scene.late) if "{b" not in one])
    is_headed = job.choose("consequence headed", ("yes", "no")) == "yes"
    job.later(waited(text) if text in scene.late else 1)
    for rank in job.turns():
        scene.write(rank, text, level="error", is_headed=is_headed)
    return scene.done(())


FAMILIES: dict[str, Callable[[Job], Case]] = {
    "crash": crash, "native": native, "killed": killed, "stuck": stuck, "stacks": stacks, "beats": beats, "odd": odd,
    "slow": slow,
}  # fmt: skip
NOBODY: dict[str, Callable[[Job], Case]] = {
    "of all alike": of_all_alike, "of a service": of_a_service, "of the limit": of_the_limit, "of echoes": of_echoes,
}  # fmt: skip
