"""Recorded, written and simulated incidents, each with the truth about it; nothing that is installed imports them."""
