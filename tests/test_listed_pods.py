"""Lists of pods (`kubectl get pods`): the rank whose pod was killed for memory is named where the list is of the whole job, which ended, and the
logs leave nobody else; else a list names nobody."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import forensics

_LOST = "RuntimeError: [../gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.8.0.4]:40211. This is typically caused by a remote worker crashing."
_OWN = "ValueError: shard 17: bad magic number"
_HEADER = ("NAME", "READY", "STATUS", "RESTARTS", "AGE")
_NAMES = tuple(f"mt-trainer-{rank}" for rank in range(4))
_KILLED = 2
Files = Mapping[str, str]


def _steps(count: int = 8) -> str:
    return "".join(
        f"2026-05-14 05:{10 + step}:00 step {step} loss {2.9 - step / 20:.3f}\n" for step in range(1, count + 1)
    )


def _raised(rank: int, words: str) -> str:
    frames = (
        "Traceback (most recent call last):",
        '  File "/app/fit.py", line 88, in <module>',
        "    dist.all_reduce(g)",
        words,
    )
    return "".join(f"[rank{rank}]: {line}\n" for line in frames)


def _logs(
    names: Sequence[str] = _NAMES, ends: Mapping[int, str] | None = None, steps: Mapping[int, int] | None = None
) -> dict[str, str]:
    """A log of each rank; `ends`: what others print last than that they lost a peer."""
    told = {_KILLED: ""} | dict(ends or {})
    return {
        f"{name}.log": f"init done rank={rank} world_size={len(names)}\n"
        + _steps((steps or {}).get(rank, 8))
        + told.get(rank, _raised(rank, _LOST))
        for rank, name in enumerate(names)
    }


def _rows(names: Sequence[str] = _NAMES, **of: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A row for each; `of`: cells of a rank behind its name, as r2=("0/1", "Error", "0", "3h41m")."""
    usual = {rank: "OOMKilled" if rank == _KILLED else "Error" for rank in range(len(names))}
    return [(name, *of.get(f"r{rank}", ("0/1", usual[rank], "0", "3h41m"))) for rank, name in enumerate(names)]


def _list(rows: Sequence[Sequence[str]], header: Sequence[str] = _HEADER) -> str:
    return "".join("".join(f"{cell:<24}" for cell in row).rstrip() + "\n" for row in (header, *rows))


def _spaced(rows: Sequence[Sequence[str]], space: str) -> str:
    return _list([(space, *row) for row in rows], ("NAMESPACE", *_HEADER))


def _found(folder: Path, files: Files) -> tuple[str | None, list[int], list[int]]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    verdict = forensics.analyze(folder).verdict
    return verdict.cause, verdict.ranks, verdict.suspects.ranks


_JOB_SET = tuple(f"bert-workers-0-{rank}-{tail}" for rank, tail in enumerate(("x7k2p", "m4qzt", "9hvbd", "c2wnr")))
_PYTORCH_JOB = ("lm-master-0", "lm-worker-0", "lm-worker-1", "lm-worker-2")
_MPI_JOB = tuple(f"bert-worker-{rank}" for rank in range(4))
_WIDE = [(*row, f"10.80.7.{20 + at}", f"gpu-{at:03}", "<none>", "<none>") for at, row in enumerate(_rows())]
_TICKET = (
    f"## 现场记录\n训练中断，先看 Pod 状态：\n```\n$ kubectl get pods\n{_list(_rows())}```\n之后再看各节点日志。\n"
)
_SIX = tuple(f"sft-w-{rank}" for rank in range(6))
_ENV = "".join(
    f'---\nkind: Pod\nmetadata:\n  name: {name}\nspec:\n  containers:\n  - name: main\n    env:\n    - name: RANK\n      value: "{rank}"\n'
    '    - name: WORLD_SIZE\n      value: "6"\n'
    for rank, name in enumerate(_SIX)
)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(_logs() | {"pods.txt": _list(_rows())}, id="StatefulSet"),
        pytest.param(_logs(_JOB_SET) | {"pods.txt": _list([*_rows(_JOB_SET), ("bert-driver-0-0-p8s4l", "0/1", "Completed", "0", "3h41m")])}, id="JobSet"),
        pytest.param(_logs(_PYTORCH_JOB) | {"pods.txt": _list(_rows(_PYTORCH_JOB))}, id="PyTorchJob with master"),
        pytest.param(_logs(_MPI_JOB) | {"pods.txt": _list([("bert-launcher-x9k2p", "0/1", "Error", "0", "3h41m"), *_rows(_MPI_JOB)])}, id="MPIJob"),
        pytest.param(_logs() | {"pods.txt": _list(_WIDE, (*_HEADER, "IP", "NODE", "NOMINATED NODE", "READINESS GATES"))}, id="wide"),
        pytest.param(_logs() | {"pods.txt": _spaced([*_rows(), ("shop-cart-0", "1/1", "Running", "9 (2h ago)", "80d")], "nlp")}, id="with namespace"),
        pytest.param(_logs() | {"值班记录.md": _TICKET}, id="in a Chinese ticket"),
        pytest.param(_logs() | {"a.txt": _list(_rows()), "b.txt": _spaced(_rows(), "nlp")}, id="two lists that agree"),
        pytest.param(
            {name: text for name, text in _logs(_SIX).items() if name != "sft-w-5.log"}
            | {"pods.txt": _list(_rows(_SIX)), "env.yaml": _ENV},
            id="one log is not there",
        ),
    ],
)  # fmt: skip
def test_whose_pod_a_list_of_the_whole_job_tells_to_be_killed_is_named(tmp_path: Path, files: Files) -> None:
    assert _found(tmp_path, files) == ("host_oom", [_KILLED], [])


_RUNNING = [(name, "1/1", "Running", "0", "2h") for name in _NAMES]
_BEGUN_AGAIN = [(name, "1/1", "Running", "1 (3s ago)", "3h41m") for name in _NAMES]
_TIMED_OUT = "[rank{0}]:[E514 05:28:01.100 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600019 milliseconds before timing out.\n"
_ALL_TIMED_OUT = {rank: _TIMED_OUT.format(rank) for rank in range(4) if rank != _KILLED}
_WELL = dict.fromkeys(range(4), "training complete\n")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"pods.txt": _list(_rows())}, id="a list alone"),
        pytest.param(_logs(ends={1: ""}) | {"pods.txt": _list(_rows())}, id="two logs stop"),
        pytest.param(_logs(ends={1: "", 2: _raised(2, _LOST)}) | {"pods.txt": _list(_rows())}, id="it lost a peer itself"),
        pytest.param(_logs(ends=dict.fromkeys(range(4), "")) | {"pods.txt": _list(_rows())}, id="all logs stop"),
        pytest.param(_logs(ends=_ALL_TIMED_OUT) | {"pods.txt": _list(_rows())}, id="the others waited"),
        pytest.param(_logs() | {"pods.txt": _list([row for row in _rows() if "OOMKilled" in row])}, id="its row alone"),
        pytest.param(_logs() | {"pods.txt": _list(_rows()[1:])}, id="a pod is not listed"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r1=("1/1", "Running", "0", "3h41m")))}, id="another runs"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r1=("0/1", "CrashLoopBackOff", "0", "3h41m")))}, id="another is begun again"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r1=("0/1", "Evicted", "0", "3h41m")))}, id="another was evicted"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r1=("0/1", "OOMKilled", "0", "3h41m")))}, id="another was killed for memory, too"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r1=("0/1", "Completed", "0", "3h41m")))}, id="another completed"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r2=("0/1", "OOMKilled", "2 (1h ago)", "3h41m")))}, id="it was begun again before"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r2=("0/2", "OOMKilled", "0", "3h41m")))}, id="it has two containers"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(r2=("0/1", "OOMKilled", "0", "5d")))}, id="it is of an older run"),
        pytest.param(_logs() | {"pods.txt": _list(_rows(**dict.fromkeys(("r0", "r1", "r3"), ("0/1", "Error", "0", "90s")), r2=("0/1", "OOMKilled", "0", "90s")))}, id="pods younger than its steps"),
        pytest.param(_logs() | {"monday.txt": _list(_rows()), "tuesday.txt": _list(_RUNNING)}, id="another list tells that all run"),
        pytest.param(_logs() | {"before.txt": _list(_rows()), "after.txt": _list(_BEGUN_AGAIN)}, id="a later list tells of restarts"),
        pytest.param(_logs() | {"watch.txt": _list([*_RUNNING, *_rows()])}, id="watched"),
        pytest.param(_logs() | {"pods.txt": _spaced(_rows(), "nlp") + _spaced(_rows(r2=("0/1", "Error", "0", "3h41m")), "vision")}, id="two namespaces"),
        pytest.param(_logs() | {"a.txt": _spaced(_rows(), "nlp"), "b.txt": _spaced(_rows(), "staging")}, id="lists of two namespaces that agree"),
        pytest.param(_logs() | {"pods.txt": _list([*_rows(), ("mt-trainer-4", "1/1", "Running", "0", "3h41m")])}, id="more of that name go on"),
        pytest.param(_logs(steps={_KILLED: 20}) | {"pods.txt": _list(_rows())}, id="its log went on"),
        pytest.param(_logs(ends={_KILLED: "[rank2]: slurmstepd: error: *** STEP 7.0 ON gpu-2 CANCELLED AT 2026-05-14T05:19:00 ***\n"}) | {"pods.txt": _list(_rows())}, id="somebody stopped it"),
        pytest.param(_logs() | {"pods.txt": _list(_rows()).replace("mt-trainer", "xmt-trainer")}, id="pods of another job"),
        pytest.param(_logs(ends=_WELL) | {"first-try.txt": _list(_rows())}, id="the job ended well"),
        pytest.param(_logs(ends={_KILLED: "[rank2]: shard 17 is damaged, leaving now\n"}) | {"pods.txt": _list(_rows())}, id="it says in its own words how it ended"),
        pytest.param(_logs(ends={_KILLED: "[rank2]: Received signal 15, exiting\n"}) | {"pods.txt": _list(_rows())}, id="it was asked to stop"),
        pytest.param(_logs(ends={0: _raised(0, _LOST) + _list(_rows(r2=("0/1", "Error", "0", "3h41m"), r3=("0/1", "OOMKilled", "0", "3h41m")))}), id="pasted into a log of another rank"),
        pytest.param(_logs(steps={_KILLED: 4}) | {"pods.txt": _list(_rows())}, id="its log stops long before the others'"),
        pytest.param({name: text for name, text in _logs(_SIX).items() if name not in ("sft-w-4.log", "sft-w-5.log", "sft-w-0.log")} | {"pods.txt": _list(_rows(_SIX)), "env.yaml": _ENV}, id="half of the logs are not there"),
        pytest.param({name: text.replace("size=6", "size=?") for name, text in _logs(_SIX).items() if name < "sft-w-4"} | {"pods.txt": _list(_rows(_SIX))}, id="pods of nobody knows which ranks"),
        pytest.param({f"mt-trainer-{pod}.log": "".join(f"[default{local}]:init done rank={2 * pod + local} world_size=4\n" for local in range(2)) + "".join(f"[default{local}]:step {step} loss 2.{step}\n" for step in range(8) for local in range(2)) + ("" if pod else "".join(f"[default{local}]:{_LOST}\n" for local in range(2))) for pod in range(2)} | {"pods.txt": _list([("mt-trainer-0", "0/1", "Error", "0", "3h"), ("mt-trainer-1", "0/1", "OOMKilled", "0", "3h")])}, id="two ranks in a pod"),
    ],
)  # fmt: skip
def test_else_a_list_names_nobody_for_it(tmp_path: Path, files: Files) -> None:
    cause, ranks, _ = _found(tmp_path, files)
    assert (cause != "host_oom", ranks) == (True, [])


def test_whose_own_error_began_it_is_named_as_before(tmp_path: Path) -> None:
    files = _logs(ends={1: _raised(1, _OWN)}) | {"pods.txt": _list(_rows())}
    assert _found(tmp_path, files) == ("exception", [1], [])


_DESCRIBED = """\
Name:         mt-trainer-1
Namespace:    nlp
Node:         gpu-001/10.1.1.1
Containers:
  main:
    State:          Terminated
      Reason:       OOMKilled
      Exit Code:    137
"""
_BY_KERNEL = (
    "[Thu May 14 05:18:30 2026] Out of memory: Killed process 4711 (python) total-vm:81234kB, anon-rss:71234kB\n"
)


@pytest.mark.parametrize(("name", "text"), [("describe.txt", _DESCRIBED), ("mt-trainer-1.dmesg", _BY_KERNEL)])
def test_what_is_told_of_another_pod_outweighs_a_list(tmp_path: Path, name: str, text: str) -> None:
    _, ranks, _ = _found(tmp_path, _logs() | {"pods.txt": _list(_rows()), name: text})
    assert _KILLED not in ranks
