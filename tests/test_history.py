"""Incidents over months: kept once, joined by host and device, told from chance, and never a proof."""

import sqlite3
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from forensics import analyze
from forensics.cli import cli
from forensics.history import NotAHistory, NotAReport, add, entries_of, mark, recall, report_from
from forensics.model.past import Past, PastIncident
from forensics.verdict.past.offenders import offenders, tail
from reports import json

SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "data_loader_stall" / "bundle"
HOSTS = ["n1", "n2", "n3", "n4"]


def incident(
    number: int, *accused: str, ranks: str | None = None, suspected: bool = False, **more: object
) -> PastIncident:
    """One of a job of four hosts; each time other ranks, unless said."""
    things = [("host", host) for host in accused]
    base = PastIncident(
        id=str(number), origin=f"o{number}", bundle=f"b{number}", attempt=0, time_utc=f"2026-0{number % 9 + 1}-01T00:00:00Z",
        kind="hang", cause="rank_absent", status="supported", signature="kind hang, cause rank_absent", hosts=HOSTS,
        accused=[] if suspected else things, suspected=things if suspected else [], ranks=ranks or str(number),
        lost_gpu_hours=None, summary="",
    )  # fmt: skip
    return msgspec.structs.replace(base, **more)


# --- chance ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chances", "times", "expected"), [([], 0, 1.0), ([0.5, 0.5], 2, 0.25), ([0.25] * 4, 4, 0.25**4), ([0.5], 2, 0.0)]
)
def test_the_tail_of_chance(chances: list[float], times: int, expected: float) -> None:
    assert tail(chances, times) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("past", "likely"),
    [
        pytest.param([incident(n, "n1") for n in range(5)], {"n1"}, id="one host five times of five"),
        pytest.param([incident(n, "n1") for n in range(2)], set(), id="twice of two may be chance among four hosts"),
        pytest.param([incident(n, HOSTS[n % 4]) for n in range(16)], set(), id="everybody in turn"),
        pytest.param([incident(n, *HOSTS) for n in range(9)], set(), id="whoever is accused with everybody else"),
        pytest.param([incident(n, "n1", ranks="3") for n in range(9)], set(), id="the same rank each time may bring it along"),
        pytest.param([incident(n, "n1", ranks="3", cause="gpu_fault") for n in range(9)], {"n1"}, id="a device, whoever runs there"),
        pytest.param([incident(n, "n1", suspected=True) for n in range(5)], {"n1"}, id="suspected alone each time"),
        pytest.param([incident(n) for n in range(9)], set(), id="nobody was accused"),
    ],
)  # fmt: skip
def test_who_is_accused_more_often_than_chance(past: list[PastIncident], likely: set[str]) -> None:
    assert {one.name for one in offenders(past) if one.is_likely} == likely


def test_an_innocent_of_a_large_cluster_is_seldom_called_likely() -> None:
    """A thousand incidents of 64 hosts, each of which accuses one of them in turn of a fixed order."""
    hosts = [f"n{number}" for number in range(64)]
    past = [incident(n, hosts[n * 37 % 64], hosts=hosts) for n in range(1000)]
    assert not any(one.is_likely for one in offenders(past))


# --- the file --------------------------------------------------------------------------------------------------------


def test_what_is_added_comes_back_and_is_kept_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "history.sqlite"
    kept = [incident(2, "n2"), incident(1, "n1", time_utc="2026-01-01T00:00:00Z")]
    assert (add(file, kept), add(file, kept)) == (2, 0)
    mark(file, ["n9.cluster", "n9"])
    assert recall(file) == Past(incidents=kept[::-1], known_bad=["n9"])


def test_all_or_nothing(tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    add(file, [incident(1, "n1")])
    with pytest.raises(NotAHistory):
        add(file, [incident(2, "n2"), msgspec.structs.replace(incident(3), accused=[("rank", "7")])])
    assert [one.id for one in recall(file).incidents] == ["1"]


@pytest.mark.parametrize("content", [b"", b"no database", None], ids=["empty", "text", "another program's"])
def test_what_is_no_history_is_refused_and_left_alone(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "file"
    if content is None:
        with sqlite3.connect(file) as other:
            other.execute("CREATE TABLE theirs (x)")
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    with pytest.raises(NotAHistory):
        recall(file)
    if content != b"":
        with pytest.raises(NotAHistory):
            add(file, [incident(1, "n1")])
        assert file.read_bytes() == before


def test_a_missing_file_is_said_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotAHistory):
        recall(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_what_is_no_report_is_refused() -> None:
    with pytest.raises(NotAReport):
        report_from(b"{}")


# --- with a bundle ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundle() -> str:
    return str(SAMPLE)


def test_a_report_and_its_document_are_the_same_incident(bundle: str) -> None:
    report = analyze(bundle)
    assert entries_of(report) == entries_of(report_from(json.render(report)))
    [one] = entries_of(report)
    assert (one.kind, one.accused) == ("hang", [("host", "localhost")])


def test_the_past_is_cited_and_moves_no_verdict(bundle: str) -> None:
    """Whoever it accuses: the named host, and one without any evidence now."""
    plain = analyze(bundle)
    for host in ("localhost", "n9"):
        past = Past(incidents=[incident(n, host, hosts=["localhost", "n9", "n7", "n8"]) for n in range(6)])
        told = analyze(bundle, past=past)
        assert told.verdict == plain.verdict
        cited = [one.claim for one in told.incident.evidence[len(plain.incident.evidence) :]]
        assert any("localhost was accused in 6 of 6" in claim for claim in cited) == (host == "localhost")
        assert not any("n9" in claim for claim in cited)
        assert told.incident.decision.do == ("evict" if host == "localhost" else plain.incident.decision.do)


def test_a_bundle_is_not_its_own_past(bundle: str) -> None:
    plain = analyze(bundle)
    assert analyze(bundle, past=Past(incidents=entries_of(plain))) == plain


def test_a_host_that_nobody_has_seen_is_new(bundle: str) -> None:
    told = analyze(bundle, past=Past(incidents=[incident(1, "n1")]))
    assert "host localhost is new: it took part in no incident of the history (1 in all)" in [
        one.claim for one in told.incident.evidence
    ]


def test_a_host_that_a_person_calls_bad_is_shown_and_names_nobody(bundle: str) -> None:
    told = analyze(bundle, known_bad=["n9", "localhost"])
    assert (
        told.limits[-1]
        == "known bad: localhost (of this job), n9 (not seen in this bundle), as you or the history say; that names nobody"
    )
    assert told.verdict == analyze(bundle).verdict


def test_known_bad_hosts_of_the_history_are_cited_where_they_are_named(bundle: str) -> None:
    told = analyze(bundle, past=Past(known_bad=["localhost", "n9"]))
    claims = [one.claim for one in told.incident.evidence]
    assert "localhost was given as known to be bad" in claims
    assert told.verdict == analyze(bundle).verdict


def test_the_commands(tmp_path: Path, bundle: str) -> None:
    file, document = str(tmp_path / "h.sqlite"), tmp_path / "incident.json"
    document.write_bytes(json.render(analyze(bundle)))

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(cli, [*words], env={"FORENSICS_HISTORY": file})
        return result.exit_code, result.output

    assert run("history", "list")[0] == 2  # there is none yet
    assert run("history", "add", str(document), "--known-bad", "n9") == (
        0,
        "1 incident added, 0 known already, 1 host marked as bad\n",
    )
    assert run("history", "add", bundle) == (0, "0 incidents added, 1 known already\n")
    assert "localhost" in run("history", "list")[1]
    assert run("history", "list", "--host", "n5") == (0, "no incident\n")
    status, text = run("history", "suspects")
    assert status == 0
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [["host", "localhost"], ["host", "n9"]]
    assert run("history", "faults")[1].splitlines()[1].split()[0] == "1"
    assert run("history", "add")[0] == 2
    assert "localhost was given" not in run("analyze", bundle)[1]


def test_a_folder_of_incidents_becomes_a_page(tmp_path: Path, bundle: str) -> None:
    report = analyze(bundle)
    for number, name in enumerate(("<script>alert(1)</script>", "b")):
        bundle_row = msgspec.structs.replace(report.bundle, name=name)
        files = [msgspec.structs.replace(one, bytes=one.bytes + number) for one in report.files]
        document = msgspec.structs.replace(report, bundle=bundle_row, files=files)
        (tmp_path / ("a.json", 'javascript:b".json')[number]).write_bytes(json.render(document))
    (tmp_path / 'javascript:b".html').write_text("its page")
    (tmp_path / "other.json").write_text("[]")
    page = tmp_path / "index.html"
    result = CliRunner().invoke(cli, ["history", "render", str(tmp_path), "-o", str(page)])
    assert result.exit_code == 0
    text = page.read_text()
    assert ("2 incidents" in text and "localhost" in text and "2026-W" in text) or "2025-W" in text
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)" in text
    assert '<a href="javascript%3Ab%22.html">b</a>' in text and text.count("<a href") == 1  # the one that has a page
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
