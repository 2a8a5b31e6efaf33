"""Heads and queries that several tests evaluate, and logits reconstructed from both shares."""

import itertools
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from ostraka.common.crypto.heads import Affine, EncryptedHead
from ostraka.common.crypto.inference import HeadEvaluator, MaskedLogits, QueryKeys, Scheme, scheme_of
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION, LOGIT_RANGE, Head

SEED = bytes(range(32))
CONTEXT = bytes(range(50, 82))


def affine(weights: NDArray[np.float64], bias: NDArray[np.float64]) -> Affine:
    return Affine(scipy.sparse.csr_array(weights), bias)


def random_head(rng: np.random.Generator, widths: tuple[int, ...], X: NDArray[np.float64]) -> EncryptedHead:
    """Return a random head whose logits fill the range on X."""
    layers = [
        affine(rng.normal(0, 1 / np.sqrt(inputs), (outputs, inputs)), rng.normal(0, 0.1, outputs))
        for inputs, outputs in itertools.pairwise(widths)
    ]
    factor = LOGIT_RANGE / np.abs(EncryptedHead(tuple(layers)).plain(X)).max()
    last = layers[-1]
    return EncryptedHead((*layers[:-1], Affine(last.weights * factor, last.bias * factor)))


def signed(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the logits that words modulo 2^LOGIT_BITS encode."""
    wrapped = (words & np.uint64(2**LOGIT_BITS - 1)).astype(np.int64)
    return np.where(wrapped < 2 ** (LOGIT_BITS - 1), wrapped, wrapped - 2**LOGIT_BITS) / 2.0**LOGIT_FRACTION


def opened(keys: QueryKeys, masked: MaskedLogits) -> NDArray[np.float64]:
    """Return the logits (instances, outputs) from both parties' shares."""
    return signed(keys.decrypt(masked.ciphertexts, masked.shares.shape[1]) + masked.shares).T


@dataclass(frozen=True)
class Sides:
    """Both sides under one set of keys."""

    scheme: Scheme
    keys: QueryKeys

    @classmethod
    def of(cls, head: Head) -> "Sides":
        scheme = scheme_of(head)
        return cls(scheme, scheme.keys())

    def evaluator(self, context: bytes = CONTEXT) -> HeadEvaluator:
        return self.scheme.evaluator(self.keys.public(context), context)

    def logits(
        self, heads: list[EncryptedHead], X: NDArray[np.float64], seed: bytes = SEED
    ) -> list[NDArray[np.float64]]:
        answers = self.evaluator().logits(heads, self.keys.encrypt(X), seed, len(X))
        return [opened(self.keys, masked) for masked in answers]
