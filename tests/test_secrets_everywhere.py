"""Each secret in each kind of file: no output, no kept table and no redacted bundle tells it, nor a part of it."""

import csv
import gzip
import io
import json
import pickle
from collections.abc import Callable
from html import escape
from pathlib import Path
from time import process_time

import polars as pl
import pytest
import zstandard
from click.testing import CliRunner

from forensics.cli import cli
from parsers.engine.secrets import MASK, mask
from parsers.text.veils import Unveiled
from tests.flight_dumps import dump, entry

TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
KEY = "LTAI" + "5tQwErTyUiOpAsDfGh"
HOOK = "T0AB1CD2EF/B3GH4IJ5KL/" + "mNoPqRsTuVwXyZ012345"
PASSWORD = "Zq7RrTt9WwXx2"


def _numbered(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


# What stands in the files, what must not come out of it
SECRETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "coloured": (f"x {TOKEN[:10]}\x1b[1;31m{TOKEN[10:24]}\x1b[0m{TOKEN[24:]} y", (TOKEN[:10], TOKEN[10:24], TOKEN[24:])),
    "no width": (f"x {TOKEN[:2]}\u200b{TOKEN[2:20]}\u2060{TOKEN[20:]} y", (TOKEN[2:20], TOKEN[20:])),
    "numbered": (f"x {_numbered(TOKEN)} y", (TOKEN, _numbered(TOKEN))),
    "mysql": (f"mysql -u root -p{PASSWORD} db", (PASSWORD,)),
    "pwd": (f"server=db1;uid=sa;pwd={PASSWORD};", (PASSWORD,)),
    "access key": (f"id {KEY} used", (KEY,)),
    "hook": (f"POST https://hooks.slack.com/services/{HOOK} 404", (HOOK, HOOK[-20:])),
}  # fmt: skip


def _flight(rank: int, text: str) -> dict[str, object]:
    calls = [entry(n, process_group=[text, text], frames=[{"name": text, "filename": text, "line": 9}]) for n in (1, 2)]
    return dump(
        calls,
        rank=rank,
        world_size=3,
        pg_config={text: {"name": text, "desc": text, "ranks": "[0, 1]"}},
        nccl_version=text,
    )


def _table(text: str) -> bytes:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerows([["rank", "step", "module", "op", "tensor", "nan_count"], [1, 1, text, text, "output", 1]])
    return out.getvalue().encode()


def _parquet(text: str) -> bytes:
    out = io.BytesIO()
    rows = {"rank": [0, 0], "step": [1, 2], "module": [text] * 2, "op": ["o"] * 2, "tensor": ["output"] * 2}
    more = {"nan_count": [0, 1], "tags": [[text], []], "info": [{"a": text}, {"a": "b"}], "raw": [text.encode()] * 2}
    pl.DataFrame(rows | more).write_parquet(out)
    return out.getvalue()


def _pod(text: str) -> dict[str, object]:
    ended = {"state": {"terminated": {"exitCode": 1, "reason": "Error", "message": text}}, "name": "c"}
    container = {"name": "c", "command": ["bash", "-c", text], "env": [{"name": "X", "value": text}]}
    status = {"phase": "Failed", "message": text, "containerStatuses": [ended]}
    return {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}, "status": status}


def _stats(text: str, **more: object) -> str:
    return json.dumps({"rank": 2, "step": 1, "module": text, "op": text, "tensor": "output", "nan_count": 1, **more})


KINDS: dict[str, Callable[[str], bytes]] = {
    "error.log": lambda text: f"[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/a/{text}.py\", line 3, in {text}\n"
    f"[rank3]: ValueError: {text}\n2026-11-20 10:00:00,000 ERROR failed: {text}\n{text}\n".encode(),
    "args.log": lambda text: f"Namespace(lr=1, cmd={text!r})\nNCCL_DEBUG=INFO\n".encode(),
    "docker.log": lambda text: (json.dumps({"log": f"[rank4]: ValueError: {text}\n", "stream": "stderr"}) + "\n").encode(),
    "z.log.gz": lambda text: gzip.compress(f"[rank5]: RuntimeError: {text}\n".encode()),
    "utf16.log": lambda text: f"[rank6]: RuntimeError: {text}\n".encode("utf-16"),
    "nccl_trace_rank_0": lambda text: pickle.dumps(_flight(0, text) | {"note": text.encode()}, 4),
    "nccl_trace_rank_1": lambda text: pickle.dumps(_flight(1, text), 0),
    "nccl_trace_rank_2.json": lambda text: json.dumps(_flight(2, text)).encode(),
    "pyspy_rank_0.txt": lambda text: f"Process 12: python train.py {text}\nPython v3.11.7\n\n"
    f'Thread 12 (active): "{text}"\n    {text} ({text}:3)\n    main (train.py:9)\n'.encode(),
    "stats_rank_2.jsonl": lambda text: f"{_stats(text, host=text, group=text, phase=text)}\n".encode(),
    "stats_rank_1.csv": _table,
    "stats_rank_0.parquet": _parquet,
    "pod.json": lambda text: json.dumps(_pod(text)).encode(),
    "dmesg.txt": lambda text: f"Nov 20 10:00:01 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name={text}, gone\n".encode(),
    "smi.xml": lambda text: f"<nvidia_smi_log><gpu id='00000000:3B:00.0'><product_name>{escape(text)}</product_name></gpu></nvidia_smi_log>".encode(),
    "m.prom": lambda text: f'DCGM_FI_DEV_XID_ERRORS{{gpu="0",cmd="{text}"}} 79\n'.encode(),
    "slurm-7.out": lambda text: f"srun: error: n1: task 3: Exited with exit code 1\nJobId=7 JobName=x\n   JobState=FAILED Command={text}\n".encode(),
}  # fmt: skip


def _bundle(folder: Path, text: str) -> Path:
    folder.mkdir()
    for name, made in KINDS.items():
        (folder / name).write_bytes(made(text))
    (folder / f"run {text.replace('/', '%2F')}.log").write_text("[rank7]: ValueError: x\n")
    return folder


def _written(folder: Path) -> dict[str, str]:
    """What every file below a folder says, tables by their values."""
    said = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            said[path.name] = repr((frame.columns, frame.rows()))
        elif path.suffix == ".zst":
            with zstandard.open(path, "rb") as folded:
                said[path.name] = folded.read().decode("latin-1")
        else:
            said[path.name] = path.read_text()
    return said


@pytest.mark.parametrize("name", SECRETS)
def test_no_output_tells_it(name: str, tmp_path: Path) -> None:
    text, parts = SECRETS[name]
    bundle, out = _bundle(tmp_path / "job", text), tmp_path / "out"
    out.mkdir()
    views = ["--html", str(out / "a.html"), "--json", str(out / "a.json"), "--markdown", str(out / "a.md")]
    views += ["--trace", str(out / "trace.json"), "--tables", str(out / "tables")]
    said = {}
    for arguments in (
        ["analyze", str(bundle), *views],
        ["parse", str(bundle), "--out", str(out / "kept")],
        ["redact", str(bundle), "--out", str(out / "r.tar.zst")],
        ["inspect", str(bundle)],
        ["events", str(bundle)],
        ["show", "rank", "3", str(bundle)],
        ["stacks", str(bundle)],
    ):
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
        said[arguments[0]] = done.output
    said |= _written(out)
    assert [(where, part) for where, words in said.items() for part in parts if part in words] == []
    assert MASK in said["events.parquet"]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"\x1b[31m{KEY}\x1b[0m end", f"\x1b[31m{MASK}\x1b[0m end"),
        (f"a {TOKEN[:9]}\x1b[0m{TOKEN[9:]}\x1b[1m b", f"a {MASK}\x1b[1m b"),
        (f"{_numbered('pass')}word={PASSWORD} x", f"{_numbered('pass')}word={MASK} x"),
        (f'{{"a": "\\u0022password\\u0022: \\u0022{PASSWORD}\\u0022"}}', f'{{"a": "\\u0022password\\u0022: \\u0022{MASK}\\u0022"}}'),
        (f"k&#61;&#x68;f_{TOKEN[3:]};", f"k&#61;{MASK};"),
        (f"q=%68f_{TOKEN[3:]}&b=1", f"q={MASK}&b=1"),
        (f"\\x1b[1m{KEY[:6]}\\x1b[0m{KEY[6:]}", f"\\x1b[1m{MASK}"),
        (f"mysqldump --host=a -p'{PASSWORD}' db", f"mysqldump --host=a -p'{MASK}' db"),
        (f"['mysql', '-uroot', '-p{PASSWORD}']", f"['mysql', '-uroot', '-p{MASK}']"),
        (f"machine a.example login user password {PASSWORD}", f"machine a.example login user password {MASK}"),
        (f"sshpass -p {PASSWORD} ssh n1", f"sshpass -p {MASK} ssh n1"),
        (f"docker login -u a -p {PASSWORD} r.example", f"docker login -u a -p {MASK} r.example"),
        (f"MYSQL_PWD={PASSWORD} mysql", f"MYSQL_PWD={MASK} mysql"),
        (f"密码：{PASSWORD}", f"密码：{MASK}"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/0a1b2c3d-4e5f", f"https://open.feishu.cn/open-apis/bot/v2/hook/{MASK}"),
    ],
)  # fmt: skip
def test_what_is_seen_is_masked_and_all_else_stays(text: str, masked: str) -> None:
    assert mask(text) == masked and mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/x OLDPWD=~/a pwd: ./b pwd=$HOME PWD=C:\\a 35%ab \\u0041 \x1b[31mred\x1b[0m &#65; \u200b",
        "mysql -u root -p db; mysql: -parallel; ssh -p 2222 n1; login -p; LTAI AKID hooks.slack.com/services/",
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    assert mask(text) == text


def test_what_is_seen_has_its_place_in_the_text() -> None:
    text = "\x1b[1ma\u200b\u200bb\\u0063%64\x1b[0m"
    seen = Unveiled(text)
    assert seen.plain == "abcd"
    assert [seen.replaced([span], "-") for span in ((0, 1), (1, 3), (3, 4), (0, 4))] == [
        "\x1b[1m-\u200b\u200bb\\u0063%64\x1b[0m",
        "\x1b[1ma\u200b\u200b-%64\x1b[0m",
        "\x1b[1ma\u200b\u200bb\\u0063-\x1b[0m",
        "\x1b[1m-\x1b[0m",
    ]
    assert seen.replaced([(0, 2), (1, 4)], "-") == "\x1b[1m-\x1b[0m"


BITS = [
    "mysql ", "mysql 'a -", "docker login -p", "redis-cli -a \\", "--a", "--token \\ ", "name: TOKEN,value", "://a:", "curl -u a",
    "\\", "\\u", "\\x1b[", "%4", "%41", "&#", "&#65;", "\x1b]", "\x1b[0", "\x9b0", "\u200b", "eyJa.", "SG.a", "password='\\",
    "pwd=$", "aPWD", "-----BEGIN PRIVATE KEY-----\\n", "Cookie: a=b;", "cookie:a=", "hooks.slack.com/services/", "SECRET \\'",
]  # fmt: skip


@pytest.mark.parametrize("bit", BITS)
def test_a_long_line_of_beginnings_costs_its_length(bit: str) -> None:
    line = "token " + bit * (60_000 // len(bit))
    began = process_time()
    mask(line)
    assert process_time() - began < 2  # in the square of its length it would take a minute
