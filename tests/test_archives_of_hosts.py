"""An archive from each host, called after it: its logs of local ranks are of the ranks that the launcher there told (parsers/who/places/contexts.py)."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from parsers import read

HOSTS = {"yew4": 2, "yew9": 0, "yew1": 1}  # host → number of its node
EACH = 2
ERROR = (
    'Traceback (most recent call last):\n  File "/job/fit.py", line 9, in <module>\n    b = next(it)\nKeyError: "x"\n'
)
FORMS = ("{0}.zip|{0}/", "{0}.zip|", "{0}.tar.gz|{0}/", "logs/{0}.tgz|var/log/job/")


def packed(path: Path, members: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            head = tarfile.TarInfo(name)
            head.size = len(text)
            tar.addfile(head, io.BytesIO(text.encode()))


def members(node: int, fails: bool) -> dict[str, str]:
    ranks = [*range(node * EACH, node * EACH + EACH)]
    told = {"group_rank": node, "group_world_size": len(HOSTS), "local_ranks": [*range(EACH)], "global_ranks": ranks}
    agent = "I0312 01:14:27.3 901 torch/distributed/elastic/agent/server/api.py:525] [default] "
    lines = [
        f"{agent}Rendezvous complete for workers. Result:",
        *(f"{agent}  {name}={value}" for name, value in told.items()),
    ]
    own = {f"jobx/attempt_0/{at}/stderr.log": ERROR if fails and at == 1 else "loading\n" for at in range(EACH)}
    return {"agent.log": "\n".join(lines) + "\n", **own}


def raised(folder: Path, form: str, nodes: Mapping[str, int]) -> list[int | None]:
    for host, node in nodes.items():
        path, _, inner = form.format(host).partition("|")
        packed(folder / "b" / path, {inner + name: text for name, text in members(node, host == "yew4").items()})
    events = read(str(folder / "b")).tables["events"]
    return [rank for kind, rank in events.select("kind", "rank").iter_rows() if kind == "exception"]


@pytest.mark.parametrize("form", FORMS)
def test_a_local_rank_of_an_archive_is_that_of_its_host(tmp_path: Path, form: str) -> None:
    assert raised(tmp_path, form, HOSTS) == [2 * EACH + 1]


def test_archives_that_tell_the_same_ranks_are_of_no_host(tmp_path: Path) -> None:
    """One host, packed thrice."""
    assert raised(tmp_path, FORMS[0], dict.fromkeys(HOSTS, 1)) in ([None], [EACH + 1])
