"""Models that run on encrypted queries: affine maps with squares between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

WEIGHT_BITS = 10
"""Weights and biases lie within +-2^10."""


@dataclass(frozen=True)
class Affine:
    """x -> weights x + bias.

    Args:
        weights: (outputs, inputs).
        bias: (outputs,).

    Raises:
        ValueError: if the two have different numbers of outputs, or a value is not finite.
    """

    weights: scipy.sparse.csr_array = field(repr=False)
    bias: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        if self.bias.shape != (self.weights.shape[0],):
            raise ValueError("an affine map has as many biases as outputs")
        if not (np.isfinite(self.weights.data).all() and np.isfinite(self.bias).all()):
            raise ValueError("weights and biases are finite")

    @property
    def inputs(self) -> int:
        """Number of input values."""
        return int(self.weights.shape[1])

    @property
    def outputs(self) -> int:
        """Number of output values."""
        return int(self.weights.shape[0])


@dataclass(frozen=True)
class EncryptedHead:
    """Affine maps in the order of application; every value is squared between two of them.

    Raises:
        ValueError: without a layer, or if a layer's outputs do not match the next layer's inputs.
    """

    layers: tuple[Affine, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.layers:
            raise ValueError("a head has at least one layer")
        for first, second in pairwise(self.layers):
            if first.outputs != second.inputs:
                raise ValueError("a layer takes what the one before it gives")

    @property
    def inputs(self) -> int:
        """Number of features of a query."""
        return self.layers[0].inputs

    @property
    def outputs(self) -> int:
        """Number of logits of a query."""
        return self.layers[-1].outputs

    def select(self, outputs: Sequence[int]) -> "EncryptedHead":
        """Return the head with only these logits, by index and in this order."""
        *first, last = self.layers
        chosen = list(outputs)
        return EncryptedHead((*first, Affine(last.weights[chosen], last.bias[chosen])))

    def plain(self, X: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return logits (queries, outputs) of queries (queries, inputs), in the clear, in float64."""
        values = np.asarray(X, dtype=np.float64)
        for index, layer in enumerate(self.layers):
            values = np.asarray((layer.weights @ (values if index == 0 else values**2).T).T) + layer.bias
        return values


def check_weights(maps: Sequence[Affine]) -> None:
    """Raise `party.not_encrypted` if a weight or a bias is beyond +-2^WEIGHT_BITS."""
    limit = 2**WEIGHT_BITS
    if any((np.abs(values) > limit).any() for one in maps for values in (one.weights.data, one.bias)):
        raise OstrakaError(
            ErrorCode.PARTY_NOT_ENCRYPTED,
            f"A weight of a head is beyond +-{limit}, too large for encrypted queries: scale the features "
            "and train the teachers again.",
        )
