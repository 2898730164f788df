"""What most situations begin with: a job that made its first steps, places of a traceback, records of one group."""

from samples.situations.job import Job, s
from samples.situations.records import Records


def basic(
    name,
    hosts,
    per,
    t0,
    layout="flat",
    torch="2.6",
    vendor="nvidia",
    kind="plain",
    first=800,
    n=4,
    dt_=2.0,
    init=True,
    **k,
):
    j = Job(name, hosts, per, t0, layout, torch, vendor, **k)
    j.start()
    if init:
        j.init()
    return j, j.steps(first, first + n - 1, j.t0 + s(20), dt_, kind=kind)


def nodes(p, n, a=1, w=2):
    return [f"{p}{i:0{w}}" for i in range(a, a + n)]


def others(j: Job, *gone):
    return [r for r in j.ranks if r not in gone]


DATASET = [
    ("/workspace/train/pretrain.py", 91, "<module>", "main()"),
    ("/workspace/train/pretrain.py", 77, "main", "loss = trainer.train_step(step)"),
    ("/workspace/train/trainer.py", 262, "train_step", "batch = next(self.batches)"),
    ("/workspace/train/data/stream.py", 57, "next_batch", "return self.collate([self.index[i] for i in ids])"),
]
STEP = [
    ("/workspace/train/pretrain.py", 91, "<module>", "main()"),
    ("/workspace/train/pretrain.py", 77, "main", "loss = trainer.train_step(step)"),
    ("/workspace/train/trainer.py", 288, "train_step", "self.reduce_gradients()"),
    ("/workspace/train/trainer.py", 411, "reduce_gradients", "dist.all_reduce(bucket)"),
]


def world(j: Job, n0, t, done=3, dt_=2.0, absent=(), last="timed", timing=False, timeout=600000, op="all_reduce", **k):
    """records of one group of all ranks: `done` operations, then one that all but `absent` entered"""
    f = Records(j, {"0": ("default_pg", j.ranks)}, timing=timing, timeout=timeout, **k)
    f.begin(n0)
    for i in range(done):
        f.op("0", t - s((done - 1 - i) * dt_), op)
    f.op("0", t + s(dt_), op, ranks=others(j, *absent), state=last)
    return f


def XID79(pci):
    return f"NVRM: Xid (PCI:{pci}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def caught_media(j, r, t):
    j.log(r, t, "cannot open the fast decoder", "WARNING")
    j.trace(
        r,
        t + s(0.001),
        [("/opt/app/media.py", 88, "open_decoder", "return FastDecoder(path)")],
        "RuntimeError: fast decoder is not built for this platform",
    )
    j.log(r, t + s(0.002), "using the slow decoder instead", "WARNING")


def caught_retry(
    j,
    r,
    t,
    err="requests.exceptions.ConnectionError: HTTPSConnectionPool(host='tracker.internal', port=443): Max retries exceeded with url: /api/runs (Caused by NewConnectionError: Failed to establish a new connection: [Errno 110] Connection timed out)",
):
    j.log(r, t, "tracker: upload failed, attempt 1 of 5", "WARNING")
    j.trace(
        r,
        t + s(0.001),
        [
            (
                "/opt/venv/lib/python3.10/site-packages/tracker/upload.py",
                140,
                "_send",
                "r = session.post(url, data=chunk)",
            )
        ],
        err,
    )
    j.log(r, t + s(2), "tracker: upload succeeded on attempt 2")
