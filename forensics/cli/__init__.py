"""The command line, as the contract has it. Only this package and __main__ print, exit or read the environment.

Imports are made where they are used: `forensics --help` must not pay for polars and networkx.
"""

import os
import signal
import sys
from collections.abc import Mapping
from importlib import import_module
from io import StringIO
from typing import NoReturn

import click

# Memory that tables gave back goes back to the system soon: held for half a second, as polars has it, the peak is higher;
# given back at once, a third of the processor's time may go into getting it again. polars reads it when it is first imported,
# and leaves its own wishes there for processes that are started then: the last one counts.
os.environ["_RJEM_MALLOC_CONF"] = (
    f"{os.environ.get('_RJEM_MALLOC_CONF', '')},dirty_decay_ms:25,muzzy_decay_ms:0,narenas:2".removeprefix(",")
)

from forensics import __version__
from forensics.cli.answering import AskedGroup
from forensics.cli.reading import BUNDLE_HELP
from reports import outputs

EXIT_INTERNAL, EXIT_INTERRUPTED, EXIT_TERMINATED = 1, 130, 143

# The commands, by what a person wants, and the module of each.
_TASKS: Mapping[str, Mapping[str, str]] = {
    "Before the incident": {"setup": "setup"},
    "What happened": {"analyze": "analysis", "explain": "questions", "diff": "questions"},
    "Over months": {"history": "history"},
    "Look closer": {
        "show": "questions",
        "events": "questions",
        "groups": "standing",
        "stacks": "standing",
        "who": "standing",
        "unread": "standing",
        "inspect": "analysis",
        "parse": "keeping",
    },
    "Hand on": {"redact": "redaction", "schema": "analysis", "mcp": "serving", "knowledge": "teaching"},
}
_HOMES = {name: home for homes in _TASKS.values() for name, home in homes.items()}


class _Grouped(AskedGroup):
    """A command is loaded when it is asked for; help lists them by task."""

    def list_commands(self, _: click.Context) -> list[str]:
        return sorted(_HOMES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _HOMES:
            for known in _HOMES:  # so that click can say which was meant
                self.get_command(context, known)
        elif name not in self.commands:
            self.add_command(getattr(import_module(f"forensics.cli.{_HOMES[name]}"), name))
        return self.commands.get(name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for task, names in _TASKS.items():
            found = [(name, command) for name in names if (command := self.get_command(context, name))]
            with formatter.section(task):
                formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in found])


@click.group(
    cls=_Grouped,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=(
        "forensics analyze bundle/ -o incident.html",
        "forensics show rank 5 bundle/ --last 20",
        "forensics explain rank_absent",
    ),
    epilog=BUNDLE_HELP + " Tasks step by step: docs/tasks.md; for agents: docs/agents.md. Completion of bash: "
    'eval "$(_FORENSICS_COMPLETE=bash_source forensics)"; zsh and fish alike.',
)
@click.version_option(__version__, "-V", "--version", prog_name="forensics")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no list of files written.")
@click.option(
    "-v", "--verbose", is_flag=True, help="The whole answer of `analyze`, and a traceback with every internal error."
)
def cli(quiet: bool, verbose: bool) -> None:
    """Offline postmortem of hangs and NaNs of large training jobs: which rank, which operation, and the proof."""


def main() -> NoReturn:
    """Entry point: click's own errors exit with 2, an unreadable bundle with 3, an interrupt with 130."""
    outputs.reopen_closed()
    outputs.write_plainly()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(EXIT_TERMINATED))  # so that temporary files are taken away
    try:
        status = _run()
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        status = EXIT_INTERRUPTED
    sys.exit(status)


def _run() -> int:
    try:
        status = cli.main(standalone_mode=False)  # what was given to context.exit, else None
        sys.stdout.flush()
        return int(status or 0)
    except SystemExit as leave:
        if leave.code == EXIT_TERMINATED:
            raise
        outputs.silence()  # it is click's answer to a closed pipe
        return 0
    except click.ClickException as error:
        said = StringIO()
        error.show(said)
        click.echo(_shown(said.getvalue()), err=True, nl=False)
        return error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        outputs.silence()
        return 0
    except outputs.CannotWrite as error:
        click.echo(f"Error: {_shown(str(error))}", err=True)
    except OSError as error:
        if error.filename is not None:
            raise
        outputs.silence()
        click.echo(f"Error: cannot write to standard output: {error.strerror or error}", err=True)
    except BaseException as error:
        # An error of the program; a panic of polars is one, though none by its class.
        is_defect = isinstance(error, Exception) or type(error).__name__ == "PanicException"
        if not is_defect or {"-v", "--verbose"} & set(sys.argv[1:2]):
            raise
        what = f"{type(error).__name__}: {_shown(str(error).partition(chr(10))[0])}"
        click.echo(f"Error: internal error, {what} (forensics -v … shows where)", err=True)
    return EXIT_INTERNAL


def _shown(text: str) -> str:
    """What an error quotes, names of files above all, without what acts on a terminal."""
    from reports.sanitize import clean

    return clean(text, "keep")
