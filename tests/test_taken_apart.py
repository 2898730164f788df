"""Outputs that a tool gathered from several hosts or files are read as what each of them printed."""

import gzip
import io
import shutil
import sys
from pathlib import Path

import pytest

import parsers
from forensics import analyze
from parsers.archive.gathered import parts_of, rest_of

TRACE = """Traceback (most recent call last):
  File "/job/fit.py", line 61, in <module>
    run()
  File "/job/words.py", line 12, in cut
    raise KeyError(key)
KeyError: 'bos'
"""


def steps(loss: float) -> str:
    return "".join(f"2026-03-04 05:06:{at:02} step {at} loss {loss}\n" for at in range(10, 16))


def folded(parts: dict[str, str]) -> str:
    return "".join(f"---------------\n{host}\n---------------\n{text}" for host, text in parts.items())


def of_ansible(parts: dict[str, str]) -> str:
    return "".join(f"{host} | CHANGED | rc=0 >>\n{text}" for host, text in parts.items())


def of_parallel_ssh(parts: dict[str, str]) -> str:
    ends = ("[SUCCESS] {}", "[FAILURE] ml@{} Exited with error code 1")
    told = zip(parts.items(), ends, strict=True)
    return "".join(f"[{at}] 05:06:2{at} {end.format(host)}\n{text}" for at, ((host, text), end) in enumerate(told, 1))


def of_tail(parts: dict[str, str]) -> str:
    return "\n".join(f"==> logs/{host}.out <==\n{text}" for host, text in parts.items())


def of_panes(parts: dict[str, str]) -> str:
    return "".join(f"$ tmux capture-pane -p -t fit:0.{at}\n{text}" for at, text in enumerate(parts.values()))


def of_pods(parts: dict[str, str]) -> str:
    return "".join(f"$ kubectl -n ml logs --tail=40 {host}\n{text}" for host, text in parts.items())


@pytest.mark.parametrize("written", [folded, of_ansible, of_parallel_ssh, of_tail, of_panes, of_pods])
def test_each_part_is_a_member(written, tmp_path: Path) -> None:
    text = written({"kay3": steps(2.1), "kay7": TRACE})
    data = text.encode()
    first, second = parts_of(data)
    assert data[first.begin : first.end].strip() == steps(2.1).strip().encode()
    assert data[second.begin : second.end].strip() == TRACE.strip().encode()
    assert rest_of(data, [first, second]).count(b"\n") == data.count(b"\n")  # its lines keep their numbers
    (tmp_path / "all.txt").write_text(text)
    files = parsers.read(tmp_path).tables["files"]["file"].to_list()
    assert sorted(files) == sorted(["all.txt", *(f"all.txt/{part.name.lstrip('/')}" for part in (first, second))])


@pytest.mark.parametrize(
    "text",
    [
        "===\nkay3\n===\nloss 1\n",  # nobody's form
        "---------------\nkay3\n---------------\nloss 1\n",  # one host alone
        "step 1\n---\nsummary\n---\nstep 2\n",  # one heading
        "==> /proc/7/status <==\nState: S\n==> /proc/7/stack <==\n[<0>] f+0x1/0x2\n",  # of one process
        "".join(f"kay{at} | CHANGED | rc=0 >>\nMar 04 05:06:07 kay{at} kernel: x\n" for at in (3, 7)),  # lines tell it
        "kubectl logs kay3\nkubectl logs kay7\n",  # a script
        "".join(f"[{at}] 05:06:20 [SUCCESS] step {at}\nloss 2.1\n" for at in (3, 7)),  # a word, not a host
    ],
)
def test_other_files_stay_whole(text: str) -> None:
    assert parts_of(text.encode()) == []


def test_a_command_before_the_parts_says_which_file_they_are_of() -> None:
    text = "$ clush -b -w kay[3,7] 'tail -n 6 /job/log/card1.log'\n" + folded({"kay3": "a 1\n", "kay7": "b 2\n"})
    assert [(part.name, part.host) for part in parts_of(text.encode())] == [
        ("kay3/card1.log", "kay3"),
        ("kay7/card1.log", "kay7"),
    ]


def test_hosts_that_printed_alike_are_no_host() -> None:
    (tmp, other) = parts_of(folded({"kay[1-2,4] (3)": "ok\n", "kay3": "no\n"}).encode())
    assert (tmp.host, other.host) == (None, "kay3")


@pytest.mark.parametrize("written", [folded, of_tail])
def test_whose_a_gathered_trace_is(written, tmp_path: Path) -> None:
    """One process on each host, and a list of their ranks; without the list nobody is named."""
    (tmp_path / "all.txt").write_text(written({"kay3": steps(2.1), "kay7": steps(2.0) + TRACE, "kay8": steps(2.2)}))
    assert analyze(tmp_path).verdict.ranks == []
    (tmp_path / "who.csv").write_text("machine,rank\nkay7,0\nkay8,1\nkay3,2\n")
    assert analyze(tmp_path).verdict.ranks == [0]


@pytest.mark.parametrize("form", ["zip", "tar", "gztar", "a file of gzip", "standard input"])
def test_the_parts_are_the_same_in_whatever_the_file_comes(
    form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain" / "bundle"
    folder.mkdir(parents=True)
    data = of_tail({"kay3": steps(2.1), "kay7": TRACE}).encode()
    (folder / "all.txt").write_bytes(data)
    expected = parsers.read(folder).tables
    bundle: Path | str = tmp_path / "bundle"
    if form == "standard input":
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        bundle = "-"
    elif form == "a file of gzip":
        bundle.mkdir()
        (bundle / "all.txt").write_bytes(gzip.compress(data))
    else:
        bundle = shutil.make_archive(str(bundle), form, folder)
    read = parsers.read(bundle).tables
    assert not read["unread"].height
    for name in ("events", "steps", "ranks", "values"):
        assert read[name].height == expected[name].height, name
    assert (read["events"].height, read["steps"].height) == (expected["events"].height, 6)


def test_parts_of_a_compressed_file_that_was_cut_are_read_and_the_cut_is_listed(tmp_path: Path) -> None:
    data = gzip.compress(of_tail({"kay3": steps(2.1), "kay7": TRACE * 200}).encode())
    (tmp_path / "all.txt.gz").write_bytes(data[:-40])
    read = parsers.read(tmp_path).tables
    assert read["steps"].height == 6
    assert [file for file, reason in read["unread"].select("file", "reason").iter_rows() if "cut" in reason] == [
        "all.txt.gz"
    ]
