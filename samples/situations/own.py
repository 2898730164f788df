"""Whose failure it is: exceptions of a rank's own, wherever they came out."""

from samples.situations.job import Job, s
from samples.situations.parts import DATASET, basic, others
from samples.situations.situation import CRASH, case

SP = "/opt/venv/lib/python3.10/site-packages"
MAIN = [
    ("/workspace/train/pretrain.py", 91, "<module>", "main()"),
    ("/workspace/train/pretrain.py", 77, "main", "loss = trainer.train_step(step)"),
]
LOGGED = (f"{SP}/torch/distributed/c10d_logger.py", 81, "wrapper", "return func(*args, **kwargs)")
C10D = f"{SP}/torch/distributed/distributed_c10d.py"
BAD_SHARD = [
    *MAIN,
    ("/workspace/train/data/stream.py", 57, "next_batch", "sample = self.decode(self.read(index))"),
    ("/workspace/train/data/stream.py", 102, "decode", 'raise ValueError(f"bad record header in {self.path}")'),
]


def one_host(n: str, day: int, torch: str = "2.6", layout: str = "srun_l", per: int = 8) -> tuple:
    """(job, when its last step ended): one host with `per` ranks."""
    return basic(n, [f"node{day:02}"], per, f"2026-10-{day:02}T09:00:00", layout, torch)


def raised(j: Job, r: int, t, frames, error: str, **k) -> None:
    """One rank's exception that ends its process, which srun sees."""
    j.trace(r, t, frames, error, **k)
    j.srun(t + s(3), f"srun: error: {j.host(r)}: task {r}: Exited with exit code 1")


def gave_up(j: Job, t, seq: int, *gone: int, **k) -> None:
    """All but `gone` time out ten minutes later, and abort."""
    left = others(j, *gone)
    j.all_timeout(t + s(602), seq, left, **k)
    if left:
        j.srun(t + s(612), f"srun: error: {j.hosts[0]}: tasks {','.join(map(str, left))}: Aborted (core dumped)")


@case(
    "rank 2 gave all_gather a list of 7 for 8: its own wrong argument, checked before anything is sent; 7 waited and timed out",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
    code=("/workspace/train/trainer.py", 371),
)
def a01_wrong_argument(n: str) -> Job:
    j, e = one_host(n, 1, "2.4")
    frames = [
        *MAIN,
        ("/workspace/train/trainer.py", 371, "gather_lengths", "dist.all_gather(lengths, mine, group=self.cpu_group)"),
        LOGGED,
        (C10D, 3108, "all_gather", "work = group.allgather([tensor_list], [tensor])"),
    ]
    j.trace(
        2,
        e + s(1),
        frames,
        "ValueError: ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length 8, got 7)",
    )
    # its loader's threads keep the process, and with it its connections, for another ten minutes
    j.srun(e + s(604), f"srun: error: {j.hosts[0]}: task 2: Exited with exit code 1")
    for r in others(j, 2):
        why = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete"
        j.log(r, e + s(601), "gather_lengths did not return for 600 s", "ERROR")
        j.trace(r, e + s(601.1 + 0.01 * r), frames, why)
    return j


@case(
    "the same call with another dtype on rank 2: torch's own check raised a ValueError in it; 7 timed out",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
    code=("/workspace/train/trainer.py", 371),
)
def a01_wrong_dtype(n: str) -> Job:
    j, e = one_host(n, 1)
    raised(
        j,
        2,
        e + s(1),
        [
            *MAIN,
            ("/workspace/train/trainer.py", 371, "gather_losses", "dist.all_gather(losses, mine)"),
            LOGGED,
            (C10D, 3682, "all_gather", "_ensure_all_tensors_same_dtype(tensor_list, tensor)"),
            (C10D, 1173, "_ensure_all_tensors_same_dtype", "raise ValueError("),
        ],
        "ValueError: Invalid usage of tensors with different dtypesFound torch.float32 and  torch.bfloat16",
    )
    gave_up(j, e, 5017, 2, op="ALLGATHER", numel=8, numel_out=64)
    return j


@case(
    "rank 2 had no memory for its own buffer inside FSDP's all-gather; a package of that name is no call that waits",
    kinds=CRASH,
    causes=["gpu_oom"],
    ranks=[2],
    code=("/workspace/train/trainer.py", 281),
)
def a02_memory_in_fsdp(n: str) -> Job:
    j, e = one_host(n, 2)
    fsdp = f"{SP}/torch/distributed/fsdp/_fully_shard"
    raised(
        j,
        2,
        e + s(1),
        [
            *MAIN,
            ("/workspace/train/trainer.py", 281, "train_step", "logits = self.model(tokens)"),
            (f"{SP}/torch/nn/modules/module.py", 1845, "_call_impl", "return inner()"),
            (f"{fsdp}/_fsdp_state.py", 234, "_pre_forward", "args, kwargs = self._fsdp_param_group.pre_forward("),
            (f"{fsdp}/_fsdp_param_group.py", 290, "unshard", "self._all_gather_result = foreach_all_gather("),
            (f"{fsdp}/_fsdp_collectives.py", 178, "foreach_all_gather", "all_gather_output = torch.empty("),
        ],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 2 has a total capacity of 79.11 GiB of which 1.22 GiB is free. Process 8812 has 77.86 GiB memory in use. Of the allocated memory 70.33 GiB is allocated by PyTorch, and 5.10 GiB is reserved by PyTorch but unallocated.",
    )
    gave_up(j, e, 4108, 2, op="_ALLGATHER_BASE", numel=1048576, numel_out=8388608)
    return j


@case(
    "rank 2's label is out of range: the device's assertion says so, the traceback only shows where the host noticed",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
)
def a03_device_assertion(n: str) -> Job:
    j, e = one_host(n, 3)
    for thread in (5, 37):
        j.out(
            2,
            e + s(0.9),
            f"/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [{thread},0,0] Assertion `t >= 0 && t < n_classes` failed.",
            True,
        )
    raised(
        j,
        2,
        e + s(1),
        [*MAIN, ("/workspace/train/trainer.py", 301, "train_step", "return loss.item()")],
        "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
    )
    gave_up(j, e, 3307, 2)
    return j


@case(
    "ranks 2 and 5 of 8 read the same bad file and raised alike in their own code; six timed out: both",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2, 5],
    code=("/workspace/train/data/stream.py", 102),
)
def a05_two_read_one_bad_file(n: str) -> Job:
    j, e = one_host(n, 4)
    for r in (2, 5):
        raised(j, r, e + s(1 + 0.2 * r), BAD_SHARD, "ValueError: bad record header in /data/c4/shard_00911.bin")
    gave_up(j, e, 6011, 2, 5)
    return j


@case(
    "a loader worker of rank 1 raised and rank 1 with it; 3 is the number of the worker, no rank",
    kinds=CRASH,
    causes=["exception"],
    ranks=[1],
    code=("/workspace/train/data/stream.py", 102),
)
def a07_number_of_a_worker(n: str) -> Job:
    j, e = one_host(n, 5)
    loader = f"{SP}/torch/utils/data"
    raised(
        j,
        1,
        e + s(1),
        [
            *MAIN,
            (f"{loader}/dataloader.py", 733, "__next__", "data = self._next_data()"),
            (f"{loader}/dataloader.py", 1515, "_next_data", "return self._process_data(data, worker_id)"),
            (f"{SP}/torch/_utils.py", 733, "reraise", "raise exception"),
        ],
        "ValueError: Caught ValueError in DataLoader worker process 3.\nOriginal Traceback (most recent call last):\n"
        f'  File "{loader}/_utils/worker.py", line 349, in _worker_loop\n    data = fetcher.fetch(index)\n'
        '  File "/workspace/train/data/stream.py", line 102, in decode\n    raise ValueError(f"bad record header in {self.path}")\n'
        "ValueError: bad record header in /data/c4/shard_00017.bin\n",
    )
    gave_up(j, e, 6012, 1)
    return j


@case(
    "rank 4's KeyError ended the job; the node was preempted ten seconds later: the crash is the story, the stop comes second",
    kinds=CRASH,
    causes=["exception"],
    ranks=[4],
)
def a09_preempted_after_the_crash(n: str) -> Job:
    j, e = one_host(n, 6)
    raised(j, 4, e + s(1), DATASET, "KeyError: 'shard_00417'")
    t = e + s(11)
    j.srun(
        t,
        f"slurmstepd: error: *** JOB {j.job} ON {j.hosts[0]} CANCELLED AT {t:%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***",
    )
    j.srun(t + s(1), f"srun: error: {j.hosts[0]}: tasks 0-3,5-7: Terminated")
    return j


@case(
    "rank 2's checkpoint thread found the disk full; its future raised that again in the main thread",
    kinds=CRASH,
    causes=["disk_full"],
    ranks=[2],
    code=("/workspace/train/checkpointing.py", 233),
)
def a14_disk_full_in_a_future(n: str) -> Job:
    j, e = one_host(n, 7)
    futures = "/usr/lib/python3.10/concurrent/futures"
    raised(
        j,
        2,
        e + s(1),
        [
            MAIN[0],
            ("/workspace/train/pretrain.py", 83, "main", "self.pending_save.result()"),
            (f"{futures}/_base.py", 458, "result", "return self.__get_result()"),
            (f"{futures}/_base.py", 403, "__get_result", "raise self._exception"),
            (f"{futures}/thread.py", 58, "run", "result = self.fn(*self.args, **self.kwargs)"),
            ("/workspace/train/checkpointing.py", 233, "write_shard", "stream.write(block)"),
        ],
        "OSError: [Errno 28] No space left on device",
    )
    gave_up(j, e, 710, 2)
    return j


@case(
    "the reward service did not answer rank 2 and rank 2 did not survive that: its own exception, and the service is told",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
    cites=["reward.internal"],
    code=("/workspace/train/reward.py", 44),
)
def a21_service_does_not_answer(n: str) -> Job:
    j, e = one_host(n, 8)
    raised(
        j,
        2,
        e + s(31),
        [
            *MAIN,
            ("/workspace/train/reward.py", 44, "score", "reply = requests.post(self.url, json=batch, timeout=30)"),
            (f"{SP}/requests/api.py", 115, "post", 'return request("post", url, data=data, json=json, **kwargs)'),
            (f"{SP}/requests/sessions.py", 703, "send", "r = adapter.send(request, **kwargs)"),
            (f"{SP}/requests/adapters.py", 713, "send", "raise ReadTimeout(e, request=request)"),
        ],
        "requests.exceptions.ReadTimeout: HTTPConnectionPool(host='reward.internal', port=8080): Read timed out. (read timeout=30)",
    )
    gave_up(j, e, 812, 2)
    return j


@case(
    "rank 2's KeyError came up through torchrun's @record wrapper, which is no call that waits",
    kinds=CRASH,
    causes=["exception"],
    ranks=[2],
    code=("/workspace/train/data/stream.py", 57),
)
def a22_wrapped_by_record(n: str) -> Job:
    j, e = one_host(n, 9, layout="torchrun")
    wrapper = f"{SP}/torch/distributed/elastic/multiprocessing/errors/__init__.py"
    j.trace(
        2,
        e + s(1),
        [DATASET[0], (wrapper, 355, "wrapper", "return f(*args, **kwargs)"), *DATASET[1:]],
        "KeyError: 'shard_00417'",
    )
    j.torchrun_fail(j.hosts[0], e + s(2), [(2, 1, "")], 2, closing=others(j, 2))
    return j


@case(
    "NCCL on rank 2 found no room in /dev/shm inside all_reduce: known in words, so rank 2's, disk_full; 7 timed out",
    kinds=CRASH,
    causes=["disk_full"],
    ranks=[2],
)
def a23_no_shared_memory(n: str) -> Job:
    j, e = one_host(n, 10)
    own = f"{j.host(2)}:{j.pid(2)}:{j.pid(2)} [2]"
    segment = "Error while creating shared memory segment /dev/shm/nccl-UbzKZ9 (size 9637888), error: No space left on device (28)"
    j.out(
        2,
        e + s(0.9),
        f"\n{own} misc/shmutils.cc:87 NCCL WARN Error: failed to extend /dev/shm/nccl-UbzKZ9 to 9637892 bytes, error: No space left on device (28)",
        True,
    )
    j.out(2, e + s(0.9), f"\n{own} misc/shmutils.cc:129 NCCL WARN {segment}", True)
    raised(
        j,
        2,
        e + s(1),
        [
            *MAIN,
            ("/workspace/train/trainer.py", 411, "reduce_gradients", "dist.all_reduce(bucket, group=self.replicas)"),
            LOGGED,
            (C10D, 2810, "all_reduce", "work = group.allreduce([tensor], opts)"),
        ],
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
        f"ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \nLast error:\n{segment}",
    )
    gave_up(j, e, 333, 2)
    return j


@case(
    "rank 5's KeyError is shown; rank 2 logs in words that nobody knows, which is no reason to doubt: 5, and 2 left a record",
    kinds=CRASH,
    causes=["exception"],
    ranks=[5],
    seen=["0-7"],
)
def a49_unread_log_beside(n: str) -> Job:
    j, e = one_host(n, 11, layout="srun_files")
    name = f"{j.job}_2_log"
    j.files = {path: rows for path, rows in j.files.items() if not path.startswith(name)}
    j.file(f"{name}.out", "".join(f"~ {k} :: quorl {k * 37 % 101} zeb, frond at {k * 3}\n" for k in range(60)))
    raised(j, 5, e + s(1), DATASET, "KeyError: 'shard_00417'")
    gave_up(j, e, 451, 2, 5)
    return j


@case(
    "5 of 8 raised alike on one corrupt shard, the launcher stopped the rest: more than half raised it, so nobody; the workload",
    kinds=CRASH,
    causes=["exception"],
    ranks=[],
    domain="workload",
)
def a52_most_raise_alike(n: str) -> Job:
    j, e = one_host(n, 12, layout="torchrun")
    for r in (0, 2, 3, 5, 6):
        j.trace(r, e + s(1 + 0.01 * r), BAD_SHARD, "ValueError: bad record header in /data/c4/shard_00911.bin")
    rows = [(r, 1, "") for r in (0, 2, 3, 5, 6)] + [(r, -15, "SIGTERM") for r in (1, 4, 7)]
    j.torchrun_fail(j.hosts[0], e + s(2), rows, 2, closing=[1, 4, 7])
    return j


@case(
    "by the ranks' own stamps 5 raised first; 2 lost its connection, was reaped first and is the launcher's 'first observed failure', which is no witness of the order",
    kinds=CRASH,
    causes=["exception"],
    ranks=[5],
)
def a36_reaped_first(n: str) -> Job:
    j, e = one_host(n, 13, layout="flat")
    j.log(5, e + s(1), "KeyError while reading the index, leaving", "ERROR")
    j.trace(5, e + s(1.01), DATASET, "KeyError: 'shard_00417'")
    j.log(2, e + s(4), "all_reduce failed", "ERROR")
    j.trace(
        2,
        e + s(4.01),
        [
            *MAIN,
            ("/workspace/train/trainer.py", 411, "reduce_gradients", "dist.all_reduce(bucket)"),
            LOGGED,
            (C10D, 2810, "all_reduce", "work = group.allreduce([tensor], opts)"),
        ],
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2247, remote process exited or there was a network error, NCCL version 2.21.5\n"
        f"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer {j.hosts[0]}<51234>",
    )
    j.torchrun_fail(j.hosts[0], e + s(5), [(2, 1, ""), (5, 1, "")], 2, closing=others(j, 2, 5))
    return j


@case(
    "two different own exceptions on two hosts, no common clock shown (steps on one, events in UTC): both, or both suspects",
    kinds=CRASH,
    ranks_any=[[], [1, 6]],
    suspects_any=[[], [1, 6]],
    told=[1, 6],
)
def a35_two_clocks(_: str) -> Job:
    j = Job("llm-7b", [f"llm-7b-worker-{i}" for i in range(2)], 4, "2026-10-14T09:00:00", "flat", "2.6")
    j.start()
    e = j.steps(70, 76, j.t0 + s(15), ranks=range(4))
    for r, error, after in ((1, "KeyError: 'shard_00417'", 20), (6, "IndexError: list index out of range", 2)):
        j.log(r, e + s(after), "leaving on an error", "ERROR")
        j.trace(r, e + s(after + 0.01), DATASET, error)
    t = e + s(30) - s(3600 * 8)
    j.file(
        "events.txt",
        "LAST SEEN              TYPE      REASON    OBJECT                  MESSAGE\n"
        + "".join(
            f"{t:%Y-%m-%dT%H:%M:%SZ}   Warning   BackOff   pod/{h}   Back-off restarting failed container trainer in pod {h}\n"
            for h in j.hosts
        ),
    )
    return j


@case(
    "one log without ranks: lora's rank and a device's number stand before a KeyError: the crash is shown, its process cannot be told",
    kinds=CRASH,
    causes=["exception"],
    ranks=[],
    suspects_any=[[]],
)
def a12_rank_of_an_adapter(n: str) -> Job:
    return adapter(n, "{at} INFO finetune: lora: rank=16 alpha=32 dropout=0.05 device=cuda:0")


@case("the same in a prefixless line of a library", kinds=CRASH, causes=["exception"], ranks=[], suspects_any=[[]])
def a12_rank_in_prose(n: str) -> Job:
    return adapter(n, "LoraConfig(rank=3, alpha=32) on cuda:0, trainable: rank 3 of 64 layers")


@case("the same as JSON", kinds=CRASH, causes=["exception"], ranks=[], suspects_any=[[]])
def a12_rank_in_json(n: str) -> Job:
    return adapter(n, '{{"time": "{at}", "msg": "adapter", "lora": {{"rank": 2, "alpha": 32}}, "device": "cuda:0"}}')


def adapter(n: str, line: str) -> Job:
    j = Job(n, ["ws1"], 1, "2026-10-16T09:00:00")
    for k in range(12):
        t = j.t0 + s(2 * k)
        j.put("train.log", t, f"{t:%Y-%m-%d %H:%M:%S} INFO finetune: step {k} done loss {2.4 - 0.01 * k:.4f}")
    t = j.t0 + s(25)
    j.put("train.log", t, line.format(at=f"{t:%Y-%m-%d %H:%M:%S}"))
    frames = "".join(f'  File "{f}", line {a}, in {fn}\n    {code}\n' for f, a, fn, code in DATASET)
    j.put("train.log", t + s(1), f"Traceback (most recent call last):\n{frames}KeyError: 'shard_00417'")
    return j
