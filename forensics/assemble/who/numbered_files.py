"""Files that are one rank's each by two witnesses: the number in their names, and what a process says of itself in them.

Of files of one name but for its numbers, each holds claims of one rank and no two of the same, and in all of them one number of
the name is that rank: `worker_3.log`, in which a process says that it is rank 3. Logs of nodes are none: the rank of their first
process is no number of theirs, but on nodes of one process each, or several speak in them. Where the numbers are just 0 … N-1, half of the
files are enough: the others say nothing of who they are. Then a number that a launcher may give to a place on a host is one of the job, too.

So are files of which each tells another rank, where these are all ranks of the job: what the numbers of their names count does not matter.

So is a file in which a process tells its rank and its pid, where all other ranks of the job have files of their own: learner.log beside actor_1.log, actor_2.log.

So are files of places on a host, each of another one, where they are as many as the world that is told: all of it runs on one host.

So are files called, by a word and a number, as those of their folder are whose number is their rank: `dump_2341_r4.txt` beside r4.log.

So are files called after processes whose ranks another file tells, a listing of ps or a launch: `train.31102.log`.

So are files each of which tells its place among replicas, where these are the whole job and each place is told once.

Where no process says who it is: files of one name, numbered from 0 to as many as the world that is told less one, each of which trains
in the same steps (where no world is told, in several files each, of a tag), prints lines as all others do, or is shown by a stack that tells no pid. There is one for each rank then, and nothing else counts them. Where no world is told, so are several files
of each of several hosts or folders, if their numbers go on from one to the next.

So are files that tell one figure alike in every step, numbered as those of all ranks are whose number is known to be their rank: stats.2.tsv beside out.2.

So are, beside a console in which ranks speak, files of nothing but statistics of tensors, as many as the world that is told; and files of records of
steps whose number stands behind the word rank, be it the place on an axis of the layout, where that axis is as large and no other is told.

Fooled by: workers of a program that numbers them otherwise than their ranks, and tells these nowhere.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from math import prod

import polars as pl

from forensics.assemble.figures.figure_pairs import figure_pairs
from forensics.model.told import counted, values
from parsers.schema.tables import Tables, spelled
from parsers.text.patterns import regex
from parsers.text.whole_numbers import NUMBER, counted_from_zero
from parsers.training.layout_words import AMONG_REPLICAS
from parsers.who.labels.joins import counts_others
from parsers.who.lines.introductions import PROCESS

_CALLED = regex(r"(?i)(?<![a-z])(?P<word>[a-z]{1,16})[_.-]?(?P<number>\d{1,6})(?![a-z\d])")
_ROLE = 4  # letters of what a program is called, at least
_OF_ANY = (
    *PROCESS, "worker", "work", "stdout", "stderr", "output", "dump", "stack", "stacks", "trace", "pyspy", "file", "part",
)  # fmt: skip
_OF_PROCESS = frozenset((*PROCESS, "r", "worker", "replica", "task", "gpu", "device", "trainer", "peer"))
_LAST_WORD = regex(r"[A-Za-z]{1,16}(?=[_.-]?$)")
_OF_OTHERS = ("elastic failure table",)  # of processes that the printer started
_FEWEST = 2
_OFTEN = 5  # lines
_SEVERAL = 4  # files that are all of a job whose size nobody tells
_FEW = 3  # files of which nobody says who they are
_CHANGES = 4  # values of a figure that all share
_WORLDS = ("world_size", "data_parallel_size")
_PARTED = ("expert_model_parallel_size", "tensor_model_parallel_size", "pipeline_model_parallel_size")
_AXES = ("data_parallel_size", "tensor_model_parallel_size", "pipeline_model_parallel_size")


def numbered_files(tables: Tables) -> pl.DataFrame:
    """Evidence tables → file, rank of such files whose path does not say whose they are."""
    claims = tables["ranks"].filter(pl.col("rank").is_not_null() & ~pl.col("how").is_in(_OF_OTHERS))
    spoken = claims.group_by("file").agg(pl.col("rank").unique(), pl.col("pid").drop_nulls().n_unique().alias("_pids"))
    alone = spoken.filter((pl.col("rank").list.len() == 1) & (pl.col("_pids") < _FEWEST))
    ranks: dict[str, int] = dict(alone.select("file", pl.col("rank").list.first()).iter_rows())
    several = {*spoken["file"]} - ranks.keys()
    shapes: defaultdict[str, list[str]] = defaultdict(list)
    untold = tables["files"].filter(pl.col("rank").is_null() & (pl.col("bytes") > 0))
    is_local = {file for file, local in untold.select("file", "local_rank").iter_rows() if local is not None}
    for file in untold["file"]:
        shapes[NUMBER.sub("#", file)].append(file)
    found: dict[str, int] = {}
    worlds = values(claims["world_size"])
    for own in shapes.values():
        if (not is_local.intersection(own) and _are_numbered(own, ranks)) or _are_whole(own, ranks, worlds):
            found |= {file: ranks[file] for file in own}
        elif not several.intersection(own):
            found |= _rolled(own, ranks)
    for own in shapes.values():
        if len(own) >= _FEWEST and is_local.issuperset(own) and _sizes(tables) == {str(len(own))}:
            numbers = dict(untold.filter(pl.col("file").is_in(own)).select("file", "local_rank").iter_rows())
            found |= numbers if sorted(numbers.values()) == [*range(len(own))] else {}
    known = dict(tables["files"].filter(pl.col("rank").is_not_null()).select("file", "rank").iter_rows())
    unnamed = [file for file in untold["file"] if file not in found]
    found |= _called(known | found, unnamed, ranks, several, _sizes(tables))
    found |= _left_over(tables, claims, known | found, {file: ranks[file] for file in untold["file"] if file in ranks})
    unplaced = [file for file in untold["file"] if file not in is_local]
    found |= _placed(claims, unplaced)
    for own in shapes.values():
        if not several.intersection(own) and not found.keys() & set(own):
            found |= _by_pids(claims, own, ranks)
    unsaid = [own for own in shapes.values() if not is_local.intersection(own) and not found.keys() & set(own)]
    if not ranks and not tables["steps"]["rank"].is_not_null().any():
        found |= _one_a_rank(tables, unsaid) or _of_axis(tables, unsaid)
    else:  # beside a console that tells who prints: records of tensors, which nobody writes for another
        recorded = {str(file) for file in tables["tensors"].filter(pl.col("rank").is_null())["file"].unique()}
        told = _one_a_rank(tables, [own for own in unsaid if recorded.issuperset(own)])
        found |= told if told and _is_of_process(told) else _of_axis(tables, unsaid)
    unsaid = [own for own in unsaid if not found.keys() & set(own)]
    found |= _as_others(tables, known | found, unsaid)
    return pl.DataFrame([*found.items()], schema={"file": pl.String, "rank": pl.Int64}, orient="row")


def _rolled(own: list[str], ranks: Mapping[str, int]) -> dict[str, int]:
    """Files whose numbers are just 0 … N-1, which those that say who they are confirm, at least half of them → their numbers."""
    told = [(file, ranks[file]) for file in own if file in ranks]
    if len(told) < max(_FEWEST, (len(own) + 1) // 2) or len(own) == len(told):
        return {}
    return next((one for one in counted_from_zero(own) if all(one[file] == rank for file, rank in told)), {})


def _called(
    known: Mapping[str, int], untold: Sequence[str], ranks: Mapping[str, int], several: Collection[str], sizes: set[str]
) -> dict[str, int]:
    """Files → the number behind the word that all files of their folder, or of one above it, whose rank is `known` have before their rank, each another one;
    also in other folders, where it is what one program is called and no other, and they are all of the job: hosts may each count their own."""
    told: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for file, rank in known.items():
        for word, number in _words(file):
            told[file.rpartition("/")[0], word].append((number, rank))
    words = {
        place: {rank for _, rank in own}
        for place, own in told.items()
        if len({rank for _, rank in own}) >= _FEWEST and all(number == rank for number, rank in own)
    }
    times = Counter(word for _, word in told)
    roles = {
        word
        for (_, word), own in words.items()
        if times[word] == 1 and len(word) >= _ROLE and word not in _OF_ANY and sizes <= {str(len(own))}
    }
    words |= {("", word): own for (_, word), own in words.items() if word in roles}
    found: dict[str, int] = {}
    for file in untold if words else ():
        parts = file.split("/")[:-1]
        folders = ["/".join(parts[:at]) for at in range(len(parts) + 1)]
        numbers = {
            number for word, number in _words(file) for folder in folders if number in words.get((folder, word), ())
        }
        if len(numbers) == 1 and file not in several and ranks.get(file, *numbers) in numbers:
            found[file] = numbers.pop()
    return found


def _words(file: str) -> list[tuple[str, int]]:
    """The words in a file's own name that stand right before a number, each once, with it; none that is known to count something else."""
    found = [(one["word"].lower(), int(one["number"])) for one in _CALLED.finditer(file.rpartition("/")[2])]
    words = [word for word, _ in found]
    return [(word, number) for word, number in found if words.count(word) == 1 and not counts_others(word)]


def _as_others(tables: Tables, known: Mapping[str, int], unsaid: Sequence[list[str]]) -> dict[str, int]:
    """Files numbered 0 … N-1 as those are, one for each rank of the job, whose number is known to be their rank: `stats.2.tsv` beside out.2, in which nobody
    tells a rank of any step. In each step all of them tell one figure alike, as what was reduced is: those of layers or seeds tell none."""
    if tables["steps"]["rank"].is_not_null().any():
        return {}
    rolls: defaultdict[str, list[str]] = defaultdict(list)
    for file in known:
        rolls[NUMBER.sub("#", file)].append(file)
    of_job = {*known.values()} | {*tables["ranks"]["rank"].drop_nulls()}
    is_numbered = of_job == {*range(len(of_job))} and any(
        {known[file] for file in own} == of_job and _are_numbered(own, known) for own in rolls.values()
    )
    found: dict[str, int] = {}
    for own in unsaid if is_numbered and len(of_job) >= _FEW else ():
        numbered = counted_from_zero(own) if len(own) == len(of_job) else []
        is_of_ranks = len(numbered) == 1 and not counts_others(_called_before(numbered[0]))
        if is_of_ranks and _share_a_figure(tables["steps"], own):
            found |= numbered[0]
    return found


def _share_a_figure(steps: pl.DataFrame, own: Sequence[str]) -> bool:
    """Is a figure that changes, and is no setting, the same in all these files in every step that they tell of it?"""
    steps = spelled(steps.filter(pl.col("file").cast(pl.String).is_in(own) & pl.col("step").is_not_null()))
    named = [steps.select("file", "step", name=pl.lit(name), value=pl.col(name)) for name in ("loss", "grad_norm")]
    told = pl.concat([*named, figure_pairs(steps, "file", "step")]).filter(pl.col("value").is_finite())
    of_step = told.group_by("name", "step").agg(pl.col("file", "value").n_unique(), one=pl.col("value").first())
    is_shared = (pl.col("file") == len(own)) & (pl.col("value") == 1)
    each = of_step.group_by("name").agg(pl.col("one").n_unique(), shared=is_shared.all())
    return each.filter(pl.col("shared") & (pl.col("one") >= _CHANGES)).height > 0


def _are_numbered(own: list[str], ranks: Mapping[str, int]) -> bool:
    told = [ranks.get(file) for file in own]
    if None in told or len(set(told)) < max(_FEWEST, len(own)):
        return False
    columns = zip(*(map(int, NUMBER.findall(file)) for file in own), strict=True)
    return any(list(column) == told for column in columns)


def _are_whole(own: list[str], ranks: Mapping[str, int], worlds: Set[int]) -> bool:
    """Does each file tell one rank of its own, and are these all of the job, 0 … N-1? Whatever number its name has, it is that process's."""
    told = sorted(ranks.get(file, -1) for file in own)
    return told == [*range(len(own))] and (len(own) >= _SEVERAL if not worlds else worlds == {len(own)})


def _left_over(
    tables: Tables, claims: pl.DataFrame, known: Mapping[str, int], ranks: Mapping[str, int]
) -> dict[str, int]:
    """Files in which one process says who it is and by which pid, where their ranks are just those of the job that have no file of their own, and tell no step anywhere."""
    spoken = {*claims.filter(pl.col("pid").is_not_null())["file"].cast(pl.String)}
    own = {file: rank for file, rank in ranks.items() if file not in known and file in spoken}
    worlds = values(claims["world_size"])
    if not own or len(worlds) != 1:
        return {}
    told = [tables[name].filter(~pl.col("file").cast(pl.String).is_in([*own]))["rank"] for name in ("steps", "values")]
    others = {*known.values()}.union(*(values(one) for one in told))
    is_whole = sorted(others.union(own.values())) == [*range(max(worlds))]
    is_theirs = len({*own.values()}) == len(own) and not others.intersection(own.values())
    return own if is_whole and is_theirs and len(others) >= _FEWEST else {}


def _by_pids(claims: pl.DataFrame, own: list[str], ranks: Mapping[str, int]) -> dict[str, int]:
    """File → the rank that other files tell of the process whose number stands in its name; all of one name, none of which says otherwise."""
    others = claims.filter(pl.col("pid").is_not_null() & ~pl.col("file").is_in(own))
    told = others.group_by("pid").agg(pl.col("rank").unique())
    known = {pid: some[0] for pid, some in told.iter_rows() if len(some) == 1}
    for column in zip(*(map(int, NUMBER.findall(file)) for file in own), strict=True):
        number = {file: known[pid] for file, pid in zip(own, column, strict=True) if pid in known}
        is_theirs = all(ranks.get(file, rank) == rank for file, rank in number.items())
        if len(number) >= _FEWEST and len(set(number.values())) == len(own) == len(number) and is_theirs:
            return number
    return {}


def _placed(claims: pl.DataFrame, untold: list[str]) -> dict[str, int]:
    """File → the place that it says to have among replicas, where such files hold each place of the world once."""
    told = claims.filter((pl.col("how") == AMONG_REPLICAS) & pl.col("file").is_in(untold))
    each = told.group_by("file").agg(pl.col("rank").unique(), pl.col("world_size").unique())
    ranks = [rank for one in each["rank"].to_list() for rank in one]
    worlds = {size for one in each["world_size"].to_list() for size in one}
    is_whole = len(worlds) == 1 and sorted(ranks) == [*range(worlds.pop())] and len(ranks) == each.height
    return dict(each.select("file", pl.col("rank").list.first()).iter_rows()) if is_whole else {}


def _one_a_rank(tables: Tables, shapes: Iterable[list[str]]) -> dict[str, int]:
    """File → its number, of the one set of files that are as many as the world."""
    shapes = [own for own in shapes if len(own) >= _FEW]
    if not shapes:
        return {}
    told = pl.concat([spelled(tables[name].select("file", "step")) for name in ("steps", "values", "tensors")])
    steps = dict(told.drop_nulls().group_by("file").agg(pl.col("step").unique()).iter_rows())
    lines = dict(tables["files"].select("file", "templates").drop_nulls().iter_rows())
    # Where a stack tells its process, the number is as likely that of a turn of a loop.
    is_bare = tables["stacks"].group_by("file").agg(pl.col("pid").is_null().all().alias("bare"))
    looked_at = {file for file, bare in is_bare.iter_rows() if bare}
    sizes = _sizes(tables)
    is_untold = not sizes and tables["ranks"]["rank"].drop_nulls().is_empty()
    sets: list[dict[str, int]] = []
    tagged: list[dict[str, int]] = []
    parts = [part for own in shapes if looked_at.issuperset(own) for part in _folders(own)]
    for own in [*shapes, *parts]:
        if len(own) < _FEW or not (_go_on(own, steps) or _are_alike(own, lines) or looked_at.issuperset(own)):
            continue
        numbered = counted_from_zero(own)
        if len(numbered) != 1:
            continue
        [one] = numbered
        if _is_world(tables, own, sizes) or (is_untold and _are_spread(one)):
            sets.append(one)
        elif is_untold and len(own) >= _SEVERAL and _go_on(own, steps) and _is_of_process(one):
            tagged.append(one)  # a seed, a trial, a layer are none
    if not sets and len(tagged) > 1 and len({(_called_before(own), len(own)) for own in tagged}) == 1:
        sets = tagged
    is_looks = looked_at.issuperset(file for own in sets for file in own)  # at the same processes
    if len(sets) > 1 and (is_looks or len({_called_before(own) for own in sets}) == 1):
        return {file: rank for own in sets for file, rank in own.items()}
    return sets[0] if len(sets) == 1 else {}


def _of_axis(tables: Tables, shapes: Iterable[list[str]]) -> dict[str, int]:
    """The same, where the files are called after places on the one axis that is told, and no rank beyond it is."""
    parted = values(tables["settings"].filter(pl.col("name").is_in(_PARTED) & (pl.col("value") != "1"))["value"])
    spoken = {*tables["steps"]["rank"].drop_nulls(), *tables["ranks"]["rank"].drop_nulls()}
    sets = [
        numbered[0]
        for own in shapes
        if parted == {str(len(own))} >= _sizes(tables)
        and max(spoken, default=0) < len(own)
        and {*own} <= {*tables["steps"].filter(pl.col("rank").is_null())["file"].cast(pl.String)}
        and len(numbered := counted_from_zero(own)) == 1
        and (word := _LAST_WORD.search(_called_before(numbered[0]))) is not None
        and word[0].lower() == "rank"
    ]
    return sets[0] if len(sets) == 1 else {}


def _called_before(own: Mapping[str, int]) -> str:
    """What stands before the number of a set of files, a tag of each behind it: run-worker_3-tag-loss.csv."""
    file, rank = next((file, rank) for file, rank in own.items() if rank == max(own.values()))
    at = [one.start() for one in NUMBER.finditer(file) if int(one[0]) == rank]
    return NUMBER.sub("#", file[: at[0]])


def _is_of_process(own: Mapping[str, int]) -> bool:
    """Is the word before the number one of processes?"""
    word = _LAST_WORD.search(_called_before(own))
    return word is not None and word[0].lower() in _OF_PROCESS


def _folders(own: Iterable[str]) -> list[list[str]]:
    """Files of one shape → those of each folder, where there are several."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for file in own:
        folders[file.rpartition("/")[0]].append(file)
    return [*folders.values()] if len(folders) > 1 else []


def _is_world(tables: Tables, own: list[str], sizes: set[str]) -> bool:
    """Is the world told to be as large, or does each of these files say that there is nothing but replicas?"""
    if sizes:
        return sizes == {str(len(own))}
    if tables["ranks"]["rank"].is_not_null().any():  # files of several hosts may count something else
        return len(_folders(own)) == 1 and {*tables["ranks"]["rank"].drop_nulls()} == {*range(len(own))}
    settings = tables["settings"]
    alone = settings.filter((pl.col("name") == "tensor_model_parallel_size") & (pl.col("value") == "1"))
    return set(own) <= {str(file) for file in alone["file"].to_list()}


def _sizes(tables: Tables) -> set[str]:
    """All that is told of how many processes there are: the size of the world, else how many replicas, each of which may be several ranks."""
    settings = tables["settings"]
    world, replicas = (values(settings.filter(pl.col("name") == name)["value"]) for name in _WORLDS)
    world |= {str(size) for size in tables["ranks"]["world_size"].drop_nulls().unique().to_list()}
    return world or replicas


def _go_on(own: Sequence[str], steps: Mapping[str, Collection[int]]) -> bool:
    """Do these files tell steps, and some all of them?"""
    return all(file in steps for file in own) and bool(set.intersection(*(set(steps[file]) for file in own)))


def _are_alike(own: Sequence[str], lines: Mapping[str, Sequence[str]]) -> bool:
    """Do all these files print lines alike, nobody knows which, that are most of each?"""
    printed = [counted(lines.get(file, ())) for file in own]
    shared = set[str].intersection(*map(set, printed))
    often = [sum(one[text] for text in shared) for one in printed]
    return all(some >= _OFTEN and 2 * some >= sum(one.values()) for some, one in zip(often, printed, strict=True))


def _are_spread(numbers: Mapping[str, int]) -> bool:
    """Are these several files of each of several places, hosts or folders, and called as processes may be? Numbers that go on from place to place
    count none on a host, nor hosts."""
    places: defaultdict[str, int] = defaultdict(int)
    names = set()
    for file, number in numbers.items():
        *_, last = (found for found in NUMBER.finditer(file) if int(found[0]) == number)
        places[file[: last.start()] + file[last.end() :]] += 1
        names.add(file[: last.start()].rpartition("/")[2])
    is_several = len(places) >= _FEWEST and min(places.values()) >= _FEWEST
    return is_several and not any(map(counts_others, names))


def told_world(settings: pl.DataFrame) -> int | None:
    """How many processes the layout has that is told of every axis, each as one size."""
    sizes = [values(settings.filter(pl.col("name") == name)["value"]) for name in _AXES]
    numbers = [int(size) for one in sizes if len(one) == 1 for size in one if str(size).isdigit()]
    return prod(numbers) if len(numbers) == len(_AXES) else None
