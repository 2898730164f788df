"""An exporter's instance is a host and a port: with a place on it, a rank of the job, where other files tell the order of its hosts."""

import json
from pathlib import Path

import pytest

from parsers import read
from tests.sources import written

HOSTS = {"rk-12": "10.4.3.22", "rk-09": "10.4.3.23", "rk-10": "10.4.3.21"}  # in the order of the launch
EACH = 2
RUN = "horovodrun -np 6 -H {} python fit.py".format(",".join(f"{host}:2" for host in HOSTS))


def answer(by: str) -> list[str]:
    series = [
        {"metric": {"__name__": "step_compute_seconds", "instance": f"{(host, ip)[by == 'addresses']}:9101", "local_rank": str(at)},
         "values": [[1740669002 + 15 * n, str(0.2 + node + at / 10)] for n in range(3)]}
        for node, (host, ip) in enumerate(HOSTS.items())
        for at in range(EACH)
    ]  # fmt: skip
    return [json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})]


@pytest.mark.parametrize("by", ["names", "addresses"])
@pytest.mark.parametrize("is_launched", [True, False])
def test_whose_series_it_is(tmp_path: Path, by: str, is_launched: bool) -> None:
    files = {"hosts": [f"{ip}   {host} {host}.ml.internal" for host, ip in HOSTS.items()], "range.json": answer(by)}
    files |= {"start.txt": [RUN]} if is_launched else {}
    found = read(str(written(tmp_path, files))).tables["devices"].select("value", "rank").unique().rows()
    expected = {
        round(0.2 + node + at / 10, 1): EACH * node + at if is_launched else None
        for node in range(3)
        for at in range(EACH)
    }
    assert {round(value, 1): rank for value, rank in found} == expected
