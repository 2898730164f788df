"""Members of a group as a program's own lines tell them: → groups.

    broadcast of the plan over group pair_1_3, ranks [1, 3], source 1
    created process group 'dp_cp' with ranks=[0, 2, 4, 6]
    stage_link: communicator pp_0_1 (members: (0, 1))
    expert groups: ep0 ranks=[0, 2] ep1 ranks=[1, 3]
    mesh: dp0=[0-7] tp=1  |  groups: tp0=[0,1] tp1=[2,3]

The name stands before the list in the same clause. A line whose printer is in no such list says nothing of its own group, and is left
to whoever reads the table: the list is what was said, and by whom. The numbers are taken as ranks of the world, as these lines mean them.

Printed by: any program.
Versions: none.
Source: forms as users print them; no library's.
"""

from collections.abc import Iterator

import polars as pl

from parsers.forms.reading import integers
from parsers.schema.lines import claimed, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex
from parsers.text.rank_list import rank_list

_TOLD = regex(
    r"(?i:\b(?:group|communicator|subgroup|mesh))[ =:]{1,3}['\"]?(?P<group>(?-i:[A-Za-z][\w./-]{0,60}))['\"]?[ ,;:(-]{1,3}"
    r"(?:(?:with|of|over|has|and) ){0,2}(?i:(?:global[ _])?(?:ranks|members))[ =:]{1,3}[\[({](?P<ranks>\d{1,7}(?:, ?\d{1,7}){0,4095})[\])}]"
)
_LISTED = regex(r"(?i:\b(?:mesh|(?:sub)?groups|communicators))[ =:]{1,3}(?=[A-Za-z])(?P<rest>[^\n]{3,2000})")
_PAIR = regex(
    r"(?<![\w.-])(?P<group>[A-Za-z][\w.-]{0,60})(?: (?:(?:global[ _])?ranks|members))?[=:] ?(?P<ranks>[\[({]\d{1,7}(?:(?:, ?|-)\d{1,7}){0,4095}[\])}])"
)


def _told(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name of a group, and its members."""
    if (found := _TOLD.search(text)) is not None:
        yield found["group"], tuple(integers(found["ranks"]))
    elif (found := _LISTED.search(text)) is not None:
        for pair in _PAIR.finditer(found["rest"]):
            if ranks := rank_list(pair["ranks"]):
                yield pair["group"], ranks


def parse(lines: pl.DataFrame) -> Tables:
    """groups, `how` told; the lines stay for others, too."""
    rows, read = [], []
    for row in lines.iter_rows(named=True):
        who = reporter(row)
        place = {"file": who["file"], "line": who["line"], "rank": who["rank"], "how": "told"}
        for group, ranks in _told(row["text"]):
            members = {"group": group, "members": list(ranks), "members_space": "global", "size": len(ranks)}
            rows.append(place | members)
            read.append((row["file"], row["line"]))
    return tables_of(groups=rows, claimed=claimed(read))


PARSER = LineParser(
    name="told_members",
    anchors=(b"anks [", b"anks=[", b"anks: [", b"anks (", b"anks=(", b"anks: (", b"anks {", b"embers [", b"embers=[", b"embers: [",
             b"embers (", b"embers=(", b"embers: (", b"esh: ", b"esh=", b"roups: ", b"roups=", b"ommunicators: "),
    parse=parse,
)  # fmt: skip
