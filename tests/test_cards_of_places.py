"""Rows of a table that name a place and a number there, from 0 or from 1 on: one fact in many tables, one answer; and numbers that count something else."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

Files = dict[str, list[str]]
HOSTS = ("mtg-221", "mtg-217", "mtg-219")  # in the order of their nodes
CALLED = dict(zip(HOSTS, ("三号机", "一号机", "二号机"), strict=True))
STEPS, EACH = (4070, 4080, 4090, 4100), 4
Row = tuple[int, str, int, float]


def job() -> Files:
    lines = [f"[Colossal] {host}: cd /data && torchrun --nnodes=3 --node_rank={node} --nproc_per_node=4 --rdzv_backend=static --master_addr=mtg-221 train.py" for node, host in enumerate(HOSTS)]  # fmt: skip
    return {"launch.txt": [*lines, "Distributed environment is initialized, world size: 12"]} | {
        f"{host}/smi.txt": [f"{host} $ uptime", "up 3 days"] for host in HOSTS
    }


def rows(base: int, names: Sequence[str] = HOSTS, *, mixed: bool = False) -> Iterator[Row]:
    """Of each step, what each process tells: by the order of names, not of ranks."""
    for step in STEPS:
        every = [(host, card) for host in sorted(names) for card in range(EACH)]
        for at, (host, card) in enumerate(every[step // 10 % 3 :] + every[: step // 10 % 3] if mixed else every):
            yield step, host, card + base, 2.5 + at / 100 + step / 1e5


def separated(mark: str, head: str, base: int, *, names: Sequence[str] = HOSTS, mixed: bool = False) -> Files:
    return {"figures.txt": [mark.join(head.split()), *(mark.join((str(step), host, str(card), f"{loss:.5f}")) for step, host, card, loss in rows(base, names, mixed=mixed))]}  # fmt: skip


def with_aliases(files: Files) -> Files:
    listed = {
        "资产表.csv": [
            "序号,别名,主机名,机柜",
            *(f"{at},{CALLED[host]},{host},C07-1{at}" for at, host in enumerate(sorted(HOSTS), 1)),
        ]
    }
    return files | listed


FORMS: dict[str, Files] = {
    "from 0, commas": separated(",", "step host card loss", 0),
    "from 1, commas": separated(",", "step host card loss", 1),
    "from 1, tabs": separated("\t", "step host slot loss", 1),
    "from 0, marks": separated(" | ", "step machine unit loss", 0),
    "from 1, marks": separated(" | ", "step machine unit loss", 1),
    "from 1, semicolons": separated(";", "step node unit loss", 1),
    "from 1, in another order each time": separated(",", "step host card loss", 1, mixed=True),
    "from 1, a word that nobody knows": separated(",", "step host 卡号 loss", 1),
    "from 0, spaces": separated("   ", "step host card loss", 0),
    "from 1, spaces": separated("   ", "step host card loss", 1),
    "from 1, the number first": {"figures.csv": ["lane,machine,step,loss", *(f"{card},{host},{step},{loss:.5f}" for step, host, card, loss in rows(1))]},
    "from 1, other names of hosts": with_aliases(separated(",", "step 机器 卡号 loss", 1, names=[*CALLED.values()])),
    "from 0, other names of hosts": with_aliases(separated(",", "step 机器 卡号 loss", 0, names=[*CALLED.values()])),
}  # fmt: skip


def ranks(folder: Path, files: Files) -> list[int | None]:
    """Of the rows of the table, in their order."""
    steps = read(str(written(folder, job() | files))).tables["steps"]
    return [rank for file, rank in steps.select("file", "rank").iter_rows() if str(file).startswith("figures")]


@pytest.mark.parametrize("form", FORMS)
def test_a_number_at_a_place_is_a_process(form: str, tmp_path: Path) -> None:
    base = 1 if "from 1" in form else 0
    names = [*CALLED.values()] if "other names" in form else [*HOSTS]
    node = {name: at for at, pair in enumerate(CALLED.items()) for name in pair}
    assert ranks(tmp_path, FORMS[form]) == [
        EACH * node[host] + card - base for _, host, card, _ in rows(base, names, mixed="another order" in form)
    ]


def changed(change: Callable[[Row], Row | None]) -> Files:
    kept = [made for one in rows(1) if (made := change(one)) is not None]
    return {
        "figures.csv": ["step,host,card,loss", *(f"{step},{host},{card},{loss:.5f}" for step, host, card, loss in kept)]
    }


HIDDEN = {f"{host}/env.txt": ["CUDA_VISIBLE_DEVICES=2,0,3,1"] for host in HOSTS}
OTHERS: dict[str, Files] = {
    "one is missing everywhere": changed(lambda one: None if one[2] == 3 else one),
    "one too many": changed(lambda one: (one[0], one[1], one[2] + (one[2] == 4), one[3])),
    "one host has another base": changed(lambda one: (one[0], one[1], one[2] - (one[1] == "mtg-219"), one[3])),
    "two on one number": changed(lambda one: (one[0], one[1], min(one[2], 3), one[3])),
    "something hides devices": changed(lambda one: one) | HIDDEN,
    "layers": {"figures.csv": ["step,host,layer,loss", *(f"{step},{host},{card},{loss:.5f}" for step, host, card, loss in rows(1))]},
    "places in a group": {"figures.csv": ["step,host,tp,loss", *(f"{step},{host},{card},{loss:.5f}" for step, host, card, loss in rows(1))]},
    "hosts that nobody knows": {"figures.csv": ["step,host,card,loss", *(f"{step},x{host[-1]},{card},{loss:.5f}" for step, host, card, loss in rows(1))]},
}  # fmt: skip


@pytest.mark.parametrize("form", OTHERS)
def test_other_numbers_are_nobodys(form: str, tmp_path: Path) -> None:
    assert {*ranks(tmp_path, OTHERS[form])} <= {None}
