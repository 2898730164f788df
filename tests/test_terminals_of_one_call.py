"""What a terminal shows is of the rank whose call was typed there: by hand, on four hosts, whatever the prompt looks like and the files are called."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = ("lark", "wren", "finch", "robin")
RANKS = (2, 0, 3, 1)  # of the terminals in their order
Files = dict[str, list[str]]
SCRIPT = {"go.sh": ["N=$1", "export WORLD_SIZE=4", "export RANK=$((N - 1))", "exec python fit.py"]}
FROM_ZERO = {"go.sh": ["export WORLD_SIZE=4 RANK=$(( $1 + 0 ))", "exec python fit.py"]}
LOG = ["10:02:18 | loading last.pt", "10:03:21 | 61820 | dur 0.46 | 1.5 s/it", "10:03:52 | 61840 | dur 0.44 | 1.5 s/it"]
NAMES: dict[str, Callable[[int], str]] = {
    "numbers of panes": lambda at: f"pane_{(3, 16, 7, 22)[at]}.txt",
    "letters": lambda at: f"term_{'cabd'[at]}.log",
    "folders": lambda at: f"{HOSTS[at]}/screen.log",
    "hosts": lambda at: f"{HOSTS[at]}.txt",
}
PROMPTS: dict[str, Callable[[int, str], Sequence[str]]] = {
    "of bash": lambda at, call: [f"jo@{HOSTS[at]}:~/job$ ./{call}"],
    "of root": lambda at, call: [f"root@{HOSTS[at]}:/srv/job# ./{call}"],
    "in brackets": lambda at, call: [f"[jo@{HOSTS[at]} job]$ ./{call}"],
    "behind an environment": lambda at, call: [f"(tts) jo@{HOSTS[at]}:~/job$ bash {call}"],
    "a bare mark": lambda at, call: [f"$ sh {call}"],
    "as a shell shows it": lambda at, call: [f"+ ./{call}"],
    "with what is sent elsewhere": lambda at, call: [f"jo@{HOSTS[at]}:~/job$ ./{call} 2>&1 | tee run.log"],
    "behind another command": lambda at, call: [f"jo@{HOSTS[at]}:~$ cd job && git log --oneline | head -1", "c81fe02 collate", f"jo@{HOSTS[at]}:~/job$ ./{call}"],
    "behind ssh": lambda at, call: [f"jo@lark:~$ ssh {HOSTS[at]}", "Welcome to Ubuntu", f"jo@{HOSTS[at]}:~/job$ ./{call}"],
    "with a variable": lambda at, call: [f"jo@{HOSTS[at]}:~/job$ ./{call} fast"],
}  # fmt: skip


def terminals(
    prompt: Callable[[int, str], Sequence[str]],
    name: Callable[[int], str] = NAMES["numbers of panes"],
    first: int = 1,
    ranks: Sequence[int] = RANKS,
    after: Sequence[str] = (),
) -> Files:
    return {name(at): [*prompt(at, f"go.sh {rank + first}"), *LOG, *after] for at, rank in enumerate(ranks)}


def whose(folder: Path, files: Files) -> dict[str, int]:
    rows = read(str(written(folder, files))).tables["files"].drop_nulls("rank")
    return dict(rows.select("file", "rank").iter_rows())


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_terminal_is_of_the_rank_that_was_called_there(prompt: str, tmp_path: Path) -> None:
    files = terminals(PROMPTS[prompt])
    assert whose(tmp_path, SCRIPT | files) == dict(zip(files, RANKS, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_whatever_the_files_are_called(name: str, tmp_path: Path) -> None:
    files = terminals(PROMPTS["of bash"], NAMES[name])
    assert whose(tmp_path, SCRIPT | files) == dict(zip(files, RANKS, strict=True))


def test_counted_from_zero(tmp_path: Path) -> None:
    files = terminals(PROMPTS["of bash"], first=0)
    assert whose(tmp_path, FROM_ZERO | files) == dict(zip(files, RANKS, strict=True))


def test_back_at_the_prompt(tmp_path: Path) -> None:
    files = terminals(PROMPTS["of bash"], after=["KeyError: 'p315'", "jo@wren:~/job$ "])
    assert whose(tmp_path, SCRIPT | files) == dict(zip(files, RANKS, strict=True))


@pytest.mark.parametrize(
    "files",
    [
        terminals(PROMPTS["of bash"], after=["jo@wren:~/job$ cat pane_of_another.txt", "KeyError: 'p315'"]),
        terminals(lambda at, call: [*PROMPTS["of bash"](at, call), *PROMPTS["of bash"](at, "go.sh 4")], ranks=(2, 0, 1)),
        terminals(lambda at, call: [f"jo@lark:~$ cat {call.split()[0]}"]),
        terminals(lambda at, call: [f"he said: start ./{call} there"]),
        terminals(PROMPTS["of bash"], ranks=(2,)),
    ],
    ids=["something else was typed after it", "two calls", "it was only shown", "somebody spoke of it", "one terminal alone"],
)  # fmt: skip
def test_terminals_that_are_nobodys(files: Files, tmp_path: Path) -> None:
    assert whose(tmp_path, SCRIPT | files) == {}


def test_of_two_in_which_one_rank_was_called_neither(tmp_path: Path) -> None:
    """One of both is of an attempt before, and no line tells which."""
    files = terminals(PROMPTS["of bash"])
    more = {"pane_30.txt": files["pane_16.txt"]}
    kept = {name: rank for name, rank in zip(files, RANKS, strict=True) if name != "pane_16.txt"}
    assert whose(tmp_path, SCRIPT | files | more) == kept
