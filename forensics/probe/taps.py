"""What is replaced in PyTorch while at least one probe is active: once for all probes of the process."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

log = logging.getLogger("forensics.probe")
P = ParamSpec("P")
_TOLD: set[str] = set()


def quiet(hook: Callable[P, None]) -> Callable[P, None]:
    """A hook that never raises into the training. What went wrong is said once in the log."""

    @wraps(hook)
    def guarded(*args: P.args, **more: P.kwargs) -> None:
        try:
            hook(*args, **more)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            if text not in _TOLD:
                _TOLD.add(text)
                log.warning("a tensor was not recorded: %s", text)

    return guarded


class Taps:
    """Replaced attributes of PyTorch's classes and modules, and the probes that listen to them."""

    def __init__(self) -> None:
        self.probes: list[Any] = []
        self._kept: list[tuple[Any, str, Any]] = []

    def join(self, probe: Any, install: Callable[["Taps"], None]) -> None:
        self.probes.append(probe)
        if len(self.probes) == 1:
            install(self)

    def leave(self, probe: Any) -> None:
        if probe in self.probes:
            self.probes.remove(probe)
        while not self.probes and self._kept:
            owner, name, original = self._kept.pop()
            setattr(owner, name, original)

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """`make`: the original → what takes its place. What this version of PyTorch does not have stays away."""
        original = getattr(owner, name, None)
        if original is not None:
            self._kept.append((owner, name, vars(owner).get(name, original)))
            setattr(owner, name, make(original))

    def listener(self, calls: bool = True) -> Any:
        """The probe that writes what belongs to no model: communications (`calls`) or a loss; None where none does."""
        return next((probe for probe in self.probes if probe.active and (probe.collectives or not calls)), None)


TAPS = Taps()
