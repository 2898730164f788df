"""The package as its users meet it: cheap to import, lazy, and outspoken when Python finds somebody else's siblings."""

import json
import os
import re
import subprocess
import sys
import sysconfig
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
    """The page's assets are the three of its folder, as they are written: nothing is bundled, so nothing is to be rebuilt."""
    folder = ROOT / "reports" / "html"
    assets = {path.name for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".j2", ".pyc")}
    assert assets == {"style.css", "script.js", "keys.js"}
    wanted = json.loads((ROOT / "package.json").read_text())
    assert wanted["private"] and "dependencies" not in wanted and set(wanted["devDependencies"]) == {"axe-core"}
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert lock[""]["devDependencies"] == wanted["devDependencies"]
    assert all(one["integrity"].startswith("sha512-") and one["dev"] for name, one in lock.items() if name)
    assert "http" not in (ROOT / "package-lock.json").read_text()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of a fresh environment that holds the wheel, and sees what it depends on. Nothing is fetched."""
    home = tmp_path_factory.mktemp("clean") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    (library,) = home.glob("lib/python*/site-packages")
    (library / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(home / "bin" / "python"),
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*install, str(built[0])], check=True, capture_output=True)
    return home / "bin"


def alone(command: list[str | Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs it where this checkout is not to be found."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([str(word) for word in command], cwd=cwd, env=settings, capture_output=True, text=True)


@pytest.mark.parametrize("script", ["forensics", "collective-forensics"])
def test_the_wheel_answers_in_a_clean_environment(installed: Path, script: str, tmp_path: Path) -> None:
    where = alone([installed / "python", "-c", "import forensics; print(forensics.__file__)"], tmp_path)
    assert where.stdout.startswith(str(installed.parent)), where.stderr
    bundle = ROOT / "samples" / "data_loader_stall" / "bundle"
    done = alone([installed / script, "-q", "analyze", bundle, "-o", "incident.html"], tmp_path)
    assert done.stdout.startswith("HANG  Rank 5 (localhost) is stuck in data loading at train"), done.stderr
    assert (tmp_path / "incident.html").stat().st_size > 0


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("ranks: list[int] = report.verdict.ranks", None),
        ("events: polars.DataFrame = report.tables['events'].filter(polars.col('severity') >= 'error')", None),
        ("shown: polars.DataFrame = report.rank(5).timeline('10:05', last=20)", None),
        ("text: str = report.explain(5) + report.to_markdown()", None),
        ("report.plot.timeline()", None),
        ("ranks: list[str] = report.verdict.ranks", 'has type "list[int]"'),
        ("report.verdicts", 'has no attribute "verdicts"'),
    ],
)
def test_mypy_knows_the_types_of_the_installed_wheel(
    installed: Path, line: str, error: str | None, tmp_path: Path
) -> None:
    (tmp_path / "user.py").write_text(
        f"import forensics\nimport polars\n\nreport = forensics.analyze('bundle')\n{line}\n"
    )
    cache = installed.parent / "mypy_cache"
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed / "python", "--cache-dir", cache]
    done = alone([*mypy, "user.py"], tmp_path)
    assert done.returncode == (0 if error is None else 1), done.stdout + done.stderr
    assert error is None or error in done.stdout


def test_rows_of_knowledge_are_in_the_wheel(built: tuple[Path, Path]) -> None:
    names = {Path(name).name for name in zipfile.ZipFile(built[0]).namelist() if name.startswith("parsers/knowledge/")}
    assert names >= {path.name for path in (ROOT / "parsers" / "knowledge").glob("*.toml")}


def test_the_simulator_is_in_the_sdist_and_not_in_the_wheel(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    packages = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {name for name in packages if not name.endswith(".dist-info")} == {"forensics", "parsers", "reports"}
    with tarfile.open(sdist) as archive:
        assert [name for name in archive.getnames() if name.endswith("/samples/simulator/engine.py")]
