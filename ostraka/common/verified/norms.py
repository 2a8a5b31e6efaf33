"""The polynomials that are 0 where a row's norm is what its digits say.

Where norms are claimed a lane is a cell, so that the counts of a row are values of as many wires at one
point. Their sum of powers, less the norm that the row's own digits write, is 0 there; of digits within their
tops no sum wraps around the field.
"""

import numpy as np

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.range_product import Algebra


def add_place(field: PrimeField, numbers: FieldArray, values: FieldArray, weight: int) -> None:
    """Add the values of a place's wires, times its weight, to those of the numbers that it writes."""
    numbers[:] = field.add(numbers, field.scale(values, weight))


def norm_differences(layout: Layout, algebra: Algebra, numbers: FieldArray) -> FieldArray:
    """Return by how much norms differ from what is written, (norm_groups, values), nothing without norms.

    Args:
        layout: of the statement.
        algebra: of the values.
        numbers: values of the polynomials of all numbers, (numbers, values).
    """
    if layout.statement.norm is None:
        return numbers[:0]
    field, groups = layout.field, layout.norm_groups
    counts, norms = numbers[:-groups], numbers[-groups:]
    differences = field.subtract(np.zeros_like(norms), norms)
    for cell in counts.reshape(layout.statement.cells, groups, -1):
        power = cell if layout.statement.norm.power == 1 else algebra.multiply(cell, cell)
        differences = field.add(differences, power)
    return differences
