"""What a check of replicas, or a tool that compares runs, says in a sentence; and sentences that say something else."""

from pathlib import Path

import pytest

from forensics import analyze

STEPS = "".join(f"step {step} loss {3 - step / 900:.4f} grad_norm 0.9{step % 7}\n" for step in range(100, 125))


def verdict_of(folder: Path, *lines: str, name: str = "train.log"):
    (folder / name).write_text("world size 8\n" + STEPS + "\n".join(lines) + "\n")
    return analyze(folder).verdict


@pytest.mark.parametrize(
    "lines",
    [
        ["consistency check at step 120: parameters of rank 5 differ from those of the other 7 ranks"],
        ["[sdc] step 120: param digests: 7 of 8 equal, odd one out: rank 5 (crc 1b2c33d4, others 9f3a11c2)"],
        ["ERROR step 120 replica check failed: rank 5 has sha 1b2c33d4aa, 7 other ranks have 9f3a11c2bb"],
        ['{"step": 120, "check": "param_digest", "equal": false, "odd_ranks": [5]}'],
        ["bitwise comparison of weights at iteration 120 -> mismatch on rank 5 (max abs diff 0.31)"],
        ["first difference, in order of the backward:", "   step 120, rank 5, gradient of h.4.proj.weight"],
    ],
)
def test_whom_a_check_found_to_differ_is_named(tmp_path: Path, lines: list[str]) -> None:
    verdict = verdict_of(tmp_path, *lines)
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [5], 120)


def test_a_report_tells_how_many_they_are(tmp_path: Path) -> None:
    report = "bitdiff 1.2: A (prod), B (again)\nworld 8, data parallel\nfirst difference: step 2088, rank 6, grad of h.4.proj.weight (0.31)\n"
    (tmp_path / "report.txt").write_text(report)
    verdict = analyze(tmp_path).verdict
    assert (verdict.ranks, verdict.first_anomaly.step, verdict.first_anomaly.module) == ([6], 2088, "h.4.proj")


def test_a_process_may_say_it_of_itself(tmp_path: Path) -> None:
    for rank in range(4):
        said = "step 124: checksum mismatch for h.3.weight: expected 0x9f3a11c2 got 0x1b2c33d4\n" if rank == 2 else ""
        (tmp_path / f"rank{rank}.log").write_text(f"rank {rank} of 4\n{STEPS}{said}")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.module) == ("replica_divergence", [2], "h.3")


@pytest.mark.parametrize(
    "line",
    [
        "step 120: parameters of rank 5 differ from those of rank 3",  # of two nobody is right
        "step 120: parameter digests differ between ranks 3, 5",
        "step 120: digests of ranks 0, 1, 2, 3, 4 differ from those of rank 6",
    ],
)
def test_who_differs_from_whom_is_not_who_is_wrong(tmp_path: Path, line: str) -> None:
    verdict = verdict_of(tmp_path, line)
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [])


@pytest.mark.parametrize(
    "line",
    [
        "step 120: no mismatch of parameter digests, rank 5 was last",
        "step 120: 0 differing digests on rank 5",
        "step 120: size mismatch for h.3.weight on rank 5: copying a param with shape [4]",
        "step 120: rank 5 reads other data: batch hashes differ by design",
        "step 120: checkpoint shard of rank 5 has a checksum mismatch, weights are read again",
        "step 120: learning rates of rank 5 differ: see config of parameter groups",
        "if digests differ at step 120, rank 5 is asked first",
        "differing weights: 1 of 1024\nactivations' digests of rank 5 at step 120 are equal in A and B",
    ],
)
def test_other_sentences_name_nobody(tmp_path: Path, line: str) -> None:
    verdict = verdict_of(tmp_path, line)
    assert (verdict.cause, verdict.ranks) != ("replica_divergence", [5])
    assert verdict.ranks == []


@pytest.mark.parametrize(
    "line",
    [
        "step 120: replica check failed: parameters are not equal on all hosts",
        "step 120 sync check: weights differ across replicas",
        "step 120: parameter digest differs from rank 3",  # either may be wrong
        "step 120: param hashes diverge: 1b2c33d4 9f3a11c2 9f3a11c2 9f3a11c2",
    ],
)
def test_who_compares_the_replicas_is_not_who_differs(tmp_path: Path, line: str) -> None:
    for rank in range(4):
        said = f"{line}\n" if rank == 0 else ""
        (tmp_path / f"rank{rank}.log").write_text(f"rank {rank} of 4\n{STEPS}{said}")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", [])


@pytest.mark.parametrize("form", ["{0!r}: {1!r}", "{0}={1}", '"{0}": "{1}"'])
@pytest.mark.parametrize(("odd", "named"), [((2,), [2]), ((1, 2), [])])
def test_what_each_had_is_told_by_the_names_of_hosts(
    tmp_path: Path, form: str, odd: tuple[int, ...], named: list[int]
) -> None:
    hosts = ["gpu-ash", "gpu-oak", "gpu-elm", "gpu-fir"]
    had = ", ".join(form.format(host, "1b2c33d4" if at in odd else "9f3a11c2") for at, host in enumerate(hosts))
    for rank, host in enumerate(hosts):
        said = f"step 124: weights differ between hosts: {{{had}}}\n" if rank == 0 else ""
        (tmp_path / f"{host}.log").write_text(f"rank {rank} of 4 on {host} pid {900 + rank}\n{STEPS}{said}")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks) == ("replica_divergence", named)


def test_a_digest_may_have_any_name(tmp_path: Path) -> None:
    for rank in range(4):
        said = "".join(
            f"check: step {at} xxh64(params)={(0xA1B2C3D4 + at + (rank == 2 < at - 110)):x}\n"
            for at in range(100, 125, 8)
        )
        (tmp_path / f"rank{rank}.log").write_text(f"rank {rank} of 4\n{said}")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [2], 116)
