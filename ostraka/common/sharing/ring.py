"""The ring in which ballots are shared, summed and noised unless they are verified."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.modulus import Modulus, RingArray, check_length

__all__ = ["Ring", "RingArray"]


@dataclass(frozen=True)
class Ring(Modulus):
    """Integers modulo 2^bits, stored in NumPy's unsigned type of that width; `bits` is 32 or 64."""

    bits: int

    def __post_init__(self) -> None:
        if self.bits not in (32, 64):
            raise ValueError(f"a ring has 32 or 64 bits, not {self.bits}")

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """uint32 or uint64; its arithmetic wraps, which is the ring's addition."""
        return np.dtype(np.uint32 if self.bits == 32 else np.uint64)

    @property
    def element_bytes(self) -> int:
        """As in `Modulus.element_bytes`."""
        return self.bits // 8

    def wrap(self, values: NDArray[np.integer[Any]]) -> RingArray:
        """Return integers of any size and sign reduced modulo 2^bits."""
        return np.asarray(values).astype(self.dtype)

    def lift(self, values: RingArray) -> NDArray[np.int64]:
        """Return ring values as int64 in [-2^(bits-1), 2^(bits-1)); only after noise was added."""
        signed = np.dtype(f"i{self.bits // 8}")
        return self._own(values).view(signed).astype(np.int64)

    def distance(self, values: RingArray) -> NDArray[np.int64]:
        """As in `Modulus.distance`."""
        own = self._own(values)
        nearer = np.minimum(own, np.negative(own))
        return np.minimum(nearer, self.dtype.type(2 ** (self.bits - 2))).astype(np.int64)

    def fold(self, values: RingArray) -> RingArray:
        """As in `Modulus.fold`, into [-2^(bits-2), 2^(bits-2))."""
        own = self._own(values)
        one = self.dtype.type(1)
        low = self.dtype.type(2 ** (self.bits - 2) - 1)
        sign = own >> self.dtype.type(self.bits - 1)
        next_bit = own >> self.dtype.type(self.bits - 2) & one
        folded: RingArray = (own ^ (sign ^ next_bit) * low) & low
        folded -= sign << self.dtype.type(self.bits - 2)
        return folded

    def add(self, first: RingArray, second: RingArray) -> RingArray:
        """As in `Modulus.add`."""
        return self._own(first) + self._own(second)

    def subtract(self, first: RingArray, second: RingArray) -> RingArray:
        """As in `Modulus.subtract`."""
        return self._own(first) - self._own(second)

    def scale(self, values: RingArray, factor: int) -> RingArray:
        """As in `Modulus.scale`."""
        return self._own(values) * self.dtype.type(factor)

    def to_bytes(self, values: RingArray) -> bytes:
        """Return ring values row by row, little endian."""
        return self._own(values).astype(self.dtype.newbyteorder("<"), copy=False).tobytes()

    def from_bytes(self, data: bytes, rows: int, width: int) -> RingArray:
        """Read what `to_bytes` wrote as (rows, width); raise `message.invalid` for any other length."""
        check_length(data, rows * width * self.element_bytes, rows, width)
        return np.frombuffer(data, self.dtype.newbyteorder("<")).astype(self.dtype).reshape(rows, width)

    def _own(self, values: RingArray) -> RingArray:
        array = np.asarray(values)
        if array.dtype != self.dtype:
            raise ValueError(f"values of a {self.bits}-bit ring are {self.dtype}, not {array.dtype}")
        return array
