"""Files that people put together into one text, below titles of any form, are read as the files that they were."""

from pathlib import Path

import pytest

import parsers
from forensics import analyze
from parsers.archive import gathered, titled

TRACE = """Traceback (most recent call last):
  File "/job/fit.py", line 61, in <module>
    run()
  File "/job/words.py", line 12, in cut
    raise KeyError(key)
KeyError: 'bos'
"""
STEPS = "".join(f"2026-03-04 05:06:{at:02} step {at} loss 2.1\n" for at in range(10, 16))
START = "#!/bin/sh\n# one process per card, counted from one\nI=$1\nexport WORLD_SIZE=3 RANK=$((I - 1))\nexec python fit.py\n"
FILES = {"logs/card_1.log": STEPS, "logs/card_2.log": STEPS + TRACE, "logs/card_3.log": STEPS, "start.sh": START}
FILES |= {"starts.txt": "".join(f"./start.sh {at} > logs/card_{at}.log 2>&1 &\n" for at in (1, 2, 3))}

# What stands before and after a file.
FORMS = {
    "equals": ("=== {} ===\n", ""),
    "centred": ("{:=^60}\n", ""),
    "dashes": ("--- {} ---\n", "\n"),
    "dashes of one side": ("==== {}\n", ""),
    "hashes": ("##### {} #####\n", ""),
    "stars": ("*** {} ***\n", ""),
    "arrows": (">>> {} <<<\n", ""),
    "a box": ("==========\n{}\n==========\n", ""),
    "a box of hashes": ("##########\n# {}\n##########\n", ""),
    "begin and end": ("----- BEGIN {} -----\n", "----- END -----\n"),
    "a remark": ("# File: {}\n", ""),
    "a word": ("File: {}\n", "\n"),
    "markdown": ("### {}\n\n```\n", "```\n\n"),
    "markdown, as code": ("## `{}`\n```text\n", "```\n"),
    "bold": ("**{}**\n```\n", "```\n"),
    "a chat": ("{}:\n```\n", "```\n"),
    "folded": ("<details>\n<summary>{}</summary>\n\n```\n", "```\n</details>\n"),
    "folded, one line": ("<details><summary>{}</summary>\n\n```\n", "```\n</details>\n"),
    "tail": ("==> {} <==\n", "\n"),
    "a prompt": ("$ cat {}\n", ""),
    "a prompt of somebody": ("li@head:~/job$ tail -n 400 {}\n", ""),
}


def told(path: Path) -> tuple[object, ...]:
    said = analyze(path).verdict
    return said.kind, said.cause, said.ranks, said.status


def in_one(form: str) -> str:
    before, after = FORMS[form]
    return "".join(before.format(name) + text + after for name, text in FILES.items())


def test_the_folder_itself_names_the_rank(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert told(tmp_path) == ("crash", "exception", [1], "supported")


@pytest.mark.parametrize("form", FORMS)
def test_one_text_says_what_the_folder_says(form: str, tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text(in_one(form))
    assert told(tmp_path) == ("crash", "exception", [1], "supported")


@pytest.mark.parametrize("form", [form for form in FORMS if "prompt" not in form and form != "tail"])
def test_parts_are_the_bytes_of_the_files(form: str) -> None:
    data = in_one(form).encode()
    found = titled.parts_of(data)
    assert {part.name: data[part.begin : part.end].decode().rstrip("\n") for part in found} == {
        name: text.rstrip("\n") for name, text in FILES.items()
    }
    assert gathered.rest_of(data, found).count(b"\n") == data.count(b"\n")  # what is left keeps its lines


def test_titles_with_hosts() -> None:
    hosts = titled.parts_of(f"== gn07:/var/log/fit.log ==\n{STEPS}== gn08: /var/log/fit.log ==\n{STEPS}".encode())
    assert [(part.name, part.host) for part in hosts] == [
        ("gn07/var/log/fit.log", "gn07"),
        ("gn08/var/log/fit.log", "gn08"),
    ]


def test_another_section_set_alike_is_of_no_file() -> None:
    text = f"=== a.log ===\n{STEPS}=== dmesg ===\nout of memory\n=== b.log ===\n{STEPS}"
    data = text.encode()
    assert all(b"memory" not in data[part.begin : part.end] for part in titled.parts_of(data))
    assert b"memory" in gathered.rest_of(data, titled.parts_of(data))


@pytest.mark.parametrize(
    "text",
    [
        f"=== a.log ===\n{STEPS}",  # one file alone
        f"=== step 1 ===\n{STEPS}=== step 2 ===\n{STEPS}",  # of nothing that is a file
        f"=== torch 2.1.0 ===\n{STEPS}=== torch 2.2.0 ===\n{STEPS}",
        "# reads a.txt\nimport a\n# then b.txt\nimport b\n",  # remarks
        "--- a/fit.py\n+++ b/fit.py\n-x = 1\n+x = 2\n--- a/words.py\n+++ b/words.py\n-y\n+z\n",  # changes
        "=== /proc/7/status ===\nState: S\n=== /proc/7/stack ===\n[<0>] f+0x1/0x2\n",  # of one process
        "----- rank 0 -----\nx\n----- rank 1 -----\ny\n",
        "- conf/a.yaml\n- conf/b.yaml\n",  # a list
    ],
)
def test_other_texts_stay_whole(text: str) -> None:
    assert titled.parts_of(text.encode()) == []


def test_prompts_inside_a_file_below_a_title_are_taken_apart_too(tmp_path: Path) -> None:
    session = f"$ kubectl logs fit-a\n{STEPS}$ kubectl logs fit-b\n{STEPS}"
    (tmp_path / "all.txt").write_text(f"=== session.txt ===\n{session}=== other.log ===\n{STEPS}")
    files = parsers.read(tmp_path).tables["files"]["file"].to_list()
    assert {"all.txt/session.txt/fit-a", "all.txt/session.txt/fit-b", "all.txt/other.log"} <= set(files)
