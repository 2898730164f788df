"""Evidence tables of one attempt → its Case: who is who, and whose rows are whose."""

from collections.abc import Mapping

import polars as pl

from forensics.assemble.ends.cgroups import with_ranks_of_cgroups
from forensics.assemble.ends.closings import with_closings
from forensics.assemble.ends.full_volumes import with_full_volumes
from forensics.assemble.ends.given_up_together import with_given_up_together
from forensics.assemble.ends.group_ends import with_group_ends
from forensics.assemble.ends.headed_errors import with_headed_errors
from forensics.assemble.ends.killed_ranks import with_killed_ranks, with_killed_workers
from forensics.assemble.ends.later_kills import with_later_kills
from forensics.assemble.ends.logged_calls import with_logged_calls
from forensics.assemble.ends.logged_errors import with_logged_errors
from forensics.assemble.ends.lost_first import with_lost_first
from forensics.assemble.ends.named_pods import with_named_pods
from forensics.assemble.ends.nameless_errors import with_nameless_errors
from forensics.assemble.ends.placed_ends import Job, with_placed_ends
from forensics.assemble.ends.service_words import with_service_words
from forensics.assemble.figures.disputed import with_disputed
from forensics.assemble.figures.means_of_all import with_means_of_all
from forensics.assemble.figures.named_figures import with_named_figures
from forensics.assemble.starts.called_absent import with_missed
from forensics.assemble.starts.odd_addresses import with_odd_addresses
from forensics.assemble.starts.refused_values import with_refused_values
from forensics.assemble.starts.unreached import with_unreached
from forensics.assemble.who.agents_logs import with_ranks_of_agents
from forensics.assemble.who.beyond_world import within_world
from forensics.assemble.who.blocked_threads import with_blocked_threads
from forensics.assemble.who.by_device import with_device_ranks
from forensics.assemble.who.called_peers import with_called_peers
from forensics.assemble.who.dump_ranks import with_dump_ranks
from forensics.assemble.who.group_counts import without_group_counts
from forensics.assemble.who.identity import HIGHEST_RANK, globalise, identify, seen_ranks, unread_ranks, world
from forensics.assemble.who.kernel_looks import with_parents
from forensics.assemble.who.launcher_counts import with_program_ranks
from forensics.assemble.who.left_pids import with_left_pids
from forensics.assemble.who.named_pids import with_named_pids
from forensics.assemble.who.numbers_of_places import without_numbers_of_places
from forensics.assemble.who.told_arguments import with_told_arguments
from forensics.assemble.who.told_gone import with_told_gone
from forensics.assemble.who.told_lines import without_lines
from forensics.case import Case
from forensics.facts.ends.recovered_errors import recovered_errors, with_recovered
from forensics.model.tolerances import BUILT_IN, Tolerances
from parsers.schema.event_kinds import CALL, DIALS, PRINTED, TELLS
from parsers.schema.tables import TableName


def case_of(
    tables: Mapping[TableName, pl.DataFrame],
    attempt: int,
    expected: int | None = None,
    known_bad: frozenset[str] = frozenset(),
    topology: Mapping[str, int] | None = None,
    hung: bool = False,
    tolerances: Tolerances = BUILT_IN,
) -> Case:
    """Evidence tables of one attempt → Case: who is who, and whose rows are whose.

    The order: a dump's rank, a launcher's arguments and pids in names of files are claims, so they come before the claims are put to a vote; what a row lacks is filled by that vote, so before anything that counts rows of ranks (the world, who is seen). Whose an end is, of whatever its line names, and
    a line of a device, is told only once the size of the job and the place of each rank are known; what was outlived, or quoted from a group, is told by rows that already have their ranks. Files without a word come last."""
    tables, addresses = without_lines(tables, DIALS, TELLS)
    tables, calls = without_lines(tables, CALL, PRINTED)
    tables = without_group_counts(without_numbers_of_places(tables))
    tables = with_told_arguments(with_ranks_of_agents(tables))
    tables = with_program_ranks(with_told_gone(with_parents(with_left_pids(with_named_pids(with_dump_ranks(tables))))))
    identity = identify(tables)
    whole = with_named_pods(globalise(tables, identity), identity)
    whole = with_later_kills(whole, identity)
    whole = with_service_words(with_closings(whole, identity, recovered_errors))
    job, learnt = world(whole, identity, expected)
    whole = within_world(whole, told := job if learnt != HIGHEST_RANK else frozenset())
    seen = seen_ranks(whole)
    job = frozenset(range(max(job | seen) + 1)) if learnt == HIGHEST_RANK else job
    whole = with_ranks_of_cgroups(with_blocked_threads(with_device_ranks(whole, identity), identity))
    whole = with_placed_ends(with_full_volumes(with_named_figures(whole)), Job(job, told, seen), identity)
    whole = with_odd_addresses(with_headed_errors(whole, told), addresses, identity)
    whole = with_logged_errors(with_killed_ranks(with_killed_workers(with_nameless_errors(with_lost_first(whole)))))
    whole = with_called_peers(whole, calls, job)
    whole = with_missed(with_given_up_together(with_refused_values(with_group_ends(whole)), told), told, seen)
    whole = with_logged_calls(with_recovered(with_unreached(with_disputed(with_means_of_all(whole))), told, seen), told)
    unread = unread_ranks(whole, identity, seen, told)
    return Case(
        whole, attempt, job, seen | unread, unread, identity, known_bad, topology or {},
        hung=hung, tolerances=tolerances, world_from=learnt,
    )  # fmt: skip
