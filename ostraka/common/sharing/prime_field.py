"""The prime fields in which verified ballots are shared and noised, and extensions for challenges."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.modulus import Modulus, check_length

FieldArray = NDArray[np.uint64]

_DEGREES = {31: 2, 61: 1}
_TERMS = 2048
"""Number of products of 42 bits whose float64 sum stays below 2^53."""


@dataclass(frozen=True)
class PrimeField(Modulus):
    """Integers modulo the Mersenne prime p = 2^bits - 1, stored in uint64; `bits` is 31 or 61.

    Products of 31-bit elements fit in uint64; those of 61-bit elements are computed from halves.
    """

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in _DEGREES:
            raise ValueError(f"a field has 31 or 61 bits, not {self.bits}")

    @property
    def prime(self) -> int:
        """The number of elements, p."""
        return int(2**self.bits - 1)

    @property
    def degree(self) -> int:
        """The degree of the extension that challenges are drawn from: 2 for 31 bits, 1 for 61."""
        return _DEGREES[self.bits]

    @property
    def element_bytes(self) -> int:
        """Number of bytes of an element in `to_bytes`: 4 or 8."""
        return -(-self.bits // 32) * 4

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """uint64 for both widths."""
        return np.dtype(np.uint64)

    def wrap(self, values: NDArray[np.integer[Any]]) -> FieldArray:
        """Return integers of any size and sign reduced modulo p."""
        array = np.asarray(values)
        wide = array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)
        return (wide % wide.dtype.type(self.prime)).astype(np.uint64)

    def lift(self, values: FieldArray) -> NDArray[np.int64]:
        """Return elements as int64 in [-(p-1)/2, (p-1)/2]; only after noise was added."""
        signed = self._own(values).astype(np.int64)
        lifted: NDArray[np.int64] = np.where(signed > self.prime // 2, signed - self.prime, signed)
        return lifted

    def distance(self, values: FieldArray) -> NDArray[np.int64]:
        """Return the circular distance of elements from 0, at most 2^(bits-2); int64.

        As in `Ring.distance`: it equals the count for honest sums, and adding to a value moves it by at most
        as much.
        """
        nearest: NDArray[np.int64] = np.minimum(np.abs(self.lift(values)), 2 ** (self.bits - 2))
        return nearest

    def fold(self, values: FieldArray) -> FieldArray:
        """Return values folded into (-2^(bits-2), 2^(bits-2)): values beyond turn back.

        As in `Ring.fold`: the result equals the count for honest sums and their neighbours, and adding to a
        value moves it by at most as much, even from (p-1)/2 to -(p-1)/2, which both become 0.
        """
        lifted = self.lift(values)
        turned = np.sign(lifted) * (self.prime // 2) - lifted
        return self.wrap(np.where(np.abs(lifted) < 2 ** (self.bits - 2), lifted, turned))

    def to_bytes(self, values: FieldArray) -> bytes:
        """Return elements row by row, little endian, `element_bytes` each."""
        return self._own(values).astype(f"<u{self.element_bytes}").tobytes()

    def from_bytes(self, data: bytes, rows: int, width: int) -> FieldArray:
        """Read what `to_bytes` wrote as (rows, width); raise `message.invalid` for any other bytes."""
        check_length(data, rows * width * self.element_bytes, rows, width)
        values = np.frombuffer(data, f"<u{self.element_bytes}").astype(np.uint64).reshape(rows, width)
        if np.any(values >= self.prime):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"A share has numbers of 2^{self.bits} - 1 or more: send it in the field of the plan.",
            )
        return values

    def of_signed(self, values: NDArray[np.int64]) -> FieldArray:
        """As `wrap` for integers within 2^53 of 0, in constant time, because it does not divide."""
        whole = np.int64(self.prime << (61 - self.bits))
        return self.reduce((values + whole).view(np.uint64))

    def reduce(self, values: FieldArray) -> FieldArray:
        """Return any uint64 modulo p."""
        bits = np.uint64(self.bits)
        prime = np.uint64(self.prime)
        low = (values & prime) + (values >> bits)
        if self.bits < 32:
            low = (low & prime) + (low >> bits)
        # Below p the difference wraps around to more than `low`, so the smaller of both is the residue.
        return np.minimum(low, np.subtract(low, prime))

    def add(self, first: FieldArray, second: FieldArray) -> FieldArray:
        """As in `Modulus.add`."""
        total = np.add(first, second)
        # As in `reduce`: a sum below p wraps around in the subtraction.
        return np.minimum(total, np.subtract(total, np.uint64(self.prime)))

    def subtract(self, first: FieldArray, second: FieldArray) -> FieldArray:
        """As in `Modulus.subtract`."""
        difference = np.subtract(first, second)
        # A difference below 0 has wrapped around, and adding p brings it back.
        return np.minimum(difference, np.add(difference, np.uint64(self.prime)))

    def total(self, values: FieldArray, axis: int) -> FieldArray:
        """Return the sum of up to 2^31 elements along an axis."""
        low = np.uint64(2**32 - 1)
        half = np.uint64(32)
        lower = self.reduce((values & low).sum(axis, dtype=np.uint64))
        return self.add(lower, self.rotate(self.reduce((values >> half).sum(axis, dtype=np.uint64)), 32))

    def scale(self, values: FieldArray, factor: int) -> FieldArray:
        """Return elements times an integer of any size and sign."""
        return self.multiply(values, np.array(factor % self.prime, np.uint64))

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is below 2p, not reduced, and a valid factor for `multiply`."""
        return a + np.uint64(step % self.prime)

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Return products, element by element; both factors may be unreduced sums of two elements."""
        if self.bits < 32:
            return self.reduce(a * b)
        half = np.uint64(32)
        low = np.uint64(2**32 - 1)
        a_high = a >> half
        a_low = a & low
        b_high = b >> half
        b_low = b & low
        middle = a_high * b_low + a_low * b_high
        outer = (a_high * b_high << np.uint64(3)) + self.reduce(a_low * b_low)
        carried = (middle >> np.uint64(29)) + ((middle & np.uint64(2**29 - 1)) << half)
        return self.reduce(outer + carried)

    def rotate(self, a: FieldArray, places: int) -> FieldArray:
        """Return elements times 2^places: bits that leave on the left come back on the right."""
        left = np.uint64(places % self.bits)
        return ((a << left) & np.uint64(self.prime)) + (a >> (np.uint64(self.bits) - left))

    def inverse(self, a: FieldArray) -> FieldArray:
        """Return a^(p-2), which is 1 / a, and 0 for 0."""
        power = a
        for bit in bin(self.prime - 2)[3:]:
            power = self.multiply(power, power)
            if bit == "1":
                power = self.multiply(power, a)
        return power

    def dot(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Return the matrix product of (m, n) and (n, k), exact: limbs are multiplied in float64."""
        a_width, b_width = (31, 11) if self.bits < 32 else (21, 21)
        total = np.zeros((len(a), b.shape[1]), np.uint64)
        for start in range(0, a.shape[1], _TERMS):
            terms = slice(start, start + _TERMS)
            right = np.stack(self._limbs(b[terms], b_width)).astype(np.float64)
            for i, limb in enumerate(self._limbs(a[:, terms], a_width)):
                for j, part in enumerate(limb.astype(np.float64) @ right):
                    product = self.reduce(part.astype(np.uint64))
                    total = self.add(total, self.rotate(product, i * a_width + j * b_width))
        return total

    def _limbs(self, values: FieldArray, width: int) -> list[FieldArray]:
        """Return elements cut into limbs of `width` bits, the lowest first."""
        mask = np.uint64(2**width - 1)
        return [(values >> np.uint64(shift)) & mask for shift in range(0, self.bits, width)]

    def _own(self, values: FieldArray) -> FieldArray:
        array = np.asarray(values)
        if array.dtype != self.dtype:
            raise ValueError(f"elements of a {self.bits}-bit field are {self.dtype}, not {array.dtype}")
        return array


@dataclass(frozen=True)
class ExtensionField:
    """Arithmetic on elements whose coefficients are the last axis, `field.degree` long, uint64.

    For the field of degree 2, p = 3 modulo 4, so -1 is not a square there. Sums are those of the field.
    """

    field: PrimeField

    def embed(self, values: FieldArray) -> FieldArray:
        """Return elements of F_p (...) as elements of the extension (..., degree)."""
        embedded = np.zeros((*values.shape, self.field.degree), np.uint64)
        embedded[..., 0] = values
        return embedded

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is not reduced, and a valid factor for `multiply`."""
        moved = a.copy()
        moved[..., 0] = self.field.offset(a[..., 0], step)
        return moved

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Return products, element by element; factors may be results of `offset`."""
        field = self.field
        if field.degree == 1:
            return field.multiply(a, b)
        real = field.subtract(field.multiply(a[..., 0], b[..., 0]), field.multiply(a[..., 1], b[..., 1]))
        imaginary = field.add(field.multiply(a[..., 0], b[..., 1]), field.multiply(a[..., 1], b[..., 0]))
        return np.stack([real, imaginary], -1)

    def inverse(self, a: FieldArray) -> FieldArray:
        """Return 1 / a, and 0 for 0."""
        field = self.field
        if field.degree == 1:
            return field.inverse(a)
        norm = field.add(field.multiply(a[..., 0], a[..., 0]), field.multiply(a[..., 1], a[..., 1]))
        conjugate = np.stack([a[..., 0], field.subtract(np.zeros_like(a[..., 1]), a[..., 1])], -1)
        return field.multiply(conjugate, field.inverse(norm)[..., None])

    def product(self, a: FieldArray) -> FieldArray:
        """Return the product along the first axis, which is not empty; (n, degree) becomes (degree,)."""
        while len(a) > 1:
            even = len(a) // 2 * 2
            a = np.concatenate([self.multiply(a[0:even:2], a[1:even:2]), a[even:]])
        product: FieldArray = a[0]
        return product

    def dot(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Return the sum of the products of two rows of elements, (n, degree) each; (degree,)."""
        basis = np.eye(self.field.degree, dtype=np.uint64)
        return self.field.total(self.multiply(basis, self.field.dot(a.T, b)), 0)
