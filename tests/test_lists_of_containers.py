"""Lists of containers with whatever columns somebody asked for: each end is of the container whose row it is. And what readers print of what they read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from forensics import Report, analyze
from tests.sources import written

Files = dict[str, list[str]]
NAMES = ("amber", "blue", "coral", "dune")
ORDER = (1, 3, 0, 2)  # name → its rank, by place
IDS = ("ed0b2bdc9d31", "548dc5d9d8fb", "f690681a1945", "2b55bd28e0b6")
ODD = "coral"
COMPOSE = ["services:"] + [
    line
    for name in NAMES
    for line in (
        f"  trainer-{name}:",
        "    image: fit:24.11",
        f"    hostname: {name}",
        "    environment:",
        f'      RANK: "{ORDER[NAMES.index(name)]}"',
        '      WORLD_SIZE: "4"',
    )
]
LOST = (
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [172.20.5.24]:41447"
)
Row = Callable[[int, str, str], str]
LISTS: dict[str, tuple[str, Row]] = {
    "name before state": ("CONTAINER ID   NAMES                  STATUS", lambda at, name, end: f"{IDS[at]}   {name}   {end}"),
    "name and state": ("NAMES                    STATUS", lambda at, name, end: f"{name}      {end}"),
    "with tabs": ("", lambda at, name, end: f"{IDS[at]}\t{name}\t{end}"),
    "with an image": ("NAMES               IMAGE         STATUS", lambda at, name, end: f"fit:24.11     {name}     {end}"),
    "as it is": ("CONTAINER ID   IMAGE       COMMAND      CREATED          STATUS                      PORTS     NAMES", lambda at, name, end: f'{IDS[at]}   fit:24.11   "python -u"   29 minutes ago   {end}             {name}'),
    "without ports": ("CONTAINER ID   IMAGE       CREATED          STATUS                      NAMES", lambda at, name, end: f"{IDS[at]}   fit:24.11   29 minutes ago   {end}   {name}"),
}  # fmt: skip


def log(name: str, at: int) -> list[str]:
    own = [f"trainer-{name}-1  | step {step} loss 2.{step}{at}" for step in range(3)]
    return [*own] if name == ODD else [*own, f"trainer-{name}-1  | Traceback (most recent call last):", f'trainer-{name}-1  |   File "/app/fit.py", line 9, in <module>', f"trainer-{name}-1  |     dist.all_reduce(x)", f"trainer-{name}-1  | {LOST}"]  # fmt: skip


def job(form: str, ends: Callable[[str], str], prefix: str = "fit-") -> Files:
    head, row = LISTS[form]
    rows = [row(at, f"{prefix}trainer-{name}-1", ends(name)) for at, name in reversed([*enumerate(NAMES)])]
    logs = [line for at, name in enumerate(NAMES) for line in log(name, at)]
    return {
        "docker-compose.yml": COMPOSE,
        "compose.log": logs,
        "ps.txt": ["$ docker ps -a", *([head] if head else []), *rows],
    }


def judged(folder: Path, files: Files) -> Report:
    return analyze(str(written(folder, files)))


def killed(name: str) -> str:
    return f"Exited ({137 if name == ODD else 1}) 22 minutes ago"


# A name alone in its row is joined to nobody by the project before it.
_WITH_PROJECT = ("name before state", "with tabs", "without ports")


@pytest.mark.parametrize(
    ("form", "prefix"), [*((form, "") for form in LISTS), *((form, "fit-") for form in _WITH_PROJECT)]
)
def test_each_end_is_of_its_own_row(form: str, prefix: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, job(form, killed, prefix)).verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "killed", [ORDER[NAMES.index(ODD)]])


def test_a_container_of_another_program_is_nobody(tmp_path: Path) -> None:
    files = job("name before state", lambda name: "Exited (1) 22 minutes ago")
    files["ps.txt"].append("aa55bd28e0b6   grafana   Exited (137) 3 days ago")
    assert judged(tmp_path, files).verdict.ranks == []
