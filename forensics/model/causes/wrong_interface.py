"""wrong_interface: the wrong network interface was chosen."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import NEXT_RUN
from forensics.model.runbook import Step
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the wrong network interface was chosen", "选错网络接口"),
    means=Said("A rank announced an address that other hosts cannot reach.", "该 rank 公布的地址，其他节点无法访问。"),
    alike="A firewall refuses good addresses, too.",
    do=Said(
        "Name the interface: NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME.",
        "指定网络接口：NCCL_SOCKET_IFNAME、GLOO_SOCKET_IFNAME。",
    ),
    chinese=("其他节点无法访问 {R}：网络接口选择有误",),
    example="connect to 172.17.0.2 (docker0) failed : No route to host",
    kinds=("launch",),
    holds="job",
    domain="infrastructure",
    leads_to=("store_timeout", "network_fault", "missing_ranks"),
    returns="again",
    runbook=(
        Step(
            do="check_config",
            needs=("host",),
            command="addresses",
            look=Said(
                "the interface that holds the address which the other hosts reach", "其他节点能访问的地址所在的网卡"
            ),
            then=Said(
                "set it on every host: NCCL_SOCKET_IFNAME (GLOO_SOCKET_IFNAME for Gloo)",
                "在每个节点上设置 NCCL_SOCKET_IFNAME（Gloo 为 GLOO_SOCKET_IFNAME）",
            ),
            source="ip-address(8); NCCL: Environment Variables",
        ),
        NEXT_RUN,
    ),
)
