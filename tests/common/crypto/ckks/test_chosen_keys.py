"""Keys that were never generated: a head is not known by a refusal, whatever its weights are."""

import numpy as np
import pyarrow as pa
import pytest

from ostraka.common.crypto.ckks import seal
from ostraka.common.crypto.ckks.ckks_scheme import CkksEvaluator, CkksKeys
from ostraka.common.crypto.ckks.parameters import SQUARES
from ostraka.common.crypto.ckks.wire import logits_bytes
from ostraka.common.crypto.heads import EncryptedHead
from tests.common.crypto.models import CONTEXT, affine

FEATURES = 3


def with_key_of_zeros(public: bytes) -> bytes:
    """Return the same message with a public key all of whose coefficients are zero."""
    length = int.from_bytes(public[32:40], "little")
    key, rest = public[40 : 40 + length], public[40 + length :]
    raw = bytearray(pa.CompressedInputStream(pa.BufferReader(key[16:]), "zstd").read())
    size = 2 * len(SQUARES.prime_bits) * SQUARES.degree * 8
    raw[-size:] = bytes(size)
    packed = pa.Codec("zstd").compress(bytes(raw), asbytes=True)
    header = [*seal._HEADER.unpack_from(key)[:-1], seal._HEADER.size + len(packed)]
    zeros: bytes = seal._HEADER.pack(*header) + packed
    return SQUARES.digest + len(zeros).to_bytes(8, "little") + zeros + rest


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_a_key_of_zeros_is_answered_whatever_the_weights(keys: CkksKeys, weight: float) -> None:
    first = affine(np.full((2, FEATURES), weight), np.zeros(2))
    head = EncryptedHead((first, affine(np.full((2, 2), weight), np.zeros(2))))
    evaluator = CkksEvaluator(SQUARES, with_key_of_zeros(keys.public(CONTEXT)))
    queries = keys.encrypt(np.ones((5, FEATURES)))
    masked = next(evaluator.logits([head], queries, bytes(32), 5))
    assert len(masked.ciphertexts) == logits_bytes(SQUARES, 2)
    assert masked.shares.shape == (2, 5)
