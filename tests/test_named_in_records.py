"""Records say whose they are by any name that another record joins to a rank."""

import json
from pathlib import Path

import pytest

import parsers

IDS = {"7c1e-aa": 2, "90bf-10": 0, "13d2-77": 3, "e5a0-4c": 1}


def ranks_of_steps(folder: Path) -> set[tuple[int | None, float]]:
    steps = parsers.read(folder).tables["steps"]
    return set(steps.filter(steps["step"] == 9).select("rank", "loss").iter_rows())


def wanted(ids: dict[str, int]) -> set[tuple[int, float]]:
    return {(rank, 1.0 + at / 8) for at, rank in enumerate(ids.values())}


def as_csv(ids: dict[str, int]) -> str:
    rows = [f"{step},{name},{1.0 + at / 8}" for step in range(4, 12) for at, name in enumerate(ids)]
    return "\n".join(["step,box,loss", *rows]) + "\n"


def as_json(ids: dict[str, int]) -> str:
    rows = [{"step": step, "box": name, "loss": 1.0 + at / 8} for step in range(4, 12) for at, name in enumerate(ids)]
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("written", [as_csv, as_json])
@pytest.mark.parametrize("form", ["{}", "uid-{}", "tcp://{}:4417"])
def test_a_list_beside_them(written, form: str, tmp_path: Path) -> None:
    ids = {form.format(name): rank for name, rank in IDS.items()}
    (tmp_path / "figures.txt").write_text(written(ids))
    assert ranks_of_steps(tmp_path) == {(None, loss) for _, loss in wanted(ids)}
    (tmp_path / "list.csv").write_text("box,rank,pid\n" + "".join(f"{n},{r},{40 + r}\n" for n, r in ids.items()))
    assert ranks_of_steps(tmp_path) == wanted(ids)


def test_a_record_of_its_start_in_the_same_log(tmp_path: Path) -> None:
    starts = "".join(json.dumps({"event": "up", "box": name, "rank": rank}) + "\n" for name, rank in IDS.items())
    (tmp_path / "job.jsonl").write_text(starts + as_json(IDS))
    assert ranks_of_steps(tmp_path) == wanted(IDS)


@pytest.mark.parametrize(
    "listed",
    [
        "box,rank\n7c1e-aa,2\n90bf-10,2\n13d2-77,3\ne5a0-4c,1\n",  # two of one rank: it counts something else
        "peer,rank\n7c1e-aa,2\n90bf-10,0\n13d2-77,3\ne5a0-4c,1\n",  # of whom each waits for
        "box,rank\n7c1e-aa,5\n90bf-10,9\n13d2-77,3\ne5a0-4c,1\n",  # not all of a job that nobody tells the size of
        "box,rank\n" + "".join(f"{name},{rank // 2}\n" for name, rank in IDS.items()),  # of nodes
    ],
)
def test_lists_that_tell_nobody(listed: str, tmp_path: Path) -> None:
    (tmp_path / "figures.txt").write_text(as_csv(IDS))
    (tmp_path / "list.csv").write_text(listed)
    assert {rank for rank, _ in ranks_of_steps(tmp_path)} == {None}


def test_a_record_that_names_two_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("box,rank\n" + "".join(f"{n},{r}\n" for n, r in IDS.items()))
    names = [*IDS]
    rows = [f"{step},{names[0]},{names[1]},1.5" for step in range(4, 12)]
    (tmp_path / "figures.txt").write_text("\n".join(["step,box,partner,loss", *rows]) + "\n")
    assert {rank for rank, _ in ranks_of_steps(tmp_path)} == {None}


def test_a_number_is_no_name(tmp_path: Path) -> None:
    """Folders called 1 to 4 are processes, and the fourth job of a list is not the folder's."""
    (tmp_path / "list.csv").write_text("box,rank\n" + "".join(f"{rank + 1},{rank}\n" for rank in range(4)))
    (tmp_path / "figures.txt").write_text(as_csv({"3": 2, "1": 0, "2": 1}))
    assert {rank for rank, _ in ranks_of_steps(tmp_path)} == {None}
