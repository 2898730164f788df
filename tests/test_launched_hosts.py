"""What a launch calls hosts is one before lines, whatever it looks like; what nothing calls so is none."""

from pathlib import Path

import pytest

from parsers import read

COMMANDS = {
    "pdsh": "run: pdsh -S -f 64 -w {0},{1} cd /job; python fit.py",
    "mpirun": "$ mpirun -np 4 -H {0}:2,{1}:2 python fit.py",
    "srun": "+ srun -N 2 --nodelist={0},{1} python fit.py",
    "clush": "# clush -L -w {0},{1} python fit.py",
}


def steps(folder: Path, command: str, names: tuple[str, str]) -> set[str | None]:
    """The hosts of exceptions that two names print, of all who print there."""
    lines = [command.format(*names)]
    lines += [f"{name}: it {step} loss 2.{step}" for step in range(12) for name in names]
    lines += [f"{name}: {line}" for name in names for line in ("Traceback (most recent call last):", '  File "/job/fit.py", line 3, in f', "KeyError: 7")]  # fmt: skip
    (folder / "run.log").write_text("\n".join(lines) + "\n")
    return set(read(str(folder)).tables["events"].filter(kind="exception")["host"].to_list())


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("names", [("gpu-17", "gpu-09"), ("worker-1", "worker-2"), ("task3", "task4")])
def test_names_that_look_like_devices_are_hosts_where_a_command_says_so(
    tmp_path: Path, command: str, names: tuple[str, str]
) -> None:
    assert steps(tmp_path, command, names) == set(names)


@pytest.mark.parametrize(
    "command", ["python fit.py -w {0},{1}", "pdsh -w gx[01-04] python fit.py", "mpirun -np 4 python fit.py"]
)
def test_other_names_are_none(tmp_path: Path, command: str) -> None:
    assert steps(tmp_path, command, ("gpu-1", "gpu-2")) == {None}
