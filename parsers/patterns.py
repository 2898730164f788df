"""Regular expressions that are compiled when somebody first asks them: of the hundreds that parsers have, a bundle
needs a few, and compiling them all is a third of what it costs to begin."""

import re
from typing import Any, AnyStr, cast

_ASKED = ("finditer", "findall", "flags", "fullmatch", "groupindex", "groups", "match", "scanner", "search", "split", "sub", "subn")  # fmt: skip


class _Later:
    """Stands for a pattern; its methods take the place of these once it is compiled."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name not in _ASKED:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update({asked: getattr(compiled, asked) for asked in _ASKED})
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        return _Later, (self.pattern, self._flags)


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As re.compile, on first use. A mistake in the pattern is raised there: a test compiles them all."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
