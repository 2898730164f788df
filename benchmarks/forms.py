"""How often a fault is told right in forms that nobody wrote down: forms.py [--family NAME …] [--from N] [--many N] [--keep FOLDER]

    make forms                          100 bundles of each family, the same ones every time
    make forms FROM=1000 N=400          others
    make forms FAMILY=devices           of one theme
    make forms FAMILY="who/stacks"      and which choices go wrong most often, the first wrong ones with their number

A bundle is a small job in which one rank fails in a way that an engineer sees at once; how it is recorded is drawn, each choice with each other one.
Truth first: the failure is drawn before the form. Themes (`drawn/`):

- `who`: the layout of lines, what stands at their heads, documents that tell who is who, stacks by pid, steps as tables and objects.
- `devices`: a device fails; kernels, monitors and tools call it by bus, index, UUID, serial; tables, scripts and boxes tell who runs on it.
- `clusters`: each witness calls a process differently (pods, containers, tasks, actors, executors, addresses), and one or two joins lead to its rank.
- `symptoms`: who is who is plain; what happened is told in words of many frameworks, runtimes, killers, monitors and people.
- `figures`: bad numbers in lines, tables and shapes of frameworks, checksums, restored states, loss scales, assertions.

Beside them families of the same forms without what tells who it was; there no rank may be named.

*Right*: a right kind, and exactly that rank; where the truth says so, that it is the only suspect. *Innocent*: any other rank is named.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from drawn import cluster_families, devices, figures, symptoms, who
from drawn.job import Case, Job

from forensics import analyze

THEMES = {"who": who, "devices": devices, "clusters": cluster_families, "symptoms": symptoms, "figures": figures}
FAMILIES: dict[str, Callable[[Job], Case]] = {}
NOBODY: dict[str, Callable[[Job], Case]] = {}
for theme, module in THEMES.items():
    FAMILIES |= {f"{theme}/{name}": made for name, made in module.FAMILIES.items()}
    NOBODY |= {f"{theme}/{name}": made for name, made in module.NOBODY.items()}
WORST, WRONG, FEWEST = 6, 10, 3  # choices and bundles that are shown; a choice that was drawn less often tells little


def bundle(family: str, number: int) -> Case:
    return (FAMILIES | NOBODY)[family](Job(f"{family.partition('/')[2]} {number}"))


def write(case: Case, folder: Path) -> None:
    for name, own in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(own) + "\n")


def told_of(case: Case, folder: Path, *, is_nobody: bool) -> tuple[bool, str]:
    """Is the verdict right? And what it says."""
    write(case, folder)
    verdict = analyze(folder, hung=case.is_hung).incidents[0].verdict
    said = f"{verdict.kind} of {[*verdict.ranks]}, suspects {[*verdict.suspects.ranks]}"
    if verdict.ranks and (is_nobody or [*verdict.ranks] != [case.rank]):
        return False, f"INNOCENT: {said}"
    is_suspect = case.is_suspect_right and [*verdict.suspects.ranks] == [case.rank]
    is_right = is_nobody or bool(verdict.ranks) or is_suspect or case.is_host_alone
    return is_right and (is_nobody or verdict.kind in case.kinds), said


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--family", nargs="*", choices=[*THEMES, *FAMILIES, *NOBODY], default=[*THEMES])
    asked.add_argument("--from", dest="first", type=int, default=0)
    asked.add_argument("--many", type=int, default=100)
    asked.add_argument("--keep", type=Path, help="a folder to keep the bundles in that came out wrong")
    given = asked.parse_args()
    chosen = [one for one in (*FAMILIES, *NOBODY) if {one, one.partition("/")[0]} & {*given.family}]
    for family in chosen:
        right: Counter[tuple[str, str]] = Counter()
        every: Counter[tuple[str, str]] = Counter()
        wrong: list[str] = []
        for number in range(given.first, given.first + given.many):
            case = bundle(family, number)
            with tempfile.TemporaryDirectory() as folder:
                is_right, said = told_of(case, Path(folder), is_nobody=family in NOBODY)
            if not is_right:
                wrong.append(f"  {number}: {said}, right is rank {case.rank}; {case.choices}")
                if given.keep is not None:
                    write(case, given.keep / f"{family.replace('/', '_')}_{number}")
            every.update(case.choices.items())
            right.update(case.choices.items() if is_right else ())
        named = sum("INNOCENT" in one for one in wrong)
        told = f"{given.many - len(wrong)} of {given.many} right, an innocent rank named in {named}"
        print(f"{family}: {told}", flush=True)
        often = [choice for choice in every if every[choice] >= FEWEST]
        worst = sorted(often, key=lambda choice: (right[choice] / every[choice], -every[choice]))[:WORST]
        for choice in worst if wrong else ():
            print(f"  {': '.join(choice)[:100]:60} {right[choice]} of {every[choice]}")
        print(*wrong[:WRONG], sep="\n", end="\n" if wrong else "")


if __name__ == "__main__":
    main()
