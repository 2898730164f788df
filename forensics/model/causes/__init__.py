"""The causes, one file each (row.py tells the fields; shared.py has what several say).

A new cause is a file here and its name in `forensics.model.names.Cause`."""

from collections.abc import Mapping
from importlib import import_module
from typing import get_args

from forensics.model.causes.row import CauseRow
from forensics.model.names import Cause

CAUSES: Mapping[Cause, CauseRow] = {name: import_module(f"{__name__}.{name}").ROW for name in get_args(Cause)}
