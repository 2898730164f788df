"""Which language people read."""

from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "zh"]


def of_environment(settings: Mapping[str, str]) -> Language:
    """The language that a person has chosen for all programs: LC_ALL, LC_MESSAGES, LANG, the first that is set."""
    chosen = next((settings[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if settings.get(name)), "")
    return "zh" if chosen.lower().startswith("zh") else "en"
