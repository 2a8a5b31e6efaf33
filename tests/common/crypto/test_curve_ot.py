"""Base transfers against their definition, and points that are none."""

from collections.abc import Callable

import numpy as np
import pytest
from nacl.bindings import crypto_core_ed25519_add, crypto_core_ed25519_scalar_add
from numpy.typing import NDArray

from ostraka.common.crypto.curve_ot import POINT_BYTES, CurveReceiver, CurveSender, random_scalar
from ostraka.common.crypto.ot_extension import TRANSFERS
from ostraka.common.errors import ErrorCode, OstrakaError

CONTEXT = b"c" * 32
PLACES = np.arange(TRANSFERS)
ORDER_TWO = (2**255 - 20).to_bytes(32, "little")
NO_POINTS = {
    "identity": (1).to_bytes(32, "little"),
    "order 2": ORDER_TWO,
    "order 4": bytes(32),
    "order 8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "not canonical": (2**255 - 18).to_bytes(32, "little"),
    "not on the curve": (2).to_bytes(32, "little"),
    "all ones": b"\xff" * 32,
}


def source(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def bits(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 2, TRANSFERS, dtype=np.uint8)


def sender(context: bytes = CONTEXT) -> CurveSender:
    return CurveSender(context, random_scalar(source(1)))


def received(choices: NDArray[np.uint8], seed: int = 2, context: bytes = CONTEXT) -> CurveReceiver:
    return CurveReceiver.create(sender().opening, choices, context, source(seed))


@pytest.mark.parametrize(
    "choices", [bits(3), bits(4), np.zeros(TRANSFERS, np.uint8), np.ones(TRANSFERS, np.uint8)]
)
def test_the_receiver_has_the_key_of_its_choice_and_not_the_other(choices: NDArray[np.uint8]) -> None:
    got = received(choices)
    keys = sender().answer(got.offer)[0]
    assert np.array_equal(keys[PLACES, choices], got.keys(b""))
    assert len({key.tobytes() for key in keys.reshape(-1, 32)}) == 2 * TRANSFERS


def test_the_same_point_of_either_choice_is_as_likely() -> None:
    """Points bG for choice 0 and (b - a)G + A for choice 1 are one: they say nothing of choices."""
    own = sender()
    scalars = [random_scalar(source(place)) for place in range(TRANSFERS)]
    shifted = [crypto_core_ed25519_scalar_add(scalar, own.scalar) for scalar in scalars]
    ones = CurveReceiver.create(own.opening, np.ones(TRANSFERS, np.uint8), CONTEXT, wide(scalars))
    zeros = CurveReceiver.create(own.opening, np.zeros(TRANSFERS, np.uint8), CONTEXT, wide(shifted))
    assert ones.offer == zeros.offer


def wide(scalars: list[bytes]) -> Callable[[int], bytes]:
    waiting = iter(scalars)
    return lambda size: next(waiting).ljust(size, b"\0")


def test_transfers_of_one_point_have_keys_of_their_own() -> None:
    keys = sender().answer(received(bits(5)).offer[:POINT_BYTES] * TRANSFERS)[0]
    assert len({key.tobytes() for key in keys.reshape(-1, 32)}) == 2 * TRANSFERS


def test_another_binding_gives_other_keys_and_the_same_again_the_same() -> None:
    choices = bits(6)
    assert received(choices).offer == received(choices, context=b"d" * 32).offer
    assert np.array_equal(received(choices).keys(b""), received(choices).keys(b""))
    keys = sender(context=b"d" * 32).answer(received(choices).offer)[0]
    assert not (keys[PLACES, choices] == received(choices).keys(b"")).all(axis=1).any()


@pytest.mark.parametrize("point", NO_POINTS.values(), ids=NO_POINTS)
def test_a_point_outside_the_subgroup_is_refused(point: bytes) -> None:
    good = received(bits(7)).offer
    for step in (
        lambda: CurveReceiver.create(point, bits(7), CONTEXT, source(2)),
        lambda: sender().answer(good[:-POINT_BYTES] + point),
    ):
        with pytest.raises(OstrakaError) as refused:
            step()
        assert refused.value.code is ErrorCode.CRYPTO_REFUSED


def test_a_point_with_a_part_of_small_order_is_refused() -> None:
    mixed = crypto_core_ed25519_add(sender().opening, ORDER_TWO)
    with pytest.raises(OstrakaError) as refused:
        CurveReceiver.create(mixed, bits(8), CONTEXT, source(2))
    assert refused.value.code is ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("size", [0, 31, 33])
def test_points_of_another_size_are_refused(size: int) -> None:
    points = received(bits(9)).offer
    for step in (
        lambda: CurveReceiver.create(bytes(size), bits(9), CONTEXT, source(2)),
        lambda: sender().answer(points[:-32] + bytes(size)),
    ):
        with pytest.raises(OstrakaError) as refused:
            step()
        assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_nothing_secret_is_shown() -> None:
    assert "scalar" not in repr(sender())
    assert "keys" not in repr(received(bits(10)))
