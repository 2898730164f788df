"""What every command does first: read the bundle, with a bar while a person looks at it."""

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from forensics.case import Case
    from forensics.model.expected import Expected
    from forensics.model.steps import Step
    from forensics.model.tolerances import Tolerances
    from forensics.report import Report
    from parsers import Evidence, Limits
    from parsers.engine.ledger import Map
    from parsers.schema.parser import Parser
    from parsers.taught import Texts

_Made = TypeVar("_Made")
EXIT_UNREADABLE = 3
HISTORY = "FORENSICS_HISTORY"  # the environment's word for the file of a history
BUNDLE_HELP = (
    "BUNDLE is a folder, .tar, .tar.gz, .tar.zst, .zip, one file, - for a tar on standard input, a URL such as s3://…, or what "
    "`parse` kept."
)

LIMIT = click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=N",
    help="What the bundle may cost: unfolded, tables (bytes, as 64G), ratio, growth, members, nesting, seconds; may be repeated.",
)
TOLERANCE = click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="NAME=SHARE",
    help="How far figures may differ by design: loss (built in: 50%), replicas (0); may be repeated.",
)
EXPECT = click.option(
    "--expect",
    "expectations",
    multiple=True,
    metavar="NAME=N",
    help="What a step should reach: step (seconds), tflops, rate, as the log prints them; may be repeated.",
)
ENGINE = click.option(
    "--engine",
    metavar="dask://HOST:PORT",
    help="Read on the workers of a Dask cluster that see the bundle at the same path or URL.",
)
KNOWLEDGE = click.option(
    "--knowledge",
    "taught",
    multiple=True,
    metavar="FILE",
    help="Rows of your own, asked before those that are shipped (docs/knowledge.md); may be repeated.",
)


def _language(_: click.Context, __: click.Parameter, name: str | None) -> str:
    from reports.language import of_environment

    return name or of_environment(os.environ)


LANGUAGE = click.option(
    "--lang", "language", type=click.Choice(["en", "zh"]), callback=_language, help="Language; else as LANG says."
)


@contextmanager
def loading() -> Iterator[None]:
    """Around imports: modules make no garbage, and looking for it is a tenth of what it costs to begin."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Unreadable(click.ClickException):
    """Nothing readable in the bundle."""

    exit_code = EXIT_UNREADABLE


_STEPS = {  # of the analysis, as people are told
    "attempts": "telling attempts apart",
    "facts": "gathering facts",
    "detectors": "looking for faults",
    "verdict": "weighing explanations",
    "outputs": "writing",
}
_EVERY_S = 10.0  # between two lines where nobody looks at a terminal


def _is_quiet() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get("quiet"))


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while a person looks at it, else a line now and then; nothing where quiet was asked for."""
    if _is_quiet():
        yield None
        return
    if not sys.stderr.isatty():
        yield Lines("reading", lambda line: click.echo(line, err=True))
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class Lines:
    """Progress for a log file: at most a line each ten seconds, so that a short run prints none."""

    def __init__(self, step: str, say: Callable[[str], object], now: Callable[[], float] = time.monotonic) -> None:
        self._step, self._say, self._now = step, say, now
        self._began = self._said = now()

    def __call__(self, done: int, total: int) -> None:
        now = self._now()
        if now - self._said < _EVERY_S:
            return
        from reports.layout import duration, size

        self._said = now
        rate = done / (now - self._began)
        left = f", {duration((total - done) / rate)} left" if rate and total >= done else ""
        share = f", {100 * done / total:.0f}%" if total else ""
        self._say(f"{self._step}: {size(done)} of {size(total)}{share}, {size(int(rate))}/s{left}")


class Told:
    """A Step of which people are told that it runs, and how far it has come: on a terminal as long as it does, else a line each
    ten seconds."""

    def __init__(self, step: "Step") -> None:
        self._step = step
        self._name = self._far = ""
        self._shown: Callable[[str], object] = lambda _: None  # what a terminal shows of it

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self._name, self._far = _STEPS.get(name, name), ""
        with self._step(name), self._telling():
            yield

    def counted(self, done: int, total: int) -> None:
        """So much of the step that runs is done."""
        self._far = f", {done:,} of {total:,}"
        self._shown(self._name + self._far)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        if _is_quiet():
            yield
            return
        if sys.stderr.isatty():
            from rich.console import Console

            with Console(stderr=True).status(self._name) as status:
                self._shown = status.update
                yield
            self._shown = lambda _: None
            return
        done = threading.Event()
        began = time.monotonic()

        def tell() -> None:
            while not done.wait(_EVERY_S):
                click.echo(f"{self._name}{self._far}: {time.monotonic() - began:.0f} s so far", err=True)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join()


def read_bundle(
    *bundles: str,
    limits: tuple[str, ...] = (),
    engine: str | None = None,
    year: int | None = None,
    taught: tuple[str, ...] = (),
) -> "Evidence":
    """Evidence of the bundle, or of several as one; raises Unreadable, or click's error for an option that is none."""
    with loading():
        from parsers import BundleError, is_kept, joined, read

        if not all(map(is_kept, bundles)):
            import parsers.registry  # noqa: F401  (all that `read` imports)

    bounds, workers, own = limits_of(limits), _workers(engine), _parsers(taught)
    with _progress() as progress:
        try:
            each = partial(read, parsers=own, progress=progress, limits=bounds, map=workers, year=year)
            return joined([each(bundle) for bundle in bundles])
        except BundleError as error:
            raise Unreadable(str(error)) from error


def texts_of(files: tuple[str, ...]) -> "Texts":
    """What was given as knowledge."""
    from parsers.taught import texts_of

    try:
        return texts_of(files)
    except ValueError as error:
        raise click.UsageError(f"no knowledge: {error}") from error


def _parsers(taught: tuple[str, ...]) -> "Sequence[Parser] | None":
    """All parsers, with a user's rows, which this process asks from now on, too; None: as they are shipped."""
    if not taught:
        return None
    from parsers import knowledge
    from parsers.taught import parsers_with

    texts = texts_of(taught)
    knowledge.learn(texts)
    return parsers_with(texts)


def _workers(engine: str | None) -> "Map":
    """Who reads: processes of this machine, or what --engine names."""
    if engine is None:
        from parsers.engine.sharing import by_size

        return by_size
    from parsers.engine.dask_engine import on_dask

    try:
        return on_dask(engine)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--engine") from error


def _made(make: Callable[[dict[str, str]], _Made], given: tuple[str, ...], option: str) -> _Made:
    """What NAME=VALUE texts of an option make."""
    try:
        return make({name: value for name, _, value in (one.partition("=") for one in given)})
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=option) from error


def limits_of(limits: tuple[str, ...]) -> "Limits":
    """What was asked for by --limit."""
    from parsers import Limits

    return _made(Limits.of, limits, "--limit")


def tolerances_of(tolerances: tuple[str, ...]) -> "Tolerances":
    """What was asked for by --tolerance."""
    from forensics.model.tolerances import Tolerances

    return _made(Tolerances.of, tolerances, "--tolerance")


def expected_of(expectations: tuple[str, ...]) -> "Expected":
    """What was asked for by --expect."""
    from forensics.model.expected import Expected

    return _made(Expected.of, expectations, "--expect")


def report_of(bundle: str) -> "Report":
    """The whole report."""
    with loading():
        from forensics.analyze import conclude_evidence

    return conclude_evidence(read_bundle(bundle))


def cases_of(evidence: "Evidence") -> "list[Case]":
    """A case per attempt."""
    with loading():
        from forensics.assemble.runs.attempts import split_attempts
        from forensics.case_of import case_of

    return [case_of(tables, attempt) for attempt, tables in split_attempts(evidence.tables).items()]
