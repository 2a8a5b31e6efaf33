"""How far a record that is replaced by any other moves each block of a sum, in units (docs/sums.md)."""

import math
from typing import Final

MOVED_CODES: Final = 2.0
"""Of a sum of x c', where x and c have norm at most 1: two such products may be opposite."""
MOVED_GRAM: Final = math.sqrt(2)
"""Of a packed Gram sum: |x x' - z z'|^2 = |x|^4 + |z|^4 - 2 (x'z)^2 is at most 2."""
MOVED_HISTOGRAM: Final = 2.0
"""Of residuals summed in bins: in one bin they may be opposite, in two bins they move it by sqrt 2."""
MOVED_GRADIENT: Final = 2.0
"""Of a sum of clipped gradients, which may be opposite."""


def move_of_statistics(columns: int) -> float:
    """Return how far a record moves counts of so many columns: in each from one place to another."""
    return math.sqrt(2 * columns)


STEP_ROUNDING = 1 + 2.0**-10
"""Times which a step covers what floating point adds to a chunk of records: below a thousandth of one."""


def move_on_lattice(moved: float, width: int, bits: int, records: float = 1.0) -> float:
    """Return how far a block of `width` values in steps of 2^-bits moves where records are replaced.

    Args:
        moved: how far one record moves it before anything is rounded.
        width: values of the block.
        bits: of a step.
        records: how many are replaced, or what these weigh together.

    Each record may lie in another chunk, whose sum is rounded, and so is what a weight makes of all chunks.
    """
    rounded = math.sqrt(width) * math.ldexp(STEP_ROUNDING, -bits)
    return records * (moved + rounded) + rounded
