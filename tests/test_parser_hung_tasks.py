"""Kernel stacks of blocked tasks, as a kernel's log has them."""

import pytest

from parsers.stacks import hung_tasks
from tests.analysed import cause_and_ranks
from tests.lines import lines
from tests.test_tables_of_processes import planets

FOUND = "INFO: task {name}:{pid} blocked for more than 122 seconds."
STACK = (
    "      Not tainted 6.8.0-45-generic #45",
    "task:fit   state:D stack:0     pid:512 ppid:1",
    "Call Trace:",
    " <TASK>",
    " __schedule+0x2d0/0x830",
    " schedule+0x5e/0xd0",
    " rpc_wait_bit_killable+0x24/0xa0 [sunrpc]",
    " ? _raw_spin_lock+0x10/0x20",
    " nfs_file_write+0x1f6/0x3b0 [nfs]",
)


def read(*text: str) -> list[dict]:  # type: ignore[type-arg]
    return hung_tasks.parse(lines("\n".join(text)))["stacks"].to_dicts()


def test_frames_below_a_blocked_task_are_its_stack() -> None:
    (row,) = read(FOUND.format(name="fit", pid=512), *STACK)
    assert (row["pid"], row["source"], row["is_main"]) == (512, "kernel", True)
    assert [(frame["function"], frame["file"]) for frame in row["frames"]] == [
        ("rpc_wait_bit_killable", "sunrpc"),
        ("nfs_file_write", "nfs"),
    ]


@pytest.mark.parametrize(
    "text",
    [(FOUND.format(name="fit", pid=512),), STACK, (FOUND.format(name="fit", pid=512), " __schedule+0x2d0/0x830")],
    ids=["no stack", "nobody's", "the scheduler alone"],
)
def test_what_is_no_stack_of_a_blocked_task_is_none(text: tuple[str, ...]) -> None:
    assert read(*text) == []


def test_a_task_that_is_found_again_is_looked_at_again() -> None:
    once = (FOUND.format(name="fit", pid=512), *STACK)
    assert [row["snapshot"] for row in read(*once, *once)] == [0, 1]


def test_a_blocked_process_stands_where_its_kernel_shows_it(tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = planets()
    kernel = next(line for line in files["vc44.journal.json"].split("\n") if '"kernel"' in line)
    trace = "\n".join(kernel.replace("INFO: task fit:512 blocked for more than 122 seconds.", line) for line in STACK)
    files["vc44.journal.json"] = files["vc44.journal.json"].replace(kernel, f"{kernel}\n{trace}")
    assert cause_and_ranks(tmp_path, files) == ("rank_absent", [1])
    others = {name: text.replace("fit:512", "backup:977") for name, text in files.items()}
    assert cause_and_ranks(tmp_path / "another's", others)[1] == []
