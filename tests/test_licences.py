"""Whatever is installed from the lock may be handed on: permissive licences; for the tools of development, MPL-2.0 too."""

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCKED = sorted(set(re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)))
PERMISSIVE = {"MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "PSF-2.0", "ISC", "0BSD", "MIT-0"}
OF_TOOLS = PERMISSIVE | {"MPL-2.0"}  # nothing of them is in the wheel
# Classifiers and free texts of metadata that has no expression yet.
_MEANT = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        pytest.skip("not for this platform")


def _licences(found: Distribution) -> set[str]:
    """SPDX names: of `A OR B` and `A AND B` both."""
    if expression := found.metadata.get("License-Expression"):
        return set(re.split(r"\s+(?:AND|OR)\s+", expression.strip("()")))
    told = [
        text.rpartition(" :: ")[2] for text in found.metadata.get_all("Classifier", []) if text.startswith("License ::")
    ]
    return {_MEANT.get(text, text) for text in told}


def _runtime() -> set[str]:
    """What the wheel needs, and what that needs, on this platform; names as the lock writes them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting, found = list(project["dependencies"]), set[str]()
    while waiting:
        need = Requirement(waiting.pop())
        name = re.sub(r"[-_.]+", "-", need.name).lower()
        if name not in found and (need.marker is None or need.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += _installed(name).requires or []
    return found


@pytest.mark.parametrize("name", LOCKED)
def test_a_locked_package_is_permissive(name: str) -> None:
    found = _licences(_installed(name))
    assert found and found <= (PERMISSIVE if name in _runtime() else OF_TOOLS), found


def test_what_the_wheel_needs_is_in_the_lock() -> None:
    assert {"polars", "click", "markupsafe"} <= _runtime() <= {*LOCKED}
