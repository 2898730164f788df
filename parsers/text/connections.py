"""What words tell of a connection that was not made, and which addresses no other host can reach."""

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import Literal

from parsers.text.patterns import regex

Unmade = Literal["refused", "no_route", "no_host", "timed_out"]
# Networks that Docker and libvirt make by default, and interfaces that never leave a host.
_BRIDGES = (ip_network("172.17.0.0/16"), ip_network("192.168.122.0/24"))
# connect(2): what the system says of a connection that was not made, each of another place.
_UNMADE: Mapping[Unmade, re.Pattern[str]] = {
    "refused": regex(r"connection refused|ECONNREFUSED|\berrno:? 111\b", re.IGNORECASE),
    "no_route": regex(r"network is unreachable|ENETUNREACH|\berrno:? 101\b", re.IGNORECASE),
    "no_host": regex(r"no route to host|host is unreachable|EHOSTUNREACH|\berrno:? 113\b", re.IGNORECASE),
    "timed_out": regex(
        r"connection timed out|ETIMEDOUT|\berrno:? 110\b|\bconnect\w* .{0,60}time[d -]?out", re.IGNORECASE
    ),
}


def is_within_a_host(address: str) -> bool:
    """Can no other host reach this address? Loopback, link-local, and the bridges of containers and virtual machines."""
    if address == "localhost":
        return True
    try:
        found = ip_address(address.split("%")[0])
    except ValueError:
        return False
    return found.is_loopback or found.is_link_local or any(found in bridge for bridge in _BRIDGES)


def why_unmade(text: str) -> Unmade | None:
    """Why a connection was not made: the other end took none, so it was reached; this host knows no way there; the way ends before that host;
    nothing came back in time. None: it does not tell."""
    return next((why for why, pattern in _UNMADE.items() if pattern.search(text)), None)
