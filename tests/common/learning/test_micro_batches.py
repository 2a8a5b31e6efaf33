"""Micro-batches that shrink where memory is short, and grow again."""

import pytest
import torch
from structlog.testing import capture_logs
from torch import Tensor

from ostraka.common.learning.device import HOST, Device, is_out_of_memory
from ostraka.common.learning.micro_batches import (
    MAX_PARTS_BEFORE_GROWTH,
    PARTS_BEFORE_GROWTH,
    MicroBatches,
)
from tests.fake_card import FakeCards


class Room:
    """Work that takes memory for so many records at a time, and remembers how many it was given."""

    def __init__(self, records: int) -> None:
        self.records = records
        self.asked: list[int] = []

    def __call__(self, part: Tensor) -> Tensor:
        self.asked.append(len(part))
        if len(part) > self.records:
            raise torch.OutOfMemoryError("full")
        return part


@pytest.mark.parametrize(
    "words",
    [
        "MPS backend out of memory (MPS allocated: 8 GB)",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "GET was unable to find an engine to execute this computation",
    ],
)
def test_libraries_say_in_words_that_memory_is_short(words: str) -> None:
    assert is_out_of_memory(RuntimeError(words))


def test_other_failures_are_not_taken_for_memory() -> None:
    def fails(part: Tensor) -> Tensor:
        raise ValueError("no memory of it")

    with pytest.raises(ValueError, match="no memory"):
        MicroBatches(HOST, HOST.first).evaluate(fails, torch.zeros(8, 2))
    assert not is_out_of_memory(RuntimeError("CUDA error: unspecified launch failure"))


def test_all_records_are_evaluated_in_their_order_whatever_fits() -> None:
    records = torch.arange(100.0)[:, None]
    with capture_logs() as logs:
        parts = MicroBatches(HOST, HOST.first, most=32).evaluate(Room(5), records)
    assert torch.equal(torch.cat(parts), records)
    assert [log["event"] for log in logs] == ["device.memory_full"]


def test_batches_grow_back_once_there_is_room() -> None:
    device = Device()
    micro = MicroBatches(device, device.first, most=64)
    room = Room(10)
    with capture_logs():
        micro.evaluate(room, torch.zeros(64, 1))
        assert (micro.size, micro.is_short, device.micro_batch) == (8, True, 8)
        room.records = 64
        micro.evaluate(room, torch.zeros(64 * 3 * PARTS_BEFORE_GROWTH, 1))
    assert (micro.size, micro.is_short) == (64, False)
    assert device.shortages == 3


def test_memory_that_stays_short_is_asked_for_ever_more_seldom() -> None:
    device = Device()
    micro = MicroBatches(device, device.first, most=2)
    room = Room(1)
    with capture_logs():
        micro.evaluate(room, torch.zeros(3 * MAX_PARTS_BEFORE_GROWTH, 1))
    # Once at first, and after 16, 32, ... 512, 1,024 and again 1,024 parts of one record.
    assert room.asked.count(2) == 9
    assert device.shortages == 9


def test_parts_that_are_smaller_than_usual_tell_nothing_of_room() -> None:
    micro = MicroBatches(HOST, HOST.first, most=64)
    with capture_logs():
        micro.evaluate(Room(10), torch.zeros(64, 1))
    for _ in range(2 * PARTS_BEFORE_GROWTH):
        micro.evaluate(Room(64), torch.zeros(micro.size - 1, 1))
    assert micro.size == 8


def test_a_card_that_others_fill_is_asked_for_less_and_then_for_more(cards: FakeCards) -> None:
    device = Device("cuda")
    micro = MicroBatches(device, device.first, most=64)
    records = torch.zeros(64, 100)
    cards.others = cards.memory - 4 * 100 * 20
    with capture_logs():
        parts = micro.evaluate(lambda part: part.sum(1), records)
    assert len(torch.cat(parts)) == 64
    assert micro.size < 64
    cards.others = 0
    micro.evaluate(lambda part: part.sum(1), torch.zeros(64 * 4 * PARTS_BEFORE_GROWTH, 100))
    assert micro.size == 64
