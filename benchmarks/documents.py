"""Which documents a change moves: documents.py REV [FOLDER …] [--only WORD]

Every sample, every situation and each bundle below a FOLDER (what lies beside or below an `expect.json`) is analyzed by the code of this
checkout and by that of revision REV, each in a process of its own. `incident.json`, page, Markdown and both languages of the terminal must be
equal to the byte. Where some differ, their names, the lines of `incident.json` that do, and exit status 1.
"""

import difflib
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import click

ROOT = Path(__file__).resolve().parent.parent
_SHOWN, _HEADS = 20, 2  # lines of a difference, of which the first name the two sides


def bundles(folder: Path, others: tuple[Path, ...], only: str) -> Iterator[tuple[str, Path, bool]]:
    """(name, path, does only a person know that it hangs?); situations are written into `folder`."""
    from samples.situations import CASES, write

    for truth in sorted(ROOT.glob("samples/*/truth.json")):
        yield f"sample {truth.parent.name}", truth.parent / "bundle", False
    for name, case in ((name, case) for name, case in CASES.items() if only in f"situation {name}"):
        write(name, folder / name)
        yield f"situation {name}", folder / name, "--hung" in case.expect.get("args", ())
    for expected in (path for other in others for path in sorted(other.rglob("expect.json"))):
        for name, row in json.loads(expected.read_text()).items():
            if (path := expected.parent / name).exists():
                yield f"{expected.parent.name} {name}", path, "--hung" in row.get("args", ())


def inside(out: Path) -> None:
    """Write the documents of the bundles that standard input names, a line of JSON each, with the code that PYTHONPATH leads to."""
    from forensics import analyze
    from reports import html, markdown, terminal
    from reports import json as document

    for at, (_, path, is_hung) in enumerate(map(json.loads, sys.stdin)):
        report = analyze(path, hung=is_hung)
        texts = {
            "json": document.render(report).decode(),
            "html": html.render(report, generated="2026-01-01 00:00 UTC"),
            "md": markdown.render(report),
            "txt": terminal.render(report, color=False),
            "zh": terminal.render(report, color=False, width=None, language="zh"),
        }
        for ending, text in texts.items():
            (out / f"{at}.{ending}").write_text(text)


def moved(names: Sequence[str], then: Path, now: Path) -> Iterator[str]:
    """A line for each bundle some of whose documents are others now, and below it the lines of `incident.json` that are."""
    for at, name in enumerate(names):
        pairs = [(path, now / path.name) for path in sorted(then.glob(f"{at}.*"))]
        if others := [one.suffix[1:] for one, other in pairs if one.read_bytes() != other.read_bytes()]:
            yield f"{name}: {', '.join(others)}"
            before, after = ((folder / f"{at}.json").read_text().splitlines() for folder in (then, now))
            lines = difflib.unified_diff(before, after, lineterm="", n=0)
            yield from (f"  {line}" for line in islice(lines, _HEADS, _SHOWN) if not line.startswith("@@"))


@click.command(help=__doc__)
@click.argument("revision")
@click.argument("folders", nargs=-1, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default="", help="Bundles with this word in their names.")
def main(revision: str, folders: tuple[Path, ...], only: str) -> None:
    with TemporaryDirectory() as temporary:
        place = Path(temporary)
        packed = subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as tar:
            tar.extractall(place / "before", filter="data")
        found = [one for one in bundles(place / "situations", folders, only) if only in one[0]]
        told = "".join(f"{json.dumps([name, str(path), is_hung])}\n" for name, path, is_hung in found)
        (place / "told").write_text(told)
        running = []
        for name, tree in (("then", place / "before"), ("now", ROOT)):
            (place / name).mkdir()
            own = os.environ | {"PYTHONPATH": str(tree), "POLARS_MAX_THREADS": "1"}
            command = [sys.executable, __file__, "--inside", str(place / name)]
            running.append(subprocess.Popen(command, env=own, stdin=(place / "told").open()))
        if sum(one.wait() for one in running):
            sys.exit(2)
        lines = [*moved([name for name, _, _ in found], place / "then", place / "now")]
        print(*lines, sep="\n", end="\n" if lines else "")
        differing = sum(not line.startswith(" ") for line in lines)
        print(f"{len(found)} bundles, of {differing} some document differs")
        sys.exit(differing > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]))
    else:
        main()
