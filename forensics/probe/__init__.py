"""Hooks for a PyTorch training script that write tensor statistics in this project's own format, a file per rank.

    from forensics.probe import watch

    probe = watch(model, "tensor_stats", optimizer=optimizer)

`replay` repeats a suspect step bit by bit, also on neighbours. See docs/probe.md. PyTorch is imported when they are called, and only
then.
"""

from forensics.probe.replay import replay
from forensics.probe.watching import Probe, watch

__all__ = ["Probe", "replay", "watch"]
