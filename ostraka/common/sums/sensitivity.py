"""By how much replacing one record moves a block of a sum, as an L2 norm (docs/sums.md proves each)."""

import math

SIGNED = 2.0
"""Of a block to which a record adds any vector of norm 1, as codes times mapped records, residuals in bins or
gradients are: two of them may point in opposite directions."""
GRAM = math.sqrt(2)
"""Of packed x x' of vectors of norm 1: two such matrices have an inner product (x' z)^2 of 0 or more."""


def counts(columns: int) -> float:
    """Return that of counts to which a record adds a 1 in at most one cell of each of so many columns."""
    return math.sqrt(2 * columns)
