"""How processes are counted: what numbers of files and introductions amount to, before they are believed as ranks."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise
from typing import Any

from msgspec.structs import replace

from parsers.schema.labels import OF_GROUP
from parsers.schema.parser import Source
from parsers.text.patterns import regex
from parsers.text.unanimous import sole, unanimous
from parsers.who.learnt.tasks import LAUNCHER
from parsers.who.learnt.turns import hold_one_each, is_of_host
from parsers.who.lines.beginnings import Begun, Said
from parsers.who.lines.introductions import Introduction, pid_in
from parsers.who.places.families import called_roll

_NUMBER = regex(r"\d{1,10}")
_NUMBERED_FOLDER = regex(r"[^/]*\d[^/]*/")
_FEWEST = 2
_ROLL = regex(
    r"(?i)(?<![\w-])(?:dp|data[ -]parallel|worker|replica|process|proc)(?:[ _](?:rank|index|id))?[ #:=]{1,2}(?P<number>\d{1,6})"
    r"(?: of | out of | ?/ ?)(?P<total>\d{1,6})\b"
)
_OF_ALL = regex(
    r"(?<![\w-])(?P<word>[A-Za-z]{2,20})[ #:=]{1,2}(?P<number>\d{1,6})(?: of | out of | ?/ ?)(?P<total>\d{1,6})\b"
)
_OF_SIZE = regex(
    r"(?<![\w/.-])(?P<word>[^\W\d_]{1,20})[ #:=]{1,2}(?P<number>\d{1,6})(?: of | out of | ?/ ?)(?P<total>\d{1,6})(?![\w/]|[.:]\d)"
)
_RANK = regex(r"(?i)(?<![\w-])rank ?[=:#] ?(\d{1,6})(?![\w/]|[.:]\d| of )")
_ALL = r"|(?<![\w./:=-])(\d{1,6}) (?:replicas|ranks|processes|procs|trainers|learners)\b"
_NAMED_RANK = regex(r"(?i)(?<![a-z])rank\W{0,3}(\d{1,6})(?!\d)")
WORLD = regex(r"\b(?:world(?:[_ ]?size)?|nranks|num_processes)[\"']?(?: {0,2}[=:] {0,2}| {1,3})(\d{1,7})\b" + _ALL)
# what a node has, or a job, or a training: each file may be of one of these
IS_OTHER = regex(
    r"(?i)(?:layer|epoch|step|iter|iteration|attempt|expert|stage|node|host|machine|server|pod|agent|launcher|trial|run|job|experiment|seed|fold|round|phase|tp|pp|ep|cp|sp|tensor|pipeline|group|island|slice|batch|chunk|file|part|bucket|retry|try|page)s?|节点|主机|机器|服务器|步|第|轮|层|批|批次|阶段|组|专家|分组|重试|次"
)
_BEFORE = regex(r"[\[<(](?:[A-Za-z][\w-]{0,30} ){0,2}(?P<word>[A-Za-z]{0,12})[ #:=_-]?(?P<number>\d{1,6})(?=[\])> ])")
_CHARACTERS, _LABELS, _HEADS = 400, 60, 2
_OF_STACK = regex(r"Process (\d{3,10})\b")
_PID = 1000  # from where on a number in a name may be a pid
_HEAD = regex(r"[\[<(][^\[\]<>()\d]{0,24}(?P<number>\d{1,6})/(?P<total>\d{1,6})[\])>]")


def counted_off(said: Begun) -> dict[str, list[Said]]:
    """Lines by path → the same, where processes count off by a word that nobody knows, once each and of one size, and the number is that in the
    name of the file: `member 3/32` in w03.log, `进程 3/8` in 进程3.log. That is an introduction where more than half of them do, and nobody introduces himself otherwise."""
    given = {path: [*own] for path, own in said.items()}
    if any(one.introduces is not None for own in given.values() for one in own):
        return given
    told: defaultdict[tuple[str, int], dict[str, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for path, own in given.items():
        for at, one in enumerate(own):
            for found in _OF_SIZE.finditer(one.raw[:_CHARACTERS]) if "/" in one.raw or " of " in one.raw else ():
                named = {int(number) for number in _NAMED_RANK.findall(one.raw[:_CHARACTERS])}
                is_other = IS_OTHER.fullmatch(found["word"]) or is_of_host(one.raw[:_CHARACTERS], found)
                if not is_other and named <= {int(found["number"])}:
                    told[found["word"], int(found["total"])][path].add((int(found["number"]), at))
    once = [{path: min(places) for path, places in own.items() if len(places) == 1} for own in told.values()]
    rolls = [{path: number for path, (number, _) in own.items()} for own in once]
    fitting = [at for at, key in enumerate(told) if _is_roll(rolls[at], len(told[key]), key[1])]
    fitting = [at for at in fitting if hold_one_each(given, rolls[at])]
    if not fitting:
        lines = (one.line for own in given.values() for one in own)
        is_told = any(line.rank is not None or line.local_rank is not None for line in lines)
        return given if is_told else _of_names(_headed(given))  # and a head may be of a node
    if len(fitting) > 1:
        return given
    (_, size), places = [*told.items()][fitting[0]]
    for path, rank in rolls[fitting[0]].items():
        introduce_at(given, path, min(at for _, at in places[path]), rank, size)
    return given


def _of_names(given: dict[str, list[Said]]) -> dict[str, list[Said]]:
    """The same where those who speak in one file, by a name before each line, count off 0 … N-1, a number each: `trainer-1  | worker 1 of 3`. It ends
    the name, or the word is one of processes; helpers of each would be counted by each."""
    told: defaultdict[tuple[str, str, int], dict[str, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for path, own in given.items():
        for at, one in enumerate(own):
            text = one.line.text[:_CHARACTERS]
            for found in _OF_SIZE.finditer(text) if one.line.host and ("/" in text or " of " in text) else ():
                if not IS_OTHER.fullmatch(found["word"]) and not is_of_host(text, found):
                    told[path, found["word"], int(found["total"])][one.line.host or ""].add((int(found["number"]), at))
    rolls = []
    for (path, word, size), by_name in told.items():
        roll = {name: min(own) for name, own in by_name.items() if len({number for number, _ in own}) == 1}
        is_whole = len(roll) == len(by_name) and sorted(number for number, _ in roll.values()) == [*range(size)]
        is_named = all(_NUMBER.findall(name)[-1:] == [str(number)] for name, (number, _) in roll.items())
        if is_whole and size > 1 and (is_named or (size > _FEWEST and _ROLL.search(f"{word} 0 of {size}"))):
            rolls.append([(path, size, *one) for one in roll.values()])
    for path, size, rank, at in rolls[0] if len(rolls) == 1 else ():
        introduce_at(given, path, at, rank, size)
    return given


def _headed(given: dict[str, list[Said]]) -> dict[str, list[Said]]:
    """The same where the first lines of files each tell one rank, and these count from 0 without a gap: heads of dumps and of records."""
    told: dict[str, tuple[int, int]] = {}
    for path, own in given.items():
        found = [
            (int(rank[1]), at)
            for at, one in enumerate(own[:_HEADS])
            for rank in _RANK.finditer(one.raw[:_CHARACTERS])
            if not OF_GROUP.search(one.raw[: rank.start()])
        ]
        if len({rank for rank, _ in found}) == 1:
            told[path] = found[0]
    ranks = {rank for rank, _ in told.values()}
    shapes = {_NUMBER.sub("#", path) for path in told}
    is_whole = len(ranks) > _FEWEST and ranks == {*range(len(ranks))} and len(shapes) == 1
    if is_whole and not any(path not in told and _NUMBER.sub("#", path) in shapes for path in given):
        for path, (rank, at) in told.items():
            given[path][at] = replace(given[path][at], introduces=Introduction(rank))
    return given


def _in_name(path: str) -> set[int]:
    return {int(number) for number in _NUMBER.findall(path.rpartition("/")[2])}


def _are_in_names(numbers: Mapping[str, int]) -> bool:
    """Does each file's name hold its number?"""
    return all(number in _in_name(path) for path, number in numbers.items())


def _is_roll(numbers: Mapping[str, int], files: int, size: int) -> bool:
    """Do these files count off 0 … N-1, or up to N, a few aside, each with the number in its name?"""
    ranks = {*numbers.values()}
    is_one_each = _are_in_names(numbers) and len(ranks) == len(numbers) == files > _FEWEST and 2 * files > size
    return is_one_each and max(ranks) <= size and (0 in ranks) != (size in ranks)


def world_of(told: Sequence[Introduction], launched: Collection[int] = ()) -> int | None:
    """The size of the job. A world of one is of another program where larger ones are `launched`. A world that is told by other processes than those of a smaller one, of which each rank is told by one process, is
    that of all that a launcher began: then the smaller is the program's."""
    pids: defaultdict[int, defaultdict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in told:
        if one.world is not None:
            pids[one.world][one.rank] |= set() if one.pid is None else {one.pid}
    worlds = sorted(pids)
    largest = worlds[-1] if worlds else None
    for size in worlds[:-1] if largest else ():
        own = [pid for found in pids[size].values() for pid in found]
        is_whole = size >= _FEWEST and len(pids[size]) == len(own) == len(set(own)) == size
        others = {pid for world in worlds if world > size for found in pids[world].values() for pid in found}
        beside = {rank for world in worlds if world > size for rank in pids[world]}
        if is_whole and others and not others & set(own) and len(beside) + size <= worlds[-1]:
            return size
    return None if largest == 1 and max(launched, default=0) > 1 else largest


def sizes_of(told: Sequence[Introduction], said: Begun) -> tuple[int | None, int | None]:
    """The size of the job by introductions; the same, or else by the words of its layout, which count no names."""
    size = world_of(told, launched_in(said))
    return size, size or _laid_out(said)


def _laid_out(said: Begun) -> int | None:
    """The one size that lines tell which name every axis of the layout."""
    return sole(one.launch.layout for own in said.values() for one in own if one.launch and one.launch.layout)


def launched_in(said: Begun) -> set[int]:
    """The sizes that launches tell."""
    return {one.launch.world for own in said.values() for one in own if one.launch and one.launch.world}


def launchers_of(told: Iterable[Said]) -> frozenset[int]:
    """Pids before lines that tell the ranks of other pids, or of several processes: their text gives themselves none."""
    ranks: defaultdict[int, set[int]] = defaultdict(set)
    others: set[int] = set()
    for one in told:
        if one.line.process is not None and one.introduces is not None:
            ranks[one.line.process].add(one.introduces.rank)
            if one.introduces.pid not in (None, one.line.process):
                others.add(one.line.process)
    return frozenset(others | {pid for pid, own in ranks.items() if len(own) > 1})


def without_agents(told: Sequence[Said]) -> list[Said]:
    """Introductions without those of processes that start the workers of a node: the rank that stands beside their pid is the node's."""
    pids = {(one.file, one.introduces.pid) for one in told if one.introduces and LAUNCHER.search(one.line.text)}
    pids = {(file, pid) for file, pid in pids if pid is not None}
    return [one for one in told if one.introduces and (one.file, one.introduces.pid) not in pids]


def rank_of_pid(pairs: Iterable[tuple[int | None, int]]) -> Mapping[int | None, int]:
    """Pid → rank; a pid with two ranks is nobody's."""
    return unanimous((pid, rank) for pid, rank in pairs if pid is not None)


def shared_ranks(told: Iterable[tuple[Said, int | None]], said: Begun) -> tuple[int, int]:
    """Introductions, each with its pid → how many ranks several processes of one launch say they are, and how many ranks there are."""
    by_file: defaultdict[str, list[tuple[Said, int]]] = defaultdict(list)
    for one, pid in told:
        if pid is not None and one.introduces is not None:
            by_file[one.file].append((one, pid))
    processes: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for file, own in by_file.items():
        for launch, pids in enumerate(_launches(own, said[file])):
            for rank, found in pids.items():
                processes[launch, rank] |= found
    shared = {rank for (_, rank), found in processes.items() if len(found) > 1}
    return len(shared), len({rank for _, rank in processes})


def _launches(told: Sequence[tuple[Said, int]], said: Sequence[Said]) -> list[dict[int, set[int]]]:
    """Rank → pids, of each launch that a file tells of one after another: all ranks introduce themselves again as other processes, when
    at least as many other lines have come as there are ranks. Else of all together."""
    rolls: list[list[tuple[int, int, int]]] = [[]]  # line, rank, pid
    for one, pid in told:
        rank = one.introduces.rank if one.introduces is not None else -1
        if any(other == rank and was != pid for _, other, was in rolls[-1]):
            rolls.append([])
        rolls[-1].append((one.number, rank, pid))
    found: list[dict[int, set[int]]] = []
    for roll in rolls:
        found.append(defaultdict(set))
        for _, rank, pid in roll:
            found[-1][rank].add(pid)
    apart = all(
        before.keys() == after.keys() and sum(rolls[at][-1][0] < one.number < rolls[at + 1][0][0] for one in said) >= len(before)
        for at, (before, after) in enumerate(pairwise(found))
    )  # fmt: skip
    pids = [pid for own in found for pid in set().union(*own.values())]
    if apart and len(pids) == len(set(pids)):
        return found
    whole: defaultdict[int, set[int]] = defaultdict(set)
    for _, rank, pid in chain.from_iterable(rolls):
        whole[rank].add(pid)
    return [whole]


def are_several(said: Iterable[Said]) -> bool:
    """Do the lines of a file introduce several processes? One rank with another pid each time is one that was started anew."""
    told = {(one.introduces.pid, one.introduces.rank) for one in said if one.introduces and one.introduces.pid}
    return len(told) > 1 and len({rank for _, rank in told}) > 1


def rolled(said: Begun, paths: Sequence[str], world: int | None) -> dict[str, int]:
    """Files that tell a number of a process and how many they are, each once, in their names, or in their lines by words that may as well be of
    a group or of helpers (`dp rank 2 of 4`, `worker 2 of 4 started`), or in brackets on most of their lines whatever the word (`[Rang 2/4]`),
    where the same number stands in their names, or none does."""
    if found := called_roll(paths, world):
        return found
    if not hold_one_each(said, paths):
        return {}
    if found := _numbered(said, paths, world):
        return found
    numbers: dict[str, int] = {}
    for path in paths:
        lines = said.get(path, ())
        told = {(int(one["number"]), int(one["total"])) for line in lines for one in _ROLL.finditer(line.raw)}
        heads = [one for line in lines if (one := _HEAD.search(line.raw))]
        if not told and 2 * len(heads) > len(lines):
            told = {(int(one["number"]), int(one["total"])) for one in heads}
        number, total = told.pop() if len(told) == 1 else (-1, -1)
        named = {name.lstrip("0") or "0" for name in _NUMBER.findall(path)}
        if total != len(paths) or not (str(number) in named or (heads and not named)):
            return {}
        numbers[path] = number
    is_whole = sorted(numbers.values()) == [*range(len(paths))] and world in (None, len(paths))
    return numbers if is_whole and len(paths) > _FEWEST else {}


def _numbered(said: Begun, paths: Sequence[str], world: int | None) -> dict[str, int]:
    """Files that tell the same number as their names do, whatever the word is: `learner 13 of 16` each once in 13.log, of as many files; or in a
    label before most lines (`[eval][1] …`), where each tells a world of as many."""
    if len(paths) <= _FEWEST or world not in (None, len(paths)):
        return {}
    whole = [*range(len(paths))]
    told: defaultdict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for path in paths:
        named = _in_name(path)
        worlds: set[int] = set()
        before: Counter[int] = Counter()
        lines = said.get(path, ())
        for one in lines:
            for found in _OF_ALL.finditer(one.raw[:_CHARACTERS]):
                if int(found["total"]) == len(paths) and not is_of_host(one.raw[:_CHARACTERS], found):
                    told[found["word"].lower()][path].add(int(found["number"]))
            worlds |= {int(size) for sizes in WORLD.findall(one.raw[:_CHARACTERS]) for size in sizes if size}
            labels = {(label["word"], int(label["number"])) for label in _BEFORE.finditer(one.raw[:_LABELS])}
            before.update({number for word, number in labels if number in named and not IS_OTHER.fullmatch(word)})
        if worlds == {len(paths)}:
            # what stands before all lines of a file was taken off as a collector's
            most = {number for number, times in before.items() if 2 * times > len(lines)}
            told["["][path] = most if before else named
    for word, own in told.items():
        numbers = {path: min(found) for path, found in own.items() if len(found) == 1}
        is_of_each = sorted(numbers.values()) == whole and len(numbers) == len(own) and _are_in_names(numbers)
        if is_of_each and not IS_OTHER.fullmatch(word):
            return numbers
    return {}


def counted_by(said: Begun, shapes: Mapping[str, Sequence[Source]]) -> int | None:
    """The one size by which files of one shape of name, a file of each process, count themselves off: each tells that size and its own
    number, in their lines or by introductions."""
    sizes: set[int] = set()
    for paths in ([one.path for one in own if one.size] for own in shapes.values()):
        told = [sole((own.rank, own.world) for one in said.get(path, ()) if (own := one.introduces)) for path in paths]
        is_whole = {*told} - {None} == {(number, len(paths)) for number in range(len(paths))}
        if len(paths) > 1 and (is_whole or rolled(said, paths, None)):
            sizes.add(len(paths))
    return sole(sizes)


def sizes_of_rolls(
    said: Begun, shapes: Iterable[Sequence[Source]], ranks: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Rows of the table `ranks`: the size by which files of one shape of name count themselves off, where nobody introduces himself in them."""
    for paths in ([one.path for one in own if one.size] for own in shapes):
        if any(one.introduces is not None for path in paths for one in said.get(path, ())):
            continue
        roll = rolled(said, paths, None)
        if all(ranks.get(path) == rank for path, rank in roll.items()):
            told = {"world_size": len(paths), "how": "roll", "line": None}
            yield from ({"rank": rank, "file": path} | told for path, rank in roll.items())


def is_of_nodes(ranks: Sequence[int], files: int, world: int | None) -> bool:
    """Every k-th rank, in as many files as make the world: of each node the first process speaks."""
    steps = {second - first for first, second in pairwise(ranks)}
    return len(steps) == 1 and (step := steps.pop()) > 1 and files * step == world


def places(own: Sequence[Source]) -> int:
    return min((len(_NUMBER.findall(one.path)) for one in own), default=0)


def until(path: str, place: int) -> str:
    """The path up to the end of its number at this place."""
    return path[: [found.end() for found in _NUMBER.finditer(path)][place]]


def beginnings(path: str) -> list[str]:
    """The path up to the end of each of its numbers, and of each of its folders with one in its name (runs of a tracker, whose names end in letters)."""
    ends = {found.end() for found in _NUMBER.finditer(path)}
    ends |= {found.end() for found in _NUMBERED_FOLDER.finditer(path)}
    return [path[:end] for end in sorted(ends)]


def stream(path: str) -> tuple[str, ...]:
    """What two streams of one process have in common: their folder, and the numbers in their names."""
    folder, _, name = path.rpartition("/")
    return (folder, *_NUMBER.findall(name))


def numbers(own: Sequence[Source], place: int) -> dict[str, int]:
    """Path → the number at this place in it, where no two files have the same."""
    found = {one.path: int(_NUMBER.findall(one.path)[place]) for one in own}
    return found if len(set(found.values())) == len(found) else {}


def by_pid(path: str, pids: Mapping[int | None, int]) -> int | None:
    """The rank of the one known process whose number a file's name holds."""
    return sole(pids[number] for number in _in_name(path) if number >= _PID and number in pids)


def are_of_pids(found: Mapping[str, int], pids: Mapping[int | None, int], said: Begun, world: int | None) -> bool:
    """Is no file, by a process number in its name, another rank's than its number says? Looks at all processes are numbered, too. Nor may a look be at a
    process that is another rank, or none of those that are told for all ranks: a loop over a host's processes numbers its turns."""
    looked = {
        path: {int(stack[1]) for one in said.get(path, ()) if (stack := _OF_STACK.match(one.line.text))}
        for path in found
    }
    is_whole = world is not None and {*range(world)} <= {rank for pid, rank in pids.items() if pid is not None}
    return all(
        by_pid(path, pids) in (None, number)
        and {pids[pid] for pid in looked[path] if pid in pids} <= {number}
        and not (is_whole and looked[path] and looked[path].isdisjoint(pids))
        for path, number in found.items()
    )


def of_node(found: Mapping[str, int], ranks: Mapping[str, int], others: Set[int]) -> dict[str, int]:
    """Files of one shape of name, with their numbers and the ranks of those that are known → the ranks of all, where the numbers are the
    local ones of a later node: 0 … n-1, two known at least, all by one offset. `others`: who speaks elsewhere."""
    offsets = {rank - found[path] for path, rank in ranks.items()}
    if len(ranks) < _FEWEST or len(offsets) != 1 or sorted(found.values()) != list(range(len(found))):
        return {}
    offset = offsets.pop()
    made = {path: number + offset for path, number in found.items()}
    return made if offset > 0 and not others & {made[path] for path in found.keys() - ranks.keys()} else {}


def alone(shapes: Iterable[Sequence[Source]]) -> "Iterable[list[Source]]":
    """Files that no other is named like (pods by letters, hosts by words), put together by depth and suffix; those of one name in folders of such
    names (runs of a tracker) by that."""
    groups: defaultdict[tuple[int, str], list[Source]] = defaultdict(list)
    singles = [own[0] for own in shapes if len(own) == 1 and own[0].size and own[0].rank is None]
    called = Counter((one.path.count("/"), one.path.rpartition("/")[2]) for one in singles)
    for one in singles:
        depth, name = one.path.count("/"), one.path.rpartition("/")[2]
        groups[depth, name if called[depth, name] > 1 else name.rpartition(".")[2]].append(one)
    return groups.values()


def marks(rows: Iterable[tuple[int, str, Said]], kind: str) -> dict[Any, Set[int]]:
    """What tells processes apart → the numbers of its lines."""
    found: defaultdict[Any, set[int]] = defaultdict(set)
    for number, _, one in rows:
        mark = one.file if kind == "file" else getattr(one.line, kind)
        if mark is not None:
            found[mark if kind != "local_rank" else (one.file, mark)].add(number)
    return dict(found)


def is_one_to_one(found: Mapping[Any, Set[int]]) -> bool:
    """Has each mark a number of its own?"""
    numbers = [number for own in found.values() for number in own]
    return len(numbers) == len(set(numbers)) == len(found)


def whole_beginnings(beside: Mapping[str, int], world: int | None) -> dict[str, int]:
    """Beginnings of paths that end in a number, or with a folder, and their ranks → those of which as many alike as there are processes tell a rank each."""
    shapes: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for begins, rank in beside.items():
        folder = begins.rstrip("/").rpartition("/")[2]
        of_folder = f"{begins.count('/')} {_NUMBER.split(folder)[0]}/"
        shapes[of_folder if begins.endswith("/") else _NUMBER.sub("#", begins)][begins] = rank
    whole = [own for own in shapes.values() if len(own) == len(set(own.values())) == world]
    return {begins: rank for own in whole for begins, rank in own.items()}


def introduce_at(given: Mapping[str, list[Said]], path: str, at: int, rank: int, world: int | None = None) -> None:
    """A line that tells the rank of its file's process, and its pid, if it holds one."""
    one = given[path][at]
    given[path][at] = replace(one, introduces=Introduction(rank, world, pid_in(one.raw[:_CHARACTERS])))


def introduce(said: Mapping[str, list[Said]], told: Mapping[tuple[str, int], Introduction]) -> None:
    """Lines that tell more than their words do."""
    for path in {path for path, _ in told}:
        for at, one in enumerate(said[path]):
            if one.introduces is None and (who := told.get((path, one.number))) is not None:
                said[path][at] = replace(one, introduces=who)
