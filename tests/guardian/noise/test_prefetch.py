"""Prepared draws are used once, in order, within bounds, and never outlive their batch."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import Draw
from ostraka.guardian.noise import DrawnNoise, ExactNoise, NoisePrefetcher
from ostraka.guardian.noise.prefetch import MAX_VALUES

WAIT_S = 30


class Numbered:
    """Gives every value of every call its own number, so that a value used twice shows."""

    def __init__(self) -> None:
        self._next = count()
        self._lock = threading.Lock()
        self.calls: list[Draw] = []
        self.free = threading.Event()
        self.free.set()

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self._call(Draw("gaussian", sigma, shape))

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self._call(Draw("laplace", scale, shape))

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return np.full(shape, 7, dtype=np.uint64)

    def _call(self, draw: Draw) -> NDArray[np.int64]:
        if threading.current_thread().name.startswith("noise"):
            assert self.free.wait(WAIT_S)
        with self._lock:
            self.calls.append(draw)
            return np.array([next(self._next) for _ in range(draw.values)]).reshape(draw.shape)


ONE, TWO = Draw("gaussian", 3.0, (2, 3)), Draw("laplace", 3.0, (2, 3))


@pytest.fixture
def source() -> Numbered:
    return Numbered()


@pytest.fixture
def ahead(source: Numbered) -> Iterator[NoisePrefetcher]:
    pool = NoisePrefetcher(source, threads=1)
    yield pool
    source.free.set()
    pool.close()


def prepared(source: Numbered, *draws: Draw) -> DrawnNoise:
    """Return the noise of one batch when the background thread has finished it."""
    ahead = NoisePrefetcher(source, threads=1)
    noise = ahead.prepare(draws)
    ahead._pool.shutdown()
    return noise


def test_what_was_prepared_is_not_drawn_again(source: Numbered) -> None:
    noise = prepared(source, ONE, TWO)
    assert source.calls == [ONE, TWO]
    noise.laplace(3.0, (2, 3))
    noise.gaussian(3.0, (2, 3))
    assert source.calls == [ONE, TWO]


def test_each_draw_is_handed_out_once_and_in_order(source: Numbered) -> None:
    noise = prepared(source, ONE, ONE)
    drawn = [noise.gaussian(3.0, (2, 3)) for _ in range(3)]
    np.testing.assert_array_equal(np.concatenate(drawn).ravel(), np.arange(18))
    assert source.calls == [ONE, ONE, ONE]


@pytest.mark.parametrize(
    ("kind", "scale", "shape"),
    [("gaussian", 3.5, (2, 3)), ("gaussian", 3.0, (3, 2)), ("laplace", 3.0, (2, 3))],
)
def test_a_draw_of_another_kind_is_drawn_afresh(
    source: Numbered, kind: str, scale: float, shape: tuple[int, ...]
) -> None:
    noise = prepared(source, ONE)
    assert getattr(noise, kind)(scale, shape).min() == ONE.values
    assert noise.gaussian(3.0, (2, 3)).max() == ONE.values - 1


def test_what_cannot_be_prepared_comes_from_the_source(ahead: NoisePrefetcher) -> None:
    noise = ahead.prepare([ONE])
    np.testing.assert_array_equal(noise.uniform((2,)), [7, 7])


def test_two_batches_share_no_draw(ahead: NoisePrefetcher) -> None:
    batches = [ahead.prepare([ONE, TWO]) for _ in range(5)]
    drawn = [noise.gaussian(3.0, (2, 3)) for noise in batches]
    drawn += [noise.laplace(3.0, (2, 3)) for noise in batches]
    assert len(np.unique(np.concatenate(drawn))) == 10 * ONE.values


def test_many_threads_get_every_draw_once(ahead: NoisePrefetcher) -> None:
    noise = ahead.prepare([ONE] * 50)
    with ThreadPoolExecutor(8) as threads:
        drawn = list(threads.map(lambda _: noise.gaussian(3.0, (2, 3)), range(80)))
    assert len(np.unique(np.concatenate(drawn))) == 80 * ONE.values


def test_a_draw_that_still_waits_for_a_thread_is_made_on_the_spot(
    ahead: NoisePrefetcher, source: Numbered
) -> None:
    source.free.clear()
    busy = ahead.prepare([ONE])
    assert ahead.prepare([TWO]).laplace(3.0, (2, 3)).shape == (2, 3)
    source.free.set()
    assert busy.gaussian(3.0, (2, 3)).shape == (2, 3)
    assert source.calls == [TWO, ONE]


def test_a_dropped_batch_gives_its_draws_to_nobody(source: Numbered) -> None:
    dead = prepared(source, ONE)
    dead.drop()
    assert dead.values == 0
    assert dead.gaussian(3.0, (2, 3)).min() == ONE.values


def test_a_dropped_batch_is_not_drawn_for(ahead: NoisePrefetcher, source: Numbered) -> None:
    source.free.clear()
    busy, dead = ahead.prepare([ONE]), ahead.prepare([TWO, TWO])
    dead.drop()
    source.free.set()
    busy.gaussian(3.0, (2, 3))
    ahead.close()
    assert source.calls == [ONE]


def kept(noise: DrawnNoise) -> int:
    return noise.values // ONE.values


def test_prepared_values_are_bounded(source: Numbered) -> None:
    ahead = NoisePrefetcher(source, most=3 * ONE.values, threads=1)
    first, second = ahead.prepare([ONE, ONE]), ahead.prepare([ONE, ONE])
    assert (kept(first), kept(second)) == (2, 1)
    first.gaussian(3.0, (2, 3))
    assert kept(ahead.prepare([ONE, ONE])) == 1
    first.drop()
    del second
    assert kept(third := ahead.prepare([ONE] * 4)) == 3
    assert len([third.gaussian(3.0, (2, 3)) for _ in range(4)]) == 4
    ahead.close()


def test_four_million_values_are_prepared_unless_it_is_said_otherwise() -> None:
    ahead = NoisePrefetcher(Zeros())
    for values, prepared_values in ((MAX_VALUES, MAX_VALUES), (MAX_VALUES + 1, 0)):
        noise = ahead.prepare([Draw("gaussian", 3.0, (values,))])
        assert noise.values == prepared_values
        noise.drop()
    ahead.close()


class Zeros(Numbered):
    """Draws nothing but zeros, at once."""

    def _call(self, draw: Draw) -> NDArray[np.int64]:
        return np.zeros(draw.shape, np.int64)


def test_a_small_draw_is_prepared_where_a_large_one_does_not_fit(source: Numbered) -> None:
    ahead = NoisePrefetcher(source, most=ONE.values, threads=1)
    large = Draw("gaussian", 3.0, (100,))
    noise = ahead.prepare([large, ONE])
    assert kept(noise) == 1
    assert noise.gaussian(3.0, (100,)).shape == (100,)
    ahead.close()


def test_after_closing_everything_is_drawn_on_demand(ahead: NoisePrefetcher, source: Numbered) -> None:
    source.free.clear()
    busy, waiting = ahead.prepare([ONE]), ahead.prepare([TWO])
    closing = threading.Thread(target=ahead.close)
    closing.start()
    source.free.set()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    later = ahead.prepare([ONE])
    assert later.values == 0
    drawn = [busy.gaussian(3.0, (2, 3)), waiting.laplace(3.0, (2, 3)), later.gaussian(3.0, (2, 3))]
    assert len(np.unique(np.concatenate(drawn))) == 3 * ONE.values


class Broken(Numbered):
    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        raise OSError("no randomness")


def test_a_source_that_fails_fails_the_release() -> None:
    ahead = NoisePrefetcher(Broken(), threads=1)
    with pytest.raises(OSError, match="no randomness"):
        ahead.prepare([ONE]).gaussian(3.0, (2, 3))
    ahead.close()


def test_a_draw_that_failed_ahead_is_drawn_at_release(
    ahead: NoisePrefetcher, source: Numbered, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = threading.Event()

    def fail(*_: object) -> NDArray[np.int64]:
        failing.set()
        raise OSError("no randomness")

    with monkeypatch.context() as broken:
        broken.setattr(source, "gaussian", fail)
        noise = ahead.prepare([ONE])
        assert failing.wait(WAIT_S)
    assert noise.gaussian(3.0, (2, 3)).shape == (2, 3)


def test_it_prepares_exact_noise() -> None:
    ahead = NoisePrefetcher(ExactNoise())
    noise = ahead.prepare([Draw("gaussian", 40.0, (500,)), Draw("laplace", 40.0, (500,))])
    drawn = np.concatenate([noise.gaussian(40.0, (500,)), noise.laplace(40.0, (500,))])
    ahead.close()
    assert drawn.dtype == np.int64
    assert len(np.unique(drawn)) > 990
