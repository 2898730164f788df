"""No text of any table, no name of a file and no kept table tells a secret; where none is, nothing changes."""

import io
import json
import tarfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from click.testing import CliRunner

import parsers
from forensics.cli import cli
from parsers.engine import store
from parsers.engine.secrets import MASK, mask, mask_all, mask_paths, mask_tables
from parsers.schema.tables import SCHEMAS, TABLE_NAMES, TableName, conform, empty

TOKEN = "ghp_" + "AbCdEfGhIjKlMnOpQrStUvWx"
OTHER = "ghp_" + "ZyXwVuTsRqPoNmLkJiHgFeDc"
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7"
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"


def _filled(kind: pl.DataType, text: str) -> object:
    """A value of a column's type that says the text wherever it can."""
    if isinstance(kind, pl.List):
        return [one] if (one := _filled(kind.inner, text)) is not None else []  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return {field.name: _filled(field.dtype, text) for field in kind.fields}  # type: ignore[arg-type]
    return text if kind in (pl.String, pl.Categorical) else None


def _tables(text: str, rows: int = 2) -> dict[TableName, pl.DataFrame]:
    """Every table with the text in every cell, and a row of nulls."""
    made: dict[TableName, pl.DataFrame] = {}
    for name in TABLE_NAMES:
        schema = dict(SCHEMAS[name])
        filled = {column: _filled(kind, text) for column, kind in schema.items()}
        made[name] = pl.DataFrame([filled] * rows + [dict.fromkeys(schema)], schema=schema)
    return made


@pytest.mark.parametrize("secret", [f"x {TOKEN} y", "DB_PASSWORD=hunter2", PEM])
def test_no_text_column_of_any_table_tells_a_secret(secret: str) -> None:
    for name, frame in mask_tables(_tables(secret)).items():
        assert frame.schema == pl.Schema(SCHEMAS[name]) and frame.height == 3, name
        said = repr(frame.rows())
        assert MASK in said and not [part for part in (TOKEN, "hunter2", BODY) if part in said], name


@pytest.mark.parametrize("rows", [2, 2000])
@pytest.mark.parametrize("name", ["DB_PA\u017f\u017fWORD", "API_\u212aEY", "CREDENT\u0131AL", "credent\u0130al"])
def test_letters_that_are_another_case_of_a_plain_one_hide_nothing(name: str, rows: int) -> None:
    secret = f"{name}=hunter2hunter2"
    assert mask(secret) == mask_all(["x", secret])[1] == f"{name}={MASK}"
    for table, frame in mask_tables(_tables(secret, rows)).items():
        assert "hunter2" not in repr(frame[:3].rows()) + repr(frame[-3:].rows()), table


def test_tables_without_a_secret_stay_as_they_are() -> None:
    tables = _tables("barrier_key:1 to store for rank: 0; token: 12")
    for name, frame in mask_tables(tables).items():
        assert frame is tables[name], name


def test_what_is_masked_stays_masked_as_it_is() -> None:
    once = mask_tables(_tables(f"HF_TOKEN={TOKEN} password: hunter2 {PEM}"))
    for name, frame in mask_tables(once).items():
        assert frame.equals(once[name]), name


def test_a_column_of_one_value_stays_a_literal() -> None:
    rows = pl.DataFrame({"file": ["a.log"] * 100_000, "line": range(100_000), "module": [TOKEN] * 100_000})
    tables = {name: empty(name) for name in TABLE_NAMES} | {"tensors": conform("tensors", rows)}
    masked = mask_tables(tables)["tensors"]
    assert masked["module"].unique().to_list() == [MASK]


@pytest.mark.parametrize(
    ("paths", "masked"),
    [
        (["a/rank_1.log"], ["a/rank_1.log"]),
        ([f"run_{TOKEN}.log"], [f"run_{MASK}.log"]),
        (["token=abcdefghij/z.log"], [f"token={MASK}/z.log"]),
        # two files stay two
        ([f"{OTHER}/1.log", f"{TOKEN}/1.log"], ["[masked 2]/1.log", f"{MASK}/1.log"]),
    ],
)  # fmt: skip
def test_names_of_files_keep_their_parts_and_stay_apart(paths: list[str], masked: list[str]) -> None:
    assert [mask_paths(paths)[path] for path in paths] == masked


def _bundle(folder: Path) -> Path:
    (folder / TOKEN).mkdir(parents=True)
    (folder / f"run_{TOKEN}.log").write_text("[rank4]: ValueError: x\n")
    (folder / f"run_{OTHER}.log").write_text("[rank5]: ValueError: y\n")
    (folder / TOKEN / "rank_1.log").write_text("[rank1]: ValueError: z\n")
    rows = {"rank": [0, 0], "step": [1, 2], "module": [TOKEN, "m"], "op": ["DB_PASSWORD=hunter2"] * 2}
    rows |= {"tensor": ["output"] * 2, "nan_count": [0, 1], OTHER: ["x", "y"]}
    pl.DataFrame(rows).write_parquet(folder / "stats_rank_0.parquet")
    env = [{"name": "MY_TOKEN", "value": "s3cr3tvalue"}, {"name": "LOG_LEVEL", "value": "warning"}]
    (folder / "pod.json").write_text(json.dumps({"kind": "Pod", "spec": {"containers": [{"name": "c", "env": env}]}}))
    (folder / "sa.json").write_text(json.dumps({"type": "service_account", "private_key": PEM}))
    return folder


PLANTED = (TOKEN, OTHER, "hunter2", "s3cr3tvalue", BODY)


def test_neither_a_report_nor_kept_tables_tell_what_names_of_files_do(tmp_path: Path) -> None:
    bundle, kept, document = _bundle(tmp_path / "job"), tmp_path / "kept", tmp_path / "a.json"
    for arguments in (["parse", str(bundle), "--out", str(kept)], ["analyze", str(bundle), "--json", str(document)]):
        done = CliRunner().invoke(cli, arguments)
        assert done.exit_code == 0, done.output
        assert [secret for secret in PLANTED if secret in done.output] == []
    said = document.read_text() + (kept / store.MANIFEST).read_text()
    assert [secret for secret in PLANTED if secret in said] == []
    assert all(row["sha256"] for row in json.loads((kept / store.MANIFEST).read_text())["read"])
    files = parsers.read(str(bundle)).tables["files"]["file"].to_list()
    assert files == sorted(files) and len(set(files)) == 6


def test_kept_tables_that_somebody_filled_are_masked(tmp_path: Path) -> None:
    bundle, kept = _bundle(tmp_path / "job"), tmp_path / "kept"
    CliRunner().invoke(cli, ["parse", str(bundle), "--out", str(kept)])
    filled = _tables(f"{TOKEN} {PEM}")
    for name in (
        "files",
        "groups",
        "timings",
        "settings",
        "devices",
        "unread",
    ):  # no column has a form of its own; a row of nulls alone would be refused
        filled[name].head(1).write_parquet(kept / store.file_of(name))
    manifest = kept / store.MANIFEST
    manifest.write_text(manifest.read_text().replace('"job"', f'"{TOKEN}"'))
    evidence = parsers.read(str(kept))
    said = evidence.name + "".join(repr(frame.rows()) for frame in evidence.tables.values())
    assert MASK in evidence.name and [secret for secret in PLANTED if secret in said] == []


def test_a_redacted_bundle_tells_none_of_them(tmp_path: Path) -> None:
    bundle, out = _bundle(tmp_path / "job"), tmp_path / "out.tar.zst"
    done = CliRunner().invoke(cli, ["redact", str(bundle), "--out", str(out)])
    assert done.exit_code == 0 and "left out" not in done.output, done.output
    with zstandard.open(out, "rb") as folded:
        raw = folded.read()
    assert [secret for secret in PLANTED if secret.encode() in raw] == []
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        names = archive.getnames()
    assert len(names) == len(set(names)) == 6 and "warning" in raw.decode("latin-1")


WORD = "AbCdEfGhIjKlMnOpQrStUvWx0123456789"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("PGPASSWORD=hunter2 psql", f"PGPASSWORD={MASK} psql"),
        ("train.py --password 'p w x' --lr 1", f"train.py --password '{MASK}' --lr 1"),
        ("export MY_SECRET='s p x'", f"export MY_SECRET='{MASK}'"),
        ('{"password": "a\\"b c", "x": 1}', f'{{"password": "{MASK}", "x": 1}}'),
        (f"['--auth-token', '{WORD}']", f"['--auth-token', '{MASK}']"),
        (f"train.py --token \\\n  {WORD} --lr 1", f"train.py --token \\\n  {MASK} --lr 1"),
        (f"{{b'HF_TOKEN': b'{WORD}', b'A': b'x'}}", f"{{b'HF_TOKEN': b'{MASK}', b'A': b'x'}}"),
        (f"https://{WORD}@git.example/x", f"https://{MASK}@git.example/x"),
        ("curl -u admin:hunter2 https://x", f"curl -u admin:{MASK} https://x"),
        ("Cookie: sid=abc; csrf=d", f"Cookie: {MASK}"),
        ("AccountName=a;AccountKey=abc+/d==;End", f"AccountName=a;AccountKey={MASK};End"),
        ("https://x/y?sv=2020&sig=abc%3D&z=1", f"https://x/y?sv=2020&sig={MASK}&z=1"),
        ("https://x/y?X-Amz-Signature=0123abcd", f"https://x/y?X-Amz-Signature={MASK}"),
        *((f"got {form} here", f"got {MASK} here") for form in (
            f"ya29.{WORD}", f"dckr_pat_{WORD}", f"sk_live_{WORD}", f"SG.{WORD}.{WORD}", "dop_v1_" + "0a" * 32,
            f"hvs.{WORD}", "dapi" + "0a" * 16, f"tskey-auth-{WORD}-{WORD}", "AGE-SECRET-KEY-1" + "Q" * 58,
        )),
    ],
)  # fmt: skip
def test_forms_that_are_near_standard(text: str, masked: str) -> None:
    assert mask(text) == masked and mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "password='', user='bob'",
        "git+ssh://git@git.example/x http://node1:29500/ abfss://container-2026-training-data@account.example",
        "a cookie: none, msg.sig=3, signature=torch.float32",
        "PWD=/home/x token ids: 'a b c' sk_live dapi hvs.x SG.1.2 curl -u root host:1",
    ],
)
def test_words_that_are_no_secret_stay(text: str) -> None:
    assert mask(text) == text
