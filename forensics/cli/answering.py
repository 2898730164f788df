"""How commands look and where their answers go: options in groups, an example a line, and `-o FILE` for every one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from reports import outputs

_OTHERS = "Options"


class _Asked:
    """A command or group with `examples`, command lines that work; `groups`: heading → names of its parameters."""

    examples: Sequence[str]
    groups: Mapping[str, Sequence[str]]

    def __init__(
        self, *given: Any, examples: Sequence[str] = (), groups: Mapping[str, Sequence[str]] | None = None, **named: Any
    ) -> None:
        super().__init__(*given, **named)
        self.examples, self.groups = examples, groups or {}

    def options_in_groups(self, command: click.Command, context: click.Context, formatter: click.HelpFormatter) -> None:
        """What stands in no group comes last, --help among it."""
        heading = {name: title for title, names in self.groups.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {title: [] for title in (*self.groups, _OTHERS)}
        for option in command.get_params(context):
            if isinstance(option, click.Option) and (row := option.get_help_record(context)):
                rows[heading.get(option.name or "", _OTHERS)].append(row)
        for title, told in rows.items():
            if told:
                with formatter.section(title):
                    formatter.write_dl(told)

    def examples_below(self, formatter: click.HelpFormatter) -> None:
        """Never broken: a line is there to be pasted."""
        if self.examples:
            with formatter.section("Examples" if len(self.examples) > 1 else "Example"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


class Asked(_Asked, click.Command):
    """A command of this program."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.options_in_groups(self, context, formatter)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.examples_below(formatter)
        super().format_epilog(context, formatter)


class AskedGroup(_Asked, click.Group):
    """A command with commands of its own."""

    command_class = Asked

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.options_in_groups(self, context, formatter)
        self.format_commands(context, formatter)

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        self.examples_below(formatter)
        super().format_epilog(context, formatter)


OUTPUT = click.option(
    "-o", "--output", metavar="FILE", default=outputs.STANDARD, help="Write to FILE, not to standard output."
)


def ready(output: str, *bundles: str) -> None:
    """Before hours of work: raises click's error where FILE cannot be written, or lies in what is read."""
    files = [output] if output != outputs.STANDARD else []
    for bundle in bundles:
        if refused := outputs.refusal(bundle, files):
            raise click.UsageError(refused)
    outputs.check(files)


def put(text: str, output: str) -> None:
    """The answer, with its line end, to where it was wanted."""
    if output == outputs.STANDARD:
        click.echo(text, nl=False)
    else:
        outputs.write(output, text.encode())


def in_lines(lines: Iterable[str]) -> str:
    """Lines as one text; none for nothing."""
    return "".join(f"{line}\n" for line in lines)
