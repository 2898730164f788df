"""The library that notebooks import: `forensics.analyze(bundle)` gives a `Report`.

Everything is loaded on first use (PEP 562), so `import forensics` stays cheap.
"""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forensics.analyze import Difference as Difference
    from forensics.analyze import analyze as analyze
    from forensics.analyze import diff as diff
    from forensics.history import NotAReport as NotAReport
    from forensics.history import load as load
    from forensics.model.errors import NoSuch as NoSuch
    from forensics.model.errors import NotALayout as NotALayout
    from forensics.model.incident import Incident as Incident
    from forensics.report import Report as Report
    from parsers import BundleError as BundleError
    from parsers import read as read

__version__ = "0.1.0"
TOOL_NAME = "forensics"  # as incident.json calls the program

_HOMES = {
    "BundleError": "parsers",
    "Difference": "forensics.analyze",
    "Incident": "forensics.model.incident",
    "NoSuch": "forensics.model.errors",
    "NotALayout": "forensics.model.errors",
    "NotAReport": "forensics.history",
    "Report": "forensics.report",
    "analyze": "forensics.analyze",
    "diff": "forensics.analyze",
    "load": "forensics.history",
    "read": "parsers",
}

__all__ = [
    "BundleError",
    "Difference",
    "Incident",
    "NoSuch",
    "NotALayout",
    "NotAReport",
    "Report",
    "__version__",
    "analyze",
    "diff",
    "load",
    "read",
]


def _check_siblings() -> None:
    """`parsers` and `reports` are common names: say plainly when Python would import somebody else's.

    Compares folders only and imports nothing. Raises ImportError.
    """
    home = Path(__file__).resolve().parent.parent
    for name in ("parsers", "reports"):
        spec = importlib.util.find_spec(name)
        if spec is None:
            raise ImportError(f"forensics needs its own package {name!r} beside it in {home}, and Python finds none")
        places = list(spec.submodule_search_locations or ())  # empty for a module in a single file
        if {Path(place).resolve().parent for place in places} != {home}:
            found = ", ".join(places) or spec.origin
            raise ImportError(
                f"forensics needs its own package {name!r} from {home}, but Python finds {found}: "
                f"rename or remove that one, or start Python elsewhere"
            )


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'forensics' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


class _Package(ModuleType):
    """Keeps `forensics.analyze` the function: importing the module of that name would put the module in its place."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.analyze if name == "analyze" and isinstance(value, ModuleType) else value)


def __dir__() -> list[str]:
    return sorted(__all__)


sys.modules[__name__].__class__ = _Package
_check_siblings()
