"""The package as its users meet it: cheap to import, lazy, and outspoken when Python finds somebody else's siblings."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def python(code: str, *before: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a fresh Python that finds the folders `before` ahead of this checkout."""
    path = os.pathsep.join(str(place) for place in (*before, ROOT))
    return subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        cwd=cwd,
        capture_output=True,
        text=True,
    )


def test_importing_loads_nothing_heavy() -> None:
    heavy = "{'polars', 'networkx', 'jinja2', 'rich', 'click', 'parsers', 'reports'}"
    result = python(f"import sys, forensics; print(sorted({heavy} & set(sys.modules)))")
    assert result.stdout == "[]\n", result.stderr


@pytest.mark.parametrize(
    "first",
    [
        "import forensics",
        "import forensics.analyze",
        "from forensics.analyze import analyze",
        "from forensics import analyze",
    ],
)
def test_analyze_is_the_function_whoever_imported_its_module_before(first: str) -> None:
    result = python(f"{first}\nimport forensics\nprint(forensics.analyze.__name__, callable(forensics.analyze))")
    assert result.stdout == "analyze True\n", result.stderr


def test_every_public_name_resolves() -> None:
    result = python("import forensics; print([n for n in forensics.__all__ if getattr(forensics, n) is None])")
    assert result.stdout == "[]\n", result.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert "has no attribute 'diagnose'" in python("import forensics; forensics.diagnose").stderr


@pytest.mark.parametrize("name", ["parsers", "reports"])
@pytest.mark.parametrize("layout", ["package", "module"])
def test_a_strangers_sibling_is_named(tmp_path: Path, name: str, layout: str) -> None:
    """`parsers` and `reports` are common names; the error tells the folder, and the stranger's code does not run."""
    stranger = tmp_path / f"{name}.py" if layout == "module" else tmp_path / name / "__init__.py"
    stranger.parent.mkdir(exist_ok=True)
    stranger.write_text("print('ran')")
    result = python("import forensics", tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    assert re.search(
        rf"ImportError: forensics needs its own package '{name}'.*{re.escape(str(tmp_path))}", result.stderr
    )


def test_the_lock_names_no_index_and_no_place() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert not re.search(r"https?:|file:|--(extra-)?index-url|--find-links|\s/\w", lock)


def test_the_lock_hashes_every_requirement() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    requirements = re.split(r"^(?=[a-z0-9][a-z0-9-]*==)", lock, flags=re.MULTILINE)[1:]
    assert requirements
    assert [text.split()[0] for text in requirements if "--hash=sha256:" not in text] == []


def test_the_page_ships_no_library_and_what_tests_take_from_npm_is_pinned() -> None:
    """The page's assets are the two of its folder, as they are written: nothing is bundled, so nothing is to be rebuilt."""
    folder = ROOT / "reports" / "html"
    assets = {path.name for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".j2", ".pyc")}
    assert assets == {"style.css", "script.js"}
    wanted = json.loads((ROOT / "package.json").read_text())
    assert wanted["private"] and "dependencies" not in wanted and set(wanted["devDependencies"]) == {"axe-core"}
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert lock[""]["devDependencies"] == wanted["devDependencies"]
    assert all(one["integrity"].startswith("sha512-") and one["dev"] for name, one in lock.items() if name)
    assert "http" not in (ROOT / "package-lock.json").read_text()


def test_the_simulator_is_in_the_sdist_and_not_in_the_wheel(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    installed = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in installed if not name.endswith(".dist-info")} == {"forensics", "parsers", "reports"}
    with tarfile.open(sdist) as archive:
        assert [name for name in archive.getnames() if name.endswith("/samples/simulator/engine.py")]
