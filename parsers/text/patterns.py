"""Regular expressions that are compiled when somebody first asks them: of the hundreds that parsers have, a bundle
needs a few, and compiling them all is a third of what it costs to begin. A digit is one of ASCII: no program of a job
prints its ranks in others, and who writes `[rank٣]` wants to be taken for rank 3."""

import re
from typing import Any, AnyStr, cast

_ASKED = ("finditer", "findall", "flags", "fullmatch", "groupindex", "groups", "match", "scanner", "search", "split", "sub", "subn")  # fmt: skip


_TOKEN = re.compile(r"\\(?P<escaped>.)|(?P<opened>\[\^?\]?)|\]", re.DOTALL)


def ascii_digits(pattern: str | bytes) -> str | bytes:
    """`\\d` as 0-9, in a class of characters, too; of bytes it is that already."""
    if isinstance(pattern, bytes) or r"\d" not in pattern:
        return pattern
    is_class = False

    def written(token: re.Match[str]) -> str:
        nonlocal is_class
        if token["escaped"] is None:
            is_class = not (is_class and token[0].endswith("]")) if token["opened"] else False
        elif token["escaped"] == "d":
            return "0-9" if is_class else "[0-9]"
        return token[0]

    return _TOKEN.sub(written, pattern)


class _Later:
    """Stands for a pattern; its methods take the place of these once it is compiled."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        compiled = re.compile(ascii_digits(self.pattern), self._flags)
        self.__dict__.update({asked: getattr(compiled, asked) for asked in _ASKED})
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Later, (self.pattern, self._flags)


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    r"""As re.compile, on first use, with `\d` for the digits of ASCII. A mistake in the pattern is raised there: a test compiles
    them all."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
