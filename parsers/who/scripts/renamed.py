"""Variables by the names that a launch gives their values to.

    torchrun --nnodes=$WORLD_SIZE --node_rank=$RANK --nproc_per_node=$NPROC_PER_NODE …      RANK=2 WORLD_SIZE=4: the third of four nodes
    torchrun --nproc_per_node $MLP_WORKER_GPU --nnodes $MLP_WORKER_NUM --node_rank $MLP_ROLE_INDEX …      MLP_ROLE_INDEX=2

Platforms tell a node its place in variables of their own, some in those that PyTorch keeps for a process. Where a command gives one to an option of a launcher,
that says what it is: its lines are read as if it were called NODE_RANK, NNODES or NPROC_PER_NODE. One that commands give to two options keeps its name.

Fooled by: a variable that is set anew between the line that prints it and the command.
"""

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from parsers.text.patterns import regex
from parsers.text.unanimous import unanimous
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import introduction
from parsers.who.lines.launch_words import launch

_OPTION = regex(
    r"(?<![\w$-])--(?P<option>nnodes|node[-_]rank|nproc[-_]per[-_]node|num[-_]machines|machine[-_]rank)[ =]{1,3}[\"']?\$\{?(?P<name>[A-Za-z_]\w{1,60})\}?(?![\w$:])"
)
_VARIABLE = regex(r"(?<![\w$-])[A-Za-z_]\w{1,60}(?==)")
_CALLED = {
    "nnodes": "NNODES", "num_machines": "NNODES", "node_rank": "NODE_RANK", "machine_rank": "NODE_RANK",
    "nproc_per_node": "NPROC_PER_NODE",
}  # fmt: skip


def renamed(said: Begun) -> dict[str, list[Said]]:
    """Lines by path → the same, with the variables that commands give to a launcher's options called as these."""
    called = called_by_options(one.raw for own in said.values() for one in own)
    if not called:
        return {path: [*own] for path, own in said.items()}
    names = re.compile(rf"(?<![\w$-])(?:{'|'.join(map(re.escape, called))})(?=[\"']?\s{{0,2}}[=:]\s{{0,2}}[\"']?\d)")
    return {path: [_renamed(one, names, called) for one in own] for path, own in said.items()}


def called_by_options(texts: Iterable[str]) -> dict[str, str]:
    """Lines or values of documents → what variables that commands give to a launcher's options are called as these. A RANK that is a node's stands beside
    the number of nodes."""
    matches = (match for text in texts if "$" in text for match in _OPTION.finditer(text))
    found = ((match["name"], _CALLED[match["option"].replace("-", "_")]) for match in matches)
    called = {name: other for name, other in unanimous(found).items() if name != other}
    return ({"WORLD_SIZE": "NNODES"} if called.get("RANK") == "NODE_RANK" else {}) | called


def renamed_in(text: str, called: Mapping[str, str]) -> str:
    """Variables with their values, `NAME=2`, as commands call them."""
    return _VARIABLE.sub(lambda found: called.get(found[0], found[0]), text) if "=" in text else text


def _renamed(one: Said, names: "re.Pattern[str]", called: Mapping[str, str]) -> Said:
    if not names.search(one.raw):
        return one
    raw, text = (names.sub(lambda found: called[found[0]], own) for own in (one.raw, one.line.text))
    return replace(one, raw=raw, line=replace(one.line, text=text), introduces=introduction(text), launch=launch(text))
