"""What a place of a host is called, where people name the columns of a table or the labels of a node."""

PLACES = frozenset(
    {
        "rack", "row", "room", "hall", "chassis", "enclosure", "cabinet", "pdu", "power", "cooling", "building", "site",
        "switch", "leaf", "spine", "core", "tor", "rail", "pod", "block", "scalable_unit", "su", "zone", "region", "datacenter",
    }
)  # fmt: skip
