"""What the ROCm runtime prints into a process before it aborts it: a device that hangs, or that touched memory it may not.

    HW Exception by GPU node-4 (Agent handle: 0x55d01f2a0) reason :GPU Hang
    Memory access fault by GPU node-2 (Agent handle: 0x55d01f2a0) on address 0x7f95000. Reason: Page not present or …
    :0:rocdevice.cpp            :2726: 4711 us: Callback: Queue 0x7f95000 aborting with error : HSA_STATUS_ERROR_EXCEPTION: An
        HSAIL operation resulted in a hardware exception. code: 0x1016

`GPU node-N` is a node of the kernel's topology, processors first: no device index (`detail.node`). A fault on memory is
mostly the program's, a hang may be either's.

Printed by: ROCR-Runtime and the HIP runtime (clr), into the process's standard error.
Versions: ROCm 1.6 to 7.
Source: the messages of ROCR-Runtime's VMFaultHandler and HwExceptionHandler and of clr's rocdevice.cpp, as users print them.
"""

import polars as pl

from parsers.schema.parser import LineParser
from parsers.schema.rules import Rule, read_rules
from parsers.schema.tables import Tables
from parsers.text.patterns import regex

_NODE = r"by GPU \**(?:node-(?P<node>\d{1,4})|\S{1,40}?)\**(?: \(Agent handle: (?P<agent>0x[0-9a-f]{1,16})\))?"
_BY = {"refine": lambda _: {"detail": {"library": "ROCr"}}}  # printed into the process, not by the kernel
RULES = (
    Rule(
        regex(rf"HW Exception {_NODE} reason ?: ?(?P<reason>[^\n]{{1,120}})"), "gpu_error", "fatal", "hsa:hw_exception",
        **_BY,
    ),
    Rule(
        regex(
            rf"Memory access fault {_NODE}(?: on address (?P<address>(?:0x)?[0-9a-f(nil)]{{1,20}}))?"
            r"\.?(?: Reason: (?P<reason>[^\n]{1,200}))?"
        ),
        "gpu_error", "error", "hsa:memory_access_fault", **_BY,
    ),
    Rule(
        regex(
            r"(?:Queue \S{1,20} )?abort(?:ing|ed) with error ?: (?P<status>HSA_STATUS_ERROR\w{0,60})(?P<reason>[^\n]{0,200})"
        ),
        "gpu_error", "error", "hsa:queue_aborted", **_BY,
    ),
)  # fmt: skip


def parse(lines: pl.DataFrame) -> Tables:
    """events gpu_error of the rank that prints them, code hsa:…"""
    return read_rules(lines, RULES)


PARSER = LineParser(
    name="rocm",
    anchors=(b"HW Exception by GPU", b"Memory access fault by GPU", b"with error : HSA_", b"with error: HSA_"),
    parse=parse,
)
