"""Hooks for a PyTorch training script that write tensor statistics in this project's own format, a file per rank.

    from forensics.probe import watch

    probe = watch(model, "tensor_stats", optimizer=optimizer)

See docs/probe.md. PyTorch is imported when `watch` is called, and only then.
"""

from forensics.probe.watching import Probe, watch

__all__ = ["Probe", "watch"]
