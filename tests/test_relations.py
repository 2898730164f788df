"""Relations that hold for any bundle, whatever its truth is: how a verdict may move when the bundle changes.

Over the samples and simulated incidents; the additions are in relation_additions.py, the comparison in relations.py.
"""

import io
import json
import random
import re
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from forensics import analyze
from forensics.analyze import about, case_of, conclude_evidence, detect
from forensics.assemble.runs.attempts import attempts_of
from forensics.case import Case
from forensics.detectors import DETECTORS
from forensics.facts.rows.event_rows import reference
from forensics.model.causes import CAUSES
from forensics.model.finding import Claim, Finding
from forensics.model.incident import Code, FirstAnomaly, Verdict
from forensics.model.names import Cause, SymptomKind
from forensics.model.ref import Ref
from forensics.model.taxonomy import EVENTS
from forensics.verdict.conclude import choose
from parsers import read
from parsers.schema.evidence import Evidence
from tests.analysed import NAMES, SAMPLES
from tests.relation_additions import ADDITIONS, Files
from tests.relations import (
    INCIDENTS,
    WHOLE,
    Example,
    broken,
    essence,
    look,
    made,
    newly_named,
    outcome,
    renamed,
    renumbered,
    sample,
    shifted,
    simulated,
    write,
)

THOROUGHLY = ("sample monitored_barrier", "simulated 10", "simulated 30")
TOGETHER = 6
NUMBERS = range(INCIDENTS)


def example_of(name: str) -> Example:
    kind, _, which = name.partition(" ")
    return sample(which) if kind == "sample" else simulated(int(which))


ALL = (*(f"sample {name}" for name in NAMES), *(f"simulated {number}" for number in NUMBERS))


def every(step: int, first: int = 0) -> list[str]:
    """Each `step`-th of all bundles."""
    return list(ALL[first::step])


# --- something harmless is added ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("addition", ADDITIONS)
def test_a_harmless_addition_accuses_nobody(addition: str) -> None:
    """Each alone, in the first bundle that has a place for it, another one first in turn; `make relations` takes each bundle. The
    next test puts several into every bundle."""
    first = list(ADDITIONS).index(addition) % len(THOROUGHLY)
    bundles = [example_of(name) for name in (*THOROUGHLY[first:], *THOROUGHLY[:first])]
    fitting = [(one, files) for one in bundles if (files := ADDITIONS[addition](one.files, one.known)) is not None]
    assert fitting, "no bundle has a place for it"
    for one, files in fitting if WHOLE else fitting[:1]:
        assert broken(one.base, look(files)) == [], one.name


def some(name: str) -> list[str]:
    """Another few additions for each bundle."""
    return random.Random(name).sample(sorted(ADDITIONS), TOGETHER)


@pytest.mark.parametrize("name", ALL)
def test_harmless_additions_together_accuse_nobody(name: str) -> None:
    one = example_of(name)
    files = one.files
    for addition in some(name):
        files = ADDITIONS[addition](files, one.known) or files
    assert broken(one.base, look(files)) == [], some(name)


# --- something is removed ----------------------------------------------------------------------------------------------


def printers(files: Files) -> dict[str, list[str]]:
    """Who left files: "rank 3", "kernel of node0001", "launcher of node0001" → its files."""
    found: dict[str, list[str]] = {}
    for path in files:
        host = re.match(r"hosts/([^/]+)/", path)
        where = host[1] if host else "the job"
        if own := re.search(r"rank_(\d+)(\.\w+)?$", path):
            who = f"process rank {own[1]}"
        elif own := re.search(r"attempt_\d+/(\d+)/", path):
            who = f"process {own[1]} of {where}"
        elif path.endswith("dmesg.txt"):
            who = f"kernel of {where}"
        else:
            who = f"launcher of {where}"
        found.setdefault(who, []).append(path)
    return found


@pytest.mark.parametrize("name", every(4))
def test_without_what_one_printer_said_nobody_new_is_named(name: str) -> None:
    """Whoever left files: a process, a kernel, a launcher."""
    one = example_of(name)
    left = printers(one.files)
    if len(left) < 2:
        pytest.skip("one printer is all there is")
    gone = random.Random(name).choice(sorted(left))
    files = {path: data for path, data in one.files.items() if path not in left[gone]}
    assert newly_named(one.base, look(files)) == [], gone


# --- the same under other names, in another order, in another container ---------------------------------------------------


@pytest.mark.parametrize("number", NUMBERS[::8])
def test_renamed_hosts_change_nothing_else(number: int) -> None:
    one = simulated(number)
    assert one.incident is not None
    names = {host: f"gpu-{chr(122 - at)}{7 * at}" for at, host in enumerate(one.incident.job.hosts)}
    files = {
        renamed(path, names): data if path.startswith("fr/") else renamed(data.decode(), names).encode()
        for path, data in one.files.items()
    }
    assert essence(look(files).verdict) == essence(one.base.verdict, names)


@pytest.mark.parametrize("name", every(12, 1))
def test_folders_that_say_nothing_change_nothing(name: str) -> None:
    """They also turn the order of the files around."""
    one = example_of(name)
    turned = sorted(one.files, reverse=True)
    files = {f"part {at:04}/{path}": one.files[path] for at, path in enumerate(turned)}
    assert essence(look(files).verdict) == essence(one.base.verdict)


@pytest.mark.parametrize("name", every(24, 3))
@pytest.mark.parametrize("container", ["tar.gz", "zip"])
def test_an_archive_is_read_as_its_folder(name: str, container: str, tmp_path: Path) -> None:
    one, path = example_of(name), tmp_path / f"bundle.{container}"
    packed(one.files, path)
    assert outcome(analyze(path)).verdict == one.base.verdict


def packed(files: Files, path: Path) -> None:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(f"deeper/{name}", data)
        return
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"deeper/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("number", NUMBERS[1::6])
def test_ranks_with_other_numbers_are_the_same_processes(number: int) -> None:
    """Whole hosts exchange their numbers, groups keep their order; pids, files and hosts stay."""
    incident = simulated(number).incident
    assert incident is not None
    job = incident.job
    first = [min(rank for rank in range(job.world) if job.host(rank) == host) for host in job.hosts]
    order = [rank for start in reversed(first) for rank in range(start, min(start + job.gpus_per_host, job.world))]
    numbers = {rank: at for at, rank in enumerate(order)}
    tables = incident.evidence()
    base = outcome(conclude_evidence(Evidence("simulated", tables))).verdict
    other = outcome(conclude_evidence(Evidence("simulated", renumbered(tables, numbers)))).verdict
    for before, after in zip(ranks_of(base), ranks_of(other), strict=True):
        assert sorted(numbers[rank] for rank in before) == after
    told = ("kind", "cause", "status", "hosts", "site", "code", "undecided")
    assert [getattr(base, name) for name in told] == [getattr(other, name) for name in told]


def ranks_of(verdict: Verdict) -> tuple[list[int], list[int], list[int]]:
    return verdict.ranks, verdict.cycle, verdict.suspects.ranks


@pytest.mark.parametrize("number", [*NUMBERS[2::6], 42])
def test_wrong_clocks_of_one_host_accuse_nobody(number: int) -> None:
    one = simulated(number)
    assert one.incident is not None
    rng = random.Random(number)
    host, seconds = rng.choice(one.incident.job.hosts), rng.choice((-5400, -600, -40, 40, 600, 5400))
    files = dict(shifted(one.incident, [host], seconds).files())
    assert newly_named(one.base, look(files)) == [], (host, seconds)


# --- two bundles at once -----------------------------------------------------------------------------------------------


APART = [(number, -2) for number in NUMBERS[4::16]]
AT_ONCE = [(number, 0) for number in NUMBERS[4::16]]


@pytest.mark.parametrize(("number", "days"), [*APART, *AT_ONCE])
def test_two_jobs_in_one_bundle_accuse_nobody_new(number: int, days: int) -> None:
    """Another job on other hosts, at the same time or two days before: neither makes anybody of the other guilty."""
    one, two = simulated(number), made((number + 5) % INCIDENTS)
    names = {host: f"far-{at}" for at, host in enumerate(two.job.hosts)} | {"pretrain_4711": "finetune_12"}
    moved = shifted(two, two.job.hosts, days * 86_400)
    other = {
        f"other/{renamed(path, names)}": data if path.startswith("fr/") else renamed(data.decode(), names).encode()
        for path, data in moved.files()
    }
    both = look({**{f"first/{path}": data for path, data in one.files.items()}, **other})
    assert not both.named - one.base.named - look(other).named, (both.verdict.kind, both.verdict.cause)


# --- strangers' detectors ----------------------------------------------------------------------------------------------


_WORDS = ["of a device", "error"]


def stranger(cause: Cause | None, rows: list[Ref]) -> Finding:
    """It names rank 0 and claims whatever a finding can hold."""
    return Finding(
        detector="stranger", cause=cause, ranks=(0,), site="compute", code=Code(file="x.py", line=1, function="f"),
        domain="workload", severity="fatal", time_ns=0, summary="Rank 0 did it.",
        first_anomaly=FirstAnomaly(time_utc="2000-01-01T00:00:00Z", rank=0, step=0),
        claims=(Claim("rank 0 did it", "for", tuple(rows)),),
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("word", _WORDS)
def test_a_strangers_detector_does_not_make_rank_0_guilty(name: str, word: str) -> None:
    """One for any line of a device, one for any word "error", with each sixth cause, others on the next sample; `make relations` takes every
    cause on every sample, with one of them or the other."""
    truth = json.loads((SAMPLES / name / "truth.json").read_text())
    guilty = {
        *truth.get("ranks", []),
        *truth.get("cycle", []),
        *(rank for ranks in truth.get("ranks_any", []) for rank in ranks),
    }
    if 0 in guilty:
        pytest.skip("rank 0 is guilty")
    case, findings = with_a_device_line(name)
    rows = [row for row in case.tables["events"].iter_rows(named=True) if _is_it(word, row)]
    refs = [reference(row) for row in rows]
    assert refs or word == "error"
    own = about(DETECTORS)
    step = 2 if WHOLE else 6
    for cause in get_args(Cause)[(NAMES.index(name) + _WORDS.index(word)) % step :: step]:
        asked = _ASKED[CAUSES[cause].kinds[0]]
        chosen = choose(
            case,
            [stranger(cause, refs), *findings],
            lambda one, asked=asked: own(one) if one.detector != "stranger" else asked,
        ).chosen
        blamed = {rank for one in chosen for rank in (*one.finding.ranks, *one.finding.cycle)}
        assert 0 not in blamed - guilty, (cause, [one.kind for one in chosen])


_ASKED: dict[str, SymptomKind] = {
    "hang": "waiting", "crash": "ended", "numerics": "bad_value", "slow": "slow", "launch": "never_started",
}  # fmt: skip


@cache
def with_a_device_line(name: str) -> tuple[Case, list[Finding]]:
    """A sample and a line of its kernel: the case of the newest attempt, and what the house's detectors find."""
    one = sample(name)
    line = _DEVICE.format(at=one.known.when)
    with tempfile.TemporaryDirectory() as folder:
        evidence = read(str(write({**one.files, "dmesg.txt": line.encode()}, Path(folder) / "bundle")))
    attempt, tables = max(attempts_of(evidence.tables).tables.items())
    case = case_of(tables, attempt)
    return case, detect(case)[0]


def _is_it(word: str, row: dict[str, Any]) -> bool:
    if word == "error":
        return "error" in str(row["text"]).lower()
    return EVENTS[row["kind"]].printer == "kernel"


_DEVICE = "{at:%Y-%m-%dT%H:%M:%S}+00:00 localhost kernel: NVRM: Xid (PCI:0000:1b:00): 63, pid=7, name=python3, Row Remapper: New row marked for remapping\n"
