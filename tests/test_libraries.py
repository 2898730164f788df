"""What is advised goes by the job's own libraries: no setting of NCCL or PyTorch where neither of them is."""

import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import forensics.words
from forensics.facts.hosts.surroundings import surroundings
from forensics.model.commands import COMMANDS, Surroundings, Target, Torch, recorder
from forensics.model.finding import Finding
from forensics.model.said import Form, Said
from forensics.verdict.advice.actions import Known, actions_of
from forensics.words.libraries import of_libraries
from parsers.schema.tables import TABLE_NAMES, table

WATCHDOG = (
    "[Rank 3] [PG 0 Rank 3] ProcessGroup{0}'s watchdog: Work{0}(SeqNum=7, OpType=ALLREDUCE) ran for 600 milliseconds"
)


def _around(
    *parsers: str, events: Sequence[Mapping[str, Any]] = (), **tables: Sequence[Mapping[str, Any]]
) -> Surroundings:
    rows = [{"file": name, "parsers": [name]} for name in parsers]
    given = {"files": rows, "events": events, **tables}
    return surroundings({name: table(name, given.get(name, ())) for name in TABLE_NAMES})


@pytest.mark.parametrize(
    ("library", "vendor"), [("MCCL", "moore_threads"), ("HCCL", "huawei"), ("NCCL", None)], ids=["musa", "npu", "upstream"]
)  # fmt: skip
def test_a_process_group_names_its_vendor_where_one_alone_builds_it(library: str, vendor: str | None) -> None:
    line = {"kind": "collective_timeout", "file": "a.log", "line": 1, "text": WATCHDOG.format(library)}
    found = _around("process_group", events=[line])
    assert (found.vendor, found.torch) == (vendor, Torch(library.lower()))  # type: ignore[arg-type]
    command = recorder(found)
    assert command is not None
    assert set(re.findall(r"[NMH]CCL", command)) == {library}


def test_records_name_the_library_as_well() -> None:
    found = _around("flight_recorder", operations=[{"rank": 0, "backend": "mccl", "seq": 1}])
    assert (found.vendor, found.torch) == ("moore_threads", Torch("mccl"))


def test_a_second_maker_of_the_same_name_leaves_the_vendor_open() -> None:
    line = {"kind": "collective_timeout", "file": "a.log", "line": 1, "text": WATCHDOG.format("HCCL")}
    found = _around("process_group", "habanalabs", events=[line])
    assert (found.vendor, found.torch) == (None, Torch("nccl"))


@pytest.mark.parametrize("parsers", [("nccl_tests",), ("coordination",), ("horovod",), ("nccl", "ras"), ()])
def test_without_process_groups_of_pytorch_nothing_of_them_is_set(parsers: tuple[str, ...]) -> None:
    around = _around(*parsers)
    assert (around.torch, recorder(around)) == (None, None)
    assert COMMANDS["fingerprints"](Target(around=around)) is None


@pytest.mark.parametrize(
    "tables",
    [
        {
            "stacks": [
                {"rank": 0, "frames": [{"function": "wait", "file": "/opt/lib/torch/distributed/c10d.py", "line": 3}]}
            ]
        },
        {"settings": [{"name": "TORCH_CPP_LOG_LEVEL", "value": "INFO"}]},
        {"events": [{"kind": "exception", "text": "File x/torch/distributed/rendezvous.py"}]},
    ],
    ids=["a frame", "a setting", "a traceback"],
)
def test_what_else_shows_pytorch(tables: dict[str, Any]) -> None:
    assert _around(**tables).torch == Torch()


@pytest.mark.parametrize("shown", ["a mismatch that it found", "its setting"])
def test_what_was_on_already_is_not_asked_for(shown: str) -> None:
    text = "Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE)"
    events = [{"kind": "mismatch", "text": text}] if shown.startswith("a mismatch") else []
    settings = [] if events else [{"name": "TORCH_DISTRIBUTED_DEBUG", "value": "DETAIL"}]
    around = _around("process_group", events=events, settings=settings)
    assert around.torch is not None and around.torch.is_detailed
    assert COMMANDS["fingerprints"](Target(around=around)) is None
    assert COMMANDS["fingerprints"](Target(around=Surroundings(torch=Torch()))) is not None


def _asked(what: str, around: Surroundings) -> list[str]:
    finding = Finding(detector="x", undecided=("culprit_among_missing",), collect=(what,))
    return [one.target for one in actions_of(finding, "hypothesis", Known(around=around)) if one.kind == "collect_more"]


def _sentences() -> list[Said]:
    """All sentences for people that ask for evidence."""
    found = []
    for module in pkgutil.iter_modules(forensics.words.__path__):
        for one in vars(importlib.import_module(f"forensics.words.{module.name}")).values():
            if isinstance(one, Form) and one.asks:
                found.append(Said(one.en, one.zh, *one.asks))
            elif isinstance(one, Said) and one.asks:
                found.append(one)
    return found


# What "or" joins may keep the recorder: it is then one of two ways.
_OF_PYTORCH = re.compile(r"(?i)flight.?record|TORCH_DISTRIBUTED_DEBUG")


@pytest.mark.parametrize("vendor", ["moore_threads", "huawei", "amd", "metax"])
def test_no_sentence_asks_another_vendor_for_the_status_of_nccl(vendor: Any) -> None:
    texts = [part for said in _sentences() for part in _asked(said, Surroundings(vendor=vendor, torch=Torch()))]
    assert len(texts) > 20
    assert [text for text in texts if "RAS" in text] == []


@pytest.mark.parametrize(("library", "own"), [("mccl", "MCCL_DEBUG"), ("hccl", "plog")])
def test_the_log_of_a_library_goes_by_its_own_name(library: str, own: str) -> None:
    texts = [of_libraries(said, library) for said in _sentences()]
    assert [text for text in texts if "NCCL_DEBUG" in text] == []
    assert any(own in text for text in texts)
    assert all("NCCL_DEBUG" not in text.zh for text in texts if isinstance(text, Said))


def test_no_sentence_asks_for_pytorchs_recorder_where_pytorch_is_not() -> None:
    said = [
        of_libraries(one, None, "recorder", "detail")
        for one in _sentences()
        if "dump" in one.asks and len(one.asks) > 1
    ]
    assert [text for text in said if _OF_PYTORCH.search(text)] == []
    assert all("dump" not in one.asks and one.zh for one in said if isinstance(one, Said))
