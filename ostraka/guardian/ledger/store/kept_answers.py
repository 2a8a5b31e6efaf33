"""Answers of released batches as stored: the bytes that were sent, or their digest after they are dropped."""

from __future__ import annotations

import hashlib

from sqlalchemy import Column, ColumnElement, func

from ostraka.common.errors import ErrorCode, OstrakaError

_DROPPED = b"\0"
"""The prefix of a digest. No message begins with it: it would be the tag of a field 0, which is invalid."""


def drop(answers: bytes) -> bytes:
    """Return the value to store in place of answers, which can still be compared with the audit log."""
    return _DROPPED + hashlib.sha256(answers).digest()


def digest_of(stored: bytes) -> str:
    """Return SHA-256 of the answers that were sent, in hex."""
    if stored.startswith(_DROPPED):
        return stored[len(_DROPPED) :].hex()
    return hashlib.sha256(stored).hexdigest()


def are_kept(column: Column[bytes]) -> ColumnElement[bool]:
    """Return the condition that stored answers are not dropped."""
    return func.substr(column, 1, len(_DROPPED)) != _DROPPED


def require(stored: bytes, batch_id: int) -> bytes:
    """Return the answers; raise `batch.forgotten` if they were dropped."""
    if stored.startswith(_DROPPED):
        raise OstrakaError(
            ErrorCode.BATCH_FORGOTTEN,
            f"Batch {batch_id} was released and charged so long ago that the guardian dropped its answers"
            " (keep_answers_days of its policy): take them from the run folder that received them. Asked"
            " again, in another run, they cost again.",
        )
    return bytes(stored)
