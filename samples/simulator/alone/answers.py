"""What an answer may look like where one kind of evidence is all there is. Follows the contract's rules 5 to 8, 17 and 18."""

from typing import Any

from samples.simulator.run import Run
from samples.simulator.truth import blank

Answer = dict[str, Any]
ANY_KIND = ["hang", "crash", "unknown"]


def nobody(run: Run) -> Answer:
    """The evidence singles nobody out: whoever is named is named without reason."""
    return blank(run.plan, run.draw.kept) | {"kinds": ANY_KIND, "ranks_any": [[]], "decidable": False}


def suspected(run: Run, ranks: list[int], *causes: str) -> Answer:
    """The culprit must be shown, named or as a suspect; the evidence does not prove that it is one."""
    return nobody(run) | {
        "ranks_any": [[], sorted(run.plan.culprits)], "causes": [None, *causes],
        "suspects_must_include": sorted(ranks),
    }  # fmt: skip


def named(run: Run, *causes: str, kinds: tuple[str, ...] = ("hang",)) -> Answer:
    """The evidence proves who it is."""
    ranks = sorted(run.plan.culprits)
    proven: Answer = {"kinds": list(kinds), "ranks": ranks, "causes": list(causes), "decidable": True}
    return blank(run.plan, run.draw.kept) | proven | {"suspects_must_include": ranks}


def on_host(run: Run, cause: str, hosts: list[str], kinds: tuple[str, ...] = ("hang", "crash")) -> Answer:
    """The evidence proves the host; the rank may be named if it is the right one."""
    proven: Answer = {"kinds": list(kinds), "causes": [cause], "hosts": hosts, "decidable": True}
    return blank(run.plan, run.draw.kept) | proven | {"ranks_any": [[], sorted(run.plan.culprits)]}


def healthy(run: Run, proven: bool) -> Answer:
    """Nothing is wrong; the evidence proves an end that is well, or leaves it open."""
    kinds = ["healthy"] if proven else ["healthy", "unknown"]
    return blank(run.plan, run.draw.kept) | {"kinds": kinds, "causes": [None], "decidable": True}


def running(run: Run) -> Answer:
    """A running job, seen for a moment: nobody may be named. It may look like a hang, but then as a hypothesis only, of what
    it would be if the job stood still (contract, rule 17)."""
    return healthy(run, False) | {"kinds": ["healthy", "unknown", "hang"], "causes": [], "hypothesis_if": "hang"}
