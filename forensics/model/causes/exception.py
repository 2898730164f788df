"""exception: an exception was raised."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import KERNEL, NEXT_RUN, SOURCE
from forensics.model.runbook import Step
from forensics.model.said import Said

# Of the interpreter: what follows from the code, or from what it is given; those of files, memory and connections do not.
_OF_THE_CODE = ("NameError", "TypeError", "AttributeError", "ImportError", "ModuleNotFoundError", "SyntaxError",
                "UnboundLocalError", "ZeroDivisionError", "NotImplementedError", "KeyError", "IndexError")  # fmt: skip

ROW = CauseRow(
    title=Said("an exception was raised", "抛出异常"),
    means=Said(
        "A rank raised an exception that is no consequence of somebody else's failure.",
        "该 rank 抛出异常，且不是由其他 rank 的故障引起。",
    ),
    alike="Time-outs and closed connections are raised by victims, and do not count.",
    do=Said(
        "Read the innermost line of the user's own code in the traceback.", "查看 traceback 中最内层的用户代码行。"
    ),
    chinese=("{R} 在 {C} 处抛出异常：{X}", "{R} 抛出异常：{X}", "{R} 抛出异常"),
    example="[rank3]: KeyError: 'image_sizes'",
    kinds=("crash",),
    holds="process",
    domain="workload",
    leads_to=("rank_absent", "rank_died"),
    raised_again=_OF_THE_CODE,
    runbook=(
        SOURCE,
        KERNEL,
        Step(
            do="inspect_hardware",
            needs=("place",),
            command="space",
            look=Said("a mount that does not answer, is stale or is full", "无响应、句柄失效或已满的挂载"),
            then=Said(
                "mount it again or have its server repaired; stale alone: see who replaced or removed the file on the server, and open it anew",
                "重新挂载或修复存储服务端；仅句柄失效：查明谁在服务端替换或删除了该文件，并重新打开",
            ),
            source="df(1); nfs(5), ESTALE",
        ),
        NEXT_RUN,
    ),
)
