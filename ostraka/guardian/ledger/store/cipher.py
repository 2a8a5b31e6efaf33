"""Encryption at rest of values that depend on votes."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.cmac import CMAC

from ostraka.common.errors import ErrorCode, OstrakaError

KEY_FILE = "ledger.key"
_KEY_BYTES = 32
_NONCE_BYTES = 24
_SALT_BYTES = 12
"""The part of the nonce from which a message's own key is derived; the rest is AES-GCM's nonce."""
_EARLIER_NONCE_BYTES = 12
_AMOUNT_BYTES = 16


class Cipher:
    """XAES-256-GCM for single amounts and for totals of votes, each bound to its row.

    AES-GCM under one key is safe for some 2^32 random nonces, which a large ledger may use in a few years.
    Here each message has its own key, derived from half of a 24-byte nonce: 2^80 messages of any content
    (C2SP, XAES-256-GCM). Older values, sealed by plain AES-256-GCM, can still be read.
    """

    def __init__(self, key: bytes, *, random: Callable[[int], bytes] = secrets.token_bytes) -> None:
        self._key = key
        self._random = random

    def seal(self, amount: int, *row: str | int) -> bytes:
        """Encrypt an amount for `row`; the length reveals nothing about the amount."""
        return self.seal_bytes(amount.to_bytes(_AMOUNT_BYTES, "big"), *row)

    def unseal(self, sealed: bytes, *row: str | int) -> int:
        """Decrypt an amount of `row`.

        Raises:
            OstrakaError: `ledger.tampered` for another key, another row or altered bytes.
        """
        return int.from_bytes(self.unseal_bytes(sealed, *row), "big")

    def seal_bytes(self, plain: bytes, *row: str | int) -> bytes:
        """Encrypt `plain` for `row`; callers ensure that its length reveals nothing."""
        nonce = self._random(_NONCE_BYTES)
        return nonce + self._cipher_of(nonce).encrypt(nonce[_SALT_BYTES:], plain, _bind(row))

    def unseal_bytes(self, sealed: bytes, *row: str | int) -> bytes:
        """Decrypt bytes that were encrypted for `row`; raises as `unseal`."""
        with suppress(InvalidTag, ValueError):
            nonce = sealed[:_NONCE_BYTES]
            text = sealed[_NONCE_BYTES:]
            return self._cipher_of(nonce).decrypt(nonce[_SALT_BYTES:], text, _bind(row))
        try:
            nonce = sealed[:_EARLIER_NONCE_BYTES]
            return AESGCM(self._key).decrypt(nonce, sealed[_EARLIER_NONCE_BYTES:], _bind(row))
        except (InvalidTag, ValueError) as exc:
            raise OstrakaError(
                ErrorCode.LEDGER_TAMPERED,
                f"An encrypted amount of the ledger does not open with its key ({'/'.join(map(str, row))}); "
                f"put back the {KEY_FILE} that belongs to this ledger, or restore a backup of both.",
            ) from exc

    def _cipher_of(self, nonce: bytes) -> AESGCM:
        """Return the cipher of one message, by the specification's two blocks of CMAC."""
        blocks = []
        for counter in (1, 2):
            block = CMAC(algorithms.AES256(self._key))
            block.update(bytes([0, counter]) + b"X\0" + nonce[:_SALT_BYTES])
            blocks.append(block.finalize())
        return AESGCM(b"".join(blocks))


def load_or_create_key(folder: Path) -> bytes:
    """Read `folder`/ledger.key (32 bytes, mode 0600); the first call creates it.

    Raises:
        OstrakaError: `config.invalid` for a file of another size, or one that other users may read.
    """
    path = folder / KEY_FILE
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return load_key(path)
    key = secrets.token_bytes(_KEY_BYTES)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    return key


def load_key(path: Path) -> bytes:
    """Read a ledger's key from a file; raises `config.invalid` as `load_or_create_key`."""
    if path.stat().st_mode & 0o077:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Others may read the ledger's key {path}; run: chmod 600 {path}"
        )
    key = path.read_bytes()
    if len(key) != _KEY_BYTES:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The ledger's key {path} has {len(key)} bytes in place of {_KEY_BYTES};"
            " restore it from a backup.",
        )
    return key


def _bind(row: tuple[str | int, ...]) -> bytes:
    return json.dumps(["ostraka/v1/ledger", *row], separators=(",", ":")).encode()
