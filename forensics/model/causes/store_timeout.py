"""store_timeout: the rendezvous store was not reached, or did not answer."""

from forensics.model.causes.row import CauseRow
from forensics.model.causes.shared import ACCOUNTING, NEXT_RUN, POD
from forensics.model.said import Said

ROW = CauseRow(
    title=Said("the rendezvous store was not reached, or did not answer", "未连上 rendezvous store，或其无应答"),
    means=Said("The store where ranks meet did not answer in time.", "rank 会合所用的 store 未及时应答。"),
    alike="The process that holds it may be gone, or ranks that never started are waited for (missing_ranks).",
    do=Said("Look at rank 0 and at the host of the store first.", "先查看 rank 0 与 store 所在的节点。"),
    chinese=("{R} 访问 rendezvous store 超时",),
    example="wait timeout after 600000ms, keys: /default_pg/0//worker_count",
    kinds=("hang", "launch"),
    holds="job",
    domain="unknown",
    returns="may",
    by_stack=True,
    runbook=(POD, ACCOUNTING, NEXT_RUN),
)
