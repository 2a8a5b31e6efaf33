"""Transcript binding: messages of one computation are meaningless in any other."""

import hashlib


def binding(*parts: str | int | bytes) -> bytes:
    """SHA-256 over `parts`, 32 bytes: other parts, in number, order, type or value, give another binding.

    Every part is hashed behind its type and its length, so that no two lists are hashed alike. Integers are
    hashed in decimal.
    """
    digest = hashlib.sha256()
    for part in parts:
        encoded = part if isinstance(part, bytes) else str(part).encode()
        digest.update(f"{type(part).__name__}:{len(encoded)}:".encode() + encoded)
    return digest.digest()


def derive(context: bytes, purpose: str, *parts: bytes) -> bytes:
    """32 bytes, a hash of `parts` for one purpose under a binding; equal only where everything is equal."""
    return binding(context, purpose, *parts)
