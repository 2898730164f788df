"""Stacks of one process as py-spy and faulthandler print them."""

from samples.situations.job import Job

# What a rank was at, innermost frame first: (function, file, line).
STACKS = {
    "allreduce": [
        ("all_reduce", "torch/distributed/distributed_c10d.py", 2506),
        ("wrapper", "torch/distributed/c10d_logger.py", 81),
        ("reduce_gradients", "trainer.py", 411),
        ("train_step", "trainer.py", 288),
        ("main", "pretrain.py", 77),
        ("<module>", "pretrain.py", 91),
    ],
    "sync": [
        ("synchronize", "torch/cuda/__init__.py", 985),
        ("clip_grad_norm", "trainer.py", 340),
        ("train_step", "trainer.py", 291),
        ("main", "pretrain.py", 77),
        ("<module>", "pretrain.py", 91),
    ],
    "data": [
        ("select", "selectors.py", 416),
        ("wait", "multiprocessing/connection.py", 931),
        ("_poll", "multiprocessing/connection.py", 424),
        ("get", "multiprocessing/queues.py", 113),
        ("_try_get_data", "torch/utils/data/dataloader.py", 1251),
        ("_get_data", "torch/utils/data/dataloader.py", 1414),
        ("_next_data", "torch/utils/data/dataloader.py", 1465),
        ("__next__", "torch/utils/data/dataloader.py", 708),
        ("next_batch", "data/stream.py", 57),
        ("train_step", "trainer.py", 262),
        ("main", "pretrain.py", 77),
        ("<module>", "pretrain.py", 91),
    ],
    "ckpt": [
        ("write", "torch/serialization.py", 778),
        ("_save", "torch/serialization.py", 1105),
        ("save", "torch/serialization.py", 850),
        ("save_checkpoint", "checkpointing.py", 233),
        ("main", "pretrain.py", 83),
        ("<module>", "pretrain.py", 91),
    ],
    "compile": [
        ("compile_fx_inner", "torch/_inductor/compile_fx.py", 642),
        ("_compile", "torch/_dynamo/convert_frame.py", 1025),
        ("_convert_frame", "torch/_dynamo/convert_frame.py", 1231),
        ("forward", "model.py", 118),
        ("train_step", "trainer.py", 270),
        ("main", "pretrain.py", 77),
        ("<module>", "pretrain.py", 91),
    ],
    "lock": [
        ("acquire", "filelock/_unix.py", 42),
        ("load_dataset_cache", "data/cache.py", 66),
        ("next_batch", "data/stream.py", 49),
        ("train_step", "trainer.py", 262),
        ("main", "pretrain.py", 77),
        ("<module>", "pretrain.py", 91),
    ],
}


def pyspy(j: Job, r: int, kind: str, path: str | None = None, state: str | None = None) -> None:
    fr = STACKS[kind]
    path = path or f"stacks/pyspy_rank_{r}.txt"
    j.file(
        path,
        f'Process {j.pid(r)}: {j.sp.split("/lib/")[0]}/bin/python -u {j.script} --config cfg/7b.yaml\nPython v3.10.12 ({j.sp.split("/lib/")[0]}/bin/python3.10)\n\nThread {j.pid(r)} ({state or ("active" if kind == "compile" else "idle")}): "MainThread"\n'
        + "".join(f"    {a} ({b}:{c})\n" for a, b, c in fr)
        + f'Thread {j.pid(r) + 52} (idle): "Thread-1"\n    wait (threading.py:324)\n    run (tqdm/_monitor.py:60)\n    _bootstrap_inner (threading.py:1016)\n    _bootstrap (threading.py:973)\n',
    )


def faulthandler(j: Job, r: int, kind: str, path: str | None = None) -> None:
    def full(b: str) -> str:
        return (
            b
            if b.startswith("/")
            else (
                f"{j.sp}/{b}"
                if b.startswith(("torch/", "filelock/"))
                else f"/usr/lib/python3.10/{b}"
                if b.startswith(("selectors", "multiprocessing", "threading"))
                else f"{j.script.rsplit('/', 1)[0]}/{b}"
            )
        )

    j.file(
        path or f"stacks/faulthandler_rank_{r}.txt",
        f'Thread 0x00007f{r:02x}ab2296c0 (most recent call first):\n  File "/usr/lib/python3.10/threading.py", line 324 in wait\n  File "{j.sp}/tqdm/_monitor.py", line 60 in run\n  File "/usr/lib/python3.10/threading.py", line 1016 in _bootstrap_inner\n\nCurrent thread 0x00007f{r:02x}caa1db80 (most recent call first):\n'
        + "".join(f'  File "{full(b)}", line {c} in {a}\n' for a, b, c in STACKS[kind]),
    )
