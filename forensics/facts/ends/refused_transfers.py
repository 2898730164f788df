"""Did the other end refuse a transfer, instead of not answering? Then it was reached, and no link is shown to have failed.

Source: ibv_poll_cq(3), enum ibv_wc_status (9 to 11, 15, 16); efa_io_comp_status of rdma-core (7, bad address), which libfabric
prints as "Invalid address".
"""

import re
from collections.abc import Iterable

from parsers.text.patterns import regex

_REFUSED = regex(
    r"(?:9|10|11|15|16)|(?:IBV_WC_)?REM_(?:INV_REQ|ACCESS|OP|INV_RD_REQ|ABORT)_ERR|invalid address|remote access error|permission denied",
    re.IGNORECASE,
)


def refusal_of(codes: Iterable[str | None]) -> str | None:
    """Codes of failed transfers → with what the other end refused all of them; null where one of them was not answered."""
    found = sorted({str(code) for code in codes})
    return ", ".join(found) if found and all(_REFUSED.fullmatch(code) for code in found) else None
