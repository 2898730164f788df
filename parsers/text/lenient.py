"""Values as programs print them: JSON, JSON with tokens and commas that it does not have, literals of Python over several lines.

    {"step": 5, "loss": NaN, "grad_norm": Infinity,}
    {'step': 5, 'loss': nan, 'norm': tensor(0.87, device='cuda:0'), 'shape': (4, 16), 'ok': None}

Nothing is executed: of a call such as `tensor(…)` or `np.float64(…)` its first argument is the value, and a word that is no value
is a text. Nesting beyond DEPTH is no value.
"""

import json
from typing import Any

import msgspec

from parsers.text.patterns import regex

DEPTH = 64
_TOKEN = regex(
    r"\s*(?:(?P<mark>[\[\]{}():,])|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<bare>[^\s\[\]{}():,\"']{1,4096}))"
)
_ESCAPED = regex(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_NUMBER = regex(r"[+-]?(?:\d{1,400}\.?\d{0,400}(?:[eE][+-]?\d{1,4})?|\.\d{1,400}(?:[eE][+-]?\d{1,4})?)")
_WORDS = {
    "none": None, "null": None, "true": True, "false": False, "nan": float("nan"), "+nan": float("nan"), "-nan": float("nan"),
    **dict.fromkeys(("inf", "infinity", "+inf", "+infinity", ".inf", "+.inf"), float("inf")),
    **dict.fromkeys(("-inf", "-infinity", "-.inf"), float("-inf")), ".nan": float("nan"),
}  # fmt: skip
_CLOSE = {"[": "]", "{": "}", "(": ")"}


def value_at(text: str, at: int = 0) -> tuple[Any, int]:
    """(the value that begins there, where it ends). Raises ValueError where there is none, or it does not end."""
    return _value(text, at, 0)


def value(text: str) -> Any:
    """The value that a text is; None where it is none, or not that alone."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        pass
    try:
        found, end = _value(text, 0, 0)
    except ValueError:
        return None
    return found if not text[end:].strip() else None


def word(text: str) -> Any:
    """A bare word as the value that it is: a number, NaN, None, True; else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text) is None:
        return text
    return int(text) if text.lstrip("+-").isdigit() and len(text) < 40 else float(text)


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    token = _TOKEN.match(text, at)
    if token is None or depth > DEPTH:
        raise ValueError("no value")
    end = token.end()
    if token["text"]:
        return _text(token["text"]), end
    if token["bare"]:
        call = _TOKEN.match(text, end)
        if call is None or call["mark"] != "(" or call.start("mark") != end:
            return word(token["bare"]), end
        items, end = _items(text, call.end(), "(", depth)
        return (items[0] if items else None), end
    if token["mark"] not in _CLOSE:
        raise ValueError("no value")
    return _items(text, end, token["mark"], depth)


def _items(text: str, at: int, mark: str, depth: int) -> tuple[Any, int]:
    """What stands in a bracket that opened before `at`: a dict, or a list."""
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    while True:
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError("it does not end")
        if pairs and items:
            raise ValueError("neither a dict nor a set")
        if token["mark"] == _CLOSE[mark]:
            return (pairs if mark == "{" and not items else items), token.end()
        if token["mark"] == ",":
            at = token.end()
            continue
        found, at = _value(text, at, depth + 1)
        colon = _TOKEN.match(text, at)
        if mark == "{" and colon is not None and colon["mark"] == ":":
            pairs[str(found)], at = _value(text, colon.end(), depth + 1)
        else:
            items.append(found)


def _text(quoted: str) -> str:
    if quoted[0] == '"':
        try:
            return str(json.loads(quoted, strict=False))
        except ValueError:
            pass
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), quoted[1:-1])
