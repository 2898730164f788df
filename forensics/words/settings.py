"""What a setting brings about, and who says so (facts/settings/odd_settings.py)."""

from forensics.model.said import Form, Said

ODD = Form(
    "{name} is {value} on {holders} and {other} on {others}, {explains}: {why} ({source})",
    "{name} 在 {holders} 上为 {value}，在 {others} 上为 {other}，{explains}：{why}（{source}）",
)
OTHERS = Form("{number} others", "其他 {number} 个")
EXPLAINS, CAN_EXPLAIN = Said("which explains it", "可以解释该故障"), Said("which can explain it", "可能解释该故障")
OUT_OF_RANGE = Form(
    "{name} is {value} on {holders} (its range is {low}-{high})",
    "{name} 在 {holders} 上为 {value}（范围 {low}-{high}）",
)
OUT_OF_RANGE_ELSEWHERE = Form(
    "{name} is {value} on {holders} (its range is {low}-{high}); elsewhere it is {others}",
    "{name} 在 {holders} 上为 {value}（范围 {low}-{high}）；其余为 {others}",
)

# --- why -------------------------------------------------------------------------------------------------------------
MIG_ONE_INSTANCE = Said(
    "with MIG on, a process sees one instance of one GPU, so that no further device number exists",
    "开启 MIG 后一个进程只能看到一个 GPU 的一个实例，不存在其他设备号",
)
MIG_A_PART = Said(
    "with MIG on, a process has a part of the memory and of the multiprocessors", "开启 MIG 后一个进程只有部分显存与 SM"
)
ONE_PROCESS = Said("in this mode a GPU takes one process, or none", "该模式下一个 GPU 只接受一个进程或不接受进程")
OLD_DRIVER = Said("this driver is older than the CUDA of the program asks for", "驱动版本低于程序所用 CUDA 的要求")
GIVES_UP_SOONER = Said(
    "it gives up a packet sooner than the others, with status 12, retries exceeded",
    "它比其他节点更早放弃重传，status 12（重传超限）",
)
OTHER_INTERFACE = Said(
    "the interface that it listens on is another than that of its peers", "监听的网络接口与其他 rank 不同"
)
OTHER_STORE = Said(
    "the store that it asks for its peers is another than theirs", "它用于查找其他 rank 的 store 与它们的不同"
)
OTHER_ADAPTER = Said(
    "the network or the adapter that it connects by is another than that of its peers",
    "所用的网络或网卡与其他 rank 不同",
)
OTHER_ALGORITHM = Said(
    "members of a call that choose another algorithm, protocol or buffer than the others wait for ever",
    "同一次调用中算法、协议或缓冲与其他成员不同的 rank 会一直等待",
)
OTHER_LIBRARY = Said(
    "members with another version of the library may choose another algorithm", "通信库版本不同的成员可能选择不同的算法"
)
NO_ECC = Said(
    "with ECC off, a flipped bit of the GPU's memory is neither corrected nor reported",
    "关闭 ECC 后显存位翻转既不纠正也不上报",
)
OTHER_BITS = Said(
    "equal bits are promised by one version of cuBLAS on one architecture only",
    "仅同版本 cuBLAS 且同架构才保证逐位一致",
)
OTHER_ROUNDING = Said("products are rounded to another number of digits", "乘积的舍入位数不同")
LOWER_LIMIT = Said("the GPU may not run as fast, or draw as much, as the others", "该 GPU 的频率或功耗上限低于其他 GPU")
OTHER_PRODUCT = Said("it is another product", "GPU 型号不同")
LAUNCH_BLOCKS = Said("every launch waits until its kernel has ended", "每次启动 kernel 都要等它执行完")
FEWER_THREADS = Said("the work on the CPU has fewer threads", "CPU 侧可用线程更少")
FAST_WAY_OFF = Said("the fast way to its peers is switched off", "到其他 rank 的快速通路被关闭")
OTHER_WAY = Said("the way to its peers is another than theirs", "到其他 rank 的通路与它们不同")
OTHER_ALLOCATOR = Said("the allocator cuts and keeps memory in another way", "显存分配器的切分与缓存方式不同")

# --- who says so -----------------------------------------------------------------------------------------------------
NCCL = Said("NCCL's documentation of its environment variables", "NCCL 文档：环境变量")
NCCL_1136, NCCL_354 = Said("NVIDIA/nccl#1136", "NVIDIA/nccl#1136"), Said("NVIDIA/nccl#354", "NVIDIA/nccl#354")
INIT_BY_ENV = Said(
    "PyTorch, torch.distributed: environment variable initialization",
    "PyTorch 文档：torch.distributed，environment variable initialization",
)
MIG_DEVICES = Said(
    "NVIDIA MIG User Guide, CUDA device enumeration; mlcommons/training#442",
    "NVIDIA MIG User Guide：CUDA device enumeration；mlcommons/training#442",
)
MIG = Said("NVIDIA MIG User Guide", "NVIDIA MIG User Guide")
DEVICES_UNAVAILABLE = Said(
    "CUDA Runtime API, error types: cudaErrorDevicesUnavailable", "CUDA Runtime API 错误码：cudaErrorDevicesUnavailable"
)
INSUFFICIENT_DRIVER = Said(
    "CUDA Runtime API, error types: cudaErrorInsufficientDriver", "CUDA Runtime API 错误码：cudaErrorInsufficientDriver"
)
SMI = Said("manual of nvidia-smi", "nvidia-smi 手册")
CUBLAS = Said("cuBLAS, results reproducibility", "cuBLAS 文档：结果可复现性")
TF32 = Said("PyTorch, CUDA semantics: TF32; cuBLAS", "PyTorch 文档：CUDA semantics，TF32；cuBLAS")
CUDA_GUIDE = Said("CUDA C++ Programming Guide, environment variables", "CUDA C++ Programming Guide：环境变量")
TUNING = Said("PyTorch, performance tuning guide", "PyTorch 性能调优指南")
MEMORY = Said("PyTorch, CUDA semantics: memory management", "PyTorch 文档：CUDA semantics，显存管理")
