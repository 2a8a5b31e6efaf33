"""Heads and queries that several tests evaluate, and logits put together from both shares."""

import itertools

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from common.crypto.ckks.evaluation import Evaluator, MaskedLogits
from common.crypto.ckks.heads import Affine, EncryptedHead
from common.crypto.ckks.keys import QueryKeys
from common.crypto.ckks.parameters import LOGIT_BITS, LOGIT_FRACTION, LOGIT_RANGE

SEED = bytes(range(32))


def affine(weights: NDArray[np.float64], bias: NDArray[np.float64]) -> Affine:
    return Affine(scipy.sparse.csr_array(weights), bias)


def random_head(rng: np.random.Generator, widths: tuple[int, ...], X: NDArray[np.float64]) -> EncryptedHead:
    """Logits fill the range on X."""
    layers = [
        affine(rng.normal(0, 1 / np.sqrt(inputs), (outputs, inputs)), rng.normal(0, 0.1, outputs))
        for inputs, outputs in itertools.pairwise(widths)
    ]
    factor = LOGIT_RANGE / np.abs(EncryptedHead(tuple(layers)).plain(X)).max()
    last = layers[-1]
    return EncryptedHead((*layers[:-1], Affine(last.weights * factor, last.bias * factor)))


def signed(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Logits that words modulo 2^LOGIT_BITS stand for."""
    wrapped = (words & np.uint64(2**LOGIT_BITS - 1)).astype(np.int64)
    return np.where(wrapped < 2 ** (LOGIT_BITS - 1), wrapped, wrapped - 2**LOGIT_BITS) / 2.0**LOGIT_FRACTION


def opened(keys: QueryKeys, masked: MaskedLogits) -> NDArray[np.float64]:
    """Logits (instances, outputs) from both parties' shares."""
    return signed(keys.decrypt(masked.ciphertexts, masked.shares.shape[1]) + masked.shares).T


def logits(
    keys: QueryKeys, heads: list[EncryptedHead], X: NDArray[np.float64], seed: bytes = SEED
) -> list[NDArray[np.float64]]:
    evaluator = Evaluator(keys.parameters, keys.public())
    answers = evaluator.logits(heads, keys.encrypt(X), seed, len(X))
    return [opened(keys, masked) for masked in answers]
