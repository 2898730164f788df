"""What may be shown to others: no name of the owner and no secret in it, and the same verdict."""

import io
import json
import pickle
import re
import tarfile
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
import zstandard
from click.testing import CliRunner

from forensics import Report, analyze, read
from forensics.cli import cli
from forensics.model.said import encoded
from forensics.redact.bundles import renaming_of, rewrite, words_of_formats
from forensics.redact.names import Found, Renaming, find
from forensics.redact.reports import redacted
from parsers.engine.secrets import MASK, mask
from tests import analysed

SAMPLES = sorted(path.parent for path in (Path(__file__).parent.parent / "samples").glob("*/bundle"))
KEEP = words_of_formats()
TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWx"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"export HF_TOKEN={TOKEN}", f"export HF_TOKEN={MASK}"),
        (f"login with {TOKEN} done", f"login with {MASK} done"),
        ('{"aws_secret_access_key": "ab/cd+ef"}', f'{{"aws_secret_access_key": "{MASK}"}}'),
        ("WANDB_API_KEY: 0123456789abcdef", f"WANDB_API_KEY: {MASK}"),
        ("python train.py --api-key abc123 --lr 1", f"python train.py --api-key {MASK} --lr 1"),
        ("curl -H 'Authorization: Bearer abc.def'", f"curl -H 'Authorization: Bearer {MASK}'"),
        ("https://bob:hunter2@git.example/x", f"https://bob:{MASK}@git.example/x"),
        ("DB_PASSWORD=hunter2, retrying", f"DB_PASSWORD={MASK}, retrying"),
        ("id AKIAABCDEFGHIJKLMNOP", f"id {MASK}"),
        # words of training that are none
        ("eos_token: <|endoftext|> pad_token_id = 50256", None),
        ("num_tokens=12345 token: 1234567890", None),
        ("store_based_barrier_key:1 to store for rank: 0", None),
        ("http://10.0.0.1:29500/ key: 12", None),
        ("KeyError: 'secret'", None),
    ],
)
def test_secrets_are_masked_and_nothing_else(text: str, masked: str | None) -> None:
    assert mask(text) == (text if masked is None else masked)


def _renaming(*texts: str, hosts: tuple[str, ...] = ()) -> Renaming:
    return Renaming.of(Found.of([Found(hosts=frozenset(hosts)), *(find(text, KEEP) for text in texts)]), KEEP)


@pytest.mark.parametrize(
    ("hosts", "text", "renamed"),
    [
        (("node0588",), "node0588: NCCL WARN", "nodea0588: NCCL WARN"),
        (("node0588",), "Nodes=node[0580-0588,0601]", "Nodes=nodea[0580-0588,0601]"),
        (("gpu-a100-07.acme.example",), "gpu-a100-07.acme.example and gpu-a100-08", "hosta-x100-07.domaina.example and hosta-x100-08"),
        (("bert-worker-3",), "pod bert-worker-3 Evicted", "pod hosta-worker-3 Evicted"),
        (("athena",), "host athena pid 7; athenas", "host hosta pid 7; athenas"),
        (("gpu3",), "gpu3: GPU gpu4 of gpu3", "hosta3: GPU gpu4 of hosta3"),
        (("localhost",), "localhost", "localhost"),
        (("m1.local",), "m1.local local_rank=3", "nodea1.domaina.example local_rank=3"),
    ],
)  # fmt: skip
def test_hosts_keep_their_numbers_and_lose_their_names(hosts: tuple[str, ...], text: str, renamed: str) -> None:
    assert _renaming(hosts=hosts).text(text) == renamed


@pytest.mark.parametrize(
    ("text", "renamed"),
    [
        ("/home/carol/llama/train.py:18", "/home/namea/foldera/train.py:18"),
        ("/home/carol/.venv/lib/python3.11/site-packages/torch/nn/x.py", "/home/namea/.venv/lib/python3.11/site-packages/torch/nn/x.py"),
        ("/usr/lib/python3.11/threading.py", "/usr/lib/python3.11/threading.py"),
        ("USER=carol carol@login3 carol_run", "USER=namea namea@login3 namea_run"),
        ("mail carol@acme.example", "mail name@domain.example"),
        ("SLURM_JOB_NAME=orca-70b; orca-70b died", "SLURM_JOB_NAME=namea; namea died"),
        ("10.4.7.1 10.4.7.9 10.5.0.1 127.0.0.1", "10.1.1.1 10.1.1.2 10.2.1.1 127.0.0.1"),
        ("fe80::ec0d:9aff:fe12:3456 2001:db8::7", "fe80::2 fd00::1"),
        ("lladdr 3c:ec:ef:12:34:56 at 12:34:56", "lladdr 02:00:00:00:00:01 at 12:34:56"),
        ("ip-10-4-7-1 10.4.7.1", "ip-10-1-1-1 10.1.1.1"),
        ("c10::Error at::native torch 2.4.0 0000:cb:00.0", "c10::Error at::native torch 2.4.0 0000:cb:00.0"),
    ],
)  # fmt: skip
def test_names_in_texts_are_replaced(text: str, renamed: str) -> None:
    assert _renaming(text).text(text) == renamed


PLANTED = ("node0588", "carol", "orca-70b", "acme", TOKEN, "hunter2", "10.4.7.1", "MIIEvQIBADANBg")


def _planted(folder: Path) -> Path:
    """A bundle in which every kind of file tells a name and a secret."""
    line = f"node0588: [rank1]: carol@acme.example HF_TOKEN={TOKEN} DB_PASSWORD=hunter2 at 10.4.7.1\n"
    log = f"SLURM_JOB_NAME=orca-70b\nUSER=carol\n{line}Traceback (most recent call last):\n" + (
        '  File "/home/carol/orca-70b/train.py", line 3, in main\n    main()\n'
        f"RuntimeError: cannot reach node0588 with token={TOKEN}\n"
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----\n"
    )
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "node0588-rank1.log").write_text(log)
    frame = {"name": "main", "filename": "/home/carol/orca-70b/train.py", "line": 3}
    entry = {"record_id": 0, "pg_id": 0, "process_group": ("0", "orca-70b"), "collective_seq_id": 1, "frames": [frame]}
    entry |= {"profiling_name": "nccl:all_reduce", "state": "started", "input_sizes": [[1]], "output_sizes": [[1]]}
    entry |= {"time_created_ns": 1763500000000000000, "is_p2p": False, "retired": False, "op_id": 1, "p2p_seq_id": 0}
    config = {"0": {"name": "0", "desc": f"token={TOKEN}", "ranks": "[0, 1]"}}
    dump = {"version": "2.5", "entries": [entry], "pg_config": config, "comm_lib_version": "node0588"}
    (folder / "trace_1").write_bytes(pickle.dumps(dump, 2))
    (folder / "stack.json").write_text(json.dumps({"host": "node0588", "env": {"HF_TOKEN": TOKEN, "USER": "carol"}}))
    pl.DataFrame(
        {"rank": [1], "step": [3], "module": ["orca-70b"], "host": ["node0588"], "nan_count": [1]}
    ).write_parquet(folder / "tensors.parquet")
    (folder / "inner").mkdir()
    with tarfile.open(folder / "inner" / "more.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("node0588/dmesg.log")
        info.size = len(line)
        archive.addfile(info, io.BytesIO(line.encode()))
    return folder


def _everything(bundle: Path) -> str:
    """All bytes of a tar.zst, names of members included."""
    with zstandard.open(bundle, "rb") as folded:
        return folded.read().decode("latin-1")


def test_a_redacted_bundle_holds_no_planted_name(tmp_path: Path) -> None:
    bundle, out = _planted(tmp_path / "job"), tmp_path / "out.tar.zst"
    done = CliRunner().invoke(cli, ["redact", str(bundle), "--out", str(out)])
    assert done.exit_code == 0 and "left out" not in done.output, done.output
    text = _everything(out)
    assert [name for name in PLANTED if name in text] == []
    assert "nodea0588" in text and MASK in text


def test_no_output_holds_a_secret_and_a_redacted_one_no_name(tmp_path: Path) -> None:
    bundle = str(_planted(tmp_path / "job"))
    page, document, text = (str(tmp_path / name) for name in ("a.html", "a.json", "a.md"))
    files = ["-o", page, "--json", document, "--markdown", text]
    secrets = (TOKEN, "hunter2", "MIIEvQIBADANBg")
    commands = (
        ["analyze", bundle, *files],
        ["events", bundle],
        ["show", "rank", "1", bundle],
        ["inspect", bundle],
        ["stacks", bundle],
    )
    for arguments in commands:
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
        assert [secret for secret in secrets if secret in done.output] == [], arguments
    assert [s for s in secrets if any(s in Path(name).read_text() for name in (page, document, text))] == []
    done = CliRunner().invoke(cli, ["analyze", bundle, "--redact", *files])
    assert done.exit_code == 0
    shown = done.stdout + "".join(Path(name).read_text() for name in (page, document, text))
    assert [name for name in PLANTED if name in shown] == []


def _comparable(report: Report) -> dict[str, Any]:
    """Without what counts bytes or cuts texts at a length; the commonest unknown lines may be others of a tie."""
    built = msgspec.to_builtins(report, enc_hook=encoded)
    built["bundle"] = None
    built["coverage"]["complaints"] = None
    for file in built["files"]:
        del file["bytes"], file["templates"]
    return _cut(built)  # type: ignore[no-any-return]


def _cut(value: Any) -> Any:
    """Texts without their ends: a longer name moves the place where a long line is cut."""
    if isinstance(value, dict):
        return {key: _cut(item) for key, item in value.items()}
    return (
        [_cut(item) for item in value] if isinstance(value, list) else value[:200] if isinstance(value, str) else value
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_the_redacted_bundle_has_the_same_verdict(sample: Path, tmp_path: Path) -> None:
    bundle, out = str(sample / "bundle"), tmp_path / "out.tar.zst"
    renaming = renaming_of(bundle, analysed.evidence(sample.name))
    with out.open("wb") as stream:
        rewrite(bundle, stream, renaming)
    assert _comparable(analyze(out)) == _comparable(redacted(analysed.sample(sample.name), renaming))


def test_the_same_bundle_gives_the_same_bytes(tmp_path: Path) -> None:
    bundle = str(_planted(tmp_path / "job"))
    made = []
    for name in ("a", "b"):
        CliRunner().invoke(cli, ["redact", bundle, "--out", str(tmp_path / name)])
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


def test_binary_files_that_nobody_knows_are_left_out_and_said(tmp_path: Path) -> None:
    bundle = _planted(tmp_path / "job")
    (bundle / "core").write_bytes(b"\x7fELF\x00" + b"carol" * 9)
    done = CliRunner().invoke(cli, ["redact", str(bundle), "--out", str(tmp_path / "o")])
    assert re.search(r"left out: core: binary", done.output)
    assert "carol" not in _everything(tmp_path / "o")


@pytest.mark.parametrize(
    "arguments",
    [["redact", "-", "--out", "x"], ["analyze", "-", "--redact"], ["analyze", "b", "--redact", "--tables", "t"]],
)
def test_what_cannot_be_redacted_is_refused_first(arguments: list[str]) -> None:
    assert CliRunner().invoke(cli, arguments).exit_code == 2


def test_a_redacted_bundle_never_lies_in_the_bundle(tmp_path: Path) -> None:
    bundle = _planted(tmp_path / "job")
    assert CliRunner().invoke(cli, ["redact", str(bundle), "--out", str(bundle / "o")]).exit_code == 2


def test_values_of_settings_are_renamed_where_they_are_keys(tmp_path: Path) -> None:
    for attempt, host in enumerate(("node0588", "node0612")):
        log = tmp_path / f"attempt_{attempt}" / host / "rank_0.log"
        log.parent.mkdir(parents=True)
        lines = [f"2026-03-01 1{attempt}:00:0{step} [rank0] INFO step {step} loss 2.0" for step in range(3)]
        log.write_text("\n".join([f"init done rank=0 world_size=1 host={host} pid=7", *lines]) + "\n")
    report = redacted(analyze(tmp_path), renaming_of(str(tmp_path), read(str(tmp_path))))
    listed = [value for row in report.environment for value in row.values]
    assert listed and not [value for value in listed if "0588" in value and "nodea" not in value]


def test_a_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    bundle = _planted(tmp_path / "job")
    (bundle / "cut.parquet").write_bytes((bundle / "tensors.parquet").read_bytes()[:200])
    done = CliRunner().invoke(cli, ["redact", str(bundle), "--out", str(tmp_path / "o")])
    assert done.exit_code == 0 and "left out: cut.parquet: damaged Parquet" in done.output
    assert [name for name in PLANTED if name in _everything(tmp_path / "o")] == []
