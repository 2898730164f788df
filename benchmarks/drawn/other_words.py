"""What all others print in the bundles of `symptoms`: processes that wait or lose one, launchers, killers, samplers, boards (symptom_words.py: how)."""

from drawn.symptom_words import table

STOPS = (
    "", "", "Received SIGTERM, shutting down", "caught signal 15, saving nothing, leaving", "Terminated",
    "interrupted by launcher", "SIGTERM caught in trainer, exiting now", "*** SIGTERM received at time={u} ***",
)  # fmt: skip
STUCK = (
    "", "still waiting in all_reduce, 600 s", "barrier 'step_end' not reached by everyone after 900 s, aborting",
    "no progress for 1800 s, raising", "sync timed out: {n1} of {n} arrived",
    "WARN grad exchange pending since 10 min ;; giving up", "TimeoutError: peers did not answer within 600 s",
)  # fmt: skip
LAUNCHERS = table(r"""
none =
torchrun = launcher.log || {d} INFO local workers monitored\nRoot Cause (first observed failure):\n[0]:\n  time
        : {d}_{t}\n  host      : {h}\n  rank      : {r} (local_rank: {l})\n
    exitcode  : {code} (pid: {p})\n  error_file:
   <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs
paddle = launch.txt || INFO {d} launch_utils.py:341] terminate all the procs\nERROR {d} launch_utils.py:604] ABORT!!!
   Out of all {n} trainers, the trainer process with rank=[{r}] was aborted. Please check its log.
mpirun = mpirun.err || --------------------------------------------------------------------------\nmpirun detected
   that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process
   to do so was:\n\n  Process name: [[11301,1],{r}]\n  Exit code:    1
deepspeed = ds_launcher.log || [{d} {t}] [INFO] [launch.py:319:sigkill_handler] Killing subprocess {p}\n[{d} {t}]
   [ERROR] [launch.py:325:sigkill_handler] ['python', '-u', 'train.py', '--local_rank={l}'] exits with return code =
   {code}
srun = srun.err || srun: error: {h}: task {r}: Exited with exit code 1\nsrun: Terminating StepId=88123.0
own = watch.log || {d} {t} job lm-7 went down, first report by rank {r}, restarting the group
horovod = hvd.log || Process {r} exit with status code 1.\nTerminating remaining workers after failure of Process {r}.
""")
# Who stops something: a file and what it says.
KILLS = table(r"""
oom = dmesg_{h}.txt || [88123.11] python invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0\n[88123.12] Out
   of memory: Killed process {p} (python) total-vm:98304000kB, anon-rss:61234000kB, file-rss:0kB, shmem-rss:0kB,
   UID:1000 pgtables:14980kB oom_score_adj:0
memcg = journal_{h}.log || {j} {h} kernel: Memory cgroup out of memory: Killed process {p} (python)
   total-vm:8543420kB, anon-rss:7322012kB, file-rss:0kB, shmem-rss:8kB, UID:0 pgtables:14980kB oom_score_adj:999
table = exits.txt || rank {o} exit 1\nrank {r} exit 137 (SIGKILL)
supervisord = supervisord.log || {d} {c},101 WARN exited: trainer_rank{r} (terminated by SIGKILL; not expected)
docker = docker_events.txt || {d}T{c}.1Z container oom {x} (image=trn:7, name=trainer-rank{r})\n{d}T{c}.3Z container
   die {x} (exitCode=137, image=trn:7, name=trainer-rank{r})
describe = describe.txt || Name:         trainer-rank-{r}\nNode:         {h}/{ip}\nContainers:\n  main:\n    State:
            Terminated\n      Reason:       OOMKilled\n      Exit Code:    137
evicted = events.txt || LAST SEEN   TYPE      REASON    OBJECT                 MESSAGE\n4m12s       Warning   Evicted
     pod/trainer-rank-{r}   The node was low on resource: ephemeral-storage.\n4m12s       Normal    Killing
     pod/trainer-rank-{r}   Stopping container main
preempted = events.txt || 3m1s   Normal   Preempted   pod/trainer-rank-{r}   Preempted by pod prod/serve-6c9 on node
   {h}\n3m1s   Normal   Killing pod/trainer-rank-{r}   Stopping container main
earlyoom = syslog_{h}.txt || {j} {h} earlyoom[812]: sending SIGKILL to process {p} uid 1000 "python": badness 1012,
   VmRSS 61234 MiB
systemd = journal_{h}.txt || {j} {h} systemd[1]: train-rank@{r}.service: Main process exited, code=killed,
   status=9/KILL\n{j} {h} systemd[1]: train-rank@{r}.service: Failed with result 'signal'.
shell = run_{h}.err || run.sh: line 41: {p:6d} Killed                  RANK={r} WORLD_SIZE={n} python -u main.py
nanny = nanny_{h}.log || distributed.nanny.memory - WARNING - Worker tcp://{ip}:34937 (pid={p}) exceeded 95% memory
   budget. Restarting...\ndistributed.nanny - INFO - Worker process {p} was killed by signal 9
raylet = raylet_{h}.out || A worker died or was killed while executing a task by an unexpected system error. Worker
   IP address: {ip} Worker port: 10393 Worker PID: {p} Worker exit type: SYSTEM_ERROR Worker exit detail: Worker
   unexpectedly exits with a connection error code 2. End of file.
mpirun = mpirun.err || mpirun noticed that process rank {r} with PID {p} on node {h} exited on signal 9 (Killed).
hydra = mpiexec.err || =   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RANK {r} PID {p} RUNNING AT
   {h}\n=   KILLED BY SIGNAL: 9 (Killed)
own = supervisor.log || {d} {c} INFO all {n} ranks ok\n{d} {c} ERROR rank {r} (pid {p}) rss 118.2 GiB over limit 112
   GiB, sent SIGKILL
history = history_{h}.txt || root@{h}:~# ps aux\nroot@{h}:~# kill -9 {p}\nroot@{h}:~# exit
audit = audit_{h}.log || type=SYSCALL msg=audit({u}.101:88): arch=c000003e syscall=62 success=yes exit=0 a0={p:x}
   a1=9 comm="kill" exe="/usr/bin/kill"\ntype=OBJ_PID msg=audit({u}.101:88): opid={p} oauid=1000 ouid=1000
   ocomm="python"
chat = chat.txt || {m} kim: box {h} was swapping, I killed pid {p} there, that was somebody's python\n{m} lee: our
   run is gone since a minute
""")
# What one does without end; `;;`: the next line; {try_}: again and again.
HANGS = table(r"""
read = opening /mnt/nfs3/shards/{k:05d}.tar || dataloader: fetching batch for step {s} from s3://lumen/part-{k} ...
   || reading index block {k} of feat.db ||next(it) ... || [data] GET shard {k} (offset 0, 268435456 bytes)
lock = waiting for lock /scratch/cache/tok.lock || Lock on /home/ml/.cache/build/lock held by pid 811, waiting ||
   acquire(cache_mutex) ||flock(/ckpt/.writer) ... || Waiting to acquire lock 140021 on .triton/cache/k.lock
retry = attempt {try_}: GET http://feat.store/v1/rows -> 503, sleeping 60 s || retry {try_}/inf connecting to
   meta-db:5432 (timed out) ||WARNING urllib3.connectionpool Retrying (Retry(total={try_})) after connection broken
   by 'ReadTimeoutError': /v1/blob || still no lease for shard 118 (asked {try_} times) || backoff {try_}: dns lookup
   of cache-2 failed, trying again || sample rejected (len 0), resampling, try {try_}
swap = memory pressure: rss 118 GiB, swap in 412 MB/s || GC: full collection started || [gc] pause so far {try_}0 s
   || gc overhead: 97% of the last minute in collections ({try_})
debugger = > /srv/app/loop.py(118)fit()\n-> loss = self.step(batch)\n(Pdb) || --Return--\n>
   /srv/app/mix.py(77)take()->None\n-> breakpoint()\n(Pdb) ||RemotePdb session open at 127.0.0.1:4444, waiting for
   connection ... || debugpy: waiting for client on 0.0.0.0:5678 || ipdb>
input = wandb: (1) Create a W&B account\nwandb: (2) Use an existing W&B account\nwandb: Enter your choice: ||
   Overwrite /out/run7? [y/N] || Enter passphrase for key '/home/kim/.ssh/id_rsa': || The repository for lumen/set
   contains custom code. Do you wish to run the custom code? [y/N] || Password:
checkpoint = saving optimizer shard to /ckpt/step_{s}/shard_{r}.pt ... || ckpt: fsync begin || checkpoint writer: 0
   of 11.2 GiB written || storing snapshot {s} to lustre || write manifest for {s} ;; uploading part 1/118
compile = torch.compile: recompiling fit (reason: shape 31 != 32) || ninja: [1/7] nvcc -c fused_mix.cu || XLA:
   compiling module jit_step (this may take a while) || nvcc compile of kernel mix_k started || E0709 {t}
   slow_operation_alarm.cc:65] Constant folding an instruction is taking > {try_}m
deadlock = prefetch thread: join() || shutting down worker pool ;; pool.join() || writer: waits for reader; reader:
   waits for writer || queue full, put() blocks || enter critical section A ;; wants B
stopped = [1]+  Stopped                 python main.py || suspended (tty output) || received SIGTSTP || ^Z
evaluation = running validation on 118000 samples || eval: scoring batch 1 || entering sampling for images at step
   {s} || generating preview videos
log = pushing 118 MB of histograms to tracking server || flushing logs to http://mlflow:5000 ... || tensorboard:
   writing embeddings
device = copying batch to cuda:{l} || cudaMalloc 512 MiB ... || waiting for gpu event {k} || torch.cuda.synchronize()
   begin
loop = newton: not converged, iteration {try_}00 || line search: alpha halved {try_} times || bpe merge pass {try_},
   nothing changed || while packing: {try_}000000 candidates, 0 fit
""")
SYNCS = (
    "", "", "grad sync step {s} ...", "entering all_reduce", "waiting for the others", "barrier step_end: arrived",
    "allreduce bucket 3/7", "sync...", "local work of step {s} done in 1.2 s, now in collective", "exchange halos",
    "allgather posted",
)  # fmt: skip
STANDS = table(r"""
read = read fsspec/spec.py:1915 ;; _load_shard data/reader.py:88 ;; __next__ data/loader.py:140 ;; fit main.py:118
queue = wait threading.py:331 ;; get queue.py:171 ;; _try_get_data torch/utils/data/dataloader.py:1133 ;; __next__
   torch/utils/data/dataloader.py:733
lock = _acquire filelock/_unix.py:43 ;; acquire filelock/_api.py:315 ;; load_cache lumen/cache.py:61 ;; fit main.py:90
save = write lumen/blob.py:212 ;; save torch/serialization.py:850 ;; save_checkpoint lumen/ckpt.py:120 ;; fit
   main.py:171
compile = _readerthread subprocess.py:1599 ;; communicate subprocess.py:1209 ;; compile_cuda lumen/jit.py:77 ;; fit
   main.py:60
http = readinto socket.py:705 ;; begin http/client.py:287 ;; get requests/api.py:73 ;; fetch_rows feat/client.py:31
   ;; fit main.py:101
pdb = readline <stdin>:1 ;; interaction pdb.py:360 ;; set_trace pdb.py:1697 ;; mix lumen/mix.py:77 ;; fit main.py:118
sleep = sleep lumen/retry.py:22 ;; wrapped lumen/retry.py:40 ;; open_table feat/table.py:88 ;; fit main.py:70
eval = forward lumen/model.py:310 ;; score lumen/eval.py:41 ;; validate lumen/eval.py:90 ;; fit main.py:188
log = send wandb/sdk/lib/sock_client.py:152 ;; log_histograms lumen/track.py:50 ;; fit main.py:140
gc = collect lumen/mem.py:12 ;; trim lumen/mem.py:40 ;; fit main.py:122
loop = pack lumen/packing.py:71 ;; _greedy lumen/packing.py:133 ;; make_batch lumen/data.py:201 ;; fit main.py:99
input = input lumen/ask.py:9 ;; confirm lumen/ask.py:21 ;; open_run lumen/out.py:70 ;; main main.py:31
""")
STANDS_NATIVE = table(r"""
read = read ../sysdeps/unix/sysv/linux/read.c:26 ;; Reader::Fill src/reader.cc:88 ;; Feed::Next src/feed.cc:40 ;;
   Trainer::Step src/trainer.cc:388
lock = __lll_lock_wait ./nptl/lowlevellock.c:52 ;; Pool::Take src/pool.cc:77 ;; Feed::Worker src/feed.cc:140 ;;
   Trainer::Step src/trainer.cc:388
write = fsync ../sysdeps/unix/sysv/linux/fsync.c:29 ;; write_restart io.f90:210 ;; advance solver.f90:450
open = openat64 ../sysdeps/unix/sysv/linux/openat64.c:39 ;; for_open forrtl:1 ;; read_part io.f90:66 ;; main
   main.f90:40
loop = newton_iterate newton.f90:118 ;; implicit_solve solver.f90:377 ;; advance solver.f90:395
swap = __memmove_avx_unaligned_erms memmove.S:440 ;; Table::Grow src/table.cc:31 ;; Trainer::Step src/trainer.cc:371
""")
STACK_FILES = (
    "stacks/rank_{r}.txt", "pyspy_rank{r}.out", "rank{r}.stack", "dumps/{h}/rank-{r}.bt", "trace.rank{r:02d}",
    "stack_r{r}_{h}.txt", "hang/rank {r}.txt", "rank_{r}.threads", "{r}/rank{r}-bt.log", "snap1_rank{r}.txt",
    "where_is_rank_{r}.txt",
)  # fmt: skip
HEADINGS = (
    "=== rank {r} ===", "## RANK {r} on {h}", "--- {h} rank={r} pid={p} ---", "# global rank {r}", "[rank {r}]",
    "***** rank {r}/{n} *****", "rank {r}:", "$ ssh {h} dump {p}   # rank {r}", "<<< rank {r} pid {p} >>>",
    "RANK {r} ({h}, pid {p})", "-------- rank{r} --------",
)  # fmt: skip
# Heartbeats and states: file; head ;; tail; a row; the row of the one that stands.
BEATS = table(r"""
csv = heartbeats.csv || rank,step,last_seen_s_ago || {r},{s1},{young} || {r},{s},{age}
prometheus = metrics.prom || # TYPE trainer_last_beat_seconds gauge ||
   trainer_last_beat_seconds{{rank="{r}",host="{h}"}} {u}.0\ntrainer_step{{rank="{r}",host="{h}"}} {s1} ||
   trainer_last_beat_seconds{{rank="{r}",host="{h}"}} {old}.0\ntrainer_step{{rank="{r}",host="{h}"}} {s}
jsonl = beats.jsonl || - || {{"ts": {u}, "rank": {r}, "step": {s1}, "look": {try_}, "state": "allreduce"}} || {{"ts":
   {u}, "rank": {r}, "step": {s}, "look": {try_}, "state": "next_batch"}}
ps = ps.txt || HOST         PID STAT %CPU WCHAN                COMMAND || {h} {p:9d} Rl    100 -
                      python main.py --rank {r} || {h} {p:9d} Dl    0.0 nfs_wait_bit_killable python main.py --rank {r}
ps stopped = ps.txt || HOST         PID STAT %CPU WCHAN        COMMAND || {h} {p:9d} Rl    99.8 -            python
   main.py --rank={r} || {h} {p:9d} Tl     0.0 do_signal_stop python main.py --rank={r}
board = board.txt || RANK    STEP  IDLE      DOING || {r:<6} {s1:>6}  00:00:0{young}  grad_sync || {r:<6} {s:>6}
    00:31:02  load_batch
redis = redis.txt || - || hb:rank:{r} -> "{u} step={s1}" || hb:rank:{r} -> "{old} step={s}"
supervisor = watch.log || - || {t} ok     rank {r} beat {young}s ago, step {s1} || {t} MISSED rank {r} beat {age}s
   ago, step {s}
yaml = status.yaml || ranks: || - {{rank: {r}, step: {s1}, phase: allreduce, host: {h}}} || - {{rank: {r}, step: {s},
   phase: read_shard, host: {h}}}
gpu = gpu.csv || rank,host,gpu_util_pct,mem_used_mib,power_w,step || {r},{h},100,71200,18{young},{s1} ||
   {r},{h},0,71200,7{young},{s}
touch = ls_beats.txt || $ ls -l --time-style=+%s beats/; date +%s ;; {u} || -rw-r--r-- 1 ml ml 9 {u} rank_{r}.beat ||
   -rw-r--r-- 1 ml ml 9 {old} rank_{r}.beat
bars = progress.txt || - || rank {r} [#########-] {s1}/90000 waiting for peers || rank {r} [########--] {s}/90000
   augmenting
markdown = oncall.md || | rank | step | last heartbeat |\n|---|---|---| || | {r} | {s1} | {young} s ago | || | {r} |
   {s} | {age} s ago |
logfmt = monitor.log || - || ts={u} msg=heartbeat rank={r} step={s1} lag={young}s || ts={u} msg="no heartbeat"
   rank={r} step={s} lag={age}s level=warn
influx = export.lp || - || train,rank={r},host={h} step={s1}i,age={young}i {u}000000000 || train,rank={r},host={h}
   step={s}i,age={age}i {u}000000000
prose = note.txt || Seen at {t}, nothing moves: || rank {r} answers pings, sits in all_reduce at step {s1} || rank
   {r} does not answer, last said step {s}
top = top.txt || PID     S  %CPU  RES    COMMAND || {p:<7} R 100.0  61.2g  trainer: rank {r} step {s1} allreduce ||
   {p:<7} D   0.3  61.2g  trainer: rank {r} step {s} read
""")
# Each one's own record of what it calls: usual, and of the odd one.
ODD = table(r"""
other op = coll #{s} all_reduce f32 [4096,1024] || coll #{s} all_gather f32 [4096,1024]
shape = allreduce(grad, shape=(4096, 1024)) seq {s} || allreduce(grad, shape=(4096, 1023)) seq {s}
branch = batch ok, backward ;; all_reduce grads || no positives in batch, skipping backward ;; barrier epoch_end
end of data = epoch 3 batch {s}: entering grad sync || epoch 3 finished after {s} batches: entering validation ;;
   barrier('eval_start')
nccl = AllReduce: opCount {s:x} sendbuff 0x7f{x} recvbuff 0x7f{x} count 262144 datatype 7 op 0 root 0 comm 0x55d2
   [nranks={n}] stream 0x5581 || AllGather: opCount {s:x} sendbuff 0x7f{x} recvbuff 0x7f{x} count 262144 datatype 7
   op 0 root 0 comm 0x55d2 [nranks={n}] stream 0x5581
extra = > all_reduce(loss) ;; < all_reduce(loss) ;; > all_reduce(grads) || > all_reduce(loss) ;; < all_reduce(loss)
   ;; > broadcast(ema_stats)
dtype = dist.all_reduce dtype=torch.bfloat16 numel=1048576 || dist.all_reduce dtype=torch.float32 numel=1048576
mpi = MPI_Allreduce count=8192 MPI_DOUBLE MPI_SUM tag {s} || MPI_Bcast count=8192 MPI_DOUBLE root=0 tag {s}
early = work left, next all_reduce || converged, leaving loop ;; waiting in MPI_Finalize
json = {{"call": "all_reduce", "n": {s}, "numel": 8192}} || {{"call": "reduce_scatter", "n": {s}, "numel": 8192}}
save = step {s}: all_reduce grads || step {s}: save_interval hit, barrier before checkpoint
skip = overflow check ok ;; allreduce step {s} || loss spike guard: batch dropped ;; allreduce of metrics
""")
ODD_ERRORS = (
    "RuntimeError: collective mismatch at seq {s}", "MPI_ERR_TRUNCATE: message truncated",
    "peers disagree about the current collective, aborting",
    "comm: header mismatch at {s}: other side sent another operation",
)  # fmt: skip
SLOWS = (
    "step {s} compute {own}s wait {wait}s", "iter {s}: fwd+bwd={ms}ms allreduce={wms}ms",
    '{{"step": {s}, "compute_s": {own}, "sync_s": {wait}}}', "step={s} total={whole} compute={own} comm={wait}",
    "[timing] {s} | own {own} s | blocked {wait} s | all {whole} s", "update {s} took {whole}s (work {own}s)",
    "batch {s}: gpu time {ms} ms, waiting for others {wms} ms", "it {s} t_comp {own} t_comm {wait}",
    "step {s} local work done in {own} s", "perf: step {s}, {rate} samples/s, busy {own} s, idle {wait} s",
    "time (ms) | forward-backward: {ms} | grads-sync: {wms} (iteration {s})",
)  # fmt: skip
SHARED = (
    "KeyError: 'warmup_steps'", "AssertionError: vocab size 32000 != 32064",
    "lumen.errors.ManifestError: no split 'train2'", "AttributeError: 'NoneType' object has no attribute 'shape'",
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/epoch_4/index.bin'",
    'RuntimeError: CUDA out of memory. Tried to allocate 9.00 GiB', "ValueError: loss is not defined for stage 3",
    "OSError: [Errno 28] No space left on device: '/shared/ckpt/tmp.pt'", "ZeroDivisionError: division by zero",
    "kestrel.StageError: curriculum exhausted",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB.",
)  # fmt: skip
SERVICES = (
    "cannot reach feat.store:8080: connection refused, leaving",
    "redis.exceptions.ConnectionError: Error 111 connecting to cache-2:6379. Connection refused.",
    "botocore.exceptions.EndpointConnectionError: Could not connect to the endpoint URL: https://s3.lumen/",
    "meta-db does not answer, aborting", "psycopg2.OperationalError: server closed the connection unexpectedly",
    "lost the parameter service ps-main:2222 (UNAVAILABLE), exit 3",
    "replay buffer service went away: StatusCode.UNAVAILABLE", "license server lic1 down, stopping",
    "OSError: [Errno 116] Stale file handle: '/mnt/shared/data'",
    "data service returned 503 for 10 min, raising FeedLost", "etcdserver: request timed out",
    "grpc: dispatcher.lumen:5050 transport is closing",
)  # fmt: skip
AFTER = table(r"""
limit = slurm.out || slurmstepd: error: *** JOB 88123 ON {h} CANCELLED AT {d}T{c} DUE TO TIME LIMIT ***
step = srun.err || slurmstepd: error: *** STEP 88123.0 ON {h} CANCELLED AT {d}T{c} ***\nsrun: Job step aborted:
   Waiting up to 32 seconds for job step to finish.
lsf = lsf.out || TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.
pbs = pbs.e88123 || =>> PBS: job killed: walltime 86411 exceeded limit 86400
k8s = events.txt || 2m   Warning   DeadlineExceeded   job/lm-7   Job was active longer than specified deadline
scancel = sacct.txt || 88123  lm-7  CANCELLED by 1000  0:0
own = daemon.log || {d} {c} budget of job lm-7 is used up, stopping all {n} ranks
maintenance = wall.txt || Broadcast message from root: all nodes go down for maintenance NOW
preempted = slurm.out || slurmstepd: error: *** JOB 88123 ON {h} CANCELLED AT {d}T{c} DUE TO PREEMPTION ***
ray = job.txt || Job 'raysubmit_7' was stopped by user (ray job stop)
""")
BYSTANDERS = table(r"""
none =
pip = pip_freeze.txt || numpy==1.26.4\nlumen-ops==0.7.2\nprotobuf==4.25.3
df = df.txt || Filesystem      Size  Used Avail Use% Mounted on\n/dev/nvme0n1p1  7.0T  2.1T  4.9T  31% /local
config = config.yaml || world_size: {n}\nbatch_size: 512\nlr: 0.0003\nprecision: bf16
dmesg = dmesg.txt || [    0.000000] Linux version 5.15.0-101-generic\n[   12.118000] nvidia: loading out-of-tree
   module taints kernel.
note = README.txt || logs of run lm-7, taken on {d}, please have a look
ps = ps0.log || parameter server 0 listens on :2222\nparameter server 0: 8112 pushes, 8112 pulls
actors = actors.csv || actor_id,episodes,fps\n1,812,1180\n2,799,1175\n3,820,1191
""")
