"""Base transfers by ML-KEM against their definition, FIPS 203's encoding, and offers that are none."""

from collections.abc import Callable

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
from numpy.typing import NDArray
from scipy.stats import chisquare

from ostraka.common.crypto import ml_kem_ot
from ostraka.common.crypto.ml_kem_ot import (
    ANSWER_BYTES,
    BRANCH_BYTES,
    CIPHERTEXT_BYTES,
    OFFER_BYTES,
    PRIME,
    SEED_BYTES,
    KemReceiver,
    KemSender,
)
from ostraka.common.crypto.ot_extension import TRANSFERS
from ostraka.common.errors import ErrorCode, OstrakaError

CONTEXT = b"c" * 32
PLACES = np.arange(TRANSFERS)
ZEROS = np.zeros(TRANSFERS, np.uint8)


def source(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def bits(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 2, TRANSFERS, dtype=np.uint8)


def sender(context: bytes = CONTEXT) -> KemSender:
    return KemSender.create(context, source(1))


def receiver(choices: NDArray[np.uint8], seed: int = 2, context: bytes = CONTEXT) -> KemReceiver:
    return KemReceiver.create(sender().opening, choices, context, source(seed))


def residues(offer: bytes) -> NDArray[np.uint16]:
    """Return the residues of all branches, (128, 2, 768)."""
    rows = np.frombuffer(offer, np.uint8).reshape(TRANSFERS, -1)[:, SEED_BYTES:]
    return ml_kem_ot._decode(rows.tobytes()).reshape(TRANSFERS, 2, -1)


@pytest.mark.parametrize("choices", [bits(3), ZEROS, 1 - ZEROS])
def test_the_receiver_has_the_key_of_its_choice_and_not_the_other(choices: NDArray[np.uint8]) -> None:
    got = receiver(choices)
    keys, answer = sender().answer(got.offer)
    assert (len(got.offer), len(answer)) == (OFFER_BYTES, ANSWER_BYTES)
    assert np.array_equal(keys[PLACES, choices], got.keys(answer))
    assert len({key.tobytes() for key in keys.reshape(-1, 32)}) == 2 * TRANSFERS


def test_what_is_decapsulated_is_what_the_sender_encapsulated_to() -> None:
    """The chosen public key is the one whose private key the receiver holds, byte for byte."""
    offer = receiver(1 - ZEROS).offer
    pair = ml_kem_ot._read_offer(offer)[0]
    key = MLKEM768PrivateKey.from_seed_bytes(source(2)(64)).public_key().public_bytes_raw()
    assert pair.public_key(CONTEXT, sender().opening, 0, 1) == key
    other = pair.public_key(CONTEXT, sender().opening, 0, 0)
    assert other != key
    assert other[BRANCH_BYTES:] == key[BRANCH_BYTES:]


@pytest.mark.parametrize("choice", [0, 1])
def test_both_branches_look_uniform_whatever_is_chosen(choice: int) -> None:
    """196,608 residues in classes of 13 of each branch: fails at p < 1e-9."""
    found = residues(receiver(ZEROS + np.uint8(choice)).offer)
    for branch in range(2):
        values = found[:, branch].reshape(-1)
        counts = np.bincount(values[values < 13 * 256] // 13, minlength=256)
        assert chisquare(counts).pvalue > 1e-9


def test_numbers_are_written_as_fips_203_does() -> None:
    """ByteEncode12: bit i of number j is bit 12 j + i."""
    numbers = np.random.default_rng(4).integers(0, PRIME, 768, dtype=np.uint16)
    places = np.unpackbits(numbers.astype("<u2").view(np.uint8), bitorder="little").reshape(-1, 16)[:, :12]
    data = ml_kem_ot._encode(numbers)
    assert data == np.packbits(places.reshape(-1), bitorder="little").tobytes()
    assert np.array_equal(ml_kem_ot._decode(data), numbers)


def test_a_hash_with_few_residues_is_drawn_on(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ml_kem_ot._expand(bytes(32))
    monkeypatch.setattr(ml_kem_ot, "_HASHED_BYTES", 3)
    assert np.array_equal(ml_kem_ot._expand(bytes(32)), whole)
    assert (whole < PRIME).all()


def test_another_binding_or_offer_gives_other_keys_and_the_same_again_the_same() -> None:
    choices = bits(6)
    got = receiver(choices)
    keys, answer = sender().answer(got.offer)
    assert np.array_equal(got.keys(answer), receiver(choices).keys(answer))
    foreign, other = sender(context=b"d" * 32).answer(got.offer)
    assert not (foreign[PLACES, choices] == got.keys(other)).all(axis=1).any()
    stranger = receiver(choices, seed=7)
    assert not (keys[PLACES, choices] == stranger.keys(answer)).all(axis=1).any()


def test_a_ciphertext_that_is_none_spoils_the_key_of_its_branch_alone() -> None:
    """As wrong columns of the extension do: who sends one guesses a choice (`ot_extension`)."""
    choices = bits(8)
    got = receiver(choices)
    keys, answer = sender().answer(got.offer)
    spoilt = np.frombuffer(answer, np.uint8).reshape(TRANSFERS, 2, CIPHERTEXT_BYTES).copy()
    spoilt[0, 1 - choices[0], 5] ^= 1
    spoilt[1, choices[1], 5] ^= 1
    same = (got.keys(spoilt.tobytes()) == keys[PLACES, choices]).all(axis=1)
    assert np.flatnonzero(~same).tolist() == [1]


def test_numbers_that_are_no_residues_are_refused() -> None:
    offer = bytearray(receiver(bits(9)).offer)
    offer[SEED_BYTES : SEED_BYTES + 2] = PRIME.to_bytes(2, "little")
    with pytest.raises(OstrakaError) as refused:
        sender().answer(bytes(offer))
    assert refused.value.code is ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("longer", [-1, 1])
def test_messages_of_another_size_are_refused(longer: int) -> None:
    got = receiver(bits(10))
    for step in (
        lambda: KemReceiver.create(bytes(32 + longer), bits(10), CONTEXT, source(2)),
        lambda: sender().answer(bytes(OFFER_BYTES + longer)),
        lambda: got.keys(bytes(ANSWER_BYTES + longer)),
    ):
        with pytest.raises(OstrakaError) as refused:
            step()
        assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_nothing_secret_is_shown() -> None:
    shown = repr(receiver(bits(11)))
    assert "_choices" not in shown
    assert "_private" not in shown
