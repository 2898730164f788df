"""network_fault: the network failed."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import LINKS, NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the network failed", "网络故障"),
    means=Said(
        "A link, adapter or switch failed: transfers were given up, or a port reported it.",
        "链路、网卡或交换机故障：传输重传超限，或端口报告了错误。",
    ),
    alike="A process that died closes its connections, which looks the same from the other end.",
    do=Said(
        "Read the port counters of both ends and the switch's log; keep the host out until they are clear.",
        "查看两端的端口计数与交换机日志，恢复之前隔离该节点。",
    ),
    chinese=(
        "{R} 出现网络故障：{X}",
        "{R} 出现网络故障",
    ),
    example="NCCL WARN NET/IB : Got completion from peer 10.0.0.7 with status=12 opcode=0 len=0 vendor err 129",
    kinds=(
        "hang",
        "crash",
        "launch",
    ),
    holds="link",
    domain="infrastructure",
    leads_to=("store_timeout",),
    returns="may",
    runbook=(
        Step(
            do="check_config",
            needs=("host", "refused"),
            command="listeners",
            look=Said(
                "a process of the job that listens on the port of the message; which address it listens on",
                "作业中监听报错端口的进程，以及它监听的地址",
            ),
            then=Said(
                "none: it has ended, go by the first error in its log; on another address: set the interface on all hosts "
                "(NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME); on this one: look for a firewall",
                "没有：该进程已退出，以其日志中的首个错误为准；地址不同：在所有节点设置网络接口"
                "（NCCL_SOCKET_IFNAME、GLOO_SOCKET_IFNAME）；地址相同：检查防火墙",
            ),
            source="ss(8); connect(2): ECONNREFUSED",
        ),
        *LINKS,
        Step(
            do="collect_more",
            needs=("host", "not_refused"),
            command="kernel_log",
            gives=("kernel",),
            what=Said("the kernel log: whether the link came back", "内核日志（链路是否恢复）"),
            look=Said(
                "a link that went down, and whether a later line says that it came up",
                "链路断开的行，以及之后是否有恢复的行",
            ),
            then=Said(
                "it came up and stays up: restart; it did not: leave the host out",
                "已恢复且稳定：可重启；未恢复：隔离该节点",
            ),
            source="dmesg(1); Linux: networking, carrier state",
        ),
        NEXT_RUN,
    ),
)
