"""Statistics of tensors whose records call their process by its number, which two nodes give to two of them: one fact, one answer, whatever the form."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from forensics import analyze
from parsers import read
from tests.sources import written

HOSTS = ("mira-a", "mira-c")
PIDS = (4410, 4425, 4431, 4477, 4410, 4425, 4431, 4477)  # by rank
BORN, STEP = 6, 640
LAYERS = [f"layers.{layer}.mlp.down_proj" for layer in range(3)]
Record = dict[str, Any]
Files = dict[str, list[str]]


def job() -> list[str]:
    own = [
        f"2026-06-15 16:49:0{rank} boot | rank {rank}/8 pid {PIDS[rank]} host {HOSTS[rank // 4]}" for rank in range(8)
    ]
    return own + [
        f"2026-06-15 16:5{at}:10 loop | step={600 + 10 * at} loss={'nan' if at > 3 else '2.11'}" for at in range(8)
    ]


def records(rank: int) -> list[Record]:
    found = []
    for step in (STEP - 10, STEP):
        is_bad = False
        for at, layer in enumerate(LAYERS):
            for side in ("in", "out"):
                is_bad |= rank == BORN and step == STEP and at == 1 and side == "out"
                found.append(
                    {
                        "step": step,
                        "stage": "fwd",
                        "module": layer,
                        "side": side,
                        "n_nan": 64 if is_bad else 0,
                        "n_inf": 0,
                        "absmax": 4.5 + at,
                    }
                )
    return found


def rows(ranks: Sequence[int], who: Callable[[int], Record]) -> list[Record]:
    return [who(rank) | one for rank in reversed(ranks) for one in records(rank)]


def table(own: Sequence[Record], mark: str) -> list[str]:
    return [mark.join(own[0]), *(mark.join(map(str, one.values())) for one in own)]


def by_pid(name: str = "pid") -> Callable[[int], Record]:
    return lambda rank: {name: PIDS[rank]}


def of_nodes(path: str, lines: Callable[[Sequence[Record]], list[str]], who: Callable[[int], Record]) -> Files:
    """A file of each node."""
    return {path.format(host=host): lines(rows(range(4 * node, 4 * node + 4), who)) for node, host in enumerate(HOSTS)}


def semicolons(own: Sequence[Record]) -> list[str]:
    return ["# probe 0.3, every 10 steps, forward hooks in order", *table(own, ";")]


def markdown(own: Sequence[Record]) -> list[str]:
    head, *rest = ["| " + line + " |" for line in table(own, " | ")]
    return [head, "|---" * len(own[0]) + "|", *rest]


def logfmt(own: Sequence[Record]) -> list[str]:
    return [" ".join(f"{name}={cell}" for name, cell in one.items()) for one in own]


def objects(own: Sequence[Record]) -> list[str]:
    return [json.dumps(one) for one in own]


def columns(own: Sequence[Record]) -> list[str]:
    return ["".join(f"{cell!s:>24}" for cell in line) for line in [[*own[0]], *(one.values() for one in own)]]


def with_commas(own: Sequence[Record]) -> list[str]:
    return table(own, ",")


def with_tabs(own: Sequence[Record]) -> list[str]:
    return table(own, "\t")


def hosted(rank: int) -> Record:
    return {"node": HOSTS[rank // 4], "pid": PIDS[rank]}


def called(form: str) -> Callable[[int], Record]:
    return lambda rank: {"who": form.format(host=HOSTS[rank // 4], pid=PIDS[rank])}


FORMS: dict[str, Callable[[], Files]] = {
    "semicolons": lambda: of_nodes("probe/{host}.csv", semicolons, by_pid()),
    "commas": lambda: of_nodes("probe/{host}.csv", with_commas, by_pid()),
    "tabs": lambda: of_nodes("probe_{host}.tsv", with_tabs, by_pid()),
    "columns": lambda: of_nodes("{host}/probe.txt", columns, by_pid()),
    "a page": lambda: of_nodes("{host}/probe.md", markdown, by_pid("process")),
    "objects": lambda: of_nodes("{host}.probe.jsonl", objects, by_pid("os_pid")),
    "pairs": lambda: of_nodes("{host}/probe.log", logfmt, by_pid()),
    "a column of hosts": lambda: {"probe.csv": with_commas(rows(range(8), hosted))},
    "objects of hosts": lambda: {"probe.jsonl": objects(rows(range(8), hosted))},
    "pairs of hosts": lambda: {"probe.log": logfmt(rows(range(8), hosted))},
    "host and pid in a cell": lambda: {"probe.csv": with_commas(rows(range(8), called("{host}:{pid}")))},
    "host and pid in an object": lambda: {"probe.jsonl": objects(rows(range(8), called("{host}/{pid}")))},
    "pid at host": lambda: {"probe.csv": with_commas(rows(range(8), called("{pid}@{host}")))},
    "pid in brackets": lambda: {"probe.csv": with_commas(rows(range(8), called("{host}[{pid}]")))},
    "a file each": lambda: {
        f"probe/{HOSTS[rank // 4]}_{PIDS[rank]}.csv": with_commas(rows([rank], lambda _: {})) for rank in range(8)
    },
    "a file each in folders": lambda: {
        f"{HOSTS[rank // 4]}/{PIDS[rank]}.csv": with_commas(rows([rank], lambda _: {})) for rank in range(8)
    },
}  # fmt: skip


def born(folder: Path, files: Files) -> set[int | None]:
    """The ranks of whom a statistic tells of NaN."""
    tensors = read(str(written(folder, {"job.out": job()} | files))).tables["tensors"]
    return {rank for rank, bad in tensors.select("rank", "nan_count").iter_rows() if bad}


@pytest.mark.parametrize("form", FORMS)
def test_whose_statistics_they_are_a_number_at_a_host_tells(form: str, tmp_path: Path) -> None:
    assert born(tmp_path, FORMS[form]()) == {BORN}


def test_it_is_named(tmp_path: Path) -> None:
    verdict = analyze(str(written(tmp_path, {"job.out": job()} | FORMS["semicolons"]()))).verdict
    first = verdict.first_anomaly
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "nan_birth", [BORN])
    assert first is not None and (first.step, first.module) == (STEP, LAYERS[1])


OTHERS: dict[str, Callable[[], Files]] = {
    "no host": lambda: {"probe.csv": with_commas(rows(range(4, 8), by_pid()))},
    "a host that is none of the job's": lambda: {"probe.csv": with_commas(rows(range(4, 8), lambda rank: {"node": "mira-x", "pid": PIDS[rank]}))},
    "of whom it gets": lambda: of_nodes("probe/{host}.csv", with_commas, by_pid("peer_pid")),
    "who began it": lambda: of_nodes("probe/{host}.csv", with_commas, by_pid("parent_pid")),
    "numbers of another attempt": lambda: of_nodes("probe/{host}.csv", with_commas, lambda rank: {"pid": PIDS[rank] + 1}),
    "one size that is a number of a process": lambda: {
        "probe/mira-c.csv": with_commas(rows([6, 7], lambda _: {"bytes": PIDS[5]}))
    },
    "two columns": lambda: of_nodes("probe/{host}.csv", with_commas, lambda rank: {"a": PIDS[rank], "b": PIDS[rank - rank % 4 + (rank + 1) % 4]}),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHERS)
def test_nobody_is_named_by_a_number_that_may_be_anothers(case: str, tmp_path: Path) -> None:
    assert born(tmp_path, OTHERS[case]()) <= {None}
