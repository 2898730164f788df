"""Environment variables and arguments of a job, as shells, launchers, PyTorch and training programs print them.

    NCCL_IB_TIMEOUT=22                                                       env, printenv, .env files
    export TORCH_NCCL_ASYNC_ERROR_HANDLING="1"  |  + export NCCL_DEBUG=INFO  |  declare -x NCCL_DEBUG="INFO"
    mpirun -np 16 -x NCCL_IB_HCA=mlx5_0 …  |  docker run -e NCCL_DEBUG=INFO …
    [Rank 3] ProcessGroupNCCL initialized with following options:            (1.9 to 1.13: an option per line)
    NCCL_ASYNC_ERROR_HANDLING: 1
    [Rank 3] ProcessGroupNCCL initialization options:NCCL_ASYNC_ERROR_HANDLING: 1, TIMEOUT(ms): 1800000, …     (2.0, 2.1)
    [PG 0 Rank 3] ProcessGroupNCCL initialization options: size: 16, global rank: 3, TIMEOUT(ms): 600000, …    (since 2.2)
    [PG ID 1 PG GUID 2(dp) Rank 0] ProcessGroupNCCL initialization options: size: 4, global rank: 3, …         (since 2.5)
    [PG 0 Rank 3] ProcessGroupNCCL environments: NCCL version: 2.20.5, TORCH_NCCL_BLOCKING_WAIT: 0, …
      tensor_model_parallel_size ...................... 8                    Megatron-LM, DeepSpeed

Only variables that steer communication, devices or PyTorch are read: a dump of a whole environment holds secrets. A
variable inside a sentence ("run with NCCL_DEBUG=INFO for details") is advice, not a setting. What NCCL itself says of
its variables is read by the parser of NCCL.

Printed by: shells (env, export, set -x), mpirun, docker, ProcessGroupNCCL and ProcessGroupMCCL, Megatron-LM, DeepSpeed.
Versions: PyTorch 1.9 to 2.15; the others in the forms above.
Source: ProcessGroupNCCL.cpp of PyTorch, arguments.py of Megatron-LM, config.py of DeepSpeed, the shells' own syntax.
"""

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from parsers.schema.lines import Row, reporter
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.group_prefix import GROUP
from parsers.text.patterns import regex

_CHARACTERS = 8192
_VALUE_CHARACTERS = 500
_NAME = (
    r"(?:(?:TORCH_|PYTORCH_)?[NMRHX]CCL|TORCH|PYTORCH|CUDA|MUSA|MACA|HIP|ROCM|HSA|UCX|GLOO|FI|OMPI_MCA|NVTE|GLOG)_[A-Z0-9_]{2,60}"
    r"|OMP_NUM_THREADS|MASTER_ADDR|MASTER_PORT|PYTHONFAULTHANDLER|FORCE_ACTIVE_WAIT"
)
_VALUE = r"(?:\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s'\";]*))"
_LEAD = regex(r"\s*(?:\++ )?(?:(?:export|declare -x|typeset -x|env) )?(?=[A-Z])")
_ASSIGNED = regex(rf"(?P<name>{_NAME})={_VALUE}(?=[\s;]|$);?\s*(?:export \w+)?\s*")
_PASSED = regex(rf"(?<!\S)(?:-x|-e|--env)[ =](?P<name>{_NAME})={_VALUE}(?=\s|$)")
_OPTIONS = regex(
    r"ProcessGroup[NM]CCL (?:initiali[sz]ation options|environments|initiali[sz]ed with following options) ?:"
)
_OPTION = regex(
    r"(?P<name>[A-Z][A-Z0-9_]{3,60}|TIMEOUT\(ms\)|size|global rank|[NM]CCL version): (?P<value>[^,\n]{0,500})"
)
_FOLLOWING = regex(rf"\s*(?P<name>{_NAME}|TIMEOUT\(ms\)|USE_HIGH_PRIORITY_STREAM): (?P<value>\S{{1,200}})\s*$")
_OTHER_GROUP = regex(r"\[PG (?:ID )?[1-9]\d*\b")
_ARGUMENT = regex(
    r"(?:^|\]|:)\s*(?P<name>[a-z][a-z0-9]*_\w{1,60}(?= \.{4})|[a-z]\w{1,60}(?= \.{8})) \.{4,60}(?!\.) ?(?P<value>\S.*)$"
)


def parse(lines: pl.DataFrame) -> Tables:
    """settings (scope environment, argument, version); where PyTorch says the global rank of its process, ranks and groups."""
    reader = _Reader()
    for row in lines.iter_rows(named=True):
        reader.read(row, (row["text"] or "")[:_CHARACTERS])
    return tables_of(settings=reader.settings, ranks=reader.ranks, groups=reader.groups)


class _Reader:
    def __init__(self) -> None:
        self.settings: list[dict[str, Any]] = []
        self.ranks: list[dict[str, Any]] = []
        self.groups: list[dict[str, Any]] = []
        self._options: tuple[str, int] | None = None  # file and line of a list with an option per line

    def read(self, row: Row, text: str) -> None:
        if head := _OPTIONS.search(text):
            self._options = (row["file"], row["line"])
            self._of_group(row, text, head.end())
        elif self._options and self._options == (row["file"], row["line"] - 1) and (found := _FOLLOWING.match(text)):
            self._options = (row["file"], row["line"])
            self._option(row, found["name"], found["value"])
        elif row["hit"]:
            for name, value in _assignments(text):
                self._setting(row, name, value, "environment")
            if (argument := _ARGUMENT.search(text)) and len(value := argument["value"].rstrip()) <= _VALUE_CHARACTERS:
                self._setting(row, argument["name"], value, "argument")

    def _of_group(self, row: Row, text: str, begin: int) -> None:
        """Options of the default group hold for the process; a smaller group's size and timeout are its own."""
        is_default = _OTHER_GROUP.search(text) is None
        said = {found["name"]: found["value"].strip() for found in _OPTION.finditer(text, begin)}
        rank, size = said.pop("global rank", ""), said.pop("size", "")
        if rank.isascii() and rank.isdigit() and len(rank) < 10:
            world = int(size) if is_default and size.isascii() and size.isdigit() and len(size) < 10 else None
            claim = {name: value for name, value in reporter(row).items() if name in ("host", "file", "line")}
            self.ranks.append(claim | {"rank": int(rank), "world_size": world, "how": "process group options"})
            if (group := GROUP.search(text, 0, begin)) and size.isdigit() and len(size) < 10:
                names = {"pg_id": int(group["id"]), "group": group["name"], "desc": group["desc"], "size": int(size)}
                place = {"file": row["file"], "line": row["line"], "how": "process group options"}
                self.groups.append({"rank": int(rank)} | names | place)
        for name, value in said.items():
            if is_default or name not in ("TIMEOUT(ms)", "SPLIT_FROM", "SPLIT_COLOR"):
                self._option(row, name, value)

    def _option(self, row: Row, name: str, value: str) -> None:
        if name == "TIMEOUT(ms)":
            self._setting(row, "process_group_timeout_ms", value, "argument")
        elif name.endswith(" version"):
            self._setting(row, name.split()[0].lower(), value, "version")
        elif re.fullmatch(_NAME, name):
            self._setting(row, name, value, "environment")
        else:
            self._setting(row, name.lower(), value, "argument")

    def _setting(self, row: Row, name: str, value: str, scope: str) -> None:
        who = {key: told for key, told in reporter(row).items() if key in ("rank", "host", "file", "line")}
        self.settings.append(who | {"name": name, "value": value[:_VALUE_CHARACTERS], "scope": scope})


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Variables that a line sets from its begin on, and those that a launcher is told to pass."""
    lead = _LEAD.match(text)
    at = lead.end() if lead else len(text)
    while found := _ASSIGNED.match(text, at):
        yield found["name"], _value(found)
        at = found.end()
    if lead is None or at == lead.end():
        for passed in _PASSED.finditer(text):
            yield passed["name"], _value(passed)


def _value(found: re.Match[str]) -> str:
    return next((found[name] for name in ("double", "single", "bare") if found[name] is not None), "")


PARSER = LineParser(
    name="environment",
    anchors=(
        b"CCL_", b"TORCH_", b"CUDA_", b"MUSA_", b"MACA_", b"HIP_", b"ROCM_", b"HSA_", b"UCX_", b"GLOO_", b"FI_",
        b"OMPI_MCA_", b"NVTE_", b"GLOG_", b"OMP_NUM_THREADS=", b"MASTER_ADDR=", b"MASTER_PORT=", b"PYTHONFAULTHANDLER=",
        b"FORCE_ACTIVE_WAIT=", b"ProcessGroupNCCL init", b"ProcessGroupNCCL environments", b"ProcessGroupMCCL init",
        b"ProcessGroupMCCL environments", b" ....",
    ),
    parse=parse,
    after=8,  # an option per line, until 1.13
    follows=regex(rb"^.{0,60}[A-Z][A-Z0-9_]{3,60}(?:\(ms\))?: \S{1,200}\s*$"),
)  # fmt: skip
