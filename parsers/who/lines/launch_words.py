"""What a launch tells of the size of a job and of the place of a node in it, wherever a line quotes it.

    mpirun -np 8 …  ·  srun --ntasks=16 …  ·  #SBATCH --ntasks=16  ·  horovodrun -np 4  ·  WORLD_SIZE=8
    torchrun --nnodes=3 --nproc-per-node=4 --node-rank=1 …  ·  {"node_rank": 2, "nproc_per_node": 2, "nnodes": 4}
    accelerate launch --machine_rank 1 --num_machines 2 --num_processes 8 …
    mesh: data=4 tensor=1 pipeline=1  ·  fully sharded over 8 ranks                              in words: every axis, or the whole

Source: the manuals of mpirun, srun, torchrun, accelerate.
"""

import msgspec

from parsers.text import layouts
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS

_MAY = regex(r"(?:-np?|ntasks|nodes|machines|per[-_]node|node[-_]rank|machine_rank|NODE_RANK|WORLD_SIZE)")
_MAY_LAYOUT = regex(
    r"(?i)pipeline|\bpp\b|sharded (?:over|across)|(?:pure|only|plain) data|data[ -]parallel only|model parallel"
)
_SET = r"[\"']?(?: {0,24}[=:] {0,2}| {1,3})[\"']{0,1}(\d{1,7})(?![\w.]|:(?!\1\b)\d)"  # of `1:4` either may come
_WORLD = regex(
    rf"(?:\b(?:mpirun|mpiexec(?:\.hydra)?|prterun|orterun|horovodrun|prun)\s(?:[^|;&]{{0,300}}?\s)?--?(?:np|n|ntasks)"
    rf"|\bsrun\s(?:[^|;&]{{0,300}}?\s)?(?:--ntasks|-n)|#SBATCH\s{{1,4}}(?:--ntasks|-n)|\bWORLD_SIZE|\bSLURM_NTASKS){_SET}"
)
_NODES = regex(rf"(?:\bnnodes|\bnum_machines|\bNNODES){_SET}")
_EACH = regex(
    rf"(?:\bnproc[-_]per[-_]node|\bNPROC_PER_NODE|\bprocs?_per_node|\bnum_local_procs|\bntasks[-_]per[-_]node){_SET}"
)
# A launcher that runs one node unless it is told of more: by what is a number only where it runs ($WORLD_SIZE), or by words that a variable holds
# or that stand in the next line. Behind what it runs nothing is its own.
_ALONE = regex(r"\b(?:torchrun|torch\.distributed\.(?:run|launch))\s+(?P<given>.*)")
_OF_NODES = regex(r"(?i)n_?nodes|num[-_]nodes|node[-_]?rank")
_UNSEEN = regex(r"(?:\A|(?:\A|\s)(?:[^\s-]\S*|-[^\s=]*=\S*|--standalone)\s+)[\"']?(?:\$|\{\{)|\\\s*\Z")
_PROGRAM = regex(r"(?:\A|\s)(?:-m\s|--module\s|[^\s-]\S*\.py\b)")
_NODES_ANYWHERE = regex(
    r"\bPET_|NNODES|NODE_RANK|GROUP_WORLD_SIZE|GROUP_RANK|--nnodes|--node[-_]rank|num_machines|machine_rank"
)
_ALL = regex(rf"\bnum_processes{_SET}")
_NODE = regex(rf"(?:\bnode[-_]rank|\bmachine_rank|\bNODE_RANK|\bGROUP_RANK){_SET}")


class Launch(msgspec.Struct, frozen=True):
    """What one line tells: ranks of the job, nodes, processes on each node, which node the line is about."""

    world: int | None = None
    nodes: int | None = None
    each: int | None = None
    node: int | None = None
    layout: int | None = None  # a world that the axes tell, or over which all is sharded
    is_alone: bool = False  # of one node, as nothing in the line tells of others


def launch(text: str) -> Launch | None:
    """What a line tells; None where it tells nothing, or one thing twice differently."""
    if not _MAY.search(text):
        size = layouts.world(text) if _MAY_LAYOUT.search(text) else None
        return Launch(layout=size) if size is not None and 1 < size <= RANKS else None
    found = [{int(number) for number in pattern.findall(text)} for pattern in (_WORLD, _NODES, _EACH, _NODE, _ALL)]
    if any(len(own) > 1 for own in found) or not any(found[:4]):
        return None
    world, nodes, each, node, all_ = (next(iter(own), None) for own in found)
    is_alone = bool(each) and nodes is None and node is None and _is_alone(text)
    nodes = 1 if is_alone else nodes
    if each is None and all_ is not None and nodes and all_ % nodes == 0:
        each = all_ // nodes
    if nodes and each and world in (None, nodes):  # a launcher that begins those of the nodes counts these
        world = nodes * each
    return Launch(world if world is None or 0 < world <= RANKS else None, nodes, each, node, is_alone=is_alone)


def tells_of_nodes(text: str) -> bool:
    """Does a line tell of nodes, as variables that a launcher reads do? Then none is of one node because it does not say how many."""
    return _NODES_ANYWHERE.search(text) is not None


def _is_alone(text: str) -> bool:
    """Does a command run one node: is its launcher told of no others, nor may it be?"""
    found = _ALONE.search(text) if _OF_NODES.search(text) is None else None
    return found is not None and _UNSEEN.search(_PROGRAM.split(found["given"], 1)[0]) is None
