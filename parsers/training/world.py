"""How many processes a job has, and who is who, as launchers, frameworks and arguments say it at the start.

    using world size: 16, data-parallel size: 2, tensor-model-parallel size: 4, …           Megatron-LM
    [rank: 3] … GLOBAL_RANK: 3, MEMBER: 4/16                                                Lightning
    Distributed environment: MULTI_GPU  Backend: nccl / Num processes: 16 / Process index: 3 / Local process index: 1   accelerate
    Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1:8', 'algo-2:8'] process_per_hosts: 8 num_processes: 16           SageMaker
    notebook_launcher(train, (cfg,), num_processes=4)                                       accelerate: all on this node, unless it is told more
    Training in distributed mode with multiple processes, 1 device per process.Process 3, total 16, device cuda:3.       timm
    Waiting in store based barrier … for rank: 3, key: store_based_barrier_key:1 (world_size=16, worker_count=12, …   PyTorch
    Rank 3: Completed store-based barrier for key:store_based_barrier_key:1 with 16 nodes.  PyTorch 1.9 to 2.1
    | distributed init (rank 3): env://, gpu 3  ·  (rank 3, world 16)                       detection recipes
    Setting up process group for: env:// [rank=3, world_size=16]                            Ray Train
    - (node_id=1a2b, ip=10.0.0.7, pid=4711) world_rank=3, local_rank=1, node_rank=0         Ray Train
    (Worker_TP1 pid=612) … rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1       vLLM
    [WARNING] DISTRIBUTED(32018,ffff9a7c0020,python):… PostProcess] This node 1 rank id: 1  MindSpore
    … CreateCommunicationGroup] Start to create communication group: hccl_world_group [const vector]{0, 1, 2, 3}, …  MindSpore
    Start worker processes, local_worker_num: 4, worker_num: 16, …  ·  msrun --worker_num=16 …        MindSpore
    JAX process: 3 / 16  ·  jax.process_index()=3, …                                        JAX
    env {…, 'PADDLE_TRAINERS_NUM': '4', …}                                                 Paddle
    init done rank=3 world_size=16 …  ·  world size 16, …                                    scripts
    NODE_NAME=gpu-7                                                     in a pod: the node that it runs on (a row without a rank)
    | distributed init (rank 3): tcp://n1:29500  ·  initialized host n2 as rank 8             fairseq
    WORLD_SIZE=16 · --distributed-world-size 16 · --nnodes 2 --nproc_per_node=8 · srun --ntasks=16 · mpirun -np 16        environment and arguments

A size is the job's only where the line speaks of the world, not of a group or of another program (`--reward-world-size`). What starts as a rank is the printer only
where nothing else is named that starts: a channel, a store, a neighbour. Of `--nnodes` and `--nproc-per-node` both must
stand in one command, as numbers; with `--node-rank`, and no rendezvous that numbers nodes anew, they tell the rank of each process
that torchrun starts there.

Printed by: Megatron-LM, Lightning, accelerate, timm, fairseq, PyTorch, Ray Train, vLLM, MindSpore, Paddle, training scripts; shells that echo a command.
Versions: those of 2020 to 2026.
Source: the start-up code of these projects.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.schema.lines import Row, reporter
from parsers.schema.parser import LineParser
from parsers.schema.rules import integer
from parsers.schema.tables import Tables, table
from parsers.text import vocabulary
from parsers.text.patterns import regex
from parsers.text.rank_list import RANKS
from parsers.who.scripts import arguments

_CHARACTERS = 8192
_A_NODE = 256  # processes
_N = r"(?P<{}>\d{{1,7}})\b"
_RANK, _WORLD, _LOCAL = (_N.format(name) for name in ("rank", "world", "local"))
_OF_RANK = "start of a rank"
_FORMS = tuple(
    (regex(pattern), how)
    for pattern, how in (
        (rf"\busing world size: {_WORLD}", "Megatron-LM"),
        (rf"GLOBAL_RANK: {_RANK}, MEMBER: \d{{1,7}}/{_WORLD}", "Lightning"),
        (rf"^Num processes: {_WORLD}", "accelerate"),
        (
            rf"\bnotebook_launcher\((?!.{{0,400}}\b(?:num_nodes|node_rank|master_addr)\b).{{1,400}}\bnum_processes={_WORLD}[^()]{{0,200}}\)\s*$",
            "notebook_launcher",
        ),
        (rf"\bprocess_per_hosts: \d{{1,4}} num_processes: {_WORLD}", "SageMaker"),
        (rf"distributed mode with multiple processes.{{0,60}}?Process {_RANK}, total {_WORLD}", "timm"),
        (
            rf"Rank {_RANK}: Completed store-based barrier for key:store_based_barrier_key:1 with {_WORLD} nodes",
            "store-based barrier",
        ),
        (
            rf"store based barrier .{{0,100}}?rank:? {_RANK}, (?:for )?key: store_based_barrier_key:1 \(world_size={_WORLD}",
            "store-based barrier",
        ),
        (
            rf"\brank {_RANK} in world size {_WORLD} is assigned as DP rank (?P<dp>\d{{1,7}}), PP rank (?P<pp>\d{{1,7}}), "
            r"TP rank (?P<tp>\d{1,7})",
            "vLLM",
        ),
        (rf"^\[\w+\] DISTRIBUTED\((?P<pid>\d{{1,9}}),.{{0,300}}?\bThis node \S{{1,80}} rank id: {_RANK}", "MindSpore"),
        (rf"\bJAX (?:process|host): {_RANK} ?/ ?{_WORLD}", "JAX"),
        (
            rf"\bjax\.process_index(?:\(\))? ?[=:] ?{_RANK}(?:.{{0,80}}?\bjax\.process_count(?:\(\))? ?[=:] ?{_WORLD})?",
            "JAX",
        ),
        (r"\b[a-z]?ccl_world_group\b[^{]{0,40}\{0(?:, ?\d{1,7})*, ?(?P<last>\d{1,7})\}", "MindSpore"),
        (rf"(?<!\w)(?:--)?worker_num(?:: |[= ]){_WORLD}", "msrun"),  # beside it local_worker_num, of one node
        (rf"'PADDLE_TRAINERS_NUM': '{_WORLD}'", "Paddle"),
        (rf"\[rank=(?P<rank>\d{{1,7}}), world_size={_WORLD}\]", "Ray Train"),
        (rf"\bip=(?P<address>[\w.:]+), pid=(?P<pid>\d{{1,9}})\) world_rank={_RANK}, local_rank={_LOCAL}", "Ray Train"),
        (
            rf"(?<![\w-])(?:global_)?rank ?[=:] ?{_RANK}.{{0,80}}?(?<![\w-])(?:world_size|world)[ =:]{{1,2}}{_WORLD}",
            "start line",
        ),
        (
            rf"(?<![\w-])(?:world_size|world)[ =:]{{1,2}}{_WORLD}.{{0,80}}?(?<![\w-])(?:global_)?rank ?[=:] ?{_RANK}",
            "start line",
        ),
        # no term of a sum or comparison: `train_batch_size is not equal to micro_batch * world_size 256 != 4 * 8`
        (
            rf"(?i)(?:^|[\s\]|(,;])(?<![*/+<>=-]\s)world[ _]size ?[=:]? ?{_WORLD}(?=[\s,;)\]]|$)(?!\s?(?:[!=<>]=|[*/+<>-]))",
            "world size",
        ),
        (rf"(?i)^world[ :=]{{1,2}}{_WORLD}(?=\s?(?:[,;]|$))", "world"),  # of a report
        (rf"^\s*(?:\++ )?(?:export |declare -x )?WORLD_SIZE=\"?{_WORLD}", "environment"),
        (
            r"^\s*(?:\++ )?(?:export |declare -x )?NODE_NAME=\"?(?P<node>[A-Za-z0-9][A-Za-z0-9.-]{0,252})\"?\s*$",
            "node name",
        ),
        (
            r"(?:^|\s)--?nnodes[= ](?P<nodes>\d{1,6})(?=\s|$).*?\s--?nproc[-_]per[-_]node[= ](?P<each>\d{1,4})(?=\s|$)",
            "argument",
        ),
        (
            r"\s--?nproc[-_]per[-_]node[= ](?P<each>\d{1,4})(?=\s|$).*?\s--?nnodes[= ](?P<nodes>\d{1,6})(?=\s|$)",
            "argument",
        ),
        (rf"(?:^|\s)(?:mpirun|mpiexec)\s(?:.*?\s)?-(?:np|n) {_WORLD}", "argument"),
        (rf"(?:^|\s)--?(?:(?:distributed|dist|job|global)[-_])?world[-_]size[= ]{_WORLD}(?=[\s\\]|$)", "argument"),
        (
            rf"(?i)\b(?:init|start|launch|spawn|join|regist)\w*\b(?P<said>[^=]{{0,80}}?)[\s(]rank[ :]{{1,2}}{_RANK}(?=[),;:]|\s*$)(?!\s?(?:of|/)\s?\d)",
            _OF_RANK,
        ),
    )
)
_LOCAL_RANK = regex(r"(?i)(?<![\w-])local[_ ]?rank ?[=:] ?(\d{1,4})\b")
_HOST = regex(
    r"(?i)(?<![\w-])(?:(?:host|hostname|node) ?[=:] ?|(?:host|node|on) )(?!as\b|node\b|host\b|gpu|cuda|device)([A-Za-z][\w.-]{0,252})(?![\w.:-])"
)
_NODE_RANK = regex(r"\s--?node[-_]rank[= ](\d{1,6})(?=\s|$)")
_ELASTIC = regex(r"\s--?rdzv[-_]")  # its rendezvous, not the argument, numbers the nodes
_WORD, _BEGINS = regex(r"[A-Za-z]+"), regex(r"(?i)(?:init|start|launch|spawn|join|regist)[a-z]*\b")
_JOINS = regex(r"(?i)join|regist")
_STARTED = frozenset(
    ["distributed", "training", "trainer", "train", "job", "run", "program", "script", "process", "group", "backend", "env", "torch", "nccl", "gloo", "mpi", "rccl", "hccl",
     "xccl", "the", "this", "itself", "on", "as", "up", "with", "in"]
)  # fmt: skip
LAUNCHED = "launch arguments"  # `how` of who is who as a launcher's arguments tell it, before any rank has spoken
_COLUMNS = ("dp", "pp", "tp", "pid")
_LOOSE = ("start line", "world size", _OF_RANK)  # forms that a line about a group, or about another process, may have
_PID = regex(r"(?i)\bpid ?[=:]")  # then parsers/training/process_line.py reads it
# Of other things, each under its own name.
_SIZES = regex(r"(?:\s?[,;|]\s{0,3}[A-Za-z][\w-]{0,30}(?: [\w-]{1,30}){0,3}\s?[=:]\s?\d{1,7}){1,16}\s*$")
_STARTS = regex(r"(?i)\b(?:init\w*|start\w*|launch\w*|spawn\w*|distributed|set ?up|setting up|joining|environment)\b")
_OTHERS = regex(
    r"(?i)\b(?:kill|wait|exit|fail|died|dead|lost|tim(?:ed )?-?out|error|group|pg|tp|pp|dp|ep|cp|parallel|tensor|pipeline|expert|shard)\w*\b"
    # What a complaint says of a size: what it ought to be, or that it is none that can be.
    r"|\b(?:must|should|ought|divisib\w+|multiple|expect\w*|invalid|\w*support\w*|mismatch\w*|ignor\w+|exceed\w*|requir\w+|cannot|can't|differ\w*"
    r"|larger|smaller|greater|less|fewer|than|instead|unless|inconsistent|incompatible|illegal|wrong)\b"
)


def parse(lines: pl.DataFrame) -> Tables:
    """ranks: world_size, and rank, local_rank, pid, address, tp, pp, dp where the line tells them."""
    rows: list[dict[str, Any]] = []
    started: defaultdict[tuple[Any, Any], set[int]] = defaultdict(set)  # by whoever is at one place
    for row in lines.iter_rows(named=True):
        text = row["text"][:_CHARACTERS]
        found = next(((match, how) for pattern, how in _FORMS if (match := pattern.search(text))), None)
        if found is None or (found[1] in _LOOSE and _OTHERS.search(_SIZES.sub("", text))):
            continue
        if found[1] == _OF_RANK and (not _is_own_start(text, found[0]) or _PID.search(text)):
            continue
        if found[1] == "start line" and (not _STARTS.search(text) or _PID.search(text)):
            continue
        who, said = reporter(row), found[0].groupdict()
        world = integer(said.get("world"))
        if "last" in said:
            world = int(said["last"]) + 1
        if "nodes" in said:
            world = int(said["nodes"]) * int(said["each"])
            rows += _launched(row, text, int(said["nodes"]), int(said["each"]))
        if found[1] == "notebook_launcher":  # of one node, as it is told none
            rows += _placed(row, 0, world or 0, world or 0)
        rank = integer(said.get("rank"))
        if rank is not None and ((world is not None and rank >= world) or who["rank"] not in (None, rank)):
            continue
        own = {"rank": rank, "world_size": world, "how": found[1]}
        if found[1] == "Paddle":  # the environment of a process that its launcher speaks of
            own |= arguments.of_variables(text)
        if "node" in said:
            own |= {"host": said["node"]}
        if "address" in said:  # another process speaks of it
            own |= {"address": said["address"], "pid": integer(said["pid"]), "local_rank": integer(said["local"])}
        elif rank is not None:
            own |= {"host": who["host"], "local_rank": own.get("local_rank", who["local_rank"])}
            if found[1] in ("start line", _OF_RANK):
                local, host = _LOCAL_RANK.search(text), _HOST.search(text)
                own |= {"local_rank": int(local[1])} if local else {}
                own |= {"host": host[1]} if host else {}
                if found[1] == _OF_RANK and not host:
                    started[row["file"], own["host"]].add(rank)
            own |= {"pid": row["process"]} if found[1] == "vLLM" else {}
            own |= {name: integer(said[name]) for name in _COLUMNS if name in said}
        rows.append(own | {"file": row["file"], "line": row["line"]})
    several = {place for place, ranks in started.items() if len(ranks) > 1}  # who listens to all, it may be
    for one in rows:
        if one["how"] == _OF_RANK and (one["file"], one.get("host")) in several:
            one["host"] = None
    return {"ranks": table("ranks", rows)}


def _is_own_start(text: str, found: re.Match[str]) -> bool:
    """Does what starts as a rank have no other name than one of the job or of its process? A channel, a store or a neighbour is another's."""
    between = {word.lower() for word in _WORD.findall(_HOST.sub(" ", found["said"])) if not _BEGINS.match(word)}
    if _JOINS.match(text, found.start()) and not _HOST.search(text):  # somebody else may have
        return False
    return between <= _STARTED and not any(map(vocabulary.points_elsewhere, _WORD.findall(text[: found.start()])))


def _launched(row: Row, text: str, nodes: int, each: int) -> Iterator[dict[str, Any]]:
    """The processes that torchrun starts on the node whose number its arguments tell."""
    node = _NODE_RANK.search(text)
    if node is not None and int(node[1]) < nodes and not _ELASTIC.search(text):
        yield from _placed(row, int(node[1]), each, nodes * each)


def _placed(row: Row, node: int, each: int, world: int) -> Iterator[dict[str, Any]]:
    """The processes of one node."""
    for local in range(each if world <= RANKS and each <= _A_NODE else 0):
        made = {"rank": node * each + local, "local_rank": local, "world_size": world, "how": LAUNCHED}
        yield made | {"host": reporter(row)["host"], "file": row["file"], "line": row["line"]}


PARSER = LineParser(
    name="world",
    anchors=(
        b"world ", b"World ", b"world_size ", b"MEMBER: ", b"Num processes: ", b"num_processes: ", b"notebook_launcher(", b", total ", b"Completed store-based barrier", b"store based barrier", b"world_size=", b"world_size:",
        b" world=", b"world_rank=", b"-world-size", b"-world_size", b"(rank ", b" as rank ", b"WORLD_SIZE=", b"NODE_NAME=", b"nproc_per_node", b"nproc-per-node", b"mpirun ", b"mpiexec ",
        b"rank id: ", b"PADDLE_TRAINERS_NUM", b"worker_num", b"_world_group", b"JAX process: ", b"JAX host: ", b"process_index",
    ),
    parse=parse,
)  # fmt: skip
