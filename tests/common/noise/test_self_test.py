"""A source that draws wrong numbers does not serve, and a right one does."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise import ExactNoise, bernoulli, enclosure, self_test
from ostraka.common.noise.random_words import system_bytes
from ostraka.common.noise.self_test import check_known_answers, check_source, known_digest


def test_our_own_sampler_passes() -> None:
    check_known_answers()
    check_source(ExactNoise())


def test_known_answers_are_those_of_wide_enclosures(monkeypatch: pytest.MonkeyPatch) -> None:
    """So they follow from the bytes alone, whatever a machine's doubles do."""
    monkeypatch.setattr(self_test, "_KNOWN_VALUES", 20)
    narrow = known_digest()
    monkeypatch.setattr(bernoulli, "RELATIVE_ERROR", 2.0**-4)
    assert known_digest() == narrow


class Narrow(ExactNoise):
    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().gaussian(0.8 * sigma, shape)


class Shifted(ExactNoise):
    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().laplace(scale, shape) + 2**13


class Repeated(ExactNoise):
    """Has drawn its numbers before."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.repeat(super().gaussian(sigma, shape[1:])[None], shape[0], axis=0)


class Odd(ExactNoise):
    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return super().uniform(shape) | np.uint64(0xFF)


def stuck(size: int) -> bytes:
    """Return bytes of which one bit in eight is always set."""
    return (np.frombuffer(system_bytes(size), np.uint8) | 1).tobytes()


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Narrow(), "Gaussian draws are not of their law"),
        (Shifted(), "Laplace draws are not of their law"),
        (Repeated(), "Gaussian draws are the same twice"),
        (Odd(), "bits are not balanced"),
        (ExactNoise(stuck), "not"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_source_that_draws_wrong_is_refused(source: ExactNoise, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        check_source(source)
    assert refused.value.code == ErrorCode.NOISE_SELF_TEST


def test_a_table_that_is_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(enclosure, "_TABLE", enclosure._TABLE * 1.01)
    with pytest.raises(OstrakaError, match="not those that are known"):
        check_known_answers()


def test_a_bound_that_decides_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bernoulli.Uniform, "below_exp", lambda *_: False)
    with pytest.raises(OstrakaError, match="decided wrong"):
        check_known_answers()
