"""Lines and files that the requirements name as input: progress, checkpoints, schedulers, checks, timings, numbers."""

from tests.reference_rows import Ref, ref

_DLROVER = '[2025-04-21T23:31:09.074419] [426] [22b7ca89] [AtorchTrainerV2] [#{}] [{}] {{"global_step": 177018}}'

ROWS: tuple[Ref, ...] = (
    ref("O4/port-error", "node1:84:91 [0] p2p_plugin.c:141 NCCL WARN NET/IB : Got async event : port error",
        kind="port_error", host="node1"),
    ref("O6/pin-memory", "RuntimeError: Caught RuntimeError in pin memory thread for device 4.", kind="exception",
        device_index=4),
    ref("O6/cuda-error", "RuntimeError: CUDA error: unspecified launch failure", kind="cuda_error"),
    ref("O8/mig-table", "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |\n| N/A   27C "
        "   P0             72W /  700W |    1024MiB /  81559MiB |      0%      Default |\n|                                     "
        "    |                        |              Enabled |", "settings", name="mig_mode", value="Enabled"),
    ref("O9/arguments", "  tensor_model_parallel_size ...................... 8", "settings", name="tensor_model_parallel_size",
        value="8", scope="argument"),
    ref("O11/enospc", "OSError: [Errno 28] No space left on device: '/ckpt/x.pt'", kind="disk_full"),
    ref("O12/loss-scale", "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0",
        kind="loss_scale", value=32768.0),
    ref("M3/old-name", "export NCCL_ASYNC_ERROR_HANDLING=1", "settings", name="NCCL_ASYNC_ERROR_HANDLING", value="1"),
    ref("M3/new-name", "[PG 0 Rank 3] ProcessGroupNCCL environments: NCCL version: 2.20.5, TORCH_NCCL_ASYNC_ERROR_HANDLING: 3",
        "settings", name="TORCH_NCCL_ASYNC_ERROR_HANDLING", value="3"),
    ref("M4/sacct", "JobID|JobName|State|ExitCode\n4711.0|python|FAILED|1:0", kind="scheduler"),
    ref("M4/sacct-running", "JobID           JobName      State ExitCode\n------------ ---------- ---------- --------\n4711.0     "
        "      python    RUNNING      0:0", kind="scheduler"),
    ref("M5/evaluation", " validation loss at iteration 40 | lm loss value: 2.3E+00 | lm loss PPL: 1.0E+01 |", "steps",
        phase="eval", step=40),
    ref("M6/megatron", " iteration       40/     100 | consumed samples:          640 | elapsed time per iteration (ms): 7613.1 | "
        "lm loss: 7.3E-01 | loss scale: 1.0 | grad norm: 0.75 | TFLOPs: 149.02 |", "steps", step=40, loss=0.73, tflops=149.02,
        framework="megatron"),
    ref("NaN/megatron-no-loss", " iteration       40/     100 | consumed samples:          640 | elapsed time per iteration (ms): "
        "7613.1 | loss scale: 1.0 | grad norm: nan | number of nan iterations:   0 |", "steps", loss_seen=False),
    ref("steps/nemo-is-not-megatron", "Training epoch 0, iteration 12/14 | lr: 3e-05 | global_step: 12 | reduced_train_loss: "
        "1.23 | train_step_timing in s: 2.5", "steps", step=12, loss=1.23, framework="nemo", only=True),
    ref("steps/nanotron-is-not-megatron", "iteration: 32 / 37 | consumed_tokens: 85.8G | elapsed_time_per_iteration_ms: 11.5K | "
        "lm_loss: 2.38 | grad_norm: 1.2", "steps", step=32, framework="nanotron", only=True),
    ref("steps/torchtitan", "step:  1  loss:  7.5432  grad_norm:  1.2345  memory:  4.10GiB(44.30%)  tps: 1,234  tflops: 12.34  "
        "mfu: 12.30%", "steps", step=1, loss=7.5432),
    ref("steps/deepspeed", "steps: 100 loss: 2.3451 iter time (s): 0.532 samples/sec: 15.038", "steps", step=100,
        framework="deepspeed"),
    ref("steps/trainer", "{'loss': 2.0491, 'grad_norm': 0.87, 'learning_rate': 1.9e-05, 'epoch': 0.28}", "steps", loss=2.0491),
    ref("O2/checkpoint/megatron", "  successfully saved checkpoint from iteration     500 to /ckpt [ t 1/2, p 1/8 ]", step=500,
        kind="checkpoint_save"),
    ref("O2/checkpoint/deepspeed", "[Torch] Checkpoint global_step500 is ready now!", kind="checkpoint_save", step=500),
    ref("A7/checkpoint/persisted", "Async checkpoint save for step 500 (/ckpt/step=500.ckpt) finalized successfully.",
        kind="checkpoint_persist", step=500),
    ref("S1/heartbeats", "time,host,rank,step,state\n1740669002,gpu-017,13,4200,running", code="heartbeat", rank=13, step=4200,
        path="beats.csv"),
    ref("A5/preflight", '{"host": "gpu-017", "round": 1, "peers": ["gpu-003"], "test": "allgather", "ok": false, "seconds": 3600}',
        kind="node_check", code="failed", path="check.jsonl"),
    ref("D2/node-check", "The node 3 is breakdown because the node check failed", kind="node_check"),
    ref("D2/fault-nodes", "Fault nodes: [3, 5] Straggler nodes: [7]", names_ranks=[3, 5], names_rank_space="node"),
    ref("X12/dlrover/step", _DLROVER.format("step", "END"), "steps", step=177018),
    ref("S11/flap", "mlx5_core 0000:41:00.0 ib0: Link down\nmlx5_core 0000:41:00.0 ib0: Link up", kind="link_up"),
    ref("X14/mctx", "rank,step,phase,ms\n13,4200,backward,310.2", "timings", rank=13, step=4200, value_ms=310.2,
        path="mctx.csv"),
    ref("X15/mctx-level-2", '{"rank": 13, "step": 4200, "level": 2, "phase": "comm", "name": "AlltoAll", "ms": 12.5}', "timings",
        level=2, name="AlltoAll", path="mctx.jsonl"),
    ref("A10/megatron-timers", "(min, max) time across ranks (ms):\n    forward-backward ...............................: (26094.39, "
        "26095.09)", "timings", name="forward-backward", max_ms=26095.09),
    ref("A16/statistics", '{"rank": 3, "step": 7, "phase": "forward", "module": "layers.1.mlp", "op": "Linear", "tensor": "output",'
        ' "nan_count": 4}', "tensors", rank=3, step=7, nan_count=4, path="stats.jsonl"),
    ref("B4/scales", "step,module,op,tensor,amax,scale,format,overflow_pct\n7,layers.1,Linear,input,0,inf,e4m3,0.5", "tensors",
        amax=0.0, format="e4m3", path="stats_rank_3.csv"),
    ref("X10/oom", "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of "
        "79.15 GiB", kind="gpu_oom"),
    ref("D5/xpu-timer", '# TYPE XPU_TIMER_MM_KERNEL_AVG_LATENCY gauge\nXPU_TIMER_MM_KERNEL_AVG_LATENCY{rank="2",ip="10.0.0.1"} 310',
        "timings", rank=2, host="10.0.0.1", value_ms=0.31),
    ref("S3/rdma-traffic", '# TYPE node_infiniband_port_data_transmitted_bytes_total counter\nnode_infiniband_port_data_transmitted'
        '_bytes_total{device="mlx5_0",port="1",instance="n1"} 0', "devices", host="n1", value=0.0),
    ref("slurm/exit", "srun: error: gpu-017: task 13: Exited with exit code 1", kind="exit"),
    ref("slurm/time-limit", "slurmstepd: error: *** JOB 4711 ON gpu-016 CANCELLED AT 2026-03-01T10:11:12 DUE TO TIME LIMIT ***",
        kind="scheduler"),
    ref("kubernetes/evicted", "LAST SEEN   TYPE      REASON      OBJECT              MESSAGE\n5m          Warning   Evicted     "
        "pod/worker-3        The node was low on resource: ephemeral-storage.", code="Evicted"),
)  # fmt: skip
