"""Self-test of a noise source before it serves: known answers, and draws of about the right law."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from functools import cache
from itertools import count

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise.bernoulli import bernoulli_exp, exp_word, geometric
from ostraka.common.noise.enclosure import Floats
from ostraka.common.noise.exact_noise import ExactNoise
from ostraka.common.noise.random_words import WORD_BITS, RandomBytes
from ostraka.common.noise.source import LATTICE, NoiseSource

_KNOWN_SCALES = (0.3, 2.5, 40 * 2.0**16, 2.0**61)
"""Scales in lattice steps: below one, a few, those of a usual plan, and where numbers end at 63 bits."""
_KNOWN_VALUES = 500
"""Numbers of each law and scale in the known digest."""
_KNOWN = "6a67761215133e3c8b3486ebd36f525fddebc6c759c2a05bdbef1948131f6332"
"""SHA-256 of these numbers drawn from fixed bytes: `known_digest` of the reviewed code."""

_VALUES = 20_000
"""Draws of each law: enough to detect noise that is 0.85 times as wide; OpenDP's draws take 0.4 s."""
_SIGMA = 1.0
"""Scale of these draws, in votes: 2^16 lattice steps, with a law within 1e-5 of the continuous one."""
_EDGES = (-4, -3, -2, -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5, 2, 3, 4)
"""Points, in scales, up to which draws are counted."""
_LOG_CHANCE = 32.0
"""No count may be off so far that its chance is below about exp(-32): for 31 counts together 8e-13."""


@cache
def open_exact_noise() -> ExactNoise:
    """Return Ostraka's sampler after it has passed its self-test, which runs once in a process.

    Raises:
        OstrakaError: `noise.self_test`.
    """
    check_known_answers()
    source = ExactNoise()
    check_source(source)
    return source


def check_source(source: NoiseSource) -> None:
    """Raise `noise.self_test` for draws that a correct source makes with a chance below 1e-12."""
    for name, draw, below in (
        ("Gaussian", source.gaussian, _gaussian_below),
        ("Laplace", source.laplace, _laplace_below),
    ):
        first, second = draw(_SIGMA, (2, _VALUES // 2)) * LATTICE
        if np.array_equal(first, second):
            raise _failure(f"{name} draws are the same twice")
        counted = np.searchsorted(np.sort([*first, *second]), _EDGES, side="right")
        if _far(counted, np.array([*map(below, _EDGES)]), _VALUES).any():
            raise _failure(f"{name} draws are not of their law")
    bits = np.unpackbits(source.uniform((_VALUES // WORD_BITS,)).view(np.uint8))
    if _far(np.array([bits.sum()]), np.array([0.5]), len(bits)).any():
        raise _failure("random bits are not balanced")


def check_known_answers() -> None:
    """Raise `noise.self_test` unless Ostraka's sampler makes the known numbers from fixed bytes.

    These include words that no enclosure decides, with following bits on either side of the bound.
    """
    if known_digest() != _KNOWN:
        raise _failure("numbers drawn from fixed bytes are not those that are known")
    for bound in (1, 3):
        if (_at_bound(bound, 0x00), _at_bound(bound, 0xFF)) != ((True, bound), (False, bound - 1)):
            raise _failure("a word at the bound of an enclosure is decided wrong")


def known_digest() -> str:
    """Return the SHA-256 of numbers of each law and scale from fixed bytes, SHAKE-256 of a counter."""
    calls = count()
    noise = ExactNoise(lambda size: hashlib.shake_256(next(calls).to_bytes(8, "little")).digest(size))
    digest = hashlib.sha256()
    for scale in _KNOWN_SCALES:
        for draw in (noise.gaussian, noise.laplace):
            digest.update(draw(scale * LATTICE, (_KNOWN_VALUES,)).astype("<i8").tobytes())
    return digest.hexdigest()


def _at_bound(exponent: int, rest: int) -> tuple[bool, int]:
    """Return a trial and a run for a number that begins as exp(-`exponent`), followed by only `rest`."""

    def random() -> RandomBytes:
        first = iter([exp_word(exponent).to_bytes(WORD_BITS // 8, "little")])
        return lambda size: next(first, bytes([rest]) * size)

    trial = bernoulli_exp(np.array([float(exponent)]), lambda _: Fraction(exponent), random())
    return bool(trial[0]), int(geometric(1, random())[0])


def _far(counted: NDArray[np.int64], chances: Floats, draws: int) -> NDArray[np.bool_]:
    """Return whether counts are too far off; the chance is 2 exp(-32) at most (Bernstein's inequality)."""
    variances = draws * chances * (1 - chances)
    allowed = _LOG_CHANCE / 3 + np.sqrt(_LOG_CHANCE**2 / 9 + 2 * _LOG_CHANCE * variances)
    return np.asarray(np.abs(counted - draws * chances) >= allowed)


def _gaussian_below(at: float) -> float:
    return math.erfc(-at / math.sqrt(2)) / 2


def _laplace_below(at: float) -> float:
    return 1 - math.exp(-at) / 2 if at > 0 else math.exp(at) / 2


def _failure(what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.NOISE_SELF_TEST,
        f"The noise source fails its self-test: {what}; install Ostraka and NumPy anew.",
    )
