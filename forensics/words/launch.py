"""What detectors of launches say: why the job did not come together."""

from forensics.model.said import Form, Said
from forensics.words.several import A_PROCESS as A_PROCESS
from forensics.words.several import AS_PRINTED as AS_PRINTED
from forensics.words.several import LOG_AND_STACK as LOG_AND_STACK
from forensics.words.several import THE_JOB as THE_JOB
from forensics.words.several import UNNAMED_HOST as UNNAMED_HOST

NEVER_STARTED = Form("The job never started: {what}.", "作业未能启动：{what}。")

# --- bad_config ------------------------------------------------------------------------------------------------------
OTHER_VERSION = Form("{who} runs another version of it than most hosts", "{who} 上的版本与多数主机不同")
OTHER_VERSION_OF = Form("{who} runs another version of it than most ranks", "{who} 的版本与多数 rank 不同")
PORT_IS_HELD = Said(
    "another process of its host holds the port on which it listens for its peers",
    "其主机上的另一进程占用了它监听的端口",
)
OTHERS_FOUND_THEIRS = Said("most others have found theirs", "多数其他进程已找到各自的网络接口")
OTHER_SIZE = Form("{who} was given another size of the world than most", "{who} 得到的 world size 与多数进程不同")
OTHER_VALUE = Form("{who} tells {own} where all others tell {usual}", "{who} 的值为 {own}，其他均为 {usual}")
REFUSED = Said("a library refused the set-up of the job", "某个库拒绝了作业的配置")
CANNOT_WORK = Form("The job is set up in a way that cannot work: {line}", "作业的配置无法工作：“{line}”")
NCCL_LOGS = Said("NCCL_DEBUG=INFO logs of all ranks", "所有 rank 的 NCCL_DEBUG=INFO 日志", "comm")

# --- init_never_completed --------------------------------------------------------------------------------------------
PROCESS_ON = Form("{host}, process {pid}", "{host} 进程 {pid}")
MEMBERS = Form("members {numbers}", "成员 {numbers}")
SOME_BEGAN = Form(
    "{began} of {size} members of communicator {name} began its initialisation and none completed it; "
    "{who} never printed that they began",
    "通信域 {name} 的 {size} 个成员中有 {began} 个开始初始化，无一完成；没有 {who} 开始初始化的日志",
)
PROCESSES = Form("{text} ({processes})", "{text}（{processes}）")
ALL_BEGAN = Form(
    "all {size} members of communicator {name} began its initialisation and none completed it",
    "通信域 {name} 的 {size} 个成员均已开始初始化，无一完成",
)
STACKS_AND_NETWORK = Said(
    "py-spy dumps of all ranks; a test of the network", "所有 rank 的 py-spy 调用栈；网络连通性测试的结果", "stack"
)

# --- missing_at_start ------------------------------------------------------------------------------------------------
COULD_NOT_CONNECT = Form("{who} could not connect to {peers}", "{who} 无法连接 {peers}")
ITS_PEERS = Said("its peers", "其他 rank")
UNREACHABLE = (  # one address, several
    Said("other hosts cannot reach this address", "其他节点无法访问该地址"),
    Said("other hosts cannot reach these addresses", "其他节点无法访问这些地址"),
)
NO_CONNECTION = Said("no connection came about, and no line says why", "连接未建立，日志未说明原因")
UNMADE = {
    "refused": Said(
        "the connection was refused, so the host answers and no process listens there: it has ended, never began, or listens on another address",
        "连接被拒绝：主机有应答，但没有进程在监听（已退出、未启动或监听其他地址）",
    ),
    "no_route": Said(
        "its own kernel knows no way there (ENETUNREACH): a missing route, an interface that is down or bare, or the GID index",
        "本机内核没有通往该处的通路（ENETUNREACH）：缺少路由、网络接口未启用或无地址，或 GID index 不对",
    ),
    "no_host": Said(
        "the way ends before that host (EHOSTUNREACH): it is down, of another subnet, or a firewall rejects it",
        "报文到不了对端主机（EHOSTUNREACH）：主机宕机、不在同一子网，或被防火墙拒绝",
    ),
    "timed_out": Said(
        "nothing answered before the time-out (ETIMEDOUT): the host is down, or packets are dropped on the way",
        "超时前没有应答（ETIMEDOUT）：主机宕机，或报文在途中被丢弃",
    ),
}
HOST_THAT_SAYS_SO = Said("the host that says so", "报告该错误的主机")
WAY_FROM = Form("{who}", "{who}")
WAY_FROM_TO = Form("{who}, on the way to {peers}", "{who} 到 {peers} 的通路")
OTHERS_CAME = Form("{number} others reached {store}", "其他 {number} 个进程已连上 {store}")
LOOKED_AT = Form("{who} looked for the others at {peers}", "{who} 到 {peers} 寻找其他进程")
OTHERS_LOOKED_AT = Form("{number} others did so at {store}", "其他 {number} 个进程找的是 {store}")
THE_STORE = Said("the key-value store", "rendezvous store")
STORE_ADDRESS = Said("MASTER_ADDR and MASTER_PORT", "MASTER_ADDR 与 MASTER_PORT")
STORE_ADDRESS_OF = Form("MASTER_ADDR and MASTER_PORT of {who}", "{who} 的 MASTER_ADDR 与 MASTER_PORT")
WRONG_INTERFACE = Form("{unreachable}: the wrong network interface was chosen", "{unreachable}：选错了网络接口")
LOGS_OF_HOSTS = Form("the log and the kernel log of {hosts}", "{hosts} 的日志与内核日志", ("log", "kernel"))
ID_NOT_PUBLISHED = Said(
    "rank 0 of the group had not published the communicator's id", "组内 rank 0 尚未发布 communicator id"
)
JOINED = Form("{count} members joined", "{count} 加入")
COUNT = Form("{joined} of {expected}", "{expected} 个成员中有 {joined} 个")
TOO_FEW = Said("too few", "仅有部分成员")
NOT_AMONG_JOINED = (  # several ranks, one
    Form("{who} are not among those that reported that they joined", "{who} 未上报加入"),
    Form("{who} is not among those that reported that they joined", "{who} 未上报加入"),
)
ENDED_BEFORE = Form("{who} ended with an error before the count was given up", "{who} 在放弃计数之前已因错误退出")
ENDED_ON_THE_WAY = Form(
    "{who} ended with an error before it had come to the key-value store",
    "{who} 在连上 rendezvous store 之前已因错误退出",
)
NOT_SAID_WHO = Said("the lines do not say who was missing", "日志行未说明缺少谁")
NOT_REACHED = (  # several hosts, one
    Form(
        "the launcher could not reach {hosts}, and they left no word of the job",
        "启动器无法连接 {hosts}，它们也没有留下该作业的任何记录",
    ),
    Form(
        "the launcher could not reach {hosts}, and it left no word of the job",
        "启动器无法连接 {hosts}，它也没有留下该作业的任何记录",
    ),
)
NOT_PLACED = Form("a part of it could not be scheduled: {line}", "其中一部分未被调度：“{line}”")
WHY_NOT_PLACED = Form("why pod {pod} could not be scheduled", "pod {pod} 未被调度的原因", ("launcher",))
ROOM_FOR = Form("what the cluster has no room for: {pods}", "集群无法容纳的 {pods}")
QUOTED = Form("“{line}”", "“{line}”")
LOGS_OF_MISSING = Said("logs of the ranks that never joined", "未加入的 rank 的日志", "log")
WAITED_FOR_STORE = Form("{who} waited for the key-value store until a timeout", "{who} 等待 rendezvous store 直至超时")
ALL_OTHERS = Said("all others", "其他所有 rank")
LOST_STORE = Form(
    "{who} lost the connection to the key-value store; the process that holds it ended or its host failed",
    "{who} 与 rendezvous store 的连接中断：持有它的进程已退出，或其主机故障",
)
RANK_BUSY = Said(
    "another rank was still busy: work that one rank does while the others wait needs a longer timeout",
    "另一个 rank 仍在忙：若一个 rank 工作时其他 rank 须等待，应加长超时时间",
)
BAR_STANDS_AT = Form(
    "work was at {percent}% after {spent}, with {left} to go, when the wait's limit of {limit} ran out",
    "等待上限（{limit}）到时，工作进度为 {percent}%（已用 {spent}，还需 {left}）",
)
BAR_STANDS_THERE = Form(
    "on the very line of that error work was at {percent}% after {spent}, with {left} to go",
    "该错误所在行显示工作进度为 {percent}%（已用 {spent}，还需 {left}）",
)
LOOK_AT_BAR = Said(
    "whose bar it is (often rank 0 alone works there, and the others wait), and whether that process went on after the error",
    "该进度条属于哪个 rank（常为 rank 0 单独工作、其余等待），以及错误之后它是否仍在继续",
)
THEN_OF_BAR = Said(
    "it went on: the wait was too short for it, nothing of the network; it stopped: read its own last lines",
    "仍在继续：等待上限过短，与网络无关；已停止：查看其自身的最后几行",
)
TIMEOUT_OF_GROUP = Said(
    "the wait (a longer timeout in init_process_group), or do that work before it is called",
    "该等待（调大 init_process_group 的 timeout），或在调用之前完成这项工作",
)
STORE_GONE = Said(
    "its process held the key-value store: find out how it ended", "其进程持有 rendezvous store：查明它如何结束"
)
STORE_RECORDS = Said(
    "log and stack of the rank that the store waits for (often rank 0), and of the store's host",
    "store 所等待的 rank（通常为 rank 0）的日志与调用栈，以及 store 所在节点的日志",
    "log",
    "stack",
)
NOT_IN_RECORDS = Said("whoever it waited for is not in these records", "所等待的 rank 不在这些记录中")
LOST_BEFORE = Said(
    "whoever it waited for is not in these records and was lost before the run began",
    "所等待的 rank 不在这些记录中，在训练开始前就已丢失",
)

# --- wrong_interface -------------------------------------------------------------------------------------------------
LISTENS_ON = Form("the processes of {hosts} listen on {addresses}", "{hosts} 的进程监听 {addresses}")
FAILED_FROM_OR_TO_IT = Said("connections from there, or to that address, failed", "从该处发起或连往该地址的连接失败")
INTERFACE_OF = Form("NCCL_SOCKET_IFNAME on {host}", "{host} 上的 NCCL_SOCKET_IFNAME")
WHO_HAS_WHICH = Said("which rank takes which device of that host", "该节点上各 rank 使用的设备")
WHO_LISTENS = Said("the port: another process listens on it", "端口：已有进程在监听")
LISTENS_THERE = Form("process {pid} ({program}) listened on port {port}", "进程 {pid}（{program}）在监听端口 {port}")
PS_LISTS = Form("ps lists it: {line}", "ps 中的该进程：{line}")
PROCESS_AT_PORT = Form(
    "process {pid} ({program}), which holds port {port}", "占用端口 {port} 的进程 {pid}（{program}）"
)
LOOK_AT_HOLDER = Said(
    "when it started and whose it is: before this run, with the same program, it was left by an earlier one",
    "启动时间与所属用户：若早于本次运行且为同一程序，则为上次运行的残留",
)
THEN_OF_HOLDER = Form(
    "a leftover of your own: `kill {pid}`, then start again as it was; anything else: give the job another port; gone: start again",
    "自己的残留进程：`kill {pid}`，然后原样重启；其他：为作业换一个端口；已不存在：直接重新启动",
)
LOOK_AT_PORT = Said(
    "the process under users: one that an earlier run left, another job, or a second launcher of this one",
    "users 一栏的进程：上次运行的残留、其他作业，还是本作业的第二个启动器",
)
THEN_OF_PORT = Said(
    "a leftover: end it; anything else: give the job another port; nothing listens any more: start again",
    "残留进程：结束它；其他：为作业换一个端口；已无进程监听：直接重新启动",
)
LOOK_AT_DEVICES = Said(
    "how many devices there are, and whether two ranks were given the same one: compare with CUDA_VISIBLE_DEVICES and set_device of each rank",
    "有多少个设备、是否有两个 rank 使用同一个：与各 rank 的 CUDA_VISIBLE_DEVICES 和 set_device 对照",
)
THEN_OF_DEVICES = Said(
    "enough devices: let each rank take that of its local rank; too few: start no more ranks than devices there",
    "设备足够：各 rank 按其 local rank 取设备；不足：该节点上的 rank 数不要超过设备数",
)
LOOK_AT_REACH = Said(
    "the address that the name has there, and whether the port answers",
    "该节点上此名称解析到的地址，以及端口是否有响应",
)
THEN_OF_REACH = Said(
    "no address, or one that is not the first host's: correct the name; the right one, and no answer: a firewall, or a port other than the others'",
    "解析不到或不是首节点的地址：改正名称；地址正确但无响应：检查防火墙，或端口与其他 rank 不一致",
)
LOOK_AT_ROOM = Said(
    "Taints, and under Allocated resources how many of the devices that the pods ask for are given away, and to whom",
    "Taints，以及 Allocated resources 中所需设备已分配给谁、分配了多少",
)
THEN_OF_ROOM = Said(
    "a taint that is over: take it off; devices of other jobs: wait for them, or start with as many processes as there is room for",
    "污点已无必要：去除；设备被其他作业占用：等待，或按现有资源以更少的进程启动",
)
