"""Commands that a report advises. The name in one comes from the bundle, whose writer is not the reader's friend."""

import re

_NAME = re.compile(r"(?!all\Z)[A-Za-z0-9][A-Za-z0-9._-]*", re.IGNORECASE)


def drain_node(host: str | None, reason: str) -> str | None:
    """The command that takes a host out of service; null where the name could be read as more than one host or by a shell.

    `ALL`, in any case, is every node of a cluster; brackets and commas are lists (Slurm, scontrol(1), NodeName)."""
    if host is None or _NAME.fullmatch(host) is None:
        return None
    return f"scontrol update nodename={host} state=drain reason={reason}"
