"""Columns of the event that a row of knowledge makes of a line (parsers/knowledge).

Named groups of a row's pattern that are columns of `events` fill these. `peer` is a host or an address that the line names, `nodes` a list of hosts (Slurm's form),
`peer_rank` ranks that it names, `peer_group_rank` those counted in their group; `ms`, `seconds`, `minutes` a time, which becomes the
value. Everything else goes into `detail`, with the row, its claim and about whom it is. Where that is not the printer, the
printer's rank is none of the event.
"""

from collections.abc import Mapping
from typing import Any

from parsers import knowledge
from parsers.forms.reading import integers
from parsers.schema.rules import Rule, columns
from parsers.text.host_list import host_list
from parsers.text.patterns import regex

_ANY = regex("")  # of a rule whose groups are here already
_TIMES = ("ms", "seconds", "minutes")
_HOSTS = 64  # of one line
_OF_ANOTHER = ("process", "pod", "host")


def columns_of(said: knowledge.Message, severity: str = "") -> dict[str, Any]:
    """`kind` and further columns; `severity`: the line's own level, where it has one."""

    def named(groups: Mapping[str, str]) -> Mapping[str, Any]:
        detail: dict[str, Any] = {"row": said.row, "about": said.about}
        made: dict[str, Any] = {"detail": detail}
        if "peer" in groups:
            made["names_hosts"] = [groups["peer"]]
        hosts = host_list(groups.get("nodes", ""), _HOSTS) or [host for host in (groups.get("host"),) if host]
        if said.about == "host" and hosts:
            made["names_hosts"] = hosts
        for group, space in (("peer_rank", "global"), ("peer_group_rank", "group")):
            if ranks := integers(groups.get(group, "")):
                made |= {"names_ranks": ranks, "names_rank_space": space}
        if unit := next((unit for unit in _TIMES if unit in groups), None):
            detail["unit"] = {"seconds": "s", "minutes": "min"}.get(unit, unit)
        return made | {"detail": detail | dict.fromkeys(("peer", "peer_rank", "peer_group_rank", *_TIMES))}

    time = next((said.fields[unit] for unit in _TIMES if unit in said.fields), None)
    fields = said.fields if time is None else said.fields | {"value": time}
    made = columns(Rule(_ANY, said.event, severity or said.severity, said.claim, named), fields)
    if said.about in _OF_ANOTHER:
        made = {"rank": None, "local_rank": None} | made
    return {"kind": said.event} | made
