"""What facts say: of stacks, of time, of what was measured of devices, of places, of storage."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said

# --- calls -----------------------------------------------------------------------------------------------------------
CALL = Form("{kind} #{number} of {group}", "{group} 的 {kind} #{number}")
CALL_OF = Form("{kind} of {what}", "{kind}（{what}）")

# --- stacks ----------------------------------------------------------------------------------------------------------
STACK_IN_COMMUNICATION = Form("the stack of {who} is in communication", "调用栈显示 {who} 在通信中")
STACK_NOT_IN_COMMUNICATION = Form("the stack of {who} is not in communication", "调用栈显示 {who} 不在通信中")
WAITED_FOR_RANK = Form(
    "in that group of all ranks it waited for rank {member}", "在该全体 rank 的进程组中，它等待的是 rank {member}"
)
WAITED_FOR_MEMBER = Form(
    "it waited for member {member} of that group, as the group counts them: which rank that is, no line tells",
    "它在等该组内编号为 {member} 的成员；无日志说明其对应的 rank",
)
SIZES_DIFFER = Form(
    "for {call} their sizes differ: {sizes}; this holds it up if they are of one group, which no line tells",
    "{call} 中各 rank 的数据大小不同：{sizes}；若属同一组则因此停住，但无日志说明是否同组",
)
SIZE_OF = Form("{size} ({who})", "{size}（{who}）")
PROCESS_IS_STOPPED = Form(
    "the process of {who} is stopped by a signal, and runs nothing until it is told to go on",
    "{who} 的进程被信号停止（T 状态），在收到继续信号前不执行任何代码",
)
STACK_SHOWS = Form("the stack shows {who} {site}", "调用栈显示 {who} 正在 {site}")
STACK_SHOWS_ALONE = Form(
    "the stack shows {who} {site}, not in communication", "调用栈显示 {who} 正在 {site}，不在通信中"
)
OTHERS_COMMUNICATE = Noun("other rank is in communication", "other ranks are in communication", "个其他 rank 在通信中")

# --- whether the job stood still -------------------------------------------------------------------------------------
RAS_WENT_ON = Said("between two reports of RAS operations were launched", "两次 RAS 报告之间有新操作启动")
RAS_STOOD = Said("between two reports of RAS no operation was launched", "两次 RAS 报告之间没有新操作启动")
WAIT_GIVEN_UP = Said("a wait was given up", "有等待已超时放弃")
DID_NOT_MOVE = Said("between two snapshots processes did not move", "两次快照之间进程没有推进")
LOOKED_AT_LATE = Said(
    "processes were looked at long after the last step, and still stood there",
    "最后一步完成很久之后查看，进程仍停在那里",
)
HELD_IN_EACH_LOOK = Said("in each look a process of the job was stopped", "每次查看时都有一个进程处于停止状态")
RETIRED_UNFINISHED = Said("an operation was retired unfinished", "有操作未完成即被移除")
OPEN_SINCE_LONG = Said(
    "an operation is open since long before the newest line of its process",
    "有操作发起后一直未完成，此后其进程仍打印日志很久",
)
LATER_STEP = Said("a later step was completed", "之后还有 step 完成")

# --- telemetry: which device or port stands apart --------------------------------------------------------------------
QUANTITY: Mapping[str, Said] = {
    "temperature_c": Said("temperature", "温度"),
    "memory_temperature_c": Said("memory temperature", "显存温度"),
    "sm_clock_mhz": Said("SM clock", "SM 频率"),
    "power_w": Said("power", "功耗"),
    "power_limit_w": Said("power limit", "功耗上限"),
    "utilization_pct": Said("utilisation", "利用率"),
    "pcie_width": Said("PCIe width", "PCIe 宽度"),
    "port_gbps": Said("link rate", "链路速率"),
    "nvlinks_active": Said("active NVLinks", "活动 NVLink 数"),
    "port_active": Said("link state", "链路状态"),
    "throttle_thermal": Said("thermal throttling", "过热降频"),
    "throttle_hardware": Said("hardware slowdown", "硬件降频"),
    "retired_pages": Said("retired pages", "已退役页"),
    "remap_failed": Said("failed row remapping", "行重映射失败"),
    "remap_pending": Said("a page retirement or row remapping that is pending", "页退役或行重映射待生效"),
    "ecc_uncorrectable": Said("uncorrectable ECC errors", "不可纠正 ECC 错误"),
    "ecc_correctable": Said("correctable ECC errors", "可纠正 ECC 错误"),
    "pcie_replays": Said("PCIe replays", "PCIe 重传"),
    "nvlink_errors": Said("NVLink errors", "NVLink 错误"),
    "port_errors": Said("port errors", "端口错误"),
    "port_downs": Said("link downs", "链路断开次数"),
    "last_xid": Said("last Xid", "最近的 Xid"),
    "traffic": Said("traffic", "流量"),
    "cpu_idle_pct": Said("idle share", "空闲比例"),
}
DEVICE = Form("device {device}", "GPU {device}")
CPUS = Said("the CPUs", "CPU")
PORT = Form("port {port}", "端口 {port}")
SOME_DEVICE = Said("a device", "某 GPU")
OF_HOST = Form("{thing} of {host}", "{host} 的 {thing}")
OF_RANK = Form("{thing} (rank {rank})", "{thing}（rank {rank}）")
ONE_MOMENT = Said("seen at one moment", "仅有一个采样点")
SAMPLED_EVERY = Form(
    "sampled every {seconds:.0f} s: what is shorter could not be seen", "每 {seconds:.0f} s 采样一次，更短的变化看不到"
)
SAMPLES = Form("{number} samples", "{number} 个采样点")
TRAFFIC_ENDED = Form(
    "{who}: its traffic fell to zero, that of {peers} others went on; {seen}",
    "{who}：流量降为 0，其余 {peers} 个仍有流量；{seen}",
)
FLAG_SET = Form(
    "{who}: {quantity}, most of {peers} peers have none; {seen}",
    "{who}：{quantity}，{peers} 个同类大多没有；{seen}",
)
PAGES_RETIRED = Form(
    "{who}: {value:.0f} {quantity}, where some 60 have a card replaced; {seen}",
    "{who}：{quantity} {value:.0f}，约 60 即应更换；{seen}",
)
FLAG_SEEN = Form("{who}: {quantity}; {seen}", "{who}：{quantity}；{seen}")
VALUE_APART = Form(
    "{who}: {quantity} {value:.6g}{unit}, at the median of {peers} peers {centre:.6g}{unit}; {seen}",
    "{who}：{quantity} {value:.6g}{unit}，{peers} 个同类的中位数为 {centre:.6g}{unit}；{seen}",
)
GROWTH_APART = Form(
    "{who}: {quantity} grew by {value:.6g}, at the median of {peers} peers by {centre:.6g}; {seen}",
    "{who}：{quantity} 增加 {value:.6g}，{peers} 个同类的中位数为增加 {centre:.6g}；{seen}",
)
PAIR_APART = Form(
    "{one}–{other} of {host}: {what}, at {peers} like pairs {usual}",
    "{host} 的 {one}–{other}：{what}，{peers} 个同类连接为 {usual}",
)

# --- places that hosts share -----------------------------------------------------------------------------------------
PLACE: Mapping[str, Said] = {
    "rack": Said("rack", "机柜"),
    "row": Said("row", "机柜列"),
    "room": Said("room", "机房"),
    "hall": Said("hall", "机房"),
    "chassis": Said("chassis", "机箱"),
    "cabinet": Said("cabinet", "机柜"),
    "power": Said("power", "供电"),
    "cooling": Said("cooling", "制冷"),
    "building": Said("building", "楼栋"),
    "site": Said("site", "园区"),
    "switch": Said("switch", "交换机"),
    "zone": Said("zone", "可用区"),
    "region": Said("region", "区域"),
    "datacenter": Said("datacenter", "数据中心"),
}
NAMED = Form("{sort} {name}", "{sort} {name}")
AND_MORE = Form("{names}, …", "{names}…")
PORTS, HOSTS = Said("ports", "个端口"), Said("hosts", "个节点")
IN_QUESTION = Form("{number} of {of} in question", "所涉 {of} 个中的 {number} 个")
ALL_IN_QUESTION = Form("all {of}", "全部 {of} 个")
SHARED_BY_CHANCE = Form(
    "{who} ({which}) share {place}, as do {there} of {placed} {things} of this job: that is no more than chance",
    "{who}（{which}）同属 {place}，本作业 {placed} {things}中有 {there} 个在此：可能只是偶然",
)
SHARED = Form(
    "{who} ({which}) share {place}, which holds {there} of {placed} {things} of this job: chance {chance:.2g}, over {asked} places asked",
    "{who}（{which}）同属 {place}，本作业 {placed} {things}中有 {there} 个在此：偶然概率 {chance:.2g}（已比较 {asked} 个位置）",
)

# --- links that went down and came back ------------------------------------------------------------------------------
PORT_OF = Form("{port} of {host}", "{host} 的 {port}")
STAYED_DOWN = Form("{port} went down, and no line says that it came back", "{port} 断开，没有日志表明已恢复")
DOWN_ONCE = Form("{port} was down once, for {seconds:.3g} s", "{port} 断开 1 次，持续 {seconds:.3g} s")
DOWN_OFTEN = Form(
    "{port} was down {number} times, {seconds:.3g} s in all, {longest:.3g} s at the longest",
    "{port} 断开 {number} 次，共 {seconds:.3g} s，最长 {longest:.3g} s",
)
THEN_FOR_GOOD = Said("it then went down for good", "之后断开且未恢复")

# --- storage ---------------------------------------------------------------------------------------------------------
STORAGE_OF = Form("the storage that holds {path}", "{path} 所在的存储")
ITS_FILES = Said("what it read or wrote", "其读写文件")
STORAGE_ANSWERED = Form(
    "it answered {name} ({words}), which no wrong path and no missing right brings about",
    "存储返回 {name}（“{words}”），路径或权限错误不会引起该错误",
)

# --- checks of nodes: what a test is of ------------------------------------------------------------------------------
TEST_OF: Mapping[str, Said] = {
    "loopback": Said(
        "the way from an adapter to the memory and the GPUs of its own host (PCIe)",
        "网卡到本机内存与 GPU 的通路（PCIe）",
    ),
    "adapters": Said("adapters of one host reach each other", "同一节点网卡间的互通"),
    "links": Said("links between the GPUs of one host", "同一节点 GPU 间的链路"),
    "switch": Said("hosts under one switch (ToR)", "同一交换机（ToR）下的节点"),
    "compute": Said("what the GPUs compute", "GPU 计算结果"),
    "pcie": Said("the PCIe link of a device", "GPU 的 PCIe 链路"),
    "memory": Said("the memory of the GPUs", "GPU 显存"),
    "network": Said("the network between hosts", "节点间网络"),
}
# --- errors ----------------------------------------------------------------------------------------------------------
REQUESTED = Form("{asked} requested", "申请 {asked}")
REQUESTED_FREE = Form("{asked} requested, {free} free", "申请 {asked}，剩余 {free}")

# --- checkpoints, and who was launched anew --------------------------------------------------------------------------
CHECKPOINT = Form("the checkpoint of step {step}", "step {step} 的检查点")
CHECKPOINT_AT = Form("the checkpoint of step {step} ({path})", "step {step} 的检查点（{path}）")
CHECKPOINT_BEFORE = Form("a checkpoint before step {step}", "step {step} 之前的检查点")
BEGINNING = Said("the state that the run began from", "训练的初始状态")
IN_PLACE_OF = Form("{new} in place of {old}", "{new} 替换 {old}")
ANEW = Form("{old} anew", "{old} 重新启动")

# --- what records do not hold ----------------------------------------------------------------------------------------
INSIDE_LIBRARY = Form("in {library} ({source})", "在 {library}（{source}）中")
WAITS_FOR_DEVICE = Said(
    "waiting for the device with no operation open in its record", "在等待 GPU，而其记录中没有未完成的操作"
)
IS_UNRECORDED = (  # several ranks, one
    Form("{who} are {where}: {why}", "{who} {where}：{why}"),
    Form("{who} is {where}: {why}", "{who} {where}：{why}"),
)
OUTSIDE_GROUPS = Said(
    "its kernels communicate outside every process group, so flight records hold no entry of it",
    "其 kernel 在所有进程组之外通信，因此 Flight Recorder 中没有记录",
)
BY_NO_GROUP = Said(
    "what runs there was launched by no process group: a computation, or communication inside a kernel, which no record sees",
    "正在运行的操作不由任何进程组发起：可能是计算，也可能是 kernel 内部的通信，均无记录",
)

# --- pace, beside what was expected of it ----------------------------------------------------------------------------
STEP_TAKES = Form("a step takes {figure:.4g} s at the median", "step 耗时中位数为 {figure:.4g} s")
PRINTS_TFLOPS = Form("the log prints {figure:.4g} TFLOPS at the median", "日志打印的 TFLOPS 中位数为 {figure:.4g}")
PRINTS_RATE = Form("the log prints {figure:.4g} per second at the median", "日志打印的每秒处理量中位数为 {figure:.4g}")
BESIDE_EXPECTED: Mapping[str, Form] = {
    "longer": Form("{percent:.0f} % longer than the {wanted:.4g} {unit} that you expect", "比预期的 {wanted:.4g} {unit} 长 {percent:.0f}%"),
    "shorter": Form("{percent:.0f} % shorter than the {wanted:.4g} {unit} that you expect", "比预期的 {wanted:.4g} {unit} 短 {percent:.0f}%"),
    "more": Form("{percent:.0f} % more than the {wanted:.4g} {unit} that you expect", "比预期的 {wanted:.4g} {unit} 高 {percent:.0f}%"),
    "less": Form("{percent:.0f} % less than the {wanted:.4g} {unit} that you expect", "比预期的 {wanted:.4g} {unit} 低 {percent:.0f}%"),
    "as": Form("as the {wanted:.4g} {unit} that you expect", "与预期的 {wanted:.4g} {unit} 一致"),
}  # fmt: skip
SECONDS, TFLOPS, PER_SECOND = Said("s", "s"), Said("TFLOPS", "TFLOPS"), Said("per second", "/s")
BY_ARGUMENTS = Form(
    "by the printed arguments a step is {operations:.4g} PFLOP: {reached:.4g} TFLOPS on each of {size} devices",
    "按打印的参数，一个 step 为 {operations:.4g} PFLOP：{size} 个 GPU 每个 {reached:.4g} TFLOPS",
)
AT_PACE = Form("at {took:.4g} s a step", "每个 step {took:.4g} s")
OF_PEAK = Form(
    "{percent:.0f} % of the peak of {name} ({most:.4g} in 16 bits); at the peak it would take {least:.3g} s instead of {took:.4g} s",
    "达到 {name} 峰值的 {percent:.0f}%（16 位格式为 {most:.4g}）；按峰值只需 {least:.3g} s，实际 {took:.4g} s",
)
WITH = Form("{text}, {more}", "{text}，{more}")

# --- failure_roles: whose failure it is, and why ---------------------------------------------------------------------
ENDED_NOTHING = Said("a line of a log, which ended nothing", "只是日志中的一行，并未导致退出")
QUOTES_ANOTHER = Said("it prints a copy of another process's failure", "它打印的是另一进程失败信息的副本")
ALL_RANKS_TELL_IT = Said(
    "the error that all ranks raise lists it as the one that failed", "所有 rank 抛出的错误都将其列为失败者"
)
IT_DIFFERS_ALONE = Said(
    "of the values that were compared its own alone differs: most others are told to agree, or went past the comparison",
    "在被比较的值中，只有它的值不同：其余多数彼此一致，或已通过该比较",
)
ITS_MESSAGE_PROVES_IT = Said("only the process itself can bring this about", "只有该进程自身会引发")
ITS_MESSAGE_TELLS_OF_OTHERS = Said("the message tells of another process", "该信息说的是另一进程")
ITS_DEVICE_REPORTED_IT = Said("the runtime of its device reported it", "由其设备的运行时报告")
PYTHON_RAISES_IT = Said("Python raises this class for what the program did", "Python 因程序自身的操作抛出此类异常")
OWN_CODE_RAISED_IT = Said("the job's own code raised it", "由作业自身代码抛出")
ITS_SERVICE_IS_OF_THE_JOB = Said(
    "the call asked a host of the job, where another process may have failed first",
    "该调用访问的是作业自身的主机，可能是那里的另一进程先失败",
)
ITS_SERVICE_FAILED = Said("the call asked a service outside the job", "该调用访问作业之外的服务")
ITS_SERVICE_WAS_LOST = Said("the call asked a host that was lost", "该调用访问的主机已失联")
RECORD_SHOWS_IT_WAITED = Said("its own record shows it in an operation with others", "其自身记录表明它正处于集合操作中")
CLASS_TELLS_NOTHING = Said("neither the class nor a traceback tells", "异常类和调用栈都无法说明")
TWO_DIFFER = Said(
    "its message says which two differ, and not which of them is wrong",
    "其消息指出哪两个 rank 不一致，未说明哪一个有误",
)
RAISED_BY_A_WAIT = Said("it came out of a call that waits for other ranks", "它由等待其他 rank 的调用抛出")
RAISED_BY_A_LIBRARY = Said("it came out of a library whose errors are not known", "它由含义未知的库抛出")
ALL_OTHERS_WAITED = Said(
    "a library raised it outside of any call that waits, and all other ranks waited for others or lost them",
    "它由一个库在不等待任何对象的调用中抛出，而其余所有 rank 都在等待或失去了对端",
)
SPEAKS_OF_A_PEER = Said("it speaks of what came from another rank", "它涉及来自另一个 rank 的内容")
ONE_WAS_KILLED_BEFORE = Said(
    "several raised it alike after another process had been killed", "另一进程被杀死之后，多个进程抛出了相同异常"
)
MOST_RAISED_IT = Said("most ranks raised it alike", "多数 rank 抛出相同异常")
