"""The pages of the site that are made from the code: causes, words of a verdict, parsers, tables, commands, settings by launcher and vendor;
and those that stand elsewhere in the repository. Run by mkdocs (plugin gen-files); `pages()` is tested without it.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args

import click

from forensics import analyze
from forensics.cli import cli
from forensics.model.causes import CAUSES
from forensics.model.names import Kind
from forensics.model.said import zh
from forensics.setup.rows import Row, Side, gather_script, rows_for, settings
from forensics.setup.script import printed
from parsers.registry import PARSERS
from parsers.schema.tables import SCHEMAS
from reports import html
from reports.meanings import REASONS, STATUSES
from reports.words import KIND, REASON, STATUS

ROOT = Path(__file__).resolve().parent.parent
# Page → file that is it; links to files that are no page are left out.
ELSEWHERE = {
    "before.md": "docs/before_the_incident.md",
    "tasks.md": "docs/tasks.md",
    "agents.md": "docs/agents.md",
    "probe.md": "docs/probe.md",
    "knowledge.md": "docs/knowledge.md",
    "contributing.md": "CONTRIBUTING.md",
    "results.md": "benchmarks/RESULTS.md",
}
IMAGES = ("terminal.svg", "incident-first-screen.png", "incident-timeline-graph.png")
SAMPLE = "data_loader_stall"  # the page to click through
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]*)\)")
_RETURNS = {
    "again": "the next start meets it again: change the code or the settings first",
    "changed": "first what it lacked must be larger",
    "over": "it is done: restart",
    "may": "nothing shows whether it comes back",
    "lasts": "it stays as slow; replace it when the job stops anyway",
    None: "not told of this cause",
}


def pages() -> Iterator[tuple[str, str]]:
    """(path of the page, its Markdown), in a fixed order."""
    for page, file in ELSEWHERE.items():
        text = _elsewhere(file)
        yield page, f"{text}\n{_by_whom('setup/')}" if page == "before.md" else text
    yield "notebook.md", _notebook()
    yield from _setup()
    yield "causes/index.md", _causes()
    for name, row in CAUSES.items():
        yield f"causes/{name}.md", _cause(name, row.kinds)
    yield from _words()
    yield from _parsers()
    yield from _tables()
    yield "commands.md", _commands()
    yield "zh/causes.md", _causes_zh()
    yield "zh/words.md", _words_zh()


def _elsewhere(file: str) -> str:
    """A file of the repository with links to the pages of the site that other files are."""
    place = {Path(other).name: page for page, other in ELSEWHERE.items()}

    def linked(link: re.Match[str]) -> str:
        page = place.get(Path(link[2].partition("#")[0]).name)
        return f"[{link[1]}]({page})" if page else link[1]

    return _LINK.sub(linked, (ROOT / file).read_text(encoding="utf-8"))


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _causes() -> str:
    parts = [
        "# Causes\n",
        "What a verdict may say, by kind of incident. Each has a page: what it means, what looks alike, what to do.\n",
    ]
    for kind in get_args(Kind):
        own = [(name, row) for name, row in CAUSES.items() if row.kinds[0] == kind]
        if own:
            rows = ((f"[{name}]({name}.md)", str(row.title)) for name, row in own)
            parts.append(f"## {KIND[kind].capitalize()}\n\n{_table(('cause', 'in words'), rows)}")
    return "\n".join(parts)


def _cause(name: str, kinds: tuple[Kind, ...]) -> str:
    row = CAUSES[name]  # type: ignore[index]
    leads = ", ".join(f"[{other}]({other}.md)" for other in row.leads_to) or "nothing else"
    facts = iter((
        ("kind of incident", ", ".join(kinds)),
        ("it is of a", row.holds),
        ("brings about", leads),
        ("after a restart", _RETURNS[row.returns]),
        ("domain", row.domain),
    ))  # fmt: skip
    return (
        f"# {name}\n\n**{str(row.title).capitalize()}.** {row.means}\n\n**A record of it:**\n\n```text\n{row.example}\n```\n\n"
        f"**What looks alike:** {row.alike}\n\n**What to do:** {row.do}\n\n{_table(('', ''), facts)}\n"
        f"In Chinese: {zh(row.title)}。{zh(row.means)}{zh(row.do)}\n\n"
        f"The same in a terminal: `forensics explain {name}`.\n"
    )


def _notebook() -> str:
    """The notebook's texts, code and what its cells show."""
    parts = []
    for cell in json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [shown for output in cell.get("outputs", ()) if (shown := _shown(output))]
    return "\n\n".join(parts) + "\n"


def _shown(output: dict[str, Any]) -> str:
    """A drawing as it is, everything else as text."""
    data = output.get("data", {})
    if drawing := "".join(data.get("image/svg+xml", ())):
        return "<div>" + "".join(drawing.splitlines()) + "</div>"
    text = "".join(output.get("text") or data.get("text/plain") or ())
    return f"```text\n{text.rstrip()}\n```" if text else ""


# --- before the incident ----------------------------------------------------------------------------------------------


def _setup() -> Iterator[tuple[str, str]]:
    """The table of settings: as a whole, by launcher, by vendor, and the script that gathers."""
    yield "setup/index.md", _setup_index()
    for side in settings().launcher:
        yield f"setup/{side.name}.md", _launcher(side)
    for side in settings().vendor:
        yield f"setup/{side.name}.md", _vendor(side)
    yield (
        "setup/gather.md",
        (
            "# gather.sh\n\nWhat `forensics setup --gather` prints: to read, and to run on each node while a job hangs "
            f"([how](../before.md)).\n\n```sh\n{gather_script()}```\n"
        ),
    )


def _by_whom(folder: str) -> str:
    """Links to the pages of launchers and vendors."""

    def links(sides: Iterable[Side]) -> str:
        return ", ".join(f"[{side.what}]({folder}{side.name}.md)" for side in sides)

    return (
        f"## By launcher and vendor\n\n- Launchers: {links(settings().launcher)}\n- Vendors: {links(settings().vendor)}\n"
        f"- [All settings by kind of evidence]({folder}index.md), [gather.sh]({folder}gather.md)\n"
    )


def _setup_index() -> str:
    kinds = (
        (f"`{kind.name}`", kind.what, ", ".join(f"`{row.name}`" for row in settings().row if kind.name in row.evidence))
        for kind in settings().evidence
    )
    questions = (
        (
            question.asks,
            ", or ".join(" and ".join(sorted(need)) for need in question.needs),
            ", ".join(f"[{cause}](../causes/{cause}.md)" for cause in question.causes),
        )
        for question in settings().question
    )
    return (
        "# What makes an incident decidable\n\n"
        "Made from the table that `forensics setup` prints from. `forensics setup NAME` prints a kind of evidence or a setting in "
        f"full.\n\n{_by_whom('')}\n"
        f"## Kinds of evidence\n\n{_table(('kind', 'what it is', 'settings that leave it'), kinds)}\n"
        f"## What cannot be decided without them\n\n{_table(('question', 'needs', 'causes'), questions)}\n"
        f"## All settings\n\n{_rows(settings().row)}"
    )


def _rows(rows: Iterable[Row]) -> str:
    told = (
        (f"`{row.name}`", row.what, row.why, row.cost, row.since, row.source, ", ".join(row.evidence)) for row in rows
    )
    return _table(("setting", "what", "why", "cost", "since", "source", "leaves"), told)


def _launcher(side: Side) -> str:
    rows = rows_for(side.name, None)
    own = [row for row in rows if row.launchers]
    form = "yaml" if side.name == "kubernetes" else "bash"
    others = "\n".join(
        f"    forensics setup {side.name} --vendor {vendor.name}    # {vendor.what}"
        for vendor in settings().vendor
        if vendor.name != "nvidia"
    )
    return (
        f"# {side.what}\n\nSettings and hooks that make an incident decidable. `forensics setup {side.name}` prints the "
        f"script below; for other devices:\n\n{others}\n\n"
        f"## For this launcher alone\n\n{_rows(own)}\n"
        f"## With every launcher\n\n{_rows(row for row in rows if not row.launchers and not row.vendors)}\n"
        f"## What is printed (NVIDIA)\n\n```{form}\n{printed(side.name, 'nvidia')}```\n\n"
        f"Checked the other way round, `forensics setup --check` says what a script of your own lacks: [before the incident](../before.md).\n"
    )


def _vendor(side: Side) -> str:
    rows = rows_for(None, side.name)
    variables = (
        (f"`{name}`", f"`{value}`", f"`{row.name}`") for row in rows if row.vendors for name, value in row.env.items()
    )
    launchers = "\n".join(
        f"    forensics setup {launcher.name} --vendor {side.name} > launch.{'yaml' if launcher.name == 'kubernetes' else 'sh'}"
        for launcher in settings().launcher
    )
    return (
        f"# {side.what}\n\nWhat to save of a job on these devices. With its launcher, as a script to read and paste:\n\n{launchers}\n\n"
        f"## For these devices\n\n{_rows(row for row in rows if row.vendors)}\n"
        f"## Their variables\n\n{_table(('variable', 'value', 'setting'), variables)}\n"
        f"## On all devices\n\n{_rows(row for row in rows if not row.vendors and not row.launchers)}"
    )


# --- words, parsers, tables --------------------------------------------------------------------------------------------


def _words() -> Iterator[tuple[str, str]]:
    parts = ["# Words of a verdict\n"]
    for title, words, meanings in (
        ("Status: how sure it is", STATUS, STATUSES),
        ("Reasons why something is undecided", REASON, REASONS),
    ):
        rows = (
            (f"[`{name}`](words/{name}.md)", str(words[name]), str(meaning.means), str(meaning.do))
            for name, meaning in meanings.items()
        )
        parts.append(f"## {title}\n\n{_table(('word', 'in reports', 'means', 'what helps'), rows)}")
        for name, meaning in meanings.items():
            yield (
                f"words/{name}.md",
                (
                    f"# {name}\n\n{title}: **{words[name]}**. {meaning.means}\n\n**What looks alike:** {meaning.alike}\n\n"
                    f"**What helps:** {meaning.do}\n\nIn Chinese: {zh(meaning.means)}{zh(meaning.do)}\n\n"
                    f"The same in a terminal: `forensics explain {name}`. [All words](../words.md).\n"
                ),
            )
    yield "words.md", "\n".join(parts)


def _causes_zh() -> str:
    rows = (
        (f"[{name}](../causes/{name}.md)", zh(row.title), zh(row.means), zh(row.do)) for name, row in CAUSES.items()
    )
    return f"# 原因\n\n{_table(('原因', '名称', '含义', '处理'), rows)}"


def _words_zh() -> str:
    statuses = ((f"`{name}`", zh(meaning.means), zh(meaning.do)) for name, meaning in STATUSES.items())
    reasons = ((f"`{name}`", zh(meaning.means), zh(meaning.do)) for name, meaning in REASONS.items())
    head = ("词", "含义", "处理")
    return f"# 结论用词\n\n## 可信程度\n\n{_table(head, statuses)}\n## 无法判定的理由\n\n{_table(head, reasons)}"


def _parsers() -> Iterator[tuple[str, str]]:
    rooms: dict[str, dict[str, str]] = {}
    for parser in PARSERS:
        module = import_module(_module_of(parser))
        _, room, *rest = module.__name__.split(".")
        text = dedent(inspect.getdoc(module) or "").strip()
        if rest:
            rooms.setdefault(room, {})[".".join(rest)] = text
    parts = [
        "# Parsers\n",
        "Every reader of a format: what it reads, who prints it, in which versions, and where the format is from.\n",
    ]
    for room, modules in sorted(rooms.items()):
        rows = (
            (f"[{name}](parsers/{room}/{name}.md)", text.partition("\n\n")[0].replace("\n", " "))
            for name, text in sorted(modules.items())
        )
        parts.append(f"## {room}\n\n{_table(('parser', 'reads'), rows)}")
        for name, text in sorted(modules.items()):
            yield (
                f"parsers/{room}/{name}.md",
                f"# {room}: {name}\n\n```text\n{text}\n```\n\n[All parsers](../../parsers.md)\n",
            )
    yield "parsers.md", "\n".join(parts)


def _module_of(parser: object) -> str:
    """The module that the parser is a value of."""
    made = (
        module for name, module in sorted(sys.modules.items()) if name.startswith("parsers.") and name.count(".") > 1
    )
    return next(module.__name__ for module in made if any(value is parser for value in vars(module).values()))


def _tables() -> Iterator[tuple[str, str]]:
    rows = (
        (f"[{name}](tables/{name}.md)", ", ".join(f"`{column}`" for column in schema))
        for name, schema in SCHEMAS.items()
    )
    yield (
        "tables.md",
        (
            "# Evidence tables\n\nWhat parsers make of a bundle, as `report.tables` in a notebook, `forensics parse`, and `forensics events` "
            f"show it. Null means not observed; every row says its file and line.\n\n{_table(('table', 'columns'), rows)}"
        ),
    )
    for name, schema in SCHEMAS.items():
        columns = ((f"`{column}`", f"`{dtype}`") for column, dtype in schema.items())
        yield f"tables/{name}.md", f"# {name}\n\n{_table(('column', 'type'), columns)}\n[All tables](../tables.md)\n"


def _commands() -> str:
    parts = ["# Commands\n", "As `forensics COMMAND --help` prints it.\n"]
    whole = click.Context(cli, info_name="forensics", max_content_width=100)
    for name in sorted(cli.list_commands(whole)):
        if (command := cli.get_command(whole, name)) is not None:
            with click.Context(command, parent=whole, info_name=name, max_content_width=100) as context:
                parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


if __name__ == "<run_path>":  # as mkdocs runs it
    import mkdocs_gen_files

    for path, text in pages():
        with mkdocs_gen_files.open(path, "w") as page:
            page.write(text)
    for name in IMAGES:
        with mkdocs_gen_files.open(name, "wb") as image:
            image.write((ROOT / "docs" / "img" / name).read_bytes())
    with mkdocs_gen_files.open("sample.html", "w") as page:
        page.write(html.render(analyze(ROOT / "samples" / SAMPLE / "bundle")))
