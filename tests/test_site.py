"""The documentation site: pages that are made from the code, and the commands and code that pages show."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner

from docs.site_pages import ELSEWHERE, pages
from forensics import analyze
from forensics.cli import cli
from forensics.model.names import Cause, Reason, Status
from forensics.setup.rows import settings
from parsers.schema.tables import SCHEMAS
from samples import terminal

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "docs" / "site"
WRITTEN = sorted(SITE.rglob("*.md"))
MADE = dict(pages())
COMMANDS = sorted(
    {
        (path.name, command)
        for path in WRITTEN
        for command in re.findall(r"^\$ forensics (.+)$", path.read_text(encoding="utf-8"), re.M)
    }
)
BEFORE = sorted(set(re.findall(r"^    forensics (setup.*?)(?:   .*)?$", MADE["before.md"], re.M)))
SCRIPTS = [
    (path.name, script)
    for path in WRITTEN
    for script in re.findall(r"```bash\n(#!.+?)```", path.read_text(encoding="utf-8"), re.S)
]
_LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)#]+?\.(?:md|html))(?:#[^)]*)?\)")


def test_every_cause_and_word_has_its_page_in_both_languages() -> None:
    assert {f"causes/{cause}.md" for cause in get_args(Cause)} <= MADE.keys()
    assert {f"words/{word}.md" for word in (*get_args(Status), *get_args(Reason))} <= MADE.keys()
    for words, causes in ((MADE["words.md"], MADE["causes/index.md"]), (MADE["zh/words.md"], MADE["zh/causes.md"])):
        assert [word for word in (*get_args(Status), *get_args(Reason)) if f"`{word}`" not in words] == []
        assert [cause for cause in get_args(Cause) if f"[{cause}]" not in causes] == []


def test_tables_parsers_and_commands_have_pages() -> None:
    assert {f"tables/{name}.md" for name in SCHEMAS} <= MADE.keys()
    assert "Printed by:" in MADE["parsers/pytorch/flight_recorder.md"]
    assert "## analyze" in MADE["commands.md"]


def test_every_setting_has_its_place_by_launcher_and_vendor() -> None:
    table = settings()
    assert [row.name for row in table.row if f"`{row.name}`" not in MADE["setup/index.md"]] == []
    assert {f"setup/{side.name}.md" for side in (*table.launcher, *table.vendor)} <= MADE.keys()
    for row in table.row:
        assert [
            name for name in (*row.launchers, *row.vendors) if f"`{row.name}`" not in MADE[f"setup/{name}.md"]
        ] == []
    assert "export TORCH_NCCL_DUMP_ON_TIMEOUT" in MADE["setup/torchrun.md"]


def test_the_notebook_is_shown_with_its_answers_and_drawings() -> None:
    assert "is stuck in data loading" in MADE["notebook.md"] and MADE["notebook.md"].count("<svg") == 2


def test_the_first_ten_pages_are_there_in_chinese() -> None:
    pages = [
        *(f"zh/{path.name}" for path in (SITE / "zh").glob("*.md")),
        *(page for page in MADE if page.startswith("zh/")),
    ]
    assert len(pages) >= 10
    assert {"zh/index.md", "zh/start.md", "zh/before.md", "zh/verdict.md", "zh/faq.md", "zh/causes.md"} <= set(pages)


@pytest.mark.parametrize("name", [*MADE, *(str(path.relative_to(SITE)) for path in WRITTEN)])
def test_links_lead_to_pages(name: str) -> None:
    text = MADE.get(name) or (SITE / name).read_text(encoding="utf-8")
    there = {*MADE, *(str(path.relative_to(SITE)) for path in WRITTEN), "sample.html"}
    found = [
        (SITE / name).parent.joinpath(link).resolve().relative_to(SITE)
        for link in _LINK.findall(text)
        if "://" not in link
    ]
    assert [str(link) for link in found if str(link) not in there] == []


def test_the_menu_holds_every_written_page() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()
    setup = {page for page in MADE if page.startswith("setup/")}
    listed = {*(str(path.relative_to(SITE)) for path in WRITTEN), *ELSEWHERE, *setup, "notebook.md"}
    assert [page for page in sorted(listed) if page not in menu] == []


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page} {command}"[:60] for page, command in COMMANDS])
def test_commands_of_the_pages_run(page: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundle").symlink_to(ROOT / "samples" / "data_loader_stall" / "bundle")
    done = CliRunner().invoke(cli, shlex.split(command))
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("command", BEFORE)
def test_commands_of_before_the_incident_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bundle").symlink_to(ROOT / "samples" / "data_loader_stall" / "bundle")
    (tmp_path / "job.sbatch").write_text("#SBATCH -N 2\nsrun python train.py\n")
    done = CliRunner().invoke(cli, shlex.split(command.partition(" > ")[0]))
    assert done.exit_code == 0 and done.output.strip(), done.output


@pytest.mark.parametrize(("page", "script"), SCRIPTS)
def test_scripts_of_the_pages_run(page: str, script: str, tmp_path: Path) -> None:
    """With the logs of a job that has ended as their first argument."""
    logs = tmp_path / "logs"
    shutil.copytree(ROOT / "samples" / "rank_killed" / "bundle", logs)
    (logs / ".ended").touch()
    (tmp_path / "script.sh").write_text(script)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = [script.splitlines()[0].removeprefix("#!"), "script.sh", str(logs), str(tmp_path)]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, check=True, timeout=120)
    assert [name for name in ("incident.json", "logs.json") if (tmp_path / name).is_file()], page
    if checker := shutil.which("shellcheck", path=path):
        assert subprocess.run([checker, tmp_path / "script.sh"], capture_output=True, text=True).stdout == ""


def test_the_readme_shows_what_the_terminal_prints() -> None:
    assert terminal.PICTURE.read_text(encoding="utf-8") == terminal.drawn(), "`make terminal`"
    assert "(docs/img/terminal.svg)" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.md")), ids=lambda path: path.stem)
def test_an_issue_asks_for_nothing_that_is_not_redacted(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("---\nname: ") and "forensics redact BUNDLE --out shareable.tar.zst" in text
    assert [word for word in re.findall(r"`forensics (?:-q )?(\w+)", text) if word not in cli.commands] == []


def test_the_first_page_shows_what_is_printed(tmp_path: Path) -> None:
    shown = re.search(r"```console\n\$ forensics analyze bundle/\n(.+?)```", (SITE / "index.md").read_text(), re.S)
    bundle = tmp_path / "bundle"
    bundle.symlink_to(ROOT / "samples" / "data_loader_stall" / "bundle")
    printed = CliRunner().invoke(cli, ["analyze", str(bundle)]).output
    assert shown is not None
    assert printed.startswith(shown[1])


def test_the_script_for_a_hook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    analyze(ROOT / "samples" / "data_loader_stall" / "bundle").save("incident.json")
    code = "\n\n".join(re.findall(r"```python\n(.+?)```", (SITE / "automation.md").read_text(), re.S))
    there: dict[str, Any] = {}
    exec(compile(code, "automation.md", "exec"), there)
    assert capsys.readouterr().out.startswith("hang (established): ")
    assert there["event"]("key")["payload"]["severity"] == "critical"
