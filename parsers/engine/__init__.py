"""One pass over the bytes: who reads what, and what nobody has read."""
