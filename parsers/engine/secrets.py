"""Keys, tokens and passwords that a job's logs and environment dumps hold: masked before anybody reads the tables.

Told by what stands before a value (a name such as `HF_TOKEN`, `Authorization: Bearer`, `user:password@`, the option of a
program) or by the form that its issuer gives it; also where colours, characters of no width or escapes are between. In
each pattern the second group is the secret.
Source of the forms: the issuers' documentation of their tokens (GitHub, GitLab, Hugging Face, AWS, Google, Slack, OpenAI,
PyPI, npm, NVIDIA, Docker, Stripe, SendGrid, DigitalOcean, HashiCorp Vault, Databricks, Tailscale, age, Alibaba Cloud,
Tencent Cloud, Volcano Engine, Groq, Replicate, Grafana, Sentry, LangSmith, Atlassian), of signed addresses (Azure shared
access, AWS) and of incoming hooks (Slack, Discord, Feishu, WeCom, Telegram), the manuals of mysql, redis-cli, sshpass and
docker, RFC 6265 (cookies), RFC 7519 (JSON Web Token), RFC 7468 (PEM).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from parsers.schema.order import sort_if_needed
from parsers.schema.tables import TableName
from parsers.text.patterns import regex
from parsers.text.veils import VEILED, Unveiled, is_veiled

MASK = "[masked]"

_KEY = r"(?:API|ACCOUNT|ACCESS|SECRET|PRIVATE|AUTH|ENCRYPTION|SIGNING)[_-]?KEY"
_START = r"(?<![A-Za-z0-9])"  # a word of a name begins: `MY_SECRET`
_QUOTES = r"[\\\"']{0,4}"
_IS = rf"{_QUOTES}\s*[=:：]\s*(?:b(?=['\"]))?{_QUOTES}"
_NEXT = r"(?:['\"],\s*|[\s\\]+)['\"]?"  # between an argument and its value, on a command line or in a list
_WORD = r"[^\s\"'\\,;&}\])]"
_QUOTED = "|".join(rf"(?<=[^\\]{q}){_WORD}(?:[^{q}\\\n]|\\.){{3,}}(?={q})" for q in "'\"")  # may hold blanks
_VALUE = rf"(?!\[masked)(?:{_QUOTED}|{_WORD}{{4,}})"
# `token` is a word of language models, too: numbers and what stands in brackets are none of ours
_TOKEN = r"[0-9]*[A-Za-z_./+~=-][A-Za-z0-9_./+~=-]{7,}"
_NAMES = rf"(?:{_KEY}(?:[_-]ID)?|SECRET|(?:[A-Z]{{1,8}})?PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|密码|口令|密钥)"
_FOLDER = r"(?![~.$]*/|\$|[A-Za-z]:\\)"  # `PWD` is a folder, mostly
_HOOKS = (
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/"
    r"|/open-apis/bot/(?:v2/)?hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|api\.telegram\.org/bot"
)
_FORMS = (
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|gl(?:pat|rt|dt|cbt|ptt|soat)-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|xox[abeprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}"
    r"|pypi-[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{30,}"
    r"|ya29\.[A-Za-z0-9_-]{20,}|dckr_pat_[A-Za-z0-9_-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|do[opr]_v1_[a-f0-9]{64}|hv[sbr]\.[A-Za-z0-9_-]{20,}"
    r"|dapi[a-f0-9]{32}|tskey-[a-z]+-[A-Za-z0-9-]{10,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}"
    r"|LTAI[A-Za-z0-9]{12,}|AKID[A-Za-z0-9]{32}|AKLT[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,}"
    r"|gl(?:sa|c)_[A-Za-z0-9_=-]{30,}|sntry[su]_[A-Za-z0-9_=/+-]{30,}|lsv2_[a-z]{2}_[a-f0-9_]{30,}|ATATT3[A-Za-z0-9_=-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
_OF_NAMES = ("key", "secret", "passw", "passphrase", "credential", "密码", "口令", "密钥")
_OF_FORMS = (
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "glrt-", "gldt-", "glcbt-", "glptt-", "glsoat-", "hf_", "akia",
    "asia", "aiza", "xox", "sk-", "pypi-", "npm_", "nvapi-", "ya29.", "dckr_pat_", "k_live_", "k_test_", "sg.", "_v1_", "hvs.", "hvb.",
    "hvr.", "dapi", "tskey-", "age-secret", "ltai", "akid", "aklt", "gsk_", "r8_", "glsa_", "glc_", "sntry", "lsv2_", "atatt3", "eyj",
)  # fmt: skip
# Words of which one, in whatever case, stands in every text with such a secret, and where the secret is
_PATTERNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("private key",), r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)((?:\\+[nr]|\s)*[A-Za-z0-9+/=][A-Za-z0-9+/=\s\\]*)"),
    (_OF_NAMES, rf"(?i)({_START}{_NAMES}{_IS})({_VALUE})"),
    # an entry of a container's environment, as JSON or YAML
    (
        (*_OF_NAMES, "token"),
        rf"(?i)(\bname{_IS}[A-Za-z0-9_.-]*(?:{_NAMES}|TOKEN){_QUOTES}(?:\s{{0,40}},)?\s{{0,40}}{_QUOTES}value{_IS})({_VALUE})",
    ),
    (_OF_NAMES, rf"(?i)((?<![\w-])--[a-z0-9_-]*{_NAMES}{_NEXT})({_VALUE})"),
    (("token",), rf"(?i)({_START}TOKEN{_IS})({_TOKEN})"),
    (("token",), rf"(?i)((?<![\w-])--[a-z0-9_-]*token{_NEXT})({_TOKEN})"),
    (("authorization",), rf"(?i)(\bauthorization{_IS}(?:Bearer|Basic|Token)\s+)({_VALUE})"),
    (("://",), r"(\b[a-z][a-z0-9+.-]{0,31}://[^\s:/@\"']{0,256}:)([^\s/@\"']{1,1024})(?=@)"),
    (
        ("://",),
        r"(?i)(\bhttps?://)([^\s:/@\"'?#]{16,})(?=@)",
    ),  # of the web only: elsewhere a user or a container may stand there
    (("curl",), r"(\bcurl\b[^\n|]{0,200}?\s(?:-u|--user)[\s=]+['\"]?[^\s:'\"]+:)([^\s'\"]+)"),
    # passwords as short options
    (("mysql", "mariadb"), rf"(\b(?:mysql|mariadb)[\w-]*[\s\"'][^\n|;&]{{0,200}}?[\s\"']-p['\"]?)({_VALUE})"),
    (
        ("sshpass", "login"),
        rf"(\b(?:sshpass|(?:docker|podman|helm)\s(?:[\w-]+\s)?login)\b[^\n|;&]{{0,200}}?[\s\"']-p(?:{_NEXT})?['\"]?)({_VALUE})",
    ),
    # .netrc
    (
        ("login",),
        rf"(\bmachine\s{{1,9}}\S{{1,256}}\s{{1,9}}login\s{{1,9}}\S{{1,256}}\s{{1,9}}password\s{{1,9}})({_VALUE})",
    ),
    (("redis-cli",), rf"(\bredis-cli\b[^\n|;&]{{0,200}}?[\s\"']-a{_NEXT})({_VALUE})"),
    (("pwd",), rf"(?i)({_START}[A-Z]{{0,8}}_?PWD{_IS}{_FOLDER})({_VALUE})"),
    (("hook", "telegram"), rf"({_HOOKS})([A-Za-z0-9/:_-]{{8,}})"),
    (("sig=", "signature="), rf"(?i)([?&](?:sig|X-(?:Amz|Goog)-Signature)=)({_VALUE})"),
    (("cookie",), r"(?i)(\bCookie['\"]?:\s*['\"]?)([^\s=;,'\"]+=[^\s;,'\"]*(?:;\s*[^\s=;]+=[^\s;,'\"]*)*)"),
    (_OF_FORMS, rf"({_START})({_FORMS})"),
)
_COMPILED = tuple(regex(pattern) for _, pattern in _PATTERNS)
_HINTS = tuple(dict.fromkeys(word for words, _ in _PATTERNS for word in words))
# Letters that a pattern which asks for no case takes for i, k and s: documentation of `re.IGNORECASE`
_OTHER_CASES = "\u0130\u0131\u212a\u017f"
_PLAIN_CASES = str.maketrans(_OTHER_CASES, "iiks")
# Nor with the `value` of an entry behind it: no tokenizer, no tokens a second
_TOKEN_ALONE = regex(r"token(?![a-uw-z0-9])")
_OF_LINES = ("templates", "last_lines")  # columns of lines of which nobody knows what they hold
_FEW = 100  # rows whose texts are asked at less cost in one piece than by polars, which first compiles its question
_AT_ONCE = 1 << 16  # rows of a table that are asked at a time: their different texts take memory
_SECRET_NAME = regex(rf"{_START}(?:{_NAMES}|TOKEN)\Z", re.I)
_KEY_LINE = regex(r"^(\d+ × )?[A-Za-z0-9+/#]{40,}={0,2}$")  # a line of a private key, as a template or as it stands


def mask(text: str, hints: Sequence[str] = _HINTS) -> str:
    """The text with every secret in it replaced; the same object where it holds none. `hints`: those that it may hold."""
    if is_veiled(text):
        text, hints = _mask_veiled(text), _HINTS
    for pattern in _likely(text, hints):
        text = pattern.sub(rf"\g<1>{MASK}", text)
    return text


def mask_all(texts: Sequence[str]) -> list[str]:
    """Each of some texts masked."""
    hints = _hints_in(texts)
    return [mask(text, hints) for text in texts]


def _hints_in(texts: Sequence[str]) -> list[str]:
    """The hints that some of these texts hold: most stand in none of them, which is told at one look."""
    low = _low("\n".join(texts))
    return [word for word in _HINTS if word in low]


def _likely(text: str, hints: Sequence[str] = _HINTS) -> list[re.Pattern[str]]:
    """The patterns that may find something in it."""
    low = _low(text)
    held = {word for word in hints if word in low}
    if "token" in held and not _TOKEN_ALONE.search(low):
        held.remove("token")
    if not held:
        return []
    return [found for found, (words, _) in zip(_COMPILED, _PATTERNS, strict=True) if not held.isdisjoint(words)]


def _mask_veiled(text: str) -> str:
    """The text with every secret that its reader sees replaced, together with what is between its characters."""
    unveiled = Unveiled(text)
    plain = unveiled.plain
    spans = {match.span(2) for pattern in _likely(plain) for match in pattern.finditer(plain) if match[2] != MASK}
    return unveiled.replaced(spans, MASK) if spans else text


def mask_paths(paths: Iterable[str]) -> dict[str, str]:
    """What each path of a bundle becomes, part by part. Two that would become one are numbered, in their order."""
    made: dict[str, str] = {}
    whole = sorted(set(paths))
    hints = _hints_in(whole)
    for path in whole:
        held = is_veiled(path) or _likely(path, hints)
        made[path] = "/".join(mask(part, hints) for part in path.split("/")) if held else path
    taken = {path for path, masked in made.items() if path == masked}
    for path, masked in made.items():
        number, apart = 1, masked
        while path != masked and apart in taken:
            number += 1
            apart = masked.replace(MASK, f"[masked {number}]")
        made[path] = apart
        taken.add(apart)
    return made


def mask_tables(tables: Mapping[TableName, pl.DataFrame]) -> dict[TableName, pl.DataFrame]:
    """Evidence tables none of whose texts holds a secret, those in lists and structures included; rows by place."""
    suspects = _suspects(tables)
    paths = {path for (_, column), texts in suspects.items() if column == "file" for path in texts}
    places = {path: masked for path, masked in mask_paths(paths).items() if path != masked}
    masked = dict(tables)
    for name, frame in tables.items():
        for column, kind in frame.schema.items() if frame.height else ():
            if changed := places if column == "file" else _changed(column, suspects.get((name, column), ())):
                frame = frame.with_columns(replaced(pl.col(column), kind, changed))
        if places and frame is not tables[name]:
            frame = sort_if_needed(frame, [key for key in ("file", "line", "record") if key in frame.columns])
        masked[name] = frame
    masked["settings"] = _without_values(masked["settings"])
    return masked


_Suspects = dict[tuple[TableName, str], list[str]]


def _suspects(tables: Mapping[TableName, pl.DataFrame]) -> _Suspects:
    """Table and column → the texts in it that may hold a secret. All tables are asked at once, by polars or, if they are
    small, in one piece: most of such a question is what it costs to put it."""
    found: _Suspects = {}
    few = {
        (name, column): {*_flat(frame[column].to_list())}
        for name, frame in tables.items()
        for column, kind in frame.schema.items()
        if 0 < frame.height <= _FEW and has_text(kind)
    }
    whole = [*{text for texts in few.values() for text in texts}]
    is_hinted = bool(_hints_in(whole)) or is_veiled("\n".join(whole))
    for (name, column), told in few.items():
        if is_hinted or column in _OF_LINES:
            found[name, column] = [text for text in told if _may_hold(text, column)]
    several = [(name, frame) for name, frame in tables.items() if _FEW < frame.height <= _AT_ONCE]
    _ask(found, [(name, *one) for name, frame in several for one in _distinct(frame)])
    for name, frame in tables.items():
        for at in range(0, frame.height if frame.height > _AT_ONCE else 0, _AT_ONCE):
            _ask(found, [(name, *one) for one in _distinct(frame.slice(at, _AT_ONCE))])
    return found


def _ask(found: _Suspects, many: Sequence[tuple[TableName, str, pl.Series]]) -> None:
    """Add those of some texts, by table and column, that may hold a secret."""
    if not many:
        return
    may, begin = _hinted(pl.concat([texts for *_, texts in many])), 0
    for name, column, texts in many:
        own, begin = may.slice(begin, len(texts)), begin + len(texts)
        if column in _OF_LINES:
            own |= texts.str.contains(_KEY_LINE.pattern)
        found.setdefault((name, column), []).extend(texts.filter(own) if own.any() else ())


def _hinted(texts: pl.Series) -> pl.Series:
    """As `_hints_in` tells it, or a veil, of each text: true of more than those."""
    plain = texts.str.contains_any(list(_HINTS), ascii_case_insensitive=True)
    return plain | texts.str.contains(f"[{_OTHER_CASES}]") | texts.str.contains(VEILED)


def _low(text: str) -> str:
    """The text in which hints are looked for."""
    return text.lower() if text.isascii() else text.translate(_PLAIN_CASES).lower()


def _distinct(frame: pl.DataFrame) -> Iterator[tuple[str, pl.Series]]:
    """Column → the different texts in it, wherever they stand."""
    kinds = {name: kind for name, kind in frame.schema.items() if has_text(kind)}
    if plain := [name for name, kind in kinds.items() if not kind.is_nested()]:
        told = frame.select(pl.col(plain).unique().drop_nulls().cast(pl.String).implode())
        yield from ((column.name, column[0]) for column in told)
    for name in kinds.keys() - plain:
        yield from ((name, texts) for texts in texts_of(frame[name]))


def _flat(cell: Any) -> Iterator[str]:
    """The texts in a cell, wherever they stand."""
    if isinstance(cell, str):
        yield cell
    elif isinstance(cell, list | dict):
        for part in cell.values() if isinstance(cell, dict) else cell:
            yield from _flat(part)


def _may_hold(text: str, column: str) -> bool:
    is_key = column in _OF_LINES and _KEY_LINE.search(text) is not None
    return is_key or is_veiled(text) or bool(_likely(text))


def _without_values(settings: pl.DataFrame) -> pl.DataFrame:
    """Settings whose name says that the value is a secret lose it."""
    names = [name for name in settings["name"].unique().drop_nulls() if _SECRET_NAME.search(name)]
    if not names:
        return settings
    hidden = pl.col("name").is_in(names) & pl.col("value").is_not_null()
    return settings.with_columns(pl.when(hidden).then(pl.lit(MASK)).otherwise("value").alias("value"))


def has_text(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.List):
        return has_text(kind.inner)  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        return any(has_text(field.dtype) for field in kind.fields)  # type: ignore[arg-type]
    return kind in (pl.String, pl.Categorical)


def texts_of(column: pl.Series) -> Iterator[pl.Series]:
    """The different texts of a column, wherever in it they stand."""
    if isinstance(column.dtype, pl.List):
        yield from texts_of(column.explode())
    elif isinstance(column.dtype, pl.Struct):
        for name in column.struct.fields:
            yield from texts_of(column.struct.field(name))
    elif column.dtype in (pl.String, pl.Categorical):
        yield column.unique().drop_nulls().cast(pl.String)


def _changed(column: str, suspects: Iterable[str]) -> dict[str, str]:
    """Text → masked text, of those that hold a secret."""
    hide: Callable[[str], str] = _template if column in _OF_LINES else mask
    return {text: now for text in suspects if (now := hide(text)) != text}


def _template(text: str) -> str:
    return mask(_KEY_LINE.sub(rf"\g<1>{MASK}", text))


def replaced(texts: pl.Expr, kind: pl.DataType, changed: Mapping[str, str]) -> pl.Expr:
    """An expression of that type with its texts replaced."""
    if isinstance(kind, pl.List):
        return texts.list.eval(replaced(pl.element(), kind.inner, changed))  # type: ignore[arg-type]
    if isinstance(kind, pl.Struct):
        fields = [field for field in kind.fields if has_text(field.dtype)]  # type: ignore[arg-type]
        return texts.struct.with_fields(replaced(pl.field(f.name), f.dtype, changed) for f in fields)  # type: ignore[arg-type]
    return texts.cast(pl.String).replace(changed).cast(kind)
