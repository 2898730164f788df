"""Who speaks in a bundle: what every reader of beginnings, documents and tables tells, put together (learnt/whole.py says how labels are believed)."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from msgspec.structs import replace

from parsers.schema.event_kinds import IN_TURN
from parsers.schema.naming import aliased, names_of
from parsers.schema.parser import PATH, Source
from parsers.who.labels.engine_labels import engine_labels
from parsers.who.labels.head_pids import files_of_pids, pids_of_records
from parsers.who.labels.other_sites import without_other_sites
from parsers.who.labels.seat_labels import fields_of_places
from parsers.who.learnt.counts import counted_off, introduce, sizes_of
from parsers.who.learnt.from_zero import from_zero, of_one_size
from parsers.who.learnt.known import Known
from parsers.who.learnt.own_numbers import own_numbers
from parsers.who.learnt.turns import of_one_process
from parsers.who.learnt.whole import Beginnings
from parsers.who.lines.beginnings import SHAPE, begun_by, chosen
from parsers.who.lines.introductions import Introduction
from parsers.who.lines.word_heads import add_word_heads
from parsers.who.linked.chains import NO_CHAINS, chains
from parsers.who.places.dialled import dialled
from parsers.who.places.gone_processes import gone_processes
from parsers.who.places.headed_hosts import host_sections, hosts_before
from parsers.who.places.host_names import launched_hosts
from parsers.who.places.regrouped import is_anew, standing
from parsers.who.processes.process_table import process_table, worlds_told
from parsers.who.processes.process_variables import pids_of_variables
from parsers.who.scripts.loops import hosts_in_turn
from parsers.who.scripts.message_calls import message_calls
from parsers.who.scripts.renamed import renamed
from parsers.who.told.contradicted import contradicted
from parsers.who.told.counted_columns import counted_columns
from parsers.who.told.documented import of_one_name
from parsers.who.told.keyed_records import keyed_records
from parsers.who.told.looked_up import looked_up
from parsers.who.told.own_names import of_own_names
from parsers.who.told.rosters import files_of, rosters
from parsers.who.told.told_lines import introduced, line_of, statements, told_in_lines
from parsers.who.told.told_names import as_processes, claims_of, documents, told_names
from parsers.who.told.told_pairs import told_pairs
from parsers.who.told.told_shares import introductions_of, with_shares
from parsers.who.told.told_stems import counted_on


def speakers(sources: Sequence[Source]) -> Known:
    """The files of a bundle → who speaks in them."""
    known, unheard = _heard(sources := [source for source in sources if len(source.path) <= PATH])
    return _heard([source for source in sources if source.path not in unheard])[0] if unheard else known


def _heard(sources: Sequence[Source]) -> tuple[Known, frozenset[str]]:
    """The same, and the lists that contradict each other: then the bundle is heard once more without them."""
    shapes: defaultdict[str, list[Source]] = defaultdict(list)
    for source in sources:
        shapes[SHAPE.sub("#", source.path)].append(source)
    sampled, others = chosen(shapes.values())
    begun, collectors = begun_by(sampled, others)
    named = told_names(read := [*documents(sources)])
    said = of_one_size(from_zero(own_numbers(counted_off(renamed(begun)), named)))
    lines = [line_of(path, one) for path, own in said.items() for one in own]
    stated = [*statements(lines)]  # read once: every line of all beginnings is asked for names and numbers
    introduce(said, introductions_of(said) | {place: Introduction(*who) for place, who in introduced(stated).items()})
    size, _ = sizes_of([one.introduces for own in said.values() for one in own if one.introduces], said)
    sizes = worlds_told(said) | ({size} if size is not None else set())
    noted = as_processes(standing([*named, *told_in_lines(lines, stated), *told_pairs(said, sizes)], said))
    table = process_table(said, [one.path for one in sources], size, stated, noted, read)
    introduce(said, of_one_process(said, table.introductions))
    listed_names = rosters(said, sources, (whole := Beginnings(shapes, said, stated, table)).world, table.ranked)
    told = [
        *(one for one in noted if one.node_rank is None or not table.is_open),
        *table.told(),
        *listed_names,
        *keyed_records(sampled, whole.world, whole.introduced),
        *looked_up(said, read, whole.world),
    ]
    places, spaces = table.aliases.values(), whole.spaces()
    told = standing([*aliased(told, places), *counted_on(told, chain.from_iterable(places), whole.world)], said)
    ranked = {one.path: one.rank for one in sources if one.rank is not None} | dict(table.files)
    ranked |= spaces[0].files({one.file for one in read})
    is_one = len(spaces) < 2 and not is_anew(said)
    more = chains(said, read, table, told, ranked, [one.path for one in sources], whole.world) if is_one else NO_CHAINS
    told = as_processes([*told, *more.told])
    names = table.named(names_of(told, whole.world or table.size), told)
    names = replace(names, processes={**more.processes, **names.processes})
    names = replace(names, hosts=names.hosts | launched_hosts(said), fields=fields_of_places(said, names, sampled))
    add_word_heads(said, names)
    learnt = [one.known(names) for one in spaces]
    ranks = {path: rank for one in learnt for path, rank in one.ranks.items()}
    labels = without_other_sites({p: own for one in learnt for p, own in one.labels.items()}, told)
    engines, shards = engine_labels(said, ranks, labels)
    claims = [*chain(shards, *(one.claims for one in learnt), table.claims(), claims_of(told, names, table.apart))]
    claims += [
        *more.claims,
        *dialled(said),
        *message_calls(sources, said),
        *pids_of_variables(said, whole.world, table.hosts),
    ]
    claims += pids_of_records(said, names)
    claims += hosts_before(said, table, claims)
    claims += [
        {"host": host, "how": IN_TURN, "file": path} for path, own in said.items() for host in hosts_in_turn(own)
    ]
    claims += gone_processes(said, names, table.where, whole.world or table.size)
    ranks = files_of_pids(said, claims, whole.processes) | ranks
    files = {**more.files, **table.files, **files_of(listed_names, said, names.disputed), **whole.documented(names)}
    files = of_one_name(files, names)
    files |= of_own_names(said, names, ranks | files, whole.processes)
    size, unknown = whole.world or table.size, [one for one in (*sampled, *others) if one.path not in ranks]
    ranks, claims = with_shares(unknown, size, ranks, claims)
    columns = counted_columns([one for one in unknown if one.path not in ranks], size)
    more_of = (table.hosts, columns, table.apart, host_sections(sources, said, table))
    known = Known(ranks, labels | engines, claims, collectors, names, files, *more_of)
    return known, contradicted(claims, more.opposed, said)
