"""128 base oblivious transfers of random keys by points of a curve: one point one way, 128 points back.

The receiver gets one key of every pair, selected by a choice bit that the sender does not learn; the other
key stays unknown to it (Chou and Orlandi 2015, on Ed25519's subgroup of prime order). With A = aG the
sender's point and R = bG + cA the receiver's for the choice c, the sender hashes aR and a(R - A), and the
receiver bA.

R is uniform in the subgroup whatever c is, so the choices are hidden perfectly, even from a sender that
deviates:
every received point is checked to be in the subgroup and not its identity. The other key hashes a point that
is as hard to find as in Diffie-Hellman. Keys also hash the binding, the place and both points, so that no two
transfers of a batch, and no two computations, have related keys (McQuoid, Rosulek and Roy 2021 on batches).
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from nacl.bindings import (
    crypto_core_ed25519_add,
    crypto_core_ed25519_is_valid_point,
    crypto_core_ed25519_scalar_reduce,
    crypto_core_ed25519_sub,
    crypto_scalarmult_ed25519_base_noclamp,
    crypto_scalarmult_ed25519_noclamp,
)
from numpy.typing import NDArray

from ostraka.common.crypto.ot_extension import KEY_BYTES, TRANSFERS
from ostraka.common.crypto.transcripts import check_size, derive
from ostraka.common.errors import ErrorCode, OstrakaError

POINT_BYTES = 32
POINTS_BYTES = TRANSFERS * POINT_BYTES
_WIDE_SCALAR_BYTES = 64
_PURPOSE = "base transfer"


@dataclass(frozen=True)
class CurveSender:
    """The side that has both keys of every transfer; valid for one receiver's points only.

    Args:
        context: the binding of the computation.
        scalar: the secret a, from `random_scalar`.
    """

    context: bytes
    scalar: bytes = field(repr=False)

    @classmethod
    def create(cls, context: bytes, random: Callable[[int], bytes] = secrets.token_bytes) -> "CurveSender":
        """Draw the secret."""
        return cls(context, random_scalar(random))

    @property
    def opening(self) -> bytes:
        """A, 32 bytes, for the receiver."""
        return crypto_scalarmult_ed25519_base_noclamp(self.scalar)

    def answer(self, points: bytes) -> tuple[NDArray[np.uint8], bytes]:
        """Return both keys of every transfer, (128, 2, 32), and an empty message.

        Raises `message.invalid` for a message of another size, and `crypto.refused` for an invalid point.
        """
        own = self.opening
        shared = crypto_scalarmult_ed25519_noclamp(self.scalar, own)
        pairs = bytearray()
        for place, theirs in enumerate(_points(points, TRANSFERS)):
            product = crypto_scalarmult_ed25519_noclamp(self.scalar, theirs)
            for value in (product, crypto_core_ed25519_sub(product, shared)):
                pairs += _key(self.context, place, own, theirs, value)
        return np.frombuffer(bytes(pairs), np.uint8).reshape(TRANSFERS, 2, KEY_BYTES), b""


def random_scalar(random: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """Draw a uniform number modulo the order of the subgroup, 32 bytes (from 64 random ones)."""
    return crypto_core_ed25519_scalar_reduce(random(_WIDE_SCALAR_BYTES))


@dataclass(frozen=True)
class CurveReceiver:
    """The side with a choice for every transfer.

    Attributes:
        offer: its points, for the sender.
    """

    offer: bytes
    _keys: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def create(
        cls,
        opening: bytes,
        choices: NDArray[np.uint8],
        context: bytes,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> "CurveReceiver":
        """Run the receiver's step.

        Both candidates for every point are computed and one is selected by a mask, so that no branch depends
        on a choice.

        Args:
            opening: the sender's A.
            choices: 128 bits, 0 or 1, uint8.
            context: the binding of the computation.
            random: makes random bytes; 64 for each transfer, in order.

        Raises:
            OstrakaError: `message.invalid` for a message of another size, `crypto.refused` for a point
                outside the subgroup.
        """
        (sender,) = _points(opening, 1)
        scalars = [random_scalar(random) for _ in range(TRANSFERS)]
        zeros = [crypto_scalarmult_ed25519_base_noclamp(scalar) for scalar in scalars]
        ones = [crypto_core_ed25519_add(zero, sender) for zero in zeros]
        points = _select(choices, _rows(b"".join(zeros)), _rows(b"".join(ones))).tobytes()
        keys = [
            _key(context, place, sender, own, crypto_scalarmult_ed25519_noclamp(scalar, sender))
            for place, (own, scalar) in enumerate(zip(_points(points, TRANSFERS), scalars, strict=True))
        ]
        return cls(points, _rows(b"".join(keys)))

    def keys(self, answer: bytes) -> NDArray[np.uint8]:
        """Return the chosen key of every transfer, (128, 32); the sender's answer must be empty.

        Raises `message.invalid` for any other answer.
        """
        check_size("answer of the base transfers", answer, 0)
        return self._keys


def _points(data: bytes, count: int) -> list[bytes]:
    check_size("message of base transfers", data, count * POINT_BYTES)
    points = [data[start : start + POINT_BYTES] for start in range(0, len(data), POINT_BYTES)]
    if not all(crypto_core_ed25519_is_valid_point(point) for point in points):
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "A point of the base transfers is not of the curve's subgroup of prime order: begin a new batch.",
        )
    return points


def _rows(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8).reshape(-1, POINT_BYTES)


def _select(
    choices: NDArray[np.uint8], zeros: NDArray[np.uint8], ones: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    masks = (np.uint8(0) - choices)[:, None]
    return zeros ^ (masks & (zeros ^ ones))


def _key(context: bytes, place: int, sender: bytes, receiver: bytes, value: bytes) -> bytes:
    return derive(context, _PURPOSE, place.to_bytes(2, "little"), sender, receiver, value)
