"""Spending of a unit over time, as the geometry of a plot that the page draws."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ostraka.protos.ostraka.v1 import admin_pb2

WIDTH, HEIGHT = 960, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 16, 32
TIMES, AMOUNTS = 4, 5
"""Into how many parts the time axis is divided, and the other one at most."""

DAY_MS = 86_400_000


@dataclass(frozen=True)
class Tick:
    """A mark on an axis, in pixels, with its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    """Worst-case epsilon spent, and the budget's epsilon, as steps over time.

    Attributes:
        spent: path of what was spent.
        area: the same, closed along the axis.
        budget: path of the budget.
        times: marks of the time axis.
        amounts: marks of the axis of epsilon.
    """

    spent: str
    area: str
    budget: str
    times: Sequence[Tick]
    amounts: Sequence[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def draw(events: Sequence[admin_pb2.BudgetEvent], now_ms: int) -> Plot:
    """Return the plot of a unit's `events`, oldest first, up to now."""
    begin = events[0].time_unix_ms
    end = max(now_ms, begin + 60_000, events[-1].time_unix_ms)
    largest = max(max(event.epsilon, event.epsilon_worst_case) for event in events)
    step = _step(largest)
    parts = max(1, math.ceil(largest / step - 1e-9))

    def x(time_ms: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (time_ms - begin) / (end - begin), 1)

    def y(epsilon: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * epsilon / (step * parts), 1)

    times = [x(event.time_unix_ms) for event in events]
    spent = _steps(times, [y(event.epsilon_worst_case) for event in events], x(end))
    return Plot(
        spent=spent,
        area=f"{spent}V{y(0)}H{times[0]}Z",
        budget=_steps(times, [y(event.epsilon) for event in events], x(end)),
        times=[Tick(x(t), _time(t, end - begin)) for t in _between(begin, end)],
        amounts=[Tick(y(i * step), f"{i * step:g}") for i in range(parts + 1)],
    )


def _steps(times: Sequence[float], values: Sequence[float], end: float) -> str:
    """Return a path that keeps each value until the next time."""
    moves = (f"H{time}V{value}" for time, value in zip(times[1:], values[1:], strict=True))
    return f"M{times[0]} {values[0]}{''.join(moves)}H{end}"


def _step(largest: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten of which `AMOUNTS` reach `largest`."""
    least = max(largest, 1e-6) / AMOUNTS
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def _between(begin: int, end: int) -> list[float]:
    return [begin + (end - begin) * i / TIMES for i in range(TIMES + 1)]


def _time(time_ms: float, span_ms: int) -> str:
    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    if span_ms > TIMES * DAY_MS:
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%d %b %H:%M}" if span_ms > DAY_MS else f"{moment:%H:%M:%S}"
