"""`python -m forensics`, and the command `forensics`: what a process does around its work.

Modules make no garbage while they load, and nobody needs them taken apart at the end: each is a thirtieth of what a small
question costs.
"""

import atexit
import gc
import os
import sys
import threading
from contextlib import suppress


def main() -> None:
    """Entry point. Ends the process."""
    gc.disable()
    from forensics.cli import main as run

    gc.freeze()
    gc.enable()
    try:
        run()
    except SystemExit as leave:
        if isinstance(leave.code, int) and threading.active_count() == 1:
            with suppress(OSError):  # then Python says that it could not be written
                _leave(leave.code)
        raise


def _leave(status: int) -> None:
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # its descriptor was closed before the start
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
