"""How far replacing a record by any other moves each block of a sum, in units (docs/sums.md)."""

import math
from typing import Final

MOVED_CODES: Final = 2.0
"""For a sum of x c', where x and c have norm at most 1: two such products may be opposite."""
MOVED_GRAM: Final = math.sqrt(2)
"""For a packed Gram sum: |x x' - z z'|^2 = |x|^4 + |z|^4 - 2 (x'z)^2 is at most 2."""
MOVED_HISTOGRAM: Final = 2.0
"""For residuals summed in bins: in one bin they may be opposite, in two bins they move it by sqrt 2."""
MOVED_GRADIENT: Final = 2.0
"""For a sum of clipped gradients, which may be opposite."""


def move_of_statistics(columns: int) -> float:
    """Return how far a record moves counts of this many columns: in each from one place to another."""
    return math.sqrt(2 * columns)


STEP_ROUNDING = 1 + 2.0**-10
"""Factor on a step that covers the floating-point error of a chunk, which is below 1/1000 of a step."""


def move_on_lattice(moved: float, width: int, bits: int, records: float = 1.0) -> float:
    """Return how far a block of `width` values in steps of 2^-bits moves if records are replaced.

    Args:
        moved: how far one record moves it before rounding.
        width: number of values of the block.
        bits: bits of a step.
        records: how many are replaced, or their total weight.

    Each record may lie in another chunk, whose sum is rounded; the weighted sum of all chunks is rounded as
    well.
    """
    rounded = math.sqrt(width) * math.ldexp(STEP_ROUNDING, -bits)
    return records * (moved + rounded) + rounded
