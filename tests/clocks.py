"""Clocks in addition to those of ostraka.common.clock."""

from dataclasses import dataclass

from ostraka.common.clock import Clock, SystemClock


@dataclass
class Ahead(Clock):
    """The system's clock, ahead by some seconds."""

    by: float = 0.0

    def now(self) -> float:
        return SystemClock().now() + self.by
