"""Records real runs of two and three programs, each with one fault: a trainer of four ranks, an engine of two that it asks, a reward service.

    python samples/scripts/programs_matrix.py OUT [NAME ...]         OUT/NAME/ and OUT/expect.json, the truths in the form of a set of cases

Trainer and engine are started by torchrun, each with a world of its own, over gloo; they and the service speak HTTP. What is gathered is what a person
has afterwards: the logs of the ranks and of the launchers, and of a run that stands still two looks by py-spy, some seconds apart.

Needs PyTorch and py-spy; nothing of `forensics` imports this.
"""

import ctypes
import http.server
import json
import logging
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

TRAINERS, ENGINES = 4, 2
STEPS, FAULTY = 12, 5
LOOKS, APART = 2, 9.0
HANG_AFTER = 45.0
LIMIT = 120.0
# name → (program, rank, what it does there), the truth, whether gloo gives up soon
_HANG: Mapping[str, Any] = {"kinds": ["hang"], "causes": ["rank_absent", None]}
_CRASH: Mapping[str, Any] = {"kinds": ["crash"]}
RUNS: Mapping[str, tuple[tuple[str, int, str], Mapping[str, Any], bool]] = {
    "trainer_exception": (("trainer", 2, "raise"), {**_CRASH, "causes": ["exception"], "ranks": [2]}, True),
    "trainer_killed": (("trainer", 1, "kill"), {**_CRASH, "causes": ["killed"], "ranks": [1]}, True),
    "trainer_segfault": (("trainer", 3, "segfault"), {**_CRASH, "causes": ["segfault"], "ranks": [3]}, True),
    "trainer_read": (("trainer", 2, "read"), {**_HANG, "ranks": [2]}, False),
    "trainer_lock": (("trainer", 0, "lock"), {**_HANG, "ranks": [0]}, False),
    "trainer_sleeps": (("trainer", 3, "sleep"), {**_HANG, "ranks": [3]}, True),
    "trainer_read_timeout": (("trainer", 1, "read"), {**_HANG, "ranks": [1]}, True),
    "engine_exception": (("engine", 1, "raise"), {**_CRASH, "causes": ["exception"], "ranks": [1]}, True),
    "engine_killed": (("engine", 1, "kill"), {**_CRASH, "causes": ["killed"], "ranks": [1]}, True),
    "engine_segfault": (("engine", 1, "segfault"), {**_CRASH, "causes": ["segfault"], "ranks": [1]}, True),
    "engine_read": (("engine", 1, "read"), {**_HANG, "ranks": [1]}, False),
    "engine_lock": (("engine", 0, "lock"), {**_HANG, "ranks": [0]}, False),
    "engine_sleeps": (("engine", 1, "sleep"), {**_HANG, "ranks": [1]}, False),
    "reward_silent": (("reward", 0, "sleep"), {"kinds": ["hang"], "ranks": []}, False),
    "reward_killed": (("reward", 0, "kill"), {**_CRASH, "ranks": []}, True),
    "reward_fails": (("reward", 0, "raise"), {**_CRASH, "ranks": []}, True),
    "engine_port_taken": (("engine", 0, "port"), {"kinds": ["launch", "crash"], "ranks": []}, True),
    "no_fault": (("none", 0, ""), {"kinds": ["healthy"], "ranks": []}, True),
    "one_retry": (("reward", 0, "once"), {"kinds": ["healthy"], "ranks": []}, True),
    "trainer_stopped": (("trainer", -1, "stop"), {**_CRASH, "ranks": []}, True),
}


def _log(program: str, rank: int | None) -> logging.Logger:
    who = program if rank is None else f"{program} rank {rank}"
    logging.basicConfig(format=f"%(asctime)s %(levelname)s [{who}] %(message)s", level=logging.INFO, stream=sys.stderr)
    return logging.getLogger(program)


def _act(what: str) -> None:
    """The fault, in the process that has it."""
    if what == "raise":
        names = {"eos": 1}
        names["pad"]
    elif what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "segfault":
        ctypes.string_at(0)
    elif what == "read":
        pipe = Path(os.environ["WORK"]) / "shard.pipe"
        if not pipe.exists():
            os.mkfifo(pipe)
        with pipe.open("rb") as shard:
            shard.read()
    elif what == "lock":
        taken = threading.Lock()
        taken.acquire()
        taken.acquire()
    elif what == "sleep":
        time.sleep(3600)


def _fault(program: str, rank: int) -> str:
    where, who, what = os.environ["FAULT"].split(":")
    return what if where == program and int(who) == rank else ""


def _ask(port: str, path: str, said: Any) -> Any:
    data = json.dumps(said).encode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", data, timeout=600) as answer:
        return json.load(answer)


def load_batch(program: str, rank: int, step: int) -> list[float]:
    if step == FAULTY:
        _act(_fault(program, rank))
    return [(rank + 1) * 0.1 + step * 0.01] * 8


def train() -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ["PATIENCE"])))
    rank, log = dist.get_rank(), _log("trainer", dist.get_rank())
    log.info("world_size=%d host=%s pid=%d", dist.get_world_size(), socket.gethostname(), os.getpid())
    weight = torch.ones(8)
    for step in range(STEPS):
        batch = load_batch("trainer", rank, step)
        answer = _ask(os.environ["ENGINE_PORT"], "generate", {"step": step, "prompt": batch})
        try:
            score = _ask(os.environ["REWARD_PORT"], "score", {"step": step, "text": answer["text"]})["score"]
        except OSError:
            if os.environ["FAULT"] != "reward:0:once":
                raise
            log.warning("reward service failed once, asking again")
            score = _ask(os.environ["REWARD_PORT"], "score", {"step": step, "text": answer["text"]})["score"]
        gradient = torch.tensor(batch) * score
        dist.all_reduce(gradient)
        weight -= 0.01 * gradient
        log.info("step %d/%d loss %.4f reward %.3f", step + 1, STEPS, float(weight.square().mean()), score)
        time.sleep(0.2)
    dist.barrier()
    log.info("training finished")
    dist.destroy_process_group()


def serve_engine() -> None:
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", timeout=timedelta(seconds=float(os.environ["PATIENCE"])))
    rank, log = dist.get_rank(), _log("engine", dist.get_rank())
    log.info("tensor parallel world_size=%d pid=%d", dist.get_world_size(), os.getpid())
    asked: queue.Queue[tuple[Any, queue.Queue[Any]]] = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer: queue.Queue[Any] = queue.Queue()
            asked.put((said, answer))
            _reply(self, answer.get())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of its base class
            log.info(format, *args)

    if rank == 0:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["ENGINE_PORT"])), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        log.info("serving on port %s", os.environ["ENGINE_PORT"])
    while True:
        said, answer = _next(asked) if rank == 0 else (None, None)
        box = [said]
        dist.broadcast_object_list(box, src=0)
        if box[0] == "idle":
            continue
        if box[0] == "stop":
            break
        hidden = torch.tensor(load_batch("engine", rank, box[0]["step"]))
        dist.all_reduce(hidden)
        if answer is not None:
            answer.put({"text": f"{float(hidden.sum()):.3f}"})
    dist.barrier()
    dist.destroy_process_group()
    log.info("engine stopped")


def _next(asked: "queue.Queue[tuple[Any, queue.Queue[Any]]]") -> tuple[Any, "queue.Queue[Any] | None"]:
    """The next request, or a word to the others every second that there is none."""
    if (Path(os.environ["WORK"]) / "stop").exists():
        return "stop", None
    try:
        return asked.get(timeout=1)
    except queue.Empty:
        return "idle", None


def _reply(handler: http.server.BaseHTTPRequestHandler, said: Any) -> None:
    data = json.dumps(said).encode()
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def serve_reward() -> None:
    log = _log("reward", None)
    failed: list[int] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            what = _fault("reward", 0) if said["step"] >= FAULTY else ""
            if what == "once" and not failed:
                failed.append(1)
                self.send_error(503)
                return
            _act("" if what == "once" else what)
            _reply(self, {"score": len(said["text"]) / 10})

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of its base class
            log.info(format, *args)

    log.info("reward model loaded, pid %d, port %s", os.getpid(), os.environ["REWARD_PORT"])
    http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["REWARD_PORT"])), Handler).serve_forever()


# --- the driver ------------------------------------------------------------------------------------------------------


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def record(out: Path, name: str) -> None:
    (program, rank, what), _, gives_up = RUNS[name]
    folder, work = out / name, out / f".{name}"
    for path in (folder, work):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    ports = {"ENGINE_PORT": str(_free_port()), "REWARD_PORT": str(_free_port())}
    env = os.environ | ports | {
        "FAULT": f"{program}:{rank}:{what}", "WORK": str(work), "PATIENCE": "20" if gives_up else "1800",
        "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1",
    }  # fmt: skip
    taken = socket.socket()
    if what == "port":
        taken.bind(("127.0.0.1", int(ports["ENGINE_PORT"])))
        taken.listen()
    run = [sys.executable, "-m", "torch.distributed.run", "--redirects", "3", "--master-port"]
    started = {}
    for role, world in (("reward", 0), ("engine", ENGINES), ("trainer", TRAINERS)):
        logs = ["--log-dir", str(folder / role), "--nproc-per-node", str(world)]
        command = [*run, str(_free_port()), *logs, __file__, role] if world else [sys.executable, __file__, role]
        with (folder / f"{role}.log").open("w") as log:
            started[role] = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        time.sleep(6 if role != "trainer" else 0)
    _watch(folder, work, started, what, gives_up)
    taken.close()
    for one in started.values():
        for pid in _below(one.pid) if one.poll() is None else ():
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(work)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.stat().st_size:
            path.unlink()


def _watch(
    folder: Path, work: Path, started: Mapping[str, "subprocess.Popen[bytes]"], what: str, gives_up: bool
) -> None:
    begun, ends = time.monotonic(), folder / "ends.log"
    seen: set[str] = set()
    with ends.open("w") as told:
        while time.monotonic() - begun < LIMIT and "trainer" not in seen:
            for role, one in started.items():
                if role not in seen and one.poll() is not None:
                    seen.add(role)
                    told.write(
                        f"{time.strftime('%Y-%m-%d %H:%M:%S')} supervisor: {role} (pid {one.pid}) exited with {one.poll()}\n"
                    )
            if what == "stop" and time.monotonic() - begun > 12 and "trainer" not in seen:
                told.write(
                    f"{time.strftime('%Y-%m-%d %H:%M:%S')} supervisor: asked by the operator to stop, sending SIGTERM to trainer\n"
                )
                started["trainer"].terminate()
                started["trainer"].wait()
            if not gives_up and time.monotonic() - begun > HANG_AFTER:
                break
            time.sleep(0.5)
        if not gives_up:
            _look(folder, started)
        elif not (seen - {"trainer"}):
            (work / "stop").touch()
            time.sleep(4)


def _below(root: int) -> list[int]:
    """A process and its children, whose groups torchrun makes anew."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = [(int(pid), int(parent)) for pid, parent in map(str.split, listed.splitlines())]
    found = [root]
    for pid in found:
        found += [child for child, parent in parents if parent == pid]
    return found


def _look(folder: Path, started: Mapping[str, "subprocess.Popen[bytes]"]) -> None:
    for look in range(1, LOOKS + 1):
        for role, one in started.items():
            for pid in _below(one.pid):
                dump = subprocess.run(
                    ["py-spy", "dump", "--pid", str(pid)], capture_output=True, text=True, check=False
                )
                at = folder / f"look{look}"
                at.mkdir(exist_ok=True)
                (at / f"{role}-{pid}.txt").write_text(dump.stdout)
        time.sleep(APART if look < LOOKS else 0)


def main() -> None:
    out, names = Path(sys.argv[1]).resolve(), sys.argv[2:] or list(RUNS)
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        record(out, name)
        print(name, flush=True)
    (out / "expect.json").write_text(json.dumps({name: RUNS[name][1] for name in RUNS}, indent=1) + "\n")


if __name__ == "__main__":
    {"trainer": train, "engine": serve_engine, "reward": serve_reward}.get(sys.argv[1], main)()
