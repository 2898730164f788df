"""Simulated incidents of which one kind of evidence alone is left, with what a perfect observer of it could say.

    incident = simulate_alone("stacks", Job(tp=4, pp=2, dp=4), Fault("rank_absent"), seed=7)
    incident.write(Path("incident"))      # bundle/ and truth.json

Kinds: logs (what processes print), stacks (py-spy texts), ras (reports of NCCL's RAS client), kernel (kernel logs and the
launcher's), running (flight records of a healthy job, dumped at slightly different moments).
"""

from samples.simulator.alone.outcome import EVIDENCE, Alone, EvidenceKind, simulate_alone

__all__ = ["EVIDENCE", "Alone", "EvidenceKind", "simulate_alone"]
