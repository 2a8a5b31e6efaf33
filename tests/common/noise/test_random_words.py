"""Bytes are the operating system's, and new in every call, process and thread."""

import os
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.noise import ExactNoise
from ostraka.common.noise.random_words import random_words, system_bytes
from tests.common.noise.laws import P


def test_words_are_the_bytes_in_little_endian() -> None:
    assert random_words(lambda size: bytes(range(size)), 2).tolist() == [
        0x0706050403020100,
        0x0F0E0D0C0B0A0908,
    ]


def test_bits_are_balanced() -> None:
    bits = np.unpackbits(random_words(system_bytes, 4000).view(np.uint8))
    assert stats.binomtest(int(bits.sum()), len(bits)).pvalue > P


@pytest.mark.parametrize("error", [OSError("no getrandom"), NotImplementedError(), BlockingIOError()])
def test_no_entropy_is_refused(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def broken(_: int) -> bytes:
        raise error

    monkeypatch.setattr(os, "urandom", broken)
    with pytest.raises(OstrakaError, match="gives no random bytes") as refused:
        ExactNoise().gaussian(40, (3,))
    assert refused.value.code == ErrorCode.NOISE_NO_ENTROPY


def test_every_call_asks_the_system_for_all_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte is kept for the next call: a source that repeats itself gives the same numbers again."""
    monkeypatch.setattr(os, "urandom", lambda size: (b"ostraka." * size)[:size])
    noise = ExactNoise()
    np.testing.assert_array_equal(noise.uniform((50,)), noise.uniform((50,)))
    asked: list[int] = []

    def random(size: int) -> bytes:
        asked.append(size)
        return secrets.token_bytes(size)

    monkeypatch.setattr(os, "urandom", random)
    for _ in range(3):
        before = sum(asked)
        noise.gaussian(40, (100,))
        assert sum(asked) - before > 8 * 4 * 100


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_fork_draws_other_numbers() -> None:
    noise = ExactNoise()
    noise.gaussian(1e6, (4,))
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, noise.gaussian(1e6, (4,)).tobytes())
        os._exit(0)
    own, others = noise.gaussian(1e6, (4,)), np.frombuffer(os.read(reader, 32), np.int64)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    assert not np.intersect1d(own, others).size


def test_threads_draw_other_numbers() -> None:
    noise = ExactNoise()
    with ThreadPoolExecutor(4) as threads:
        drawn = list(threads.map(lambda _: noise.gaussian(1e6, (50,)), range(8)))
    assert len(np.unique(drawn)) == 400
