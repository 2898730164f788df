"""What tools, kernels and people print of devices, for devices.py."""

from typing import NamedTuple

from drawn.job import GAVE_UP, LOST

BUSES = ["18 2a 3a 5d 9a ab ba db", "07 0f 47 4e 87 90 b7 bd", "1b 43 52 61 9d c3 d1 df", "3b 3c 5e 5f 86 87 af d8"]
VISIBLE = {"nvidia": "CUDA", "amd": "HIP", "mthreads": "MUSA", "metax": "CUDA"}
SMI = {"nvidia": "nvidia-smi", "amd": "rocm-smi", "mthreads": "mthreads-gmi", "metax": "mx-smi"}
KEYS = ("index", "bus", "uuid", "serial", "minor", "module", "slot")
BARE = dict(zip(KEYS, ["{i}", "{b}:00.0", "{u}", "{s}", "{m}", "{x}", "{t}"], strict=True))
SPELLED = {key: forms.split("; ") for key, forms in {
    "bus": "0000:{b}:00.0; 00000000:{B}:00.0; {b}:00.0; {b}:00; PCI:0000:{b}:00; 0000:{b}:00; {B}:00.0; "
    "pci-0000:{b}:00.0; pci@0000:{b}:00.0; 0000:{B}:00.0",
    "index": "GPU {i}; gpu{i}; GPU{i}; GPU#{i}; GPU-{i}; GPU[{i}]; gpu index {i}; gpu_id={i}; card {i}",
    "uuid": "{u}; uuid {u}; UUID: {u}; {u12}", "serial": "S/N {s}; serial {s}; SN:{s}; board serial {s}",
    "minor": "/dev/nvidia{m}; nvidia{m}; /dev/nvidia{m}; device minor {m}",
    "module": "GPU_SXM_{x}; SXM{x}; module id {x}; SXM module {x}", "slot": "slot {t}; PCIe slot {t}; Slot{t}; PCIE{t}",
}.items()}  # fmt: skip
COLUMNS = {key: words.split("; ") for key, words in {
    "bus": "pci; bus_id; pci.bus_id; bdf; PCI address", "index": "gpu; index; gpu_index; card; GPU",
    "uuid": "uuid; gpu_uuid; GPU UUID", "serial": "serial; sn; board_serial", "minor": "minor; devnode",
    "module": "module; sxm; module_id", "slot": "slot; pcie_slot; chassis slot",
}.items()}  # fmt: skip
INTROS = """rank {r}/{n} local_rank {l} host {h} pid {p}
global_rank={r} local_rank={l} node={h} pid={p} world_size={n}
init: I am rank {r} (local {l} on {h}), process {p}
RANK={r} LOCAL_RANK={l} WORLD_SIZE={n} HOSTNAME={h} PID={p}
{h}[{p}] joined as rank {r}, local rank {l}
worker up: host={h} pid={p} rank={r}/{n} (local rank {l})
dist.init {{"rank": {r}, "local_rank": {l}, "world_size": {n}, "host": "{h}", "pid": {p}}}
process {p} on {h}: global rank {r} of {n}, local rank {l}
[dist] rank: {r}, local_rank: {l}, hostname: {h}, pid: {p}
Process index: {r} Local process index: {l} Num processes: {n} Hostname: {h} PID: {p}""".splitlines()
BY_RANK = ["[rank{r}]", "rank {r}", "[{r}]:", "(rank={r})", "[Rank {r}]", "r{r}", "<{r}/{n}>", "[default{l}] rank{r}"]
TIMEOUTS = (
    GAVE_UP, GAVE_UP.replace("[PG ID 0 PG GUID 0(default_pg)]", "[Rank {r}]"),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 600000ms for recv "
    "operation to complete",
    "torch.distributed.DistBackendError: [Rank {r}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=211, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600044 milliseconds before timing out.",
)  # fmt: skip
LOSSES = (
    LOST, [*LOST[:-1], "RuntimeError: Connection reset by peer"],
    [*LOST[:-1], "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited "
     "or there was a network error, NCCL version 2.20.5", "ncclRemoteError: A call failed possibly due to a network "
     "error or a remote process exiting prematurely."],
)  # fmt: skip
ENDS = ["own error", "silent, lost", "silent, given up", "all given up", "first alone, lost", "first alone, given up"]
UNTOLD = ENDS[3:]  # ends of which nothing but the device tells who it was
ERRORS = {vendor: words.split("; ") for vendor, words in {
    "nvidia": "CUDA error: uncorrectable ECC error encountered; CUDA error: unspecified launch failure; CUDA error: "
    "unknown error; CUDA error: Invalid access of peer GPU memory over nvlink or a hardware error",
    "amd": "HIP error: unspecified launch failure; "
    "HW Exception by GPU node-4 (Agent handle: 0x55d0c8a0) reason :GPU Hang",
    "mthreads": "MUSA error: unknown error; MUSA error: device lost",
    "metax": "CUDA error: unspecified launch failure; MACA error: mcErrorECCNotCorrectable",
}.items()}  # fmt: skip
RAISED = """Traceback (most recent call last):
  File "/app/train.py", line 212, in <module>
    main()
  File "/app/train.py", line 91, in main
    loss.backward()""".splitlines()
XIDS = """79, pid={p}, GPU has fallen off the bus.
79, pid={p}, name={c}, GPU has fallen off the bus.
79, GPU has fallen off the bus.
48, pid={p}, name={c}, DBE (Double Bit Error) ECC Error
48, pid={p}, An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 6, \
subpartition 0.
64, pid={p}, name={c}, Row Remapper: Failed to remap row
95, pid={p}, name={c}, Uncontained: FBHUB. RST: Yes, D-RST: No
94, pid={p}, name={c}, Contained: SM (0x1). RST: No, D-RST: No
119, pid={p}, name={c}, Timeout after 45s of waiting for RPC response from GPU GSP! Expected function 76 \
(GSP_RM_CONTROL) (0x20802a02 0x10).
120, pid={p}, name={c}, GSP task exception: load access page fault (cause:0xd) @ pc:0x4a1e2, task: 1
74, pid={p}, name={c}, NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)""".splitlines()
NOISE = """mlx5_core 0000:e1:00.0: Port module event: module 0, Cable plugged
nfs: server nas03 OK
perf: interrupt took too long
EXT4-fs (md0): re-mounted. Opts: (null)
audit: backlog limit exceeded
IPv6: ADDRCONF(NETDEV_CHANGE): eth2: link becomes ready
pcieport 0000:e0:01.0: AER: Corrected error received: 0000:e0:01.0
docker0: port 1(veth1f) entered forwarding state""".splitlines()
KERNELS = {  # by vendor, or by how NVIDIA's is told; ~ between lines
    "amd": """amdgpu {f}: amdgpu: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!\
~amdgpu {f}: amdgpu: GPU reset begin!
amdgpu {f}: amdgpu: socket: 0, die: 0, 1 new uncorrectable hardware errors detected in umc block
amdgpu {f}: amdgpu: ring comp_1.0.1 timeout, signaled seq=4512, emitted seq=4514~amdgpu {f}: amdgpu: GPU reset begin!
amdgpu {f}: amdgpu: 2 uncorrectable hardware errors detected in umc block~amdgpu {f}: amdgpu: GPU reset(1) failed""",
    "mthreads": """mtgpu {f}: GPU fault (1: Guilty Lockup) detected when processing kick~mtgpu {f}: GPU recovery failed
mtgpu {f}: uncorrectable ECC error detected in GDDR channel 3
mtgpu {f}: device lost, GPU has fallen off the bus""",
    "metax": """METAX.B{code}.MC.ERROR uncorrectable ECC error channel 5 addr 0x50016c0000\
~METAX.B{code}.RAS.ERROR GPU needs reset
ERROR EID({f}):0x3101,MC uncorrectable ECC error,reset the device
MXCD.B{code}.DEV.ERROR GPU lost, PCIe link down""",
    "fallen": "NVRM: GPU at PCI:0000:{b}:00: {u}~NVRM: The NVIDIA GPU {f}~NVRM: (PCI ID: 10de:2330) installed in this "
    "system has~NVRM: fallen off the bus and is not responding to commands.",
    "aer": "pcieport 0000:{up}:01.0: AER: Uncorrected (Fatal) error received: {f}~nvidia {f}: PCIe Bus Error: "
    "severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)~nvidia {f}:   device [10de:2330] error "
    "status/mask=00004020/00000000~nvidia {f}:    [14] CmpltTO                (First)~nvidia {f}: AER: can't recover "
    "(no error_detected callback)",
    "xid": "NVRM: Xid (PCI:0000:{b}:00): {xid}",
    "xid, with board": "NVRM: GPU at PCI:0000:{b}:00: {u}~NVRM: GPU Board Serial Number: {s}"
    "~NVRM: Xid (PCI:0000:{b}:00): {xid}",
    "sxid": "NVRM: Xid (PCI:0000:{b}:00): {xid}~nvidia-nvswitch1: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 30 "
    "egress non-posted PRIV error (First)",
}
# What tools print: @ name | stem of the file | command | a good state; > for each device; } for each process, ? above
# those; _ below the devices; ! for each device where one is ill.
PAGES_TEXT = """@nvidia|nvidia-smi|nvidia-smi|0
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================================================================|
>|   {i}  NVIDIA H100 80GB HBM3          On  |   00000000:{B}:00.0 Off | {ill:>20} |
>| {state:39} |   71523MiB / 81559MiB  |    100%      Default |
>+-----------------------------------------------------------------------------------------+
?| Processes:                                                                              |
?|  GPU   GI   CI        PID   Type   Process name                             GPU Memory  |
?|=========================================================================================|
}|    {i}   N/A  N/A  {p:>9}      C   /usr/bin/python3                                    71510MiB |
@amd|rocm-smi|rocm-smi|0
============================ ROCm System Management Interface ============================
>GPU[{i}]\t\t: PCI Bus: 0000:{B}:00.0
_==========================================================================================
!GPU[{i}]: \tRAS INFO
!       Block      Status   Correctable Error   Uncorrectable Error
!         UMC     ENABLED                   0{ill:>22}
}PID {p} is using 1 DRM device(s):
}{i}
@mthreads|mthreads-gmi|mthreads-gmi|98%
---------------------------------------------------------------------
    mthreads-gmi:2.3.2           Driver Version:3.3.5-server
---------------------------------------------------------------------
ID   Name                 |PCIe                |%GPU  Mem
+-------------------------------------------------------------------+
>{i}    MTT S5000            |00000000:{b}:00.0    |{ill:5}66641MiB(81920MiB)
>+-------------------------------------------------------------------+
?Processes:
?ID   PID       Process name                         GPU Memory Usage
}{i}    {p:<9} python                               66630MiB
@metax|mx-smi|mx-smi|Available
=================== MetaX System Management Interface Log ===================
Attached GPUs  : 8
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        | GPU-State            |
|================================================================================|
>| {i}           MetaX C500             | 0000:{b}:00.0        | 99%                  |
>| 45C         248W / 350W            | 60858/65536 MiB     | {ill:20} |
_| Process:                                                                       |
_|  GPU                    PID         Process Name                 GPU Memory(MiB) |
}|  {i}         {p:>12}         python3.10                   60704           |
@-q|nvidia-smi-q|nvidia-smi -q|0

==============NVSMI LOG==============

Attached GPUs                             : 8
>GPU 00000000:{B}:00.0
>    Product Name                          : NVIDIA H100 80GB HBM3
>    Serial Number                         : {s}
>    GPU UUID                              : {u}
>    Minor Number                          : {m}
>    GPU Module ID                         : {x}
>    ECC Errors
>        Volatile
>            SRAM Uncorrectable Parity     : 0
>            DRAM Uncorrectable            : {ill}
?    Processes
_    Processes                             : None
}        Process ID                        : {p}
}            Type : C
@apps uuid|compute-apps|nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_gpu_memory --format=csv|
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
}{u}, {p}, /usr/bin/python3, 71510 MiB
@apps bus|compute-apps|nvidia-smi --query-compute-apps=gpu_bus_id,pid,process_name,used_gpu_memory --format=csv|
gpu_bus_id, pid, process_name, used_gpu_memory [MiB]
}00000000:{B}:00.0, {p}, /usr/bin/python3, 71510 MiB
@pmon|pmon|nvidia-smi pmon -c 1|
# gpu         pid   type     sm    mem    enc    dec    command
# Idx           #    C/G      %      %      %      %    name
}    {i} {p:>11}     C     99     61      -      -    python
@fuser|fuser|fuser -v /dev/nvidia[0-9]|
                     USER        PID ACCESS COMMAND
}/dev/nvidia{m}:        ml        {p:>6} F...m python
@-L|gpus|nvidia-smi -L|
>GPU {i}: NVIDIA H100 80GB HBM3 (UUID: {u})
@lspci|lspci|lspci -vmm -d 10de:|
>Slot:\t{b}:00.0
>Class:\t3D controller
>Vendor:\tNVIDIA Corporation
>Device:\tGH100 [H100 SXM5 80GB]
>PhySlot:\t{t}
>
@csv index|ecc|nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv|0
index, ecc.errors.uncorrected.volatile.total
>{i}, {ill}
@csv uuid|ecc|nvidia-smi --query-gpu=uuid,ecc.errors.uncorrected.volatile.total --format=csv|0
uuid, ecc.errors.uncorrected.volatile.total
>{u}, {ill}
@csv bus|ecc|nvidia-smi --query-gpu=pci.bus_id,ecc.errors.uncorrected.volatile.total --format=csv|0
pci.bus_id, ecc.errors.uncorrected.volatile.total
>00000000:{B}:00.0, {ill}
@health|dcgmi_health|dcgmi health -c|
+---------------------------+----------------------------------------------------------+
| Health Monitor Report     |
+===========================+==========================================================+
| Overall Health            | Failure
>| GPU                       |
>| -> {i}                      | Failure
>|    -> Errors              |
>|       -> Memory system    | Failure
>|                           | A DBE (double-bit volatile ECC error) was detected in GPU {i}. Drain it and reset it.
@smi lost|smi_after|nvidia-smi|
>Unable to determine the device handle for GPU0000:{B}:00.0: Unknown Error"""
PAGES = {page.split("|")[0]: page.splitlines() for page in PAGES_TEXT[1:].split("\n@")}
PROC = """Model: \t\t NVIDIA H100 80GB HBM3
IRQ:   \t\t 611
GPU UUID: \t {u}
Bus Type: \t PCIe
Bus Location: \t 0000:{b}:00.0
Device Minor: \t {m}"""
NCCL = """ncclCommInitRank comm 0x55d0c8a0{r}000 rank {r} nranks {n} cudaDev {l} nvmlDev {i} busId {b}000 \
commId 0x9f2c - Init START
comm 0x7f21cc00{r}000 rank {r} nranks {n} cudaDev {l} busId {b}000 - Init COMPLETE
ncclCommInitRankConfig comm 0xa41{r}000 rank {r} nranks {n} cudaDev {l} nvmlDev {i} busId {b}000 \
commId 0x9f2c - Init COMPLETE""".splitlines()
SERVICE = """  {w}:
    image: train:7
    environment:
      RANK: {r}
      WORLD_SIZE: {n}
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              device_ids: ["{d}"]
              capabilities: [gpu]"""
POD = """---
apiVersion: v1
kind: Pod
metadata:
  name: {w}
spec:
  nodeName: {h}
  containers:
  - name: main
    env:
    - name: RANK
      value: "{r}"
    - name: WORLD_SIZE
      value: "{n}\""""
PLACES: dict[str, tuple[str, ...]] = {  # and by which names of a device
    "smi": ("index", "bus"), "apps": ("uuid", "bus"), "-q": ("bus", "uuid", "minor"), "pmon": ("index",),
    "fuser": ("minor",), "environs": ("index", "uuid"), "nccl": ("bus",), "prints": ("index", "uuid", "bus", "serial"),
    "compose": ("index", "uuid"), "docker": ("index", "uuid"), "pods": ("uuid",), "slurm": ("index",), "sheet": KEYS,
    "launcher": ("index", "bus", "uuid", "minor"), "script": ("index", "uuid"),
}  # fmt: skip
BOTH = ("smi", "-q")  # these tell by all of their names at once
TOOLS = ("smi", "apps", "-q", "pmon", "fuser", "slurm")
OF_ALL = ("smi", "environs", "prints", "sheet", "launcher", "script", "nccl")  # of every vendor
BOXES = ("compose", "docker", "pods", "slurm", "script")
PRINTS = """rank {r} uses {d}
device for rank {r}: {d}
[rank {r}] bound to {d} on {h}
global rank {r} -> {h} {d}
torch.cuda.set_device done: rank={r} local_rank={l} host={h} device={d}
{h}: {d} taken by rank {r} (pid {p})
placing process {p} (rank {r}) at {d}
rank={r} pid={p} {d} mem=79.1GiB free
Using {d} for global rank {r}/{n}
start {{"rank": {r}, "host": "{h}", "device": "{d}"}}""".splitlines()
LAUNCHED = """launched rank {r} on {h} {d} with pid {p}
{h}: started worker rank={r} pid={p} {d}
spawn {h} {d} rank:{r} pid:{p}
assign rank {r} => {h}, {d}
slot {h}/{d} given to rank {r}
{h} | {d} | rank {r} | pid {p} | RUNNING
rank {r} was placed at {d} of {h}
worker for global rank {r} runs at {h} with {d}
[{h}] {d}: rank {r}
r{r} @ {h} {d}""".splitlines()
INVENTORIES: dict[str, set[str]] = {
    "-L": {"index", "uuid"}, "csv": {"index", "bus", "uuid", "serial"},
    "-q": {"bus", "uuid", "serial", "minor", "module"}, "proc": {"bus", "uuid", "minor"}, "lspci": {"bus", "slot"},
    "sheet": set(KEYS), "smi": {"index", "bus"},
}  # fmt: skip
MONITORS: dict[str, tuple[str, ...]] = {
    "dcgm": ("index", "uuid"), "health": ("index",), "smi lost": ("bus",), "table": ("index", "bus"),
    "csv": ("index", "uuid", "bus"), "-q": ("bus",), "sel": ("slot",), "redfish": ("module",), "plugin": ("uuid",),
    "events": ("uuid",), "reason": ("index", "bus"), "note": KEYS,
}  # fmt: skip
NOTES = """{t} {d} on {h} fell off the bus, nvidia-smi no longer lists it
{h}: {d} uncorrectable ECC error at {t}
{t} UTC alert: {h} {d} double-bit ECC, RMA opened
- {t}: hardware on-call says {d} in {h} is dead
{h} / {d} / GPU lost / {t} / ticket HW-2291
[{t}] ALERT gpu_hardware_error host={h} device="{d}" severity=critical
GPU failure reported by vendor agent: node {h}, {d}, uncorrectable memory error ({t})
{t} {d} ({h}): device lost, needs a reset
We pulled {d} out of {h}: it stopped answering at {t} and the diag fails
{{"time": "{t}", "node": "{h}", "device": "{d}", "error": "uncorrectable ECC"}}""".splitlines()
ALONE = "{h}:gpu{i}; [{h} GPU{i}]; {h}/{b}:00.0; [{h}:gpu-{i}]; <{h}|0000:{b}:00.0>; {h} dev={i}; ({h} card{i}); "
ALONE += "{h}.gpu-{i}"


class Gpu(NamedTuple):
    """A device, and all that it is called: index, minor number, module, slot, UUID, serial number, bus."""

    host: str
    i: str
    m: str
    x: str
    t: str
    u: str
    s: str
    b: str

    def __call__(self, form: str, **more: object) -> str:
        bus = int(self.b, 16)
        own = {**self._asdict(), "B": self.b.upper(), "u12": self.u[:12], "h": self.host, "f": f"0000:{self.b}:00.0"}
        return form.format(**{**own, "code": f"{bus << 8:x}", "up": f"{bus - 1:02x}", **more})


Rows = list[tuple[Gpu, int]]  # who runs on which; a rank below 0: a process of somebody else
