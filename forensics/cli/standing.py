"""Commands that show where everybody stands and who is who: groups, stacks, who; and what nobody has read: unread."""

from typing import TYPE_CHECKING

import click

from forensics.cli.answering import OUTPUT, Asked, in_lines, put, ready
from forensics.cli.questions import as_table
from forensics.cli.reading import Unreadable, cases_of, loading, read_bundle

if TYPE_CHECKING:
    import polars as pl

    from parsers import Evidence


def standing(evidence: "Evidence", group: str | None = None) -> str:
    """Who is where in each group, or in those whose name holds `group`; attempt by attempt."""
    with loading():
        import polars as pl

        from forensics.views.groups import groups as told

    asked = pl.lit(True) if group is None else pl.col("group").str.contains(group, literal=True)
    return _by_attempt([(case.attempt, told(case).filter(asked)) for case in cases_of(evidence)])


def _by_attempt(tables: "list[tuple[int, pl.DataFrame]]") -> str:
    many = len(tables) > 1
    return "".join((f"attempt {attempt}\n" if many else "") + as_table(frame) for attempt, frame in tables)


@click.command(cls=Asked, examples=("forensics groups bundle/", "forensics groups bundle/ --group dp_112"))
@click.argument("bundle")
@click.option("--group", metavar="NAME", help="Groups whose name holds NAME only.")
@OUTPUT
def groups(bundle: str, group: str | None, output: str) -> None:
    """Who is where in each process group: the last call of each rank, by each source, and who is behind.

    Numbers of calls count within one source and one group, and are compared there alone.
    """
    ready(output, bundle)
    put(standing(read_bundle(bundle), group), output)


@click.command(cls=Asked, examples=("forensics stacks bundle/",))
@click.argument("bundle")
@OUTPUT
def stacks(bundle: str, output: str) -> None:
    """Stacks of all ranks, merged: equal ones together, then as one tree."""
    with loading():
        from forensics.graph.hang.prefix_tree import lines
        from reports.sanitize import clean

    ready(output, bundle)
    put(in_lines(clean(line) for case in cases_of(read_bundle(bundle)) for line in lines(case.stacks)), output)


@click.command(cls=Asked, examples=("forensics who bundle/ --rank 3",))
@click.argument("bundle")
@click.option("--rank", type=int, metavar="R", help="This rank only.")
@OUTPUT
def who(bundle: str, rank: int | None, output: str) -> None:
    """Every process with all its names (host, pid, device, file …), and where each was said."""
    with loading():
        import polars as pl

        from forensics.assemble.runs.register import register

    ready(output, bundle)
    tables = []
    for case in cases_of(read_bundle(bundle)):
        told = register(case.tables)
        told = told if rank is None else told.filter(pl.col("rank") == rank)
        where = pl.concat_str("file", pl.format(":{}", "line").fill_null(""))
        tables.append((case.attempt, told.select("rank", "name", "value", "times", "how", where.alias("where"))))
    put(_by_attempt(tables), output)


def left_unread(bundle: str, evidence: "Evidence", most: int | None) -> str:
    """The forms of lines that nobody has read, the odd ones first, `most` of them. Raises parsers.BundleError."""
    with loading():
        from forensics.views.unread import unread as told
        from parsers.engine.context import unread as lines_of

    found = lines_of(bundle, evidence.tables)
    ranks = {rank for case in cases_of(evidence) for rank in case.seen}
    frame = told(found.lines, ranks)
    shown = frame if most is None else frame.head(most)
    total = int(found.lines["count"].sum())
    forms = f"{total:,} lines of {frame.height:,} forms were read by nobody"
    head = f"{forms}; first what at most half of the ranks printed" if frame.height else "every line was read"
    head += f"; the rest was not looked at, {found.ended}" if found.ended else ""
    more = f"… {frame.height - shown.height:,} more forms\n" if shown.height < frame.height else ""
    return f"{head}\n" + (as_table(shown) if shown.height else "") + more


@click.command(cls=Asked, examples=("forensics unread bundle/", "forensics unread bundle/ --most 200 -o unread.txt"))
@click.argument("bundle")
@click.option("--most", type=click.IntRange(1), default=40, show_default=True, metavar="N", help="So many forms.")
@OUTPUT
def unread(bundle: str, most: int, output: str) -> None:
    """Lines that no parser knows, by their form: how often, by whom, when first and last; the odd ones first.

    A verdict rests on none of them: look there for what it does not know.
    """
    from parsers import BundleError

    ready(output, bundle)
    evidence = read_bundle(bundle)
    try:
        put(left_unread(bundle, evidence, most), output)
    except BundleError as error:
        raise Unreadable(str(error)) from error
