"""Links of a terminal (OSC 8): a place of the evidence opens its file at the line, where the terminal can and the file is there."""

import re
from collections.abc import Mapping
from pathlib import Path
from socket import gethostname
from urllib.parse import quote

from forensics.model.incident import Document

_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")  # TERM_PROGRAM
_OWN = ("WT_SESSION", "KONSOLE_VERSION", "KITTY_WINDOW_ID", "DOMTERM", "WEZTERM_PANE")  # set by the terminal itself
_TERMS = ("xterm-kitty", "alacritty", "foot", "contour", "xterm-ghostty")
_VTE = 5000  # VTE 0.50 was the first of GNOME's terminals that knew them
_PLACE = re.compile(r"(?<=\[)[^\[\]\s]+(?=\]$)")


def can(settings: Mapping[str, str]) -> bool:
    """Does the terminal show links? FORCE_HYPERLINK=1 or 0 decides; else the terminal must be known to."""
    forced = settings.get("FORCE_HYPERLINK")
    if forced:
        return forced != "0"
    vte = settings.get("VTE_VERSION", "")
    return (
        settings.get("TERM_PROGRAM") in _PROGRAMS
        or settings.get("TERM", "").startswith(_TERMS)
        or any(name in settings for name in _OWN)
        or (vte.isascii() and vte.isdigit() and int(vte) >= _VTE)
    )


def of_evidence(report: Document, folder: Path) -> dict[str, str]:
    """ "logs/a.log:12" → the address of that file in the bundle `folder`, for all places of the evidence that are files."""
    root, host = folder.resolve(), quote(gethostname())
    found = {}
    for incident in report.incidents:
        for ref in (ref for item in incident.evidence for ref in item.refs[:1]):
            file = (root / ref.file).resolve()
            if file.is_relative_to(root) and file.is_file():
                place, line = (ref.file, "") if ref.line is None else (f"{ref.file}:{ref.line}", f"#{ref.line}")
                found[place] = f"file://{host}{quote(str(file))}{line}"
    return found


def linked(line: str, links: Mapping[str, str]) -> str:
    """`line`, which may end in a place in brackets, with that place as a link."""
    return _PLACE.sub(
        lambda at: f"\x1b]8;;{url}\x1b\\{at[0]}\x1b]8;;\x1b\\" if (url := links.get(at[0])) else at[0], line
    )
