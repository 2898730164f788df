"""Tables as programs and spreadsheets of other countries write them: names of columns, commas in numbers, what Windows prints of none."""

from pathlib import Path

import pytest

from forensics import analyze
from parsers.forms.framings import names, rows
from parsers.forms.reading import real, with_points
from tests.sources import source

CARDS = {"K-0388": 3, "K-0391": 0, "K-0399": 1, "K-0402": 2}
TONGUES = {
    "German": ("Zeit;Schritt;Karte;Verlust;Gradientennorm;Skalierung", "Rang"),
    "French": ("heure;etape;carte;perte;norme_gradient;echelle", "rang"),
    "Spanish": ("hora;paso;tarjeta;perdida;norma_gradiente;escala", "rango"),
    "Portuguese": ("Time;Passo;Placa;Perda;norma_do_gradiente;escala", "rank"),
}


def run(tongue: str, bad: str, whose: str, folder: Path, encoding: str = "utf-16") -> Path:
    """A row of each card and step: the norm of one is bad alone at step 12, all are bad after it."""
    head, rank = TONGUES[tongue]
    lines = [head]
    for step in range(2, 16):
        for at, card in enumerate(CARDS):
            loss, norm = f"2,{6000 + 7 * step + 31 * at}", f"0,{8000 + 11 * step + 37 * at}"
            norm = bad if step == 12 and card == whose else norm
            loss, norm = ("-nan(ind)", "-nan(ind)") if step > 12 else (loss, norm)
            lines.append(f"23.01.2025 03:00:{step:02};{step};{card};{loss};{norm};1.024,0")
    (folder / "verlauf.csv").write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    told = "".join(f"[{card}]\r\nslot={number}\r\n{rank}={number}\r\n\r\n" for card, number in CARDS.items())
    (folder / "liste.ini").write_bytes(f"; by hand\r\n{told}".encode("latin-1"))
    return folder


@pytest.mark.parametrize("tongue", [*TONGUES])
@pytest.mark.parametrize("bad", ["inf", "1.#INF"])
def test_a_table_is_read_in_whatever_tongue_its_columns_are_called(tongue: str, bad: str, tmp_path: Path) -> None:
    verdict = analyze(run(tongue, bad, "K-0402", tmp_path)).verdict
    assert (verdict.kind, [*verdict.ranks], verdict.first_anomaly.step) == ("numerics", [2], 12)


def test_a_card_that_is_listed_twice_is_nobodys(tmp_path: Path) -> None:
    folder = run("German", "inf", "K-0402", tmp_path)
    with (folder / "liste.ini").open("a") as stream:
        stream.write("[K-0402]\nRang=1\n")
    assert [*analyze(folder).verdict.ranks] == []


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        (["1", "2,5", "-0,25", "1.024,5", "3,1e-5"], ["1", "2.5", "-0.25", "1024.5", "3.1e-5"]),
        (["0,1,2", "2,5"], ["0,1,2", "2,5"]),
        (["so, it ends", "2,5"], ["so, it ends", "2.5"]),
        (["1.024", "2.5"], ["1.024", "2.5"]),
    ],
    ids=["fractions", "beside a list", "beside words", "points"],
)
def test_commas_begin_fractions_between_semicolons(cells: list[str], read: list[str]) -> None:
    assert with_points(cells) == read


def test_commas_between_other_marks_stay() -> None:
    text = "step\tranks\tloss\n1\t0,1\t2.5\n2\t0,1\t2.4\n"
    assert [said["ranks"] for _, _, said in rows(source(text, "a.tsv")) if said and "ranks" in said] == ["0,1", "0,1"]
    assert names("a.tsv", text.encode()) == {"step", "ranks", "loss"}


@pytest.mark.parametrize("text", ["-nan(ind)", "nan(snan)", "1.#IND", "-1,#QNAN"])
def test_what_windows_prints_of_no_number_is_none(text: str) -> None:
    assert real(text) != real(text)


def test_what_windows_prints_of_what_is_too_large() -> None:
    assert (real("1.#INF"), real("-1.#INF00"), real("1.#"), real("nan(x y)")) == (
        float("inf"),
        float("-inf"),
        None,
        None,
    )
