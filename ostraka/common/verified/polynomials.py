"""The polynomials of a proof: 0 where digits and norms are right, divided by what vanishes there.

If norms are claimed, a lane is a cell, so the counts of a row are the values of as many wires at one point.
Their sum of powers minus the norm that the row's own digits represent is 0 there. With digits in range no sum
wraps around the field.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.verified.layout import BLIND_LIMB, Layout
from ostraka.common.verified.writing import Digit


class Algebra(Protocol):
    """The operations that the polynomials need, of a field or its extension."""

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is a valid factor for `multiply`."""

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Return products, element by element."""


def range_product(algebra: Algebra, values: FieldArray, digit: Digit) -> FieldArray:
    """Return, for every element x, the product of x - v over all values v of a digit.

    The factors of least + v and top - v are multiplied together: y + v (span - v), where
    y = (x - least) (x - top).
    """
    ends = algebra.multiply(algebra.offset(values, -digit.least), algebra.offset(values, -digit.top))
    product = ends
    for value in range(1, (digit.span + 1) // 2):
        product = algebra.multiply(product, algebra.offset(ends, value * (digit.span - value)))
    if digit.span % 2 == 0:
        product = algebra.multiply(product, algebra.offset(values, -((digit.least + digit.top) // 2)))
    return product


def add_place(field: PrimeField, numbers: FieldArray, values: FieldArray, weight: int) -> None:
    """Add the values of a place's wires, times its weight, to the numbers whose digits they are."""
    numbers[:] = field.add(numbers, field.scale(values, weight))


def norm_differences(layout: Layout, algebra: Algebra, numbers: FieldArray) -> FieldArray:
    """Return how far norms differ from what is written, (norm_groups, values); empty without norms.

    Args:
        layout: the statement's layout.
        algebra: the algebra of the values.
        numbers: values of the polynomials of all numbers, (numbers, values).
    """
    if layout.statement.norm is None:
        return numbers[:0]
    field = layout.field
    groups = layout.norm_groups
    cells = layout.statement.cells
    counts = numbers[: cells * groups]
    norms = numbers[cells * groups :][:groups]
    differences = field.subtract(np.zeros_like(norms), norms)
    for cell in counts.reshape(cells, groups, -1):
        power = cell if layout.statement.norm.power == 1 else algebra.multiply(cell, cell)
        differences = field.add(differences, power)
    return differences


_CHUNK = 40_000
"""Number of wire values that are computed together, so that they stay in a core's cache."""


def quotient_values(
    layout: Layout, digits: NDArray[np.int64], blinds: FieldArray, factors: FieldArray
) -> FieldArray:
    """Return the quotient's values, (proof_values, degree).

    Args:
        layout: the layout of the statement that the digits satisfy.
        digits: all digits, each within its range.
        blinds: (wires, blinds), uniform.
        factors: rho, (constraints, degree), from the guardian's challenge.
    """
    field = layout.field
    shifts = np.arange(0, field.bits, BLIND_LIMB, dtype=np.uint64)
    limbs = (blinds[:, None, :] >> shifts[:, None]) & np.uint64(2**BLIND_LIMB - 1)
    known = np.concatenate([layout.arrange(digits), limbs.reshape(layout.wires, -1)], 1).astype(np.float64)
    total = np.zeros((layout.proof_values, field.degree), np.uint64)
    numbers = np.zeros((layout.numbers if layout.norm_groups else 0, layout.proof_values), np.uint64)
    step = max(1, _CHUNK // layout.proof_values)
    for place in layout.places:
        for start in range(place.wires.start, place.wires.stop, step):
            chunk = slice(start, min(start + step, place.wires.stop))
            values = _extend(layout, known[chunk])
            zeros = range_product(field, values, place.digit)
            total = field.add(total, field.dot(zeros.T, factors[chunk]))
            if layout.norm_groups:
                first = place.numbers.start + start - place.wires.start
                add_place(field, numbers[first : first + len(values)], values, place.weight)
    differences = norm_differences(layout, field, numbers)
    total = field.add(total, field.dot(differences.T, factors[layout.wires :]))
    return field.multiply(total, layout.over_vanishing[:, None])


def _extend(layout: Layout, known: NDArray[np.float64]) -> FieldArray:
    """Return the wires' values at the quotient's points, (wires, proof_values)."""
    field = layout.field
    low, *high = (field.of_signed((known @ limb).astype(np.int64)) for limb in layout.extension_limbs)
    return field.add(low, field.rotate(high[0], 31)) if high else low
