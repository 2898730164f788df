"""One incident in the folders that people copy: rank 2 raises, the others lose it. The verdict is the same in each of them."""

import csv
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from forensics.analyze import analyze
from parsers.archive import exports

BEGAN = datetime(2026, 11, 24, 9, tzinfo=UTC)
RANKS, BAD = 4, 2
Line = tuple[float, int, str, str]  # seconds, rank, stream, text


def said(rank: int, *, bare: bool = False) -> Iterator[Line]:
    for step in range(6):
        yield step * 1.5 + rank * 0.01, rank, "stdout", f"INFO train step {step} loss {2.5 - step * 0.1:.4f}"
    site = "/opt/conda/lib/python3.11/site-packages/torch"
    own = ['  File "/app/train.py", line 61, in main', "    batch = next(batches)", '  File "/app/data.py", line 34, in next_batch',
           '    raise ValueError(f"shard {name} holds no samples")', "ValueError: shard 00017 holds no samples"]  # fmt: skip
    lost = ['  File "/app/train.py", line 70, in main', "    loss.backward()", f'  File "{site}/_tensor.py", line 581, in backward',
            "    torch.autograd.backward(",
            "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:41234"]  # fmt: skip
    head = ["Traceback (most recent call last):", '  File "/app/train.py", line 88, in <module>', "    main()"]
    for number, text in enumerate([*head, *(own if rank == BAD else lost)]):
        at = (9.2 if rank == BAD else 9.9 + rank * 0.01) + number * 0.0001
        yield at, rank, "stderr", text if bare else f"[rank{rank}]: {text}"


def merged(bare: bool) -> list[Line]:
    return sorted(line for rank in range(RANKS) for line in said(rank, bare=bare))


def pod(rank: int) -> str:
    return "llm-master-0" if rank == 0 else f"llm-worker-{rank - 1}"


def moment(seconds: float) -> datetime:
    return BEGAN + timedelta(seconds=seconds)


def iso(seconds: float) -> str:
    return moment(seconds).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def nanoseconds(seconds: float) -> str:
    return str(int(moment(seconds).timestamp() * 1e6) * 1000)


def labels(rank: int, stream: str) -> dict[str, str]:
    return {"cluster": "a", "container": "pytorch", "namespace": "train", "pod": pod(rank), "stream": stream}


def ecs(line: Line) -> dict[str, object]:
    seconds, rank, stream, text = line
    place = {"pod": {"name": pod(rank)}, "namespace": "train", "node": {"name": f"gpu{rank:03}"}}
    return {"@timestamp": iso(seconds)[:23] + "Z", "message": text, "stream": stream, "kubernetes": place}


def lines(texts: Iterator[str] | list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


Files = dict[str, str]


def var_log_pods(bare: bool) -> Files:
    return {
        f"var/log/pods/train_{pod(rank)}_{rank}f0a1c2d-1111-2222-3333-444455556666/pytorch/0.log": lines(
            f"{iso(at)} {stream} F {text}" for at, _, stream, text in said(rank, bare=bare)
        )
        for rank in range(RANKS)
    }


def var_log_containers(bare: bool) -> Files:
    return {
        f"{pod(rank)}_train_pytorch-{'ab12' * 16}.log": lines(
            json.dumps({"log": text + "\n", "stream": stream, "time": iso(at)})
            for at, _, stream, text in said(rank, bare=bare)
        )
        for rank in range(RANKS)
    }


def kubectl_logs_prefix(bare: bool) -> Files:
    return {"logs.txt": lines(f"[pod/{pod(rank)}/pytorch] {text}" for _, rank, _, text in merged(bare))}


def kubectl_logs_prefix_timestamps(bare: bool) -> Files:
    return {"logs.txt": lines(f"[pod/{pod(rank)}/pytorch] {iso(at)} {text}" for at, rank, _, text in merged(bare))}


def ray_session(bare: bool) -> Files:
    base = "session_2026-11-24_08-59-58_123456_77/logs"
    files = {
        f"{base}/raylet.out": "[2026-11-24 08:59:59,000 I 77 77] (raylet) main.cc:226: Setting cluster ID to: aa\n"
    }
    for rank in range(RANKS):
        for ending, wanted in (("out", "stdout"), ("err", "stderr")):
            texts = (text for _, _, stream, text in said(rank, bare=bare) if stream == wanted)
            files[f"{base}/worker-{str(rank) * 56}-01000000-{5100 + rank}.{ending}"] = lines(
                [":job_id:01000000", *texts]
            )
    driver = (f"(RayTrainWorker pid={5100 + rank}, ip=10.0.0.{rank + 1}) {text}" for _, rank, _, text in merged(bare))
    return files | {f"{base}/job-driver-raysubmit_x.log": lines(driver)}


def slurm_tasks(bare: bool) -> Files:
    return {
        f"48213_{rank}.{ending}": lines(text for _, _, stream, text in said(rank, bare=bare) if stream == wanted)
        for rank in range(RANKS)
        for ending, wanted in (("out", "stdout"), ("err", "stderr"))
    }


def loki_query_range(bare: bool) -> Files:
    """As Loki answers: newest first within each stream."""
    streams = [
        {"stream": labels(rank, wanted), "values": [[nanoseconds(at), text] for at, _, stream, text in said(rank, bare=bare) if stream == wanted][::-1]}
        for rank in range(RANKS)
        for wanted in ("stdout", "stderr")
    ]  # fmt: skip
    return {
        "loki.json": json.dumps(
            {"status": "success", "data": {"resultType": "streams", "result": streams, "stats": {}}}
        )
    }


def logcli_jsonl(bare: bool) -> Files:
    rows = [
        json.dumps({"labels": labels(rank, stream), "line": text, "timestamp": iso(at)})
        for at, rank, stream, text in merged(bare)
    ]
    return {"loki.jsonl": lines(rows[::-1])}


def logcli_default(bare: bool) -> Files:
    def shown(line: Line) -> str:
        at, rank, stream, text = line
        told = ", ".join(f'{name}="{value}"' for name, value in labels(rank, stream).items())
        return f"{iso(at)[:19]}Z {{{told}}} {text}"

    return {"loki.txt": lines([shown(line) for line in merged(bare)][::-1])}


def grafana_json(bare: bool) -> Files:
    rows = [
        {"line": text, "timestamp": nanoseconds(at), "fields": labels(rank, stream)}
        for at, rank, stream, text in merged(bare)
    ]
    return {"Explore-logs-2026-11-24.json": json.dumps(rows[::-1])}


def elasticdump(bare: bool) -> Files:
    rows = ({"_index": "logs", "_id": f"id{at}", "_source": ecs(line)} for at, line in enumerate(merged(bare)))
    return {"logs.jsonl": lines(json.dumps(row) for row in rows)}


def elasticsearch_search(bare: bool) -> Files:
    hits = [{"_index": "logs", "_id": f"id{at}", "_source": ecs(line)} for at, line in enumerate(merged(bare))]
    return {
        "search.json": json.dumps(
            {"took": 3, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": hits[::-1]}}
        )
    }


def kibana_csv(bare: bool) -> Files:
    shown = io.StringIO()
    writer = csv.writer(shown, quoting=csv.QUOTE_ALL)
    writer.writerow(["@timestamp", "kubernetes.pod.name", "message"])
    for at, rank, _, text in merged(bare)[::-1]:
        time = moment(at)
        writer.writerow([f"{time:%b} {time.day}, {time:%Y @ %H:%M:%S}.{time.microsecond // 1000:03}", pod(rank), text])
    return {"Untitled discover search.csv": shown.getvalue()}


FORMS = [var_log_pods, var_log_containers, kubectl_logs_prefix, kubectl_logs_prefix_timestamps, ray_session, slurm_tasks,
         loki_query_range, logcli_jsonl, logcli_default, grafana_json, elasticdump, elasticsearch_search, kibana_csv]  # fmt: skip
EXPORTS = FORMS[FORMS.index(loki_query_range) :]


def written(files: Files, place: Path) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_folder_is_recognised_and_the_rank_is_named(form: Callable[[bool], Files], tmp_path: Path) -> None:
    report = analyze(written(form(False), tmp_path))
    assert report.coverage.ranks_seen == ["0-3"]
    verdict = report.verdict
    assert (verdict.kind, verdict.cause, verdict.ranks) == ("crash", "exception", [BAD])
    assert verdict.code is not None and (verdict.code.file, verdict.code.line) == ("/app/data.py", 34)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_where_no_line_tells_its_rank_nobody_else_is_named(form: Callable[[bool], Files], tmp_path: Path) -> None:
    report = analyze(written(form(True), tmp_path))
    assert (report.verdict.kind, report.verdict.cause) == ("crash", "exception")
    assert report.verdict.ranks in ([], [BAD]) and set(report.verdict.hosts) <= {pod(BAD), "10.0.0.3"}


@pytest.mark.parametrize("form", [var_log_pods, var_log_containers, kubectl_logs_prefix, loki_query_range, grafana_json,
                                  elasticdump, elasticsearch_search, kibana_csv], ids=lambda form: form.__name__)  # fmt: skip
def test_the_pod_is_told_where_the_form_tells_it(form: Callable[[bool], Files], tmp_path: Path) -> None:
    assert analyze(written(form(True), tmp_path)).verdict.hosts == [pod(BAD)]


def test_an_export_in_an_archive_is_the_same(tmp_path: Path) -> None:
    folder = written(elasticsearch_search(False), tmp_path / "bundle")
    with tarfile.open(tmp_path / "bundle.tar.gz", "w:gz") as archive:
        archive.add(folder, "bundle")
    assert analyze(tmp_path / "bundle.tar.gz").verdict.ranks == [BAD]


# --- what becomes lines, and what stays ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", EXPORTS, ids=lambda form: form.__name__)
def test_lines_stand_in_order_of_time_and_are_no_export_again(form: Callable[[bool], Files]) -> None:
    (text,) = form(False).values()
    assert exports.may_be(text.encode())
    plain = exports.lines_of(text.encode())
    assert plain is not None and len(plain.splitlines()) == len(merged(False))
    first, last = (plain.splitlines()[at].decode() for at in (0, -1))
    assert "step 0 " in first and "Connection closed by peer" in last
    assert exports.lines_of(plain) is None


def test_a_message_of_several_lines_is_several_lines() -> None:
    rows = [
        {"_source": {"@timestamp": f"2026-11-24T09:00:0{n}Z", "message": f"first {n}\nsecond {n}"}} for n in range(3)
    ]
    plain = exports.lines_of("\n".join(map(json.dumps, rows)).encode())
    assert plain is not None and len(plain.splitlines()) == 6


@pytest.mark.parametrize(
    "text",
    [
        '{"version": "2.9", "entries": [{"collective_seq_id": 1, "state": "completed"}], "message": "x"}',
        '[{"step": 5, "loss": 2.1}, {"step": 6, "loss": 2.0, "message": "saved"}]',
        '{"items": [{"kind": "Event", "message": "Killing container", "lastTimestamp": "2026-11-24T09:00:00Z"}]}',
        '{"log": "step 1\\n", "time": "2026-11-24T09:00:00Z"}\n{"log": "step 2\\n", "time": "2026-11-24T09:00:01Z"}\n',
        "rank,step,loss\n0,1,2.5\n1,1,2.5\n",
        "2026-11-24 09:00:00 step 1\n2026-11-24 09:00:01 step 2\n2026-11-24 09:00:01 step 3\n",
        "2026-11-24 09:00:02 step 3\nno time\n2026-11-24 09:00:01 step 2\n",
        '{"hits": {"hits": []}}', '{"data": {"result": [{"stream": {}, "values": "x"}]}}', '[{"message": 1}, {"message": 2}]',
        '{"message": "cut', "[" * 100_000 + '"message"', '"message","time"\n"a', "",
    ],
)  # fmt: skip
def test_anything_else_stays_as_it_is(text: str) -> None:
    assert exports.lines_of(text.encode()) is None
