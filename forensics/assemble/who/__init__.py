"""Which rank, host, pid and device a record is of."""
