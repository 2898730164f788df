"""Draws what `forensics analyze` prints of a sample on a terminal, for the README: `make terminal` writes docs/img/terminal.svg.

Nothing is fetched: the picture holds text in whatever monospace font is there. Colours are those that the terminal is told.
"""

import re
from html import escape
from pathlib import Path

from forensics import analyze
from reports import terminal

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "img" / "terminal.svg"
SAMPLE = ROOT / "samples" / "data_loader_stall" / "bundle"
_COLUMNS, _CHAR, _LINE, _EDGE = 110, 7.8, 19, 16  # characters; pixels
_STYLES = {
    "1": "font-weight:700", "2": "fill:#8b949e", "31": "fill:#ff7b72", "32": "fill:#7ee787", "33": "fill:#e3b341",
    "34": "fill:#79c0ff", "35": "fill:#d2a8ff", "36": "fill:#76e3ea",
}  # fmt: skip
_ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


def drawn() -> str:
    """The picture as SVG."""
    text = (
        "$ forensics analyze bundle/\n"
        + terminal.render(analyze(SAMPLE), color=True, width=_COLUMNS, is_brief=True).rstrip()
    )
    lines = text.splitlines()
    width, height = _COLUMNS * _CHAR + 2 * _EDGE, len(lines) * _LINE + 2 * _EDGE
    shown = "\n".join(
        f'<text x="{_EDGE}" y="{_EDGE + _LINE * (number + 0.75):g}">{_line(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">\n'
        f"<title>{escape(_ESCAPE.sub('', lines[1]))}</title>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>\n'
        f'<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">\n{shown}\n</g>\n</svg>\n'
    )


def _line(text: str) -> str:
    """A line with its escape sequences as styles."""
    parts = _ESCAPE.split(text.replace(" ", "\u00a0"))  # a run of spaces is kept by every viewer
    shown = [escape(parts[0])]
    for codes, piece in zip(parts[1::2], parts[2::2], strict=True):
        style = ";".join(_STYLES[code] for code in codes.split(";") if code in _STYLES)
        if piece:
            shown.append(f'<tspan style="{style}">{escape(piece)}</tspan>' if style else escape(piece))
    return "".join(shown)


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
