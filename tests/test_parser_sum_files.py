"""Sums of the parts of a state, a file for each step and rank; files that say which of how many they are."""

import hashlib
from pathlib import Path

import pytest

from forensics import analyze
from parsers.training.sum_files import PARSER
from parsers.who.places.families import called_roll

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


@pytest.mark.parametrize("name", ["dumps/step_{s:06}/{part}_rank{r}.npy", "w/rank_{r}/iter-{s}/{part}.bin"])
@pytest.mark.parametrize("ranks", [RANKS, 2])
def test_one_list_of_all_sums(tmp_path: Path, name: str, ranks: int) -> None:
    text = ""
    for step in STEPS:
        for rank in range(ranks):
            for part in ("enc", "mid"):
                state = f"{part} {step} {rank == ranks - 1 and step >= SINCE and part == 'mid'}"
                text += f"{hashlib.md5(state.encode()).hexdigest()}  {name.format(r=rank, s=step, part=part)}\n"
    (tmp_path / "md5sums.txt").write_text(text)
    verdict = analyze(tmp_path).verdict
    named = [ranks - 1] if ranks > 2 else []
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", named, SINCE)


def _logs(folder: Path, names: list[str], odd: str, *, shared: bool = True) -> None:
    for name in names:
        (folder / f"{name}.log").write_text(
            "".join(
                f"18:00:{step:02} step={step} loss={2 + len(name) / 9 + step % 7 / 50:.4f} "
                f"sha1(w)={hashlib.sha1(f'{step} {name if not shared or (name == odd and step > 30) else 0}'.encode()).hexdigest()}\n"
                for step in range(45)
            )
        )


@pytest.mark.parametrize("names", [["ada", "bob"], ["ada", "bob", "cleo"]])
def test_replicas_whose_ranks_nobody_tells_part_and_nobody_is_named(tmp_path: Path, names: list[str]) -> None:
    _logs(tmp_path, names, "bob")
    verdict = analyze(tmp_path).verdict
    assert (verdict.cause, verdict.ranks, verdict.first_anomaly.step) == ("replica_divergence", [], 31)


def test_logs_of_runs_that_never_agreed_are_no_replicas(tmp_path: Path) -> None:
    _logs(tmp_path, ["ada", "bob", "cleo"], "", shared=False)
    assert analyze(tmp_path).verdict.cause is None


@pytest.mark.parametrize(("tags", "rank"), [(("loss_local", "data_nonfinite"), [3]), (("loss_local",), [])])
@pytest.mark.parametrize("word", ["worker", "proc"])
def test_files_of_a_tag_each_are_those_of_ranks(
    tmp_path: Path, tags: tuple[str, ...], rank: list[int], word: str
) -> None:
    for number in range(4):
        for tag in tags:
            bad = lambda step, number=number, tag=tag: number == 3 or (tag == "loss_local" and step > 40)  # noqa: E731
            cells = (
                ("nan" if step >= 40 and bad(step) else f"{2.5 + number / 7 + step % 5 / 30:.5f}")
                if tag == "loss_local"
                else f"{64.0 if step == 40 and number == 3 else 0.0}"
                for step in range(30, 50)
            )
            rows = "".join(f"{1769090500 + at},{30 + at},{cell}\n" for at, cell in enumerate(cells))
            (tmp_path / f"run-{word}_{number}-tag-{tag}.csv").write_text("Wall time,Step,Value\n" + rows)
    assert analyze(tmp_path).verdict.ranks == rank


@pytest.mark.parametrize("word", ["seed", "trial", "layer", "fold"])
def test_files_of_seeds_or_layers_are_nobodys(tmp_path: Path, word: str) -> None:
    for number in range(4):
        for tag in ("loss", "grad_norm"):
            cells = (
                "nan" if number == 3 and step >= 40 else f"{2.5 + number / 7 + step % 5 / 30:.5f}"
                for step in range(30, 50)
            )
            rows = "".join(f"{1769090500 + at},{30 + at},{cell}\n" for at, cell in enumerate(cells))
            (tmp_path / f"run-{word}_{number}-tag-{tag}.csv").write_text("Wall time,Step,Value\n" + rows)
    assert analyze(tmp_path).verdict.ranks == []
