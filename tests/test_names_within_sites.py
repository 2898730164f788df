"""Hosts that call their processes alike: which is which is told by a document of each, of whose site the files are that have the same word in their names."""

from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
PROCFILE = "{n}: env RANK={r} LOCAL_RANK={l} python -u pretrain.py --cfg gpt.yaml"
COMPOSE = "  {n}:\n    image: train:1\n    environment:\n      RANK: {r}\n      LOCAL_RANK: {l}"
JSON = '  "{n}": {{"cmd": "pretrain.py", "env": {{"RANK": "{r}"}}}}'
INI = '[program:{n}]\ncommand=python -u pretrain.py\nenvironment=RANK="{r}"'
TOML = '[{n}]\nRANK = {r}\nimage = "a"'

# the document of each site, its lines, what stands around them, its log, what stands before lines, sites, names
FORMS = {
    "procfiles": ("Procfile.{s}", PROCFILE, ("", ""), "honcho.{s}.log", "20:41:{t:02d} {n}.1   | ", ["box-a", "box-b"], ["w1", "w2", "w3", "w4"]),
    "letters": ("Procfile_{s}", PROCFILE, ("", ""), "out_{s}.txt", "{n} | ", ["left", "right", "top"], ["ann", "bob", "cid"]),
    "sites with numbers": ("Procfile.{s}", PROCFILE, ("", ""), "honcho.{s}.log", "20:41:{t:02d} {n}.1 | ", ["m41", "m7"], ["a", "b", "c", "d"]),
    "compose": ("compose.{s}.yml", COMPOSE, ("services:", ""), "logs.{s}.txt", "{n}-1  | ", ["kilna", "kilnb"], ["trainer-a", "trainer-b", "trainer-c"]),
    "compose of a project": ("compose_{s}.yaml", COMPOSE, ("services:", ""), "{s}.log", "lm-{n}-1  | ", ["kilna", "kilnb"], ["tr-a", "tr-b"]),
    "json": ("procs.{s}.json", JSON, ("{", "}"), "mux.{s}.log", "[{n}] ", ["uno", "due", "tre"], ["p", "q", "r", "s"]),
    "supervisors": ("{s}.ini", INI, ("", ""), "tail.{s}.out", "{n}> ", ["east", "west"], ["enc-x", "enc-y", "enc-z"]),
    "toml": ("jobs.{s}.toml", TOML, ("", ""), "jobs.{s}.log", "({n}) ", ["east", "west"], ["ka", "kb", "kc"]),
    "folders": ("{s}/Procfile", PROCFILE, ("", ""), "{s}/honcho.log", "20:41:{t:02d} {n}.1 | ", ["box-a", "box-b"], ["w1", "w2", "w3", "w4"]),
    "a folder of each kind": ("procs/{s}.yaml", COMPOSE, ("services:", ""), "logs/{s}.log", "{n} | ", ["east", "west"], ["w1", "w2"]),
    "stamps and levels": ("Procfile.{s}", PROCFILE, ("", ""), "h.{s}.log", "2026-10-14 20:41:{t:02d} INFO {n}: ", ["box-a", "box-b"], ["w1", "w2", "w3"]),
}  # fmt: skip


def _files(form: str, odd: tuple[int, int] = (1, 1), *, others: bool = True) -> dict[str, list[str]]:
    document, line, (first, last), log, head, sites, names = FORMS[form]
    files: dict[str, list[str]] = {}
    for at, site in enumerate(sites):
        told = [line.format(n=name, r=at * len(names) + local, l=local) for local, name in enumerate(names)]
        between = "," if form == "json" else ""
        files[document.format(s=site)] = [
            *filter(None, [first]),
            *(one + (between if one != told[-1] else "") for one in told),
            *filter(None, [last]),
        ]
        lines = [
            head.format(n=name, t=step) + f"it {step} loss {2.4 - step / 20 + local / 40:.4f} lr 3e-4"
            for step in range(6)
            for local, name in enumerate(names)
        ]
        if others and "{t" in head:
            lines = [
                head.format(n="system", t=0).replace("system.1", "system") + f"{name} started (pid={880 + at})"
                for at, name in enumerate(names)
            ] + lines
        lines += [head.format(n=names[odd[1]], t=7) + ERROR] if at == odd[0] else []
        files[log.format(s=site)] = lines
    return files


def _failed(tmp_path: Path, files: dict[str, list[str]]) -> list[int]:
    events = read(str(written(tmp_path, files))).tables["events"]
    return events.filter(events["text"].str.contains("out of memory"))["rank"].drop_nulls().unique().sort().to_list()


@pytest.mark.parametrize("form", FORMS)
def test_a_name_means_who_its_own_site_says(tmp_path: Path, form: str) -> None:
    assert _failed(tmp_path, _files(form)) == [len(FORMS[form][-1]) + 1]


def test_of_every_site(tmp_path: Path) -> None:
    assert _failed(tmp_path, _files("letters", (2, 0))) == [6]


def _without(files: dict[str, list[str]], *names: str) -> dict[str, list[str]]:
    return {name: lines for name, lines in files.items() if name not in names}


def _called(files: dict[str, list[str]], name: str, other: str) -> dict[str, list[str]]:
    return {other if one == name else one: lines for one, lines in files.items()}


BOXES = _files("procfiles")
OTHERS = {
    "the document of its site is lost": _without(BOXES, "Procfile.box-b"),
    "its log tells no site": _called(BOXES, "honcho.box-b.log", "honcho.log"),
    "its log tells both": _called(BOXES, "honcho.box-b.log", "honcho.box-a.box-b.log"),
    "both documents tell the same ranks": BOXES | {"Procfile.box-b": BOXES["Procfile.box-a"]},
    "the documents tell no site": _called(_called(BOXES, "Procfile.box-a", "one/Procfile"), "Procfile.box-b", "Procfile"),
    "a document disagrees with itself": BOXES | {"Procfile.box-b": [*BOXES["Procfile.box-b"], "w2: env RANK=6 python -u pretrain.py"]},
    "documents of two attempts": BOXES | {"Procfile.box-c": BOXES["Procfile.box-b"]},
}  # fmt: skip


@pytest.mark.parametrize("what", OTHERS)
def test_where_sites_are_not_told_apart_nobody_is_named(tmp_path: Path, what: str) -> None:
    assert _failed(tmp_path, OTHERS[what]) == []
