"""Lines of scripts: what their loops count by, what systemd calls an instance, and what another host's shell gets between quotes."""

from collections.abc import Iterable

from parsers.text.patterns import regex

_CHARACTERS = 1000
_COUNTED_ON = regex(  # what a loop of a script counts its turns by
    r"\b(?:let +[\"']?)?(?P<name>[A-Za-z_]\w{0,40})(?:=\$\(\( ?\$?(?P=name) ?\+ ?1 ?\)\)|\+\+|\+=1\b|=`expr \$(?P=name) \+ 1`)|\bfor (?P<each>\w{1,40}), ?\w{1,40} in enumerate\([^,\n]{1,80}\):"
)
INSTANCE = regex(r"(?<![\w.-])(?P<name>[A-Za-z_]\w{0,60})=[\"']?%[iI](?![\w%])")


def counted_on(texts: Iterable[str]) -> set[str]:
    """The names by which a script's loops count their turns."""
    return {found["name"] or found["each"] for text in texts for found in _COUNTED_ON.finditer(text)}


def unquoted(text: str) -> str:
    """A line as the shell of another host reads it, that gets it between quotes: `ssh $h "RANK=\\$((i*4+g)) …"`."""
    return text[:_CHARACTERS].replace("\\$", "$")
