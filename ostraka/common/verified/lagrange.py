"""Interpolation through values at consecutive integers, in a prime field."""

import numpy as np

from ostraka.common.sharing.prime_field import ExtensionField, FieldArray, PrimeField


class Factorials:
    """Factorials modulo p and their inverses, from 0! to (`count` - 1)!, as Python integers."""

    def __init__(self, field: PrimeField, count: int) -> None:
        prime = field.prime
        self.values = [1] * count
        for number in range(1, count):
            self.values[number] = self.values[number - 1] * number % prime
        self.inverses = [pow(self.values[-1], -1, prime)] * count
        for number in reversed(range(1, count)):
            self.inverses[number - 1] = self.inverses[number] * number % prime


def leads(field: PrimeField, factorials: Factorials, count: int) -> FieldArray:
    """Return 1 / prod_{j != m} (m - j) for the m of `count` consecutive integers, (count,)."""
    inverses = factorials.inverses
    return _elements(
        [
            inverses[m] * inverses[count - 1 - m] * (-1 if (count - 1 - m) % 2 else 1) % field.prime
            for m in range(count)
        ]
    )


def extension(field: PrimeField, factorials: Factorials, points: int, ends: int) -> FieldArray:
    """Return how values at 0..points-1 give the polynomial's at points..points+ends-1: (points, ends)."""
    whole = [
        factorials.values[end] * factorials.inverses[end - points] % field.prime
        for end in range(points, points + ends)
    ]
    inverse = [0] + [
        factorials.inverses[gap] * factorials.values[gap - 1] % field.prime for gap in range(1, points + ends)
    ]
    gaps = np.arange(points, points + ends)[None] - np.arange(points)[:, None]
    lead = leads(field, factorials, points)
    return field.multiply(field.multiply(lead[:, None], _elements(whole)), _elements(inverse)[gaps])


def over_products(
    field: PrimeField, factorials: Factorials, first: int, points: int, ends: int
) -> FieldArray:
    """Return 1 / prod_{first <= j < points} (e - j) at e = points..points+ends-1: (ends,)."""
    return _elements(
        [
            factorials.values[end - points] * factorials.inverses[end - first] % field.prime
            for end in range(points, points + ends)
        ]
    )


def gaps_to(field: PrimeField, point: FieldArray, first: int, count: int) -> FieldArray:
    """Return point - j for j = first..first+count-1, (count, degree), of an element of the extension."""
    gaps = np.tile(point, (count, 1))
    gaps[:, 0] = field.subtract(gaps[:, 0], np.arange(first, first + count, dtype=np.uint64))
    return gaps


def coefficients(field: PrimeField, lead: FieldArray, gaps: FieldArray) -> FieldArray:
    """Return how values at consecutive integers give the polynomial's at a point whose gaps are not 0."""
    algebra = ExtensionField(field)
    return algebra.multiply(field.multiply(algebra.inverse(gaps), lead[:, None]), algebra.product(gaps)[None])


def _elements(integers: list[int]) -> FieldArray:
    return np.array(integers, np.uint64)
