"""What is said of a run that ended well, and of what it lost."""

from forensics.model.said import Form, Noun, Said
from forensics.words.several import PROCESSES as PROCESSES

NO_FAULT_FOUND = Form("No fault found: {proof}.", "未发现故障：{proof}。")
ENDED_WITH_LOSS = Form("{lost}; the run itself ended well: {proof}.", "{lost}；作业本身正常结束：{proof}。")
A_WRITER = Said("its writer", "写入方")
PART_LOST_OF = Form(
    "a part of the checkpoint of step {step} was never stored ({who}: “{line}”)",
    "step {step} 的检查点有一部分未落盘（{who}：“{line}”）",
)
PART_LOST = Form(
    "a part of a checkpoint was never stored ({who}: “{line}”)", "有检查点的一部分未落盘（{who}：“{line}”）"
)
CHECKPOINT_OF, NEWEST_CHECKPOINT = (
    Form("the checkpoint of step {step}", "step {step} 的检查点"),
    Said("the newest checkpoint", "最新的检查点"),
)
NOT_WHOLE = Said(
    "it may not be whole: resume from one of which all parts are there", "可能不完整：应从各部分齐全的检查点恢复"
)
WENT_ON_WITHOUT = Form(
    "nothing of {who} is recorded after step {step}, and the others went on to step {last}",
    "{who} 在 step {step} 之后无记录，其余 rank 继续到 step {last}",
)
WHY_LOST = Form(
    "the log of {who} and the kernel logs of its hosts", "{who} 的日志及其节点的内核日志", ("log", "kernel")
)
PACE_UNKNOWN = Said(
    "whether a rank is slower than its peers: all ranks wait for the slowest one, so their steps are equally long, and the "
    "bundle has no times of phases or waits",
    "无法得知是否有 rank 较慢：所有 rank 都等待最慢者，step 耗时相同，而证据包中没有各阶段或等待的耗时",
)
ENDED_NORMALLY = Form("{processes} ended normally", "{processes} 正常结束")
REPORTED_NORMAL_END = Form("{processes} reported a normal end", "{processes} 报告正常结束")
PROCESSES_OF_ALL = Form("{some} of {size} processes", "{size} 个进程中的 {some} 个")
LAUNCHERS_SAY = Noun("launcher says", "launchers say", "个启动器")
LAUNCHERS_SAW_NORMAL_END = Form("{launchers} that all processes ended normally", "{launchers}报告所有进程正常结束")
ITS_STEP, ALL_STEPS = Said("its step", "其作业步"), Form("all {number} steps", "全部 {number} 个作业步")
SCHEDULER_SAW_STATUS_0 = Form("the scheduler says that {which} ended with status 0", "调度器报告{which}以状态码 0 结束")
JOB_SAYS_IT_ENDED = Said("the job says that it ended", "作业报告已结束")
LINE_SAYS_JOB_ENDED = Said("a line says that the job came to its end", "有日志行表明作业已结束")
LAST_STEP = Form("last step {step}", "最后完成 step {step}")
ALL_COMPLETED_STEP = Form("all ranks that print steps completed step {step}", "打印 step 的 rank 均已完成 step {step}")
SAME_OPERATIONS = Said("all members completed the same operations", "所有成员完成了相同的操作")
MEMBERS_AGREE = Said(
    "all members of all groups agree on the last completed operation, and none is open",
    "所有进程组的成员最后完成的操作一致，没有未完成的操作",
)
