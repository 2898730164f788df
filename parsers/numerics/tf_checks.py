"""What TensorFlow's checks of numbers say, of an operator in a graph or called eagerly, and of a value that a program has checked.

    !!! Detected Infinity or NaN in output 0 of graph op "Log" (# of outputs: 1) !!!
      Stack trace of op's creation ("->": inferred user code):
     : Tensor had -Inf values
         [[{{node log/CheckNumericsV2}}]]
    InvalidArgumentError: the loss : Tensor had NaN values [Op:CheckNumerics]

Event `nan_assert`, code = operator where the operator is told, else validation; `detail`: its name, and whether the value was NaN or Inf. The rank is the printer's, once for
each. What a collective quotes that others gave up (`Collective ops is aborted by: …`) is another's.

Printed by: tf.debugging.enable_check_numerics, tf.debugging.check_numerics, tf.compat.v1.add_check_numerics_ops.
Versions: TensorFlow 2.
Source: tensorflow/python/debug/lib/check_numerics_callback.py, tensorflow/core/kernels/check_numerics_op.cc.
"""

import json
from typing import Any

import polars as pl

from parsers.schema.lines import event, streams
from parsers.schema.parser import LineParser
from parsers.schema.tables import Tables, tables_of
from parsers.text.patterns import regex

_OPERATOR = regex(r"Detected Infinity or NaN in output \d{1,6} of .{1,40}? op \\?\"(?P<function>[\w./:-]{1,200})\\?\"")
_VALUE = regex(r": Tensor had (?P<value>(?:[+-]?Inf|NaN)(?:,? (?:and )?(?:[+-]?Inf|NaN)){0,2}) values")
_QUOTED = regex(r"ops is aborted by|Derived")


def parse(lines: pl.DataFrame) -> Tables:
    """events nan_assert."""
    found = (one for stream in streams(lines) if (one := _first(stream)) is not None)
    return tables_of(events=found)


def _first(stream: list[dict[str, Any]]) -> dict[str, Any] | None:
    function: str | None = None
    for row in stream:
        text = row["text"]
        if _QUOTED.search(text):
            return None
        if operator := _OPERATOR.search(text):
            function = operator["function"]
        if (had := _VALUE.search(text)) is None:
            continue
        where = "validation" if function is None else "operator"
        detail = {"where": where, "function": function, "value": "nan" if "NaN" in had["value"] else "inf"}
        said = f'{had["value"]} in the output of op "{function}"' if function else text.strip()
        return event(row, "nan_assert", severity="fatal", code=where, detail=json.dumps(detail), text=said)
    return None


PARSER = LineParser(
    name="tf_checks", anchors=(b"Detected Infinity or NaN in", b": Tensor had ", b"ops is aborted by"), parse=parse
)
