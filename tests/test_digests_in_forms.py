"""Digests of weights that replicas print now and then, in any form and under any name: who leaves most of them is named, and of two nobody is."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from forensics import analyze
from tests.sources import written

STEPS = range(1, 31)
Files = Mapping[str, Sequence[str]]


def digest(step: int, rank: int, odd: int | None = None, since: int = 20) -> str | None:
    """What a rank prints each five steps: the same as all others, the odd one something else from a step on."""
    if step % 5:
        return None
    is_off = rank == odd and step >= since
    return f"{(step * 2654435761 + (40503 if is_off else 0)) % (1 << 32):08x}"


def loss(step: int, rank: int) -> float:
    return round(2 + 3 / step + 0.013 * rank + 0.002 * ((step * 7 + rank * 3) % 11), 4)


def _each(world: int, path: str, made: Callable[[int], list[str]]) -> dict[str, list[str]]:
    return {path.format(rank): made(rank) for rank in range(world)}


def drawn(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        rows = [
            f"| {n} | {loss(n, rank)} | 0.{n:02d}1 | {f'`{d}`' if (d := digest(n, rank, odd)) else ''} |" for n in STEPS
        ]
        return [
            f"# run, rank {rank} of {world}",
            "",
            "| step | loss | gap | weights crc32 |",
            "|---:|---:|---:|:---|",
            *rows,
        ]

    return _each(world, "report_rank{}.md", made)


def bold(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        rows = [f"| {n} | **{loss(n, rank)}** | {f'**{d}**' if (d := digest(n, rank, odd)) else '-'} |" for n in STEPS]
        return ["| it | loss | param digest |", "| --- | --- | --- |", *rows]

    return _each(world, "notes/rank{}.md", made)


def commas(world: int, odd: int | None) -> Files:
    return _each(
        world,
        "m_rank{}.csv",
        lambda r: ["step,loss,w_crc", *(f"{n},{loss(n, r)},{digest(n, r, odd) or ''}" for n in STEPS)],
    )


def quoted(world: int, odd: int | None) -> Files:
    return _each(
        world,
        "m_rank{}.csv",
        lambda r: ['"step","loss","sha1"', *(f'"{n}","{loss(n, r)}","{digest(n, r, odd) or ""}"' for n in STEPS)],
    )


def tabs(world: int, odd: int | None) -> Files:
    return _each(
        world,
        "worker-{}.tsv",
        lambda r: ["rank\tstep\tloss\tfingerprint", *(f"{r}\t{n}\t{loss(n, r)}\t{digest(n, r, odd) or '-'}" for n in STEPS)],
    )  # fmt: skip


def merged(world: int, odd: int | None) -> Files:
    rows = [f"{n},{r},{loss(n, r)},{digest(n, r, odd) or 'NA'}" for n in STEPS for r in range(world)]
    return {"all.csv": ["step,rank,loss,param_hash", *rows]}


def wide(world: int, odd: int | None) -> Files:
    heads = ",".join(f"crc_rank{r}" for r in range(world))
    rows = [f"{n},{loss(n, 0)},{','.join(digest(n, r, odd) or '' for r in range(world))}" for n in STEPS if n % 5 == 0]
    return {"digests.csv": [f"step,loss,{heads}", *rows]}


def objects(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        return [
            json.dumps({"step": n, "rank": rank, "loss": loss(n, rank), "params": {"crc32": digest(n, rank, odd)}})
            for n in STEPS
        ]

    return _each(world, "log_rank{}.jsonl", made)


def sparse(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        lines = []
        for n in STEPS:
            lines.append(
                json.dumps({"ev": "train", "it": n, "who": {"rank": rank, "pid": 400 + rank}, "loss": loss(n, rank)})
            )
            if d := digest(n, rank, odd):
                lines.append(
                    json.dumps({"ev": "check", "it": n, "who": {"rank": rank, "pid": 400 + rank}, "weights_md5": d})
                )
        return lines

    return _each(world, "w{}.jsonl", made)


def logfmt(world: int, odd: int | None) -> Files:
    lines = [
        f"level=info rank={r} step={n} loss={loss(n, r)}" + (f" param_hash={d}" if (d := digest(n, r, odd)) else "")
        for n in STEPS
        for r in range(world)
    ]
    return {"train.log": lines}


def prose(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        lines = []
        for n in STEPS:
            lines.append(f"2026-11-30 07:00:{n:02d} rank {rank}/{world} step {n}: loss {loss(n, rank)}")
            if d := digest(n, rank, odd):
                lines.append(f"2026-11-30 07:00:{n:02d} rank {rank}/{world} step {n}: sha1 of the weights {d}")
        return lines

    return _each(world, "out.{}.log", made)


def prefixed(world: int, odd: int | None) -> Files:
    lines = [
        f"[default{r}]:step {n:3d} | loss {loss(n, r)}" + (f" | weights {d}" if (d := digest(n, r, odd)) else "")
        for n in STEPS
        for r in range(world)
    ]
    return {"console.txt": [f"[default{r}]:rank {r} of {world}" for r in range(world)] + lines}


def ini(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        lines = ["[run]", f"rank = {rank}", f"world = {world}"]
        for n in STEPS:
            lines += ["", f"[step {n}]", f"loss = {loss(n, rank)}"]
            if d := digest(n, rank, odd):
                lines.append(f"weights_crc32 = {d}")
        return lines

    return _each(world, "p{}.ini", made)


def yaml(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        lines = [f"rank: {rank}", f"world_size: {world}", "steps:"]
        for n in STEPS:
            lines += [f"  - step: {n}", f"    loss: {loss(n, rank)}"]
            if d := digest(n, rank, odd):
                lines.append(f"    checksum: '{d}'")
        return lines

    return _each(world, "run-{}.yaml", made)


def aligned(world: int, odd: int | None) -> Files:
    def made(rank: int) -> list[str]:
        return [
            f"{'step':>6} {'loss':>8} {'crc32':>10}",
            *(f"{n:>6} {loss(n, rank):>8} {digest(n, rank, odd) or '-':>10}" for n in STEPS),
        ]

    return _each(world, "rank{}.txt", made)


FORMS = (drawn, bold, commas, quoted, tabs, merged, wide, objects, sparse, logfmt, prose, prefixed, ini, yaml, aligned)


@pytest.mark.parametrize("form", FORMS)
def test_who_leaves_most_is_named(tmp_path: Path, form: Callable[[int, int | None], Files]) -> None:
    said = analyze(str(written(tmp_path, form(4, 2)))).verdict
    assert (said.kind, said.cause, said.ranks) == ("numerics", "replica_divergence", [2])
    assert said.first_anomaly is not None and said.first_anomaly.step == 20


@pytest.mark.parametrize("form", FORMS)
def test_of_two_nobody_is(tmp_path: Path, form: Callable[[int, int | None], Files]) -> None:
    said = analyze(str(written(tmp_path, form(2, 1)))).verdict
    assert (said.kind, said.cause, said.ranks) == ("numerics", "replica_divergence", [])
    assert said.first_anomaly is not None and said.first_anomaly.step == 20


@pytest.mark.parametrize("form", FORMS[::4])
def test_where_all_agree_nothing_is_wrong(tmp_path: Path, form: Callable[[int, int | None], Files]) -> None:
    said = analyze(str(written(tmp_path, form(3, None)))).verdict
    assert said.kind in ("healthy", "unknown") and not said.ranks
