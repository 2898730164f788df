"""How often a fault is told right in forms that nobody wrote down: forms.py [--family NAME …] [--from N] [--many N] [--keep FOLDER]

    make forms                     100 bundles of each family, the same ones every time
    make forms FROM=1000 N=400     others
    make forms FAMILY=stacks       and which choices go wrong most often, the first wrong ones with their number

A bundle is a small job in which one rank fails in a way that an engineer sees at once; how it is recorded is drawn: the layout of lines, what stands at
their heads, where and in which words it is told who is who, which files there are. Truth first: the failure is drawn before the form. Families:

- `lines`: one log of all; each says its rank once. An exception (each line with its head, or a bare traceback below one) or a NaN.
- `documents`: who is who is told by a document alone; one log, or one of each. An exception, a NaN, a kernel's kill by pid, or waits that all but one give up.
- `stacks`: py-spy's dumps by pid, in files, below headings or prompts; who is who by logs, lists, environments, launchers, arguments. One stands elsewhere.
- `records`: steps as tables and objects, by names, hosts and numbers; one rank's figures are no numbers a step before all others'.

Beside them families of the same forms without what tells who it was; there no rank may be named.

*Right*: the kind, and exactly that rank; of given-up waits, that the silent one is the only suspect is right, too. *Innocent*: any other rank is named.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from drawn_bundles import FAMILIES, NOBODY, Case, Job

from forensics import analyze


def told_of(case: Case, folder: Path) -> tuple[bool, str]:
    """Is the verdict right? And what it says."""
    for name, own in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(own) + "\n")
    verdict = (
        analyze(folder, hung="stacks.txt" in case.files or (case.kind == "hang" and not case.is_waited_for))
        .incidents[0]
        .verdict
    )
    if not case.kind:
        return not verdict.ranks, f"{'INNOCENT: ' if verdict.ranks else ''}{verdict.kind} of {[*verdict.ranks]}"
    is_suspect = case.is_waited_for and not verdict.ranks and [*verdict.suspects.ranks] == [case.rank]
    is_right = [*verdict.ranks] == [case.rank] or is_suspect or (case.is_host_alone and not verdict.ranks)
    if verdict.ranks and [*verdict.ranks] != [case.rank]:
        return False, f"INNOCENT: {verdict.kind} of {[*verdict.ranks]}"
    return is_right and verdict.kind == case.kind, f"{verdict.kind} of {[*verdict.ranks]}"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--family", nargs="*", choices=[*FAMILIES, *NOBODY], default=[])
    asked.add_argument("--from", dest="first", type=int, default=0)
    asked.add_argument("--many", type=int, default=100)
    asked.add_argument("--keep", type=Path, help="a folder to keep the bundles in that came out wrong")
    given = asked.parse_args()
    families = FAMILIES | NOBODY
    for family in given.family or families:
        right: Counter[tuple[str, str]] = Counter()
        every: Counter[tuple[str, str]] = Counter()
        wrong: list[str] = []
        for number in range(given.first, given.first + given.many):
            case = families[family](Job(f"{family} {number}"))
            case = case._replace(kind="") if family in NOBODY else case
            with tempfile.TemporaryDirectory() as folder:
                is_right, said = told_of(case, Path(folder))
            if not is_right:
                wrong.append(f"  {number}: {said}, right is rank {case.rank}; {case.choices}")
                if given.keep is not None:
                    told_of(case, given.keep / f"{family}_{number}")
            every.update(case.choices.items())
            right.update(case.choices.items() if is_right else ())
        named = sum("INNOCENT" in one for one in wrong)
        print(
            f"{family}: {given.many - len(wrong)} of {given.many} right, an innocent rank named in {named}", flush=True
        )
        worst = sorted(every, key=lambda choice: (right[choice] / every[choice], -every[choice]))[:6]
        for choice in worst if wrong else ():
            print(f"  {': '.join(choice):60} {right[choice]} of {every[choice]}")
        print(*wrong[:10], sep="\n", end="\n" if wrong else "")


if __name__ == "__main__":
    main()
