"""Names at the heads of lines whose numbers are just the ranks that introduce themselves in those files, of a job of which not all files are left."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


def _files(
    groups: list[list[int]], world: int, head: str, said: str, *, local: bool = False, name: str = "container_0{at}.txt"
) -> dict[str, list[str]]:
    """A log of each place: who is there, what each does; the last of the last one fails."""
    files: dict[str, list[str]] = {}
    for at, ranks in enumerate(groups, 2):
        called = {rank: (here if local else rank) for here, rank in enumerate(ranks)}
        lines = ["01:12:54 " + said.format(r=rank, w=world, l=here) for here, rank in enumerate(ranks)]
        lines += [
            f"01:1{step}:26 "
            + head.format(r=called[rank])
            + f"step {15 * step} bce {0.13 - step / 900 + rank / 5000:.4f}"
            for step in range(4, 8)
            for rank in ranks
        ]
        if at - 2 == len(groups) - 1:
            lines.append("01:19:26 " + head.format(r=called[ranks[-1]]) + ERROR)
        files[name.format(at=at)] = lines
    return files


def _failed(tmp_path: Path, files: dict[str, list[str]]) -> list[int]:
    events = read(str(written(tmp_path, files))).tables["events"]
    return events.filter(events["text"].str.contains("out of memory"))["rank"].drop_nulls().unique().sort().to_list()


SPARK = "start: partition {r} -> RANK {r} of {w}, cuda {l}"
FORMS = [
    ([[0, 1], [2, 3], [6, 7]], 8, "r{r} ", SPARK),
    ([[2, 3], [6, 7]], 8, "r{r} ", SPARK),
    ([[0, 1, 2], [6, 7, 8]], 12, "w{r}: ", "RANK={r} WORLD_SIZE={w} begins"),
    ([[4, 5, 6, 7], [12, 13, 14, 15]], 16, "t{r}> ", "process {r} of {w} is here"),
    ([[3, 4, 5]], 6, "r{r} ", SPARK),
    ([[0, 1], [4, 5]], 6, "(m{r}) ", SPARK),
    ([[0, 1], [4, 5]], 8, "[job-{r}] ", "world_size={w} rank={r} device={l}"),
    ([[1, 3], [5, 7]], 8, "p{r} | ", SPARK),
    ([[0, 2], [6, 8]], 9, "x.{r} - ", SPARK),
    ([[8, 9, 10, 11]], 12, "r{r} ", "hello: process {r} of {w}"),
    ([[0, 1], [2, 3]], 4, "r{r} ", SPARK),
]


@pytest.mark.parametrize(("groups", "world", "head", "said"), FORMS)
def test_whose_number_introduces_itself_speaks(
    tmp_path: Path, groups: list[list[int]], world: int, head: str, said: str
) -> None:
    assert _failed(tmp_path, _files(groups, world, head, said)) == [groups[-1][-1]]


OTHERS = {
    "the first ranks alone, which may be devices": ([[0, 1, 2, 3]], 8, "q{r} ", SPARK, {0, 1, 2, 3}),
    "one more speaks": ([[2, 3], [6, 7]], 8, "r{r} ", SPARK, {4}),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_else_a_number_is_nobody(tmp_path: Path, what: str) -> None:
    groups, world, head, said, more = OTHERS[what]
    files = _files(groups, world, head, said)
    files["container_02.txt"] += [
        f"01:1{step}:26 " + head.format(r=number) + f"step {step} bce 0.12"
        for number in more - {*range(4)}
        for step in (1, 2, 3)
    ]
    assert _failed(tmp_path, files) == []


def test_places_on_each_host_are_no_ranks_of_others(tmp_path: Path) -> None:
    files = _files([[2, 3], [6, 7]], 8, "r{r} ", SPARK, local=True)
    assert _failed(tmp_path, files) in ([], [7])


def test_numbers_that_some_do_not_introduce_tell_nobody(tmp_path: Path) -> None:
    files = _files([[2, 3], [5, 7]], 8, "r{r} ", SPARK)
    files["container_03.txt"] = [line.replace("RANK 7 of", "RANK 6 of") for line in files["container_03.txt"]]
    assert _failed(tmp_path, files) == []
