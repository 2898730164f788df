"""`forensics knowledge`: rows that a user brings, tried before they are used."""

import click

from forensics.cli.answering import OUTPUT, AskedGroup, in_lines, put, ready
from forensics.cli.reading import texts_of


@click.group(
    cls=AskedGroup,
    examples=("forensics knowledge check mylib.toml", "forensics analyze bundle/ --knowledge mylib.toml"),
)
def knowledge() -> None:
    """Messages that you teach: rows of a file, as docs/knowledge.md tells them."""


@knowledge.command("check", examples=("forensics knowledge check mylib.toml",))
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@OUTPUT
@click.pass_context
def check(context: click.Context, files: tuple[str, ...], output: str) -> None:
    """Say of each row of FILE what it makes of its example; exit 10 where one does not understand it.

    A row that now answers for shipped ones is told: it is asked before them.
    """
    from parsers import taught

    ready(output, *files)
    rows, lines = taught.check(texts_of(files)), list[str]()
    for row in rows:
        lines.append(f"{'wrong' if row.faults else 'ok':5}  {row.name}: {'; '.join(row.faults) or row.says}")
        lines += [f"       answers in place of {other}" for other in row.before]
    wrong = sum(bool(row.faults) for row in rows)
    put(in_lines([*lines, f"{len(rows)} row{'' if len(rows) == 1 else 's'}, {wrong} wrong"]), output)
    context.exit(10 if wrong else 0)
