"""Position of a batch's values in polynomials: several features in one polynomial if queries are few.

A batch of at most B queries, B a power of two, leaves room for s = 4096/B features: feature k of a polynomial
has its queries in coefficients kB to kB + B - 1. In the product of that polynomial and the sum over k of w_k
X^(-kB), the first B coefficients are the sums over k of w_k times feature k, query by query: any other pair
of features lands beyond them. Only these coefficients of a logit's first half are computed, masked and sent.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.linear.linear_ring import DEGREE, Polynomials, Small


@dataclass(frozen=True)
class Packing:
    """Number of coefficients per feature of a batch.

    Attributes:
        block: a power of two, at least the number of queries in the batch.
    """

    block: int

    @classmethod
    def of(cls, instances: int) -> "Packing":
        """Return the tightest packing of this many queries, 1 to DEGREE."""
        return cls(1 << (instances - 1).bit_length())

    @property
    def together(self) -> int:
        """Number of features in one polynomial."""
        return DEGREE // self.block

    def polynomials(self, features: int) -> int:
        """Return the number of polynomials for this many features."""
        return -(-features // self.together)

    def pack(self, values: Small) -> Small:
        """Return values (queries, features) as polynomials."""
        queries, features = values.shape
        packed = np.zeros((self.polynomials(features) * self.together, self.block), np.int64)
        packed[:features, :queries] = values.T
        return packed.reshape(-1, DEGREE)

    def constants(self, packed: Polynomials, features: int) -> NDArray[np.uint64]:
        """Return the coefficients (features, block) whose weighted sum gives a logit's first ones."""
        return packed.reshape(-1, self.block)[:features]

    def shift(self, packed: Polynomials, features: int) -> Polynomials:
        """Return each polynomial times X^(-kB) for each feature k in it, (features, DEGREE).

        A logit's second half is their weighted sum.
        """
        if self.together == 1:
            return packed
        shifted = np.empty((features, DEGREE), np.uint64)
        for place in range(min(self.together, features)):
            rows = shifted[place :: self.together]
            start = place * self.block
            rows[:, : DEGREE - start] = packed[: len(rows), start:]
            # X^4096 = -1: what is shifted out comes back with the other sign.
            rows[:, DEGREE - start :] = np.negative(packed[: len(rows), :start])
        return shifted
