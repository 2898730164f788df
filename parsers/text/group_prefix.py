"""How PyTorch's process groups begin a line: which group it is about, and the printer's number in it.

[PG 0 Rank 3]   [PG 1 (tp) Rank 0]   [PG ID 2 PG GUID 9(dp) Rank 4]
"""

from typing import Any

from parsers.text.patterns import regex

_N = r"\d{1,18}"
GROUP = regex(
    rf"\[PG (?:ID )?(?P<id>{_N})(?: PG GUID (?P<name>[^\s(\]]+))?(?: ?\((?P<desc>[^)]*)\))? Rank (?P<rank>{_N})\]"
)
_RANK = regex(rf"\[Rank (?P<rank>{_N})\]")


def member(text: str) -> dict[str, Any]:
    """What the beginning tells: the printer's number in the group, global in the default one, and the group's names."""
    if found := GROUP.search(text):
        names = {"pg_id": int(found["id"]), "group": found["name"], "desc": found["desc"]}
        space = "global" if found["desc"] == "default_pg" else "group"
        return names | {"rank": int(found["rank"]), "rank_space": space}
    if found := _RANK.search(text):
        return {"rank": int(found["rank"]), "rank_space": "group"}
    return {}
