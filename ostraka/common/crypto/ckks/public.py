"""Public keys as they travel: digest of the parameters, length of the key, the key, that of squares."""

from typing import Any

import tenseal.sealapi as sealapi

from ostraka.common.crypto.ckks.seal import SEAL_ERRORS, SealContext, load, save
from ostraka.common.crypto.ckks.wire import most_public_bytes, without_digest
from ostraka.common.errors import ErrorCode, OstrakaError

_LENGTH_BYTES = 8
_SQUARE = 2
"""The power of the secret key that squares bring in, and that relinearization takes out again."""


def write_public(seal: SealContext, generator: Any) -> bytes:
    """Write a fresh public key and relinearization key; `most_public_bytes` at most."""
    key, relinearization = sealapi.PublicKey(), sealapi.RelinKeys()
    generator.create_public_key(key)
    generator.create_relin_keys(relinearization)
    saved = save(key)
    length = len(saved).to_bytes(_LENGTH_BYTES, "little")
    return b"".join([seal.parameters.digest, length, saved, save(relinearization)])


def read_public(seal: SealContext, data: bytes) -> tuple[Any, Any]:
    """SEAL's public key, and its relinearization keys.

    Raises:
        OstrakaError: `crypto.refused` for keys under other parameters or that are none; `message.invalid` for
            more bytes than keys take.
    """
    if len(data) > most_public_bytes(seal.parameters):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Public keys take at most {most_public_bytes(seal.parameters)} bytes, not {len(data)}.",
        )
    content = without_digest(seal.parameters, data)
    length = int.from_bytes(content[:_LENGTH_BYTES], "little")
    key, relinearization = sealapi.PublicKey(), sealapi.RelinKeys()
    rest = content[_LENGTH_BYTES:]
    try:
        load(key, seal.context, rest[:length])
        load(relinearization, seal.context, rest[length:])
        if not relinearization.has_key(_SQUARE):
            raise ValueError("no key for squares")
    except SEAL_ERRORS as exc:
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "The encryption keys cannot be read: they are damaged or none of these parameters; send the keys "
            "that came with the queries again.",
        ) from exc
    return key, relinearization
