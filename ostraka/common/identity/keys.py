"""A site's two key pairs, and private keys as files that their owner alone can read."""

import os
from collections.abc import Iterable
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

TLS_KEY = "tls.key"
SIGNING_KEY = "signing.key"

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
KeyPair = tuple[ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey]


def write_keys(folder: Path) -> KeyPair:
    """Make a P-256 key for TLS and an Ed25519 key for signatures, and write both (mode 0600) into `folder`.

    Raises:
        FileExistsError: a key is there; it is never overwritten.
    """
    tls = ec.generate_private_key(ec.SECP256R1())
    signing = ed25519.Ed25519PrivateKey.generate()
    write_key(folder / TLS_KEY, tls)
    write_key(folder / SIGNING_KEY, signing)
    return tls, signing


def write_key(path: Path, key: PrivateKey) -> None:
    """Write a private key (PKCS #8, PEM, mode 0600) to a file that must not exist."""
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_new([(path, pem)], 0o600)


def write_new(files: Iterable[tuple[Path, bytes]], mode: int) -> None:
    """Write files that must not exist."""
    for path, data in files:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
