"""Moments with known errors: parsing, joining, and the matrix of their regression (docs/sums.md)."""

import math
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.coding import Coding, code_own
from ostraka.client.learners.problem import OwnRecords
from ostraka.client.sums.source import NoisySum
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import unpack_symmetric

EDGE_SHARE = 0.5
"""Fraction of the edge of the noise's spectrum: smaller eigenvalues of a noisy Gram matrix are noise."""


@dataclass(frozen=True)
class Moments:
    """Means of x c' with their errors.

    Attributes:
        values: (d, k).
        noise: variance of the Gaussian noise on each value.
        sampling: times a covariance of records, the covariance of the sampling error.
        second_moment: mean square of an entry of a code.
    """

    values: Floats = field(repr=False)
    noise: float
    sampling: float
    second_moment: float


@dataclass(frozen=True)
class NoisyGram:
    """Mean of x x' (d, d) with noise: `deviation` is that of the diagonal; elsewhere it is less by sqrt 2."""

    values: Floats = field(repr=False)
    deviation: float


def read_moments(noisy: NoisySum, second_moment: float, columns: int) -> Moments:
    """Return the moments in the first block of an answer."""
    return Moments(
        noisy.blocks[0].reshape(columns, -1) / noisy.records,
        (noisy.sigmas[0] / noisy.records) ** 2,
        second_moment / noisy.records,
        second_moment,
    )


def read_gram(noisy: NoisySum, columns: int) -> NoisyGram:
    """Return the Gram matrix in the second block of an answer."""
    return NoisyGram(
        unpack_symmetric(noisy.blocks[1], columns) / noisy.records, noisy.sigmas[1] / noisy.records
    )


def own_moments(own: OwnRecords, feature_map: FeatureMap, coding: Coding) -> Moments:
    """Return the moments of own labelled records, which have no noise."""
    values = feature_map(own.X).T @ code_own(coding.codes, own) / len(own)
    return Moments(values, 0.0, coding.second_moment / len(own), coding.second_moment)


def join(bought: Moments, own: Moments, covariance: Floats) -> Moments:
    """Average two moments, weighted by the inverse of their variances, for records of this covariance."""
    mean_square = float(np.trace(covariance)) / len(covariance)
    variance = bought.noise + bought.sampling * mean_square
    own_variance = own.sampling * mean_square
    share = own_variance / (own_variance + variance)
    return Moments(
        share * bought.values + (1 - share) * own.values,
        share**2 * bought.noise,
        share**2 * bought.sampling + (1 - share) ** 2 * own.sampling,
        bought.second_moment,
    )


def blend_with_pool(gram: NoisyGram, covariance: Floats, records: int) -> Floats:
    """Average a noisy Gram matrix and a pool's covariance, entry by entry in the pool's eigenbasis.

    Weights are the inverse of variances: the variance of entry (i, j) of a covariance of `records` records is
    about the product of both eigenvalues over their number.
    """
    w, V = np.linalg.eigh(covariance)
    w = np.maximum(w, 0)
    by_pool = np.outer(w, w) / records
    share = by_pool / (by_pool + max(gram.deviation**2 / 2, np.finfo(np.float64).tiny))
    blended = V @ (share * (V.T @ gram.values @ V) + (1 - share) * np.diag(w)) @ V.T
    return _raise_eigenvalues(blended, 0.0)


def floor_spectrum(gram: NoisyGram) -> Floats:
    """Raise the eigenvalues of a noisy Gram matrix to half the edge of its noise's spectrum."""
    edge = gram.deviation * math.sqrt(2 * len(gram.values))
    return _raise_eigenvalues(gram.values, EDGE_SHARE * edge)


def _raise_eigenvalues(matrix: Floats, least: float) -> Floats:
    w, V = np.linalg.eigh(matrix)
    raised: Floats = (V * np.maximum(w, least)) @ V.T
    return raised


def ridge(A: Floats, values: Floats, penalty: float) -> Floats:
    """Return (A + penalty I)^-1 values."""
    return np.asarray(np.linalg.solve(A + penalty * np.eye(len(A)), values), np.float64)
