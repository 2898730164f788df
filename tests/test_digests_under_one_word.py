"""Fingerprints of several parts of a model, printed by every rank: one rank's of one part is another from a step on, all numbers are finite; whatever the
parts are called, and where the word for a fingerprint is the same for each; and who may not be named."""

import json
from collections.abc import Callable, Mapping
from hashlib import sha1
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

STEPS, AT = 14, 8
Parts = tuple[str, str]
Writer = Callable[[int, int, int, Parts], str]  # rank, of how many, step, the fingerprints of two parts


def digest(part: str, step: int, side: int) -> str:
    return sha1(f"{part} {step} {side}".encode()).hexdigest()[:8]


def parts(step: int, side: int) -> Parts:
    return digest("users", step, 0), digest("films", step, side)


def _loss(rank: int, step: int) -> str:
    return f"{1.1 - step / 40 + (rank * 7 + step * 3) % 11 / 90:.4f}"


def _sentence(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return (
        f"[{rank}] Update {step} finished on worker {rank}: squared error on my own shard was {_loss(rank, step)}; the user table now has norm 9.3{step:02}"
        f" and fingerprint {told[0]}, the film table has norm 8.2{step:02} and fingerprint {told[1]}."
    )


def _brackets(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return f"rank {rank}: step {step} loss {_loss(rank, step)} encoder (sha1 {told[0]}) decoder (sha1 {told[1]})"


def _pairs(rank: int, ranks: int, step: int, told: Parts) -> str:
    return f"level=info rank={rank} world={ranks} step={step} loss={_loss(rank, step)} users_crc={told[0]} films_crc={told[1]}"


def _objects(rank: int, ranks: int, step: int, told: Parts) -> str:
    nested = {"users": {"norm": 9.3, "crc32": told[0]}, "films": {"norm": 8.2, "crc32": told[1]}}
    return json.dumps({"rank": rank, "world": ranks, "step": step, "loss": float(_loss(rank, step)), "tables": nested})


def _flat(rank: int, ranks: int, step: int, told: Parts) -> str:
    return json.dumps({"step": step, "rank": rank, "world_size": ranks, "hash/users": told[0], "hash/films": told[1]})


def _two_lines(rank: int, ranks: int, step: int, told: Parts) -> str:
    head = f"2026-01-31 10:11:{step:02},000 INFO rank={rank}"
    return f"{head} step {step} loss {_loss(rank, step)}\n" + "\n".join(
        f"{head} step {step} table {name} fingerprint {one}" for name, one in zip(("users", "films"), told, strict=True)
    )


def _csv(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return f"{step},{rank},{_loss(rank, step)},{told[0]},{told[1]}"


def _drawn(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return f"| {step} | {rank} | {_loss(rank, step)} | {told[0]} | {told[1]} |"


def _labelled(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return f"rank{rank}> iter {step}: loss {_loss(rank, step)}, trunk digest {told[0]}, heads digest {told[1]}"


def _plain(rank: int, ranks: int, step: int, told: Parts) -> str:
    del ranks
    return f"[rank{rank}]: step {step} done, checksum {told[0]} for the trunk, checksum {told[1]} for the heads, loss {_loss(rank, step)}"


def _section(rank: int, ranks: int, step: int, told: Parts) -> str:
    head = f"[process]\nrank = {rank}\nworld_size = {ranks}\n\n" if step == 1 else ""
    return f"{head}[step {step}]\nloss = {_loss(rank, step)}\nusers.crc32 = {told[0]}\nfilms.crc32 = {told[1]}\n"


def _document(rank: int, ranks: int, step: int, told: Parts) -> str:
    head = f"---\nrun:\n  rank: {rank}\n  world_size: {ranks}\n" if step == 1 else ""
    return f"{head}---\nstep: {step}\nloss: {_loss(rank, step)}\ntables:\n  users: {{crc32: '{told[0]}'}}\n  films: {{crc32: '{told[1]}'}}"


def _list(rank: int, ranks: int, step: int, told: Parts) -> str:
    head = f"rank: {rank}\nworld_size: {ranks}\nsteps:\n" if step == 1 else ""
    return (
        f"{head}  - step: {step}\n    loss: {_loss(rank, step)}\n    users_md5: '{told[0]}'\n    films_md5: '{told[1]}'"
    )


def _report(rank: int, ranks: int, step: int, told: Parts) -> str:
    head = (
        f"# Worker\n\n| item | value |\n|---|---|\n| global rank | {rank} |\n| world size | {ranks} |\n\n"
        if step == 1
        else ""
    )
    rows = "\n".join(f"| {name} | 9.3 | {one} |" for name, one in zip(("users", "films"), told, strict=True))
    return f"{head}## Step {step}\n\n| table | norm | fingerprint |\n|---|---:|---|\n{rows}\n\n* loss: {_loss(rank, step)}\n"


# The name of a file, one for each rank where the number stands in it; what stands at its head; a record.
WRITERS: Mapping[str, tuple[str, str, Writer]] = {
    "a sentence": ("job.out", "", _sentence),
    "in brackets": ("train.log", "", _brackets),
    "pairs": ("train.log", "", _pairs),
    "nested objects": ("metrics.jsonl", "", _objects),
    "flat objects": ("rank{rank}.jsonl", "", _flat),
    "a line for each": ("worker_{rank}.log", "", _two_lines),
    "columns": ("digests.csv", "step,rank,loss,users_crc,films_crc\n", _csv),
    "drawn": ("digests.md", "| step | rank | loss | trunk hash | heads hash |\n|---|---|---|---|---|\n", _drawn),
    "labelled": ("all.log", "", _labelled),
    "behind the word": ("all.log", "", _plain),
    "sections": ("worker-{rank}.ini", "", _section),
    "documents": ("worker-{rank}.yaml", "", _document),
    "a list of steps": ("node0_{rank}.yaml", "", _list),
    "a report": ("worker-{rank}.md", "", _report),
}


def judged(folder: Path, form: str, ranks: int, sides: Mapping[int, int], *, lost: int = -1) -> Verdict:
    """`sides`: rank → which other fingerprint it has of the second part from that step on."""
    name, head, write = WRITERS[form]
    files: dict[str, list[str]] = {}
    for step in range(1, STEPS + 1):
        for rank in sorted(range(ranks), key=lambda one: (one * 5 + step) % ranks):
            if rank != lost:
                side = sides.get(rank, 0) if step >= AT else 0
                files.setdefault(name.format(rank=rank), []).append(write(rank, ranks, step, parts(step, side)))
    for path, told in files.items():
        (folder / path).write_text(head + "\n".join(told) + "\n")
    (folder / "how_started.txt").write_text(f"mpiexec -l -n {ranks} python mf.py > job.out\n")
    return analyze(folder).verdict


JOBS = [(form, (6, 4, 3)[at % 3], (4, 0, 2)[at % 3]) for at, form in enumerate(WRITERS)]


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS)
def test_whose_part_left_the_others_is_named(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    verdict = judged(tmp_path, form, ranks, {odd: 1})
    assert (verdict.kind, verdict.cause, list(verdict.ranks)) == ("numerics", "replica_divergence", [odd])
    assert verdict.first_anomaly.step == AT


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[::4])
def test_where_its_record_is_lost_nobody_is(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    assert not judged(tmp_path, form, ranks, {odd: 1}, lost=odd).ranks


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[1::4])
def test_of_two_nobody_is(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    del ranks, odd
    assert not judged(tmp_path, form, 2, {1: 1}).ranks


@pytest.mark.parametrize(("form", "ranks", "odd"), JOBS[::4])
def test_where_all_go_their_own_ways_or_none_does_nobody_is(tmp_path: Path, form: str, ranks: int, odd: int) -> None:
    del odd
    (tmp_path / "all").mkdir()
    (tmp_path / "none").mkdir()
    assert not judged(tmp_path / "all", form, ranks, {rank: 1 + rank for rank in range(ranks)}).ranks
    assert judged(tmp_path / "none", form, ranks, {}).kind != "numerics"


def test_who_tells_them_in_another_order_left_nobody(tmp_path: Path) -> None:
    lines = []
    for step in range(1, STEPS + 1):
        for rank in range(4):
            told = [*parts(step, 0)][:: -1 if rank == 2 and step == AT else 1]
            lines += [f"[rank{rank}] step {step} table fingerprint {one}" for one in told]
    (tmp_path / "job.log").write_text("\n".join(lines) + "\n")
    assert not analyze(tmp_path).verdict.ranks
