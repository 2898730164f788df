"""Which tasks of Slurm's are on which node of a job, and which devices of a node it was given.

    srun --ntasks-per-node=4 --distribution=block …  SLURM_JOB_NODELIST=gn[03,07]     gn03: tasks 0-3, gn07: tasks 4-7
    Nodes=gn07 CPU_IDs=48-95 Mem=491520 GRES=gpu:h100:4(IDX:4-7)                      scontrol show job -d: its first process uses device 4

Tasks are counted node by node, in the order of the list, unless a launch says otherwise; and what srun says of tasks and their nodes agrees. A task is a
rank where a script says so (process_table.py asks).

Source: the manuals of srun (--distribution) and scontrol.
"""

from collections.abc import Iterator
from functools import partial

from parsers.text.host_list import host_list
from parsers.text.patterns import regex
from parsers.text.rank_list import rank_list
from parsers.who.lines.beginnings import Begun
from parsers.who.places.contexts import Places
from parsers.who.places.families import Process

HOW = "devices that a scheduler gave"
_LINES, _CHARACTERS, _NODES = 400, 4000, 4096
_LIST = regex(r"(?i)(?<![A-Za-z])(?:slurm_(?:job_|step_)?)?nodelist[=:] ?[\"']?(?P<nodes>[A-Za-z][\w.,\[\]-]{1,2000})")
_NODES_TOLD = regex(r"(?:#SBATCH (?:--nodes|-N)[= ]|\bNumNodes=|\bSLURM_J?O?B?_?N(?:UM_)?NODES=)(\d{1,6})\b")
_SPREAD = regex(r"(?:\s--distribution|\s-m|DISTRIBUTION)[= ][\"']?(?!block\b)[a-z]")
_ENDED = regex(r"\bsrun: error: (?P<node>[A-Za-z][\w.-]{0,250}): tasks? (?P<tasks>[\d,-]{1,400}): ")
_GIVEN = regex(r"\bNodes=(?P<nodes>\S{1,2000}) .{0,200}\bGRES=\S{0,60}gpu\S{0,60}\(IDX:(?P<devices>[\d,-]{1,100})\)")


def starts_of_tasks(said: Begun, places: Places, each: int | None, world: int | None) -> dict[str, tuple[int, int]]:
    """The lines of files, the tasks of each node, and how many there are → place → its first task, its tasks; nothing where these do not add up."""
    lines = [one.raw[:_CHARACTERS] for own in said.values() for one in own[:_LINES]]
    lists = (found for line in lines if "odelist" in line.lower() for found in _LIST.finditer(line))
    told = {tuple(host_list(found["nodes"], _NODES)) for found in lists}
    if each is None or len(told) != 1 or any(map(_SPREAD.search, lines)):
        return {}
    names = told.pop()
    nodes = [places.of(name) for name in names if places.is_place(name)]
    sizes = {int(size) for line in lines for size in _NODES_TOLD.findall(line)} if world is None else {world // each}
    if len(nodes) < 2 or sizes != {len(names)} or world not in (None, each * len({*nodes})):
        return {}
    made = {place: (at * each, each) for at, place in enumerate(nodes)}
    every = (one.raw for own in said.values() for one in own)
    ended = [(found["node"], rank_list(found["tasks"]) or ()) for text in every if (found := _ENDED.search(text))]
    first = ((made.get(places.of(node), (task, 0))[0], task) for node, tasks in ended for task in tasks)
    return made if all(at // each == task // each for at, task in first) else {}


def given_devices(said: Begun, places: Places) -> Iterator[Process]:
    """Processes by their place on a node and the number of the device that they see there."""
    for path, own in said.items():
        for one in own[:_LINES]:
            if "(IDX:" in one.raw and (found := _GIVEN.search(one.raw)) is not None:
                process = partial(Process, file=path, line=one.number, how=HOW)
                devices = rank_list(found["devices"]) or ()
                for node in filter(places.is_place, host_list(found["nodes"], _NODES)):
                    yield from (process(places.of(node), local=at, device=own) for at, own in enumerate(devices))
