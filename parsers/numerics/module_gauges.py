"""Statistics of modules that a training gives to Prometheus, a sample for each figure, as rows of tensors.

    act_absmax{rank="2",module="layers.21.down_proj"} +Inf       act_inf_count{rank="2",module="layers.21.down_proj"} 3
    grad_nonfinite{rank="2",layer="7"} 0

A figure is one by the end of its name (tensor_names.py), its module by a label; words before the figure say which tensor it is of, an output where none do. The samples of a
module at one moment are one row, in the order in which the modules come; the step is that of its rank's gauge then. Without a step there is no row.
"""

from collections.abc import Mapping
from typing import Any

from parsers.forms.reading import real, whole
from parsers.numerics.tensor_names import tensor_of, trailing_statistic
from parsers.schema.tables import Tables, table

_LABELS = ("module", "layer", "layer_name", "tensor", "param", "parameter")
_FIGURES = ("absmax", "l2norm", "nan_count", "inf_count")  # others end the names of anything
_Moment = tuple[int | None, int | None]


class ModuleGauges:
    """Samples of one file, in order."""

    def __init__(self) -> None:
        self._rows: dict[tuple[_Moment, str, str], dict[str, Any]] = {}
        self._steps: dict[_Moment, int] = {}

    def takes(self, name: str, labels: Mapping[str, str], row: Mapping[str, Any]) -> bool:
        """A sample and its row of `devices`: whether it is a figure of a module, and kept."""
        label = next((one for one in _LABELS if labels.get(one)), None)
        found = trailing_statistic(name) if label is not None else None
        if label is None or found is None or found[1] not in _FIGURES:
            return False
        before, column = found
        phase, tensor = tensor_of(before)
        module = labels[label] if real(labels[label]) is None else f"{label} {labels[label]}"
        place = {key: row.get(key) for key in ("rank", "host", "file", "line")}
        made = place | {"phase": phase, "module": module, "tensor": tensor, "dtype": labels.get("dtype")}
        own = self._rows.setdefault(((row["rank"], row["time_ns"]), module, tensor), made)
        own[column] = whole(row["value"]) if column.endswith("_count") else row["value"]
        return True

    def counts(self, row: Mapping[str, Any]) -> None:
        """The step of a rank at a moment."""
        if (step := whole(row["value"])) is not None:
            self._steps[row["rank"], row["time_ns"]] = step

    def tables(self) -> Tables:
        """tensors."""
        rows = [
            own | {"step": step}
            for (moment, _, _), own in self._rows.items()
            if (step := self._steps.get(moment, self._steps.get((None, moment[1])))) is not None
        ]
        return {"tensors": table("tensors", [row | {"record": at} for at, row in enumerate(rows)])}
