"""The extension of a prime field that challenges of proofs come from: F_p itself, or F_p[i] with i^2 = -1."""

from dataclasses import dataclass

import numpy as np

from ostraka.common.sharing.prime_field import FieldArray, PrimeField


@dataclass(frozen=True)
class ExtensionField:
    """Arithmetic of elements whose coefficients are the last axis, `field.degree` long, uint64.

    p = 3 modulo 4 for the field of degree 2, so that -1 is no square there. Sums are those of the field.
    """

    field: PrimeField

    def embed(self, values: FieldArray) -> FieldArray:
        """Elements of F_p (...) as elements of the extension (..., degree)."""
        embedded = np.zeros((*values.shape, self.field.degree), np.uint64)
        embedded[..., 0] = values
        return embedded

    def offset(self, a: FieldArray, step: int) -> FieldArray:
        """Add an integer; the sum is a factor for `multiply`, not reduced."""
        moved = a.copy()
        moved[..., 0] = self.field.offset(a[..., 0], step)
        return moved

    def multiply(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Products, element by element; factors may be what `offset` returned."""
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
        """Multiply along the first axis, which is not empty; (n, degree) becomes (degree,)."""
        while len(a) > 1:
            even = len(a) // 2 * 2
            a = np.concatenate([self.multiply(a[0:even:2], a[1:even:2]), a[even:]])
        product: FieldArray = a[0]
        return product

    def dot(self, a: FieldArray, b: FieldArray) -> FieldArray:
        """Sum the products of two rows of elements, (n, degree) each; (degree,)."""
        basis = np.eye(self.field.degree, dtype=np.uint64)
        return self.field.total(self.multiply(basis, self.field.dot(a.T, b)), 0)
