"""Coverage-guided fuzzing of the parsers, with atheris: fuzz_guided.py [--family F …] [--seconds S] [--corpus DIR]

An input is one file: its first byte says which parser of the family gets it, the rest is its content. The corpus begins
with the seeds of `fuzz_inputs` and is kept in DIR, so a later run goes on from there. `parsers/` is instrumented; an
error that leaves a parser, a file that takes 20 s, or a process beyond 1 GB ends the run, and the input lies in DIR.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["parsers"], enable_loader_override=False):
    import fuzz
    import fuzz_inputs

    import parsers

BYTES = 8192  # of an input, at most
FIGURES = ("number_of_executed_units", "slowest_unit_time_sec", "peak_rss_mb")
_COVERED = re.compile(r"#\d+\s+(INITED|DONE|RELOAD|NEW|REDUCE|pulse)\s+cov: (\d+) ft: (\d+) corp: (\d+)")


def members(family: str) -> list[parsers.schema.parser.Parser]:
    return [parser for parser in parsers.PARSERS if fuzz_inputs.family(parser) == family]


def written(family: str, folder: Path) -> None:
    """The seeds, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, parser in enumerate(members(family)):
        given = fuzz_inputs.seeds(parser)
        files = [b"\n".join(fuzz_inputs.own_samples(parser)), *given.documents, *given.texts, *given.lines]
        for nth, data in enumerate(files):
            (folder / f"{parser.name}-{nth}").write_bytes(bytes([number]) + data[: BYTES - 1])


def fuzzed(family: str, arguments: list[str]) -> None:
    """In a process of its own, which ends with it."""
    mine = members(family)

    def one(data: bytes) -> None:
        if len(data) > 1 and (wrong := fuzz.failure(mine[data[0] % len(mine)], [data[1:]])[0]):
            raise RuntimeError(f"{mine[data[0] % len(mine)].name}: {wrong}")

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


def run(family: str, seconds: int, corpus: Path) -> bool:
    """One row of Markdown; whether nothing broke."""
    folder = corpus / family
    written(family, folder)
    limits = [f"-max_total_time={seconds}", f"-max_len={BYTES}", "-timeout=20", f"-rss_limit_mb={fuzz.MEMORY >> 20}"]
    command = [
        sys.executable,
        __file__,
        "--inside",
        family,
        *limits,
        "-print_final_stats=1",
        f"-artifact_prefix={folder}-",
    ]
    ended = subprocess.run([*command, str(folder)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    covered = _COVERED.findall(ended.stderr)
    first = next((edges for what, edges, *_ in covered if what == "INITED"), "?")
    _, edges, _, kept = covered[-1] if covered else ("", "?", "?", "?")
    told = dict(re.findall(r"stat::(\w+):\s+(\d+)", ended.stderr))
    cells = [family, *(told.get(name, "?") for name in FIGURES), first, edges, kept, str(ended.returncode)]
    print(f"| {' | '.join(cells)} |", flush=True)
    if ended.returncode:
        print(ended.stderr[-3000:], file=sys.stderr)
    return ended.returncode == 0


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--family", action="append", choices=fuzz.FAMILIES)
    options.add_argument("--seconds", type=int, default=60, help="of each family")
    options.add_argument("--corpus", type=Path, default=fuzz_inputs.ROOT / ".bench" / "fuzz_guided")
    given = options.parse_args()
    print("| family | files | slowest s | peak MB | edges at first | edges at last | files kept | status |")
    print("|---|---|---|---|---|---|---|---|")
    whole = [run(family, given.seconds, given.corpus) for family in given.family or fuzz.FAMILIES]
    print(f"{len(whole)} families, {whole.count(False)} broken")
    return 0 if all(whole) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        fuzzed(sys.argv[2], sys.argv[3:])
    sys.exit(main())
