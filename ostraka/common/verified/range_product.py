"""The polynomial that is 0 for the digits from 0 to a top, and for nothing else."""

from typing import Protocol

from ostraka.common.sharing.prime_field import FieldArray


class Algebra(Protocol):
    """What the polynomial needs of a field or its extension."""

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is a factor for `multiply`."""

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Products, element by element."""


def range_product(algebra: Algebra, values: FieldArray, top: int) -> FieldArray:
    """Return x (x - 1) ... (x - top) of every element x.

    The factors of v and top - v are multiplied together: y + v (top - v), where y = x (x - top).
    """
    ends = algebra.multiply(values, algebra.offset(values, -top))
    product = ends
    for value in range(1, (top + 1) // 2):
        product = algebra.multiply(product, algebra.offset(ends, value * (top - value)))
    if top % 2 == 0:
        product = algebra.multiply(product, algebra.offset(values, -(top // 2)))
    return product
