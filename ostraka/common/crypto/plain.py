"""Gates on plain bits, which count the AND gates of a circuit; integers as bits, and back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.gates import Wires

_ONE = np.uint64(1)


class PlainGates:
    """Gates on wires that are 0 or 1 (last axis of 1); `ands` counts the AND gates so far."""

    def __init__(self) -> None:
        """Start the count at 0."""
        self.ands = 0

    def and_(self, a: Wires, b: Wires) -> Wires:
        """AND of wires of equal shape; raises ValueError for other shapes, as garbling would go wrong."""
        if a.shape != b.shape:
            raise ValueError(f"wires of shapes {a.shape} and {b.shape} have no AND")
        self.ands += a.size
        return a & b

    def not_(self, a: Wires) -> Wires:
        """NOT of every wire."""
        return a ^ _ONE


def split(values: NDArray[Any], bits: int) -> NDArray[np.uint64]:
    """Integers of any sign as their lowest `bits` bits, (bits, ...), 0 or 1, least significant first."""
    places = np.arange(bits, dtype=np.uint64).reshape(bits, *(1,) * values.ndim)
    return (values.astype(np.uint64) >> places) & _ONE


def join(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the unsigned integers whose bits (bits, ...) these are, uint64."""
    places = np.arange(len(bits), dtype=np.uint64).reshape(len(bits), *(1,) * (bits.ndim - 1))
    values: NDArray[np.uint64] = np.bitwise_or.reduce(bits << places, axis=0)
    return values
