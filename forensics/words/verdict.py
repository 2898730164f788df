"""What the verdict says: what to do, why this and not that, what was before, what nobody could tell."""

from collections.abc import Mapping

from forensics.model.names import DecisionKind
from forensics.model.said import Form, Noun, Said
from forensics.words.facts import NAMED as NAMED
from forensics.words.facts import PLACE as PLACE
from forensics.words.hardware import GPU_THERE as GPU_THERE
from forensics.words.hardware import HOST_OF_LOG as HOST_OF_LOG
from forensics.words.several import PROCESSES as PROCESSES

# --- actions and decision: what to do, and what would decide ---------------------------------------------------------
NO_LASTING_FAULT = Said("no lasting fault is shown", "没有持续性故障的迹象")
STOPPED_IN = Form("{who} stopped in {where}", "{who} 停在 {where}")
CHANGED_BEFORE = Form(
    "before attempt {attempt} settings were changed: {what}", "第 {attempt} 次启动前修改了配置：{what}"
)
WHAT_CHANGED = Form("what was changed before it: {names}", "启动前的改动：{names}")
WAS_AND_IS = Form("{name} from {was} to {now}", "{name} 由 {was} 改为 {now}")
NOT_SO_BEFORE = Form("{what}; attempt {attempt} did not fail so", "{what}；第 {attempt} 次启动没有这样失败")
FILE_SERVER = Form("the file server {server}, as {host} reaches it", "文件服务器 {server}（从 {host} 检查）")
DOES_NOT_ANSWER = Said(
    "it does not answer, and the rank waits for it: do not restart onto it",
    "它不应答，而该 rank 正在等它：恢复前不要重启",
)
SERVER_IS_SILENT = Form(
    "the kernel of {host} says that the file server {server} does not answer",
    "{host} 的内核报告文件服务器 {server} 无应答",
)
FILES_OF = Form("the file systems in use by {who}", "{who} 所用的文件系统")
OTHER_END = Form("who is at the other end of the pipe that {who} opens", "{who} 所打开管道另一端的进程")
THE_RANK, THIS_LINE = Said("the rank", "该 rank"), Said("this line", "该行")
NOT_THE_SAME_CALL = Said(
    "not all members made the same call, or not in the same order", "各成员的调用不一致，或调用顺序不一致"
)
DIFFERENT_ORDERS = Said("ranks entered the groups in different orders", "各 rank 进入各进程组的顺序不一致")
GPU_REPORTED_ERROR = Said("one of its GPUs reported an error", "该节点有 GPU 上报错误")
PLACE_THAT_THEY_SHARE = Form("{place}, which {who} share", "{who} 共用的 {place}")
ALL_THAT_THEY_SHARE = Form(
    "what {hosts} share: rack, switch, power, image, driver", "{hosts} 共用的机架、交换机、电源、镜像、驱动等"
)
FAILED_AT_ONCE = Form(
    "{number} hosts failed at once: one cause that they share explains more than {number} faults",
    "{number} 个节点同时故障：一个共同原因比 {number} 个单独故障更合理",
)
BY_HALVES = Form(
    "replace half of the hosts by spares and measure; go on with the half whose replacement restores the speed "
    "({rounds} per slow host). A host that is fast when tested alone is not cleared: it may be slow only among the others",
    "将一半节点换成备机后测速；换下哪一半后速度恢复，就在哪一半中继续二分（每个慢节点{rounds}）。单独测试正常的节点不能排除："
    "可能只在与其他节点一起运行时变慢",
)
ROUNDS = Form("at most {rounds} rounds for {hosts} hosts", "最多 {rounds} 轮，共 {hosts} 个节点")
ABOUT_LOG_ROUNDS = Said("about log2(number of hosts) rounds", "约 log2(节点数) 轮")
RECORDER_NEXT_RUN = Said(
    "Flight Recorder dumps in the next run, with these settings",
    "下次运行的 Flight Recorder 转储（启用以下设置）",
    "dump",
)
BEFORE_IT_ENDS = Form(
    "{what}: run gather.sh on every node before anything is stopped", "{what}：停止任何进程之前在每个节点运行 gather.sh"
)
LOAD_OF = Form("{who}: the load of its host first", "{who}：先查看其主机的负载")
LEFT_OF_ALL = Said(
    "what outlives the job, before it is overwritten: logs of all ranks, kernel logs and port counters of their hosts",
    "作业结束后仍在的证据（在被覆盖之前）：所有 rank 的日志，各节点的内核日志与端口计数",
    "log",
    "kernel",
    "port",
)
LEFT_OF_SUSPECTS = Form(
    "what outlives the job, before it is overwritten: the whole log of {who} first, then logs of the others, kernel logs and port counters of their hosts",
    "作业结束后仍在的证据（在被覆盖之前）：先取 {who} 的完整日志，再取其他 rank 的日志、各节点的内核日志与端口计数",
    ("log", "kernel", "port"),
)
IN_NEXT_RUN = Form("in the next run: {what}", "下次运行时：{what}")
WHAT_IS_LEFT = Form(
    "{what} (what is still there; these settings keep it in the next run)",
    "{what}（现存的部分；以下设置使下次运行保留）",
)
BEFORE_IT_IS_LOST = Form("{what}, before it is overwritten", "{what}（在被覆盖之前）")
ON_ITS_HOST = Said("the host that it ran on", "其所在节点")
AT_ITS_HOST = Form("{what}, on its host", "{what}（在其所在节点上）")
ON_HOST_OF = Form("{what}, on the host that it ran on", "{what}（在其所在节点上）")
STACK = Form("the stack of {who}, if the job still runs", "若作业仍在运行：{who} 的调用栈", ("stack",))
STACK_NEXT_TIME = Form(
    "the stack of {who} when it hangs the next time, before the watchdog ends the job",
    "下次停滞时、watchdog 终止作业之前 {who} 的调用栈",
    ("stack",),
)
STACK_THERE = Form(
    "the stack of {who} on {host} ({pids}), if the job still runs",
    "若作业仍在运行：{host} 上 {who} 的调用栈（{pids}）",
    ("stack",),
)
HELD_THERE = Form(
    "what shows who stopped {who} on {host} ({pids}), and where it stands",
    "{host} 上 {who}（{pids}）被谁停止、停在何处",
    ("stack",),
)
PID, PIDS = Form("pid {pid}", "pid {pid}"), Form("pids {pids}", "pid {pids}")
KERNEL_LOG = Form("the kernel log of {host}", "{host} 的内核日志", ("kernel",))
SHOWS_WHETHER_KERNEL_ENDED_IT = Said("it shows whether the kernel ended the process", "可确认进程是否被内核终止")
NO_FAULT = Said("no fault was found", "未发现故障")
WAS_RUNNING = Said("the job was running when this was taken", "采集时作业在运行")
NOTHING_PROVEN = Said("nothing is proven; what to collect is listed", "尚无定论；待收集的内容见列表")
AT_FAULT_BEFORE = Form("{hosts} was at fault in an earlier attempt as well", "{hosts} 在此前的启动中也是故障方")
RESTART_WOULD_TELL = Said(
    "to the next checkpoint; a restart there tells whether the processes or the hosts became slow",
    "运行到下一个检查点；在该处重启可区分是进程还是节点变慢",
)
SLOWER_ALL_THE_TIME = Said("it gets slower all the time: running on does not mend it", "持续变慢：继续运行不会改善")
GROWS_NO_MORE = Said("its steps no longer take longer", "step 耗时不再增长")
SLOWER_STILL = Said("it gets slower still", "继续变慢")
SAME_COMES_BACK = Said("the same comes back: then repair what the job stood at", "再次发生：则处理作业停住之处")
RESTART_CHANGES_NOTHING = Said("nothing shows that a restart would change it", "没有迹象表明重启会改善")
DEVICE_OF = Form("the host or device of {ranks}", "{ranks} 所在的节点或设备")
REPLACE_LATER = Form("every step waits for {who}", "每个 step 都在等待 {who}")
REPLACE_BEFORE_NEXT = Form(
    "the run has ended; the next one goes faster without {who}, or once it is repaired",
    "作业已结束；下次运行前更换或修复 {who}",
)
FIND_BEFORE_NEXT = Said("the run has ended, and the next one will be as slow", "作业已结束；不处理则下次同样慢")
LASTING_ERROR = Form(
    "the driver reports an error of a device on {host} that a restart does not clear",
    "驱动上报 {host} 上的设备错误，重启作业无法清除",
)
WOULD_FAIL_AGAIN = Said(
    "the next start would fail in the same way; code or configuration must change first",
    "重启后会同样失败；须先修改代码或配置",
)
ORIGIN_DECIDES = Said(
    "whether it comes back depends on where it came from: a device's error with that device, a batch's with that batch",
    "是否再次出现取决于来源：设备的错误随该设备再现，数据的错误随该 batch 再现",
)
WOULD_DIVERGE_AGAIN = Said(
    "nothing but the settings is shown to lead there, so the same settings may lead there again: change them first",
    "记录中导致该结果的只有配置，配置不变可能再次如此：先修改配置",
)
SAME_BATCH_AGAIN = Said(
    "if it is that batch, the next start meets it again: look at it, and mend or skip it first",
    "若是该 batch 所致，重启后会再次遇到：先查看，再修复或跳过",
)
CAME_BACK_BY_ITSELF = Said("the numbers came back by themselves", "数值已自行恢复")
BATCH_IS_GONE = Said("that batch has been mended or is skipped", "该 batch 已修复或跳过")
BAD_AGAIN = Said("it comes again, or the loss stays higher than before", "再次出现，或 loss 持续高于此前")
RETURN_NOT_SHOWN = Said("whether it comes back is not shown", "无法得知是否会再次发生")
MAY_COME_BACK = Said("the records do not show why it happened, so it may come back", "记录未显示原因，可能再次发生")
LOOK_AT_RECORDS = Said(
    "it was stopped from outside; the bundle also holds records of hardware, to be looked at before",
    "作业被外部停止；证据包中另有硬件记录，重启前应先查看",
)
FIND_IT_FIRST = Said(
    "which host the fault is on is not recorded, and nothing shows that it is over",
    "故障所在节点无记录，也无法得知故障是否已消除",
)
UNTIL_GPU_TESTED = Form(
    "leave out {hosts} until its GPU has passed a test", "{hosts} 的 GPU 通过检测之前不要使用该节点"
)
UNTIL_LINK_TESTED = Form(
    "leave out {hosts} until its network has passed a test", "{hosts} 的网络通过检测之前不要使用该节点"
)
CAME_BACK = Form(
    "it failed in the same way {times} times in a row, each time after a restart: what it stands at must change first",
    "连续 {times} 次以同样方式失败，且每次都是重启之后：须先处理其停住之处",
)
UNLESS: Mapping[DecisionKind, Said] = {
    "restart": Said(
        "the same comes back: then leave out the host that is named above, or repair what the job stood at",
        "再次发生：则换下上述节点，或处理作业停住之处",
    ),
    "stop": Said("code or settings have changed since", "此后代码或配置已修改"),
    "evict": Said(
        "its device or link was reset or replaced since, and has passed a test",
        "该设备或链路此后已复位或更换，并通过检测",
    ),
    "keep_running": Said(
        "it gets slower still, or reports an error: then replace it at once", "继续变慢或上报错误：则立即更换"
    ),
    "change_first": Said("what it lacked has been freed or raised since", "所缺的资源此后已释放或调大"),
    "wait": Said("two stacks a minute apart show the same place", "相隔一分钟的两次调用栈停在同一处"),
}
GO_ON_FROM = Form("{reason}; go on from {checkpoint}", "{reason}；从 {checkpoint} 继续")
NO_CHECKPOINT_WELL_BEFORE = Form(
    "{reason}; none is known that lies {steps} steps before it", "{reason}；没有早于它 {steps} 个 step 的检查点"
)

# --- arbitrate, conclude: which explanation, and why not another -----------------------------------------------------
OTHER_RECORDS_SAY = Form("Other records say: {summary}", "其他记录表明：{summary}")
TWO_FIT = Form("Two explanations fit. Either: {one} Or: {other}", "有两种解释成立。其一：{one}其二：{other}")
ONE_LINE_UNEXPLAINED = Form("One error line that no rule explains: “{line}”", "1 行错误无法解释：“{line}”")
LINES_UNEXPLAINED = Form(
    "{number} error lines that no rule explains; the gravest: “{line}”", "{number} 行错误无法解释；最严重的是“{line}”"
)
FEWER_CALLS = Form(
    "The records of {behind} end before those of {ahead}, by the numbers of their calls; nothing shows whether they were collected earlier or "
    "stand there.",
    "按调用序号，{behind} 的记录早于 {ahead} 结束；无法得知是采集得早，还是停在该处。",
)
WENT_WRONG = Said("Something went wrong, and no rule explains it.", "作业出现异常，没有规则能解释。")
WENT_WRONG_HERE = Form(
    "Something went wrong, and no rule explains it: {line}", "作业出现异常，没有规则能解释：“{line}”"
)
HINT_OF_FAILURE = Form("No line says error; what hints at a failure: {line}", "没有错误行；可能提示故障的是“{line}”")
ONLY_WARNINGS = Form(
    "No line says error, and none that the run ended well; a library warns: {line}",
    "没有错误行，也没有正常结束的记录；库的警告：{line}",
)
NOTHING_SHOWN = Said(
    "No line shows a failure, and no line shows that the run ended well.",
    "没有任何一行表明失败，也没有任何一行表明正常结束。",
)
NOTHING_KNOWN = Form(
    "No line of a known form shows a failure, and none that the run ended well; {unknown} of {lines} lines are of no known form.",
    "格式已知的行均未表明失败，也未表明正常结束；{lines} 行中有 {unknown} 行格式未知。",
)
STACKS_THERE = Noun("stack", "stacks", "个调用栈")
COMMUNICATION = Said("communication", "通信")
ONLY_WAITERS = Form(
    "{stacks} in the bundle, waiting for other processes ({ops})", "证据包中有{stacks}，都在等待其他进程（{ops}）"
)
NOTHING_BUT_WAITERS = Form(
    "No line shows a failure; {waiters}: whom these wait for is to be looked at.",
    "没有任何一行表明失败；{waiters}：应查看其等待的对象。",
)
STACKS_WAIT = Said(
    "No line shows a failure; some stacks wait for other processes, as they also do while a job runs: one look does not tell whether it stands still.",
    "没有任何一行表明失败；部分调用栈在等待其他进程，运行中的作业也会如此：单次快照无法判断是否停滞。",
)
ALL_RECORDS = Form(
    "Flight Recorder dumps, py-spy dumps and logs of all ranks, and kernel logs of {hosts}",
    "所有 rank 的 Flight Recorder 转储、py-spy 调用栈和日志，以及 {hosts} 的内核日志",
    ("dump", "stack", "log", "kernel"),
)
AGAIN_ON_IT = Form(
    "its driver reported {code} there for {number} processes: where the same program runs on another card without it, leave this card "
    "out and test it; where it does not, look for the access in the program (compute-sanitizer)",
    "驱动在该卡上对 {number} 个进程报告了 {code}：若同一程序在其他卡上无此错误，隔离并检测该卡；否则在程序中查找越界访问（compute-sanitizer）",
)
DRIVER_TOLD = Form(
    "The driver reported {what}; nothing here tells of the job that ran there.",
    "驱动报告了 {what}；此处没有该作业的记录。",
)
CODE_ON = Form("{code} on GPU {pci} ({times})", "GPU {pci} 上的 {code}（{times}）")
FOR_PROCESSES = Noun("process", "processes", "个进程")
IT_IS_GONE = Form(
    "its driver lost it (“{line}”): take the host out, read the PCIe link and the power of its slot, then have card or riser replaced",
    "驱动已失去该设备（“{line}”）：隔离该节点，检查 PCIe 链路与插槽供电，再更换板卡或转接卡",
)
IF_IT_STANDS = Form("if the job stands still or failed: {what}", "若作业停滞或失败：{what}", ("stack", "log", "kernel"))
ALL_HOSTS = Said("all hosts", "所有节点")
KNOWN_BAD = Form("{host} was given as known to be bad", "{host} 已被标记为问题节点")
KNOWN_BAD_AGAIN = Said(
    "you named it as bad, and it is named or suspected again", "该节点已被标记为问题节点，此次再次被判定或怀疑"
)
WHY_NOT = Form("{why} (“{summary}”)", "{why}（“{summary}”）")
MORE_SYMPTOMS = Noun("more symptom", "more symptoms", "个现象")
LEAVES_UNEXPLAINED = Form("leaves {symptoms} unexplained", "还有 {symptoms}无法解释")
EXPLAINS_NOTHING = Said("explains no symptom", "不能解释任何现象")
LESS_EXACT = Said("says the same less exactly", "结论相同，但不够具体")
WEAKER = Said("has weaker evidence", "证据较弱")

# --- refute: what cannot be so ---------------------------------------------------------------------------------------
ALL_ENDED_WELL = Said("every rank says that it ended well", "所有 rank 均报告正常结束")
HAD_BEGUN = Said("the run had begun", "训练已经开始")
TIMED_OUT_THERE = Form("rank {rank} timed out in that very operation", "rank {rank} 正是在该操作中超时")
TIMED_OUT_WITH_ALL = Form(
    "rank {rank} itself timed out in the operation that most ranks timed out in",
    "rank {rank} 自身也在多数 rank 超时的那个操作中超时",
)
STACK_SHOWS_ALIVE = Form("a stack shows the process of rank {rank} alive", "调用栈表明 rank {rank} 的进程存活")

# --- status: the rule that gave the word -----------------------------------------------------------------------------
SOURCE: Mapping[str, Said] = {  # role of an observer → who that is
    "kernel": Said("the kernel", "内核"),
    "launcher": Said("the launcher", "启动器"),
    "sampler": Said("stacks", "调用栈"),
    "monitor": Said("a monitor", "监控"),
}
A_TOOL, THE_RECORDS = Said("a tool", "工具"), Said("the records", "记录")
ITSELF, ITS_PEERS, SOME_PROCESSES = (
    Said("its own records", "自身的记录"),
    Said("other ranks", "其他 rank"),
    Said("processes", "各进程"),
)
NO_RULE = Said("no known failure matches", "没有匹配的已知故障")
BEST_EXPLANATION = Said("the best explanation; others remain", "目前最合理的解释，尚未排除其他解释")
SPEAKS, SPEAK = Said("speaks", "提供"), Said("speak", "提供")  # one source; several
SPEAK_AGAINST = Form("{sources} {speak} against it", "{sources} {speak}了反证")
SPEAK_FOR = Form(
    "{sources} {speak} for it; others may be at fault, too", "{sources} {speak}了证据；其他 rank 也可能有故障"
)
TIME_AND_PLACE = Said(
    "time and place fit, and no record of its own proves it", "时间和位置吻合，但没有自身的记录可以证明"
)
SOURCES_AGREE = Form(
    "{number} independent sources agree ({sources}); none contradicts",
    "{number} 个来源相互印证（{sources}），无相反证据",
)
WHO_AND_WHY = Form("who: {who}; why: {why}; {rule}", "责任方：{who}；原因：{why}；{rule}")
STATUS_NAME: Mapping[str, Said] = {
    "established": Said("established", "已证实"), "supported": Said("supported", "单一来源"),
}  # fmt: skip
ONE_SOURCE = Form("one source ({sources}); nothing contradicts it", "来自{sources}，无相反证据")

# --- rule of time ----------------------------------------------------------------------------------------------------
RAN_ON = Form("the job was running: {how}", "作业当时在运行：{how}")
LATER_STEP = Said(
    "A later step was completed, so the job was running when this was taken.", "之后仍有 step 完成，采集时作业在运行。"
)
IF_IT_STANDS_STILL = Form(
    "If the job stands still, {summary} One snapshot cannot tell whether it does: take a second dump a minute later, or say "
    "--hung if you know.",
    "若作业确已停滞：{summary}单次快照无法表明作业是否停滞：一分钟后再采集一次，若已知停滞则加 --hung。",
)
SECOND_DUMP = Said(
    "a second Flight Recorder or stack dump of all ranks, a minute later",
    "一分钟后所有 rank 的第二次 Flight Recorder 转储或调用栈",
    "dump",
    "stack",
)

# --- health ----------------------------------------------------------------------------------------------------------
ENDED_WELL_AFTER = Form("{before}; of the newest attempt, {summary}", "{before}；最新一次启动：{summary}")
ATTEMPT_FAILED = Form("attempt {attempt} failed ({what})", "第 {attempt} 次启动失败（{what}）")
ATTEMPT_FAILED_OF = Form("attempt {attempt} failed ({what}: {who})", "第 {attempt} 次启动失败（{what}：{who}）")
NO_CAUSE_KNOWN = Said("of no known cause", "原因未知")
ENDED_BUT_LOST = Said("the run ended; what it lost is listed", "作业已结束；损失见列表")

# --- beside, settings, shared host: what stands beside the proof -----------------------------------------------------
FORKED_LOCK = Form(
    "{who} was forked after its tokenizer had started threads, and stands at a lock that they may have held: set it before the restart",
    "{who} 在分词线程启动后被 fork，可能停在这些线程所持的锁上：重启前设置",
)
FORKED = Form(
    "{who} warned that it was forked after its tokenizer had started threads: a lock may stay held; TOKENIZERS_PARALLELISM=false avoids it",
    "{who} 警告：其进程在分词线程启动后被 fork，锁可能永远不被释放；设置 TOKENIZERS_PARALLELISM=false 可避免",
)
STILL_CALLED_RUNNING = Form(
    "the scheduler still calls the job running though {who} ended: it holds its nodes for nothing",
    "{who} 已退出，但调度器仍显示作业在运行：节点被空占",
)
OTHERS_CHECKED = Noun("other host was", "other hosts were", "个节点已检查")
RAISED_AT_NO_TIME = Form(
    "whether {who} raised “{line}” before its wait or after it: the line has no time",
    "{who} 抛出“{line}”是在等待之前还是之后：该行没有时间",
)
NOT_CHECKED = Form("{host} was not checked before the job; {others}", "{host} 在作业前未经检查；其他 {others}")
FAILED_CHECK = Form("before the job {host} failed {checks}", "作业前 {host} 未通过 {checks}")
PASSED_CHECK = Form(
    "before the job {host} passed {checks}; a passed check clears nobody",
    "作业前 {host} 通过了 {checks}；通过检查不能排除故障",
)
NO_TEST_ALONE = Said("no test alone", "检查（无单项结果）")
LAUNCH_CLASS: Mapping[str, Said] = {
    "a node": Said("a node", "节点"),
    "the sub-health of a node": Said("the sub-health of a node", "节点亚健康"),
    "the network": Said("the network", "网络"),
    "storage": Said("storage", "存储"),
}
LAUNCH_FAILED_BY = Form(
    "no step is recorded: as far as records tell, the launch failed because of {what}",
    "没有 step 的记录：据现有记录，启动失败的原因属于 {what}",
)
FOUND_BEFORE_LAUNCH = Form("no job is recorded here; a check found {what}", "此处没有作业的记录；检查发现了{what}")
STANDS_AT = Form(
    "{host} stands at {place}, with {others} of this job", "{host} 位于 {place}，本作业中同处的节点：{others}"
)
NO_OTHER_HOST = Said("no other host", "无")
ONLY_THESE_ENDED = Form(
    "on {host} only {ended} ended first; {others} there kept running, so the host was up",
    "{host} 上先只有 {ended} 退出；同节点的 {others} 仍在运行，说明节点未宕机",
)
STATED = Form("{text}.", "{text}。")
SETTING_OF = Form("{name} of {holders}", "{holders} 的 {name}")
IT_IS_ELSEWHERE = Form("it is {value}, elsewhere {other}", "其值为 {value}，其余为 {other}")
IT_IS_OUT_OF_RANGE = Form("it is {value}, and its range is {low}-{high}", "其值为 {value}，范围为 {low}-{high}")
ALL_OF_THE_HOST = Form(
    "every rank of {host}, and no other, is in {at}: what they share holds them up, not one of them: a loader or the storage of "
    "that host, or a part of the work that is theirs alone",
    "仅 {host} 的所有 rank 停在 {at}：阻塞它们的是共用的部分，而非其中某个 rank：该节点的数据加载、存储，或仅由它们承担的工作",
)
BESIDE_THE_RANKS = Form(
    "process {pid} of {host}, which is no rank, is {doing}", "{host} 的进程 {pid}（不是 rank）：{doing}"
)
STACKS_OF_NO_RANKS = Form(
    "stacks and logs of all processes of {host} that are no ranks",
    "{host} 上所有非 rank 进程的调用栈和日志",
    ("stack",),
)
WOULD_SHOW_THERE = Said(
    "a loader or a store that its ranks share would show there", "可看到各 rank 共用的数据加载进程或存储"
)

# --- counterfactual --------------------------------------------------------------------------------------------------
HAD_COME = Form("Had {who} come, {waiters} would have gone on.", "若 {who} 到达，{waiters} 均可继续。")
HAD_COME_ALL = Form(
    "Had {who} come, {waiters} would have gone on; without any one of them, not all of these.",
    "若 {who} 均到达，{waiters} 均可继续；缺其中任何一个都不行。",
)
HAD_COME_SOME = Form(
    "Had {who} come, {waiters} would have gone on; fewer of them may do.",
    "若 {who} 到达，{waiters} 均可继续；其中部分到达或许已足够。",
)
HAD_ANY_COME = Form(
    "Had any one of {who} come to what the others wait for, {waiters} would have gone on.",
    "{who} 中任何一个若先到达其他 rank 所等之处，{waiters} 均可继续。",
)
STEPS_WITHOUT = Form(
    "Of the time of the steps, by replay: culprits {culprits}%, unequal micro-batches {batches}%, unequal stages {stages}%, all else {rest}%.",
    "按回放拆分 step 时间：故障方 {culprits}%，micro-batch 不均 {batches}%，stage 不均 {stages}%，其余 {rest}%。",
)
COSTS_A_DAY = Form("{reason}; this costs {hours} hours a day", "{reason}；每天损失 {hours} 小时")
COSTS_A_DAY_OF = Form(
    "{reason}; this costs {hours} hours a day on {ranks} GPUs", "{reason}；在 {ranks} 个 GPU 上每天损失 {hours} 小时"
)
