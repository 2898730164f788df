"""Simulated paces as rows of the table `timings`."""

from typing import Any

from samples.simulator.pace import Pace


class Timed(Pace):
    """`tokens`: rank → how many it is given in each phase."""

    tokens: dict[int, int] = {}  # noqa: RUF012 - replaced, never changed

    def rows(self, waits: bool = True, **columns: Any) -> list[dict[str, Any]]:
        """Rows of `timings`, without the waits for others where these are not wanted."""
        return [
            {
                "rank": one.rank, "step": one.step, "phase": one.phase, "value_ms": one.ms, "level": 0,
                "tokens": self.tokens.get(one.rank), "host": f"node-{one.rank // 8}", **columns,
            }
            for one in self.times()
            if waits or one.phase != "comm"
        ]  # fmt: skip
