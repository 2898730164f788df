"""Jobs that never came together."""

from samples.situations.job import Job, s
from samples.situations.parts import nodes
from samples.situations.situation import case


def wrong(n, t0, layout, torch, vendor, hosts, bad, per, nic, badnic, store=True):
    j = Job(n, hosts, per, t0, layout, torch, vendor)
    j.start()
    lib = "MCCL" if vendor in ("musa", "metax") else "NCCL"
    b = hosts.index(bad)
    for r in j.ranks:
        i = hosts.index(j.host(r))
        p = f"{j.host(r)}:{j.pid(r)}:{j.pid(r)} [{j.local(r)}] {lib} INFO "
        own = i == b
        j.out(
            r,
            j.t0 + s(3 + 0.01 * r),
            p
            + (f"Bootstrap : Using {badnic}:172.17.0.1<0>" if own else f"Bootstrap : Using {nic}:10.20.0.{11 + i}<0>"),
            True,
        )
        j.out(
            r,
            j.t0 + s(3.5 + 0.01 * r),
            p
            + (
                f"NET/Socket : Using [0]{badnic}:172.17.0.1<0>"
                if own
                else f"NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB {nic}:10.20.0.{11 + i}<0>"
            ),
            True,
        )
    W = [
        ("/workspace/train/pretrain.py", 91, "<module>", "main()"),
        ("/workspace/train/pretrain.py", 40, "main", "dist.barrier()"),
    ]

    def last(x: str) -> str:
        return f"torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2021, unhandled system error (run with {lib}_DEBUG=INFO for details)\nncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error.\nLast error:\n{x}"

    for r in j.ranks:
        own = j.host(r) == bad
        d, why = ("10.20.0.11", "Connection timed out") if own else ("172.17.0.1", "Connection refused")
        x = f"socketStartConnect: Connect to {d}<{40000 + r}> failed : {why}"
        if own or not store:
            t = j.t0 + s((140 if own else 150) + 0.02 * r)
            j.out(
                r,
                t,
                f"\n{j.host(r)}:{j.pid(r)}:{j.pid(r) + 301} [{j.local(r)}] misc/socket.cc:484 {lib} WARN {x}",
                True,
            )
            j.trace(r, t + s(0.5), W, last(x))
        else:
            if (r + 1) // per == b:
                j.out(
                    r,
                    j.t0 + s(150),
                    f"\n{j.host(r)}:{j.pid(r)}:{j.pid(r) + 301} [{j.local(r)}] misc/socket.cc:484 {lib} WARN {x}",
                    True,
                )
            j.trace(
                r,
                j.t0 + s(610 + 0.02 * r),
                W,
                f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank: {r}, for key: store_based_barrier_key:2 (world_size={j.world}, worker_count={j.world - per}, timeout=0:10:00)",
            )
    return j


@case(
    "gn03 took docker0 (172.17.0.1), the three others ib0; connections to 172.17.0.1 refused; store timed out at start: wrong_interface, host gn03",
    kinds=["launch"],
    causes=["wrong_interface"],
    ranks=[],
    hosts=["gn03"],
)
def wrong_nic(n: str) -> Job:
    return wrong(n, "2026-02-20T08:00:00", "flat", "2.6", "nvidia", nodes("gn", 4), "gn03", 4, "ib0", "docker0")


@case(
    "MetaX: host mx2 took virbr0, the two others eth0: wrong_interface, host mx2",
    kinds=["launch"],
    causes=["wrong_interface"],
    ranks=[],
    hosts=["mx2"],
)
def wrong_nic_metax(n: str) -> Job:
    return wrong(
        n,
        "2026-02-21T08:00:00",
        "srun_l",
        "2.4",
        "metax",
        ["mx1", "mx2", "mx3"],
        "mx2",
        8,
        "eth0",
        "virbr0",
        store=False,
    )


@case(
    "store: 24 of 32 joined; host t4's eight ranks left no record at all: launch; nobody may be named from silence, they are suspects",
    kinds=["launch", "hang"],
    causes=["missing_ranks", "store_timeout", None],
    ranks=[],
)
def store_missing_host(n: str) -> Job:
    j = Job(n, nodes("t", 4), 8, "2026-02-22T08:00:00", "flat", "2.4")
    live = list(range(24))
    j.start(ranks=live)
    for r in live:
        j.trace(
            r,
            j.t0 + s(1801 + 0.02 * r),
            [("/workspace/train/pretrain.py", 31, "main", "dist.init_process_group('nccl')")],
            f"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank: {r}, for key: store_based_barrier_key:1 (world_size=32, worker_count=24, timeout=0:30:00)",
        )
    return j
