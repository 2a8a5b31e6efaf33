"""How much is held at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ostraka.client.session.encrypted_voting import LIMIT_BYTES, MemoryLimit
from tests.fair_clock import HANGS_S


@pytest.mark.parametrize("size", [1, 3, 5, 10, 11, 99])
def test_no_more_is_held_than_there_is_room_for(size: int) -> None:
    memory, lock, held, most = MemoryLimit(10), threading.Lock(), [0], [0]

    def hold(_: int) -> None:
        with memory.hold(size):
            with lock:
                held[0] += size
                most[0] = max(most[0], held[0])
            with lock:
                held[0] -= size

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, range(200)))
    assert size <= most[0] <= max(10, size)


def test_a_gibibyte_is_held_unless_it_is_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    half, free = LIMIT_BYTES // 2, []
    for second in (half, half + 1):
        memory = MemoryLimit()
        monkeypatch.setattr(memory._changed, "wait_for", lambda is_free: free.append(is_free()))
        with memory.hold(half), memory.hold(second):
            pass
    assert free == [True, True, True, False]


def test_what_fits_together_is_held_together() -> None:
    memory, met = MemoryLimit(10), threading.Barrier(3)

    def hold(_: int) -> int:
        with memory.hold(3):
            return met.wait(timeout=HANGS_S)

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(hold, range(3))) == [0, 1, 2]


def test_room_is_given_back_where_a_party_fails() -> None:
    memory = MemoryLimit(10)
    for _ in range(3):
        with pytest.raises(ValueError, match="failed"), memory.hold(10):
            raise ValueError("failed")
