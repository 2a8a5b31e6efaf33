"""128 base oblivious transfers of random keys, which an extension turns into as many as needed.

The sender opens, the receiver offers one key or point for each of its choices, and the sender answers. Then
the sender has two keys for every transfer, and the receiver the one it chose. `curve_ot` and `ml_kem_ot` are
the two implementations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto import curve_ot, ml_kem_ot
from ostraka.common.plan.choices import BASE_TRANSFERS

Keys = NDArray[np.uint8]
Random = Callable[[int], bytes]


class BaseSender(Protocol):
    """The side that has both keys of every transfer; valid for one offer only."""

    @property
    def opening(self) -> bytes:
        """Its first message."""

    def answer(self, offer: bytes, /) -> tuple[Keys, bytes]:
        """Return both keys of every transfer, (128, 2, 32), uint8, and its second message.

        Raises `message.invalid` for a message of another size, and `crypto.refused` for an invalid offer.
        """


class BaseReceiver(Protocol):
    """The side with a choice for every transfer."""

    @property
    def offer(self) -> bytes:
        """Its message."""

    def keys(self, answer: bytes, /) -> Keys:
        """Return the chosen key of every transfer, (128, 32), uint8.

        Raises `message.invalid` for a message of another size.
        """


@dataclass(frozen=True)
class Scheme:
    """One of the two implementations, with the sizes of its messages.

    Attributes:
        sender: makes the side that has both keys, from the binding of the computation and random bytes.
        receiver: makes the side with choices, 128 bits, from the sender's opening, the choices, the binding
            and random bytes; raises `message.invalid` or `crypto.refused` for an invalid opening.
    """

    sender: Callable[[bytes, Random], BaseSender]
    receiver: Callable[[bytes, NDArray[np.uint8], bytes, Random], BaseReceiver]
    opening_bytes: int
    offer_bytes: int
    answer_bytes: int


SCHEMES: dict[BASE_TRANSFERS, Scheme] = {
    "ed25519": Scheme(
        curve_ot.CurveSender.create,
        curve_ot.CurveReceiver.create,
        curve_ot.POINT_BYTES,
        curve_ot.POINTS_BYTES,
        0,
    ),
    "ml-kem": Scheme(
        ml_kem_ot.KemSender.create,
        ml_kem_ot.KemReceiver.create,
        ml_kem_ot.NONCE_BYTES,
        ml_kem_ot.OFFER_BYTES,
        ml_kem_ot.ANSWER_BYTES,
    ),
}
