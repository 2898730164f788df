"""Failures that show who stopped and not whose they are: lost connections, quoted ranks, errors of links, unknown libraries."""

from samples.situations.job import Job, s
from samples.situations.own import C10D, LOGGED, MAIN, SP, gave_up, one_host, raised
from samples.situations.parts import XID79, others
from samples.situations.situation import CRASH, HANG, case
from samples.situations.stacks import pyspy

NOT_SURE = ["established", "supported"]
NVLINK = (
    "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\n"
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
)
RINGLINK = [
    *MAIN,
    ("/workspace/train/trainer.py", 411, "reduce_gradients", "self.ring.exchange(bucket)"),
    (f"{SP}/ringlink/ring.py", 140, "exchange", "return self._native.exchange(tensor)"),
]


@case(
    "ranks 1, 2 and 3 print the same uncorrectable NVLink error, no kernel, driver or fabric line: one of their devices or links; the others waited",
    kinds=CRASH,
    ranks=[],
    suspects=[1, 2, 3],
    never=NOT_SURE,
)
def a04_link_error_on_three(n: str) -> Job:
    j, e = one_host(n, 1)
    for r in (1, 2, 3):
        raised(
            j,
            r,
            e + s(1 + 0.1 * r),
            [*MAIN, ("/workspace/train/trainer.py", 301, "train_step", "torch.cuda.synchronize()")],
            NVLINK,
        )
    gave_up(j, e, 904, 1, 2, 3)
    return j


@case(
    "the same, and the kernel reports the link of rank 2's device before any of them: that singles out rank 2, the others follow",
    kinds=CRASH,
    causes=["gpu_fault"],
    ranks=[2],
)
def a04_link_error_that_a_kernel_places(n: str) -> Job:
    j, e = one_host(n, 1)
    j.kernel(
        j.hosts[0],
        e + s(0.4),
        f"NVRM: Xid (PCI:{j.pci(2)}): 74, pid={j.pid(2)}, name=python3, NVLink: fatal error detected on link 4(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    )
    for r in (1, 2, 3):
        raised(
            j,
            r,
            e + s(1 + 0.1 * r),
            [*MAIN, ("/workspace/train/trainer.py", 301, "train_step", "torch.cuda.synchronize()")],
            NVLINK,
        )
    gave_up(j, e, 904, 1, 2, 3)
    return j


def quoting(n: str, printers: list[int]) -> Job:
    """These ranks print the failure of (RANK 1) in a common save, the others go on to the next barrier."""
    j, e = one_host(n, 2)
    dcp = f"{SP}/torch/distributed/checkpoint"
    quoted = (
        "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([1])\n"
        "Traceback (most recent call last): (RANK 1)\n"
        f'  File "{dcp}/utils.py", line 251, in all_reduce\n    local_data = map_fun()\n'
        f'  File "{dcp}/logger.py", line 87, in wrapper\n    result = func(*args, **kwargs)\n'
        f'  File "{dcp}/state_dict_saver.py", line 352, in write_data\n    all_writes = storage_writer.write_data(final_local_plan, planner)\n'
        f'  File "{dcp}/filesystem.py", line 377, in _write_item\n    stream.write(data.getbuffer())\n'
        "OSError: [Errno 28] No space left on device\n"
    )
    for r in printers:
        raised(
            j,
            r,
            e + s(1 + 0.01 * r),
            [
                MAIN[0],
                ("/workspace/train/pretrain.py", 83, "main", "save(state, group=self.savers)"),
                (f"{dcp}/state_dict_saver.py", 163, "save", "return _save_state_dict("),
                (f"{dcp}/utils.py", 258, "all_reduce", "raise result"),
            ],
            quoted,
        )
    for r in others(j, *printers):
        j.log(r, e + s(1.5), "checkpoint of the first half saved, next barrier")
    gave_up(j, e, 1302, *printers, op="BARRIER", numel=1)
    return j


@case(
    "ranks 4-7 quote the failure of (RANK 1) of their own group; global rank 1 stands in a later call with its group: one of 4-7 found the disk full",
    kinds=CRASH,
    causes=["disk_full"],
    ranks=[],
    suspects=[4, 5, 6, 7],
    never=NOT_SURE,
)
def a06_rank_of_a_subgroup(n: str) -> Job:
    return quoting(n, [4, 5, 6, 7])


@case(
    "all eight ranks quote the failure of (RANK 1): that is a rank of the world, and it found the disk full",
    kinds=CRASH,
    causes=["disk_full"],
    ranks=[1],
)
def a06_rank_of_the_world(n: str) -> Job:
    return quoting(n, list(range(8)))


@case(
    "a hang: 3 is silent, six time out; rank 0's last line is a CRITICAL one of its board writer, and nothing shows it waiting: 0 or 3",
    kinds=HANG,
    ranks=[],
    suspects=[0, 3],
    never=NOT_SURE,
)
def a08_critical_line_of_a_writer(n: str) -> Job:
    j, e = one_host(n, 3, layout="flat")
    j.log(0, e + s(0.4), "board: writer stopped: [Errno 122] Disk quota exceeded: '/boards/run7'", "CRITICAL")
    j.all_timeout(e + s(602), 221, others(j, 0, 3))
    return j


@case(
    "the same with words of a writer that nobody knows",
    kinds=HANG,
    ranks=[],
    suspects=[0, 3],
    never=NOT_SURE,
)
def a08_critical_line_in_other_words(n: str) -> Job:
    j, e = one_host(n, 3, layout="flat")
    j.log(0, e + s(0.4), "board: quorl 41 refused its frond, board is off from here", "CRITICAL")
    j.all_timeout(e + s(602), 221, others(j, 0, 3))
    return j


@case(
    "Xid of the device of rank 2 in a kernel log that names no host, in a bundle of one node whose NCCL lines tell the bus numbers",
    kinds=["hang", "crash"],
    causes=["gpu_fault"],
    ranks=[2],
)
def a17_kernel_log_without_host(n: str) -> Job:
    j, e = one_host(n, 4)
    j.kernel(j.hosts[0], e + s(2), XID79(j.pci(2)), "dmesg", path="dmesg.log")
    gave_up(j, e, 405, 2)
    return j


@case(
    "the same, and rank 2 printed its runtime's error before it ended: the kernel's record of its device singles it out",
    kinds=CRASH,
    causes=["gpu_fault"],
    ranks=[2],
)
def a17_kernel_log_and_own_error(n: str) -> Job:
    j, e = one_host(n, 4)
    j.kernel(j.hosts[0], e + s(0.5), XID79(j.pci(2)), "dmesg", path="dmesg.log")
    frames = [*MAIN, ("/workspace/train/trainer.py", 301, "train_step", "torch.cuda.synchronize()")]
    raised(j, 2, e + s(1), frames, "RuntimeError: CUDA error: unspecified launch failure")
    gave_up(j, e, 405, 2)
    return j


@case(
    "5 left no word of its end; six raise an unknown library's error alike; 0 raises one of its own (its queue lost its producer): 0 or 5 was first",
    kinds=CRASH + HANG,
    ranks=[],
    suspects=[0, 5],
    never=NOT_SURE,
)
def a19_six_and_one(n: str) -> Job:
    j, e = one_host(n, 5, layout="flat")
    for r in others(j, 0, 5):
        j.log(r, e + s(3 + 0.1 * r), "exchange failed", "ERROR")
        j.trace(
            r, e + s(3.01 + 0.1 * r), RINGLINK, "ringlink.errors.RingBroken: ring 0 lost a member during exchange 4411"
        )
    j.log(0, e + s(3.2), "feeder failed", "ERROR")
    feeder = (f"{SP}/feedqueue/client.py", 77, "take", "return self._native.take(timeout)")
    j.trace(
        0,
        e + s(3.21),
        [*MAIN, ("/workspace/train/data/stream.py", 57, "next_batch", "batch = self.queue.take()"), feeder],
        "feedqueue.ProducerLost: the queue has lost its producer",
    )
    return j


@case(
    "4 left no word of its end; its neighbours 3 and 5 raise an unknown library's error, the others time out: any of the three, and nobody can be named",
    kinds=CRASH + HANG,
    ranks=[],
    suspects_any=[[4], [3, 4, 5]],
    never=NOT_SURE,
)
def a20_neighbours_of_a_lost_one(n: str) -> Job:
    j, e = one_host(n, 6, layout="flat")
    for r in (3, 5):
        j.log(r, e + s(2 + 0.1 * r), "exchange failed", "ERROR")
        j.trace(
            r, e + s(2.01 + 0.1 * r), RINGLINK, "ringlink.errors.RingBroken: a neighbour of the ring does not answer"
        )
    j.all_timeout(e + s(602), 88, others(j, 3, 4, 5))
    return j


@case(
    "every rank but 2 says that the rank before it closed the connection: 2 alone is named by its neighbour and names nobody",
    kinds=CRASH + HANG,
    ranks=[],
    suspects=[2],
    never=["established"],
)
def a24_each_names_the_one_before(n: str) -> Job:
    j, e = one_host(n, 7, layout="flat")
    for r in others(j, 2):
        t = e + s(2 + 0.1 * ((r - 3) % 8))
        j.log(r, t, "exchange failed", "ERROR")
        j.trace(r, t + s(0.01), RINGLINK, f"ringlink.errors.PeerClosed: connection closed by peer rank {(r - 1) % 8}")
    return j


@case(
    "the same as lines of a log, without a traceback",
    kinds=[*CRASH, *HANG, "unknown"],
    ranks=[],
    suspects=[2],
    never=["established"],
)
def a24_each_names_the_one_before_in_lines(n: str) -> Job:
    j, e = one_host(n, 7, layout="flat")
    for r in others(j, 2):
        j.log(
            r,
            e + s(2 + 0.1 * ((r - 3) % 8)),
            f"ring broken: connection closed by peer rank {(r - 1) % 8}, leaving",
            "ERROR",
        )
    return j


@case(
    "looks at four ranks, three in one place of the evaluation, one in an unknown library's call; the person says it hangs: a tie, nobody",
    kinds=["hang", "unknown"],
    ranks=[],
    never=NOT_SURE,
    args=["--hung"],
)
def a51_three_against_one(n: str) -> Job:
    j, _ = one_host(n, 8, layout="flat", per=4)
    for r in j.ranks:
        inner = "    gather_scores (judge/score.py:88)\n    evaluate (judge/loop.py:41)\n"
        if r == 2:
            inner = "    flush (tallybook/_native.py:19)\n    commit (tallybook/book.py:203)\n    evaluate (judge/loop.py:44)\n"
        j.file(
            f"stacks/pyspy_rank_{r}.txt",
            f'Process {j.pid(r)}: /opt/venv/bin/python -u {j.script}\nPython v3.10.12 (/opt/venv/bin/python3.10)\n\nThread {j.pid(r)} (idle): "MainThread"\n{inner}    main (pretrain.py:77)\n    <module> (pretrain.py:91)\n',
        )
    return j


@case(
    "ranks 1 and 3 are a group of two: 3 cannot unpickle what the broadcast brought; 1 may have sent it wrong, 3 may have received it wrong",
    kinds=CRASH,
    ranks=[],
    suspects=[1, 3],
    never=NOT_SURE,
)
def a53_garbage_between_two(n: str) -> Job:
    j, e = one_host(n, 9)
    for r in (1, 3):
        j.log(r, e + s(0.5), "broadcast of the plan over group pair_1_3, ranks [1, 3], source 1")
    raised(
        j,
        3,
        e + s(1),
        [
            *MAIN,
            (
                "/workspace/train/trainer.py",
                190,
                "share_plan",
                "dist.broadcast_object_list(plan, src=1, group=self.pair)",
            ),
            LOGGED,
            (C10D, 3479, "broadcast_object_list", "object_list[i] = _tensor_to_object(obj_view, obj_size, group)"),
            (C10D, 2862, "_tensor_to_object", "return _unpickler(io.BytesIO(buf)).load()"),
        ],
        "_pickle.UnpicklingError: invalid load key, '\\x9c'.",
    )
    gave_up(j, e, 640, 3)
    return j


@case(
    "rank 2 alone raises an unknown library's 'remote vanished', 7 time out: its own link or its peer's, which cannot be known",
    kinds=CRASH + HANG,
    ranks=[],
    suspects=[2],
    never=NOT_SURE,
)
def a54_remote_vanished(n: str) -> Job:
    j, e = one_host(n, 10)
    raised(j, 2, e + s(1), RINGLINK, "ringlink.errors.RemoteVanished: remote vanished during exchange 4411")
    gave_up(j, e, 455, 2)
    return j


@case(
    "the same words raised out of the calls of torch that wait for others",
    kinds=CRASH + HANG,
    ranks=[],
    suspects=[2],
    never=NOT_SURE,
)
def a54_remote_vanished_in_torch(n: str) -> Job:
    j, e = one_host(n, 11)
    frames = [
        *MAIN,
        ("/workspace/train/trainer.py", 411, "reduce_gradients", "dist.all_reduce(bucket)"),
        LOGGED,
        (C10D, 2810, "all_reduce", "work = group.allreduce([tensor], opts)"),
    ]
    raised(j, 2, e + s(1), frames, "RuntimeError: qxcl transport: remote vanished during operation 4411")
    gave_up(j, e, 455, 2)
    return j


@case(
    "a rank is named by those who miss it and no word tells why: who has a status, why has none",
    kinds=HANG + CRASH,
    ranks=[4],
    causes=["rank_absent", "rank_died", None],
    by_claim=True,
)
def a48_who_without_why(n: str) -> Job:
    j, e = one_host(n, 12, layout="flat")
    frames = [(MAIN[0][0], 83, "main", "dist.monitored_barrier(timeout=timedelta(seconds=120))")]
    for r in others(j, 4):
        said = f"Rank {r} successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank."
        j.trace(
            r,
            e + s(121 + 0.01 * r),
            frames,
            f"RuntimeError: [Rank {r}]: {said if r else 'Rank 4 failed to pass monitoredBarrier in 120000 ms'}",
        )
    return j


@case(
    "five of eight found the disk full: why is shown, and nobody is accused of it",
    kinds=CRASH,
    ranks=[],
    causes=["disk_full"],
    by_claim=True,
)
def a48_why_without_who(n: str) -> Job:
    j, e = one_host(n, 13, layout="torchrun")
    frames = [MAIN[0], ("/workspace/train/checkpointing.py", 233, "write_shard", "stream.write(block)")]
    for r in range(5):
        j.trace(r, e + s(1 + 0.01 * r), frames, "OSError: [Errno 28] No space left on device: '/ckpt/step_804'")
    rows = [(r, 1, "") for r in range(5)] + [(r, -15, "SIGTERM") for r in (5, 6, 7)]
    j.torchrun_fail(j.hosts[0], e + s(2), rows, 0, closing=[5, 6, 7])
    return j


@case(
    "looks at eight ranks: seven in all_reduce, 2 in an unknown library below its own data code; their time-outs are a witness of time: 2",
    kinds=HANG,
    ranks_any=[[], [2]],
    told=[2],
)
def a51_seven_wait(n: str) -> Job:
    j, e = one_host(n, 14, layout="flat")
    for r in others(j, 2):
        pyspy(j, r, "allreduce")
    j.file(
        "stacks/pyspy_rank_2.txt",
        f'Process {j.pid(2)}: /opt/venv/bin/python -u {j.script}\nPython v3.10.12 (/opt/venv/bin/python3.10)\n\nThread {j.pid(2)} (idle): "MainThread"\n    flush (tallybook/_native.py:19)\n    commit (tallybook/book.py:203)\n    train_step (trainer.py:262)\n    main (pretrain.py:77)\n    <module> (pretrain.py:91)\n',
    )
    j.all_timeout(e + s(602), 221, others(j, 2))
    return j
