"""`forensics mcp`: a client over standard input and output solves six tasks; nothing leads out of the folder; answers are bounded."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from forensics.cli import answers, cli
from forensics.cli.answers import Answers
from forensics.model.errors import NoSuch

ROOT = Path(__file__).resolve().parent.parent
STALL, KILLED = "data_loader_stall/bundle", "rank_killed/bundle"
Ask = Callable[..., Awaitable[str]]


def solve(task: Callable[[Ask], Awaitable[None]], folder: Path = ROOT / "samples") -> None:
    """Runs the task with a client of its own; `ask(tool, **arguments)` gives the text, AssertionError where it is an error."""
    mcp = pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "forensics", "mcp", str(folder)], cwd=str(ROOT), env={**os.environ}
    )

    async def main() -> None:
        async with mcp.Client(mcp.stdio_client(server)) as client:

            async def ask(tool: str, **arguments: Any) -> str:
                told = await client.call_tool(tool, arguments)
                assert not told.is_error, told.content[0].text
                return str(told.content[0].text)

            await task(ask)

    anyio.run(main)


def test_six_tasks() -> None:
    async def task(ask: Ask) -> None:
        # 1. Who is at fault? What is named stands in the evidence's own lines.
        verdict = json.loads(await ask("analyze", bundle=STALL))
        assert (verdict["cause"], verdict["who"]["ranks"]) == ("rank_absent", "5")
        [stack] = [one for one in verdict["evidence"] if one.get("at") == "stacks/pyspy_rank_5.json:1"]
        assert "DataLoaderIter" in await ask("evidence", bundle=STALL, claim=stack["id"])
        # 2. Why not rank 3?
        assert "Rank 3 is not named" in await ask("explain", what="3", bundle=STALL)
        # 3. Follow the chain: who is behind in the group that the others wait in?
        [row] = [line for line in (await ask("groups", bundle=STALL)).splitlines() if "behind" in line]
        assert row.split()[0] == "default_pg" and " 5 " in row
        # 4. What was the last thing that it did, and where does that stand?
        *_, last = (await ask("show", kind="rank", name="5", bundle=STALL, last=3)).splitlines()
        assert "agent.log:3" in last and "closing signal" in last
        # 5. Another bundle: what does the launcher itself say of the killed rank?
        found = await ask("search", text="sigkill", bundle=KILLED, files="agent", context=1)
        assert "agent.log:50:  exitcode  : -9 (pid: 2649)  (SIGKILL)" in found and "agent.log-49-" in found
        # 6. A healthy one: is there anything that nobody has read?
        assert json.loads(await ask("analyze", bundle="healthy_dp/bundle"))["kind"] == "healthy"
        assert "init done" in await ask("unread", bundle="healthy_dp/bundle")

    solve(task)


def test_tools_are_read_only_and_errors_reach_the_client() -> None:
    mcp = pytest.importorskip("mcp")
    anyio = pytest.importorskip("anyio")
    from forensics.cli.serving import server

    async def main() -> None:
        async with mcp.Client(server(Answers(str(ROOT / "samples")))) as client:
            listed = (await client.list_tools()).tools
            assert [one.name for one in listed] == [
                "analyze", "evidence", "explain", "show", "unread", "groups", "search",
            ]  # fmt: skip
            assert all(one.annotations.read_only_hint and not one.annotations.open_world_hint for one in listed)
            assert all(one.description for one in listed)
            told = await client.call_tool("show", {"kind": "rank", "name": "99", "bundle": STALL})
            assert told.is_error and "it has ranks 0-7" in told.content[0].text

    anyio.run(main)


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mcp", "mcp.server.mcpserver"):
        monkeypatch.setitem(sys.modules, name, None)
    done = CliRunner().invoke(cli, ["mcp", str(ROOT / "samples")])
    assert done.exit_code == 1 and "collective-forensics[mcp]" in done.output


@pytest.mark.parametrize(
    "name", ["..", "../other", "/etc", "inside/../../other", "link", "-", "file:///etc", "a\0b", "no"]
)
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    for folder in ("own/inside", "other", "own2"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "rank_0.log").write_text("RuntimeError: boom\n")
    (tmp_path / "own" / "link").symlink_to(tmp_path / "other")
    asked = Answers(str(tmp_path / "own"))
    assert asked.analyze("inside")
    for question in (
        asked.analyze,
        asked.evidence,
        asked.unread,
        asked.groups,
        lambda name: asked.search("boom", name),
    ):
        with pytest.raises(NoSuch, match="there are inside, link"):
            question(name)


def test_an_archive_is_looked_into_and_is_the_only_bundle(tmp_path: Path) -> None:
    import tarfile

    (tmp_path / "rank_0.log").write_text("one\nRuntimeError: boom\nthree\n")
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "rank_0.log", "logs/rank_0.log")
    asked = Answers(str(tmp_path / "b.tar.gz"))
    assert asked.search("BOOM").splitlines()[:3] == [
        "logs/rank_0.log-1-one", "logs/rank_0.log:2:RuntimeError: boom", "logs/rank_0.log-3-three",
    ]  # fmt: skip
    with pytest.raises(NoSuch):
        asked.analyze("..")


def test_answers_are_bounded_and_nothing_in_them_acts(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("".join(f"\x1b[31mfound {n} {'x' * 3000}\n" for n in range(2000)))
    asked = Answers(str(tmp_path))
    for text in (
        asked.search("found", most=10**9, context=10**9),
        asked.unread(most=10**9),
        asked.evidence(context=10**9),
    ):
        assert len(text) <= answers.MOST + 100 and "\x1b" not in text
    assert "more lines" in asked.search("found", most=10**9)


def test_secrets_are_masked_in_what_is_quoted(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text("export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\n")
    assert "hf_abcdefghijkl" not in Answers(str(tmp_path)).search("HF_TOKEN")
