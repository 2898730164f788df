"""What hosts, devices, links and pods show: which of their records count, and when they came."""
