"""A Dask cluster and a storage behind a URL give what one process gives; workers that die or see other files cost time only.

Needs what `make test-engine` installs: Dask, s3fs and moto.
"""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parsers
from forensics.analyze import conclude_evidence
from parsers.engine import dask_engine
from parsers.engine.ledger import Map
from parsers.schema.evidence import BundleError
from parsers.schema.parser import Source
from parsers.schema.tables import Tables
from reports import json as document

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
BUNDLES = ("data_loader_stall", "order_inversion", "rank_killed", "numerics_tensor_input_nan")


@pytest.fixture(autouse=True)
def several_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.engine.ledger.UNIT_FILES", 2)


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as started:
        yield started


def workers(cluster: Any) -> Map:
    return dask_engine.on_dask("dask://" + cluster.scheduler_address.removeprefix("tcp://"))


def same(one: parsers.Evidence, other: parsers.Evidence) -> None:
    for name, frame in one.tables.items():
        assert frame.equals(other.tables[name]), name
    assert document.render(conclude_evidence(one)) == document.render(conclude_evidence(other))


@pytest.mark.filterwarnings("ignore")
def test_the_same_tables_as_in_one_process(cluster: Any) -> None:
    for name in BUNDLES:
        bundle = str(SAMPLES / name / "bundle")
        same(parsers.read(bundle), parsers.read(bundle, map=workers(cluster)))


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_midway_costs_nothing(cluster: Any, tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"rank_{number}.log").write_text(f"[rank{number}]: started\nRuntimeError: boom {number}\n")

    def killed(work: Any, units: Any) -> Iterator[Tables]:
        for count, found in enumerate(workers(cluster)(work, units)):
            if count == 3:
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
            yield found

    same(parsers.read(str(tmp_path)), parsers.read(str(tmp_path), map=killed))


def dies_on_workers(unit: tuple[Source, ...]) -> Tables:
    """As a unit that no worker has the memory for."""
    if _is_worker():
        os._exit(9)
    return {}


def _is_worker() -> bool:
    from distributed import get_worker

    try:
        return get_worker() is not None
    except ValueError:
        return False


@pytest.mark.filterwarnings("ignore")
def test_what_kills_every_worker_is_done_here(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "rank_0.log"
    file.write_text("x")
    source = next(iter(parsers.engine.ledger.open_bundle(str(file)).sources))  # type: ignore[attr-defined]
    assert list(workers(cluster)(dies_on_workers, [(source,)])) == [{}]


@pytest.mark.filterwarnings("ignore")
def test_files_that_workers_see_otherwise_are_read_here(cluster: Any, tmp_path: Path) -> None:
    file = tmp_path / "rank_0.log"
    file.write_text("[rank0]: ValueError: boom\n")
    bundle = parsers.engine.ledger.open_bundle(str(file))  # type: ignore[attr-defined]
    unit = tuple(bundle.sources)
    seen = dask_engine._seen(unit)
    file.write_text("[rank0]: ValueError: another\n")
    assert dask_engine._read_there(lambda _: {}, unit, seen) is None


@pytest.mark.parametrize("address", ["dask://", "tcp://node0:8786", "dask://node0", "dask://node0:port"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ValueError, match="an engine is dask://HOST:PORT"):
        dask_engine.on_dask(address)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_engine, "_ANSWERS_S", 1)
    with pytest.raises(BundleError, match="no Dask scheduler answers at tcp"):
        parsers.read(str(SAMPLES / "rank_killed" / "bundle"), map=dask_engine.on_dask("dask://127.0.0.1:9"))


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An S3 server with the sample in it, folder and archive."""
    server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    started = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    started.start()
    host, port = started.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()  # of the server before
    storage = s3fs.S3FileSystem(skip_instance_cache=True)
    storage.mkdir(f"job{port}")  # what a server before this one kept is still there
    storage.put(str(SAMPLES / "order_inversion" / "bundle"), f"job{port}/bundle", recursive=True)
    yield f"s3://job{port}/bundle"
    started.stop()


@pytest.mark.filterwarnings("ignore")
def test_object_storage(bucket: str) -> None:
    same(parsers.read(str(SAMPLES / "order_inversion" / "bundle")), parsers.read(bucket))


@pytest.mark.filterwarnings("ignore")
def test_object_storage_read_by_workers(bucket: str, cluster: Any) -> None:
    same(parsers.read(str(SAMPLES / "order_inversion" / "bundle")), parsers.read(bucket, map=workers(cluster)))


@pytest.mark.filterwarnings("ignore")
def test_a_url_where_nothing_is(bucket: str) -> None:
    with pytest.raises(BundleError, match="no file there"):
        parsers.read(bucket + "-of-another")


def test_a_url_of_files_and_of_an_archive(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    bundle = SAMPLES / "order_inversion" / "bundle"
    shutil.make_archive(str(tmp_path / "bundle"), "gztar", bundle)
    whole = parsers.read(str(bundle))
    same(whole, parsers.read(f"file://{bundle}"))
    packed = parsers.read(f"file://{tmp_path}/bundle.tar.gz")
    assert packed.tables["operations"].equals(whole.tables["operations"])


def test_a_url_of_an_unknown_storage() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(BundleError, match="not-a-storage"):
        parsers.read("not-a-storage://x/y")
