"""The form of a record of NCCL and its kin: whoever keeps it is read by its own name, and what has not this form is none."""

from pathlib import Path

import pytest

import parsers
from parsers.comm.nccl import PARSER
from tests.lines import lines

P = "node1:84:91 [3] "


@pytest.mark.parametrize("name", ["NCCL", "RCCL", "MCCL", "TCCL", "XCCL", "CNCL", "ZZYCL"])
def test_whoever_keeps_these_records_is_read_by_its_own_name(tmp_path: Path, name: str) -> None:
    """The form of a record says what it is; which library prints it stands in it."""
    written = [
        f"{P}{name} INFO {name.lower()}CommInitRank comm 0x55d0 rank 3 nranks 8 zyDev 3 busId 5d000 commId 0x1f2e - Init COMPLETE",
        f"{P}{name} INFO AllReduce: opCount 1f sendbuff 0x7 recvbuff 0x8 count 4096 datatype 7 op 0 root 0 comm 0x55d0 [nranks=8] "
        "stream 0x9",
        f"node1:84:99 [3] include/socket.h:403 {name} WARN Connect to 10.0.0.7<5621> failed : Connection refused",
    ]
    (tmp_path / "job.log").write_text("\n".join(written) + "\n")
    found = parsers.read(tmp_path).tables
    assert {(row["kind"], row["host"]) for row in found["events"].rows(named=True)} == {
        ("comm_init_complete", "node1"), ("connect_failed", "node1"),
    }  # fmt: skip
    [call] = found["operations"].rows(named=True)
    assert (call["kind"], call["seq"], call["backend"]) == ("all_reduce", 31, name.lower())


@pytest.mark.parametrize(
    "text",
    [
        "DECL INFO parsed 31 rows",
        "the CL INFO field is empty",
        "12:13:14 [3] Scl INFO comm 0x5 rank 3 nranks 8",
        "NOCL: INFO Connect to",
    ],
)
def test_what_has_no_record_s_form_is_none_of_a_library(text: str) -> None:
    found = PARSER.parse(lines(text))
    assert not any(found[name].height for name in ("events", "operations", "ranks", "groups"))
