"""Sums of the parts of a state, a file for each step and rank; files that say which of how many they are."""

import hashlib
from pathlib import Path

import pytest

from forensics import analyze
from parsers.training.sum_files import PARSER
from parsers.who.families import called_roll

RANKS, STEPS, ODD, SINCE = 5, range(0, 60, 10), 3, 40


def _line(form: str, rank: int, step: int, part: str) -> str:
    state = f"{part} {step} {rank == ODD and step >= SINCE and part == 'mid.w'}"
    return form.format(sum=hashlib.sha256(state.encode()).hexdigest(), name=part) + "\n"


@pytest.mark.parametrize("form", ["{sum}  {name}", "{sum} *{name}", "sha256 {sum} {name}", "0x{sum:.8} {name}"])
@pytest.mark.parametrize(
    "name", ["sums/rank_{r}/step_{s:06}.sha256", "s/step{s}_rank{r}.txt", "rank{r}/iter-{s}/state.sum"]
)
def test_who_left_the_others(tmp_path: Path, form: str, name: str) -> None:
    for rank in range(RANKS):
        for step in STEPS:
            path = tmp_path / name.format(r=rank, s=step)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(_line(form, rank, step, part) for part in ("enc.w", "mid.w", "head.w")))
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [ODD], SINCE)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("step_10/rank_0.txt", "deadbeef and so on\n"),
        ("step_10/rank_0.txt", ""),
        ("sums/rank_0.sha256", "9f86d081884c7d65  enc.w\n"),
    ],
)
def test_foreign(path: str, text: str) -> None:
    assert not PARSER.accepts(path, text.encode())


@pytest.mark.parametrize(
    ("name", "count", "world", "found"),
    [
        ("m/proc-{r}-of-4.jsonl", 4, None, True),
        ("m/proc-{r}-of-4.jsonl", 4, 4, True),
        ("m/rank{r}of4.log", 4, None, True),
        ("m/out.{r}of4.log", 4, None, False),
        ("m/proc-{r}-of-4.jsonl", 4, 8, False),
        ("m/proc-{r}-of-4.jsonl", 3, None, False),
        ("m/part-{r}-of-4.jsonl", 4, None, False),
        ("m/shard-{r}-of-4.jsonl", 4, None, False),
        ("m/layer-{r}-of-4.jsonl", 4, None, False),
        ("m/tp-rank-{r}-of-4.jsonl", 4, None, False),
        ("m/proc-{r}.jsonl", 4, None, False),
    ],
)
def test_files_called_one_of_so_many(name: str, count: int, world: int | None, found: bool) -> None:
    paths = [name.format(r=rank) for rank in range(count)]
    assert called_roll(paths, world) == ({path: rank for rank, path in enumerate(paths)} if found else {})
