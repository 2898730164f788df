"""An uncaught error that nobody labels is of the only rank that is told to have ended as one (forensics/assemble/only_end.py)."""

from pathlib import Path

import pytest

from forensics.api import analyze
