"""Keys, tokens and passwords that a job's logs and environment dumps hold: masked before anybody reads the tables.

Told by what stands before a value (a name such as `HF_TOKEN`, `Authorization: Bearer`, `user:password@`) or by the form
that its issuer gives it. In each pattern the second group is the secret.
Source of the forms: the issuers' documentation of their tokens (GitHub, GitLab, Hugging Face, AWS, Google, Slack, OpenAI,
PyPI, npm, NVIDIA), RFC 7519 (JSON Web Token), RFC 7468 (PEM).
"""

import re

import polars as pl

from parsers.patterns import regex
from parsers.tables import TableName

MASK = "[masked]"

_KEY = r"(?:API|ACCESS|SECRET|PRIVATE|AUTH|ENCRYPTION|SIGNING)[_-]?KEY"
_PREFIX = r"\b(?:[A-Za-z0-9]+[_-])*"
_QUOTES = r"[\\\"']{0,4}"
_IS = rf"{_QUOTES}\s*(?:=|:)\s*{_QUOTES}"
_VALUE = r"[^\s\"'\\,;&}\])]{4,}"
# `token` is a word of language models, too: numbers and what stands in brackets are none of ours
_TOKEN = r"[0-9]*[A-Za-z_./+~=-][A-Za-z0-9_./+~=-]{7,}"
_NAMES = rf"(?:{_KEY}(?:[_-]ID)?|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)"
_FORMS = (
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|xox[abeprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}"
    r"|pypi-[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
_PATTERNS = (
    rf"(?i)({_PREFIX}{_NAMES}{_IS})({_VALUE})",
    rf"(?i)(--[a-z0-9_-]*{_NAMES}\s+)({_VALUE})",
    rf"(?i)({_PREFIX}TOKEN{_IS})({_TOKEN})",
    rf"(?i)(--[a-z0-9_-]*token\s+)({_TOKEN})",
    rf"(?i)(\bauthorization{_IS}(?:Bearer|Basic|Token)\s+)({_VALUE})",
    r"(\b[a-z][a-z0-9+.-]*://[^\s:/@\"']*:)([^\s/@\"']+)(?=@)",
    rf"(\b)({_FORMS})",
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)([A-Za-z0-9+/=\s\\]+)",
)
_COMPILED = tuple(map(regex, _PATTERNS))
_HINTS = ["key", "secret", "passw", "passphrase", "credential", "token", "authorization", "://", "ghp_", "gho_", "ghu_"]
_HINTS += ["ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "akia", "asia", "aiza", "xox", "sk-", "pypi-", "npm_"]
_HINTS += ["nvapi-", "eyj"]  # a line without any of these, in whatever case, holds no secret
_HINTED = regex("|".join(map(re.escape, _HINTS)), re.I)
_SECRET_NAME = regex(rf"(?:{_PREFIX}(?:{_NAMES}|TOKEN))\Z", re.I)
_KEY_LINE = regex(r"\A(\d+ × )[A-Za-z0-9+/#]{40,}={0,2}\Z")  # a line of a private key, among the commonest unknown ones
_TEXTS: dict[TableName, tuple[str, ...]] = {
    "events": ("text", "detail"),
    "settings": ("value",),
    "devices": ("text",),
    "unread": ("reason",),
}


def mask(text: str) -> str:
    """The text with every secret in it replaced; the same object where it holds none."""
    if _HINTED.search(text) is None:
        return text
    for pattern in _COMPILED:
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def mask_tables(tables: dict[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables whose verbatim texts hold no secret."""
    masked = dict(tables)
    for name, columns in _TEXTS.items():
        frame = tables[name]
        for column in columns:
            frame = _masked(frame, column)
        masked[name] = frame
    settings = masked["settings"]
    if settings.height:
        names = [name for name in settings["name"].unique().drop_nulls() if _SECRET_NAME.search(name)]
        hidden = pl.col("name").is_in(names) & pl.col("value").is_not_null()
        masked["settings"] = settings.with_columns(pl.when(hidden).then(pl.lit(MASK)).otherwise("value").alias("value"))
    files = masked["files"]
    masked["files"] = files.with_columns(
        pl.Series("templates", [_each(row) for row in files["templates"]], files["templates"].dtype)
    )
    return masked


def _each(texts: list[str] | None) -> list[str] | None:
    return None if texts is None else [mask(_KEY_LINE.sub(rf"\g<1>{MASK}", text)) for text in texts]


def _masked(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    hinted = frame[column].str.contains_any(_HINTS, ascii_case_insensitive=True).fill_null(False)
    if not hinted.any():
        return frame
    changed = {text: mask(text) for text in frame[column].filter(hinted).unique()}
    changed = {text: now for text, now in changed.items() if now != text}
    return frame.with_columns(pl.col(column).replace(changed)) if changed else frame
