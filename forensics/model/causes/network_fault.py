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
    chinese=("{R} 出现网络故障：{X}", "{R} 出现网络故障"),
    example="NCCL WARN NET/IB : Got completion from peer 10.0.0.7 with status=12 opcode=0 len=0 vendor err 129",
    kinds=("hang", "crash", "launch"),
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
                "(NCCL_SOCKET_IFNAME, as MCCL or HCCL call it with their own name; GLOO_SOCKET_IFNAME); on this one: look for a firewall",
                "没有：该进程已退出，以其日志中的首个错误为准；地址不同：在所有节点设置网络接口"
                "（NCCL_SOCKET_IFNAME，MCCL、HCCL 以各自名称为前缀；GLOO_SOCKET_IFNAME）；地址相同：检查防火墙",
            ),
            source="ss(8); connect(2): ECONNREFUSED",
        ),
        Step(
            do="inspect_network",
            needs=("no_route",),
            look=Said(
                "an interface of that network that is UP and has an address, a route that leads through it, and a GID of the same network",
                "该网络的接口是否 UP 且有地址，是否有经由它的路由，以及同一网络的 GID",
            ),
            then=Said(
                "the interface is down or bare: bring it up or leave the host out; it is well: set the interface or the GID index (NCCL_SOCKET_IFNAME, "
                "NCCL_IB_HCA, NCCL_IB_GID_INDEX) to one that both ends have",
                "接口未启用或无地址：启用或隔离该节点；接口正常：将接口或 GID index（NCCL_SOCKET_IFNAME、NCCL_IB_HCA、NCCL_IB_GID_INDEX）设为两端都有的",
            ),
            source="connect(2): ENETUNREACH; ip-route(8); NCCL: environment variables",
        ),
        Step(
            do="inspect_network",
            needs=("no_host",),
            look=Said(
                "through which interface the way goes, and FAILED or INCOMPLETE as state of the neighbour",
                "经由哪个接口，邻居状态是否为 FAILED 或 INCOMPLETE",
            ),
            then=Said(
                "FAILED: that host is down or in another network; REACHABLE: a firewall rejects it; the wrong interface: set it (NCCL_SOCKET_IFNAME, "
                "GLOO_SOCKET_IFNAME)",
                "FAILED：对端宕机或不在同一网络；REACHABLE：被防火墙拒绝；接口不对：设置 NCCL_SOCKET_IFNAME、GLOO_SOCKET_IFNAME",
            ),
            source="connect(2): EHOSTUNREACH; ip-neighbour(8)",
        ),
        Step(
            do="inspect_network",
            needs=("timed_out",),
            look=Said("through which interface the way goes, and whether packets are lost", "经由哪个接口，有无丢包"),
            then=Said(
                "none comes back: the host is down, or the wrong interface; all come back: a firewall drops that port, or nobody takes connections fast enough",
                "全部丢失：对端宕机或接口不对；全部返回：防火墙丢弃该端口，或对端来不及接受连接",
            ),
            source="connect(2): ETIMEDOUT; ping(8)",
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
