"""Checks for NaN and Inf that print single lines or short blocks, and lines about the loss scale."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers.numerics.anomaly_mode import PARSER as ANOMALY
from parsers.numerics.hf_underflow import PARSER as HF
from parsers.numerics.nan_asserts import PARSER as ASSERTS
from parsers.numerics.overflow import PARSER as OVERFLOW
from parsers.numerics.replica_hashes import PARSER as HASHES
from parsers.numerics.rerun_tracker import PARSER as RERUN
from parsers.numerics.te_stats import PARSER as TE
from parsers.schema.parser import LineParser
from parsers.schema.tables import SCHEMAS
from tests.lines import lines

ALL = (ANOMALY, HF, ASSERTS, HASHES, OVERFLOW, RERUN, TE)
TRACKER = (
    "ts=2026-01-31 10:11:12.345678 node=n07 device=1 jobID=77 rank=5 iteration=812 status={status} result={result} "
    "message='found NaN in local forward loss calculation'"
)


def _events(parser: LineParser, text: str, **columns: Any) -> list[dict[str, Any]]:
    rows = parser.parse(lines(text, **columns))["events"].rows(named=True)
    return [row | {"detail": json.loads(row["detail"] or "{}")} for row in rows]


def _check(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert {key: row[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("no OVERFLOW! here", [], id="foreign"),
        pytest.param("OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4096, reducing to 2048",
                     [{"kind": "loss_scale", "value": 2048.0, "code": "reduced", "rank": 0}], id="deepspeed"),
        pytest.param("[deepscale] OVERFLOW! Skipping step. Attempted loss scale: 128.0, reducing to 64.0\r",
                     [{"value": 64.0, "rank": 3}], id="float-without-rank-crlf"),
        pytest.param("OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, but hysteresis is 2. Reducing hysteresis",
                     [{"value": 8.0, "code": "hysteresis"}], id="hysteresis"),
        pytest.param("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
                     [{"value": None, "code": "minimum", "severity": "error"}], id="minimum"),
        pytest.param("FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.",
                     [{"code": "minimum"}], id="fairseq-minimum"),
        pytest.param("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
                     [{"value": 32768.0}], id="apex"),
        pytest.param("NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0",
                     [{"value": 64.0}], id="fairseq"),
        pytest.param("No overflow for consecutive 1000 steps, the loss scale is adjusted to 512.0",
                     [{"value": 512.0, "code": "raised"}], id="raised"),
        pytest.param("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 4.0Gradient overflow.  "
                     "Skipping step, loss scaler 0 reducing loss scale to 2.0",
                     [{"value": 4.0}, {"value": 2.0}], id="glued"),
        pytest.param("OVERFLOW! Rank 0 Skipping step. Attempted loss sc", [], id="cut"),
    ],
)  # fmt: skip
def test_loss_scale(text: str, expected: list[dict[str, Any]]) -> None:
    _check(_events(OVERFLOW, text, rank=3), expected)


def test_replica_hashes_tell_who_differs_from_the_first() -> None:
    text = (
        "INFO:megatron.core.utils:[Rank 6] Hash not matching for module.a.weight in model chunk 0\n"
        "AssertionError: Parameter hashes not matching across DP replicas\n"
        ">>> Weight hashes match after 40 iterations...\n"
    )
    found = HASHES.parse(lines(text, rank=6))
    rows = found["events"].select("kind", "code", "names_ranks").rows()
    assert rows == [("replica_mismatch", "differs", [6]), ("replica_mismatch", "raised", None)]
    assert found["claimed"]["line"].to_list() == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param("we found NaN in the docs", [], id="foreign"),
        pytest.param("AssertionError: Rank 5: found NaN in local forward loss calculation. Device: 1, node: n07",
                     [{"kind": "nan_assert", "names_ranks": [5], "names_rank_space": "global", "device_index": 1,
                       "names_hosts": ["n07"], "code": "forward_loss", "rank": None}], id="loss"),
        pytest.param("Rank 5: found NaN in local grad norm in backward pass before data-parallel communication "
                     "collective. Device: 3", [{"code": "grad_norm", "device_index": 3}], id="grad"),
        pytest.param("RuntimeError: Rank 2, node n07, device 2, iteration 9: Unexpected result nan (message='found NaN "
                     "in local grad norm for bucket #0 in backward pass before data-parallel communication collective')",
                     [{"kind": "nan_assert", "names_ranks": [2], "step": 9, "code": "grad_norm",
                       "names_hosts": ["n07"], "device_index": 2}], id="rerun"),
        pytest.param("Rank 2, node n, device 2, iteration -1: Unexpected result nan (message='found NaN in lo",
                     [{"step": None, "names_ranks": [2]}], id="unknown-iteration-and-cut"),
        pytest.param("Rank 2, node n, device 2, iteration 7: Unexpected result 55.1 (message='Spiky loss')",
                     [{"kind": "other", "code": "unexpected_result", "step": 7}], id="spike"),
        pytest.param("Rank 2, node n, device 2, iteration 7: Unexpected result tensor(inf, device='cuda:2') "
                     "(message='found Inf in local grad norm')", [{"kind": "nan_assert"}], id="tensor"),
        pytest.param("RuntimeError: NaN detected in input tensor for 'all_reduce' on comm 'dp': check_for_nan failed",
                     [{"kind": "nan_assert", "code": "nan_check", "op": "all_reduce", "group": "dp"}], id="torchcomms"),
        pytest.param("RuntimeError: (PreconditionNotMet) There are NAN or INF (num_nan=0, num_inf=2, num_zero=1) in "
                     "[device=gpu:1, op=relu, tensor=, dtype=fp16]. (at a.h:1)",
                     [{"kind": "nan_assert", "code": "operator",
                       "detail": {"where": "operator", "value": "inf", "function": "relu", "compiled": False}}], id="paddle"),
        pytest.param("Rank 1: found NaN in local grad norm in backwards pass. Device: 1, node: aRank 4: found NaN in "
                     "local grad norm in backwards pass. Device: 0, node: b",
                     [{"names_ranks": [1]}, {"names_ranks": [4]}], id="glued"),
    ],
)  # fmt: skip
def test_named_rank(text: str, expected: list[dict[str, Any]]) -> None:
    _check(_events(ASSERTS, text), expected)


def test_every_kernel_of_the_check() -> None:
    [row] = _events(
        ASSERTS, "/x/NanCheck.cu:90: checkPack: block: [0,0,0], thread: [7,0,0] Assertion `!hasNan` failed.", rank=2
    )
    assert (row["code"], row["rank"]) == ("nan_check", 2)


def test_a_message_of_the_device_counts_once_per_printer() -> None:
    text = "\n".join(f"/x/NanCheck.cu:2: checkForNaN: block: [0,0,0], thread: [{n},0,0] Assertion `!x` failed."
                     for n in range(3))  # fmt: skip
    both = ASSERTS.parse(lines(text + "\n" + text, rank=[0] * 3 + [1] * 3))
    assert [row["names_ranks"] for row in both["events"].rows(named=True)] == [[0], [1]]
    assert both["claimed"].height == 4
    [row] = _events(ASSERTS, text, rank=2)
    assert (row["code"], row["detail"], row["rank"]) == ("nan_check", {"where": "nan_check"}, 2)
    [row] = _events(
        ASSERTS, "[E1120 17:31:56.8 Utils.cu:30] CUDA error during checkForNan: device-side assert triggered"
    )
    assert (row["names_ranks"], row["names_rank_space"]) == (None, None)


FORWARD = (
    "/p/autograd/graph.py:824: UserWarning: Error detected in MulBackward0. "
    "Traceback of forward call that caused the error:\n"
    '  File "/job/train.py", line 9, in <module>\n    main()\n'
    '  File "/job/model.py", line 36, in forward\n    return self.scale * hidden\n'
)
ERROR = "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output."


@pytest.mark.parametrize(
    ("text", "kinds", "functions"),
    [
        ("", [], []),
        ("Error detected in the cabling", [], []),
        (FORWARD + ERROR, ["nan_assert"], [["forward", "<module>"]]),
        (FORWARD.replace("0. Trace", "0.\nTrace") + "Traceback (most recent call last):\n" + ERROR, ["nan_assert"],
         [["forward", "<module>"]]),
        (ERROR, ["nan_assert"], [[]]),
        (FORWARD, ["nan_assert"], [["forward", "<module>"]]),
        (FORWARD + "\nIndexError: list index out of range", ["other"], [["forward", "<module>"]]),
        (FORWARD + ERROR.replace("Mul", "Div"), ["other", "nan_assert"], [["forward", "<module>"], []]),
    ],
    ids=["empty", "foreign", "both", "older", "error-alone", "cut", "another-error", "another-function"],
)  # fmt: skip
def test_anomaly_mode(text: str, kinds: list[str], functions: list[list[str]]) -> None:
    rows = _events(ANOMALY, text, rank=4)
    assert [row["kind"] for row in rows] == kinds
    assert all(row["code"] == "anomaly_mode" for row in rows)
    assert [[frame["function"] for frame in row["detail"]["forward"]] for row in rows] == functions
    if kinds == ["nan_assert"]:
        assert (rows[0]["op"], rows[0]["names_ranks"]) == ("MulBackward0", [4])


@pytest.mark.parametrize("status", ["initial_run", "RerunValidationStatus.FIRST_RERUN_NOT_REPRODUCIBLE"])
def test_tracker_file(status: str) -> None:
    [row] = _events(RERUN, TRACKER.format(status=status, result="nan"))
    assert row["kind"] == "nan_assert"
    assert row["code"] == status.rsplit(".")[-1].lower()
    assert (row["rank"], row["names_ranks"], row["host"], row["device_index"], row["step"]) == (5, [5], "n07", 1, 812)
    assert (row["time_ns"], row["time_basis"]) == (1769854272345678000, "local")
    assert row["detail"]["where"] == "forward_loss"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ERROR: Unexpected result nan at /m/training.py line 90, invokation #1 at iteration #812 (message='loss is NaN')",
         {"kind": "nan_assert", "code": "initial_run", "step": 812}),
        ("Unexpected result 9.5 at /m/t.py line 90, invokation #1 at iteration #8 (message='Spiky loss')",
         {"kind": "other", "step": 8}),
        ("First rerun: unexpected result is not reproducible within the tolerance (nan != 2.1)",
         {"kind": "other", "code": "first_rerun_not_reproducible"}),
        ("Second rerun: unexpected result is reproducible on a different GPU, therefore it was likely correct",
         {"code": "second_rerun_reproducible"}),
        ("Rank 5, node n07, device 1: Possible transient error!!", {"code": "transient_error", "names_ranks": [5]}),
        ("Rank 5, node n07, device 1: Possible persistent error!!",
         {"code": "persistent_error", "device_index": 1, "names_hosts": ["n07"]}),
        ("Got rescheduled on the same GPU. Need to resume again from the same checkpoint (node: n07, gpu: 1)",
         {"code": "same_device", "names_hosts": ["n07"]}),
    ],
)  # fmt: skip
def test_rerun_lines(text: str, expected: dict[str, Any]) -> None:
    _check(_events(RERUN, text), [expected])


REPORT = """Detected inf/nan during batch_number=7
Last 2 forward frames:
abs min  abs max  metadata
                  decoder.1.up Linear
2.17e-07 4.50e+00 weight
1.79e-06 4.65e+00 input[0]
0.00e+00      inf output
                  decoder.1 Block
     nan      nan output[0]
             None output[1]


training goes on
1.00e+00 2.00e+00 output"""


def test_underflow_report() -> None:
    tables = HF.parse(lines(REPORT, rank=1))
    rows = tables["tensors"].rows(named=True)
    assert [(row["module"], row["op"], row["tensor"]) for row in rows] == [
        ("decoder.1.up", "Linear", "param.weight"),
        ("decoder.1.up", "Linear", "input.0"),
        ("decoder.1.up", "Linear", "output"),
        ("decoder.1", "Block", "output.0"),
    ]
    assert [row["absmax"] for row in rows[:3]] == [4.5, 4.65, math.inf]
    assert math.isnan(rows[3]["absmax"])
    assert {(row["step"], row["rank"], row["phase"]) for row in rows} == {(7, 1, "forward")}
    [event] = tables["events"].rows(named=True)
    assert (event["kind"], event["step"], event["names_ranks"]) == ("nan_assert", 7, [1])
    assert json.loads(event["detail"]) == {"module": "decoder.1.up", "op": "Linear", "tensor": "output", "value": "inf"}
    assert tables["claimed"].height == 12


@pytest.mark.parametrize("cut", range(0, len(REPORT), 37))
def test_a_cut_report_keeps_whole_rows(cut: int) -> None:
    tables = HF.parse(lines(REPORT[:cut]))
    assert tables["tensors"].height <= 4
    assert tables["events"].height == (cut > 37)


def test_statistics_of_transformer_engine() -> None:
    text = "\n".join([
        "2026-01-31 10:11:12,345 - INFO - layers.3.fc1_activation_max    \t iteration=000012 \t value=4.3188",
        "INFO - layers.3.fc1_activation_min    \t iteration=000012 \t value=-inf",
        "INFO - layers.3.fc1_activation_l1_norm \t iteration=000012 \t value=9.5",
        "INFO - layers.3.fc1_gradient_fp8_delayed_scaling_overflows% \t iteration=000012 \t value=0.5",
        "INFO - layers.3.fc1_gradient_fp8_delayed_scaling_scale_inv_max \t iteration=000012 \t value=0.25",
        "INFO - layers.3.fc1_activation_max    \t iteration=000013 \t value=nan",
        "INFO - layers.3.fc1_weight_cur_amax   \t iteration=123456 \t value=2.0\r",
        "training iteration=5 value=3",
        "INFO - layers.3.fc1_activation_max    \t iterat",
    ])  # fmt: skip
    tables = TE.parse(lines(text, path_rank=3))
    rows = tables["tensors"].rows(named=True)
    assert [(row["step"], row["tensor"], row["line"], row["format"]) for row in rows] == [
        (12, "input", 1, None), (12, "grad_output", 4, "fp8_delayed_scaling"), (13, "input", 6, None),
        (123456, "param", 7, None),
    ]  # fmt: skip
    assert (rows[0]["max"], rows[0]["min"], rows[0]["rank"], rows[0]["module"]) == (
        4.3188,
        -math.inf,
        3,
        "layers.3.fc1",
    )
    assert (rows[1]["overflow_pct"], rows[1]["scale"], rows[1]["phase"]) == (0.5, 4.0, "backward")
    assert math.isnan(rows[2]["max"])
    assert (rows[3]["amax"], rows[3]["absmax"]) == (2.0, 2.0)
    assert tables["claimed"]["line"].to_list() == [2, 3, 5]
    alone = TE.parse(lines("INFO - layers.3.fc1_gradient_amax   \t iteration=000012 \t value=inf", path_rank=3))
    assert alone["tensors"]["absmax"].to_list() == [math.inf]


PIECES = [TRACKER.format(status="initial_run", result="1e999"), REPORT, FORWARD, ERROR, "Rank 1, node ", "9" * 40, "\n",
          "iteration=", "\x00", "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8, reducing to 4",
          "Rank 99999999999: found NaN in x", "x_activation_max iteration=1 value=1"]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(0, 60))
def test_any_text_keeps_the_schema(pieces: list[str], cut: int) -> None:
    text = "".join(pieces)
    for parser in ALL:
        for name, frame in parser.parse(lines(text[: len(text) - cut])).items():
            assert dict(frame.schema) == dict(SCHEMAS[name])


def test_the_rerun_state_machine_names_the_rank_whose_result_it_refused() -> None:
    text = (
        "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 5 at iteration #812 invocation #4 "
        "(message='found NaN in local grad norm for bucket #2')\n"
        "ERROR:megatron.core.rerun_state_machine:Rank 5, node n07, device 1, iteration #812: First rerun: unexpected result "
        "is not reproducible within the tolerance (nan != 2.1)!\n"
        "ERROR:megatron.core.rerun_state_machine:Rank 5, node n07, device 1, iteration #812: Possible transient error!!"
    )
    initial, rerun, diagnosis = _events(RERUN, text)
    assert (initial["kind"], initial["rank"], initial["names_ranks"], initial["step"]) == ("nan_assert", 5, [5], 812)
    assert (rerun["code"], rerun["names_ranks"], rerun["names_hosts"], rerun["step"]) == (
        "first_rerun_not_reproducible", [5], ["n07"], 812,
    )  # fmt: skip
    assert (diagnosis["code"], diagnosis["names_ranks"], diagnosis["device_index"]) == ("transient_error", [5], 1)


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("AssertionError: Rank 5: found NaN in local grad norm in backward pass. Device: 1, node: n07", [(5, "n07", 1)]),
        ("RuntimeError: Rank 5, node n07, device 1, iteration 8: Unexpected result nan (message='found NaN in loss')", [(5, "n07", 1)]),
        ("AssertionError: Rank 5: found NaN in local grad norm in backward pass. Device: 1", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_message_with_rank_and_node_tells_where_the_rank_runs(text: str, placed: list[tuple[Any, ...]]) -> None:
    assert ASSERTS.parse(lines(text))["ranks"].select("rank", "host", "device_index").rows() == placed
