"""Tables of a step's figures whose rows are called after machines, cards, actors: who alone left the others is found under that name, whatever it is called."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.forms.holders import holder_columns, step_of
from tests import sources

STEPS, ODD_STEP = range(100, 190, 10), 150
WHO = (("vm_a", "1"), ("vm_a", "2"), ("vm_b", "1"), ("vm_b", "2"), ("vm_c", "1"), ("vm_c", "2"))
ODD = ("vm_b", "2")
UUIDS = {who: f"GPU-3f19934{at}-d78e-5a05-1737-bc3902b69e9{at}" for at, who in enumerate(WHO)}
Rows = list[dict[str, str]]


def digest(step: int, who: tuple[str, str]) -> str:
    return f"{(step * 7919 + (who == ODD and step >= ODD_STEP)) * 104729 % 2**32:08x}"


def number(step: int, who: tuple[str, str]) -> str:
    bad = step > ODD_STEP or (step == ODD_STEP and who == ODD)
    return "nan" if bad else f"{2 + (WHO.index(who) + step % 5) / 100:.4f}"


def records(figure: str, called: str) -> Rows:
    """One record for each step and holder."""
    told = []
    for step in STEPS:
        for who in WHO:
            names = {
                "two columns": {"vm": who[0], "slot": who[1]},
                "a uuid": {"card": UUIDS[who]},
                "an address": {"instance": f"10.0.{ord(who[0][-1])}.{who[1]}:9478"},
                "an actor": {"actor": f"~{ord(who[0][-1])}ee9a17{who[1]}"},
                "Chinese": {"机器": who[0], "卡号": who[1]},
                "a pod": {"pod": f"lm-worker-{WHO.index(who)}"},
            }[called]
            count = "步" if called == "Chinese" else "step"
            value = {"digest": ("weights_crc", digest(step, who)), "nan": ("loss_local", number(step, who))}[figure]
            told.append(names | {count: str(step)} | dict([value]))
    return told


def text(rows: Rows, form: str) -> tuple[str, str]:
    names = list(rows[0])
    match form:
        case "csv":
            return "t.csv", "\n".join(",".join(one) for one in (names, *(row.values() for row in rows)))
        case "csv, out of order":
            rows = [rows[at * 29 % len(rows)] for at in range(len(rows))]
            return "t.csv", "\n".join(",".join(one) for one in (names, *(row.values() for row in rows)))
        case "tsv":
            return "t.tsv", "\n".join("\t".join(one) for one in (names, *(row.values() for row in rows)))
        case "semicolons":
            return "t.csv", "\n".join(";".join(one) for one in (names, *(row.values() for row in rows)))
        case "markdown":
            lines = [names, ["---"] * len(names), *(row.values() for row in rows)]
            return "t.md", "\n".join("| " + " | ".join(one) + " |" for one in lines)
        case "aligned":
            return "t.txt", "\n".join(
                " ".join(f"{cell:42}" for cell in one) for one in (names, *(row.values() for row in rows))
            )
        case "another order of columns":
            names = names[::-1]
            return "t.csv", "\n".join([",".join(names), *(",".join(row[name] for name in names) for row in rows)])
        case "sorted by who":
            rows = sorted(rows, key=lambda row: list(row.values()))
            return "t.csv", "\n".join(",".join(one) for one in (names, *(row.values() for row in rows)))
    raise AssertionError(form)


FORMS = (
    "csv",
    "csv, out of order",
    "tsv",
    "semicolons",
    "markdown",
    "aligned",
    "another order of columns",
    "sorted by who",
)
CALLED = {
    "two columns": "vm_b",
    "a uuid": UUIDS[ODD],
    "an address": "10.0.98.2:9478",
    "an actor": "~98ee9a172",
    "Chinese": "vm_b",
    "a pod": "lm-worker-3",
}
PAIRS = [(form, ("a uuid", "two columns")[at % 2]) for at, form in enumerate(FORMS)] + [
    ("csv", called) for called in CALLED if called not in ("a uuid", "two columns")
]


def verdict_of(folder: Path, *files: tuple[str, str]):  # type: ignore[no-untyped-def]
    return analyze(sources.written(folder, {name: said.split("\n") for name, said in files})).verdict


@pytest.mark.parametrize(("form", "called"), PAIRS)
def test_who_left_the_others(tmp_path: Path, form: str, called: str) -> None:
    verdict = verdict_of(tmp_path, text(records("digest", called), form))
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("numerics", "replica_divergence", [])
    assert CALLED[called] in verdict.summary and f"step {ODD_STEP}" in verdict.summary


@pytest.mark.parametrize(("form", "called"), PAIRS)
def test_whose_figure_was_no_number_first(tmp_path: Path, form: str, called: str) -> None:
    verdict = verdict_of(tmp_path, text(records("nan", called), form))
    assert (verdict.kind, verdict.ranks) == ("numerics", [])
    assert CALLED[called] in verdict.summary and str(ODD_STEP) in verdict.summary


def test_files_of_one_form_are_of_one_each(tmp_path: Path) -> None:
    files = [
        (
            f"w_{ord(who[0][-1])}_{who[1]}.csv",
            "\n".join(["it,xent", *(f"{step},{number(step, who)}" for step in STEPS)]),
        )
        for who in WHO
    ]
    verdict = verdict_of(tmp_path, *files)
    assert "w_98_2.csv" in verdict.summary and verdict.ranks == []


ALIKE = [row | {"weights_crc": digest(int(row["step"]), WHO[0])} for row in records("digest", "a uuid")]
HALF = [
    row | {"weights_crc": digest(int(row["step"]), ODD if at % 2 else WHO[0])}
    for at, row in enumerate(records("digest", "a uuid"))
]
TOGETHER = [row | {"loss_local": "nan" if int(row["step"]) >= ODD_STEP else "2.5"} for row in records("nan", "a uuid")]


@pytest.mark.parametrize("rows", [ALIKE, HALF, TOGETHER], ids=["all agree", "half left half", "all lost it at once"])
def test_nobody_is_called_odd(tmp_path: Path, rows: Rows) -> None:
    verdict = verdict_of(tmp_path, text(rows, "csv"))
    assert verdict.ranks == verdict.suspects.ranks == [] and UUIDS[ODD] + " is not" not in verdict.summary


def test_one_that_is_missing_at_a_step_is_no_odd_one(tmp_path: Path) -> None:
    rows = [row for row in ALIKE if not (row["card"] == UUIDS[ODD] and int(row["step"]) >= ODD_STEP)]
    assert verdict_of(tmp_path, text(rows, "csv")).kind != "numerics"


def test_a_rank_that_is_told_is_asked_in_place_of_names(tmp_path: Path) -> None:
    rows = [{"rank": str(at % len(WHO))} | row for at, row in enumerate(records("digest", "a uuid"))]
    verdict = verdict_of(tmp_path, text(rows, "csv"))
    assert WHO.index(ODD) in (*verdict.ranks, *verdict.suspects.ranks)


def test_parts_of_a_model_and_settings_are_no_holders() -> None:
    parts = [
        {"step": str(step), "module": f"enc.{at}", "grad": f"0.{at}{step}"} for step in range(5) for at in range(4)
    ]
    assert holder_columns(parts, "step") == ()
    constant = [{"step": str(step), "run": "a1", "loss": f"2.{step}"} for step in range(20)]
    assert holder_columns(constant, "step") == ()
    assert step_of([{"n": str(at), "x": "1.5"} for at in range(20)]) is None


def test_a_figure_of_whole_numbers_is_no_name() -> None:
    rows = [
        {"step": str(step), "host": f"h{at}", "tokens": str(5000 + 97 * step + 13 * at)}
        for step in range(6)
        for at in range(4)
    ]
    assert holder_columns(rows, "step") == ("host",)
