"""Dumps of msprobe and the CSV files of its monitor."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.numerics.msprobe import PARSER
from parsers.numerics.msprobe_monitor import PARSER as MONITOR
from parsers.schema.parser import Source
from parsers.schema.tables import SCHEMAS, Tables
from tests.sources import source

CASES = Path(os.environ.get("FORENSICS_CASES", Path(__file__).resolve().parent.parent.parent / "shared" / "cases"))
PATH = "dump/step4/rank3/dump.json"


def _tensor(value: Any = 1.0, **more: Any) -> dict[str, Any]:
    made = {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 3], "Max": value, "Min": -1.0}
    return made | {"Mean": 0.5, "Norm": 2.0, "requires_grad": True} | more


def _int(value: int) -> dict[str, Any]:
    return {"type": "int", "value": value}


GROUP = {"type": "torch.ProcessGroup", "group_ranks": [0, 3], "group_id": "ab12"}
ENTRIES: dict[str, Any] = {
    "Functional.linear.3.forward": {
        "input_args": [_tensor(), [_tensor(), None, _int(2)]],
        "input_kwargs": {"bias": _tensor()},
        "output": [_tensor("nan\t"), {"hidden": [_tensor(math.inf)]}],
    },
    "Module.layers.1.mlp.MLP.forward.0": {
        "input_args": [_tensor()], "output": [_tensor()], "parameters": {"weight": _tensor(md5="00ff")},
        "is_recompute": True,
    },
    "Module.layers.1.mlp.MLP.backward.0": {"input": [_tensor()], "output": [None, _tensor()]},
    "Module.layers.1.mlp.MLP.parameters_grad.0": {"weight": [_tensor()]},
    "Distributed.all_reduce.7.forward": {
        "input_args": [_tensor()], "output": [_tensor()],
        "input_kwargs": {"group": GROUP, "op": {"type": "torch.distributed.ReduceOp", "value": "RedOpType.SUM"}},
    },
    "Distributed.send.0.forward": {"input_args": [_tensor(), _int(5)], "input_kwargs": {"tag": _int(9)}},
    "Distributed.batch_isend_irecv.0.forward": {
        "input_args": [[{"class_type": "torch.distributed.P2POp", "tensor": _tensor(), "op": "isend", "peer": 6,
                         "tag": 1, "group_id": "cd"}]],
    },
}  # fmt: skip


def _dump(entries: Any = None, **more: Any) -> str:
    document = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    return json.dumps(document | {"data": ENTRIES if entries is None else entries} | more)


def _rows(text: str | bytes, **columns: Any) -> list[dict[str, Any]]:
    return PARSER.parse(source(text, PATH, **columns))["tensors"].rows(named=True)


def test_operators_after_the_last_backward_pass_are_the_update() -> None:
    """As a step is dumped: a forward pass, the backward pass, the gradients' sum, the optimizer, a pass to validate."""
    one = {"input_args": [_tensor()], "output": [_tensor()]}
    names = {
        "Tensor.__mul__.0.forward": "forward",
        "Module.fc.Linear.forward.0": "forward",
        "Module.fc.Linear.backward.0": "backward",
        "Module.fc.Linear.parameters_grad.0": "backward",
        "Distributed.all_reduce.0.forward": "comm",
        "Tensor.lerp_.0.forward": "optimizer",
        "Module.fc.Linear.forward.1": "forward",
        "Functional.relu.0.forward": "forward",
    }
    grad, back = {"weight": [_tensor()]}, {"input": [_tensor()], "output": [_tensor()]}
    entries = {name: grad if "parameters_grad" in name else back if "backward" in name else one for name in names}
    rows = _rows(_dump(entries))
    assert {tuple(entries)[row["record"]]: row["phase"] for row in rows} == names


def test_nested_tensors_of_all_kinds_of_entries() -> None:
    rows = _rows(_dump())
    assert [(row["record"], row["phase"], row["module"], row["op"], row["tensor"]) for row in rows] == [
        (0, "forward", None, "Functional.linear.3", "input.0"),
        (0, "forward", None, "Functional.linear.3", "input.1.0"),
        (0, "forward", None, "Functional.linear.3", "input.bias"),
        (0, "forward", None, "Functional.linear.3", "output.0"),
        (0, "forward", None, "Functional.linear.3", "output.1.hidden.0"),
        (1, "recompute", "layers.1.mlp", "MLP", "input.0"),
        (1, "recompute", "layers.1.mlp", "MLP", "output.0"),
        (1, "recompute", "layers.1.mlp", "MLP", "param.weight"),
        (2, "backward", "layers.1.mlp", "MLP", "grad_output.0"),
        (2, "backward", "layers.1.mlp", "MLP", "grad_input.1"),
        (3, "backward", "layers.1.mlp", "MLP", "param_grad.weight"),
        (4, "comm", None, "all_reduce", "input.0"),
        (4, "comm", None, "all_reduce", "output.0"),
        (5, "comm", None, "send", "input.0"),
        (6, "comm", "0.0", "isend", "input"),
    ]
    assert math.isnan(rows[3]["max"])
    assert rows[4]["max"] == math.inf
    assert {(row["step"], row["rank"]) for row in rows} == {(4, 3)}
    assert (rows[0]["dtype"], rows[0]["shape"], rows[0]["numel"]) == ("float16", "[2, 3]", 6)
    assert rows[7]["checksum"] == "00ff"
    reduced = rows[11]
    assert (reduced["group"], reduced["group_ranks"], reduced["reduce_op"]) == ("ab12", "0,3", "sum")
    assert (rows[13]["peer"], rows[13]["tag"]) == (5, 9)
    assert (rows[14]["peer"], rows[14]["tag"], rows[14]["group"]) == (6, 1, "cd")


@pytest.mark.parametrize(
    ("path", "step", "rank"),
    [("step12/rank/dump.json", 12, None), ("a/step0/rank17/dump.json", 0, 17), ("x_step1_rank2_dump.json", 1, 2),
     ("step3/proc4711/dump.json", 3, None)],
)  # fmt: skip
def test_the_path_tells_step_and_rank(path: str, step: int, rank: int | None) -> None:
    tables = PARSER.parse(source(_dump(), path))
    assert tables["tensors"].select("step", "rank").unique().rows() == [(step, rank)]


def test_a_path_without_step_is_said() -> None:
    tables = PARSER.parse(source(_dump(), "dump.json"))
    assert tables["tensors"]["step"].null_count() == tables["tensors"].height
    assert tables["unread"]["reason"].to_list() == ["the path names no step"]


@pytest.mark.parametrize("share", [n / 20 for n in range(1, 20)])
def test_a_cut_dump_keeps_whole_entries(share: float) -> None:
    text = _dump()
    tables = PARSER.parse(source(text[: int(len(text) * share)], PATH))
    whole = PARSER.parse(source(text, PATH))["tensors"].rows()
    rows = tables["tensors"].rows()
    assert repr(rows) == repr(whole[: len(rows)])
    assert tables["unread"].height == 1
    if share > 0.5:
        assert rows


@pytest.mark.parametrize(
    ("name", "content", "is_mine"),
    [
        ("dump.json", _dump(), True),
        ("stack.json", '{"0": [["Functional.linear.3.forward"], ["File /a.py, line 9, in f, \\n x()"]]}', True),
        ("stack.json", '{"Functional.linear.3.forward": ["File /a.py, line 9, in f, \\n x()"]}', True),
        ("construct.json", '{"Functional.linear.3.forward": "Module.fc.Linear.forward.0"}', True),
        ("construct.json", '{"Module.fc.Linear.forward.0": null}', True),
        ("construct.json", "{}", True),
        ("a/step0_rank0_construct.json", '{"Tensor1": "Module1", "Module1": null}', True),
        ("settings.json", '{"Tensor1": "Module1"}', False),
        ("settings.json", "{}", False),
        ("package.json", '{"name": "a", "data": {"x.y.forward": 1}}', False),
        ("a.log", "dump_data_dir", False),
        ("empty", "", False),
    ],
)
def test_which_files(name: str, content: str, is_mine: bool) -> None:
    assert PARSER.accepts(name, content.encode()) is is_mine
    if is_mine and name != "dump.json":
        tables = PARSER.parse(source(content, name))
        assert (tables["tensors"].height, tables["unread"].height) == (0, 0)


@pytest.mark.parametrize(
    "text",
    [_dump([]), _dump({"a": 3}), _dump({"a.b.0.forward": {"output": [{"type": 3}]}}), _dump({"": {}}), "{" * 5000,
     '{"dump_data_dir": 1, "task": 1, "data": {"a": ' + "[" * 90_000, _dump({"A.b.0.forward": {"input_args": [
         _tensor(shape=["x"], dtype=7, Max={}, Min=True, Mean="x" * 999, Norm=10**400)]}})],
    ids=["list", "number", "odd-type", "no-name", "braces", "deep", "odd-tensor"],
)  # fmt: skip
def test_odd_documents(text: str) -> None:
    for name, frame in PARSER.parse(source(text, PATH)).items():
        assert dict(frame.schema) == dict(SCHEMAS[name])


@settings(max_examples=40, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.just(_tensor()),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                        ["input_args", "output", "type", "value", "parameters", "input_kwargs", "group"]), inner),
                    max_leaves=12))  # fmt: skip
def test_any_entry_keeps_the_schema(entry: Any) -> None:
    for name in ("Functional.x.0.forward", "Module.a.B.backward.0", "Distributed.broadcast.0.forward", "?"):
        frame = PARSER.parse(source(_dump({name: entry}), PATH))["tensors"]
        assert dict(frame.schema) == dict(SCHEMAS["tensors"])


def _monitor(path: str, text: str) -> Tables:
    assert MONITOR.accepts(path, text.encode())
    return MONITOR.parse(source(text, path))


def test_monitor_of_activations() -> None:
    text = ("vpp_stage,name,step,micro_step,min,max,mean,norm,nans,zeros\n"
            "0,layers.1.mlp.input,4,2,-1.5,2.25,0.1,9.3,0.0,0.1\n"
            "1,layers.1.mlp.output[0],4,2,nan,inf,nan,nan,3.0,0.1\r\n"
            "0,layers.1.m\n")  # fmt: skip
    tables = _monitor("csv/Jan31_10-11-12-rank3-ab12/actv_0-9.csv", text)
    rows = tables["tensors"].rows(named=True)
    assert [(row["module"], row["tensor"], row["chunk"], row["microbatch"]) for row in rows] == [
        ("layers.1.mlp", "input", 0, 2), ("layers.1.mlp", "output.0", 1, 2)]  # fmt: skip
    assert {(row["rank"], row["step"], row["phase"]) for row in rows} == {(3, 4, "forward")}
    assert (rows[0]["min"], rows[0]["l2norm"], rows[0]["nan_count"]) == (-1.5, 9.3, 0)
    assert (rows[1]["max"], rows[1]["nan_count"]) == (math.inf, 3)
    assert math.isnan(rows[1]["min"])
    assert tables["unread"]["line"].to_list() == [4]


@pytest.mark.parametrize(
    ("file", "phase", "tensor"),
    [("grad_unreduced_0-0.csv", "grad_sync", "grad_in"), ("grad_reduced_0-0.csv", "grad_sync", "grad_out"),
     ("param_updated_0-0.csv", "optimizer", "param"), ("exp_avg_sq_0-0.csv", "optimizer", "optimizer_state.exp_avg_sq"),
     ("other_0-0.csv", None, None)],
)  # fmt: skip
def test_the_files_name_tells_what_the_figures_are_of(file: str, phase: str | None, tensor: str | None) -> None:
    [row] = _monitor(file, "vpp_stage,name,step,norm\n0,layers.1.weight,7,1.5\n")["tensors"].rows(named=True)
    assert (row["phase"], row["tensor"], row["module"], row["l2norm"]) == (phase, tensor, "layers.1.weight", 1.5)


@pytest.mark.parametrize("text", ["vpp_stage,name,step", "vpp_stage,name,stepper\n1,2,3\n", 'vpp_stage,name,step\n"1'])
def test_odd_tables(text: str) -> None:
    assert _monitor("actv_0-0.csv", text)["tensors"].height == 0


@pytest.mark.skipif(not (CASES / "msprobe").is_dir(), reason="no real cases here")
def test_a_real_dump_is_whole() -> None:
    path = CASES / "msprobe" / "gpu_dump_step0_proc2016_dump.json"
    tables = PARSER.parse(Source(path.name, path.stat().st_size, lambda: path.open("rb")))
    assert tables["tensors"].height == 2071
    assert not tables["unread"].height
    assert tables["tensors"]["step"].unique().to_list() == [0]
