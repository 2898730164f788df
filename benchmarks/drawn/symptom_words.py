"""What the bundles of `symptoms` are told in: words of tools and of people.

Between variants stands ` || `, between successive lines ` ;; `.
"""

import json
import re
from collections.abc import Callable


def table(text: str) -> dict[str, tuple[str, ...]]:
    """`name = a || b` of each line; two blanks: it goes on with the line before; `\\n` is a new line."""
    told = (line.partition(" =") for line in text.strip("\n").replace("\n  ", "").split("\n"))
    split = ((name, re.split(r" *\|\| *", own.removeprefix(" "))) for name, _, own in told)
    return {name: tuple(shown(one) for one in own if one) for name, own in split}


def shown(text: str) -> str:
    return re.sub(r" *;; *", " ;; ", text).replace(r"\n", "\n").replace(r"\t", "\t")


# Of each framework: its hello, what those say that lost somebody, what those say that waited too long, where they wait.
KITS = table(r"""
ddp nccl = backend nccl, torch 2.5.1 || waits: wait torch/cuda/streams.py:225 ;; all_reduce
   torch/distributed/distributed_c10d.py:2806 ;; sync_grads trainer/ddp.py:77 || lost: [rank{r}]:[E709 {t}
   ProcessGroupNCCL.cpp:2013] [PG ID 0 PG GUID 0(default_pg) Rank {r}] Process group watchdog thread terminated with
   exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A
   call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketProgress:
   Connection closed by remote peer 10.4.0.9<41873> || late: [rank{r}]:[E709 {t} ProcessGroupNCCL.cpp:616] [Rank {r}]
   Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2118, OpType=ALLREDUCE, NumelIn=262144,
   NumelOut=262144, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.
ddp gloo = backend gloo, world ready || waits: wait torch/distributed/distributed_c10d.py:2812 ;; all_reduce
   torch/distributed/distributed_c10d.py:2806 ;; average trainer/loop.py:140 || lost: Traceback (most recent call
   last):\n  File "/srv/app/loop.py", line 140, in average\n    dist.all_reduce(flat)\nRuntimeError:
   [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.4.0.9]:20411 || late:
   RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv
   operation to complete
deepspeed = DeepSpeed info: version=0.15.4, zero stage 3 || waits: wait torch/distributed/distributed_c10d.py:462 ;;
   all_gather_coalesced deepspeed/runtime/zero/partition_parameters.py:1200 ;; fetch_sub_module
   deepspeed/runtime/zero/partitioned_param_coordinator.py:310 || lost: [rank{r}]:
   torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled
   system error, NCCL version 2.20.5\nncclSystemError: System call (e.g. socket, malloc) or external library call
   failed or device error. \nLast error:\nsocketStartConnect: Connect to 10.4.0.9<51021> failed : Software caused
   connection abort || late: [E709 {t} ProcessGroupNCCL.cpp:523] [Rank {r}] Watchdog caught collective operation
   timeout: WorkNCCL(SeqNum=90412, OpType=_ALLGATHER_BASE, NumelIn=67108864, NumelOut=536870912, Timeout(ms)=1800000)
   ran for 1800551 milliseconds before timing out.
megatron = > initialized tensor model parallel with size 1 || waits: synchronize torch/cuda/__init__.py:954 ;;
   finish_grad_sync megatron/core/distributed/param_and_grad_buffer.py:171 ;; train_step
   megatron/training/training.py:744 || lost: [rank{r}]:[W709 {t} ProcessGroupNCCL.cpp:1250] NCCL WARN [Service
   thread] Accept failed Resource temporarily unavailable\ntorch.distributed.DistBackendError: NCCL communicator was
   aborted on rank {r}. || late: [rank{r}]:[E709 {t} ProcessGroupNCCL.cpp:632] [PG ID 4 PG GUID
   7(DATA_PARALLEL_GROUP) Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=771,
   OpType=REDUCE_SCATTER, NumelIn=8388608, NumelOut=1048576, Timeout(ms)=600000) ran for 600019 milliseconds before
   timing out.
horovod = Horovod 0.28.1, size {n} || waits: synchronize horovod/torch/mpi_ops.py:912 ;; step
   horovod/torch/optimizer.py:346 ;; fit train.py:90 || lost: horovod.common.exceptions.HorovodInternalError: Horovod
   has been shut down. This was caused by an exception on one of the ranks or an attempt to allreduce, allgather or
   broadcast a tensor after one of the ranks finished execution. || late: [{d} {t}: W
   /tmp/pip-req-build/horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced,
   gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds. This
   may indicate that different ranks are trying to submit different tensors or that only subset of ranks is
   submitting tensors, which will cause deadlock.\nMissing ranks:\n{b}: [allreduce.fc.weight, allreduce.fc.bias]
jax = jax.distributed initialized, process {r}/{n} || waits: _value jax/_src/array.py:628 ;; block_until_ready
   jax/_src/array.py:560 ;; train_loop main.py:203 || lost: jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The
   following tasks are unhealthy (stopped sending heartbeats):\n/job:jax_worker/replica:0/task:{b}\nThe tasks have
   crashed. Check the task logs for an earlier error, or scheduler events (e.g. preemption, eviction) to debug
   further. || lost: {d} {t}: F external/xla/xla/pjrt/distributed/client.h:80] Terminating process because the JAX
   distributed service detected fatal errors. This most likely indicates that another task died; see the other task
   logs for more details. || late: jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Id:
   grad_sync:{s}::0. This usually happens because a task triggered the barrier too early or too slowly. Please look
   at the task logs (both timed out and first task) to debug further. || late: {d} {t}: E
   external/xla/xla/service/rendezvous.cc:38] This thread has been waiting for `all-reduce.4` for 600 seconds and may
   be stuck
tf mwms = TF_CONFIG: worker index {r} of {n} || waits: quick_execute tensorflow/python/eager/execute.py:53 ;;
   __call__ tensorflow/python/eager/polymorphic_function/polymorphic_function.py:832 ;; fit
   keras/src/backend/tensorflow/trainer.py:314 || lost: {d} {t}: E
   tensorflow/core/common_runtime/base_collective_executor.cc:249] BaseCollectiveExecutor::StartAbort UNAVAILABLE:
   Collective ops is aborted by: failed to connect to all addresses\nThe error could be from a previous operation.
   Restart your program to reset. || lost: tensorflow.python.framework.errors_impl.UnavailableError: Collective ops
   is aborted by: Socket closed || late: DeadlineExceededError: Collective has timed out during execution.
   [Op:CollectiveReduceV2]
mindspore = MindSpore 2.3.0 on Ascend, hccl rank {r} size {n} || waits: _run_op mindspore/common/api.py:1190 ;;
   __call__ mindspore/common/api.py:661 ;; train mindspore/train/model.py:1068 || lost: RuntimeError: Launch kernel
   failed, name: Default/AllReduce-op1\n- Ascend Error Message:\nEI0006: {d} Getting socket times out. Reason: Remote
   Rank did not send the data in time. Please check the reason for the rank being stuck || late: EI0002: [PID: {p}]
   {d}-{t} The wait execution of the Notify register times out. Reason: The Notify register has not received the
   Notify record from remote rank: [unknown]. base information: [streamID:[109], taskID[38], taskType[Notify Wait],
   tag[AllReduce_hccl_world_group]]. group information: [group:[hccl_world_group], rankSize[{n}], rankId[{r}]]
paddle = PADDLE_TRAINER_ID {r} PADDLE_TRAINERS_NUM {n} || waits: wait paddle/distributed/communication/group.py:88 ;;
   all_reduce paddle/distributed/communication/all_reduce.py:90 ;; main tools/train.py:131 || lost: OSError:
   (External) NCCL error(6), remote process exited or there was a network error. [Hint: 'ncclRemoteError'.] (at
   /paddle/paddle/fluid/distributed/collective/process_group_nccl.cc:266) || late: E0709 {t} {p}
   comm_task_manager.cc:273] Find timeout init but not finish/timeout comm task:
   op:ALLREDUCE,gid:0,rank:{r},size:{n},started:1,completed:0,timeout:1800000
mpi numpy = mpi4py 3.1, comm world {n} || waits: Allreduce mpi4py/MPI.src/Comm.pyx:714 ;; reduce_gradients
   solver/comm.py:41 ;; <module> run.py:66 || lost: [{h}:{p}] *** An error occurred in MPI_Allreduce\n[{h}:{p}] ***
   reported by process [2118057985,{r}]\n[{h}:{p}] *** on communicator MPI_COMM_WORLD\n[{h}:{p}] ***
   MPI_ERR_PROC_FAILED: Process Failure\n[{h}:{p}] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now
   abort, || late: comm: Allreduce tag {s} pending for 600 s, giving up || lost:
   btl_tcp_frag.c:242:mca_btl_tcp_frag_recv: peer closed: Connection reset by peer (104)
fortran mpi = grid decomposed over {n} images || native || waits: poll ../sysdeps/poll.c:29 ;; opal_progress
   opal/runtime/opal_progress.c:231 ;; PMPI_Allreduce pallreduce.c:113 ;; pmpi_allreduce_f pallreduce_f.c:87 ;;
   advance solver.f90:402 || lost: Fatal error in PMPI_Allreduce: Unknown error class, error
   stack:\nPMPI_Allreduce(1023): MPI_Allreduce(sbuf=0x7ffe, rbuf=0x7fff, count=1, MPI_DOUBLE_PRECISION, MPI_SUM,
   MPI_COMM_WORLD) failed\nMPIDI_CH3U_Complete_posted_with_error(1137): Process failed || late: *** allreduce for
   residual not completed after 900.0 s, stopping
ray train = TorchTrainer worker group, world_rank {r} || waits: wait torch/distributed/distributed_c10d.py:462 ;;
   barrier torch/distributed/distributed_c10d.py:4159 ;; train_loop_per_worker tune/job.py:71 || lost:
   ray.exceptions.ActorDiedError: The actor died because its owner has died. Owner Worker exit type: SYSTEM_ERROR ||
   lost: (raylet, ip={ip}) Task train_loop_per_worker was cancelled, worker group shutting down || late:
   RuntimeError: [Rank {r}]: collective did not finish in 1800 s (op=ALLREDUCE, seq={s})
dask = distributed.worker registered || waits: acquire threading.py:355 ;; wait distributed/utils.py:442 ;;
   gather_grads dist/ring.py:58 || lost: distributed.comm.core.CommClosedError: in <TCP (closed)
   ConnectionPool.gather local=tcp://{ip}:40122 remote=tcp://10.4.0.9:38211>: Stream is closed || late:
   asyncio.exceptions.TimeoutError: gather_grads: not all partitions came within 900 s
rl = learner {r} of {n}, replay connected || waits: get queue.py:171 ;; sync_params learner/sync.py:88 ;; learn
   learner/main.py:210 || lost: grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:
   status = StatusCode.UNAVAILABLE, details = "Socket closed"> || late: parameter sync of update {s} incomplete after
   600 s: {n1} of {n} learners arrived
c++ = trainer build 8f21c, ring of {n} || native || waits: epoll_wait ../sysdeps/unix/sysv/linux/epoll_wait.c:30 ;;
   Ring::WaitChunk src/ring.cc:214 ;; AllReduce src/coll.cc:88 ;; Trainer::Step src/trainer.cc:402 || lost: E{u}
   comm.cc:131] recv: Connection reset by peer [errno 104], ring broken at step {s}, exiting || late: F{u}
   coll.cc:97] deadline exceeded: AllReduce(step={s}) 0/1 chunks after 600s || lost: terminate called after throwing
   an instance of 'ring::PeerLost'\n  what():  peer lost
fsdp = FSDP full shard, bf16 || waits: _wait_for_computation_stream torch/distributed/fsdp/_runtime_utils.py:540 ;;
   _post_backward_hook torch/distributed/fsdp/_runtime_utils.py:736 ;; backward torch/autograd/__init__.py:347 ||
   lost: [rank{r}]: torch.distributed.DistBackendError: [{r}] is setting up NCCL communicator and retrieving
   ncclUniqueId from [0] via c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer
   || late: [rank{r}]:[E709 {t} ProcessGroupNCCL.cpp:616] [Rank {r}] Watchdog caught collective operation timeout:
   WorkNCCL(SeqNum=551, OpType=_REDUCE_SCATTER_BASE, NumelIn=1048576, NumelOut=131072, Timeout(ms)=600000) ran for
   600077 milliseconds before timing out.
""")
SAYS = (
    "rank {r} of {n} up", "world_size={n} rank={r}", "Initialized process group: rank {r}, world size {n}",
    "I am rank {r}/{n}", "RANK={r} WORLD_SIZE={n} LOCAL_RANK={l}", "global rank {r} (local {l}) on {h}, {n} in total",
    "hello from rank {r} of {n} on {h}", "dist init done | rank: {r} | world: {n}",
    '{{"event": "init", "rank": {r}, "world_size": {n}}}', "registered as trainer rank {r} (of {n})",
    "MPI rank {r} out of {n} processors", "starting; this is global_rank={r}, num_replicas={n}",
    "[setup] my rank is {r}, expecting {n} ranks",
)  # fmt: skip
FILES = (
    "rank_{r}.log", "rank{r:03d}.out", "logs/rank-{r}/stderr.log", "train_rank{r}_of_{n}.txt", "{h}_rank{r}.log",
    "rank_{r}/rank_{r}.log", "slurm-88123_rank{r}.out", "out.rank.{r:04d}", "1/rank.{r}/stdout", "worker-rank{r}.err",
    "output/RANK{r:02d}.txt", "workerlog.{r}",
)  # fmt: skip
PREFIXES = (
    "[rank{r}]: ", "{r}: ", "[1,{r}]<stderr>:", "[1,{r}]<stdout>: ", "[Rank {r}] ", "rank={r} ",
    "(train_worker rank={r} pid={p}) ", "{h} [rank {r}/{n}] ", "worker-{r}  | ", "task {r}: ", "rank {r:03d} # ",
    "[rank {r} on {h}] ", "RANK{r}> ", "[{r}/{n}] ", "R{r}| ",
)  # fmt: skip
HEADS = (
    "rank {r}", "rank={r}", "[rank {r}]", "(rank {r}/{n})", "rank:{r}", "[Rank{r}]", "global_rank={r}", "r={r}",
    "{h}/rank{r}", "rank-{r}",
)  # fmt: skip
STEPS = (
    "step {s} loss {f}", "iter={s} loss={f} lr=3e-4", "[{s:06d}] loss: {f}", '{{"step": {s}, "loss": {f}}}',
    "it {s}: residual {f}E-02", "Epoch 3 batch {s}/90000 - loss: {f} - 1.31s",
    "update {s} | policy_loss {f} | fps 8112", "global_step={s}, train_loss={f}",
    "{s}/90000 [==>.....] - ETA: 3:12:09 - loss: {f}", "step {s} done in 1.38s",
    "  iteration {s:8d} | lm loss: {f}E+00 | loss scale: 1.0", "finished optimizer step #{s}",
    "processed batch {s} (512 samples)", "train: {s}, {f}",
)  # fmt: skip
NOISE = (
    "", "UserWarning: lr_scheduler.step() before optimizer.step()",
    "data: 18211 shards, seed 7 ;; compile cache warm",
    "download of vocab.json failed (1/5), retry ;; download of vocab.json ok", "GC tuned, freezing 812334 objects",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1",
    "config: {{'lr': 0.0003, 'bs': 512, 'timeout': 1800}}",
    "tokenizer loaded (32000) ;; model 6.7B params ;; resume from /ckpt/step_000000",
    "WARNING: numa binding not available, skipping",
)  # fmt: skip
TROUBLES = table(r"""
own class = lumen.errors.ShardDecodeError: shard 00213 entry 7: bad length prefix || PipelineContractViolation: stage
   'mix' yielded 0 rows ||kestrel.runtime.Panic: slot table corrupt (epoch {k}) || EmptyBatch: sampler produced
   nothing at cursor {k}
assertion = AssertionError: labels out of range: 50262 >= 50257 || AssertionError || AssertionError: batch dim 31 !=
   32
device memory = torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {l} has a total
   capacity of 79.11 GiB of which 1.02 GiB is free. || RuntimeError: CUDA error: out of memory ||
   jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.
   || torch.OutOfMemoryError: HIP out of memory. Tried to allocate 512.00 MiB
host memory = MemoryError: Unable to allocate 11.2 GiB for an array with shape (1500000000,) and data type float64 ||
   MemoryError ||OSError: [Errno 12] Cannot allocate memory || RuntimeError: [enforce fail at alloc_cpu.cpp:114] err
   == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes. Error code 12 (Cannot
   allocate memory)
disk full = OSError: [Errno 28] No space left on device: '/local/ckpt/tmp_{k}.pt' || RuntimeError: [enforce fail at
   inline_container.cc:595] . unexpected pos 4608 vs 4502 || sqlite3.OperationalError: database or disk is full ||
   OSError: [Errno 122] Disk quota exceeded
file = FileNotFoundError: [Errno 2] No such file or directory: '/data/shards/{k:05d}.tar' || zipfile.BadZipFile: File
   is not a zip file ||safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer
   || tarfile.ReadError: unexpected end of data || pickle.UnpicklingError: invalid load key, '\x00'.
permission = PermissionError: [Errno 13] Permission denied: '/scratch/out/part-{r}.bin' || OSError: [Errno 30]
   Read-only file system: '/var/tmp/c' || botocore.exceptions.ClientError: An error occurred (AccessDenied) when
   calling the GetObject operation: Access Denied
config = omegaconf.errors.ConfigAttributeError: Key 'warmup' is not in struct || KeyError: 'DATA_ROOT' || ValueError:
   invalid literal for int() with base 10: 'auto' || yaml.scanner.ScannerError: mapping values are not allowed here
version = ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /opt/env/lib/_fast.so)
   || RuntimeError: The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4)
   || AttributeError: module 'lumen_ops' has no attribute 'fused_mix_v2' || ModuleNotFoundError: No module named
   'lumen_ops'
license = LicenseError: checkout of feature TRN_DECODE failed: -15 cannot connect to license server ||
   gurobipy.GurobiError: HostID mismatch
data service = requests.exceptions.ConnectionError: HTTPConnectionPool(host='feat.store', port=8080): Max retries
   exceeded with url: /v1/rows || socket.gaierror: [Errno -3] Temporary failure in name resolution ||
   ConnectionRefusedError: [Errno 111] Connection refused ||redis.exceptions.ConnectionError: Error 111 connecting to
   cache-2:6379. Connection refused. || psycopg2.OperationalError: could not translate host name "meta-db" to
   address: Name or service not known
sample = PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f2b> ||
   av.error.InvalidDataError: [Errno 1094995529] Invalid data found when processing input || UnicodeDecodeError:
   'utf-8' codec can't decode byte 0xc3 in position 811: unexpected end of data || json.decoder.JSONDecodeError:
   Expecting ',' delimiter: line 1 column 8113 (char 8112) || ZeroDivisionError: division by zero
limits = OSError: [Errno 24] Too many open files || RuntimeError: can't start new thread || RuntimeError: unable to
   mmap 4096 bytes from file </torch_{k}>: Cannot allocate memory (12) || BlockingIOError: [Errno 11] Resource
   temporarily unavailable || RuntimeError: DataLoader worker (pid {k}) is killed by signal: Bus error. It is
   possible that dataloader's workers are out of shared memory.
shape = RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 768x64) || ValueError: operands could not
   be broadcast together with shapes (31,8) (32,8) || IndexError: index 50262 is out of bounds for axis 0 with size
   50257
""")
TRACES = (
    'main.py:41 <module> main() ;; main.py:30 main fit(cfg) ;; lumen/loop.py:118 fit batch = next(it) ;;'
    ' lumen/data.py:77 __next__ return self._pull()',
    '/srv/app/run.py:12 <module> app.run(main) ;; /srv/app/run.py:8 main trainer.train() ;;'
    ' /srv/app/trainer.py:402 train self._one(step)',
    "/home/kim/exp/train_lm.py:233 <module> train() ;; /home/kim/exp/train_lm.py:190 train save(model, opt)",
    '/opt/env/bin/trn:8 <module> sys.exit(cli()) ;;'
    ' /opt/env/lib/python3.11/site-packages/kestrel/cli.py:61 cli run(ns) ;;'
    ' /opt/env/lib/python3.11/site-packages/kestrel/engine.py:512 run self.stages[i](ctx)',
)  # fmt: skip


def traced(frames: str) -> list[str]:
    """The lines of a traceback's frames."""
    told = (one.split(" ", 2) for one in frames.split(" ;; "))
    return [
        text for where, name, code in told
        for text in (f'  File "{where.partition(":")[0]}", line {where.partition(":")[2]}, in {name}', f"    {code}")
    ]  # fmt: skip


def boxed(error: str, frames: str) -> list[str]:
    own = [f"│ {line:76} │" for line in traced(frames)]
    top = " Traceback (most recent call last) ".center(78, "─")
    return [f"╭{top}╮", *own, f"╰{'─' * 78}╯", error]


JAVA = (
    "java.io.IOException: Stale file handle", "java.lang.OutOfMemoryError: Java heap space",
    "com.lumen.feed.BadBlockException: block 7 crc differs", "java.lang.IllegalStateException: table is closed",
)  # fmt: skip
BACK = "Traceback (most recent call last):"
DURING = "During handling of the above exception, another exception occurred:"
CAUSE = "The above exception was the direct cause of the following exception:"
CAUGHT = "@An error has been caught in function 'run', process 'MainProcess', thread 'MainThread':"
HYDRA = "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."
RUST = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace"
UNWRAP = "called `Result::unwrap()` on an `Err` value:"
PANIC = "thread '<unnamed>' panicked at src/reader.rs:212:18:"
# How an exception is printed, of its last line and its frames; `@`: with the head of a line.
CRASH_FORMS: dict[str, Callable[[str, str], list[str]]] = {
    "bare": lambda error, frames: [BACK, *traced(frames), error],
    "all headed": lambda error, frames: ["@" + line for line in (BACK, *traced(frames), error)],
    "below a line": lambda error, frames: ["@uncaught exception, terminating", BACK, *traced(frames), error],
    "in one line": lambda error, _: [f"@fatal: {error}", "@exiting with code 1"],
    "box": boxed,
    "json": lambda error, frames: [
        json.dumps({"event": "exception", "exc": error, "stack": "\n".join(traced(frames))})
    ],
    "hydra": lambda error, frames: [
        "Error executing job with overrides: ['run=a7']", BACK, *traced(frames), error, "", HYDRA,
    ],
    "chained": lambda error, frames: [
        BACK, *traced(frames)[:2], error, "", DURING, "", BACK, *traced(frames)[:2], "lumen.TrainAbort: step failed",
    ],
    "caused": lambda error, frames: [
        BACK, *traced(frames)[-2:], error, "", CAUSE, "", BACK, *traced(frames), "lumen.StageFailed: stage 2",
    ],
    "hook": lambda error, frames: [f"@!! died of {error!r} in {frames.split(' ')[1]} ({frames.split(' ')[0]})"],
    "hint": lambda error, frames: [
        f"@training aborted ({error.partition(': ')[0]}): {error.partition(': ')[2]}", "@stack follows",
        *("@  at " + one.replace(" ", " in ", 1) for one in frames.split(" ;; ")),
    ],
    "multiprocess": lambda error, frames: ["Process SpawnProcess-1:", BACK, *traced(frames), error],
    "rust": lambda error, frames: [
        PANIC, f'{UNWRAP} "{error}"', RUST, BACK, *traced(frames), f"pyo3_runtime.PanicException: {UNWRAP} {error}",
    ],
    "loguru": lambda error, frames: [
        CAUGHT, BACK, *("> " * (at == 0) + line for at, line in enumerate(traced(frames))), error,
    ],
    "java": lambda error, _: [
        f'Exception in thread "feeder-0" {JAVA[len(error) % len(JAVA)]}',
        "\tat com.lumen.feed.Reader.next(Reader.java:77)", "\tat com.lumen.feed.Feeder.run(Feeder.java:140)",
        "@feeder is gone, leaving with status 1",
    ],
}  # fmt: skip
NATIVES = table(r"""
faulthandler = Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f{x} (most recent call first):\n  File
   "/srv/app/mix.py", line 88 in gather\n  File "/srv/app/run.py", line 12 in <module>\n\nExtension modules:
   numpy.core._multiarray_umath, torch._C (total: 2)
open mpi = [{h}:{p:05d}] *** Process received signal ***\n[{h}:{p:05d}] Signal: Segmentation fault
   (11)\n[{h}:{p:05d}] Signal code: Address not mapped (1)\n[{h}:{p:05d}] Failing at address: 0x86985a\n[{h}:{p:05d}]
   [ 0] /lib64/libpthread.so.0(+0xf710)[0x7f{x}]\n[{h}:{p:05d}] [ 1]
   ./solver(advance_+0x1ac)[0x4420ac]\n[{h}:{p:05d}] *** End of error message ***
glog = *** Aborted at {u} (unix time) try "date -d @{u}" if you are using GNU date ***\nPC: @                0x0
   (unknown)\n*** SIGSEGV (@0x0) received by PID {p} (TID 0x7f{x}) from PID 0; stack trace: ***\n    @     0x7f{x}
   (unknown)\n    @     0x55d21 mix::Pull()
terminate = terminate called after throwing an instance of 'std::runtime_error'\n  what():  manifest checksum
   mismatch in part 12\nAborted (core dumped)
glibc = double free or corruption (!prev)\nrun.sh: line 41: {p:6d} Aborted                 (core dumped) ./trainer
   --conf a.toml
ifort = forrtl: severe (174): SIGSEGV, segmentation fault occurred\nImage              PC                Routine
              Line        Source\nsolver             000000000083F74A  advance_                  402  solver.f90\nsolver
               0000000000414B62  MAIN__                     66  main.f90
ifort file = forrtl: No such file or directory\nforrtl: severe (29): file not found, unit 21, file
   /scratch/in/part{r}.dat
gfortran = At line 88 of file io.f90 (unit = 21, file = 'part.{r}')\nFortran runtime error: End of file
backtrace = Program received signal SIGSEGV: Segmentation fault - invalid memory reference.\n\nBacktrace for this
   error:\n#0  0x7f{x} in ???\n#1  0x4420ac in advance_\n\tat /src/solver.f90:402
assert = trainer: src/ring.cc:214: void Slots::Push(const Chunk&): Assertion `head_ != tail_' failed.\nAborted (core
   dumped)
check = F0709 {t} {p} pool.cc:88] Check failed: free_ >= want (0 vs. 4096) pool exhausted\n*** Check failure stack
   trace: ***\n    @     0x7f{x}  google::LogMessage::Fail()\n    @     0x55d3  Pool::Take()
asan = ==={p}==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60200 at pc 0x4c1 bp 0x7ffe sp 0x7ffd\nREAD
   of size 8 at 0x60200 thread T0\n    #0 0x4c1 in Mix::Take src/mix.cc:77\nSUMMARY: AddressSanitizer:
   heap-buffer-overflow src/mix.cc:77 in Mix::Take
illegal = run.sh: line 41: {p:6d} Illegal instruction     (core dumped) ./trainer --conf a.toml
bus = Bus error (core dumped)
segv = Segmentation fault (core dumped)
jvm = #\n# A fatal error has been detected by the Java Runtime Environment:\n#\n#  SIGBUS (0x7) at pc=0x00007f{x},
   pid={p}, tid=0x2c\n#\n# Problematic frame:\n# C  [libfeat.so+0x1ac]  feat_next+0x1c\n#
paddle = --------------------------------------\nC++ Traceback (most recent call
   last):\n--------------------------------------\n0   paddle::imperative::Tracer::TraceOp()\n\n----------------------
  \nError Message Summary:\n----------------------\nFatalError: `Segmentation fault` is detected by the operating
   system.\n  [TimeInfo: *** Aborted at {u} (unix time) ***]\n  [SignalInfo: *** SIGSEGV (@0x8) received by PID {p}
   ***]
ucx = [{h}:{p}:0:{p}] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x440000f8)\n====
   backtrace (tid: {p}) ====\n 0 0x000000000006e600 mix_take()  /src/mix.c:158\n=================================
go = fatal error: concurrent map writes\n\ngoroutine 88 [running]:\nmain.(*Feeder).put(0xc00011)\n\t/src/feeder.go:77
   +0x1ac\nexit status 2
loader = ./trainer: error while loading shared libraries: libfabric.so.1: cannot open shared object file: No such
   file or directory
symbol = python: symbol lookup error: /opt/env/lib/_fast.so: undefined symbol: cublasLtMatmulAlgoGetIds, version
   libcublasLt.so.12
stop = STOP 3: inconsistent halo width\nNote: The following floating-point exceptions are signalling:
   IEEE_DIVIDE_BY_ZERO
mpi abort = negative density in cell 8812, calling MPI_Abort\n------------------------------------------------------
  --------------------\nMPI_ABORT was invoked on rank {r} in communicator MPI_COMM_WORLD\nwith errorcode
   7.\n--------------------------------------------------------------------------
""")
ENDS = (
    "", "", "", "closing writers ;; bye",
    "heartbeat thread alive ;; heartbeat thread alive ;; heartbeat thread alive", "atexit: flushing 12 events",
    "prefetch: queue 3/16 ;; prefetch: queue 7/16 ;; prefetch: queue 16/16", "shutdown complete, exit status 1",
    "process exiting with code 1",
    "wandb: Waiting for W&B process to finish... (failed 1). ;; wandb: Synced 5 W&B file(s)",
    "metrics pushed ;; cleanup done",
)  # fmt: skip
