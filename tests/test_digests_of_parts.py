"""Digests of the parts of a state, one a row, of processes that are called by anything but their rank."""

from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest

from forensics import analyze
from forensics.model.incident import Verdict

ODD, FIRST, STEPS = 2, 60, range(10, 130, 10)
_Digest = Callable[[str, int, int], str]


def _left(part: str, rank: int, step: int) -> str:
    return sha1(f"{part} {step} {rank == ODD and step >= FIRST}".encode()).hexdigest()[:16]


def _own(part: str, rank: int, step: int) -> str:
    return sha1(f"{part} {step} {rank}".encode()).hexdigest()[:16]


def _halves(part: str, rank: int, step: int) -> str:
    return sha1(f"{part} {step} {rank // 2 if step >= FIRST else 0}".encode()).hexdigest()[:16]


def _uuid(rank: int) -> str:
    return f"GPU-7a{rank}c02e1-41b7-9d{rank}0-8e11-5f20c8be34a{rank}"


def _by_uuid(folder: Path, digest: _Digest) -> None:
    """Ranks are dealt out to two boxes in turns; each tells the UUIDs of its devices."""
    rows = [f"[dealer] |   {rank} | box-{rank % 2} | {rank // 2} | {5100 + rank} |" for rank in range(4)]
    (folder / "dealer.log").write_text("[dealer] | rank | host  | dev | pid  |\n" + "\n".join(rows) + "\n")
    for box in range(2):
        told = [f"GPU {at}: NVIDIA L40S (UUID: {_uuid(2 * at + box)})" for at in range(2)]
        (folder / f"box-{box}_smi.txt").write_text("\n".join(told) + "\n")
    cells = ["step;gpu_uuid;tensor;phase;sha1"]
    cells += [
        f"{step};{_uuid(rank)};{part};post_opt;{digest(part, rank, step)}"
        for step in STEPS
        for rank in range(4)
        for part in ("enc.flat", "dec.flat")
    ]
    (folder / "audit.csv").write_text("\n".join(cells) + "\n")


def _by_pod(folder: Path, digest: _Digest) -> None:
    pods = ("w-a", "w-c", "w-d", "w-b")
    told = [f"pod {pod} is rank {rank} of 4" for rank, pod in enumerate(pods)]
    (folder / "operator.log").write_text("\n".join(told) + "\n")
    cells = ["iteration\tpod\tparam\tcrc32"]
    cells += [
        f"{step}\t{pods[rank]}\t{part}\t{digest(part, rank, step)[:8]}"
        for step in STEPS
        for rank in (3, 1, 0, 2)
        for part in ("layers.0.wq", "layers.1.wq", "head")
    ]
    (folder / "weights.tsv").write_text("\n".join(cells) + "\n")


def _by_rank(folder: Path, digest: _Digest) -> None:
    rows = [
        f"| {step} | {rank} | {part} | {digest(part, rank, step)} |"
        for step in STEPS
        for rank in range(4)
        for part in ("backbone", "token_embedding")
    ]
    (folder / "sums.md").write_text("| step | rank | module | digest |\n|---|---|---|---|\n" + "\n".join(rows) + "\n")


FORMS = pytest.mark.parametrize("write", [_by_uuid, _by_pod, _by_rank], ids=["uuid", "pod", "rank"])


def _verdict(folder: Path, write: Callable[[Path, _Digest], None], digest: _Digest) -> Verdict:
    write(folder, digest)
    return analyze(folder).verdict


@FORMS
def test_whose_parts_left_those_of_all_others(tmp_path: Path, write: Callable[[Path, _Digest], None]) -> None:
    verdict = _verdict(tmp_path, write, _left)
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [ODD])
    assert verdict.first_anomaly.step == FIRST


@FORMS
@pytest.mark.parametrize("digest", [_own, _halves], ids=["each its own", "two against two"])
def test_nobody_is_named(tmp_path: Path, write: Callable[[Path, _Digest], None], digest: _Digest) -> None:
    assert _verdict(tmp_path, write, digest).ranks == []
