"""The public geometry of a proof: how counts become wires, and the interpolation that depends on it."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import ExtensionField, FieldArray, PrimeField
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified.writing import Digit, Place, Whole, Writing


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
    """Return 1 / prod_{j != m} (m - j) for each m of `count` consecutive integers, (count,)."""
    inverses = factorials.inverses
    return _elements(
        [
            inverses[m] * inverses[count - 1 - m] * (-1 if (count - 1 - m) % 2 else 1) % field.prime
            for m in range(count)
        ]
    )


def extension(field: PrimeField, factorials: Factorials, points: int, ends: int) -> FieldArray:
    """Return the map from values at 0..points-1 to those at points..points+ends-1, (points, ends)."""
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
    """Return point - j for j = first..first+count-1, (count, degree), for an element of the extension."""
    gaps = np.tile(point, (count, 1))
    gaps[:, 0] = field.subtract(gaps[:, 0], np.arange(first, first + count, dtype=np.uint64))
    return gaps


def coefficients(field: PrimeField, lead: FieldArray, gaps: FieldArray) -> FieldArray:
    """Return the map from values at consecutive integers to the value at a point with no gap of 0."""
    algebra = ExtensionField(field)
    return algebra.multiply(field.multiply(algebra.inverse(gaps), lead[:, None]), algebra.product(gaps)[None])


def _elements(integers: list[int]) -> FieldArray:
    return np.array(integers, np.uint64)


MIN_SOUNDNESS_BITS = 40
"""A dishonest ballot passes with a probability of at most 2^-40."""
POINTS_BELOW = 2**20
"""Every point of every layout is smaller; evaluation points of the field of degree 1 are at least this."""

BLIND_LIMB = 11
"""Bits in each limb of the blinds that the prover multiplies in float64."""
_ENTRY_LIMB = 31
"""Bits in each limb of matrices: products with limbs of blinds have 42, and 2,048 of them stay below 2^53."""
_MAX_EXTENSION = 2**20
"""Maximum number of entries of a matrix: its two float64 limbs take 16 MiB."""


@dataclass(frozen=True)
class Layout:
    """How the counts of one statement are shared and proved in one field.

    A wire is a polynomial over F_p, given by its values at 0..points-1: first `blinds` random values, then
    digits of one place. f(x), the product of x - v over all values v of a digit, is 0 at each digit. So P(t)
    = sum_j rho_j f(w_j(t)) is 0 at all digits, and the quotient of P by Z(t), the product of t minus these
    points, is a polynomial. Its values at points..points+proof_values-1 are the proof. If norms are claimed,
    P has an additional term, of degree 2 at most, for every value of `norm_differences`.

    Raises:
        ValueError: if the sum or norm of a row may wrap, or if the probability of cheating is above 2^-40.
    """

    statement: Statement
    field: PrimeField

    def __post_init__(self) -> None:
        if self.statement.largest >= self.field.prime:
            raise ValueError(
                f"{self.statement.cells} counts up to {self.statement.most} do not fit a field of "
                f"{self.field.bits} bits: the plan needs a larger one"
            )
        if self.soundness_bits < MIN_SOUNDNESS_BITS:
            raise ValueError(f"a proof in a field of {self.field.bits} bits is too weak for {self.statement}")

    @cached_property
    def writing(self) -> Writing:
        """The digits of everything that the statement is about."""
        return Writing(self.statement)

    @property
    def blinds(self) -> int:
        """Number of random values in a wire: the field's degree, so that one evaluation reveals nothing."""
        return self.field.degree

    @cached_property
    def degree(self) -> int:
        """The degree of the largest f: the largest span plus one; that of norms is at most 2."""
        return 1 + self.writing.largest_span

    @cached_property
    def points(self) -> int:
        """Number of values of a wire, with the blinds; it minimises the bytes of proof plus message."""

        def elements_sent(points: int) -> int:
            return self.writing.wires(points - self.blinds) + self._proof_values(points)

        def fits(points: int) -> bool:
            ends = self._proof_values(points)
            return points * ends <= _MAX_EXTENSION and points + ends < self.field.prime

        first = self.blinds + 1
        candidates = range(first, min(first + self.statement.size, math.isqrt(_MAX_EXTENSION) + 1))
        return min(filter(fits, candidates), key=elements_sent)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The wires of every place of digits."""
        return self.writing.places(self.points - self.blinds)

    @cached_property
    def ranges(self) -> tuple[tuple[Digit, NDArray[np.int64]], ...]:
        """The wires of all digits with the same range, and one of these digits; they are checked together."""
        alike: dict[tuple[int, int], list[Place]] = {}
        for place in self.places:
            alike.setdefault((place.digit.least, place.digit.top), []).append(place)
        wires = np.arange(self.wires)
        return tuple(
            (places[0].digit, np.concatenate([wires[place.wires] for place in places]))
            for places in alike.values()
        )

    @property
    def wires(self) -> int:
        """Number of wires of all places."""
        return int(self.places[-1].wires.stop)

    @property
    def numbers(self) -> int:
        """Number of polynomials of counts, norms and their sum whose digits the wires contain."""
        return int(self.places[-1].numbers.stop)

    @property
    def norm_groups(self) -> int:
        """Number of polynomials that are 0 if norms are as written; 0 if no norm is claimed."""
        norms = self.writing.norms
        return 0 if norms is None else norms.wires(self.points - self.blinds)

    @property
    def constraints(self) -> int:
        """Number of polynomials that P combines: one for each wire, and those of norms."""
        return self.wires + self.norm_groups

    @property
    def proof_values(self) -> int:
        """Number of values of the quotient."""
        return self._proof_values(self.points)

    @property
    def soundness_bits(self) -> float:
        """-log2 of the probability that counts outside the statement are accepted.

        At most degree (points - 1) evaluation points hide a digit out of range, and so does one value each of
        rho and of the factors of rows; one more is the margin of the prototype.
        """
        prime = self.field.prime
        choices = prime**2 - prime if self.field.degree == 2 else prime - POINTS_BELOW
        return math.log2(choices) - math.log2(self.degree * (self.points - 1) + 3)

    @property
    def share_bytes(self) -> int:
        """Number of bytes of the guardian's share of the digits."""
        return self.writing.size * self.field.element_bytes

    @property
    def proof_bytes(self) -> int:
        """Number of bytes of the guardian's share of the quotient."""
        return self.proof_values * self.field.degree * self.field.element_bytes

    @property
    def message_values(self) -> int:
        """Number of extension elements in a verifier share: wires, the quotient, and the sums if claimed."""
        norm = self.statement.norm
        return self.wires + 1 + (self.statement.total is not None or (norm is not None and norm.joint))

    @property
    def message_bytes(self) -> int:
        """Number of bytes of the querying party's verifier share."""
        return self.message_values * self.field.degree * self.field.element_bytes

    def arrange(self, digits: NDArray[Whole]) -> NDArray[Whole]:
        """Return all digits, or shares of them, as the values of wires after the blinds."""
        return self.writing.cut(digits, self.points - self.blinds)

    def counts(self, digits: FieldArray) -> FieldArray:
        """Return shares of counts (rows, cells) from shares of all digits."""
        return self.writing.read(self.field, digits)

    @cached_property
    def point_leads(self) -> FieldArray:
        """The `leads` of a wire's values, (points,)."""
        return leads(self.field, self._factorials, self.points)

    @cached_property
    def end_leads(self) -> FieldArray:
        """The `leads` of the quotient's values, (proof_values,)."""
        return leads(self.field, self._factorials, self.proof_values)

    @cached_property
    def over_vanishing(self) -> FieldArray:
        """1 / Z at the points of the quotient's values, (proof_values,)."""
        return over_products(self.field, self._factorials, self.blinds, self.points, self.proof_values)

    @cached_property
    def extension_limbs(self) -> list[NDArray[np.float64]]:
        """Matrices that map digits and the blinds' limbs to a wire's other values, 31 bits of them each.

        Rows: digits first, then for each limb of `BLIND_LIMB` bits, the lowest first, all blinds. Digits are
        so small that float64 products with them are exact.
        """
        field = self.field
        matrix = extension(field, self._factorials, self.points, self.proof_values)
        of_limbs = [field.rotate(matrix[: self.blinds], shift) for shift in range(0, field.bits, BLIND_LIMB)]
        rows = np.concatenate([matrix[self.blinds :], *of_limbs])
        mask = np.uint64(2**_ENTRY_LIMB - 1)
        return [
            ((rows >> np.uint64(shift)) & mask).astype(np.float64)
            for shift in range(0, field.bits, _ENTRY_LIMB)
        ]

    @property
    def _factorials(self) -> Factorials:
        return Factorials(self.field, self.points + self.proof_values)

    def _proof_values(self, points: int) -> int:
        return (self.degree - 1) * (points - 1) + self.blinds


@lru_cache(maxsize=16)
def layout_of(statement: Statement, field: PrimeField) -> Layout:
    """Return the cached layout of a statement with its matrices; they take at most 16 MiB."""
    return Layout(statement, field)
