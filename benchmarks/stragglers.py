"""Simulated slow ranks, in the files of five sources: how often the slow one is named, how often anybody else.

Run: python benchmarks/stragglers.py [--slow 20] [--healthy 200] [--large 8] [--form FORM] [--seed 0]

Groups of 8 and 256 ranks, 50 steps, one rank 10 % slower in its forward and backward work (from the start, from step 20 on,
or half as slow again in a third of the steps), with the noise of samples/simulator/pace. Every bundle goes through bytes.
Fixed seeds, no clock. `suspected`: only the culprit is suspected, because ranks 0 and the last may be stages of their own
where no layout is printed.
"""

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from forensics import analyze
from samples.simulator.pace import FORMS, Pace, write

COURSES = ("from the start", "from step 20", "on and off")
_LARGE_FORMS = ("phases", "timers", "steps", "calls")  # 256 traces a bundle take minutes to write


def drawn(ranks: int, seed: int, course: str | None) -> tuple[Pace, int | None]:
    """A pace and its slow rank; none for a healthy job."""
    pace, rng = Pace(ranks, seed=seed), random.Random(seed)
    rank = rng.randrange(ranks)
    factor, when = {
        "from the start": (1.1, lambda step: True),
        "from step 20": (1.1, lambda step: step >= 20),
        "on and off": (1.5, lambda step: random.Random(f"{seed}:{step}").random() < 0.33),
        None: (1.0, lambda step: False),
    }[course]
    for phase in ("forward", "backward"):
        pace.slower(rank, phase, factor, when)
    return pace, rank if course else None


def judged(pace: Pace, form: str, rank: int | None, layout: bool) -> str:
    """found, suspected, missed, quiet or INNOCENT."""
    with tempfile.TemporaryDirectory() as folder:
        write(pace, form, Path(folder) / "bundle", layout)
        report = analyze(Path(folder) / "bundle")
    verdict = report.incidents[report.primary].verdict
    if set(verdict.ranks) - {rank}:
        return "INNOCENT"
    if verdict.ranks:
        return "found"
    if rank is not None and verdict.suspects.ranks == [rank]:
        return "suspected"
    if rank is None:
        return "quiet" if verdict.kind != "slow" else "called slow"
    return "missed"


@click.command()
@click.option("--slow", default=20, show_default=True, help="Jobs of 8 per form and course.")
@click.option("--large", default=4, show_default=True, help="Jobs of 256 per form and course.")
@click.option("--healthy", default=200, show_default=True, help="Healthy jobs, all forms.")
@click.option("--form", type=click.Choice(list(FORMS)), multiple=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--unknown-layout", is_flag=True, help="No arguments are printed.")
def main(slow: int, large: int, healthy: int, form: tuple[str, ...], seed: int, unknown_layout: bool) -> None:
    """Print a row per source, size and course; exit 1 where an innocent rank was named."""
    innocent, forms = 0, form or tuple(FORMS)
    for ranks, count in ((8, slow), (256, large)):
        for each in forms if ranks == 8 else [one for one in forms if one in _LARGE_FORMS]:
            for course in COURSES:
                pairs = (drawn(ranks, seed + 7919 * number + ranks, course) for number in range(count))
                tally = Counter(judged(pace, each, rank, not unknown_layout) for pace, rank in pairs)
                innocent += tally["INNOCENT"]
                print(
                    f"{ranks:4d} ranks  {each:<8} {course:<16} "
                    + ", ".join(f"{n} {what}" for what, n in tally.most_common()),
                    flush=True,
                )
    tally = Counter()
    for number in range(healthy):
        pace, _ = drawn(256 if number % 20 == 19 else 8, seed + 104729 + number, None)
        usable = [one for one in forms if pace.ranks == 8 or one in _LARGE_FORMS]
        tally[judged(pace, usable[number % len(usable)], None, not unknown_layout)] += 1
    print(f"healthy: {dict(tally)}")
    sys.exit(1 if innocent or tally["INNOCENT"] else 0)


if __name__ == "__main__":
    main()
