"""Runs that are well, whatever their logs say."""

from samples.situations.job import Job, s
from samples.situations.parts import XID79, basic, caught_media, caught_retry, world
from samples.situations.records import Records
from samples.situations.situation import case


def finish(j, t, srun=True):
    for r in j.ranks:
        j.log(r, t + s(1 + 0.01 * r), "training finished, exiting")
    j.file(
        "sacct.txt",
        f"JobID|JobName|State|ExitCode|Start|End\n{j.job}|pretrain|COMPLETED|0:0|{j.t0:%Y-%m-%dT%H:%M:%S}|{t + s(9):%Y-%m-%dT%H:%M:%S}\n{j.job}.0|python|COMPLETED|0:0|{j.t0:%Y-%m-%dT%H:%M:%S}|{t + s(8):%Y-%m-%dT%H:%M:%S}\n",
    )


def done_records(j, e, **k):
    f = Records(j, {"0": ("default_pg", j.ranks)}, **k)
    f.begin(0)
    for i in range(4):
        f.op("0", e - s(6 - 2 * i))
    f.dump()


WRITER = 'Exception in thread Thread-7 (_run):\nTraceback (most recent call last):\n  File "/usr/lib/python3.10/threading.py", line 1016, in _bootstrap_inner\n    self.run()\n  File "/opt/venv/lib/python3.10/site-packages/tensorboard/summary/writer/event_file_writer.py", line 244, in run\n    self._run()\n  File "/opt/venv/lib/python3.10/site-packages/tensorboard/summary/writer/event_file_writer.py", line 275, in _run\n    self._record_writer.write(data)\nOSError: [Errno 122] Disk quota exceeded'


@case(
    "a TensorBoard writer thread died at step 3, training went on and ended with 0: healthy",
    kinds=["healthy"],
    ranks=[],
)
def writer_error_ended_well(n: str) -> Job:
    j = Job(n, ["ok1"], 8, "2026-10-11T08:00:00", "flat", "2.6")
    j.start()
    j.init()
    e = j.steps(1, 10, j.t0 + s(20))
    j.out(0, j.t0 + s(25), WRITER, True)
    done_records(j, e)
    finish(j, e)
    return j


@case(
    "a checkpoint-upload thread's error on rank 4, later steps, all 16 finished, COMPLETED: healthy",
    kinds=["healthy"],
    ranks=[],
)
def uploader_error_ended_well(n: str) -> Job:
    j = Job(n, ["ok2", "ok3"], 8, "2026-10-12T08:00:00", "srun_l", "2.9")
    j.start()
    e = j.steps(1, 10, j.t0 + s(20))
    j.out(
        4,
        j.t0 + s(27),
        WRITER.replace("event_file_writer.py", "upload.py")
        .replace("tensorboard/summary/writer", "uploader")
        .replace(
            "OSError: [Errno 122] Disk quota exceeded",
            'botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: "https://ckpt.store.internal/run7/step3"',
        )
        .replace("Thread-7", "Thread-12"),
        True,
    )
    done_records(j, e, form="json")
    finish(j, e)
    return j


@case(
    "healthy run with media fallback, tracker retry, chained exception, all outlived by later steps of the same ranks",
    kinds=["healthy"],
    ranks=[],
)
def healthy_caught(n: str) -> Job:
    j = Job(n, ["ok4"], 4, "2026-10-13T08:00:00", "flat", "2.6")
    j.start()
    e = j.steps(1, 12, j.t0 + s(20))
    caught_media(j, 0, j.t0 + s(22.5))
    caught_retry(j, 1, j.t0 + s(26.5))
    j.log(3, j.t0 + s(29), "sample 8812 unreadable, taking the next", "WARNING")
    j.trace(
        3,
        j.t0 + s(29.01),
        [("/workspace/train/data/stream.py", 44, "read", "raise SampleError(i) from e")],
        "data.stream.SampleError: 8812",
        chain=[
            "Traceback (most recent call last):",
            '  File "/workspace/train/data/stream.py", line 41, in read',
            "    return json.loads(raw)",
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ],
    )
    done_records(j, e)
    finish(j, e)
    return j


@case(
    "healthy run; a host outside the job has Xid 79, last month's Xid stands in a job host's kernel log: healthy",
    kinds=["healthy"],
    ranks=[],
)
def healthy_foreign_xid(n: str) -> Job:
    j = Job(n, ["ok5"], 8, "2026-10-14T08:00:00", "srun_l", "2.4")
    j.start()
    j.init()
    e = j.steps(1, 10, j.t0 + s(20))
    j.kernel("ok77", e - s(3), XID79("0000:3b:00"))
    j.kernel("ok5", e - s(86400 * 31), XID79(j.pci(2)))
    done_records(j, e)
    finish(j, e)
    return j


@case(
    "records of a job in mid-flight (newest 0.3 s old, timeout 10 min), steps each 2 s, nothing said of trouble: nobody is named",
    kinds=["hang", "unknown"],
    ranks=[],
)
def running_snapshot(n: str) -> Job:
    j, e = basic(n, ["ru1"], 8, "2026-10-15T08:00:00", "flat", "2.6", n=10)
    f = world(j, 900, e, dt_=1.7, absent=[3], last="waiting")
    f.dump()
    return j


@case(
    "records with rank 6 lagging, but all ranks' logs go on for eight more steps: a witness against (unknown, no_hang): nobody",
    kinds=["unknown"],
    ranks=[],
)
def running_later_steps(n: str) -> Job:
    j, e = basic(n, ["ru2", "ru3"], 4, "2026-10-16T08:00:00", "srun_l", "2.9", n=4)
    f = world(j, 900, e, dt_=1.7, absent=[6], last="waiting", form="json")
    f.dump()
    j.steps(804, 811, e + s(2))
    return j
