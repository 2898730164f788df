"""What is said of ranks whose logs stop before those of all others do, whatever their lines say."""

from collections.abc import Mapping

from forensics.model.said import Form, Noun, Said
from forensics.words.several import UNDECIDED as UNDECIDED
from forensics.words.several import UNNAMED_HOST as UNNAMED_HOST

STOPPED_AT = Form("the last words of {who}: “{line}”", "{who} 的最后一行：“{line}”")
WENT_ON_TO = Form("{who} went on to “{line}”", "{who} 继续到“{line}”")
IS_BEHIND = Form(
    "the log of {who} stops before a line that {number} other ranks still printed; the lines do not say what it does there",
    "{who} 的日志停在其他 {number} 个 rank 仍打印的一行之前；日志没有说明它当时在做什么",
)
ENDED_THAT = Form("of {who} one ended that with “{line}”", "{who} 中有一个以“{line}”完成了它")
IS_WITHIN = Form(
    "the log of {who} stops within what it has ended each time before, and those of {number} other ranks stop between two",
    "{who} 的日志停在此前每次都完成的一项之中，其他 {number} 个 rank 的日志停在两项之间",
)
STACKS_OF = Form(
    "stacks of {who} (py-spy dump), twice a minute apart",
    "{who} 的调用栈（py-spy dump，间隔一分钟采集两次）",
    ("stack",),
)
HELD: Mapping[str, Form] = {  # how a process is held, by the word of its host
    "stopped": Form("the process of {who} is stopped by a signal", "{who} 的进程被信号暂停"),
    "traced": Form("a tracer holds the process of {who} in each look", "每次查看时 {who} 的进程都被调试器暂停"),
    "blocked": Form("its kernel says that {who} was blocked", "内核记录 {who} 的进程被阻塞"),
    "dead": Form("the process of {who} is dead", "{who} 的进程已死"),
}
PROCESS_ON = Form("1 process on {host} (pid {pid})", "{host} 上的 1 个进程（pid {pid}）")
HELD_ALONE = Form("{held}, and none of {others} that run the same program", "{held}，运行同一程序的{others}都没有")
GONE_ALONE = Form("{held}, and {others} are there", "{held}，而{others}都在")
OTHERS = Noun("other", "others", "个其他进程")
HOLDS: Mapping[str, Form] = {  # of who may be no rank
    "stopped": Form("{who} is stopped by a signal", "{who} 被信号暂停"),
    "traced": Form("a tracer holds {who} in each look", "每次查看时 {who} 都被调试器暂停"),
    "lock": Form("{who} is waiting for a lock in the kernel", "{who} 在内核中等待锁"),
    "storage_io": Form("{who} is waiting for storage in the kernel", "{who} 在内核中等待存储"),
    "dead": Form("{who} is dead", "{who} 已死"),
    "gone": Form("{who} is not among the processes of its host any more", "{who} 已不在其节点的进程之中"),
}
SAID_ALONE = Form(
    "{who} alone printed, {times} times in the last lines of its log: “{line}”",
    "只有 {who} 在其日志末尾打印了 {times} 次：“{line}”",
)
WHAT_IT_SAID_ALONE = Form(
    "what {who} alone printed again and again to the end of its log ({file}:{line})",
    "只有 {who} 在其日志末尾反复打印的内容（{file}:{line}）",
)
MAY_BE_WHERE_IT_WAS = Said("it may be what it was at while the others waited", "其他 rank 等待时它可能正停在那里")
LOOK_AT_SAID_ALONE = Said(
    "what was tried again and did not succeed: a store, a server, a file, a device",
    "反复重试而未成功的对象：存储、服务、文件、设备",
)
THEN_OF_SAID_ALONE = Said(
    "if that does not answer from its host either, mend it before the restart; if it answers, restart",
    "若从该节点访问它同样无响应，先修复再重启；若有响应，直接重启",
)

# --- did_not_give_up: away_alone ---
AWAY = {
    "raised": Form(
        "{waited} timed out; {who} did not: before that its own failure ended the thread in which they waited",
        "{waited} 超时；{who} 没有：此前它自身的错误已终止其他 rank 在其中等待的那个线程",
    ),
    "counted": Form(
        "{waited} timed out; {who} did not: behind the last step of all it alone counted on, and was not done",
        "{waited} 超时；{who} 没有：在所有 rank 的最后一步之后，只有它仍在计数且尚未完成",
    ),
    "late": Form(
        "{waited} timed out; {who} printed what they had printed last later by more than they waited",
        "{waited} 超时；{who} 打印它们最后一行的时间晚于它们的整个等待时限",
    ),
    "state": Form(
        "{waited} timed out; {who} did not: the beats show it in another phase than all of them, to the last",
        "{waited} 超时；{who} 没有：心跳记录显示它直到最后都处于与其他所有 rank 不同的阶段",
    ),
    "stack": Form(
        "{waited} timed out; {who} did not, and of as many processes as there are ranks one alone stood elsewhere at each look",
        "{waited} 超时；{who} 没有；进程数与 rank 数相同，每次查看都只有一个进程停在别处",
    ),
}
