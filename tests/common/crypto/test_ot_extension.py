"""Transferred labels against their definition, and receivers that deviate."""

import hashlib
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.crypto import ot_extension
from ostraka.common.crypto.blocks import Blocks, active
from ostraka.common.crypto.garbling import Permutation
from ostraka.common.crypto.ot_extension import (
    HASH_BYTES,
    TRANSFERS,
    ColumnHash,
    Receiver,
    accept,
    column_bytes,
    extension_bytes,
    labels,
    random_choices,
    rows_of,
)
from ostraka.common.errors import ErrorCode, OstrakaError

P_VALUE = 1e-9
CONTEXT = b"c" * 32
ROWS = 300
PLACES = np.arange(TRANSFERS)
CLAIMS = (1 + TRANSFERS) * HASH_BYTES
Bits = NDArray[np.uint8]


def source(seed: int) -> Callable[[int], bytes]:
    return np.random.default_rng(seed).bytes


def pairs(seed: int = 1) -> Bits:
    return np.frombuffer(source(seed)(TRANSFERS * 64), np.uint8).reshape(TRANSFERS, 2, 32)


def delta_bits(seed: int = 2) -> Bits:
    delta = np.random.default_rng(seed).integers(0, 2, TRANSFERS, dtype=np.uint8)
    delta[0] = 1
    return delta


def block(bits: Bits) -> Blocks:
    return np.packbits(bits, bitorder="little").view(np.uint64)


def receiver(rows: int = ROWS, seed: int = 3, context: bytes = CONTEXT) -> Receiver:
    return Receiver(pairs(), context, random_choices(rows, source(seed)))


def take(message: bytes, rows: int = ROWS, delta: Bits | None = None, context: bytes = CONTEXT) -> Bits:
    bits = delta_bits() if delta is None else delta
    return accept(message, rows, pairs()[PLACES, bits], bits, context)


def refused(message: bytes, delta: Bits | None = None, context: bytes = CONTEXT) -> ErrorCode:
    with pytest.raises(OstrakaError) as error:
        take(message, delta=delta, context=context)
    return error.value.code


@pytest.mark.parametrize("rows", [1, 7, 128, 129, 1000])
def test_the_receiver_has_the_label_of_its_choice(rows: int) -> None:
    message, columns = receiver(rows).extend()
    chosen = np.unpackbits(receiver(rows).choices, count=rows, bitorder="little")
    zeros = labels(take(message, rows), 0, rows)
    assert np.array_equal(labels(columns, 0, rows), active(zeros, chosen, block(delta_bits())))
    assert len(message) == extension_bytes(rows)
    assert len({row.tobytes() for row in zeros}) == rows


def test_labels_are_read_part_by_part() -> None:
    _, columns = receiver().extend()
    parts = [labels(columns, 0, 64), labels(columns, 64, 296), labels(columns, 296, ROWS)]
    assert np.array_equal(np.concatenate(parts), labels(columns, 0, ROWS))


@pytest.mark.parametrize("size", [1, 16, 1024, 1030, 2049])
def test_columns_become_rows(size: int) -> None:
    columns = np.frombuffer(source(size)(128 * size), np.uint8).reshape(128, size)
    bits = np.unpackbits(columns, axis=1, bitorder="little")
    expected = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view(np.uint64)
    assert np.array_equal(rows_of(columns), expected)


@given(st.binary(min_size=32, max_size=32), st.integers(1, 5), st.data())
def test_columns_are_hashed_as_polynomials(key: bytes, blocks: int, data: st.DataObject) -> None:
    column = data.draw(st.binary(min_size=16 * blocks, max_size=16 * blocks))
    got = ColumnHash(key, len(column))(np.frombuffer(column, np.uint8)).tobytes()
    assert got == ghash(key[:16], column) + ghash(key[16:], column)


def ghash(key: bytes, column: bytes) -> bytes:
    """NIST SP 800-38D, sections 6.3 and 6.4, without the lengths."""
    point = int.from_bytes(encrypted_zeros(key), "big")
    total = 0
    for start in range(0, len(column), 16):
        total = product(total ^ int.from_bytes(column[start : start + 16], "big"), point)
    return product(total, point).to_bytes(16, "big")


def product(x: int, y: int) -> int:
    total = 0
    for place in range(127, -1, -1):
        if x >> place & 1:
            total ^= y
        y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
    return total


def encrypted_zeros(key: bytes) -> bytes:
    return Permutation(key)(np.zeros((1, 2), np.uint64)).tobytes()


def test_the_polynomials_point_is_the_standards() -> None:
    """The GCM specification of McGrew and Viega, test case 2: H and GHASH without its last block."""
    assert encrypted_zeros(bytes(16)).hex() == "66e94bd4ef8a2c3b884cfa59ca342b2e"
    text = int("0388dace60b6a392f328c2b971b2fe78", 16)
    point = int("66e94bd4ef8a2c3b884cfa59ca342b2e", 16)
    assert product(text, point).to_bytes(16, "big").hex() == "5e2ec746917062882c85b0685353deb7"


@pytest.mark.heavy
@given(st.integers(0, 8 * extension_bytes(ROWS) - 1))
def test_a_bit_flipped_anywhere_is_refused(place: int) -> None:
    message = bytearray(receiver().extend()[0])
    message[place // 8] ^= 1 << place % 8
    assert refused(bytes(message)) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("change", [lambda m: m[:-1], lambda m: m + b"\0", lambda m: b"", lambda m: m[64:]])
def test_a_message_of_another_size_is_refused(change: Callable[[bytes], bytes]) -> None:
    assert refused(change(receiver().extend()[0])) is ErrorCode.MESSAGE_INVALID


def test_swapped_columns_and_another_context_are_refused() -> None:
    message = receiver().extend()[0]
    size = column_bytes(ROWS)
    swapped = message[size : 2 * size] + message[:size] + message[2 * size :]
    assert refused(swapped) is ErrorCode.CRYPTO_REFUSED
    assert refused(message, context=b"d" * 32) is ErrorCode.CRYPTO_REFUSED


def deviating(errors: Bits, guesses: Bits) -> bytes:
    """Return the best message of a receiver that adds `errors` (128, bytes) to its columns' choices.

    For every column with an error it guesses delta's bit, and claims what the check wants if the guess holds.
    """
    honest = receiver()
    message = np.frombuffer(honest.extend()[0], np.uint8).copy()
    sent, claims = message[:-CLAIMS].reshape(TRANSFERS, -1), message[-CLAIMS:].reshape(-1, HASH_BYTES)
    sent ^= errors
    column_hash = ot_extension._column_hash(CONTEXT, sent)
    _, columns = honest.extend()
    claims[0] = column_hash(honest.choices)
    for place in range(TRANSFERS):
        wrong = column_hash(errors[place]) * guesses[place]
        claims[1 + place] = column_hash(columns[place]) ^ wrong
    return message.tobytes()


def errors_in(places: list[int], row: int = 5) -> Bits:
    errors = np.zeros((TRANSFERS, column_bytes(ROWS)), np.uint8)
    errors[places, row // 8] = 1 << row % 8
    return errors


@pytest.mark.parametrize("place", range(0, TRANSFERS, 9))
def test_other_choices_in_one_column_pass_where_its_bit_of_delta_is_guessed(place: int) -> None:
    """So each wrong choice costs as much as guessing the bit that it tells."""
    delta = delta_bits()
    message = deviating(errors_in([place]), delta)
    assert take(message).shape == (TRANSFERS, column_bytes(ROWS))
    delta[place] ^= 1
    assert refused(message, delta) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.heavy
@pytest.mark.parametrize("row", [0, 5, ROWS - 1])
def test_other_choices_in_many_columns_are_caught_unless_all_their_bits_are_guessed(row: int) -> None:
    places = list(range(1, TRANSFERS, 3))
    errors, delta = errors_in(places, row), delta_bits()
    assert take(deviating(errors, delta)).any()
    for wrong in places:
        guesses = delta.copy()
        guesses[wrong] ^= 1
        assert refused(deviating(errors, guesses)) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.heavy
def test_choices_of_its_own_in_every_column_are_caught() -> None:
    errors = np.frombuffer(source(8)(TRANSFERS * column_bytes(ROWS)), np.uint8).reshape(TRANSFERS, -1)
    for seed in range(20):
        assert refused(deviating(errors, delta_bits(100 + seed))) is ErrorCode.CRYPTO_REFUSED


@pytest.mark.heavy
def test_a_message_tells_nothing_of_the_choices() -> None:
    """Bytes of the columns and of the claimed hash are uniform, for choices that are all 0 or all 1."""
    for value in (0, 255):
        choices = random_choices(ROWS, source(20)).copy()
        seen = []
        for seed in range(40):
            choices[: ROWS // 8] = value
            choices[-32:] = np.frombuffer(source(1000 + seed)(32), np.uint8)
            message = Receiver(pairs(seed), CONTEXT, choices).extend()[0]
            seen.append(np.frombuffer(message[: HASH_BYTES - CLAIMS], np.uint8))
        counts = np.bincount(np.concatenate(seen), minlength=256)
        assert stats.chisquare(counts).pvalue > P_VALUE


def test_claims_hide_behind_rows_that_are_used_for_nothing_else() -> None:
    """Whatever the choices are, some choice of the last 256 reaches each claim: the map is one to one."""
    column_hash = ColumnHash(source(30)(32), 64)
    unit = np.zeros((256, 64), np.uint8)
    unit[np.arange(256), 32 + np.arange(256) // 8] = 1 << np.arange(256) % 8
    matrix = np.array([np.unpackbits(column_hash(column)) for column in unit], np.uint8)
    assert rank(matrix) == 256


def rank(matrix: Bits) -> int:
    rows = [int.from_bytes(np.packbits(row).tobytes(), "big") for row in matrix]
    found = 0
    while rows:
        pivot = rows.pop()
        if pivot:
            found += 1
            lowest = pivot & -pivot
            rows = [row ^ pivot if row & lowest else row for row in rows]
    return found


def test_the_message_is_the_same_everywhere() -> None:
    message = receiver().extend()[0]
    assert message == receiver().extend()[0]
    assert (
        hashlib.sha256(message).hexdigest()
        == "e5cdd8f4bcaba33bbcb22135e037a344753ecc5016dc47699a3251b0b706318b"
    )


def test_nothing_secret_is_shown() -> None:
    assert "choices" not in repr(receiver())
    assert "keys" not in repr(receiver())
