"""The polynomials of a proof: 0 where digits and norms are right, divided by what vanishes there.

Where norms are claimed a lane is a cell, so that the counts of a row are values of as many wires at one
point. Their sum of powers, less the norm that the row's own digits write, is 0 there; of digits within their
ranges no sum wraps around the field.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray, PrimeField
from ostraka.common.verified.layout import BLIND_LIMB, Layout
from ostraka.common.verified.writing import Digit


class Algebra(Protocol):
    """What the polynomial needs of a field or its extension."""

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is a factor for `multiply`."""

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Products, element by element."""


def range_product(algebra: Algebra, values: FieldArray, digit: Digit) -> FieldArray:
    """Return the product of x - v, for every value v of a digit, of every element x.

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
"""Values of wires that are computed together, so that they stay in a core's cache."""


def quotient_values(
    layout: Layout, digits: NDArray[np.int64], blinds: FieldArray, factors: FieldArray
) -> FieldArray:
    """Return the quotient's values, (proof_values, degree).

    Args:
        layout: of the statement that the digits satisfy.
        digits: all of them, each within its range.
        blinds: (wires, blinds), uniform.
        factors: rho, (constraints, degree), of the guardian's challenge.
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
