"""Oblivious transfer of labels that differ by delta: as many as needed from 128 base transfers.

The sender has delta and the label of 0 for every row. The receiver gets the label of its choice: the label of
0, plus delta if the choice is 1. One message goes from receiver to sender (Ishai, Kilian, Nissim and Petrank
2003; with delta as used by Asharov, Lindell, Schneider and Zohner 2013).

A receiver that puts different choices into different columns could learn delta, so the columns are checked
(Keller, Orsini and Scholl 2015). The proof of their check by rows has a gap, which Roy 2022 (SoftSpokenOT)
found. This is the check by columns, which has none, as in the later version of their paper: a linear hash H
of every column, `ColumnHash`. It is keyed by a hash of the whole message and of everything before it on which
the columns depend, including the base transfers' answer (Fiat and Shamir 1986). Say column i was made with
choices r_i. The sender has q_i = t_i + delta_i r_i, the receiver claims x = H(r) and t'_i = H(t_i), and the
sender accepts if H(q_i) = t'_i + delta_i x for all i. Then (own derivation: docs/confidential-proofs.md):

- For a column with H(r_i) != x exactly one value of delta_i is accepted, whatever t'_i is. The receiver knows
these
  bits if it passes, and with c such columns it passes with probability 2^-c. Such guessing is no better than
      guessing
  delta.
- All other columns have one hash, so one r: with n blocks a column two collide with probability below
  2^13 (n / 2^128)^2, for each message that a receiver tries offline; that is 2^-203 for n = 2^20.
- Neither columns nor claims reveal anything about r. The last 256 choices are random and used for nothing
else, and
  they make x uniform; t'_i follows from x and what the sender has.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BITS, BLOCK_BYTES, Blocks
from ostraka.common.crypto.transcripts import derive
from ostraka.common.errors import ErrorCode, OstrakaError

TRANSFERS = 128
"""Number of base transfers: one for each bit of delta, and so for each column here; 128-bit security."""
KEY_BYTES = 32
"""Number of bytes of a key of a base transfer."""
HASH_BYTES = 32
HASH_BITS = 8 * HASH_BYTES
_NONCE = bytes(12)


class ColumnHash:
    """Two GHASHes: for each of two keys, the column's blocks as a polynomial at a point of GF(2^128).

    The GCM tag of a text that is only authenticated is such a polynomial plus a constant that depends on the
    key and on the length (NIST SP 800-38D, section 7.1). So a tag plus the tag of zeros is linear over GF(2).
    For a key drawn after them, two different columns of n blocks collide with probability at most (n /
    2^128)^2. The hash of a column whose last two blocks are uniform is uniform unless the points are equal or
    zero, which has probability below 2^-125 (own derivation: docs/confidential-proofs.md).
    """

    def __init__(self, key: bytes, column_bytes: int) -> None:
        """Hash columns of `column_bytes`, whole blocks, under the two halves of `key`, 32 bytes."""
        half = KEY_BYTES // 2
        self._ciphers = AESGCM(key[:half]), AESGCM(key[half:])
        self._constant = self._tags(np.zeros(column_bytes, np.uint8))

    def __call__(self, column: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the hash of a column of bits, 32 bytes, uint8."""
        return self._tags(column) ^ self._constant

    def _tags(self, column: NDArray[np.uint8]) -> NDArray[np.uint8]:
        tags = [cipher.encrypt(_NONCE, b"", column.data) for cipher in self._ciphers]
        return np.frombuffer(b"".join(tags), np.uint8)


_STEP = 1024
"""Number of bytes of each column that are transposed at a time, so that they stay in the cache."""

_SWAPS = (
    (np.uint64(7), np.uint64(0x00AA00AA00AA00AA)),
    (np.uint64(14), np.uint64(0x0000CCCC0000CCCC)),
    (np.uint64(28), np.uint64(0x00000000F0F0F0F0)),
)


def rows_of(columns: NDArray[np.uint8]) -> Blocks:
    """Return the transposed columns: bit i of row j's block is bit j of column i.

    Args:
        columns: 128 columns of bits, (128, bytes), least significant bit first.

    Returns:
        Blocks (8 bytes, 2), uint64.
    """
    size = columns.shape[1]
    rows = np.empty((8 * size, 2), np.uint64)
    for start in range(0, size, _STEP):
        stop = min(start + _STEP, size)
        rows[8 * start : 8 * stop] = _transpose(columns[:, start:stop])
    return rows


def _transpose(columns: NDArray[np.uint8]) -> Blocks:
    """Transpose squares of 8 by 8 bits in a word each (Warren, Hacker's Delight, 7-3), then arrange them."""
    squares = columns.T.copy().view("<u8")
    for shift, mask in _SWAPS:
        moved = (squares ^ (squares >> shift)) & mask
        squares ^= moved ^ (moved << shift)
    octets = squares.view(np.uint8).reshape(columns.shape[1], BLOCK_BITS // 8, 8)
    return np.ascontiguousarray(octets.transpose(0, 2, 1)).view("<u8").reshape(-1, 2)


_CLAIM_BYTES = (1 + TRANSFERS) * HASH_BYTES


def column_bytes(rows: int) -> int:
    """Return the bytes of a column: the rows, padded to whole blocks, and those that hide the check."""
    return -(-rows // BLOCK_BITS) * BLOCK_BYTES + HASH_BITS // 8


def extension_bytes(rows: int) -> int:
    """Return the number of bytes of the receiver's message for this many rows."""
    return TRANSFERS * column_bytes(rows) + _CLAIM_BYTES


@dataclass(frozen=True)
class Receiver:
    """The side that chooses.

    Args:
        keys: both keys of every base transfer, (128, 2, 32).
        context: the binding of the computation, including base transfers.
        choices: a column of bits, uint8, with the length given by `column_bytes`, from `random_choices`.
    """

    keys: NDArray[np.uint8] = field(repr=False)
    context: bytes
    choices: NDArray[np.uint8] = field(repr=False)

    def extend(self) -> tuple[bytes, NDArray[np.uint8]]:
        """Return the message for the sender, and the columns (128, bytes) whose rows are chosen labels."""
        size = len(self.choices)
        columns = np.empty((TRANSFERS, size), np.uint8)
        message = np.empty(TRANSFERS * size + _CLAIM_BYTES, np.uint8)
        sent, claims = _parts(message)
        for place, (zero, one) in enumerate(self.keys):
            columns[place] = _expand(zero, size)
            np.bitwise_xor(columns[place], self.choices, out=sent[place])
            sent[place] ^= _expand(one, size)
        column_hash = _column_hash(self.context, sent)
        claims[0] = column_hash(self.choices)
        for place, column in enumerate(columns):
            claims[1 + place] = column_hash(column)
        return message.tobytes(), columns


def random_choices(rows: int, random: Callable[[int], bytes] = secrets.token_bytes) -> NDArray[np.uint8]:
    """Return uniform choices of a receiver; the first `rows` bits, least significant first, are the rows'."""
    return np.frombuffer(random(column_bytes(rows)), np.uint8)


def accept(
    message: bytes, rows: int, keys: NDArray[np.uint8], delta: NDArray[np.uint8], context: bytes
) -> NDArray[np.uint8]:
    """Run the sender's step: return the columns (128, bytes) whose rows are the labels of 0.

    A sender that refused a message must take no other: each attempt would reveal something about delta to the
    receiver.

    Args:
        message: the receiver's message.
        rows: number of rows that the sender wants.
        keys: from each pair of the base transfers the one that delta's bit chose, (128, 32).
        delta: its 128 bits, uint8, least significant first.
        context: the binding of the computation, including base transfers.

    Raises:
        OstrakaError: `message.invalid` for a message of another size, `crypto.refused` for an inconsistent
            one.
    """
    if len(message) != extension_bytes(rows):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A transfer of {rows} labels takes {extension_bytes(rows)} bytes, not {len(message)}: "
            "send it whole.",
        )
    sent, claims = _parts(np.frombuffer(message, np.uint8))
    column_hash = _column_hash(context, sent)
    masks = (np.uint8(0) - delta)[:, None]
    columns = masks & sent
    expected = claims[1:] ^ (masks & claims[0])
    for place, key in enumerate(keys):
        columns[place] ^= _expand(key, columns.shape[1])
        expected[place] ^= column_hash(columns[place])
    if expected.any():
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "The transfer of labels is not consistent: begin a new batch.",
        )
    return columns


def labels(columns: NDArray[np.uint8], start: int, stop: int) -> Blocks:
    """Return the labels of rows `start` to `stop`: (stop - start, 2)."""
    before = start % 8
    return rows_of(columns[:, start // 8 : -(-stop // 8)])[before : before + stop - start]


def _parts(message: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the masked columns (128, bytes), and the hashes of the choices and the columns, (129, 32)."""
    sent = message[:-_CLAIM_BYTES]
    claims = message[-_CLAIM_BYTES:]
    return sent.reshape(TRANSFERS, -1), claims.reshape(1 + TRANSFERS, HASH_BYTES)


def _column_hash(context: bytes, sent: NDArray[np.uint8]) -> ColumnHash:
    key = derive(context, "transfer check", sha256(sent.data).digest())
    return ColumnHash(key, sent.shape[1])


def _expand(key: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return a key's stream: AES-256 in counter mode from 0; a key is used for one column only."""
    stream = Cipher(algorithms.AES256(key.tobytes()), modes.CTR(bytes(BLOCK_BYTES))).encryptor()
    return np.frombuffer(stream.update(bytes(size)), np.uint8)
