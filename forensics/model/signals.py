"""Codes that processes end with, as names of signals."""

_SIGNALS = {
    9: "SIGKILL", 15: "SIGTERM", 11: "SIGSEGV", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 4: "SIGILL", 2: "SIGINT",
}  # fmt: skip
# Ray: the process went without a word. Of several, some may have been aborted after their wait.
VANISHED = ("SYSTEM_ERROR",)


def signal_of(code: str | None) -> str | None:
    """Exit code text → signal name: "-9", "137" and "SIGKILL" are the same."""
    if not code:
        return None
    if code.startswith("SIG"):
        return code
    try:
        number = int(code)
    except ValueError:
        return None
    return _SIGNALS.get(-number if number < 0 else number - 128)
