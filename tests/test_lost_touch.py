"""That the other end closed a connection is said only where a line says it."""

from pathlib import Path

import pytest

from forensics import analyze

LINES = {
    "closed": ("[rank2]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:40211", "closed the connection"),
    "reset": ("[rank2]: RuntimeError: Read error [10.0.0.7]:40211: Connection reset by peer", "closed the connection"),
    "at a barrier": (
        "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5. "
        "Please check rank 5 logs for faulty rank.", "rank 2 came to a barrier, and its exchange with rank 5 failed"),
    "at a barrier, of several": (
        "[E ProcessGroupGloo.cpp:138] Rank 2 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5.\n"
        "[E ProcessGroupGloo.cpp:138] Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 5.",
        "message to or from another process failed"),
}  # fmt: skip


@pytest.mark.parametrize("form", LINES)
def test_what_the_line_says_of_the_other_end_and_no_more(tmp_path: Path, form: str) -> None:
    line, says = LINES[form]
    (tmp_path / "train.log").write_text("\n".join([*(f"step {n} loss 2.{n}" for n in range(6)), line]) + "\n")
    report = analyze(tmp_path)
    incident = report.incidents[report.primary]
    said = " ".join([str(incident.verdict.summary), *(str(one.claim) for one in incident.evidence)])
    assert not incident.verdict.ranks
    if "barrier" in form:
        assert says in said.replace("Rank", "rank") or "barrier" in said
        assert "closed" not in said
