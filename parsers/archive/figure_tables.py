"""Tables of times that somebody pasted into a ticket, a note or a log, taken out of it: each is a member of its own.

    | executor | data ms | fwd+bwd ms | allreduce wait ms |
    |---:|---:|---:|---:|
    | 7 | 5412 | 588 | 41 |

Only tables of Markdown whose names tell units of time, two at least, in a file that holds something else as well; names of other tables may need
what stands around them. What is left stays a member by the name of the whole, at its lines.

Printed by: people; GitHub, GitLab, Jira and Notion as they export what was written.
Source: the GitHub Flavored Markdown specification, "Tables (extension)".
"""

from parsers.archive.gathered import Part
from parsers.text.patterns import regex

MOST_BYTES = 4 << 20
_ROW = rb"[ \t]{0,8}\|[^\n]{1,4000}\|[ \t]*\r?\n"
_TABLE = regex(rb"(?m)^(?P<names>" + _ROW + rb")[ \t]{0,8}\|[ \t:|-]{3,1000}\|[ \t]*\r?\n(?:^" + _ROW + rb"){2,4096}")
_TIMED = regex(rb"(?i)(?<![a-z])(?:ms|msec|us|s|secs?|seconds?)(?![a-z])")
_FEWEST, _MOST = 2, 64


def may_be(head: bytes) -> bool:
    """Is it worth reading the whole file? By its first bytes."""
    return b"|" in head and (b"|-" in head or b"| -" in head or b"|:" in head or b"| :" in head)


def parts_of(data: bytes) -> list[Part]:
    """A whole file → its tables of times; none where it is nothing else."""
    whole = data if data.endswith(b"\n") else data + b"\n"
    tables = [one for one in _TABLE.finditer(whole) if len(_TIMED.findall(one["names"])) >= _FEWEST]
    is_all = not _TABLE.sub(b"", whole).strip()
    if is_all or len(tables) > _MOST or len({one["names"] for one in tables}) < len(tables):
        return []  # tables alike are of a step each, which the lines above them tell
    return [Part(f"table-{at}", None, one.start(), min(one.end(), len(data))) for at, one in enumerate(tables, 1)]
