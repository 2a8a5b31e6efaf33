"""The place in a cube at which a function is largest: a coarse grid, then ever smaller steps."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeVar

Place = tuple[float, ...]
V = TypeVar("V")

GRID: dict[int, int] = {1: 33, 2: 13, 3: 9, 4: 5}
"""Points on each axis of the coarse grid, by how many axes there are."""
HALVINGS = 6
STARTS = 3
"""Points of the grid that steps begin from."""


def largest(
    value: Callable[[Place], V], rank: Callable[[V], tuple[float, ...]], axes: int, begin: Sequence[Place]
) -> tuple[Place, V]:
    """Return the best place found and its value, by the largest `rank`; the same on every call.

    Steps go to the best neighbour, diagonals included, and halve where none is better. They begin at the
    places given, else at the best of a grid.
    """
    seen: dict[Place, V] = {}

    def ranked(place: Place) -> tuple[float, ...]:
        if place not in seen:
            seen[place] = value(place)
        return rank(seen[place])

    points = GRID[axes]
    grid = [] if begin else list(product([i / (points - 1) for i in range(points)], repeat=axes))
    starts = list(begin) or sorted(grid, key=ranked, reverse=True)[:STARTS]
    best = max((_climbed(ranked, start, 0.5 / (points - 1)) for start in starts), key=ranked)
    return best, seen[best]


def _climbed(ranked: Callable[[Place], tuple[float, ...]], place: Place, step: float) -> Place:
    moves = list(product((0, -1, 1), repeat=len(place)))
    for _ in range(HALVINGS):
        while True:
            near = [_moved(place, move, step) for move in moves]
            found = max(near, key=ranked)
            if ranked(found) <= ranked(place):
                break
            place = found
        step /= 2
    return place


def _moved(place: Place, move: Sequence[int], step: float) -> Place:
    """Return the place after a move, kept within the cube."""
    return tuple(min(max(x + step * d, 0.0), 1.0) for x, d in zip(place, move, strict=True))
