"""Hosts, pods and other places of processes: their names, their order, what is on them."""
