"""Steps that were computed again bit by bit, on the rank itself and on its neighbours: what `forensics.probe.replay` wrote.

    {"step": 14, "rank": 3, "host": "n1", "replay_of": 2, "run": 0, "loss": 2.31, "digest": "9c…", "state": "07…", "batch_bad": 0}

A row for each time that a rank computed a step: `replay_of` is whose step it was, `digest` stands for the bits of loss and gradients, `state`
for those of the parameters, `batch_bad` counts NaN and Inf in the batch.

Printed by: forensics.probe.
Versions: 1 of this table.
Source: this project's own definition of the format.
"""

import json
from typing import Any

from parsers.forms import framings
from parsers.forms.reading import real, whole
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables

_COLUMNS = frozenset(("replay_of", "digest", "rank", "step"))


def accepts(path: str, head: bytes) -> bool:
    """By the columns of the first row."""
    return b"replay_of" in head and framings.names(path, head) >= _COLUMNS


def parse(source: Source) -> Tables:
    """events replay: rank = who computed, names_ranks = whose step, code = digest, value = the loss, the rest in `detail`."""
    return framings.read_table(source, "events", _events, "not a row of a replay")


def _events(said: dict[str, Any], text: str) -> list[dict[str, Any]]:
    rank, whose, step = (whole(said.get(name)) for name in ("rank", "replay_of", "step"))
    if rank is None or whose is None or said.get("digest") in (None, ""):
        return []
    detail = {"run": whole(said.get("run")), "state": said.get("state"), "batch_bad": whole(said.get("batch_bad"))}
    host = said.get("host")
    return [{
        "kind": "replay", "code": str(said["digest"])[:64], "severity": "info", "rank": rank, "rank_space": "global",
        "names_ranks": [whose], "names_rank_space": "global", "step": step, "value": real(said.get("loss")),
        "host": str(host) if host not in (None, "") else None, "text": text[:2000],
        "detail": json.dumps(detail, sort_keys=True),
    }]  # fmt: skip


PARSER = FileParser(name="replays", accepts=accepts, parse=parse)
