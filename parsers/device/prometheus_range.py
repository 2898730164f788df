"""What Prometheus' HTTP interface answers to a query over a range of time, or at a moment, saved by hand as JSON.

    {"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "0", "Hostname": "n1"},
       "values": [[1740669002, "41"], [1740669017, "42"]]}]}}

A series is a metric per moment, `record` the number of the series. What is shorter than the distance of two moments
(`step` of the query, or the scrape) cannot be seen in it.

Printed by: Prometheus, Thanos, VictoriaMetrics: /api/v1/query and /api/v1/query_range.
Versions: the v1 interface.
Source: Prometheus' documentation of its HTTP interface.
"""

from typing import Any

from parsers.device.labels import sample
from parsers.forms.reading import all_bytes, json_object, real
from parsers.schema.parser import FileParser, Source
from parsers.schema.tables import Tables, table
from parsers.training.gauges import Gauges

_BYTES = 256 << 20
_ROWS = 5_000_000


def accepts(_path: str, head: bytes) -> bool:
    """By the words of the answer's frame."""
    start = head[:4096]
    return start.lstrip()[:1] == b"{" and b'"resultType"' in start and (b'"matrix"' in start or b'"vector"' in start)


def parse(source: Source) -> Tables:
    """devices, or steps of a training, a row per series and moment; `unread` where the document is cut or of another form."""
    text = all_bytes(source, _BYTES)
    answer = json_object(text) if text is not None else None
    data = (answer or {}).get("data")
    result = data.get("result") if isinstance(data, dict) else None
    if not isinstance(result, list):
        reason = "no answer of Prometheus, or a cut one" if text is not None else f"larger than {_BYTES} bytes"
        return {"unread": table("unread", [{"file": source.path, "reason": reason}])}
    rows: list[dict[str, Any]] = []
    for number, series in enumerate(result):
        if isinstance(series, dict) and isinstance(series.get("metric"), dict) and len(rows) < _ROWS:
            rows += _series(series, source, number)
    gauges = Gauges()
    rest = [row for row in rows if not gauges.takes(row)]
    return {"devices": table("devices", rest), **gauges.tables()}


def _series(series: dict[str, Any], source: Source, number: int) -> list[dict[str, Any]]:
    labels = {str(key): str(value) for key, value in series["metric"].items()}
    name = labels.pop("__name__", "value")
    values = series.get("values")
    points = values if isinstance(values, list) else [series.get("value")]
    who = sample(name, labels, "", source) | {"file": source.path, "record": number}
    return [
        who | {"value": real(point[1]), "text": str(point[1]), "time_ns": int(time * 1e9)}
        for point in points
        if isinstance(point, list) and len(point) == 2 and (time := real(point[0])) is not None and 0 < time < 9e9
    ]


PARSER = FileParser(name="prometheus_range", accepts=accepts, parse=parse, whole=True)
