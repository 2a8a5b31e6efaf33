"""128 base oblivious transfers of random keys by ML-KEM-768, which no known quantum attack breaks.

After Masny and Rindal 2019 (Endemic Oblivious Transfer), whose protocol turns any key encapsulation whose
keys look uniform in a group into a transfer. A public key of ML-KEM (FIPS 203) is a vector t of 768 residues
modulo 3329 and a seed of its matrix. For its choice c the receiver makes a key (t, seed), draws the residues
r of the other branch at random, and sends the seed, r and t - H(r), where H hashes to residues. The sender
adds to each branch the hash of the other one, which gives it two public keys, and encapsulates to both.

- The choice is hidden as long as t looks uniform, on which ML-KEM's security rests as well (module learning
with
  errors): both branches are uniform then, and either may be the one that was drawn.
- The other key stays unknown. Whichever branch is hashed last determines a public key that is uniform for
this
  very seed, context, place and branch; the receiver has no secret key for it, as nobody has for a uniform
      one.
- An invalid ciphertext gives the receiver a key that the sender does not know (FIPS 203, implicit rejection).
The
  check of the extension then fails for one value of the choice: a guess of one bit, as with a column of other
  choices (`ot_extension`).

In transfers by points of a curve, nobody can ever open the choices; here everything rests on one assumption.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from numpy.typing import NDArray

from ostraka.common.crypto.ot_extension import KEY_BYTES, TRANSFERS
from ostraka.common.crypto.transcripts import check_size, derive
from ostraka.common.errors import ErrorCode, OstrakaError

PRIME = 3329
"""ML-KEM's q."""
RESIDUES = 3 * 256
"""Number of residues in ML-KEM-768's vector t."""
BRANCH_BYTES = RESIDUES * 12 // 8
"""Number of bytes of a vector, with 12 bits per residue (FIPS 203, ByteEncode12)."""
SEED_BYTES = 32
CIPHERTEXT_BYTES = 1088
NONCE_BYTES = 32
"""Size of the sender's first message; it ensures that nothing that is hashed was hashed before."""
OFFER_BYTES = TRANSFERS * (2 * BRANCH_BYTES + SEED_BYTES)
ANSWER_BYTES = TRANSFERS * 2 * CIPHERTEXT_BYTES
_PRIVATE_BYTES = 64
"""Size of a private key as its seed (FIPS 203: d and z)."""
_HASHED_BYTES = 1800
"""1,200 candidates of 12 bits; 975 are below q and 768 are needed: too few occur once in 2^160."""
_PURPOSE = "base transfer by ML-KEM"

Residues = NDArray[np.uint16]


@dataclass(frozen=True)
class KemSender:
    """The side that has both keys of every transfer; valid for one receiver's offer only.

    Attributes:
        context: the binding of the computation.
        opening: a nonce of 32 random bytes, for the receiver.
    """

    context: bytes
    opening: bytes

    @classmethod
    def create(cls, context: bytes, random: Callable[[int], bytes] = secrets.token_bytes) -> "KemSender":
        """Draw the nonce."""
        return cls(context, random(NONCE_BYTES))

    def answer(self, offer: bytes) -> tuple[NDArray[np.uint8], bytes]:
        """Return both keys of every transfer, (128, 2, 32), uint8, and the ciphertexts for the receiver.

        Each call draws new ones. Raises `message.invalid` for a message of another size, and `crypto.refused`
        for numbers that are not residues.
        """
        context = derive(self.context, _PURPOSE, self.opening, offer)
        keys = bytearray()
        sent = bytearray()
        for place, pair in enumerate(_read_offer(offer)):
            for branch in range(2):
                public = pair.public_key(self.context, self.opening, place, branch)
                secret, ciphertext = MLKEM768PublicKey.from_public_bytes(public).encapsulate()
                keys += _key(context, place, branch, ciphertext, secret)
                sent += ciphertext
        return np.frombuffer(bytes(keys), np.uint8).reshape(TRANSFERS, 2, KEY_BYTES), bytes(sent)


@dataclass(frozen=True)
class KemReceiver:
    """The side with a choice for every transfer.

    Attributes:
        offer: a seed and both branches for every transfer, for the sender.
    """

    offer: bytes
    _context: bytes
    _choices: NDArray[np.uint8] = field(repr=False)
    _private: tuple[MLKEM768PrivateKey, ...] = field(repr=False)

    @classmethod
    def create(
        cls,
        opening: bytes,
        choices: NDArray[np.uint8],
        context: bytes,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> "KemReceiver":
        """Make a key pair for each choice.

        Args:
            opening: the sender's nonce.
            choices: 128 bits, 0 or 1, uint8.
            context: the binding of the computation.
            random: makes random bytes; 96 for each transfer, in order.

        Raises:
            OstrakaError: `message.invalid` for a nonce of another size.
        """
        check_size("nonce of the base transfers", opening, NONCE_BYTES)
        private = []
        offer = bytearray()
        for place, choice in enumerate(choices.tolist()):
            key = MLKEM768PrivateKey.from_seed_bytes(random(_PRIVATE_BYTES))
            public = key.public_key().public_bytes_raw()
            seed = public[BRANCH_BYTES:]
            other = _expand(random(SEED_BYTES))
            hashed = _hash(context, opening, place, choice, seed, _encode(other))
            own = (_decode(public[:BRANCH_BYTES]) + PRIME - hashed) % PRIME
            # Both are adjacent and are selected by index, so that no branch depends on a choice.
            branches = np.stack([own, other])[[choice, 1 - choice]]
            offer += seed + _encode(branches)
            private.append(key)
        return cls(bytes(offer), derive(context, _PURPOSE, opening, bytes(offer)), choices, tuple(private))

    def keys(self, answer: bytes) -> NDArray[np.uint8]:
        """Return the chosen key of every transfer, (128, 32), uint8.

        Raises `message.invalid` for a message of another size; invalid ciphertexts give other keys than the
        sender has.
        """
        check_size("answer of the base transfers", answer, ANSWER_BYTES)
        pairs = np.frombuffer(answer, np.uint8).reshape(TRANSFERS, 2, CIPHERTEXT_BYTES)
        chosen = pairs[np.arange(TRANSFERS), self._choices]
        keys = bytearray()
        for place, (key, row) in enumerate(zip(self._private, chosen, strict=True)):
            ciphertext = row.tobytes()
            secret = key.decapsulate(ciphertext)
            keys += _key(self._context, place, int(self._choices[place]), ciphertext, secret)
        return np.frombuffer(bytes(keys), np.uint8).reshape(TRANSFERS, KEY_BYTES)


@dataclass(frozen=True)
class _Pair:
    """A receiver's offer for one transfer: a seed, and the residues of both branches, encoded."""

    seed: bytes
    branches: tuple[bytes, bytes]

    def public_key(self, context: bytes, nonce: bytes, place: int, branch: int) -> bytes:
        """Return the public key of a branch."""
        hashed = _hash(context, nonce, place, branch, self.seed, self.branches[1 - branch])
        return _encode((_decode(self.branches[branch]) + hashed) % PRIME) + self.seed


def _read_offer(offer: bytes) -> list[_Pair]:
    check_size("offer of the base transfers", offer, OFFER_BYTES)
    rows = np.frombuffer(offer, np.uint8).reshape(TRANSFERS, -1)
    if (_decode(rows[:, SEED_BYTES:].tobytes()) >= PRIME).any():
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            f"A key of the base transfers has numbers that are not below {PRIME}: begin a new batch.",
        )
    first = SEED_BYTES + BRANCH_BYTES
    pairs = (row.tobytes() for row in rows)
    return [_Pair(pair[:SEED_BYTES], (pair[SEED_BYTES:first], pair[first:])) for pair in pairs]


def _hash(context: bytes, nonce: bytes, place: int, branch: int, seed: bytes, other: bytes) -> Residues:
    """Hash the other branch to uniform residues (768,), for this branch."""
    begun = derive(context, _PURPOSE, nonce, place.to_bytes(2, "little"), bytes([branch]), seed, other)
    return _expand(begun)


def _expand(seed: bytes) -> Residues:
    """Return uniform residues (768,): the first candidates of 12 bits from SHAKE-256 that are below q."""
    length = _HASHED_BYTES
    while True:
        candidates = _decode(hashlib.shake_256(seed).digest(length))
        residues = candidates[candidates < PRIME]
        if len(residues) >= RESIDUES:
            return residues[:RESIDUES]
        length *= 2


def _decode(data: bytes) -> Residues:
    """Read numbers of 12 bits, two from three bytes."""
    low, middle, high = np.frombuffer(data, np.uint8).reshape(-1, 3).astype(np.uint16).T
    return np.stack([low | (middle & 15) << 8, middle >> 4 | high << 4], axis=1).reshape(-1)


def _encode(numbers: Residues) -> bytes:
    """Write numbers of 12 bits, of any shape and an even count."""
    first, second = numbers.reshape(-1, 2).T
    octets = np.stack([first & 255, first >> 8 | (second & 15) << 4, second >> 4], axis=1)
    return octets.astype(np.uint8).tobytes()


def _key(context: bytes, place: int, branch: int, ciphertext: bytes, secret: bytes) -> bytes:
    return derive(context, _PURPOSE, place.to_bytes(2, "little"), bytes([branch]), ciphertext, secret)
